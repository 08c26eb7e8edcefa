"""Write values to what a transform selects of an array.

This module makes plans and gives them to the engine. After a write it looks at the stored document
again, since a concurrent resize may have made the array smaller. It must not know how a selection
is spelled.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from omnizarr import engine, indexing
from omnizarr.errors import NodeNotFoundError
from omnizarr.indexing import Plan, Transform
from omnizarr.indexing.fields import FieldNames
from omnizarr.model.array import ArrayModel
from omnizarr.model.column import Column
from omnizarr.nodes import node, shrinking
from omnizarr.nodes.creation.overlaps import Location
from omnizarr.nodes.dask import tokens
from omnizarr.nodes.data.columns import as_records, check_fields, rearranged
from omnizarr.nodes.data.lazy import blocks, computed, counted_within, goes_in_blocks, values_of
from omnizarr.nodes.data.reading import fitted
from omnizarr.nodes.data.values import as_source
from omnizarr.nodes.freshness import require_same

if TYPE_CHECKING:
    from omnizarr.nodes.array_facts import ArrayFacts


def write(array: ArrayFacts, transform: Transform, value: Any, fields: FieldNames = None) -> None:
    """Write values that broadcast to the selection; a Dask array goes block by block."""
    array._check_writable()
    lazy = computed(value)
    if fields is None and goes_in_blocks(
        lazy, transform.shape, Location(array._place.store, array.path)
    ):
        for block in blocks(lazy):
            part, values = indexing.basic_and_advanced(transform, block), values_of(lazy, block)
            with counted_within(block):
                write(array, part, values)
        return
    if array._stored.repair is not None and 0 not in transform.shape:
        _store_repair(array)
    stored, source = array._stored, array._source
    model = source.model
    transform = fitted(array, transform)
    dtype = model.dtype
    within: tuple[int, ...] = ()
    if fields is not None:
        check_fields(fields, dtype)
        dtype = dtype[fields]
        dtype, within = dtype.base, dtype.shape
    plan = indexing.partition(transform, model.grid)
    try:
        values = as_source(value, model.data_type, dtype, transform.shape + within)
    except (TypeError, ValueError) as error:
        error.add_note(f"while writing to {array._place}")
        raise
    if isinstance(values, Column):
        # A chunk of a 1-d array is one piece of the column; with more dimensions it is many.
        values = rearranged(values, plan) if len(plan.shape) == 1 else values.numpy(dtype)
    elif within:  # sub-arrays: `fields` is one name
        values, fields = as_records(values, str(fields), within), [str(fields)]
    working = values if isinstance(values, Column) else plan.working(values)
    try:
        engine.write(source, plan, working, fields)
    finally:
        tokens.changed(source.store, array.path)
        _confirm(array, stored, source, plan)


def _store_repair(array: ArrayFacts) -> None:
    """Store the document in valid form, so that other readers find the chunks that follow; unless
    that was done meanwhile."""

    def same(model: ArrayModel) -> ArrayModel:
        array._require_same(model)
        return model

    array._replace(node.change(array._place, array._options, same))


def write_view(array: ArrayFacts, transform: Transform, value: Any) -> None:
    """Write to a selection that was made earlier."""
    array._check_writable()
    array._look()
    write(array, transform, value)


def _confirm(array: ArrayFacts, stored: ArrayModel, source: engine.Source, plan: Plan) -> None:
    """Delete what was just written outside of the array, if the array was resized or deleted
    during the write."""
    try:
        found = array._stored_anew()
    except NodeNotFoundError:
        chunks = (part.coordinates for part in plan.parts())
        shrinking.withdraw(source, chunks, array._place)
        raise
    now = array._stored if found is None else found
    if now is stored:
        return
    new = require_same(array._place, stored, now, "while it was written").shape
    if found is not None:
        array._take_over(found)
    if any(length < old for old, length in zip(stored.shape, new, strict=True)):
        shrinking.forget_outside(array, stored, new, shrinking.watched(array._place, stored))
