"""Tensors in the memory of NumPy arrays.

This module knows the data types of both. It must not know where the values come from.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import torch


def as_tensor(values: npt.NDArray[Any]) -> torch.Tensor:
    """A tensor that shares the memory of an array, also for types that NumPy has from `ml_dtypes`.

    Parameters
    ----------
    values
        A writable array in native byte order.

    Returns
    -------
    torch.Tensor
        The tensor.

    Raises
    ------
    TypeError
        If PyTorch has no such type: text, times, structured types.

    Examples
    --------
    >>> import ml_dtypes
    >>> as_tensor(np.ones(2, ml_dtypes.bfloat16))
    tensor([1., 1.], dtype=torch.bfloat16)
    """
    same = getattr(torch, values.dtype.name, None)
    if values.dtype.isbuiltin != 1 and isinstance(same, torch.dtype):
        bits = torch.from_numpy(values.view(f"u{values.dtype.itemsize}"))
        return bits.view(same)
    return torch.from_numpy(values)


def check(specification: Mapping[str, tuple[object, np.dtype[Any]]]) -> None:
    """Refuse arrays that no tensor can hold before one of them is read."""
    for name, (_, dtype) in specification.items():
        try:
            as_tensor(np.empty(0, dtype))
        except TypeError as error:
            raise TypeError(
                f"array {name!r}: PyTorch has no tensors of type {dtype}; give the other arrays"
                " alone: {'image': group['image'], …}"
            ) from error


def tensors(values: npt.NDArray[Any] | dict[str, npt.NDArray[Any]]) -> Any:
    """An array, or a dictionary of arrays, as tensors."""
    if isinstance(values, dict):
        return {name: as_tensor(np.asarray(each)) for name, each in values.items()}
    return as_tensor(np.asarray(values))
