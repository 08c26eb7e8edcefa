"""A chunk is left out only if it is the fill value bit for bit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from omnizarr.model.fill import is_fill


def fill_of(value: object, dtype: object) -> np.ndarray:
    fill = np.empty(1, dtype)
    fill[0] = value
    return fill.reshape(())


@given(st.data())
def test_agrees_with_a_comparison_of_bytes(data: st.DataObject) -> None:
    dtype = data.draw(
        st.sampled_from(["u1", "<i2", ">f4", "f8", "c16", "S3", "U2", "M8[s]", "V5", "i4,f8"])
    )
    shape = data.draw(hnp.array_shapes(min_dims=0, max_dims=3, max_side=4))
    raw = data.draw(st.sampled_from([b"\0", b"\1", b"\x80"]))
    size = np.dtype(dtype).itemsize
    fill = np.frombuffer(raw * size, dtype).reshape(())
    block = np.frombuffer(raw * size * int(np.prod(shape)), dtype).reshape(shape).copy()
    assert is_fill(block, fill)
    assert is_fill(block.T, fill)
    position = data.draw(st.integers(0, block.size - 1))
    bytes_of = block.view(np.uint8).reshape(-1) if block.ndim else block.reshape(1).view(np.uint8)
    bytes_of[position * size] ^= 4
    assert not is_fill(block, fill)


@pytest.mark.parametrize(
    ("value", "fill", "same"),
    [(-0.0, 0.0, False), (0.0, 0.0, True), (np.nan, np.nan, True), (1.0, 0.0, False)],
)
def test_zero_has_a_sign_and_nan_is_nan(value: float, fill: float, same: bool) -> None:
    assert is_fill(np.full((2, 3), value), fill_of(fill, "f8")) is same


def test_objects_and_strings() -> None:
    strings = np.full(3, "", np.dtypes.StringDType())
    assert is_fill(strings, fill_of("", np.dtypes.StringDType()))
    strings[2] = "x"
    assert not is_fill(strings, fill_of("", np.dtypes.StringDType()))
    objects = np.array([0, 0], dtype=object)
    assert is_fill(objects, fill_of(0, object))
    assert not is_fill(np.array([0, False], dtype=object), fill_of(0, object))


def test_nothing_is_all_fill() -> None:
    assert is_fill(np.empty((0, 3)), fill_of(1.0, "f8"))
