"""What the formats before the final v3 share in expressing a request, and in refusing it.

They have chunks of one shape, the orders C and F, the byte order in the data type, and codecs under
numcodecs' names. This module must not know how any of them spells a member.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from omnizarr.errors import UnsupportedError
from omnizarr.formats.base import ArrayRequest, FormatName
from omnizarr.formats.core_codecs import FAST, from_core
from omnizarr.model.array import ArrayModel
from omnizarr.model.codec import CodecSpec
from omnizarr.model.dtypes import DataType
from omnizarr.model.grids import Shape
from omnizarr.model.json import show

Order = Literal["C", "F"]


def spoken(name: FormatName) -> str:
    """A format as messages name it."""
    return "N5" if name == "n5" else f"format {name}"


def check_no_shards(request: ArrayRequest, name: FormatName) -> None:
    if request.shards is not None:
        raise UnsupportedError(
            f"{spoken(name)} has no shards; create the array with zarr_format=3", what="shards"
        )


def chunk_shape(request: ArrayRequest, name: FormatName) -> Shape:
    """The one shape of all chunks."""
    chunks = tuple(int(chunk) for chunk in request.chunks if not isinstance(chunk, tuple))
    if len(chunks) != len(request.chunks):
        raise _one_chunk_shape(name)
    return chunks


def check_grid(model: ArrayModel, name: FormatName) -> None:
    if not model.grid.regular:
        raise _one_chunk_shape(name)


def _one_chunk_shape(name: FormatName) -> UnsupportedError:
    text = spoken(name)
    text = f"Zarr {text}" if text.startswith("format") else text
    return UnsupportedError(
        f"{text} does not support rectilinear chunk grids: all chunks have one shape; create the"
        " array with zarr_format=3",
        what="chunks",
    )


def filters_of(request: ArrayRequest) -> list[CodecSpec]:
    """The filters and the serializer that a user gives."""
    filters = () if request.filters is None or request.filters == "auto" else request.filters
    serializer = (request.serializer,) if isinstance(request.serializer, CodecSpec) else ()
    return [*filters, *serializer]


def codecs_of(request: ArrayRequest, default: CodecSpec) -> list[CodecSpec]:
    """All codecs that a user gives, in encoding order; a compressor that is left open is the
    default."""
    if request.codecs is not None:
        return [*request.codecs]
    if request.compressors == "auto":
        return [*filters_of(request), default]
    if request.compressors == "fast":
        return [*filters_of(request), FAST]
    return [*filters_of(request), *(request.compressors or ())]


def split_order(
    specs: Sequence[CodecSpec], ndim: int, data_type: DataType, name: FormatName
) -> tuple[Order, list[CodecSpec]]:
    """A pipeline as an order and the codecs that follow it; UnsupportedError for a transpose, a
    byte order or a codec that cannot be expressed."""
    rest = [*specs]
    order: Order = "C"
    if rest and rest[0].name == "transpose":
        axes = rest.pop(0).configuration.get("order")
        if axes == "F" or (ndim > 1 and axes == list(range(ndim))[::-1]):
            order = "F"
        elif axes not in ("C", list(range(ndim))):
            raise UnsupportedError(
                f"{spoken(name)} has the orders C and F only, not the transpose {show(axes)}",
                what="codecs",
            )
    found: list[CodecSpec] = []
    for spec in rest:
        if spec.name in ("bytes", "endian"):
            _check_endian(spec, data_type, name)
        elif from_core(spec) is None:
            raise UnsupportedError(
                f"the codec {spec.name!r} cannot be expressed in {spoken(name)}; create the array"
                " with zarr_format=3, or choose a numcodecs codec",
                what="codecs",
            )
        else:
            found.append(spec)
    return order, found


def _check_endian(spec: CodecSpec, data_type: DataType, name: FormatName) -> None:
    endian, dtype = spec.configuration.get("endian"), data_type.numpy
    if endian is None or data_type.variable or dtype.names or dtype.itemsize == 1:
        return
    if dtype.str[0] == "|" or endian == {"<": "little", ">": "big"}[dtype.str[0]]:
        return
    raise UnsupportedError(
        f"{spoken(name)} has the byte order in the data type: {dtype.str!r} cannot be written with"
        f" endian {endian!r}; use the dtype's other byte order",
        what="codecs",
    )
