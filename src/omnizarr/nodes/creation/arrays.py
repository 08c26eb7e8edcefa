"""Making arrays: arguments in, a stored and opened `Array` out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from omnizarr.config import config
from omnizarr.formats.base import Format
from omnizarr.model.column import Column
from omnizarr.model.store import Store
from omnizarr.nodes import node
from omnizarr.nodes.array import Array
from omnizarr.nodes.creation import storing
from omnizarr.nodes.creation.arguments import (
    options_from,
    request_from,
    with_values,
)
from omnizarr.nodes.creation.overlaps import Location
from omnizarr.nodes.creation.source_data import secured
from omnizarr.nodes.data.lazy import (
    blocks,
    computed,
    counted_within,
    has_large_blocks,
    values_of,
)
from omnizarr.nodes.data.regions import regions
from omnizarr.nodes.data.values import as_source, as_values, element_type, names_of
from omnizarr.nodes.node import NodeAddress, Options

COMPRESSORS = frozenset(
    ("compressors", "compressor", "compression", "compression_opts", "cname", "clevel", "shuffle")
)
REPLACED: Mapping[str, frozenset[str]] = {
    "compressors": COMPRESSORS | {"codecs"},
    "filters": frozenset(("filters", "object_codec", "codecs")),
    "serializer": frozenset(("serializer", "codecs")),
}
"""Arguments that name codecs, by what they replace among those of `like`."""


def make_array(
    store: Store,
    path: str,
    arguments: Mapping[str, Any],
    *,
    zarr_format: Any = None,
    chosen: Format | None = None,
    overwrite: bool = False,
    write_data: bool = True,
    options: Options | None = None,
) -> Array:
    """Create an array and write `data=`, if given. Nothing is changed if an argument is wrong. The
    public functions refuse unknown arguments."""
    options = options_from(arguments, options or Options())
    arguments = with_values(arguments)
    data = arguments.get("data")
    if chosen is None:
        chosen = node.choose_format(store, path, zarr_format, config.get("default_zarr_format"))
    if isinstance(name := arguments.get("compression"), str):
        arguments = {**arguments, "compression": chosen.compression_aliases.get(name, name)}
    request = request_from(arguments, getattr(store, "dimension_separator", None))
    place = NodeAddress(store, path, chosen)
    model = chosen.new_array(request)
    array = Array._of(place, model, options.changed(read_only=False))
    array._source.regular_chain  # noqa: B018 - codecs that do not fit fail here, before anything is stored
    if data is not None and write_data:
        replaced = [Location(store, path)] if overwrite else []
        if options.chunk_store is not None:
            replaced.append(Location(options.chunk_store, path))
        data = secured(data, replaced)
        if isinstance(data, np.ndarray | Column):
            data = as_source(data, array.data_type, array.dtype, array.shape)
    stored = storing.create(place, model, overwrite=overwrite)
    if stored is not model:
        model, array = stored, Array._of(place, stored, array._options)
    if overwrite and options.chunk_store is not None:
        options.chunk_store.delete_prefix(path + "/" if path else "")
    if data is not None and write_data:
        write_values(data, array)
    return Array._of(place, model, options) if options.read_only else array


def write_values(source: Any, array: Array) -> None:
    """Copy values into an array, in regions of whole chunks or shards."""
    if not hasattr(source, "dtype") or isinstance(source, np.ndarray | Column):
        array[...] = source
        return
    lazy = computed(source)
    if lazy is not None:
        for region in blocks(lazy) if has_large_blocks(lazy) else regions(array):
            values = values_of(lazy, region)
            with counted_within(region):
                array[region] = values
        return
    for region in regions(array):
        values = source[region]
        with counted_within(region):
            array[region] = values


def like(data: Any, given: Iterable[str] = (), *, filled: bool = False) -> dict[str, Any]:
    """The arguments that make an array like another: shape, type, chunks and, if they are known,
    shards, codecs and dimension names; with `filled` the fill value of an `Array` too. Codecs that
    the arguments `given` name are left out."""
    if not isinstance(data, Array):
        values = as_values(data)
        found: dict[str, Any] = {
            "shape": values.shape,
            "dtype": element_type(values, complete=False),
        }
        if getattr(data, "chunks", None) is not None:
            found["chunks"] = data.chunks
        if names_of(data) is not None:
            found["dimension_names"] = data.dims
        return found
    found = {
        "shape": data.shape,
        "dtype": data._model.data_type,
        "chunks": data.chunks,
        "shards": data.shards,
        "order": data._model.order,
        "dimension_names": data.dims,
        **data._pipeline.arguments(data._model),
        **({"fill_value": data.fill_value} if filled else {}),
    }
    return without_replaced(found, given)


def without_replaced(found: dict[str, Any], given: Iterable[str]) -> dict[str, Any]:
    """The arguments of `like` without the codecs that the arguments `given` name."""
    names = set(given)
    replaced = {name for name, replacing in REPLACED.items() if names & replacing}
    return {name: value for name, value in found.items() if name not in replaced}


def require_alike(
    array: Array, shape: Any, dtype: Any, exact: bool, *, writing: bool = False
) -> None:
    """Raise a TypeError unless an array has the shape, and a type that casts safely to `dtype`, or
    with `writing` from it; None asks for nothing."""
    if shape is not None:
        wanted = (shape,) if isinstance(shape, int) else tuple(shape)
        if array.shape != wanted:
            raise TypeError(f"{array!r} is there with shape {array.shape}, not {wanted}")
    if dtype is not None:
        asked = np.dtype(dtype)
        pair = (asked, array.dtype) if writing else (array.dtype, asked)
        if array.dtype != asked and (exact or not np.can_cast(*pair)):
            raise TypeError(f"{array!r} is there with dtype {array.dtype}, not {asked}")
