"""The campaign, briefly."""

from __future__ import annotations

import pytest

from tests.campaigns import overwriters


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(overwriters.os, "fork"), reason="needs processes that fork")
def test_overwriters_beside_writers() -> None:
    counts = overwriters.run(seconds=3, seed=20)
    assert [name for name in counts if name.startswith("FINDING")] == []
    assert counts["overwritten"] and counts["written"] and counts["read"]
