"""What all tests share: how Hypothesis behaves, and the lines of the terminal summary."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, settings

# A time limit per example would fail on a busy machine and say nothing about the code.
settings.register_profile(
    "omnizarr", deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("omnizarr")


def pytest_terminal_summary(terminalreporter: Any) -> None:
    lines: list[str] = []
    counts: dict[str, int] = {}
    for reports in terminalreporter.stats.values():
        for report in reports:
            for name, value in getattr(report, "user_properties", ()):
                if getattr(report, "when", "") != "call":
                    continue
                if name == "acceptance-line":
                    lines.append(str(value))
                elif name.startswith("count:"):
                    key = name.removeprefix("count:")
                    counts[key] = counts.get(key, 0) + int(str(value))
    if counts:
        total = ", ".join(f"{key} {value:,}" for key, value in counts.items())
        lines.append(f"fixtures: {total}")
    if lines:
        terminalreporter.section("acceptance")
        for line in sorted(set(lines)):
            terminalreporter.write_line(line)
