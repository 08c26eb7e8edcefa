"""Reading into memory that belongs to another library."""

from __future__ import annotations

import array as standard
from typing import Any

import numpy as np
import pytest

import omnizarr
from omnizarr.nodes.data.foreign_memory import memory_of


class Exported:
    """An array of a library that speaks DLPack alone."""

    def __init__(self, values: Any) -> None:
        self.values = values

    def __dlpack__(self, **options: Any) -> Any:
        return self.values.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.values.__dlpack_device__()


class Interfaced:
    """One that has NumPy's protocol."""

    def __init__(self, values: Any) -> None:
        self.values = values
        self.__array_interface__ = values.__array_interface__


@pytest.mark.parametrize("kind", [Exported, Interfaced])
def test_values_arrive_in_the_memory(kind: Any) -> None:
    values = np.arange(12.0).reshape(3, 4)
    a = omnizarr.array(values, chunks=2)
    for key in (Ellipsis, slice(1, 3), ([2, 0],), (slice(None), slice(None, None, 2))):
        target = np.zeros_like(values[key])
        out = kind(target)
        assert a.read(key, out=out) is out
        np.testing.assert_array_equal(target, values[key])
    strided = np.zeros((3, 8))[:, ::2]
    a.read(out=kind(strided))
    np.testing.assert_array_equal(strided, values)
    single = np.zeros((3, 4), "f4")
    a.lazy[:].read(out=kind(single))
    np.testing.assert_array_equal(single, values)


def test_buffers_are_filled() -> None:
    a = omnizarr.array(np.arange(4, dtype="u1"))
    out = bytearray(4)
    a.read(out=out)
    assert out == b"\0\1\2\3"
    numbers = standard.array("d", [0, 0])
    a.read(slice(2, 4), out=numbers)
    assert numbers.tolist() == [2, 3]


def test_what_cannot_be_filled_is_refused() -> None:
    a = omnizarr.array(np.arange(4))
    fixed = np.arange(4)
    fixed.flags.writeable = False
    for readonly in (fixed, fixed.tobytes(), Interfaced(fixed)):
        with pytest.raises((ValueError, omnizarr.errors.SelectionError), match=r"read-only|shape"):
            a.read(out=readonly)
    for wrong in ([0] * 4, "text", 3):
        with pytest.raises(TypeError, match="out must be a NumPy array, found"):
            a.read(out=wrong)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="out must be a NumPy array, found int64"):
        a.read(1, out=np.int64(0))
    with pytest.raises(ValueError, match="several elements are the same memory"):
        a.read(out=np.lib.stride_tricks.as_strided(np.zeros(1), (4,), (0,)))
    with pytest.raises(omnizarr.errors.SelectionError, match=r"out has shape \(3,\)"):
        a.read(out=Exported(np.zeros(3)))


def test_an_export_that_fails_is_the_cause() -> None:
    class Refuses(Exported):
        def __dlpack__(self, **options: Any) -> Any:
            raise BufferError("it is on another device")

    with pytest.raises(TypeError, match="found Refuses") as caught:
        memory_of(Refuses(np.zeros(3)))
    assert isinstance(caught.value.__cause__, BufferError)
