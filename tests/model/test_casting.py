"""Casts that NumPy gets wrong: foreign byte order with strings, and with times without a unit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import omnizarr
from omnizarr.model.casting import cast

TEXT = np.dtypes.StringDType()


@pytest.mark.parametrize("order", "<>")
def test_between_strings_and_fixed_text(order: str) -> None:
    words = ["ab", "é", "", "日本"]
    fixed = np.array(words, f"{order}U3")
    assert cast(fixed, TEXT).tolist() == words
    found = cast(np.array(words, TEXT), fixed.dtype)
    assert found.dtype == fixed.dtype
    assert found.tolist() == words


@pytest.mark.parametrize("order", "<>")
@pytest.mark.parametrize("dtype", ["i8", "f8", "c8"])
def test_from_strings_to_numbers(dtype: str, order: str) -> None:
    found = cast(np.array(["1", "25"], TEXT), np.dtype(order + dtype))
    assert found.dtype == np.dtype(order + dtype)
    assert found.tolist() == [1, 25]


@pytest.mark.parametrize("order", "<>")
@pytest.mark.parametrize("dtype", ["i8", "f8", "m8[s]", "M8[s]"])
def test_between_strings_and_numbers(dtype: str, order: str) -> None:
    values = np.array([1, 2**40]).astype(f"{order}{dtype}")
    text = cast(values, TEXT)
    assert text.tolist() == cast(values.astype(dtype), TEXT).tolist()
    assert cast(text, values.dtype).tolist() == values.tolist()


@pytest.mark.parametrize("kind", ["m8", "M8"])
def test_times_without_a_unit(kind: str) -> None:
    big = np.arange(3, dtype=">i8").view(f">{kind}")
    assert cast(big, np.dtype(f"<{kind}")).view("<i8").tolist() == [0, 1, 2]
    assert cast(big, big.dtype) is big


@pytest.mark.parametrize("order", "<>")
@pytest.mark.parametrize("values", [TEXT, "U3", object])
def test_arrays_of_fixed_text_take_strings(order: str, values: Any) -> None:
    array = omnizarr.create_array({}, shape=5, chunks=2, dtype=f"{order}U3", zarr_format=2)
    words = ["ab", "é", "", "日本", "xyz"]
    array[:] = np.array(words, values)
    assert array[:].tolist() == words
    array[1:2] = np.array(["q"], values)
    assert array[:].tolist() == ["ab", "q", "", "日本", "xyz"]


def test_arrays_of_strings_as_other_types() -> None:
    array = omnizarr.create_array({}, shape=2, dtype=str)
    array[:] = ["1", "25"]
    assert array.astype(">i4")[:].tolist() == [1, 25]
    assert np.asarray(array, dtype=">U2").tolist() == ["1", "25"]


def test_one_time_stays_without_dimensions() -> None:
    swapped = cast(np.array(1, ">M8[s]"), np.dtype("M8[s]"))
    assert swapped.shape == ()
    assert swapped == np.datetime64(1, "s")
