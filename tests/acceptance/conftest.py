"""What the acceptance tests share: a place to print.

A test calls `summary("…")` for a line that belongs into the terminal summary, under plain pytest
and under xdist alike (the line travels with the test's report).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from . import fixtures

LINE = "acceptance-line"


@pytest.fixture
def summary(record_property: Callable[[str, object], None]) -> Callable[[str], None]:
    return lambda line: record_property(LINE, line)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    lines: list[str] = []
    counts: dict[str, int] = {}
    for reports in terminalreporter.stats.values():
        for report in reports:
            for name, value in getattr(report, "user_properties", ()):
                if getattr(report, "when", "") != "call":
                    continue
                if name == LINE:
                    lines.append(str(value))
                elif name.startswith("count:"):
                    key = name.removeprefix("count:")
                    counts[key] = counts.get(key, 0) + int(str(value))
    if counts:
        total = ", ".join(f"{key} {value:,}" for key, value in counts.items())
        lines.append(f"fixtures: {total}")
    if not fixtures.available():
        lines.append(f"fixtures: NOT TESTED, no MANIFEST.tsv below {fixtures.shared()}")
    if lines:
        terminalreporter.section("acceptance")
        for line in sorted(set(lines)):
            terminalreporter.write_line(line)
