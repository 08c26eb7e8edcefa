"""What the kits need is named where it is missing."""

from __future__ import annotations

import sys

import pytest

from omnizarr import testing
from omnizarr.errors import MissingPackageError


@pytest.mark.parametrize("module", ["pytest", "hypothesis"])
@pytest.mark.parametrize("suite", ["StoreSuite", "ReadingSuite"])
def test_suites_name_the_packages_they_need(
    monkeypatch: pytest.MonkeyPatch, module: str, suite: str
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingPackageError, match="pip install pytest hypothesis"):
        getattr(testing, suite)
