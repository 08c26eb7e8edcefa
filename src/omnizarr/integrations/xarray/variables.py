"""What an array says to xarray: its dimensions, attributes and encoding, and lazy values.

xarray has two conventions for Zarr. In documents that name their kind (`node_type`), dimensions are
`dimension_names`, and `_FillValue` is an attribute of its own beside the array's fill value. In all
others, dimensions are an attribute, and a fill value in the document means `_FillValue`.

This module knows xarray's conventions. It must not know how a group is opened or written.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import xarray

# Not public in xarray: how it writes `_FillValue` into JSON, and the wrapper of lazy values.
from xarray.backends.zarr import DIMENSION_KEY, FillValueCoder
from xarray.core.indexing import LazilyIndexedArray

from omnizarr import Array, Group
from omnizarr.errors import LimitError, MetadataError
from omnizarr.integrations.xarray.arrays import LazyArray


@dataclass(frozen=True)
class Convention:
    """How the arrays of one group keep what xarray asks for."""

    own_dimensions: bool
    """Dimension names and `_FillValue` have places of their own."""
    fill_value_masks: bool
    """Values that equal the array's fill value are missing."""

    @classmethod
    def of(cls, node: Group | Array, fill_value_masks: bool | None = None) -> Convention:
        """The convention of a group, or of an array that stands alone."""
        document = node.metadata.to_dict()
        own = "node_type" in document
        # N5 has neither: there, a value of 0 is a value.
        masks = not own and "zarr_format" in document
        return cls(own, masks if fill_value_masks is None else fill_value_masks)


def dimensions_of(array: Array, name: str, convention: Convention) -> tuple[Any, ...]:
    """The names of the dimensions; KeyError if there are none, as xarray wants it."""
    dims = array.dims
    if dims is None and array.ndim:
        missing = "`dimension_names` metadata" if convention.own_dimensions else (
            f"attribute `{DIMENSION_KEY}`, and the NCZarr metadata,"
        )  # fmt: skip
        raise KeyError(
            f"array {name!r} in {array.store!r} is missing the {missing} required for xarray to"
            " determine variable dimensions; drop it with drop_variables, or open it by itself"
        )
    return dims or ()


def variable_of(array: Array, dims: tuple[Any, ...], convention: Convention) -> xarray.Variable:
    """The array as a variable that reads its values when they are asked for."""
    values = LazyArray(array)
    attributes = array.attrs.asdict()
    encoding = _encoding(array, dims, convention)
    if values.dtype.kind == "T":
        encoding["dtype"] = values.dtype
    if not convention.own_dimensions:
        attributes = {name: value for name, value in attributes.items() if not _hidden(name)}
    if convention.fill_value_masks:
        if array.fill_value is not None:
            attributes["_FillValue"] = array.fill_value
    elif "_FillValue" in attributes:
        try:
            attributes["_FillValue"] = decoded_fill_value(attributes["_FillValue"], values.dtype)
        except MetadataError as error:
            raise error.at(array.store, path=array.path) from error
    return xarray.Variable(dims, LazilyIndexedArray(values), attributes, encoding)


def _hidden(attribute: str) -> bool:
    return attribute == DIMENSION_KEY or attribute.lower().startswith("_nc")


def _encoding(array: Array, dims: tuple[Any, ...], convention: Convention) -> dict[str, Any]:
    """How the array is stored, in the words that `to_zarr` takes: ours, and xarray's own."""
    chunks = tuple(map(_compact, array.chunks))
    shards = _shards(array)
    encoding: dict[str, Any] = {
        "chunks": chunks,
        # One task a shard: two that share one would read it twice, and could not write it back.
        "preferred_chunks": dict(zip(dims, shards or chunks, strict=True)),
        "shards": shards,
    }
    if not convention.own_dimensions:
        return encoding | {"compressors": array.compressors, "filters": array.filters}
    encoding["compressors"] = tuple(map(_described, array.compressors))
    encoding["filters"] = tuple(map(_described, array.filters or ()))
    encoding["serializer"] = _described(array.serializer)
    if not convention.fill_value_masks:
        encoding["fill_value"] = array.fill_value
    return encoding


def _shards(array: Array) -> tuple[int | tuple[int, ...], ...] | None:
    """Lengths of shards; a tuple of all along a dimension where they differ."""
    if array.shards is None:
        return None
    try:
        sizes = tuple(map(_compact, array.write_chunk_sizes))
    except LimitError:
        return array.shards  # one shape for all: only equal shards can be so many
    return sizes if any(isinstance(size, tuple) for size in sizes) else array.shards


def _compact(chunk: int | tuple[int, ...]) -> int | tuple[int, ...]:
    """One length for chunks that are alike but for a shorter last one; (0,) for no chunks."""
    if isinstance(chunk, int):
        return chunk
    if not chunk:
        return (0,)
    alike = len(set(chunk[:-1])) <= 1 and chunk[-1] <= chunk[0]
    return chunk[0] if alike else tuple(chunk)


def _described(codec: Any) -> dict[str, Any] | None:
    """A codec as the document has it: zarr-python takes that too, where it does not know ours."""
    if codec is None:
        return None
    if hasattr(codec, "spec"):
        spec = codec.spec()
        return {"name": spec.name, "configuration": _plain(spec.configuration)}
    configuration = codec.get_config()
    return {"name": f"numcodecs.{configuration.pop('id')}", "configuration": configuration}


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _plain(item) for name, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list | tuple) else value


def decoded_fill_value(value: Any, dtype: npt.DTypeLike) -> Any:
    """`_FillValue` from an attribute: as xarray writes it, or plain, as other software does."""
    try:
        return FillValueCoder.decode(value, np.dtype(dtype))
    except (TypeError, ValueError):
        return value
    except struct.error:  # text of another length than that of a double in base64
        try:
            return float(value)
        except ValueError:
            raise MetadataError(f"_FillValue must be a number, found {value!r:.60}") from None
