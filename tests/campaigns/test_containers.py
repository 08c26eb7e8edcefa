"""A few steps of the campaign; `python -m tests.campaigns.containers` runs as many as you like."""

from __future__ import annotations

import pytest

from tests.campaigns import containers


@pytest.mark.slow
@pytest.mark.parametrize("kind", containers.kinds())
def test_damaged_containers(kind: str) -> None:
    report = containers.run(8, 3, [kind])
    assert report["steps"] == 8
    assert report["findings"] == []
