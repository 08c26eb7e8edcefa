"""`zarr_conventions`: the attribute in which a node says which conventions its attributes follow.

An entry is an object with any of `uuid`, `schema_url`, `spec_url`, `name` and `description`; one of
the first three must be there, and `name` identifies nothing. Writers in the field differ in URLs
and in the spelling of names, so a convention is found by its uuid, then by a URL, then by name.
This module must not know what any convention means.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from omnizarr.model.codec import Json

ATTRIBUTE = "zarr_conventions"
IDENTIFIERS = ("uuid", "schema_url", "spec_url")
MEMBERS = (*IDENTIFIERS, "name", "description")

How = Literal["uuid", "url", "name"]


@dataclass(frozen=True)
class Convention:
    """A convention that a node can declare."""

    name: str
    uuid: str
    repositories: tuple[str, ...]
    """"owner/name" on GitHub, today's first: a URL that contains one names this convention."""
    description: str

    def declaration(self) -> dict[str, Json]:
        """The entry that all known readers take: rioxarray compares the name, GDAL and OpenLayers
        the uuid, and zarr-cm the schema's URL."""
        repository = self.repositories[0]
        return {
            "schema_url": f"https://raw.githubusercontent.com/{repository}/refs/tags/v1/schema.json",
            "spec_url": f"https://github.com/{repository}/blob/v1/README.md",
            "uuid": self.uuid,
            "name": self.name,
            "description": self.description,
        }

    def identified(self, entry: Mapping[str, Json]) -> How | None:
        """How an entry names this convention; None if it names another one."""
        if entry.get("uuid") is not None:
            return "uuid" if entry["uuid"] == self.uuid else None
        urls = [entry.get("schema_url"), entry.get("spec_url")]
        known = [f".com/{repository}/" for repository in self.repositories]
        if any(isinstance(url, str) and any(part in url for part in known) for url in urls):
            return "url"
        name = entry.get("name")
        if isinstance(name, str) and name.rstrip(":") == self.name.rstrip(":"):
            return "name"
        return None


PROJ = Convention(
    "proj:",
    "f17cb550-5864-4468-aeb7-f3180cfb622f",
    ("zarr-conventions/geo-proj", "zarr-conventions/proj", "zarr-experimental/geo-proj"),
    "Coordinate reference system information for geospatial data",
)
SPATIAL = Convention(
    "spatial:",
    "689b58e2-cf7b-45e0-9fff-9cfc0883d6b4",
    ("zarr-conventions/spatial",),
    "Spatial coordinate information",
)
MULTISCALES = Convention(
    "multiscales",
    "d35379db-88df-4056-af3a-620245f8e347",
    ("zarr-conventions/multiscales", "zarr-experimental/multiscales"),
    "Multiscale layout of zarr datasets",
)


def entries(attributes: Mapping[str, Json]) -> Iterator[Mapping[str, Json]]:
    """The entries of a node; what is no object is passed over."""
    found = attributes.get(ATTRIBUTE)
    if isinstance(found, list):
        yield from (entry for entry in found if isinstance(entry, Mapping))


def declared(attributes: Mapping[str, Json], convention: Convention) -> How | None:
    """How a node declares a convention, by the strongest of its entries; None if it does not."""
    found = {convention.identified(entry) for entry in entries(attributes)}
    order: tuple[How, ...] = ("uuid", "url", "name")
    return next((how for how in order if how in found), None)


def declare(attributes: Mapping[str, Json], *conventions: Convention) -> dict[str, Json]:
    """Attributes that declare these conventions, in the form that all known readers take."""
    kept = without(attributes, *conventions).get(ATTRIBUTE)
    found = kept if isinstance(kept, list) else []
    return {**attributes, ATTRIBUTE: [*found, *(each.declaration() for each in conventions)]}


def without(attributes: Mapping[str, Json], *conventions: Convention) -> dict[str, Json]:
    """Attributes that declare these conventions no longer."""
    result = dict(attributes)
    found = result.get(ATTRIBUTE)
    if isinstance(found, list):
        result[ATTRIBUTE] = [
            entry
            for entry in found
            if not isinstance(entry, Mapping)
            or not any(each.identified(entry) for each in conventions)
        ]
        if not result[ATTRIBUTE]:
            del result[ATTRIBUTE]
    return result
