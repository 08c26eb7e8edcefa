"""Rules of N5: the file-system specification of saalfeldlab/n5, version 4.

Sections are its numbered items. Any directory is a group, so nothing is missing between nodes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from math import prod

from omnizarr.formats.members import BOOLEAN, integer
from omnizarr.formats.n5.codecs import COMPRESSION
from omnizarr.formats.n5.document import ATTRIBUTES, DATA_TYPE
from omnizarr.formats.rules import chunks
from omnizarr.formats.rules.base import (
    At,
    Finding,
    Look,
    Rules,
    chunk_shape,
    constraints,
    lengths,
    required,
    same_dimensions,
)
from omnizarr.formats.rules.strict_json import attribute_values, read_object
from omnizarr.model.array import ArrayModel
from omnizarr.model.codec import Json
from omnizarr.model.json import show
from omnizarr.model.store import ByteRange

DOCUMENT = "N5 specification"
GROUPS = "file-system specification, item 2 (attributes)"
VERSION = "file-system specification, item 3 (version)"
DATASET = "file-system specification, item 4 (datasets)"
BLOCKS = "file-system specification, item 5 (blocks)"
SIZE = "file-system specification, item 7 (block size)"

MANDATORY = ("dimensions", "blockSize", "dataType")
_INCLUDED = ("raw", "bzip2", "gzip", "lz4", "xz")
_CUSTOM = ("blosc", "zstd", "jpeg")
_VERSION = re.compile(r"[0-9]+\.[0-9]+\.[0-9]+\S*\Z")
_LARGEST = 1 << 31
_OPTIONS = {
    "bzip2": {"blockSize": integer(1, 9)},
    "gzip": {"level": integer(-1, 9), "useZlib": BOOLEAN},
    "xz": {"preset": integer(0, 9)},
}


def check(look: Look) -> Iterator[Finding]:
    at = At(look.path, look.key(ATTRIBUTES), DOCUMENT)
    found = look.fetch(ATTRIBUTES)
    if ATTRIBUTES not in found:
        return
    document, faults = read_object(at, GROUPS, found[ATTRIBUTES])
    yield from faults
    if document is None:
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
    if "dataType" in document:
        yield from _data_type(at, document["dataType"])
    if isinstance(look.node, ArrayModel) and (sound := chunk_shape(block)) is not None:
        size = prod(sound) * look.node.dtype.itemsize
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
    if value == "bool":
        yield at.dialect(DATASET, "dataType 'bool' is none of N5; zarr-python 2 wrote it")
    elif value in ("object", "string"):
        yield at.warning(DATASET, f"dataType {value!r} is of the Java implementation only")
    else:
        yield from constraints(at, DATASET, {"dataType": value}, {"dataType": DATA_TYPE})


def _compression(look: Look, at: At, value: Json) -> Iterator[Finding]:
    if message := COMPRESSION.fault("compression", value):
        yield at.error(DATASET, message)
        return
    kind = value["type"]
    if kind not in _INCLUDED + _CUSTOM:
        yield at.warning(DATASET, f"compression {show(kind)} is a scheme that is not known here")
    if "id" in value:
        yield at.dialect(
            DATASET,
            f"compression {kind!r} carries the parameters of numcodecs (an 'id'); zarr-python 2"
            " wrote it",
        )
    yield from constraints(at, DATASET, value, _OPTIONS.get(kind, {}), f"{kind}: ")
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
    document = read_object(At("", "", ""), "", found.get(ATTRIBUTES, b""))[0]
    return document is not None and _is_dataset(document)


RULES = Rules(check, is_array=is_array)
