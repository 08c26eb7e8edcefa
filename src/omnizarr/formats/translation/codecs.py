"""An array's codecs in words that every format understands.

Formats differ in where the byte order stands: in the data type (every format but the final v3), or
in the codec `bytes` (the final v3). Here a pipeline is written so that both agree: the data type
has the order in which elements are stored, `bytes` says so too, and filters that name types name
them in the order that the target has in memory. The stored bytes stay the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from omnizarr.errors import UnsupportedError
from omnizarr.formats.core_codecs import (
    ARRAY_TO_ARRAY,
    ARRAY_TO_BYTES,
    OBJECT_CODECS,
    OLD_ZSTD,
    PREFIX,
    from_core,
    inner_specs,
    with_inner,
)
from omnizarr.formats.translation.chunk_bytes import (
    VIEWING,
    element_size,
    stage_after,
    viewed_types,
    with_order,
    without_idle_bytes,
)
from omnizarr.model.array import ArrayModel
from omnizarr.model.axes import SHARDING, permutation
from omnizarr.model.codec import CodecSpec, Json
from omnizarr.model.dtypes import ArrowBinary, ArrowString, DataType, from_numpy, numpy_determines
from omnizarr.model.grids import Shape

N5_BLOCK = "n5_default"
_DEFLATING = frozenset({"gzip", PREFIX + "gzip", PREFIX + "zlib"})
_ZLIB_LEVEL = 6
"""What zlib takes -1 for."""
_RAW_LZMA = 3
_ENDIAN = {"<": "little", ">": "big"}


class Portable(NamedTuple):
    data_type: DataType
    codecs: tuple[CodecSpec, ...]


class Parts(NamedTuple):
    """A pipeline without its shards, as a user gives it: filters, serializer, compressors."""

    filters: list[CodecSpec]
    serializer: CodecSpec | None
    compressors: list[CodecSpec]


def portable(model: ArrayModel, *, native: bool) -> Portable:
    """Data type and codecs of an array. `native`: the target keeps types in this machine's order
    and names the stored one in `bytes`; else the data type itself has the stored order."""
    data_type, dtype = model.data_type, model.dtype
    specs = without_idle_bytes(_without_blocks(model.codecs, model.ndim))
    if not native:
        specs = [_plain_blosc(spec) for spec in specs]
    if data_type.variable:
        if isinstance(data_type, ArrowString | ArrowBinary) and not native:
            data_type, specs = data_type.framed, _framed(specs, isinstance(data_type, ArrowString))
        return Portable(data_type, tuple(_settled(specs, 1)))
    stored = _stored(specs, dtype)
    order = _order(stored)
    endian = _ENDIAN.get(order or "")
    if native:
        data_type, order = data_type.native, "="
        if endian is None and _has_order(data_type.numpy):
            endian = "little"  # a record whose fields differ in their order
    elif order is not None:
        data_type = _reordered(data_type, order)
    memory = data_type.numpy
    return Portable(data_type, tuple(_rewritten(specs, dtype, memory, endian)))


def _without_blocks(specs: Sequence[CodecSpec], ndim: int) -> list[CodecSpec]:
    """The codecs without the blocks of N5, whose header and byte order are its own."""
    result: list[CodecSpec] = []
    for spec in specs:
        if spec.name != N5_BLOCK:
            result.append(spec)
            continue
        for inner in inner_specs(spec.configuration):
            result.append(
                CodecSpec("bytes", {"endian": "little"}) if inner.name == "bytes" else inner
            )
    joined: list[CodecSpec] = []
    for spec in result:
        if spec.name == "transpose" and joined and joined[-1].name == "transpose":
            before = _axes(joined.pop(), ndim)
            order = [before[axis] for axis in _axes(spec, ndim)]
            if order != list(range(ndim)):
                joined.append(CodecSpec("transpose", {"order": order}))
        else:
            joined.append(spec)
    return joined


def _axes(spec: CodecSpec, ndim: int) -> Shape:
    return permutation(spec.configuration.get("order"), ndim)


def _plain_blosc(spec: CodecSpec) -> CodecSpec:
    """Blosc under its older name, which leaves the size of an element to the array."""
    if spec.name == SHARDING:
        return with_inner(spec, map(_plain_blosc, inner_specs(spec.configuration)))
    return (from_core(spec) or spec) if spec.name == "blosc" else spec


def _framed(specs: Sequence[CodecSpec], text: bool) -> list[CodecSpec]:
    """The codecs with each element behind its length, where document 004 has offsets."""
    result: list[CodecSpec] = []
    for spec in specs:
        if spec.name == "bytes":
            spec = CodecSpec("vlen-utf8" if text else "vlen-bytes", {})
        elif spec.name == SHARDING:
            spec = with_inner(spec, _framed(inner_specs(spec.configuration), text))
        result.append(spec)
    return result


def _reordered(data_type: DataType, order: str) -> DataType:
    dtype = data_type.numpy
    if dtype.isbuiltin == 2 or order not in "<>" or not numpy_determines(data_type):
        return data_type
    changed = dtype.newbyteorder(order)  # type: ignore[arg-type]  # it is one of the two
    return data_type if changed == dtype else from_numpy(changed)


def _stored(specs: Sequence[CodecSpec], dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The elements as they are when they become bytes."""
    stage = dtype
    for spec in specs:
        if spec.name == "bytes":
            return with_order(stage, spec.configuration.get("endian"))
        if spec.name == SHARDING:
            return _stored(inner_specs(spec.configuration), stage)
        if spec.name in VIEWING:
            stage = viewed_types(spec, stage)[1]
        else:
            stage = stage_after(spec, stage)
    return stage


def _order(dtype: np.dtype[Any]) -> str | None:
    """The byte order of a type; None if it has none, or several."""
    orders = _orders(dtype)
    return orders.pop() if len(orders) == 1 else None


def _orders(dtype: np.dtype[Any]) -> set[str]:
    if dtype.subdtype is not None:
        return _orders(dtype.subdtype[0])
    if dtype.names is not None:
        return set().union(*(_orders(dtype[name]) for name in dtype.names))
    if dtype.isbuiltin == 2:
        return {"<"} if dtype.itemsize > 1 else set()
    return {dtype.str[0]} & {"<", ">"}


def _has_order(dtype: np.dtype[Any]) -> bool:
    return bool(_orders(dtype))


def _rewritten(
    specs: Sequence[CodecSpec], before: np.dtype[Any], memory: np.dtype[Any], endian: str | None
) -> list[CodecSpec]:
    """The codecs for data that are `memory` where they were `before`, stored as ever."""
    result: list[CodecSpec] = []
    serialised = False
    old, new = before, memory
    for spec in specs:
        if spec.name == "bytes":
            if not serialised:
                result.append(_bytes(endian, new))
            serialised = True
        elif spec.name == SHARDING:
            inner = _rewritten(inner_specs(spec.configuration), old, new, endian)
            result.append(with_inner(spec, inner))
            serialised = True
        elif spec.name in VIEWING:
            result.append(_view(spec, old, new))
            old = viewed_types(spec, old)[1]
            new = viewed_types(result[-1], new)[1]
        else:
            array = spec.name in ARRAY_TO_ARRAY
            if not array and not serialised:
                serialised = True
                if spec.name not in ARRAY_TO_BYTES | OBJECT_CODECS:
                    result.append(_bytes(endian, new))
            result.extend(_settled([spec], new.itemsize))
            old, new = stage_after(spec, old), stage_after(spec, new)
    if not serialised:
        result.append(_bytes(endian, new))
    return result


def _bytes(endian: str | None, dtype: np.dtype[Any]) -> CodecSpec:
    return CodecSpec("bytes", {"endian": endian} if endian and _has_order(dtype) else {})


def _view(spec: CodecSpec, old: np.dtype[Any], new: np.dtype[Any]) -> CodecSpec:
    """A filter that names types, for data whose byte order in memory is another one."""
    if old == new:
        return spec
    seen, made = viewed_types(spec, old)
    if seen != old:
        raise UnsupportedError(
            f"the codec {spec.name!r} looks at {old.str} as {seen.str}, which depends on a byte"
            " order that the destination does not have",
            what="codecs",
        )
    before, after = VIEWING[spec.name]
    order: Any = new.byteorder
    return CodecSpec(
        spec.name,
        {**spec.configuration, before: new.str, after: made.newbyteorder(order).str},
        spec.must_understand,
    )


_LEVELS = ("level", "clevel")


def _settled(specs: Sequence[CodecSpec], width: int) -> list[CodecSpec]:
    """With what readers may take for something else, or refuse, said outright: the width of a
    shuffle, the level that zlib calls -1; and with today's Zstandard where zarr 1.1 had its own."""
    result: list[CodecSpec] = []
    for spec in specs:
        changed: dict[str, Json] = {}
        if spec.name == "numcodecs.shuffle":
            changed = {"elementsize": element_size(spec, width)}
        elif spec.configuration.get("cname") == OLD_ZSTD:
            changed = {"cname": "zstd"}
        elif spec.name == "numcodecs.lzma" and spec.configuration.get("format", 1) != _RAW_LZMA:
            # Only a raw stream is decoded with them; readers refuse them for other containers.
            changed = {"filters": None}
        elif spec.name in _DEFLATING and spec.configuration.get("level") == -1:
            changed = {"level": _ZLIB_LEVEL}
        # A level of null is the codec's default, which is what a level left out means.
        given = {k: v for k, v in spec.configuration.items() if v is not None or k not in _LEVELS}
        configuration = {**given, **changed}
        result.append(CodecSpec(spec.name, configuration, spec.must_understand))
    return result


def readable(specs: Sequence[CodecSpec]) -> list[CodecSpec]:
    """The codecs in words that readers of format 3 agree on: behind a filter that names types they
    take the order in `bytes` for that of the filter's types, so it must be the same one."""
    if not any(spec.name in VIEWING for spec in specs):
        return [*specs]
    big = {"endian": "big"}
    return [
        CodecSpec("bytes", {"endian": "little"})
        if spec.name == "bytes" and spec.configuration == big
        else spec
        for spec in specs
    ]


def unchecked(specs: Sequence[CodecSpec], document: Mapping[str, Json]) -> list[CodecSpec]:
    """The codecs of chunks that are copied: their Zstandard frames have a checksum for certain only
    where the array's own document says so."""
    codecs = {name: value for name, value in document.items() if name != "attributes"}
    if _says_checksum(codecs):
        return [*specs]
    return [
        CodecSpec(spec.name, {**spec.configuration, "checksum": False}, spec.must_understand)
        if spec.name in ("zstd", PREFIX + "zstd") and spec.configuration.get("checksum")
        else spec
        for spec in specs
    ]


def _says_checksum(value: Json) -> bool:
    if isinstance(value, Mapping):
        return value.get("checksum") is True or any(map(_says_checksum, value.values()))
    return isinstance(value, list) and any(map(_says_checksum, value))


def parts_of(specs: Sequence[CodecSpec]) -> Parts:
    """A pipeline taken apart; of a sharded one, what stands inside the shards."""
    for spec in specs:
        if spec.name == SHARDING:
            return parts_of(inner_specs(spec.configuration))
    parts = Parts([], None, [])
    for spec in specs:
        if spec.name in ARRAY_TO_ARRAY and parts.serializer is None and not parts.compressors:
            parts.filters.append(spec)
        elif parts.serializer is None and (spec.name in ARRAY_TO_BYTES | OBJECT_CODECS):
            parts = parts._replace(serializer=spec)
        else:
            parts.compressors.append(spec)
    return parts
