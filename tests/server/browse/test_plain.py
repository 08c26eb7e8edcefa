"""Any attribute becomes JSON that every browser reads, of a bounded size."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnizarr.server.browse.plain import plain

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(VALUES)
def test_it_is_json(value: Any) -> None:
    json.dumps(plain(value), allow_nan=False)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        *((np.int8(3), 3), (np.float32("nan"), "NaN"), (-np.inf, "-Infinity")),
        *((2**53, str(2**53)), (np.bool_(True), True), (np.arange(3), [0, 1, 2])),
        *((np.array(1.5), [1.5]), ({1: (2,)}, {"1": [2]})),
    ],
)
def test_numbers(value: Any, expected: Any) -> None:
    assert plain(value) == expected


def test_it_is_bounded() -> None:
    deep: list[Any] = []
    for _ in range(5000):
        deep = [deep]
    large = {"deep": deep, "int": 10**20_000, "all": [[0] * 1000] * 1000, "text": "x" * 10**6}
    assert len(json.dumps(plain(large))) < 500_000
