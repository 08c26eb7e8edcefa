"""NCZarr: the names of dimensions that netCDF-C keeps beside arrays of format 2.

An array of NCZarr is an array of format 2 with a marker, of which there are three generations:

=============  =============================  ====================================================
netCDF-C       where                          what
=============  =============================  ====================================================
4.8.0          object `.nczvar` (`.nczarray`)  `{"dimrefs": ["/lat"], "storage": "chunked"}`
4.8.1 – 4.9.2  `.zarray`                      `"_NCZARR_ARRAY": {"dimrefs": […], "storage": …}`
4.9.3 …        `.zattrs`                      `"_nczarr_array": {"dimension_references": […], …}`
=============  =============================  ====================================================

netCDF-C 4.9.0 stored `char` as "<U1" with one byte an element, where NumPy's type has four. Where
its marker is in `.zarray` the type is therefore read as "|S1", which later releases write.

`_ARRAY_DIMENSIONS` comes first where it fits; then the last name of each reference is the name of
the dimension. A scalar is stored with the shape `[1]`, and read so; its one dimension is called
`_scalar_`, as netCDF-C 4.10 calls it, in every generation.

Markers are attributes and members like any other: they are shown as they are stored, and kept when
a document is rewritten. Only 4.8.0 needs a further read. Its arrays have neither compressor nor
filters (it had none), no names and no separator; where all that is so, and only there, one batch
asks for the objects.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TypeVar

from omnizarr.formats import hierarchy
from omnizarr.formats.base import Node
from omnizarr.formats.dimensions import Names
from omnizarr.model import json
from omnizarr.model.array import ArrayModel
from omnizarr.model.codec import Json
from omnizarr.model.paths import join
from omnizarr.model.store import Store

MARKERS = ("_nczarr_array", "_NCZARR_ARRAY")
REFERENCES = ("dimension_references", "dimrefs")
OBJECTS = (".nczvar", ".nczarray")
SCALAR = "_scalar_"
_PREFIX = "_nczarr_"

N = TypeVar("N", bound=Node)


def names(document: Mapping[str, Json], attributes: Mapping[str, Json], ndim: int) -> Names | None:
    """The dimension names that a marker in either document gives; None if there is none."""
    for holder in (attributes, document):
        for name in MARKERS:
            found = _names_of(holder.get(name), ndim)
            if found is not None:
                return found
    return None


def _names_of(marker: Json, ndim: int) -> Names | None:
    if not isinstance(marker, dict):
        return None
    if ndim == 1 and (marker.get("storage") == "scalar" or marker.get("scalar") in (1, True)):
        return (SCALAR,)
    references = next((marker[name] for name in REFERENCES if name in marker), None)
    if not isinstance(references, list) or len(references) != ndim or not ndim:
        return None
    if not all(isinstance(reference, str) for reference in references):
        return None
    found = tuple(reference.rpartition("/")[2] for reference in references)
    return found if all(found) else None


def is_char(document: Mapping[str, Json]) -> bool:
    """Whether the elements are netCDF's `char`, one byte each, though the dtype says "<U1"."""
    return "_NCZARR_ARRAY" in document and document.get("dtype") in ("<U1", ">U1")


def completed(store: Store, nodes: Mapping[str, N]) -> dict[str, N]:
    """The nodes, by path, with the names that objects of netCDF-C 4.8.0 give to their arrays."""
    result = dict(nodes)
    wanted = [path for path, node in nodes.items() if _may_have_objects(node)]
    if not wanted:
        return result
    found = hierarchy.fetch(store, [join(path, name) for path in wanted for name in OBJECTS])
    for path in wanted:
        for name in OBJECTS:
            key = join(path, name)
            node = result[path]
            if key not in found or not isinstance(node, ArrayModel):
                continue
            given = _names_of(json.loads(found[key], f"key {key!r}"), node.ndim)
            if given is not None:
                result[path] = replace(node, dimension_names=given)
                break
    return result


def _may_have_objects(node: Node) -> bool:
    if not isinstance(node, ArrayModel) or not node.ndim or node.dimension_names is not None:
        return False
    document = node.document
    if document.get("compressor") is not None or document.get("filters"):
        return False
    return "dimension_separator" not in document and not any(
        name in holder for name in MARKERS for holder in (document, node.attributes)
    )
