"""Rules of N5: the file-system specification of saalfeldlab/n5, version 4.

Sections are its numbered items. Any directory is a group, so nothing is missing between nodes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from math import prod

from omnizarr.formats.rules import chunks
from omnizarr.formats.rules.base import (
    At,
    Finding,
    Look,
    Rules,
    chunk_shape,
    is_integer,
    lengths,
    required,
    same_dimensions,
)
from omnizarr.formats.rules.strict_json import Unreadable, attribute_values, encoding, read_object
from omnizarr.model.array import ArrayModel
from omnizarr.model.codec import Json
from omnizarr.model.json import show
from omnizarr.model.store import ByteRange

DOCUMENT = "N5 specification"
ATTRIBUTES = "attributes.json"
GROUPS = "file-system specification, item 2 (attributes)"
VERSION = "file-system specification, item 3 (version)"
DATASET = "file-system specification, item 4 (datasets)"
BLOCKS = "file-system specification, item 5 (blocks)"
SIZE = "file-system specification, item 7 (block size)"

MANDATORY = ("dimensions", "blockSize", "dataType")
_TYPES = {
    **{f"{sign}int{bits}": bits // 8 for sign in ("", "u") for bits in (8, 16, 32, 64)},
    "float32": 4,
    "float64": 8,
}
_INCLUDED = ("raw", "bzip2", "gzip", "lz4", "xz")
_CUSTOM = ("blosc", "zstd", "jpeg")
_VERSION = re.compile(r"[0-9]+\.[0-9]+\.[0-9]+\S*\Z")
_LARGEST = 1 << 31


def check(look: Look) -> Iterator[Finding]:
    at = At(look.path, look.key(ATTRIBUTES), DOCUMENT)
    found = look.fetch(ATTRIBUTES)
    if ATTRIBUTES not in found:
        return
    yield from encoding(at, GROUPS, found[ATTRIBUTES])
    try:
        document = read_object(at, GROUPS, found[ATTRIBUTES])
    except Unreadable as error:
        yield from error.findings
        return
    yield from attribute_values(at, GROUPS, document)
    if not look.path:
        yield from _version(at, document)
    if _is_dataset(document):
        yield from _dataset(look, at, document)
        yield from chunks.check(look, _LAYOUT)


_LAYOUT = chunks.ChunkLayout(DOCUMENT, BLOCKS, own=frozenset({ATTRIBUTES}), sizes=False)


def _is_dataset(document: Mapping[str, Json]) -> bool:
    return "dimensions" in document and ("dataType" in document or "blockSize" in document)


def _version(at: At, document: Mapping[str, Json]) -> Iterator[Finding]:
    version = document.get("n5")
    if version is None:
        yield at.warning(VERSION, "the root has no attribute 'n5' that names the version")
    elif not isinstance(version, str) or _VERSION.match(version) is None:
        yield at.error(VERSION, f"n5 must be a version such as '4.0.0', found {show(version)}")


def _dataset(look: Look, at: At, document: Mapping[str, Json]) -> Iterator[Finding]:
    yield from required(at, DATASET, document, MANDATORY)
    for name, least in (("dimensions", 0), ("blockSize", 1)):
        if name in document:
            yield from lengths(at, DATASET, name, document[name], least)
    dimensions, block = document.get("dimensions"), document.get("blockSize")
    yield from same_dimensions(at, DATASET, "blockSize", dimensions, block)
    kind = document.get("dataType")
    if "dataType" in document:
        yield from _data_type(at, kind)
    if (sound := chunk_shape(block)) is not None:
        size = prod(sound) * _TYPES.get(kind if isinstance(kind, str) else "", 1)
        if size >= _LARGEST:
            yield at.error(SIZE, f"blocks of {size:,} bytes; at most 2 GiB are allowed")
    if "compression" in document:
        yield from _compression(look, at, document["compression"])
    elif "compressionType" in document:
        yield at.dialect(
            DATASET,
            f"compressionType {show(document['compressionType'])} instead of a compression object:"
            " N5 1.x wrote it",
        )
    else:
        yield at.error(DATASET, "the member 'compression' is missing")


def _data_type(at: At, value: Json) -> Iterator[Finding]:
    if isinstance(value, str) and value in _TYPES:
        return
    if value == "bool":
        yield at.dialect(DATASET, "dataType 'bool' is none of N5; zarr-python 2 wrote it")
    elif value in ("object", "string"):
        yield at.warning(DATASET, f"dataType {value!r} is of the Java implementation only")
    else:
        yield at.error(DATASET, f"dataType must be one of {', '.join(_TYPES)}, found {show(value)}")


def _compression(look: Look, at: At, value: Json) -> Iterator[Finding]:
    if not isinstance(value, dict):
        yield at.error(DATASET, f"compression must be an object with a type, found {show(value)}")
        return
    kind = value.get("type")
    if not isinstance(kind, str):
        yield at.error(
            DATASET, f"compression must have a type that is a string, found {show(kind)}"
        )
        return
    if kind not in _INCLUDED + _CUSTOM:
        yield at.warning(DATASET, f"compression {show(kind)} is a scheme that is not known here")
    if "id" in value:
        yield at.dialect(
            DATASET,
            f"compression {kind!r} carries the parameters of numcodecs (an 'id'); zarr-python 2"
            " wrote it",
        )
    limits = {"bzip2": ("blockSize", 1, 9), "xz": ("preset", 0, 9), "gzip": ("level", -1, 9)}
    if kind in limits:
        name, low, high = limits[kind]
        level = value.get(name, low)
        if not is_integer(level) or not low <= level <= high:
            yield at.error(
                DATASET, f"{kind}: {name} must be from {low} to {high}, found {show(level)}"
            )
    if kind == "gzip" and not isinstance(value.get("useZlib", False), bool):
        yield at.error(
            DATASET, f"gzip: useZlib must be true or false, found {show(value['useZlib'])}"
        )
    if kind == "lz4" and "id" not in value:
        yield from _lz4(look, at)


def _lz4(look: Look, at: At) -> Iterator[Finding]:
    """The frames of the Java implementation begin with a magic; z5 stores a bare LZ4 block."""
    model = look.node
    if not isinstance(model, ArrayModel) or not look.store.capabilities.listable:
        return
    prefix = look.format.chunk_prefix(look.path, model)
    for key in look.store.list_prefix(prefix):
        if model.keys.decode(key[len(prefix) :], model.ndim) is None:
            continue
        head = bytes(look.store.get(key, ByteRange(0, 4 + 4 * model.ndim + 8)) or b"")
        if head[:2] == b"\0\0" and not head.endswith(b"LZ4Block"):
            yield at.dialect(
                DATASET,
                "lz4 blocks without the LZ4Block frames of the Java implementation; z5 wrote them",
            )
        return


def is_array(look: Look) -> bool:
    found = look.fetch(ATTRIBUTES)
    try:
        document = read_object(At("", "", ""), "", found.get(ATTRIBUTES, b""))
    except Unreadable:
        return False
    return _is_dataset(document)


RULES = Rules(check, is_array=is_array)
