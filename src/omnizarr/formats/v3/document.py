"""Format 3: the final core specification with its registered extensions, and its dialects.

A node is one document, `zarr.json`. Members and extensions that ask to be understood and are not
known here make the node unreadable; those that say `must_understand: false` are kept and ignored.
Codecs, grids and keys, and defaults of new arrays have their own files: `codecs`, `grids`,
`creation`. Documents whose `zarr_format` is a URL belong to the drafts before 2023, not here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from omnizarr.errors import (
    MetadataError,
    UnknownDataTypeError,
    UnknownExtensionError,
    UnsupportedError,
)
from omnizarr.formats import hierarchy, members
from omnizarr.formats.base import ArrayRequest, FormatName, Node
from omnizarr.formats.parsed_documents import parsed
from omnizarr.formats.v3 import alike, creation, grids, repairs
from omnizarr.formats.v3 import codecs as v3_codecs
from omnizarr.model import json
from omnizarr.model.array import ArrayModel, GroupModel
from omnizarr.model.codec import Json
from omnizarr.model.dtypes import DataType, Object, from_json
from omnizarr.model.json import show
from omnizarr.model.paths import join
from omnizarr.model.store import Buffer, Store

DOCUMENT = "zarr.json"
CONSOLIDATED = "consolidated_metadata"

GROUP_MEMBERS = frozenset({"zarr_format", "node_type", "attributes", CONSOLIDATED})
ARRAY_MEMBERS = frozenset(
    {
        "zarr_format",
        "node_type",
        "shape",
        "data_type",
        "chunk_grid",
        "chunk_key_encoding",
        "fill_value",
        "codecs",
        "attributes",
        "storage_transformers",
        "dimension_names",
    }
)


CONSTRAINTS = {
    "zarr_format": members.one_of(3),
    "node_type": members.one_of("array", "group"),
}


class V3(hierarchy.BelowPath):
    """Format 3; see `formats.base.Format`."""

    name: FormatName = 3
    claiming = 1
    names_dimensions = True
    states_order = False
    ome_version: str | None = "0.5"

    # -- reading ------------------------------------------------------------------------------
    def keys(self, path: str) -> tuple[str, ...]:
        return (f"{path}/{DOCUMENT}" if path else DOCUMENT,)

    def find(self, store: Store, path: str, documents: Mapping[str, Buffer]) -> Node | None:
        return parsed(self, path, documents)  # there is no other document to ask for

    def parse(self, path: str, documents: Mapping[str, Buffer]) -> Node | None:
        (key,) = self.keys(path)
        data = documents.get(key)
        if data is None:
            return None
        return alike.parsed(data, lambda: members.parsed(key, data, _node))

    def node(self, path: str, documents: Mapping[str, Buffer]) -> Node | None:
        return parsed(self, path, documents)

    # -- writing ------------------------------------------------------------------------------
    def documents(
        self, path: str, node: Node, *, attributes_only: bool = False
    ) -> dict[str, bytes]:
        if isinstance(node, ArrayModel):
            return {join(path, DOCUMENT): _text(_array_document(node))}
        return {join(path, DOCUMENT): _text(_group_document(node))}

    # -- creating -----------------------------------------------------------------------------
    def new_array(self, request: ArrayRequest) -> ArrayModel:
        model = creation.new_array(request)
        return replace(model, document=_array_document(model))

    def new_group(self, attributes: Mapping[str, Json]) -> GroupModel:
        model = GroupModel(attributes)
        return replace(model, document=_group_document(model))

    # -- consolidated metadata (inline; the shape that zarr-python writes) ----------------------
    def consolidated_keys(self, path: str) -> tuple[str, ...]:
        return self.keys(path)

    def consolidate(
        self, store: Store, path: str, made: Mapping[str, bytes] | None = None
    ) -> dict[str, bytes]:
        key = join(path, DOCUMENT)
        root = self.parse(path, hierarchy.fetch(store, [key]))
        if not isinstance(root, GroupModel):
            raise MetadataError(f"key {key!r}: there is no group of format 3 here to consolidate")
        if made is not None:
            before = members.parsed(key, made[key], members.document)
            return {key: _text({**_group_document(root), CONSOLIDATED: before[CONSOLIDATED]})}
        metadata: dict[str, Json] = {}
        for child, node, _ in hierarchy.descendants(store, path, self.keys, self.parse):
            document = dict(node.document)
            if isinstance(node, GroupModel):
                document[CONSOLIDATED] = _inline({})
            metadata[child] = document
        document = {**_group_document(root), CONSOLIDATED: _inline(dict(sorted(metadata.items())))}
        return {key: _text(document)}

    def parse_consolidated(self, path: str, documents: Mapping[str, Buffer]) -> GroupModel | None:
        key = join(path, DOCUMENT)
        data = documents.get(key)
        return None if data is None else members.parsed(key, data, _consolidated)


def _text(document: Mapping[str, Json]) -> bytes:
    return json.dumps(document, indent=2, sort_keys=False).encode("ascii")


def _inline(metadata: dict[str, Json]) -> dict[str, Json]:
    return {"kind": "inline", "must_understand": False, "metadata": metadata}


def _node(value: Json) -> Node | None:
    document = members.document(value)
    version = members.required(document, "zarr_format")
    if isinstance(version, str) and "node_type" not in document:
        return None  # a draft of 2019 … 2022
    for name, constraint in CONSTRAINTS.items():
        constraint.check(name, members.required(document, name))
    if document["node_type"] == "array":
        return _array(document)
    _check_members(document, GROUP_MEMBERS)
    return GroupModel(_attributes(document), document)


def _check_members(document: Mapping[str, Json], known: frozenset[str]) -> None:
    """Refuse what asks to be understood (core specification 3.1, "Extension points")."""
    for name in document.keys() - known:
        value = document[name]
        if not (isinstance(value, dict) and value.get("must_understand") is False):
            raise UnknownExtensionError(
                f"the member {name!r} is not known here and does not say"
                f" must_understand: false, so the node cannot be opened: {show(value)}"
            )


def _attributes(document: Mapping[str, Json]) -> dict[str, Json]:
    return members.attributes(document.get("attributes", {}))


def _array(document: Mapping[str, Json]) -> ArrayModel:
    try:
        return _valid_array(document)
    except MetadataError:
        shape = members.lengths(members.required(document, "shape"), "shape", 0)
        sound, _, repair = repairs.repaired(document, shape)
        if sound is document:
            raise
    return replace(_valid_array(sound), document=document, repair=repair)


def _valid_array(document: Mapping[str, Json]) -> ArrayModel:
    _check_members(document, ARRAY_MEMBERS)
    _check_transformers(document.get("storage_transformers", []))
    shape = members.lengths(members.required(document, "shape"), "shape", 0)
    data_type = v3_codecs.stored_type(
        _data_type(members.required(document, "data_type")), document.get("codecs", [])
    )
    codecs = v3_codecs.decode(document.get("codecs", []), len(shape), data_type)
    return ArrayModel(
        shape=shape,
        data_type=data_type,
        grid=grids.decode_grid(members.required(document, "chunk_grid"), shape),
        keys=grids.decode_keys(members.required(document, "chunk_key_encoding")),
        codecs=codecs,
        fill_value=_fill(members.required(document, "fill_value"), data_type),
        attributes=_attributes(document),
        dimension_names=_dimension_names(document.get("dimension_names"), len(shape)),
        order="F" if v3_codecs.is_fortran(codecs, len(shape)) else "C",
        document=document,
    )


def _check_transformers(value: Json) -> None:
    members.LIST.check("storage_transformers", value)
    for item in value:
        found = members.extension(item, "storage_transformers")
        if found.must_understand:
            raise UnknownExtensionError(f"unknown storage transformer {show(found.name)}")


def _data_type(value: Json) -> DataType:
    """The type that is named or, if it is not known here, its `fallback` (until May 2023 a part of
    the core specification, and of document 004)."""
    if isinstance(value, dict):
        members.essential(value, "data_type")
    try:
        return from_json(value)
    except UnknownDataTypeError:
        fallback = value.get("fallback") if isinstance(value, dict) else None
        if fallback is None:
            raise
        if isinstance(fallback, dict) and "fallback" in fallback:
            raise MetadataError("data_type: a fallback may not have a fallback itself") from None
        try:
            return from_json(fallback)
        except MetadataError as error:
            raise error.at(f"the fallback of data_type {show(value.get('name'))}") from error


def _fill(value: Json, data_type: DataType) -> Any:
    if value is None:
        return None  # GDAL before 3.11: the type's default
    try:
        return data_type.fill_from_json(value)
    except MetadataError as error:
        raise error.at("fill_value") from error


def _dimension_names(value: Json, ndim: int) -> tuple[str | None, ...] | None:
    if value is None:  # zarrita before 0.2 wrote null
        return None
    if not isinstance(value, list) or len(value) != ndim:
        raise MetadataError(
            f"dimension_names must be a list of {ndim} names or nulls, found {show(value)}"
        )
    for name in value:
        if name is not None and not isinstance(name, str):
            raise MetadataError(f"dimension_names must hold strings or nulls, found {show(name)}")
    return tuple(value)


def _group_document(model: GroupModel) -> dict[str, Json]:
    document: dict[str, Json] = {"zarr_format": 3, "node_type": "group", **model.document}
    _put_attributes(document, model)
    return document


def _put_attributes(document: dict[str, Json], model: Node) -> None:
    """Empty attributes are written for new nodes, and left out where they were."""
    if model.attributes or not model.document or "attributes" in model.document:
        document["attributes"] = dict(model.attributes)


def _array_document(model: ArrayModel) -> dict[str, Json]:
    """The `zarr.json` of a model. A member that says the same already stays as it is, so that
    a dialect is not rewritten by a change of attributes, nor an unknown member lost; chunk lengths
    are always stored in valid form."""
    if isinstance(model.data_type, Object):
        raise UnsupportedError("format 3 has no type for Python objects", what="data_type")
    stored = repairs.repaired(model.document, model.shape).value
    data_type, ndim = model.data_type, model.ndim
    document: dict[str, Json] = {"zarr_format": 3, "node_type": "array", **stored}
    document["shape"] = list(model.shape)

    def put(
        name: str, current: Any, encode: Callable[[Any], Json], decode: Callable[[Json], Any]
    ) -> None:
        if name in stored:
            try:
                if decode(stored[name]) == current:
                    return
            except MetadataError:
                pass
        document[name] = encode(current)

    put(
        "data_type",
        data_type,
        lambda t: t.json,
        lambda value: v3_codecs.stored_type(_data_type(value), v3_codecs.encode(model.codecs)),
    )
    put("chunk_grid", model.grid, grids.encode_grid, lambda v: _same_grid(v, model))
    put("chunk_key_encoding", model.keys, grids.encode_keys, grids.decode_keys)

    def canonical(fill: Any) -> str:
        return repr(None if fill is None else data_type.fill_to_json(fill))

    put(
        "fill_value",
        canonical(model.fill_value),
        lambda _: data_type.fill_to_json(model.fill),
        lambda value: None if members.has_bare_token(value) else canonical(_fill(value, data_type)),
    )
    told = "codecs" in stored or "shape" not in stored
    if told or v3_codecs.decode([], ndim, data_type) != model.codecs:
        put(
            "codecs",
            model.codecs,
            v3_codecs.encode,
            lambda value: v3_codecs.decode(value, ndim, data_type),
        )
    _put_attributes(document, model)
    names = model.dimension_names
    if names is not None:
        document["dimension_names"] = list(names)
    elif stored.get("dimension_names") is not None:
        del document["dimension_names"]
    return document


def _same_grid(value: Json, model: ArrayModel) -> Any:
    return grids.decode_grid(value, model.shape)


def _consolidated(value: Json) -> GroupModel | None:
    node = _node(value)
    return with_members(node) if isinstance(node, GroupModel) else None


def with_members(group: GroupModel) -> GroupModel | None:
    """The group with the nodes that its own document consolidates; None if it has none."""
    value = group.document.get(CONSOLIDATED)
    if value is None:
        return None
    try:
        inline = members.attributes(value, CONSOLIDATED)
        kind = inline.get("kind", "inline")
        if kind != "inline":
            if inline.get("must_understand") is False:
                return None
            raise UnknownExtensionError(f"the kind {show(kind)} is not known")
        metadata = members.attributes(inline.get("metadata", {}), "metadata")
        found: dict[str, Node] = {}
        for path, document in sorted(metadata.items()):
            _add_consolidated(found, path, document)
    except MetadataError as error:
        raise error.at(CONSOLIDATED) from error
    return replace(group, consolidated=dict(sorted(found.items())))


def _add_consolidated(found: dict[str, Node], path: str, document: Json) -> None:
    """One entry, and what a child group repeats below itself."""
    try:
        node = _node(document)
    except MetadataError as error:
        raise error.at(f"metadata of {path!r}") from error
    if node is None:
        raise MetadataError(f"metadata of {path!r}: zarr_format must be 3")
    if isinstance(node, GroupModel):
        inner = node.document.get(CONSOLIDATED)
        below = inner.get("metadata") if isinstance(inner, dict) else None
        for name, child in sorted(below.items()) if isinstance(below, dict) else ():
            if join(path, name) not in found:
                _add_consolidated(found, join(path, name), child)
    found[path] = node
