"""A few steps of the campaign; `python -m tests.campaigns.interrupts` runs as many as you like."""

from __future__ import annotations

import os

import pytest

from tests.campaigns import interrupts, report_of

pytestmark = pytest.mark.slow


# Not "zip-dropped": 1 of 250 interrupts arrives where Python calls `__del__`, and is lost.
KINDS = sorted(interrupts.WORK.keys() - {"zip-dropped"})


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("kind", KINDS)
def test_interrupted_writes(kind: str) -> None:
    report = report_of("interrupts", "--steps", "3", "--seed", "2", "--kinds", kind)
    assert report["steps"] == 3
    assert report["findings"] == []
