from __future__ import annotations

import pytest

from tests.campaigns.forks import campaign
from tests.stores.forking import needs_fork


@needs_fork
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_forks_under_load() -> None:
    found = campaign(45, seed=0, threads=2, deadline=60)
    assert found.texts == []
    assert found.total >= 45
