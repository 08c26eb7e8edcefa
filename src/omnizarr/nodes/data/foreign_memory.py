"""Memory of other libraries that values are read into: as a NumPy array that shares it.

This module knows the protocols for that: NumPy's, buffers, DLPack. It must not know selections. It
imports no other library, but asks PyTorch, where it is loaded, for types that NumPy has not.
"""

from __future__ import annotations

import sys
from typing import Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from omnizarr.model.json import show
from omnizarr.runtime.optional_packages import package

NDArray = npt.NDArray[Any]


class SupportsDLPack(Protocol):
    """An array of any library: PyTorch's, CuPy's, NumPy's."""

    def __dlpack__(self, *, stream: Any = ...) -> Any: ...


Target: TypeAlias = NDArray | SupportsDLPack | bytearray | memoryview
"""What values may be read into."""


def memory_of(out: Any) -> NDArray:
    """The memory of `out` as a NumPy array, perhaps read-only; TypeError if there is none."""
    if isinstance(out, np.ndarray):
        return out
    if isinstance(out, np.generic):  # what NumPy gives of a scalar is a copy
        raise _refused(out)
    if hasattr(out, "as_numpy_array"):  # a buffer of zarr-python
        return memory_of(out.as_numpy_array())
    if hasattr(out, "__array_interface__"):
        return np.asarray(out)
    try:
        return np.asarray(memoryview(out))
    except TypeError:
        pass
    if not hasattr(out, "__dlpack__"):
        raise _refused(out)
    try:
        return _small_floats(out) if _is_tensor(out) else np.from_dlpack(out)
    except (BufferError, RuntimeError, TypeError, ValueError) as error:
        raise _refused(out) from error


def _refused(out: object) -> TypeError:
    return TypeError(
        f"out must be a NumPy array, found {type(out).__name__}: {show(out)}; a tensor on the CPU"
        " without gradients or a buffer will do too, since NumPy can share its memory"
    )


def _is_tensor(out: object) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(out, torch.Tensor)


def _small_floats(tensor: Any) -> NDArray:
    """A tensor's memory, also of bfloat16 and its kin, which NumPy has from `ml_dtypes` alone."""
    torch = sys.modules["torch"]
    name = str(tensor.dtype).removeprefix("torch.")
    if not name.startswith(("bfloat", "float8")):
        return np.from_dlpack(tensor)
    types = package("ml_dtypes", "dtypes", f"reading into a tensor of {name}")
    bits = tensor.view(torch.uint8 if tensor.element_size() == 1 else torch.int16)
    return np.from_dlpack(bits).view(getattr(types, name))
