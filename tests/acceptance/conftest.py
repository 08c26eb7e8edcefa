"""What the acceptance tests share: a place to print.

A test calls `summary("…")` for a line that belongs into the terminal summary, under plain pytest
and under xdist alike (the line travels with the test's report).
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

LINE = "acceptance-line"


@pytest.fixture
def summary(record_property: Callable[[str, object], None]) -> Callable[[str], None]:
    return lambda line: record_property(LINE, line)
