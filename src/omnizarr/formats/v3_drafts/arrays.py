"""The documents of arrays and groups in the drafts of v3, read and written.

A member that says the same already stays as it is, and members that are not known are kept, so that
a change of attributes does not rewrite what another program meant. Codecs, data types and new
arrays have their own files: `codecs`, `data_types`, `creation`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from omnizarr.errors import MetadataError, UnknownExtensionError, UnsupportedError
from omnizarr.formats import dimensions, members, requests
from omnizarr.formats.v2 import codecs as v2_codecs
from omnizarr.formats.v2 import fill_values
from omnizarr.formats.v3_drafts import codecs as v3draft_codecs
from omnizarr.formats.v3_drafts import data_types
from omnizarr.formats.v3_drafts.layouts import Bootstrap, Layout, check_extensions
from omnizarr.model.array import ArrayModel, GroupModel
from omnizarr.model.codec import Json
from omnizarr.model.dtypes import Object
from omnizarr.model.grids import Shape, regular_grid
from omnizarr.model.json import show
from omnizarr.model.keys import Separator


@dataclass(frozen=True, eq=False)
class DraftArray(ArrayModel):
    """An array that remembers what its hierarchy says of itself."""

    bootstrap: Bootstrap | None = None
    """None for an array that is not stored yet."""


@dataclass(frozen=True, eq=False)
class DraftGroup(GroupModel):
    """A group that remembers what its hierarchy says of itself."""

    bootstrap: Bootstrap | None = None


# -- reading --------------------------------------------------------------------------------------
def read_array(value: Json, layout: Layout, bootstrap: Bootstrap | None = None) -> DraftArray:
    document = members.document(value)
    check_extensions(document.get("extensions"))
    shape = members.lengths(members.required(document, "shape"), "shape", 0)
    chunk_shape, separator = _grid(document, layout)
    stored = v3draft_codecs.decode(document, chunk_shape, layout)
    pipeline = stored.pipeline
    data_type = data_types.decode(members.required(document, "data_type"))
    v2_codecs.check_objects(pipeline, data_type)
    data_type = v2_codecs.object_type(data_type, pipeline.filters)
    outer_shape = members.lengths(list(stored.outer_shape), "the shape of a shard", 1)
    attributes = _attributes(document)
    if pipeline.filters:
        del attributes[v3draft_codecs.FILTERS]
    return DraftArray(
        shape=shape,
        data_type=data_type,
        grid=regular_grid(shape, outer_shape),
        keys=layout.keys(separator, len(shape)),
        codecs=stored.specs(data_type),
        fill_value=fill_values.decode(document.get("fill_value"), data_type, pipeline.filters),
        attributes=attributes,
        dimension_names=dimensions.read(attributes, len(shape)),
        order=pipeline.order,
        document=document,
        bootstrap=bootstrap,
    )


def read_group(value: Json, bootstrap: Bootstrap | None = None) -> DraftGroup:
    document = members.document(value)
    check_extensions(document.get("extensions"))
    return DraftGroup(_attributes(document), document, bootstrap=bootstrap)


def _attributes(document: Mapping[str, Json]) -> dict[str, Json]:
    """A copy; GDAL and the first zarrita wrote null for none."""
    value = document.get("attributes")
    return {} if value is None else dict(members.attributes(value))


def read_grid(value: Json, layout: Layout) -> tuple[Shape, Separator]:
    if not isinstance(value, dict):
        raise MetadataError(f"chunk_grid must be an object, found {show(value)}")
    if "extension" in value or value.get("type") != "regular":
        raise UnknownExtensionError(
            f"chunk_grid: only the type 'regular' is known here, found {show(value)}"
        )
    chunk_shape = members.lengths(members.required(value, "chunk_shape"), "chunk_shape", 1)
    separator = value.get("separator", layout.separator)
    if separator == ".":
        return chunk_shape, "."
    if separator == "/":
        return chunk_shape, "/"
    raise MetadataError(f"chunk_grid: separator must be '.' or '/', found {show(separator)}")


# -- writing --------------------------------------------------------------------------------------
def array_document(model: ArrayModel, layout: Layout) -> dict[str, Json]:
    requests.check_grid(model, layout.name)
    document = dict(model.document)
    before = _read_again(document, layout)
    if before is not None and _encoding(before) == _encoding(model):
        # One pipeline may be told in two ways: the one that is there stays.
        stored = v3draft_codecs.decode(document, _grid(document, layout)[0], layout)
    else:
        stored = _split(model, layout)
        for name in ("compressor", "storage_transformers"):
            document.pop(name, None)
        document.update(v3draft_codecs.members_of(stored, layout))
    document["shape"] = list(model.shape)
    if before is None or before.data_type != model.data_type:
        document["data_type"] = data_types.encode(model.data_type, layout)
    grid = stored.chunk_shape, model.keys.separator
    if before is None or _grid(document, layout) != grid:
        document["chunk_grid"] = write_grid(*grid, layout)
    if before is None or _fill_text(before) != _fill_text(model) or _is_bare(document, model):
        document["fill_value"] = fill_values.encode(model.fill_value, model.data_type)
    document.setdefault("extensions", [])
    document["attributes"] = write_attributes(model.attributes, stored, layout)
    return document


def _encoding(model: ArrayModel) -> object:
    return model.codecs, model.order, model.grid.chunk_shape


def _split(model: ArrayModel, layout: Layout) -> v3draft_codecs.Stored:
    stored = v3draft_codecs.split(model.codecs, model.grid.chunk_shape, model.data_type, layout)
    if model.ndim > 1:
        return stored
    # No codec tells the one memory layout from the other.
    return replace(stored, pipeline=stored.pipeline._replace(order=model.order))


def _grid(document: Mapping[str, Json], layout: Layout) -> tuple[Shape, Separator]:
    return read_grid(members.required(document, "chunk_grid"), layout)


def _read_again(document: dict[str, Json], layout: Layout) -> ArrayModel | None:
    """What the document says now; None if it is not one of this layout."""
    if "data_type" not in document:
        return None
    try:
        return read_array(document, layout)
    except MetadataError:
        return None


def _fill_text(model: ArrayModel) -> str | None:
    if model.fill_value is None:
        return None
    try:
        return repr(fill_values.encode(model.fill_value, model.data_type))
    except UnsupportedError:
        return repr(model.fill_value)


def _is_bare(document: Mapping[str, Json], model: ArrayModel) -> bool:
    """Whether the fill value is no JSON and can be written so that it is."""
    objects = isinstance(model.data_type, Object)
    return members.has_bare_token(document.get("fill_value")) and not objects


def write_grid(chunk_shape: Shape, separator: Separator, layout: Layout) -> dict[str, Json]:
    grid: dict[str, Json] = {"type": "regular", "chunk_shape": list(chunk_shape)}
    if layout.chunk_keys == "draft" or separator != layout.separator:
        grid["separator"] = separator
    return grid


def write_attributes(
    attributes: Mapping[str, Json], stored: v3draft_codecs.Stored, layout: Layout
) -> dict[str, Json]:
    """The attributes of an array with the hidden filters among them."""
    if not layout.zarr_python:
        return dict(attributes)
    name = v3draft_codecs.FILTERS
    filters = v3draft_codecs.filter_members(stored.pipeline)
    given = attributes.get(name)
    if (filters and name in attributes) or v3draft_codecs.are_filters(given):
        raise UnsupportedError(
            f"{layout.name} keeps the filters of an array in the attribute {name!r}, which can hold"
            f" nothing else; found {show(given)}",
            what="attributes",
        )
    return {name: filters, **attributes} if filters else dict(attributes)


def group_document(model: GroupModel) -> dict[str, Json]:
    return {"extensions": [], **model.document, "attributes": dict(model.attributes)}
