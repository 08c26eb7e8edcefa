"""What formats 0 and 1 share: arrays at any path, no groups, one compressor, NumPy's own types.

Both were written by releases that knew one array per store. A directory of such arrays is common,
so an array may be at any path here; nothing is stored above it. This module knows what the two
formats have no words for, and says so. It must not know how either of them spells a member.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from omnizarr.errors import UnsupportedError
from omnizarr.formats import hierarchy, members, requests
from omnizarr.formats.base import ArrayRequest, FormatName, Node
from omnizarr.formats.core_codecs import PREFIX, SHUFFLES, from_core, shuffle_name
from omnizarr.formats.members import Constraint, integer, one_of
from omnizarr.formats.v2 import data_types
from omnizarr.model import json
from omnizarr.model.array import ArrayModel, GroupModel
from omnizarr.model.codec import CodecSpec, Json
from omnizarr.model.dtypes import DataType, Struct
from omnizarr.model.dtypes.small import NAMES as SMALL_NAMES
from omnizarr.model.grids import Shape
from omnizarr.model.json import show
from omnizarr.model.paths import join
from omnizarr.model.store import Buffer

BLOSC = PREFIX + "blosc"


class ArraysOnly(hierarchy.BelowPath):
    """The part of a format that follows from its having no groups, and one document for an array
    beside one for its attributes."""

    compression_aliases: Mapping[str, str] = {"gzip": "zlib"}
    """zarr 1 calls a zlib stream so."""
    document_names: tuple[str, str]
    """What the two are called."""
    attributes_required: bool
    """Attributes have a document even if there are none, stored before that of the array."""

    @abstractmethod
    def array_document(self, model: ArrayModel) -> dict[str, Json]: ...

    def keys(self, path: str) -> tuple[str, ...]:
        return tuple(join(path, name) for name in self.document_names)

    def probes(self, path: str) -> tuple[str, ...]:
        return self.keys(path)[:1]

    def documents(
        self, path: str, node: Node, *, attributes_only: bool = False
    ) -> dict[str, bytes]:
        key, attributes_key = self.keys(path)
        attributes = {attributes_key: text(node.attributes)}
        if attributes_only:
            return attributes
        if not isinstance(node, ArrayModel):
            raise self._no_groups()
        array = {key: text(self.array_document(node))}
        if self.attributes_required:
            return {**attributes, **array}
        return {**array, **attributes} if node.attributes else array

    def new_group(self, attributes: Mapping[str, Json]) -> GroupModel:
        raise self._no_groups()

    def _no_groups(self) -> UnsupportedError:
        return UnsupportedError(
            f"format {self.name} has no groups, only arrays; use zarr_format=2 or 3", what="groups"
        )

    def parent_documents(self, path: str) -> dict[str, bytes]:
        return {}


# -- documents --------------------------------------------------------------------------------


def text(document: Mapping[str, Json]) -> bytes:
    return json.dumps(document, indent=4, sort_keys=True).encode("ascii")


def loads_object(data: Buffer, key: str) -> dict[str, Json]:
    """The JSON object stored under a key."""
    return members.parsed(key, data, members.document)


# -- shape, chunks, type ----------------------------------------------------------------------


def check_dimensions(shape: Shape, name: FormatName) -> None:
    if not shape:
        raise UnsupportedError(
            f"format {name} has no arrays of 0 dimensions; use the shape (1,), or zarr_format=2",
            what="dimensions",
        )


def check_request(request: ArrayRequest, name: FormatName) -> tuple[int, ...]:
    """The chunk shape of a request, if the format can have it."""
    check_dimensions(request.shape, name)
    requests.check_no_shards(request, name)
    chunks = requests.chunk_shape(request, name)
    if request.key_encoding == "default":
        raise UnsupportedError(f"format {name} has the 'v2' chunk key encoding only", what="chunks")
    return chunks


def check_grid(model: ArrayModel, name: FormatName) -> None:
    check_dimensions(model.shape, name)
    requests.check_grid(model, name)


def decode_type(value: Json) -> DataType:
    """The type of a dtype member. Objects were stored as their addresses: they are lost."""
    data_type = data_types.decode(value)
    if data_type.variable or data_type.numpy.hasobject or _is_small(value):
        raise UnsupportedError(
            f"dtype {show(value)}: this format holds elements of a fixed size and of NumPy's own"
            " types only",
            what="data_type",
        )
    return data_type


def encode_type(data_type: DataType, name: FormatName) -> Json:
    """The dtype member of a type; UnsupportedError if the format cannot spell it."""
    problem = ""
    value: Json = None
    if data_type.variable or data_type.numpy.hasobject:
        problem = "its elements have no fixed size"
    else:
        value = data_types.encode(data_type)
        problem = _problem(value)
    if problem:
        others = "2" if data_type.numpy.hasobject and data_type.name != "bytes" else "2 or 3"
        raise UnsupportedError(
            f"format {name} cannot store the data type {data_type.name!r}: {problem};"
            f" use zarr_format={others}",
            what="data_type",
        )
    return value


def _problem(value: Json) -> str:
    if _is_small(value):
        return "it is none of NumPy's own types"
    for field in value if isinstance(value, list) else ():
        if len(field) > 2:
            return f"the field {field[0]!r} holds a sub-array"
        if not field[0]:
            return "there is padding between its fields"
        inner = _problem(field[1])
        if inner:
            return inner
    return ""


def _is_small(value: Json) -> bool:
    return isinstance(value, str) and value in SMALL_NAMES


def has_times(data_type: DataType) -> bool:
    """Whether there are points in time or durations in it."""
    if isinstance(data_type, Struct):
        return any(has_times(field.data_type) for field in data_type.fields)
    return data_type.numpy.kind in "mM"


# -- codecs -----------------------------------------------------------------------------------


class Parts(NamedTuple):
    """What is left of a pipeline in a format with one compressor."""

    transposed: bool
    """The bytes of a chunk are in column-major order."""
    compressor: CodecSpec | None


def parts_of(specs: Sequence[CodecSpec], ndim: int, data_type: DataType, name: FormatName) -> Parts:
    """A whole pipeline as order and compressor, under numcodecs' names; UnsupportedError if there
    is more to it."""
    order, rest = requests.split_order(specs, ndim, data_type, name)
    # Blosc has defaults of its own under each name.
    found = [spec if of_blosc(spec) else from_core(spec) or spec for spec in rest]
    if len(found) > 1:
        raise _codecs(name, f"one compressor and no filters; found {[s.name for s in found]}")
    return Parts(order == "F" and ndim > 1, found[0] if found else None)


def requested(request: ArrayRequest, default: CodecSpec, name: FormatName) -> Parts:
    """The same for what a user asks for."""
    specs = requests.codecs_of(request, default)
    return parts_of(specs, len(request.shape), request.data_type, name)


def pipeline(parts: Parts, ndim: int) -> tuple[CodecSpec, ...]:
    """The whole pipeline in encoding order."""
    specs = [CodecSpec("bytes", {})]
    if parts.transposed:
        specs.insert(0, CodecSpec("transpose", {"order": list(range(ndim))[::-1]}))
    if parts.compressor is not None:
        specs.append(parts.compressor)
    return tuple(specs)


def _codecs(name: FormatName, problem: str) -> UnsupportedError:
    return UnsupportedError(f"format {name} has {problem}", what="codecs")


# -- blosc ------------------------------------------------------------------------------------


def blosc_constraints(names: Sequence[str]) -> dict[str, Constraint]:
    """What the members of Blosc must be, given the compressors that it may have inside."""
    return {"cname": one_of(*names), "clevel": integer(0, 9), "shuffle": one_of(0, 1, 2)}


def decode_blosc(given: Mapping[str, Json], names: Sequence[str]) -> CodecSpec:
    """Blosc from the members cname, clevel and shuffle."""
    configuration: dict[str, Json] = {}
    for name, constraint in blosc_constraints(names).items():
        configuration[name] = given.get(name)
        constraint.check(name, configuration[name])
    return CodecSpec(BLOSC, {**configuration, "blocksize": 0})


def encode_blosc(
    spec: CodecSpec, itemsize: int, names: Sequence[str], name: FormatName
) -> dict[str, Any]:
    """Those members; UnsupportedError if the format cannot express them."""
    given = spec.configuration
    core = spec.name == "blosc"
    cname = given.get("cname", "zstd" if core else "lz4")
    if cname not in names:
        raise _codecs(
            name, f"blosc with {', '.join(names)}; {show(cname)} cannot be written so that its"
            " releases read it"
        )  # fmt: skip
    if given.get("blocksize"):
        raise _codecs(name, f"no place for blosc's blocksize {given['blocksize']}; use 0")
    if given.get("typesize") not in (None, 0, itemsize):
        raise _codecs(name, f"no place for blosc's typesize {given['typesize']}; use {itemsize}")
    shuffle = given.get("shuffle")
    if shuffle is None:
        shuffle = -1 if core else 1
    return {
        "cname": cname,
        "clevel": given.get("clevel", 5),
        "shuffle": SHUFFLES.index(shuffle_name(shuffle, itemsize)),
    }


def of_blosc(spec: CodecSpec | None) -> bool:
    return spec is not None and spec.name in ("blosc", BLOSC)
