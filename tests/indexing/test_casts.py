"""An index means the same number in every integer type, or it is an IndexError."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

import omnizarr

VALUES = np.arange(60).reshape(10, 6)
ARRAY = omnizarr.create_array({}, data=VALUES, chunks=(3, 4))
LARGEST = int(np.iinfo(np.intp).max)

WAYS: dict[str, Callable[[Any], Any]] = {
    "basic": lambda key: ARRAY[key],
    "oindex": lambda key: ARRAY.oindex[key],
    "vindex": lambda key: ARRAY.vindex[key],
    "get_basic_selection": lambda key: ARRAY.get_basic_selection(key),
    "get_coordinate_selection": lambda key: ARRAY.get_coordinate_selection(key),
    "lazy": lambda key: ARRAY.lazy[key].read(),
    "lazy.oindex": lambda key: ARRAY.lazy.oindex[key].read(),
    "lazy.vindex": lambda key: ARRAY.lazy.vindex[key].read(),
    "view of a view": lambda key: ARRAY.lazy[::-1][::-1][key].read(),
    "write": lambda key: written(key, lambda array: array.__setitem__(key, -1)),
    "oindex write": lambda key: written(key, lambda array: array.oindex.__setitem__(key, -1)),
    "vindex write": lambda key: written(key, lambda array: array.vindex.__setitem__(key, -1)),
}


def written(key: Any, write: Callable[[Any], None]) -> Any:
    """What a write to the key changed, read by NumPy with the same key."""
    array = omnizarr.create_array({}, data=VALUES, chunks=(3, 4))
    write(array)
    changed = array[...]
    return np.where(changed == -1, VALUES, -2)[key]


INDICES = npst.arrays(
    st.one_of(npst.integer_dtypes(), npst.unsigned_integer_dtypes()),
    npst.array_shapes(min_dims=0, max_dims=2, max_side=4),
    elements=None,
).flatmap(lambda array: st.sampled_from([array, array % array.dtype.type(10), array.tolist()]))


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
@settings(max_examples=30)
@given(key=INDICES)
@example(key=np.uint64(2**64 - 4))
@example(key=np.array(2**64 - 4, np.uint64))
@example(key=np.array([2**64 - 4], np.uint64))
@example(key=np.array([2**64 - 4, 1], ">u8"))
@example(key=np.broadcast_to(np.array([2**64 - 4], np.uint64), (3,)))
@example(key=[2**64 - 4])
@example(key=[np.uint64(2**64 - 4)])
@example(key=[2**70])
@example(key=2**70)
@example(key=-(2**70))
@example(key=np.int8(-3))
@example(key=np.array([-3, 2], np.int8))
@example(key=np.array([-11], np.int8))
@example(key=np.array([255], np.uint8))
@example(key=[-1, 2**64 - 1])
@example(key=1.0)
@example(key=np.array([1.0]))
@example(key=np.array([1], object))
@example(key=np.array([], np.uint64))
@example(key=True)
@example(key=np.ones(10, bool))
@example(key=np.array([True] * 10, object))
@example(key=slice(np.uint64(2), np.uint64(2**64 - 4)))
@example(key=slice(-(2**70), 2**70, np.int8(3)))
@example(key=(np.uint8(2), np.array([2**64 - 1], np.uint64)))
def test_every_integer_type(way: str, key: Any) -> None:
    largest = max((int(n) for n in integers(key)), default=0)
    try:
        expected = VALUES[key]
    except (IndexError, OverflowError, TypeError):
        expected = None
    if largest > LARGEST:
        expected = None  # NumPy casts an array of uint64 to negative numbers
    if expected is None:
        with pytest.raises(IndexError):
            WAYS[way](key)
    else:
        found = WAYS[way](key)
        assert np.array_equal(found, expected) and np.shape(found) == expected.shape


def integers(key: Any) -> list[Any]:
    if isinstance(key, slice):
        return []
    if isinstance(key, tuple):
        return [n for item in key for n in integers(item)]
    found = np.asarray(key)
    return found.reshape(-1).tolist() if found.dtype.kind in "iuO" else []


@pytest.mark.parametrize("key", [2**64 - 4, 2**70, -(2**70), np.uint64(2**64 - 4), 4, -5])
def test_blocks_outside(key: Any) -> None:
    for select in (lambda: ARRAY.blocks[key], lambda: ARRAY.get_block_selection(key)):
        with pytest.raises(IndexError):
            select()


@pytest.mark.parametrize("key", [True, np.True_, np.array(True), 1.0, "a", np.array([1])])
def test_blocks_are_counted_by_integers(key: Any) -> None:
    with pytest.raises(IndexError, match="integers and slices"):
        ARRAY.get_block_selection(key)


@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int16, np.uint64])
def test_blocks_in_every_integer_type(kind: Any) -> None:
    assert np.array_equal(ARRAY.blocks[kind(1)], VALUES[3:6])
    assert np.array_equal(ARRAY.blocks[kind(1) : kind(3)], VALUES[3:9])
