"""Whether the stored chunks of one array are, byte for byte, chunks of another.

An encoding is what a decoder needs to know: how the elements are laid out, which codecs ran, and of
their options those that decoding depends on. Options that only steer an encoder (levels, the inner
compressor and shuffle of blosc, whose containers describe themselves) are left out. Two arrays of
different formats that agree here can exchange chunks without decoding them.

It knows metadata only: no codec is looked up, no byte is read.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from omnizarr.errors import MetadataError
from omnizarr.formats.core_codecs import (
    ARRAY_TO_ARRAY,
    ARRAY_TO_BYTES,
    OLD_ZSTD,
    from_json,
    inner_specs,
    to_core,
)
from omnizarr.model.array import ArrayModel
from omnizarr.model.axes import SHARDING, permutation
from omnizarr.model.codec import CodecSpec, Json
from omnizarr.model.dtypes import from_json as type_from_json
from omnizarr.model.json import show
from omnizarr.model.keys import ChunkKeys

VIEWING: Mapping[str, tuple[str, str]] = {
    "numcodecs.astype": ("decode_dtype", "encode_dtype"),
    "numcodecs.delta": ("dtype", "astype"),
    "numcodecs.fixedscaleoffset": ("dtype", "astype"),
    "numcodecs.quantize": ("dtype", "astype"),
}
"""Codecs that name the type they take their input for, and the type that they make of it."""

_IRRELEVANT = frozenset(
    {
        *("blosc", "zstd", "gzip", "crc32c", "vlen-utf8", "vlen-bytes", "bitround"),
        *("numcodecs.bitround", "numcodecs.bz2", "numcodecs.fletcher32", "numcodecs.lz4"),
        *("numcodecs.packbits", "numcodecs.zlib"),
    }
)
"""Codecs none of whose options a decoder needs."""

_RAW_LZMA = 3
"""The one form of LZMA that does not carry its own parameters."""


@dataclass(frozen=True)
class Encoding:
    """What two pipelines share if each decodes what the other encodes."""

    elements: str
    """The type of an element, whatever its byte order."""
    stored: str
    """The elements as they are serialised, byte order included."""
    steps: tuple[str, ...]


def same_encoding(one: ArrayModel, other: ArrayModel) -> bool:
    """Whether every stored chunk of one is a valid chunk of the other, with the same values, and
    a chunk that is missing reads the same."""
    return (
        one.shape == other.shape
        and same_grid(one, other)
        and encoding_of(one) == encoding_of(other)
        and same_fill(one, other)
    )


def same_grid(one: ArrayModel, other: ArrayModel) -> bool:
    if one.grid.regular and other.grid.regular:
        return one.grid.chunk_shape == other.grid.chunk_shape
    return one.grid == other.grid


def same_fill(one: ArrayModel, other: ArrayModel) -> bool:
    """Whether an element that was never written reads the same, bit for bit."""
    left, right = one.fill, other.fill
    if one.data_type.variable or other.data_type.variable:
        return bool(_plain(left) == _plain(right))
    return _bits(one, left) == _bits(other, right)


def _plain(value: Any) -> Any:
    if isinstance(value, np.void):
        value = value.item()
    kind = "str" if isinstance(value, str) else type(value).__name__
    return kind, value


def _bits(model: ArrayModel, value: Any) -> bytes:
    scalar = np.empty(1, model.dtype)
    scalar[0] = value
    return scalar.astype(model.data_type.native.numpy).tobytes()


def same_keys(one: ChunkKeys, other: ChunkKeys, ndim: int) -> bool:
    """Whether both give every chunk the same name."""
    # Coordinates stand in a key in some order, between fixed texts: one sample tells.
    sample = tuple(range(1, ndim + 1))
    return one.encoder(ndim)(sample) == other.encoder(ndim)(sample)


def encoding_of(model: ArrayModel) -> Encoding:
    return _encoding(model.codecs, model.dtype, model.ndim, model.data_type.name)


def _encoding(
    specs: Sequence[CodecSpec], dtype: np.dtype[Any], ndim: int, type_name: str
) -> Encoding:
    variable = dtype.hasobject or dtype.kind == "T"
    elements = type_name if variable else f"{type_name} {_text(without_order(dtype))}"
    steps: list[str] = []
    sharded = False
    stored: np.dtype[Any] | None = None
    stage = dtype
    for spec in without_idle_bytes(specs):
        if spec.name == "transpose":
            axes = permutation(spec.configuration.get("order"), ndim)
            if list(axes) != list(range(ndim)):
                steps.append(_line("transpose", list(axes)))
        elif spec.name == "bytes":
            if stored is None and not variable:
                stored = with_order(stage, spec.configuration.get("endian"))
        elif spec.name == SHARDING:
            steps.append(_sharding(spec.configuration, stage, type_name))
            sharded = True  # the codecs inside know how elements are laid out
        elif spec.name in VIEWING:
            seen, made = viewed_types(spec, stage)
            exact = "" if seen == stage else f"{stage.str} seen as {seen.str}"
            rest = {
                key: value
                for key, value in spec.configuration.items()
                if key not in VIEWING[spec.name] and (spec.name, key) != _DIGITS
            }
            kinds = [_text(without_order(seen)), _text(without_order(made)), exact]
            steps.append(_line(spec.name, [kinds, rest]))
            stage = made
        else:
            width = 1 if variable else (stage if stored is None else stored).itemsize
            steps.append(_step(spec, width))
            stage = stage_after(spec, stage)
    layout = "" if variable or sharded else _text(stage if stored is None else stored)
    return Encoding(elements, layout, tuple(steps))


_DIGITS = ("numcodecs.quantize", "digits")


def without_idle_bytes(specs: Sequence[CodecSpec]) -> list[CodecSpec]:
    """Without a `bytes` whose output the next codec takes for the array that it was: format 2 has
    codecs in place of a compressor that work on arrays."""
    following = [*specs, None][1:]
    return [
        spec
        for spec, after in zip(specs, following, strict=True)
        if spec.name != "bytes"
        or spec.configuration.get("endian") is not None
        or after is None
        or after.name not in (ARRAY_TO_ARRAY | ARRAY_TO_BYTES) - {"bytes"}
    ]


def _step(spec: CodecSpec, width: int) -> str:
    core = to_core(spec, width)
    given = core.configuration
    if core.name == "blosc" and given.get("cname") == OLD_ZSTD:
        return _line(core.name, OLD_ZSTD)  # which no reader of today's Zstandard knows
    if core.name in _IRRELEVANT:
        return core.name.removeprefix("numcodecs.")
    match core.name:
        case "numcodecs.shuffle":
            return _line(core.name, element_size(spec, width))
        case "numcodecs.lzma":
            form = given.get("format", 1)
            return _line(core.name, [form, given.get("filters") if form == _RAW_LZMA else None])
        case "numcodecs.crc32" | "numcodecs.adler32" | "numcodecs.crc32c":
            return _line(core.name, given.get("location", "start"))
        case _:
            return _line(core.name, dict(given))


def _sharding(configuration: Mapping[str, Json], dtype: np.dtype[Any], type_name: str) -> str:
    shape = list(configuration.get("chunk_shape") or ())
    inner = _encoding(inner_specs(configuration), dtype, len(shape), type_name)
    index = configuration.get("index_codecs")
    told = None
    if index is not None:
        wide = np.dtype("<u8")
        told = _encoding([from_json(item) for item in index], wide, len(shape) + 1, "uint64")
    location = configuration.get("index_location", "end")
    return _line(SHARDING, [shape, repr(inner), repr(told), location])


def viewed_types(spec: CodecSpec, stage: np.dtype[Any]) -> tuple[np.dtype[Any], np.dtype[Any]]:
    """The types as which a codec of `VIEWING` sees its input and its output."""
    before, after = VIEWING[spec.name]
    seen = _named_type(spec, before, stage)
    return seen, _named_type(spec, after, seen)


def _named_type(spec: CodecSpec, key: str, default: np.dtype[Any]) -> np.dtype[Any]:
    value = spec.configuration.get(key)
    if not value:
        return default
    try:
        found: np.dtype[Any] = np.dtype(value)
    except (TypeError, ValueError) as error:
        raise MetadataError(
            f"codec {spec.name!r}: {key} must be a NumPy type string, found {show(value)}"
        ) from error
    return found


def stage_after(spec: CodecSpec, stage: np.dtype[Any]) -> np.dtype[Any]:
    """The type behind a codec that is not of `VIEWING`."""
    if spec.name == "numcodecs.packbits":
        return np.dtype(np.uint8)
    if spec.name == "cast_value":
        return type_from_json(spec.configuration.get("data_type")).numpy
    return stage


def element_size(spec: CodecSpec, width: int) -> int:
    """The width of a shuffle; netCDF-C writes 0 or "0" for that of the elements."""
    try:
        return int(spec.configuration.get("elementsize") or 0) or width
    except (TypeError, ValueError):
        return width


def with_order(dtype: np.dtype[Any], endian: Json) -> np.dtype[Any]:
    """The type as `bytes` with this endian stores it."""
    if endian not in ("little", "big") or dtype.isbuiltin == 2:
        return dtype
    return dtype.newbyteorder("<" if endian == "little" else ">")


def without_order(dtype: np.dtype[Any]) -> np.dtype[Any]:
    return dtype if dtype.isbuiltin == 2 else dtype.newbyteorder("<")


def _text(dtype: np.dtype[Any]) -> str:
    """A type in full: fields with their places, units, byte order."""
    if dtype.isbuiltin == 2:
        return dtype.name
    if dtype.subdtype is not None:
        base, shape = dtype.subdtype
        return f"{_text(base)}{shape}"
    if dtype.names is None or dtype.fields is None:
        return dtype.str
    fields = [
        f"{name}@{dtype.fields[name][1]}:{_text(dtype.fields[name][0])}" for name in dtype.names
    ]
    return f"{{{','.join(fields)}}}{dtype.itemsize}"


def _line(name: str, options: Json) -> str:
    return f"{name} {json.dumps(options, sort_keys=True, default=repr)}"
