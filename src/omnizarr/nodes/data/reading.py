"""Read what a transform selects of an array.

This module makes plans and gives them to the engine. It must not know how a selection is spelled.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from numpy import empty  # looking up names of the package takes its time

from omnizarr import engine, indexing
from omnizarr.errors import LimitError, SelectionError
from omnizarr.indexing import Plan, Transform
from omnizarr.indexing.fields import FieldNames
from omnizarr.model.casting import cast
from omnizarr.model.column import Column
from omnizarr.model.dtypes import Bytes, String
from omnizarr.nodes.data import staging
from omnizarr.nodes.data.columns import gathered, select_fields
from omnizarr.nodes.data.foreign_memory import memory_of

if TYPE_CHECKING:
    from omnizarr.nodes.array_facts import ArrayFacts

NDArray = npt.NDArray[Any]


def read(
    array: ArrayFacts,
    transform: Transform,
    out: Any = None,
    fields: FieldNames = None,
    *,
    scalar: bool = False,
) -> Any:
    """The values that a transform selects; a scalar instead of a 0-d array if `scalar` is true."""
    if out is not None and hasattr(out, "__cuda_array_interface__"):
        _read_into_device(array, transform, out, fields)
        return out
    if out is not None and not isinstance(out, np.ndarray):
        read(array, transform, memory_of(out), fields, scalar=scalar)
        return out  # filled in place
    plan = indexing.partition(fitted(array, transform), array._stored.grid)
    return read_plan(array, plan, out, fields, scalar=scalar)


def read_single(array: ArrayFacts, key: Any, shape: tuple[int, ...]) -> Any:
    """What `array[key]` gives of an array of this shape, where the native core reads it from the
    file of one chunk; else None."""
    source, _, order, kind = array._results
    found = engine.read_single(source, key, shape, order)
    return found if kind is None or type(found) is not np.ndarray else found.view(kind)


def read_plan(
    array: ArrayFacts,
    plan: Plan,
    out: NDArray | None = None,
    fields: FieldNames = None,
    *,
    scalar: bool = False,
) -> Any:
    """The same for a plan over the grid that the array has now."""
    source, dtype, order, kind = array._results
    if out is not None and fields is None:
        _read_into(array, plan, out)
        return out
    try:
        result: NDArray = empty(target := plan.target, dtype, order)
    except (ValueError, MemoryError) as error:
        raise LimitError(
            f"{array._place}: a selection of shape {target} and type {dtype} does not"
            " fit into memory; select less"
        ) from error
    working = plan.view(result)
    if working is None:
        working = empty(plan.shape, dtype)
        engine.read(source, plan, working)
        result = plan.result(working)
    else:
        engine.read(source, plan, working)
    found = result.dtype
    if found is not dtype and found != dtype:
        # NumPy drops scale and byte order of a time without a unit.
        result = result.view(np.int64).astype(f"{dtype.byteorder}i8").view(dtype)
    if fields is not None:
        result = select_fields(result, fields, dtype)
        if out is not None:
            if out.shape != result.shape:
                raise SelectionError(
                    f"{array._place}: out has shape {out.shape}, the fields {result.shape}"
                )
            out[...] = cast(result, out.dtype)
            return out
    if scalar and not target:
        return result[()]
    return result if kind is None else result.view(kind)


def _read_into(array: ArrayFacts, plan: Plan, out: NDArray) -> None:
    if out.shape != plan.target:
        raise SelectionError(
            f"{array._place}: out has shape {out.shape}, the selection has {plan.target}"
        )
    if not out.flags.writeable:
        raise ValueError(f"{array._place}: out is read-only")
    if out.size and any(not step for step, n in zip(out.strides, out.shape, strict=True) if n > 1):
        raise ValueError(f"{array._place}: out is broadcast: several elements are the same memory")
    view = plan.view(out) if out.dtype == array.dtype else None
    working = np.empty(plan.shape, array.dtype) if view is None else view
    engine.read(array._source, plan, working)
    if view is None:
        out[...] = cast(plan.result(working), out.dtype)


def _read_into_device(
    array: ArrayFacts, transform: Transform, out: Any, fields: FieldNames
) -> None:
    device = staging.cuda_device(out)
    staging.check_shape(device, transform, array._place)

    def read_slab(slab: staging.Slab, values: NDArray) -> None:
        read(array, indexing.basic_and_advanced(transform, slab), values, fields)

    grid, itemsize = array._stored.grid, device.dtype.itemsize
    slabs = staging.slabs_of(transform, grid, itemsize, engine.threads.available())
    staging.transfer(read_slab, device, [*slabs])


def read_columns(
    array: ArrayFacts, transform: Transform, fields: FieldNames
) -> tuple[list[Column] | NDArray, tuple[int, ...]]:
    """Text and byte strings as columns, anything else as a NumPy array; and the shape."""
    data_type = array._source.model.data_type
    if fields is not None or not isinstance(data_type, String | Bytes):
        return read(array, transform, fields=fields), transform.shape
    plan = indexing.partition(transform, array._stored.grid)
    return gathered(array._source, plan, str(array._place)), transform.shape


def fitted(array: ArrayFacts, transform: Transform) -> Transform:
    """A selection made earlier, checked against the shape that the array has now."""
    try:
        return indexing.fitted(transform, array._stored.shape)
    except SelectionError as error:
        raise error.at(array.store, path=array.path) from error
