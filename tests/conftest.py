"""What all tests share: how Hypothesis behaves, and the lines of the terminal summary."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, settings

# A time limit per example would fail on a busy machine and say nothing about the code.
settings.register_profile(
    "omnizarr", deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("omnizarr")

pytest_plugins = ["tests.servers.fixtures"]


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Every test that asks for a server is one of `make test-all`."""
    for item in items:
        if "server" in getattr(item, "fixturenames", ()):
            item.add_marker("peers")


def pytest_terminal_summary(terminalreporter: Any) -> None:
    lines: list[str] = []
    table: dict[str, dict[str, int]] = {}
    for reports in terminalreporter.stats.values():
        for report in reports:
            for name, value in getattr(report, "user_properties", ()):
                if getattr(report, "when", "") != "call":
                    continue
                if name == "acceptance-line":
                    lines.append(str(value))
                elif name.startswith("count:"):
                    _, row, column = name.split(":")
                    cells = table.setdefault(row, {})
                    cells[column] = cells.get(column, 0) + int(str(value))
    absent = {
        str(report.longrepr[2])
        for report in terminalreporter.stats.get("skipped", ())
        if isinstance(report.longrepr, tuple) and "is absent: " in str(report.longrepr[2])
    }
    lines += [line.removeprefix("Skipped: ") for line in absent]
    if lines or table:
        terminalreporter.section("acceptance")
    for line in _drawn(table):
        terminalreporter.write_line(line)
    if lines:
        for line in sorted(set(lines)):
            terminalreporter.write_line(line)


def _drawn(table: dict[str, dict[str, int]]) -> list[str]:
    """The counts of the fixtures, one row for each format, and their sum."""
    if not table:
        return []
    columns = list(dict.fromkeys(column for cells in table.values() for column in cells))
    total = {column: sum(cells.get(column, 0) for cells in table.values()) for column in columns}
    drawn = [f"{'fixtures':12}" + "".join(f"{column:>20}" for column in columns)]
    for row, cells in [*sorted(table.items()), ("all", total)]:
        drawn.append(f"{row:12}" + "".join(f"{cells.get(column, 0):>20,}" for column in columns))
    return drawn
