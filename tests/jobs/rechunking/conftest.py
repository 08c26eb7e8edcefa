"""Costs under which small arrays are planned as large ones are."""

from __future__ import annotations

import pytest


@pytest.fixture
def free_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only bytes cost, so that several passes pay for arrays of a few kilobytes too."""
    monkeypatch.setattr("omnizarr.jobs.conversion.planning.REQUEST", 0)
    monkeypatch.setattr("omnizarr.jobs.rechunking.planner.TASK", 0)
