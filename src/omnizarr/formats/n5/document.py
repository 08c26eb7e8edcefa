"""N5: the file-system specification of saalfeldlab/n5, versions 1 to 4.

Every directory is a group; a dataset is a group whose `attributes.json` has `dimensions`,
`blockSize`, `dataType` and `compression` (a name, `compressionType`, in 1.x). The root says its
version in `n5`. All other members are attributes. There is no fill value: what is missing is zero.

N5 counts axes from the fastest one. Arrays here have them the other way round, as NumPy has: shape
and chunks are `dimensions` and `blockSize` reversed, and a chunk's key counts backwards.

What the specification leaves open, and what is done here:

* A directory without `attributes.json` is a group only below a root that says `n5`, outside any
  dataset, and if it holds a key: a store of keys does not know empty directories. Where the
  root does not say so, the user can: with `zarr_format="n5"`.
* Every group that is written says `n5`, as those of zarr-python do: it can then be opened as a
  root, and readers that take no bare directory for a group see it. The version is 2.0.0, the first
  with `compression` as an object: readers refuse versions newer than their own.
* Blocks at the edge are padded to `blockSize`, as tensorstore and zarr-python do. Java and z5
  truncate them; all of them read both.
* An array without dimensions has the one block `0`, as of tensorstore and zarr-python; z5 has none.
* Dimension names are read from `_ARRAY_DIMENSIONS` or, failing that, from `axes`, which tensorstore
  and neuroglancer use and which counts as `dimensions` does. They are written to the former.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from omnizarr.errors import ErrorLocation, MetadataError, UnknownDataTypeError, UnsupportedError
from omnizarr.formats import dimensions, hierarchy, members, requests
from omnizarr.formats.base import DEFAULT, ArrayRequest, FormatName, Node
from omnizarr.formats.n5 import codecs
from omnizarr.model import json, paths
from omnizarr.model.array import ArrayModel, GroupModel
from omnizarr.model.codec import Json
from omnizarr.model.dtypes import DataType, from_json
from omnizarr.model.grids import Shape, regular_grid
from omnizarr.model.json import show
from omnizarr.model.keys import ChunkKeys
from omnizarr.model.paths import join
from omnizarr.model.store import Buffer, Listing, Store

ATTRIBUTES = "attributes.json"
VERSION = "2.0.0"
MAJOR_VERSIONS = range(1, 5)
DATASET = ("dimensions", "blockSize", "dataType", "compression", "compressionType")
RESERVED = ("n5", *DATASET)
TYPES = (
    *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)),
    "float32",
    "float64",
)
DATA_TYPE = members.one_of(*TYPES)
DIALECT_TYPES = ("bool", "float16")
"""What zarr-python 2 writes besides."""
MAX_BLOCK_LENGTH = (1 << 31) - 1
FOREIGN = ("zarr.json", ".zarray", ".zgroup", "__zmeta__")
"""A directory with one of these is a node of another format, not a bare group."""

_KEYS = ChunkKeys("reversed", "/")
_NOTHING: Mapping[str, Json] = {}


class N5(hierarchy.BelowPath):
    """N5; see `formats.base.Format`."""

    name: FormatName = "n5"

    # -- reading ------------------------------------------------------------------------------
    def keys(self, path: str) -> tuple[str, ...]:
        return (join(path, ATTRIBUTES),)

    def probes(self, path: str) -> tuple[str, ...]:
        return tuple(dict.fromkeys((join(path, ATTRIBUTES), ATTRIBUTES)))

    def find(self, store: Store, path: str, documents: Mapping[str, Buffer]) -> Node | None:
        if join(path, ATTRIBUTES) in documents:
            return self.parse(path, documents)
        if not path or not _says_version(documents) or _is_dataset(_load(ATTRIBUTES, documents)):
            return None
        above = [join(parent, ATTRIBUTES) for parent in paths.ancestors(path) if parent]
        found = hierarchy.fetch(store, above) if above else {}
        if any(_is_dataset(_load(key, found)) for key in found):
            return None
        if not store.capabilities.listable or not _is_bare_group(store.list_dir(f"{path}/"), path):
            return None
        return GroupModel()

    def assumed(self, store: Store, path: str) -> Node | None:
        above = [join(parent, ATTRIBUTES) for parent in paths.ancestors(path)]
        own = join(path, ATTRIBUTES)
        found = hierarchy.fetch(store, [*above, own])
        if any(_is_dataset(_load(key, found)) for key in above):
            return None
        if own in found and isinstance(_load(own, found), dict):
            return _node(own, found[own])
        if not store.capabilities.listable:
            return None
        listing = store.list_dir(f"{path}/" if path else "")
        return GroupModel() if _is_bare_group(listing, path) else None

    def parse(self, path: str, documents: Mapping[str, Buffer]) -> Node | None:
        key = join(path, ATTRIBUTES)
        if key not in documents:
            return None
        try:
            document = _load(key, documents)
        except MetadataError:
            if _is_damaged(documents[key]) or (path and _says_version(documents)):
                raise
            return None
        known = isinstance(document, dict) and ("n5" in document or _is_dataset(document))
        if known or (path and _says_version(documents)):
            return _node(key, documents[key])
        return None

    def children(self, store: Store, path: str) -> dict[str, Node]:
        names = hierarchy.child_names(store, path)
        documents = hierarchy.fetch(store, [join(path, name, ATTRIBUTES) for name in names])
        found: dict[str, Node] = {}
        for name in sorted(names):
            child = join(path, name)
            key = join(child, ATTRIBUTES)
            if key in documents:
                try:
                    found[name] = _node(key, documents[key])
                except MetadataError as error:
                    raise hierarchy.located(error, store) from error
            elif _is_bare_group(store.list_dir(f"{child}/"), child):
                found[name] = GroupModel()
        return found

    # -- writing ------------------------------------------------------------------------------
    def check_place(self, store: Store, path: str, besides: str = "") -> None:
        super().check_place(store, path, besides)
        if ATTRIBUTES in path.split("/"):
            raise UnsupportedError(
                f"no node of N5 can be named {ATTRIBUTES!r}, as its own document is; choose another"
                " name",
                what="name",
            )

    def documents(
        self, path: str, node: Node, *, attributes_only: bool = False
    ) -> dict[str, bytes]:
        if isinstance(node, GroupModel):
            _check_attributes(node.attributes, node.document)
            own = {name: node.document[name] for name in ("n5",) if name in node.document}
        else:
            _check_attributes(node.attributes)
            own = dict(node.document) if attributes_only else _array_document(node)
            if not path and not attributes_only:
                own.setdefault("n5", VERSION)
        return {join(path, ATTRIBUTES): _text({**node.attributes, **own})}

    # -- creating -----------------------------------------------------------------------------
    def new_array(self, request: ArrayRequest) -> ArrayModel:
        return _new_array(request)

    def new_group(self, attributes: Mapping[str, Json]) -> GroupModel:
        _check_attributes(attributes)
        return GroupModel(attributes, {"n5": VERSION})


# -- documents --------------------------------------------------------------------------------
def _load(key: str, documents: Mapping[str, Buffer]) -> Json:
    return json.loads(documents[key], ErrorLocation(key=key)) if key in documents else None


def _is_damaged(data: Buffer) -> bool:
    """Whether a document that cannot be read was one of N5's: other software has files of that
    name."""
    return any(member in bytes(data) for member in (b'"n5"', b'"dimensions"'))


def _says_version(documents: Mapping[str, Buffer]) -> bool:
    """Whether the root says that it is N5, of a version that is known here."""
    try:
        root = _load(ATTRIBUTES, documents)
    except MetadataError:
        if _is_damaged(documents[ATTRIBUTES]):
            raise
        return False
    if not isinstance(root, dict) or "n5" not in root:
        return False
    try:
        _check_version(root["n5"])
    except MetadataError as error:
        raise error.at(key=ATTRIBUTES) from error
    return True


def _check_version(version: Json) -> None:
    major = version.partition(".")[0] if isinstance(version, str) else ""
    if not (major.isascii() and major.isdigit() and len(major) < 4):
        raise MetadataError(f"n5 must be a version such as {VERSION!r}, found {show(version)}")
    if int(major) not in MAJOR_VERSIONS:
        raise MetadataError(
            f"N5 of version {show(version)}; versions {MAJOR_VERSIONS.start} to"
            f" {MAJOR_VERSIONS.stop - 1} are known"
        )


def _is_dataset(document: Json) -> bool:
    return isinstance(document, dict) and "dimensions" in document and "dataType" in document


def _is_bare_group(listing: Listing, path: str) -> bool:
    if any(join(path, name) in listing.keys for name in FOREIGN):
        return False
    return bool(listing.keys or listing.prefixes)


def _node(key: str, data: Buffer) -> Node:
    """The node of a document that is known to be N5's."""

    def build(value: Json) -> Node:
        document = members.document(value)
        return _array(document) if _is_dataset(document) else _group(document)

    return members.parsed(key, data, build)


def _group(document: dict[str, Json]) -> GroupModel:
    if "n5" in document:
        _check_version(document["n5"])
    # Some of the members of datasets may be in a group: then they are attributes like others.
    known = {name: document[name] for name in RESERVED if name in document}
    return GroupModel({name: document[name] for name in document if name != "n5"}, known)


def _array(document: dict[str, Json]) -> ArrayModel:
    if "n5" in document:
        _check_version(document["n5"])
    shape = members.lengths(members.required(document, "dimensions"), "dimensions", 0)[::-1]
    chunks = _block_shape(document, shape)
    data_type = _data_type(members.required(document, "dataType"))
    itemsize = data_type.numpy.itemsize
    own = {name: document[name] for name in RESERVED if name in document}
    attributes = {name: document[name] for name in document if name not in own}
    names = dimensions.read(attributes, len(shape))
    return ArrayModel(
        shape=shape,
        data_type=data_type,
        grid=regular_grid(shape, chunks),
        keys=_KEYS,
        codecs=codecs.pipeline(codecs.decode(document, itemsize), len(shape), itemsize),
        fill_value=data_type.zero,
        attributes=attributes,
        dimension_names=_axes(attributes, len(shape)) if names is None else names,
        document=own,
    )


def _block_shape(document: Mapping[str, Json], shape: Shape) -> Shape:
    """The chunk shape. Java takes a missing blockSize for one block; z5 writes 0 where the array
    has length 0."""
    value = document.get("blockSize")
    if value is None:
        return tuple(max(1, length) for length in shape)
    found = members.lengths(value, "blockSize", 0)[::-1]
    if len(found) != len(shape):
        raise MetadataError(
            f"blockSize has {len(found)} dimensions, dimensions has {len(shape)}: {show(value)}"
        )
    return tuple(
        1 if chunk == length == 0 else chunk for chunk, length in zip(found, shape, strict=True)
    )


def _data_type(value: Json) -> DataType:
    if value not in DIALECT_TYPES and (message := DATA_TYPE.fault("dataType", value)):
        raise UnknownDataTypeError(message)
    return from_json(value)


def _axes(attributes: Mapping[str, Json], ndim: int) -> tuple[str | None, ...] | None:
    """The names in `axes`, an empty one being none."""
    axes = attributes.get("axes")
    if not isinstance(axes, list) or len(axes) != ndim or not any(axes):
        return None
    if not all(isinstance(name, str) for name in axes):
        return None
    return tuple(name or None for name in reversed(axes))


def _text(document: Mapping[str, Json]) -> bytes:
    return json.dumps(document, indent=4, sort_keys=True).encode("ascii")


def _check_attributes(
    attributes: Mapping[str, Json], stored: Mapping[str, Json] = _NOTHING
) -> None:
    """Refuse attributes that would be taken for members of N5's own, but for stored ones."""
    clash = [name for name in RESERVED if name in attributes]
    clash = [name for name in clash if name == "n5" or stored.get(name) != attributes[name]]
    if clash:
        raise UnsupportedError(
            "attributes.json of N5 holds attributes beside members of its own: an attribute cannot"
            f" be called {', '.join(map(repr, clash))}; rename it",
            what="attributes",
        )


def _array_document(model: ArrayModel) -> dict[str, Json]:
    """N5's own members for a model. A member that says the same already stays as it is."""
    requests.check_grid(model, "n5")
    document = dict(model.document)
    itemsize = model.data_type.numpy.itemsize
    document["dimensions"] = list(model.shape[::-1])
    if not _same(document, "blockSize", model):
        document["blockSize"] = list(model.grid.chunk_shape[::-1])
    if document.get("dataType") != model.data_type.name:
        document["dataType"] = _type_name(model.data_type)
    compressor = codecs.split(model.codecs, model.ndim)
    if not ("compression" in document or "compressionType" in document) or (
        codecs.decode(document, itemsize) != compressor
    ):
        document.pop("compressionType", None)
        document["compression"] = codecs.encode(compressor, itemsize)
    return document


def _same(document: Mapping[str, Json], name: str, model: ArrayModel) -> bool:
    return name in document and _block_shape(document, model.shape) == model.grid.chunk_shape


def _type_name(data_type: DataType) -> str:
    name = data_type.native.name
    if name not in TYPES:
        raise UnsupportedError(
            f"N5 has no data type {data_type.name!r}; it knows {', '.join(TYPES)}", what="data_type"
        )
    return name


def _new_array(request: ArrayRequest) -> ArrayModel:
    shape = tuple(int(length) for length in request.shape)
    chunks = requests.chunk_shape(request, "n5")
    if any(chunk > MAX_BLOCK_LENGTH for chunk in chunks):
        raise UnsupportedError(
            f"a block of N5 has at most {MAX_BLOCK_LENGTH} elements along a dimension, chunks are"
            f" {chunks}",
            what="chunks",
        )
    if request.key_encoding is not None:
        raise UnsupportedError(
            f"N5 has chunk keys of its own, not the {request.key_encoding!r} chunk key encoding"
        )
    regular_grid(shape, chunks)
    data_type = request.data_type.native
    type_name = _type_name(data_type)
    _check_fill(request.fill_value, data_type)
    attributes = dimensions.write(request.attributes, request.dimension_names, len(shape), "n5")
    _check_attributes(attributes)
    compressor = codecs.new_compressor(request)
    document: dict[str, Json] = {
        "dimensions": list(shape[::-1]),
        "blockSize": list(chunks[::-1]),
        "dataType": type_name,
        "compression": codecs.encode(compressor, data_type.numpy.itemsize),
    }
    # Parsed again, so that a new array and the same one opened later agree in every fact.
    return _array({**attributes, **document})


def _check_fill(value: Any, data_type: DataType) -> None:
    if value is DEFAULT or value is None:
        return
    scalar = members.scalar(value, data_type)
    if scalar.tobytes() != data_type.zero.tobytes():
        raise UnsupportedError(
            "N5 has no fill value: a missing chunk reads as 0, not as"
            f" {data_type.fill_to_json(scalar)}",
            what="fill_value",
        )


FORMAT = N5()
"""The one object of its class: formats are compared by identity."""
