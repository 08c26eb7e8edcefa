"""Creating nodes: `create_array`, `create_group`, `array`, `zeros` and their kin.

All arguments are checked before anything is stored or replaced.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from omnizarr.api.opening import (
    POSITIONAL,
    checked_mode,
    format_of,
    make_group,
    named,
    open_group,
    open_store,
)
from omnizarr.config import config
from omnizarr.model import paths
from omnizarr.nodes import node
from omnizarr.nodes.array import Array
from omnizarr.nodes.creation.arrays import like, make_array
from omnizarr.nodes.creation.hierarchies import create_nodes
from omnizarr.nodes.group import Group
from omnizarr.nodes.node import Options, Place


def create_array(
    store: Any = None,
    *,
    name: str | None = None,
    overwrite: bool = False,
    write_data: bool = True,
    storage_options: Mapping[str, Any] | None = None,
    **arguments: Any,
) -> Array:
    """Create an array.

    Keywords: shape, dtype, data, chunks, shards, filters, serializer, compressors, codecs,
    fill_value, order, zarr_format, attributes, chunk_key_encoding, dimension_names, config,
    and zarr-python 2's compressor, object_codec, dimension_separator, write_empty_chunks.
    """
    zarr_format = format_of(arguments)
    path = paths.normalize_path(name or arguments.pop("path", None))
    return make_array(
        open_store(store, "a", storage_options), path, arguments, zarr_format=zarr_format,
        overwrite=overwrite, write_data=write_data,
    )  # fmt: skip


def create(
    shape: Any = None,
    *positional: Any,
    store: Any = None,
    path: str | None = None,
    overwrite: bool = False,
    mode: str | None = None,
    storage_options: Mapping[str, Any] | None = None,
    **arguments: Any,
) -> Array:
    """Create an array of a shape; in memory if no store is given."""
    arguments |= named(positional, POSITIONAL, "create")
    zarr_format = format_of(arguments)
    if mode is not None and checked_mode(mode) in ("r", "r+"):
        raise ValueError(f"create() makes a new array, which mode {mode!r} does not allow")
    overwrite = overwrite or mode == "w"
    if shape is not None:
        arguments["shape"] = shape
    return make_array(
        open_store(store, "w" if overwrite else "a", storage_options), paths.normalize_path(path),
        arguments, zarr_format=zarr_format, overwrite=overwrite, function="create",
    )  # fmt: skip


def create_group(
    store: Any = None,
    *,
    path: str | None = None,
    zarr_format: Any = None,
    overwrite: bool = False,
    attributes: Mapping[str, Any] | None = None,
    storage_options: Mapping[str, Any] | None = None,
) -> Group:
    """Create a group; an error if there is one already, unless `overwrite`."""
    backing = open_store(store, "w" if overwrite else "a", storage_options)
    return make_group(
        backing, paths.normalize_path(path), zarr_format, attributes, Options(), overwrite=overwrite
    )


def group(
    store: Any = None,
    overwrite: bool = False,
    *,
    path: str | None = None,
    storage_options: Mapping[str, Any] | None = None,
    attributes: Mapping[str, Any] | None = None,
    **arguments: Any,
) -> Group:
    """The group at `path`, created if there is none."""
    return open_group(
        store, "w" if overwrite else "a", path=path, storage_options=storage_options,
        attributes=attributes, **arguments,
    )  # fmt: skip


def create_hierarchy(
    *,
    store: Any,
    nodes: Mapping[str, Any],
    overwrite: bool = False,
    zarr_format: Any = None,
    storage_options: Mapping[str, Any] | None = None,
) -> Iterator[tuple[str, Array | Group]]:
    """Create several nodes at once, parents first.

    `nodes` maps a path to the arguments that create the node (with a shape or data: an array) or to
    the `metadata` of another node. Gives pairs of path and node.
    """
    backing = open_store(store, "a", storage_options)
    chosen = node.choose_format(backing, "", zarr_format, config.get("default_zarr_format"))
    return create_nodes(Place(backing, "", chosen), Options(), nodes, overwrite=overwrite)


def array(data: Any, **arguments: Any) -> Array:
    """An array that holds `data`; in memory if no store is given."""
    if isinstance(data, Array):
        arguments = {**like(data, filled=True), **arguments}
    return create(data=data, **arguments)


def from_array(
    store: Any, *, data: Any, write_data: bool = True, name: str | None = None, **arguments: Any
) -> Array:
    """A new array like `data`, with its values unless `write_data` is False."""
    arguments = {key: value for key, value in arguments.items() if not _is_keep(value)}
    found = like(data, filled=True)
    if isinstance(data, Array):
        found["attributes"] = data.attrs.asdict()
    if "chunks" in arguments:
        found.pop("shards", None)
    if "shape" in arguments:
        raise TypeError("from_array() takes no shape: it is that of data")
    merged = {**found, **arguments}
    del merged["shape"]
    return create_array(store, name=name, data=data, write_data=write_data, **merged)


def _is_keep(value: Any) -> bool:
    return isinstance(value, str) and value == "keep"


def empty(shape: Any, **arguments: Any) -> Array:
    """An array without a fill value, where the format has such; else filled with zeros."""
    return create(shape, **{"fill_value": None, **arguments})


def zeros(shape: Any, **arguments: Any) -> Array:
    """An array of zeros: its fill value is 0, and nothing is stored but metadata."""
    return create(shape, **{"fill_value": 0, **arguments})


def ones(shape: Any, **arguments: Any) -> Array:
    """An array of ones: its fill value is 1."""
    return create(shape, **{"fill_value": 1, **arguments})


def full(shape: Any, fill_value: Any, **arguments: Any) -> Array:
    """An array of one value: its fill value."""
    return create(shape, fill_value=fill_value, **arguments)


def empty_like(a: Any, **arguments: Any) -> Array:
    """An empty array with the shape, type and chunks of another."""
    return empty(**{**like(a), "fill_value": None, **arguments})


def zeros_like(a: Any, **arguments: Any) -> Array:
    """An array of zeros with the shape, type and chunks of another."""
    return zeros(**{**like(a), "fill_value": 0, **arguments})


def ones_like(a: Any, **arguments: Any) -> Array:
    """An array of ones with the shape, type and chunks of another."""
    return ones(**{**like(a), "fill_value": 1, **arguments})


def full_like(a: Any, fill_value: Any = None, **arguments: Any) -> Array:
    """An array of one value with the shape, type and chunks of another."""
    given = {} if fill_value is None else {"fill_value": fill_value}
    return create(**{**like(a, filled=True), **given, **arguments})
