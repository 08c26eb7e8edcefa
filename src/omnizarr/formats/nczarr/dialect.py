"""NCZarr as it is written: format 2 with the markers of netCDF-C 4.9.3 and later.

A group's marker lists its members and declares dimensions; an array's marker names those that it
has. So a new node needs to know the groups above it (`placed`), and they change with it. A change
is a function of a group's attributes, which the caller applies under its lock. Dimensions are
declared before the node is stored, and the node is listed after it, because netCDF-C opens
nothing where a listed member is missing, or where an array and its dimension differ in length.

What netCDF-C cannot hold, or reads as something else, is refused here. It has types of its own,
six codecs, and C order alone; it skips arrays without dimensions, so a scalar has the shape `[1]`;
its JSON parser does not know `\\u00e9`, so text is stored in UTF-8.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from json import dumps as dump
from typing import Any

import numpy as np

from omnizarr.errors import MetadataError, UnsupportedError
from omnizarr.formats import dimensions
from omnizarr.formats.base import DEFAULT, ArrayRequest, Change, Node, Placement
from omnizarr.formats.nczarr import markers
from omnizarr.formats.nczarr.attribute_types import value_in_json, with_types
from omnizarr.formats.nczarr.document import SCALAR
from omnizarr.formats.nczarr.markers import GroupMarker, group_marker, is_marked
from omnizarr.formats.v2 import codecs
from omnizarr.formats.v2 import document as v2
from omnizarr.model import json
from omnizarr.model.array import ArrayModel, GroupModel
from omnizarr.model.codec import CodecSpec, Json
from omnizarr.model.dtypes import DataType
from omnizarr.model.grids import regular_grid
from omnizarr.model.paths import join, name_of, parent
from omnizarr.model.store import Store

CODECS = ("zlib", "bz2", "zstd", "blosc", "shuffle", "fletcher32")
"""Those that netCDF-C has, all but zlib and shuffle as plug-ins."""
LEVELED = ("zlib", "bz2")
FILL_VALUES: Mapping[str, Any] = {
    "i1": -127,
    "i2": -32767,
    "i4": -2147483647,
    "i8": -9223372036854775806,
    "u1": 255,
    "u2": 65535,
    "u4": 4294967295,
    "u8": 18446744073709551614,
    "f4": 9.969209968386869e36,
    "f8": 9.969209968386869e36,
}
"""What netCDF-C fills an array with where no fill value is given, by NumPy's type."""


class NCZarr(v2.V2):
    """The dialect; see `formats.base.Format` and `formats.base.Registering`."""

    reserved: tuple[str, ...] = (*markers.RESERVED, dimensions.ATTRIBUTE)

    # -- writing ------------------------------------------------------------------------------
    def documents(
        self, path: str, node: Node, *, attributes_only: bool = False
    ) -> dict[str, bytes]:
        made = super().documents(path, node, attributes_only=attributes_only)
        if not is_marked(node):
            return made
        values = {key: json.loads(text) for key, text in made.items()}
        if (key := join(path, v2.ATTRIBUTES)) in values:
            values[key] = with_types(node.attributes, _dtype(node))
        return {key: _text(key, value) for key, value in values.items()}

    def new_array(self, request: ArrayRequest) -> ArrayModel:
        _check_type(request.data_type)
        dtype = request.data_type.numpy
        if request.fill_value is DEFAULT:
            own = FILL_VALUES.get(dtype.str[1:], b"")
            request = replace(request, fill_value=own)
        if request.codecs is None and request.compressors == "auto":
            request = replace(request, compressors=(CodecSpec("numcodecs.zlib", {"level": 1}),))
            if request.filters == "auto" and dtype.kind in "iuf" and dtype.itemsize > 1:
                shuffle = CodecSpec("numcodecs.shuffle", {"elementsize": dtype.itemsize})
                request = replace(request, filters=(shuffle,))
        made = super().new_array(request)
        if made.order == "F" and made.ndim > 1:
            raise UnsupportedError("netCDF-C reads every chunk in C order", what="codecs")
        with_types(made.attributes, dtype)  # which refuses attributes
        return _as_read_by_netcdf(made)

    def new_group(self, attributes: Mapping[str, Json]) -> GroupModel:
        kept = {name: item for name, item in attributes.items() if name not in self.reserved[:3]}
        made = super().new_group(markers.with_marker(kept, GroupMarker()))
        return replace(made, attributes=with_types(made.attributes))

    def parent_documents(self, path: str) -> dict[str, bytes]:
        return v2.FORMAT.parent_documents(path)  # a root may be anywhere; see `placed`

    def check_place(self, store: Store, path: str, besides: str = "") -> None:
        super().check_place(store, path, besides)
        if path:
            try:
                markers.check_name(name_of(path), "NCZarr")
            except MetadataError as error:
                raise UnsupportedError(str(error), what="name") from error

    # -- groups that name their members -------------------------------------------------------
    def placed(self, path: str, node: Node, above: Mapping[str, Node]) -> Placement:
        groups = family(path, above)
        if isinstance(node, ArrayModel):
            return _placed_array(path, node, groups)
        if not groups:
            root = {**node.attributes, markers.SUPERBLOCK: markers.VERSION}
            return Placement(replace(node, attributes=with_types(root)))
        change = partial(markers.listed, name=name_of(path), is_array=False)
        return Placement(node, after={parent(path): change})

    def registered(self, nodes: Mapping[str, Node]) -> dict[str, dict[str, bytes]]:
        known: dict[str, Node] = {}
        for path, node in nodes.items():
            if isinstance(node, GroupModel):  # what it names is what there is
                marker = group_marker(node.attributes) or GroupMarker()
                empty = GroupMarker(marker.dimensions)
                node = replace(node, attributes=markers.with_marker(node.attributes, empty))
            elif node.dimension_names and not is_marked(node):
                node = _with_fill(node)
            placement = self.placed(path, node, known)
            known[path] = placement.node
            for group, change in [*placement.before.items(), *placement.after.items()]:
                changed = change(dict(known[group].attributes))
                known[group] = replace(known[group], attributes=changed)
        return {path: self.documents(path, node) for path, node in known.items()}

    def removed(self, path: str, above: Mapping[str, Node]) -> dict[str, Change]:
        if not family(path, above):
            return {}
        return {parent(path): partial(markers.unlisted, name=name_of(path))}

    def resized(
        self, path: str, node: ArrayModel, before: tuple[int, ...], above: Mapping[str, Node]
    ) -> dict[str, Change]:
        groups = family(path, above)
        changes: dict[str, Change] = {}
        for reference, old, new in zip(references(node), before, node.shape, strict=False):
            where, _, name = reference.rpartition("/")
            group = join(base(groups), where.strip("/"))
            if old != new and group in groups:
                change = partial(markers.resized, name=name, before=old, after=new)
                earlier = changes.get(group)
                changes[group] = change if earlier is None else _both(earlier, change)
        return changes


def _text(key: str, value: Json) -> bytes:
    """A document without a space: netCDF-C does not shorten a file that it writes again, so ours
    must not be longer than its own."""
    text = dump(json.plain(value), separators=(",", ":"), ensure_ascii=False)
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise UnsupportedError(f"{key!r}: {error}", what="attributes") from error


def _as_read_by_netcdf(made: ArrayModel) -> ArrayModel:
    """A new array whose document netCDF-C understands; UnsupportedError if it has no such codec."""
    document = dict(made.document)
    if made.dtype.str == "|S1":  # char; "|S1" is a string to netCDF-C
        document["dtype"] = ">S1"
    listed = [*(document["filters"] or ()), document["compressor"]]
    known = [None if codec is None else _codec(codec) for codec in listed]
    document["filters"], document["compressor"] = known[:-1] or None, known[-1]
    specs = codecs.decode(document).specs(made.ndim, made.data_type)
    return replace(made, document=document, codecs=specs)


def _codec(codec: Mapping[str, Json]) -> dict[str, Json]:
    name = codec["id"]
    if name not in CODECS:
        raise UnsupportedError(
            f"netCDF-C has no codec {name!r}; it has {', '.join(CODECS)}", what="codecs"
        )
    # netCDF-C ends the process where the level is missing; 1 is what numcodecs takes then.
    return {**({"level": 1} if name in LEVELED else {}), **codec}


def _both(first: Change, second: Change) -> Change:
    return lambda attributes: second(dict(first(attributes)))


def _dtype(node: Node) -> np.dtype[Any] | None:
    return node.dtype if isinstance(node, ArrayModel) else None


def _check_type(data_type: DataType) -> None:
    dtype = data_type.numpy
    known = dtype.kind == "S" and not data_type.variable
    if not known and dtype.str[1:] not in FILL_VALUES:
        hint = "use a fixed length such as 'S64'" if dtype.kind in "TOU" else ""
        if dtype.kind in "mM":
            hint = "store numbers, with units such as 'days since 2000-01-01'"
        elif dtype.kind == "b":
            hint = "use 'i1'"
        raise UnsupportedError(
            f"netCDF-C has no type for {data_type.name!r} in Zarr", what="data_type"
        ).advise(hint)


def family(path: str, above: Mapping[str, Node]) -> dict[str, GroupMarker]:
    """The groups of the same NCZarr hierarchy above a path, the nearest first. A parent without
    marker that stands in one belongs to it: it is being created."""
    found: dict[str, GroupMarker] = {}
    here = path
    while here:
        here = parent(here)
        node = above.get(here)
        if not isinstance(node, GroupModel):
            break
        marker = group_marker(node.attributes) if is_marked(node) else None
        if marker is None and found:
            break
        found[here] = marker or GroupMarker()
        if markers.SUPERBLOCK in node.attributes:
            break
    if found and all(not is_marked(above[each]) for each in found):
        return {}
    return found


def base(groups: Mapping[str, GroupMarker]) -> str:
    """The path of the root of an NCZarr hierarchy, among the groups of a `family`."""
    return min(groups, key=len, default="")


def references(node: ArrayModel) -> tuple[str, ...]:
    """The dimensions that the marker of an array names."""
    marker = node.attributes.get(markers.ARRAY)
    found = marker.get("dimension_references") if isinstance(marker, dict) else None
    if not isinstance(found, list) or not all(isinstance(each, str) for each in found):
        return ()
    return tuple(found)


def _placed_array(path: str, node: ArrayModel, groups: Mapping[str, GroupMarker]) -> Placement:
    if not groups:
        raise UnsupportedError("an array of NCZarr is a member of a group", what="groups")
    node = _scalar(node)
    is_scalar = node.dimension_names == (SCALAR,) and node.shape == (1,)
    names = node.dimension_names or tuple(f"_Anonymous_Dim_{length}" for length in node.shape)
    here = parent(path)
    found: list[Json] = []
    new: dict[str, tuple[int, bool]] = {}
    for name, length in zip(() if is_scalar else names, node.shape, strict=False):
        markers.check_name(name, "dimension_names")
        assert name is not None
        where = next((each for each in groups if name in groups[each].dimensions), here)
        size, _ = groups[where].dimensions.get(name) or new.setdefault(name, (length, False))
        if size != length:
            raise markers.conflict(name, f"/{where}", size, length)
        found.append("/" + join(where[len(base(groups)) :].strip("/"), name))
    marker: dict[str, Json] = {"dimension_references": found, "storage": "chunked"}
    if is_scalar:
        marker["scalar"] = 1
    attributes = {
        **{
            name: item for name, item in node.attributes.items() if name not in markers.RESERVED[:3]
        },
        dimensions.ATTRIBUTE: list(names),
        markers.ARRAY: marker,
    }
    stored = replace(
        node, attributes=with_types(attributes, node.dtype), dimension_names=tuple(names)
    )
    declare = partial(markers.declared, sizes=new, where=f"/{here}")
    listing = partial(markers.listed, name=name_of(path), is_array=True)
    return Placement(stored, {here: declare} if new else {}, {here: listing})


def _with_fill(node: ArrayModel) -> ArrayModel:
    """An array of format 2 with the attribute that says to netCDF-C what its fill value says to
    xarray: that it marks missing values."""
    fill, name = node.fill_value, "_FillValue"
    if fill is None or name in node.attributes or node.dtype.kind not in "iuf":
        return node
    if fill == FILL_VALUES.get(node.dtype.str[1:]) and node.dtype.itemsize > 1:
        return node
    return replace(node, attributes={name: value_in_json(fill), **node.attributes})


def _scalar(node: ArrayModel) -> ArrayModel:
    """A scalar as netCDF-C stores it; other arrays as they are."""
    if node.ndim:
        return node
    return replace(
        node,
        shape=(1,),
        grid=regular_grid((1,), (1,)),
        dimension_names=(SCALAR,),
        document={**node.document, "shape": [1], "chunks": [1]},
    )


NCZARR = NCZarr()
"""The one object of its class."""
