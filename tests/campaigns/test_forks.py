from __future__ import annotations

import pytest

from tests.campaigns.forks import campaign, kinds
from tests.stores.databases.forking import needs_fork

pytestmark = pytest.mark.slow


@needs_fork
def test_forks_under_load() -> None:
    without_servers = [kind.name for kind in kinds()]
    found = campaign(45, seed=0, threads=2, deadline=60, names=without_servers)
    assert found.texts == []
    assert found.total >= 45
