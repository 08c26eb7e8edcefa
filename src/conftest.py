"""What examples in docstrings may use without importing it."""

from __future__ import annotations

import numpy as np
import pytest

import omnizarr


@pytest.fixture(autouse=True)
def _names_of_examples(doctest_namespace: dict[str, object]) -> None:
    doctest_namespace.update(np=np, omnizarr=omnizarr)
