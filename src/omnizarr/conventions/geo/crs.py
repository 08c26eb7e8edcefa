"""Coordinate reference systems: from stored text to pyproj's objects and back.

A convention may state one system in several ways: a code, WKT, PROJJSON, the parameters of CF. They
are kept as text until somebody asks for the object, and then the first that pyproj understands
counts. This module must not know where they are stored.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from omnizarr.errors import MetadataError
from omnizarr.model.codec import Json
from omnizarr.model.json import show
from omnizarr.runtime.optional_packages import package

if TYPE_CHECKING:
    import pyproj

_KNOWN = (
    re.compile(r"\s*[A-Za-z_0-9]+\s*[\[(].*", re.DOTALL),  # WKT
    re.compile(r"[A-Za-z_0-9]+:[A-Za-z_0-9.+]+"),  # EPSG:4326
    re.compile(r"https?://www\.opengis\.net/def/crs/[\w/.]+"),
    re.compile(r"urn:ogc:def:crs:[\w:.]+"),
    re.compile(r"\s*\+proj=.*", re.DOTALL),
)
"""Texts that describe a system by themselves. PROJ takes others too, such as names of files."""
_SETTING = re.compile(
    r"""(?:init|grids|model|file)(?:[\s;]|\\(?:u[0-9a-f]{4}|[a-z]))*=([\s"';]*[^\s"]*)""",
    re.IGNORECASE,
)
"""A setting of PROJ that may name files, with its value. No two begin in the same text, so that a
long one is searched once."""
_FILES = re.compile(
    r"""PARAMETERFILE\s*[\[(]\s*"[^"]*"\s*,\s*"[^"]*[/\\]"""
    r"""|PROJ4_GRIDS"\s*,\s*"[^"]*[/\\]"""
    r"""|"value":\s*"[^"]*[/\\]""",  # of PROJJSON
    re.IGNORECASE,
)
"""Paths of files, which PROJ would open: of a pipe or a device it would wait for ever. Names alone
are those of grids that PROJ brings."""
WKT1 = re.compile(r"\s*(GEOGCS|PROJCS|GEOCCS|VERT_CS|COMPD_CS|LOCAL_CS|FITTED_CS)\b")


class Definition(NamedTuple):
    """One way in which a reference system is stated."""

    kind: Literal["text", "projjson", "cf"]
    value: str
    """The text; for the other kinds, JSON."""


def text(value: Json, name: str) -> Definition:
    """A definition that a stranger wrote as WKT, as a code, or as a URL or URN of OGC."""
    if not isinstance(value, str) or not any(known.fullmatch(value) for known in _KNOWN):
        raise MetadataError(
            f"{name} must be WKT, a code such as 'EPSG:4326' or a URL of OGC, found {show(value)}"
        )
    return Definition("text", value)


def members(value: Json, name: str, kind: Literal["projjson", "cf"]) -> Definition:
    """A definition that is an object: PROJJSON, or attributes of a grid mapping."""
    if not isinstance(value, Mapping):
        raise MetadataError(f"{name} must be an object, found {show(value)}")
    return Definition(kind, json.dumps(value, sort_keys=True))


def pyproj_package() -> Any:
    """pyproj, which the extra "geo" brings."""
    return package("pyproj", "geo", "a coordinate reference system")


def opens_files(text: str) -> bool:
    """Whether PROJ would open files whose paths are in the text."""
    values = (found[1] for found in _SETTING.finditer(text))
    return bool(_FILES.search(text)) or any("/" in value or "\\" in value for value in values)


@lru_cache(maxsize=256)
def parsed(definition: Definition) -> pyproj.CRS:
    """The system that a definition describes."""
    systems: Any = pyproj_package().CRS
    if opens_files(definition.value):
        raise MetadataError(
            f"a reference system may not hold the path of a file, found {show(definition.value)}"
        )
    try:
        if definition.kind == "text":
            found = systems.from_user_input(definition.value)
        elif definition.kind == "projjson":
            found = systems.from_json(definition.value)
        else:
            found = systems.from_cf(json.loads(definition.value))
    except Exception as error:  # from_cf fails in many ways on attributes that are not CF's
        reason = str(error).replace(definition.value, "…")
        raise MetadataError(
            f"pyproj does not understand the reference system {show(definition.value)}:"
            f" {show(reason, 300)}"
        ) from error
    return found  # type: ignore[no-any-return]


def first(definitions: tuple[Definition, ...]) -> pyproj.CRS | None:
    """The system that the definitions state: the first that is understood."""
    failure = None
    for definition in definitions:
        try:
            return parsed(definition)
        except MetadataError as error:
            failure = failure or error
    if failure is not None:
        raise failure
    return None


def same(one: pyproj.CRS | None, other: pyproj.CRS | None) -> bool:
    """Whether two systems are one; x is always first here, so the order of axes does not count."""
    if one is None or other is None:
        return one is other
    return bool(one == other or one.equals(other, ignore_axis_order=True))


def given(value: object) -> Definition:
    """A definition of what the caller takes for a system: anything that pyproj takes."""
    systems: Any = pyproj_package()
    try:
        found = systems.CRS.from_user_input(value)
    except systems.exceptions.CRSError as error:
        raise MetadataError(
            f"crs must be something that pyproj understands, such as 'EPSG:4326' or WKT: {error}"
        ) from error
    authority = code(found)
    return Definition("text", authority or found.to_wkt())


def code(crs: pyproj.CRS) -> str | None:
    """ "EPSG:32631" if the system is exactly the registered one; None if there is none."""
    found = crs.to_authority(min_confidence=100)
    return None if found is None else ":".join(found)
