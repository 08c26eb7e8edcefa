"""Format 2: documents 000 (the Zarr specification) and 003 (the OGC standard).

An array is `.zarray`, a group `.zgroup`, attributes of either `.zattrs`; `.zmetadata` holds them
all once more for a whole hierarchy. Where the two documents differ, and where real writers left
both, this reads what was written: unknown members are ignored and kept, optional ones may be
missing. Types, fill values and codecs have their own files: `data_types`, `fill_values`, `codecs`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from omnizarr.errors import ErrorLocation, MetadataError, UnsupportedError
from omnizarr.formats import chunk_lengths, dimensions, hierarchy, members, requests
from omnizarr.formats.base import DEFAULT, ArrayRequest, FormatName, Node
from omnizarr.formats.nczarr import document as nczarr
from omnizarr.formats.parsed_documents import parsed
from omnizarr.formats.v2 import codecs, data_types, fill_values
from omnizarr.model import json
from omnizarr.model.array import ArrayModel, GroupModel
from omnizarr.model.codec import Json
from omnizarr.model.dtypes import DataType, Object
from omnizarr.model.grids import regular_grid
from omnizarr.model.json import show
from omnizarr.model.keys import ChunkKeys
from omnizarr.model.paths import join, name_of
from omnizarr.model.store import Buffer, Store

ARRAY, GROUP, ATTRIBUTES, CONSOLIDATED = ".zarray", ".zgroup", ".zattrs", ".zmetadata"

VERSION = members.one_of(2)
CONSTRAINTS = {
    "zarr_format": VERSION,
    "order": members.ORDER,
    "filters": codecs.FILTERS,
    "dimension_separator": members.SEPARATOR,
}
"""What members of `.zarray` must be, beside those that have a file of their own."""

Build = Callable[[Mapping[str, Json], dict[str, Json]], Node]
_DOTS = ChunkKeys("v2", ".")
_SLASHES = ChunkKeys("v2", "/")
_DOTS_OR_NESTED = ChunkKeys("v2", ".", (_SLASHES,))
_SLASHES_OR_FLAT = ChunkKeys("v2", "/", (_DOTS,))


class V2(hierarchy.BelowPath):
    """Format 2; see `formats.base.Format`."""

    name: FormatName = 2
    ome_version: str | None = "0.4"
    claiming = 2

    # -- reading ------------------------------------------------------------------------------
    def keys(self, path: str) -> tuple[str, ...]:
        return join(path, ARRAY), join(path, GROUP), join(path, ATTRIBUTES)

    def find(self, store: Store, path: str, documents: Mapping[str, Buffer]) -> Node | None:
        node = super().find(store, path, documents)
        return None if node is None else nczarr.completed(store, {path: node})[path]

    def children(self, store: Store, path: str) -> dict[str, Node]:
        found = {join(path, name): node for name, node in super().children(store, path).items()}
        try:
            done = nczarr.completed(store, found)
        except MetadataError as error:
            raise hierarchy.located(error, store) from error
        return {name_of(child): node for child, node in done.items()}

    def parse(self, path: str, documents: Mapping[str, Buffer]) -> Node | None:
        for name, build in ((ARRAY, _array), (GROUP, _group)):
            key = join(path, name)
            data = documents.get(key)
            if data is None:
                continue
            beside = join(path, ATTRIBUTES)
            attributes: dict[str, Json] = {}
            if beside in documents:
                attributes = members.parsed(beside, documents[beside], members.attributes)
            return _built(build, key, data, attributes)
        return None

    def node(self, path: str, documents: Mapping[str, Buffer]) -> Node | None:
        return parsed(self, path, documents)

    # -- writing ------------------------------------------------------------------------------
    def documents(
        self, path: str, node: Node, *, attributes_only: bool = False
    ) -> dict[str, bytes]:
        attributes = {join(path, ATTRIBUTES): _text(node.attributes)}
        repair = node.repair if isinstance(node, ArrayModel) else None
        if attributes_only and repair is None:
            return attributes
        if isinstance(node, ArrayModel):
            own = {join(path, ARRAY): _text(_array_document(node))}
        else:
            own = {join(path, GROUP): _text({**node.document, "zarr_format": 2})}
        if attributes_only:
            return {**attributes, **own}
        return {**own, **attributes} if node.attributes else own

    # -- creating -----------------------------------------------------------------------------
    def new_array(self, request: ArrayRequest) -> ArrayModel:
        return _new_array(request)

    def new_group(self, attributes: Mapping[str, Json]) -> GroupModel:
        return GroupModel(attributes, {"zarr_format": 2})

    # -- consolidated metadata (a convention of zarr-python, in no document) --------------------
    def consolidated_keys(self, path: str) -> tuple[str, ...]:
        return (join(path, CONSOLIDATED),)

    def consolidate(
        self, store: Store, path: str, made: Mapping[str, bytes] | None = None
    ) -> dict[str, bytes]:
        if made is not None:
            return dict(made)  # the document holds nothing else
        found = hierarchy.fetch(store, list(self.keys(path)))
        if not isinstance(self.parse(path, found), GroupModel):
            raise MetadataError(
                f"key {join(path, GROUP)!r}: there is no group of format 2 here to consolidate"
            )
        start = f"{path}/" if path else ""
        documents = dict(found)
        for _, _, child in hierarchy.descendants(store, path, self.keys, self.parse):
            documents.update(child)
        metadata = {
            key[len(start) :]: json.loads(data, ErrorLocation(key=key))
            for key, data in documents.items()
        }
        return {
            join(path, CONSOLIDATED): _text({"metadata": metadata, "zarr_consolidated_format": 1})
        }

    def parse_consolidated(self, path: str, documents: Mapping[str, Buffer]) -> GroupModel | None:
        key = join(path, CONSOLIDATED)
        data = documents.get(key)
        return None if data is None else members.parsed(key, data, _consolidated)


def _built(build: Build, key: str, data: Buffer, attributes: dict[str, Json]) -> Node:
    return members.parsed(key, data, lambda value: build(members.document(value), attributes))


def _text(document: Mapping[str, Json]) -> bytes:
    return json.dumps(document, indent=4, sort_keys=True).encode("ascii")


def _check_version(document: Mapping[str, Json]) -> None:
    VERSION.check("zarr_format", members.required(document, "zarr_format"))


def _group(document: Mapping[str, Json], attributes: dict[str, Json]) -> GroupModel:
    _check_version(document)
    return GroupModel(attributes, document)


def _array(document: Mapping[str, Json], attributes: dict[str, Json]) -> ArrayModel:
    _check_version(document)
    shape = members.lengths(_listed(document, "shape"), "shape", 0)
    stored, repair = _listed(document, "chunks"), None
    try:
        chunks = members.lengths(stored, "chunks", 1)
    except MetadataError:
        stored, _, repair = chunk_lengths.chunk_shape(stored, "chunks", shape)
        chunks = members.lengths(stored, "chunks", 1)
    pipeline = codecs.decode(document)
    is_char = nczarr.is_char(document)
    data_type = data_types.decode("|S1" if is_char else members.required(document, "dtype"))
    codecs.check_objects(pipeline, data_type)
    data_type = codecs.object_type(data_type, pipeline.filters)
    return ArrayModel(
        shape=shape,
        data_type=data_type,
        grid=regular_grid(shape, chunks),
        keys=_keys(document, len(shape)),
        codecs=pipeline.specs(len(shape), data_type),
        fill_value=_char(document.get("fill_value"))
        if is_char
        else fill_values.decode(document.get("fill_value"), data_type, pipeline.filters),
        attributes=attributes,
        dimension_names=_dimension_names(document, attributes, len(shape)),
        order=pipeline.order,
        document=document,
        repair=repair,
    )


def _char(value: Json) -> np.bytes_ | None:
    """The fill value of netCDF's `char`: the character itself, or its number."""
    if value is None:
        return None
    code = ord(value) if isinstance(value, str) and len(value) == 1 else value or 0
    if type(code) is not int or not 0 <= code < 256:
        raise MetadataError(f"fill_value of a char must be one character, found {show(value)}")
    return np.bytes_(bytes([code]))


def _dimension_names(
    document: Mapping[str, Json], attributes: Mapping[str, Json], ndim: int
) -> dimensions.Names | None:
    """Those of xarray's convention, else those of NCZarr."""
    found = dimensions.read(attributes, ndim)
    return nczarr.names(document, attributes, ndim) if found is None else found


def _listed(document: Mapping[str, Json], name: str) -> Json:
    value = members.required(document, name)
    # Rarr writes the shape of a vector as a number.
    return [value] if type(value) is int else value


def _keys(document: Mapping[str, Json], ndim: int) -> ChunkKeys:
    """The chunk keys, with the other spelling where writers are known to have lied.

    Without the member, chunks may be nested all the same; zarr 2.8 wrote "/" over flat keys.
    """
    separator = document.get("dimension_separator")
    if separator is None:
        return _DOTS_OR_NESTED if ndim > 1 else _DOTS
    members.SEPARATOR.check("dimension_separator", separator)
    if separator == "/":
        return _SLASHES_OR_FLAT if ndim > 1 else _SLASHES
    return _DOTS


def _array_document(model: ArrayModel) -> dict[str, Json]:
    """The `.zarray` of a model. A member that says the same already stays as it is."""
    requests.check_grid(model, 2)
    document = dict(model.document)
    ndim = model.ndim
    if _differs(document, model):
        pipeline = codecs.split(model.codecs, ndim, model.data_type)
        encode = codecs.encode_codec
        document["order"] = "F" if model.order == "F" or pipeline.order == "F" else "C"
        document["filters"] = [encode(spec) for spec in pipeline.filters] or None
        compressor = pipeline.compressor
        document["compressor"] = None if compressor is None else encode(compressor)
        document["dtype"] = data_types.encode(model.data_type)
    document["zarr_format"] = 2
    document["shape"] = list(model.shape)
    document["chunks"] = list(model.grid.chunk_shape)
    if _fill_differs(document, model):
        document["fill_value"] = fill_values.encode(model.fill_value, model.data_type)
    if document.get("dimension_separator", ".") != model.keys.separator:
        document["dimension_separator"] = model.keys.separator
    return document


def _differs(document: Mapping[str, Json], model: ArrayModel) -> bool:
    """Whether dtype or codecs of the document are not those of the model."""
    if "dtype" not in document:
        return True
    pipeline = codecs.decode(document)
    data_type = codecs.object_type(data_types.decode(document["dtype"]), pipeline.filters)
    return data_type != model.data_type or pipeline.specs(model.ndim, data_type) != model.codecs


def _fill_differs(document: Mapping[str, Json], model: ArrayModel) -> bool:
    if "fill_value" not in document:
        return True
    stored = document["fill_value"]
    if model.fill_value is None or stored is None:
        return stored is not model.fill_value
    data_type = model.data_type
    if members.has_bare_token(stored) and not isinstance(data_type, Object):
        return True
    try:
        filters = codecs.decode(document).filters
        before = fill_values.decode(stored, data_type, filters)
        if before is model.fill_value:
            return False
        return _text_of(before, data_type) != _text_of(model.fill_value, data_type)
    except MetadataError:
        return True


def _text_of(fill: Any, data_type: DataType) -> str:
    """A fill value as its bits, or as what is stored where its elements have no fixed size."""
    if data_type.variable:
        return repr(fill_values.encode(fill, data_type))
    return np.array(fill, data_type.numpy).tobytes().hex()


def _new_array(request: ArrayRequest) -> ArrayModel:
    ndim = len(request.shape)
    chunks = requests.chunk_shape(request, 2)
    if request.key_encoding == "default":
        raise UnsupportedError("format 2 has the 'v2' chunk key encoding only")
    pipeline = codecs.new_pipeline(request)
    data_type = codecs.object_type(request.data_type, pipeline.filters)
    attributes = dimensions.write(request.attributes, request.dimension_names, ndim, 2)
    fill_value = fill_values.encode(_new_fill(request.fill_value, data_type), data_type)
    codecs.check_fill(fill_value, pipeline.filters)
    document: dict[str, Json] = {
        "zarr_format": 2,
        "shape": [int(length) for length in request.shape],
        "chunks": list(chunks),
        "dtype": data_types.encode(data_type),
        "compressor": (
            None if pipeline.compressor is None else codecs.encode_codec(pipeline.compressor)
        ),
        "filters": [codecs.encode_codec(spec) for spec in pipeline.filters] or None,
        "fill_value": fill_value,
        "order": pipeline.order,
    }
    if request.separator is not None:
        document["dimension_separator"] = request.separator
    # Parsed again, so that a new array and the same one opened later agree in every fact.
    keys = _SLASHES if request.separator == "/" else _DOTS
    return replace(_array(document, attributes), keys=keys)


def _new_fill(value: Any, data_type: DataType) -> Any:
    if value is DEFAULT and fill_values.has_default(data_type):
        return data_type.zero
    if value is None or value is DEFAULT:
        return None
    return members.scalar(value, data_type)


def _consolidated(value: Json) -> GroupModel:
    document = members.document(value)
    version = document.get("zarr_consolidated_format", 1)
    if type(version) is not int or version != 1:
        raise MetadataError(f"zarr_consolidated_format must be 1, found {show(version)}")
    metadata = members.attributes(members.required(document, "metadata"), "metadata")
    nodes: dict[str, dict[str, Json]] = {}
    for key, value in metadata.items():
        path, _, name = key.rpartition("/")
        if name in (ARRAY, GROUP, ATTRIBUTES):
            nodes.setdefault(path, {})[name] = value
    found: dict[str, Node] = {}
    for path, documents in sorted(nodes.items()):
        build = _array if ARRAY in documents else _group if GROUP in documents else None
        if build is None:
            continue
        key = join(path, ARRAY if ARRAY in documents else GROUP)
        try:
            attributes = members.attributes(documents.get(ATTRIBUTES, {}), ATTRIBUTES)
            found[path] = build(members.document(documents[key.rpartition("/")[2]]), attributes)
        except MetadataError as error:
            raise error.at(f"metadata of {key!r}") from error
    root = found.pop("", None)
    if isinstance(root, ArrayModel):
        raise MetadataError("the consolidated metadata describe an array, not a group")
    if root is None:
        root = GroupModel(document={"zarr_format": 2})
    return replace(root, consolidated=found)


FORMAT = V2()
"""The one object of its class: formats are compared by identity."""
