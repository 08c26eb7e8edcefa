"""Change the shape of an array: resize and append.

The new shape is stored first, under the lock of the array's document; chunks follow. This module
knows the order of these steps. `shrinking` knows which chunks a smaller shape leaves outside.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from omnizarr import indexing
from omnizarr.errors import (
    ConflictError,
    MetadataError,
    ReadOnlyError,
    SelectionError,
    ZarrError,
)
from omnizarr.model.array import ArrayModel
from omnizarr.model.axes import inner_chunks
from omnizarr.nodes import node, shrinking, unfinished
from omnizarr.nodes.creation import registering
from omnizarr.nodes.creation.chunk_shapes import resized_shape
from omnizarr.nodes.dask import tokens
from omnizarr.nodes.data.values import as_source
from omnizarr.nodes.data.writing import write

if TYPE_CHECKING:
    from omnizarr.nodes.array_facts import ArrayFacts

T = TypeVar("T")


def resize(array: ArrayFacts, new_shape: Any) -> None:
    """Store a new shape and delete what is outside of it; see `Array.resize`. The shape may be a
    function of the stored one."""
    _refuse_view(array)
    with unfinished.owning() as token:
        _past_leftovers(array, lambda: _resize(array, new_shape, token))


def _past_leftovers(array: ArrayFacts, change: Callable[[], T]) -> T:
    """Change a shape; if a killed append has left values behind the end, delete them first."""
    while True:
        try:
            return change()
        except unfinished.Unfinished:
            mark = unfinished.mark_of(array._place)
            if mark is None:
                continue
            if unfinished.alive(unfinished.owner_of(mark)) is not False:
                raise unfinished.conflict(array._place, mark) from None
            resize(array, lambda shape: shape)


def _resize(array: ArrayFacts, new_shape: Any, token: str) -> None:

    def wanted(old: tuple[int, ...]) -> tuple[int, ...]:
        new = new_shape(old) if callable(new_shape) else new_shape
        return resized_shape(new, old, str(array._place))

    before = array._model
    new = wanted(before.shape)
    capabilities = array._source.store.capabilities
    shared = capabilities.locks or capabilities.versions
    marked = False

    def changed(model: ArrayModel) -> ArrayModel:
        nonlocal before, new, marked
        array._require_same(model)
        before, new = model, wanted(model.shape)
        if new == model.shape:
            marked = unfinished.clear(array._place, unfinished.owner(token))
        else:
            unfinished.check(array._place, _grows(model.shape, new))
        if not shared:
            # No other process may write here, and some stores hide chunks outside of the shape.
            shrinking.forget_outside(array, model, new, lambda: new)
        return _resized(model, new)

    stored = node.change(array._place, array._options, changed)
    array._replace(stored)
    registering.resized(array._place, stored, before.shape)
    tokens.changed(array.chunk_store, array.path)
    try:
        shrinking.forget_outside(array, before, new, shrinking.watched(array._place, before))
    except ZarrError as error:
        raise error.at(
            f"{array._place}: the shape is {new} now, but data outside of it is not deleted yet;"
            " call resize with the same shape again to finish"
        ) from error
    if marked and unfinished.is_owned(array._place, token):
        array._place.store.delete(unfinished.key_of(array._place))


def _grows(before: tuple[int, ...], new: tuple[int, ...]) -> bool:
    return any(length > old for old, length in zip(before, new, strict=True))


def clear_behind(array: ArrayFacts) -> None:
    """Delete what is stored behind the end of an array. The caller owns its mark."""
    model, place = array._model, array._place
    shrinking.forget_outside(array, model, model.shape, shrinking.watched(place, model))


def _resized(model: ArrayModel, shape: tuple[int, ...]) -> ArrayModel:
    inner = inner_chunks(model.codecs, model.ndim)
    return replace(model, shape=shape, grid=model.grid.resized(shape, inner))


def set_fill_value(array: ArrayFacts, value: Any) -> None:
    """Store another fill value; see `Array.fill_value`."""
    from omnizarr.nodes.creation.altered import altered

    _refuse_view(array)
    array._check_writable()

    def changed(model: ArrayModel) -> ArrayModel:
        array._require_same(model)
        fill = altered(array._place, model, {"fill_value": value}).fill_value
        return replace(model, fill_value=fill)

    array._replace(node.change(array._place, array._options, changed))
    tokens.changed(array.chunk_store, array.path)


def _refuse_view(array: ArrayFacts) -> None:
    if array.is_view:
        raise ReadOnlyError(
            f"{array._place}: a view cannot be resized, nor get another fill value; change the"
            " array itself"
        )


def append(array: ArrayFacts, data: Any, axis: int) -> tuple[int, ...]:
    """Grow one dimension and write to the new end; see `Array.append`."""
    array._check_writable()
    array._look()
    values = as_source(data, array._source.model.data_type, array.dtype, None)
    axis = checked_axis(array, values.shape, axis)
    start, shape = grow(array, axis, values.shape[axis])
    # A concurrent resize may have changed the shape again: write only what is inside it now.
    kept = [min(*lengths) for lengths in zip(values.shape, array.shape, strict=True)]
    kept[axis] = max(0, min(values.shape[axis], array.shape[axis] - start))
    region = [slice(0, length) for length in kept]
    if tuple(kept) != values.shape:
        values = values[tuple(region)]
    region[axis] = slice(start, start + kept[axis])
    whole = indexing.identity(array._model.shape)
    write(array, indexing.basic_and_advanced(whole, tuple(region)), values)
    return shape


def checked_axis(array: ArrayFacts, shape: tuple[int, ...], axis: int) -> int:
    """The dimension that data of this shape are appended along, counted from 0."""
    if not -array.ndim <= axis < array.ndim:
        raise SelectionError(f"{array._place}: axis {axis} of an array with ndim {array.ndim}")
    axis %= array.ndim
    agree = len(shape) == array.ndim and all(
        dimension == axis or length == array.shape[dimension]
        for dimension, length in enumerate(shape)
    )
    if not agree:
        raise MetadataError(
            f"{array._place}: cannot append shape {shape} to {array.shape} along axis"
            f" {axis}: all other dimensions must agree"
        )
    return axis


def grow(array: ArrayFacts, axis: int, length: int) -> tuple[int, tuple[int, ...]]:
    """Make one dimension longer. Gives where the new part begins, and the shape after this call.
    Of two processes that do so at once, each gets a part of its own."""
    _refuse_view(array)
    start = 0
    shape: tuple[int, ...] = ()

    def changed(model: ArrayModel) -> ArrayModel:
        nonlocal start, shape
        array._require_same(model)
        unfinished.check(array._place, length > 0)
        start = model.shape[axis]
        grown = list(model.shape)
        grown[axis] += length
        shape = tuple(grown)
        return _resized(model, shape)

    stored = _past_leftovers(
        array, lambda: node.change(array._place, array._options, changed, repeatable=False)
    )
    array._replace(stored)
    before = (*shape[:axis], start, *shape[axis + 1 :])
    registering.resized(array._place, replace(stored, shape=shape), before)
    return start, shape


def grown(model: ArrayModel, axis: int, length: int) -> ArrayModel:
    """The array with another length along one dimension."""
    return _resized(model, (*model.shape[:axis], length, *model.shape[axis + 1 :]))


def grow_to(array: ArrayFacts, axis: int, start: int, stop: int, token: str) -> None:
    """Make one dimension `stop` long, if it is `start` long; nothing if it is `stop` already. The
    values behind the end are those of the append that has this token."""
    _refuse_view(array)
    length = start

    def changed(model: ArrayModel) -> ArrayModel:
        nonlocal length
        array._require_same(model)
        length = model.shape[axis]
        if length not in (start, stop) or not unfinished.is_owned(array._place, token):
            raise unfinished.Unfinished
        return grown(model, axis, stop)

    try:
        array._replace(node.change(array._place, array._options, changed))
    except unfinished.Unfinished:
        what = (
            "has changed the array"
            if length in (start, stop)
            else (f"has changed the length of dimension {axis}: expected {start}, found {length}")
        )
        raise ConflictError(f"{array._place}: another writer {what}") from None
    tokens.changed(array.chunk_store, array.path)


def undo_growth(array: ArrayFacts, axis: int, start: int, length: int) -> None:
    """Take back what `grow` has added, unless another process has appended to it since."""

    def before(shape: tuple[int, ...]) -> tuple[int, ...]:
        last = shape[axis] == start + length
        return (*shape[:axis], start, *shape[axis + 1 :]) if last else shape

    resize(array, before)
