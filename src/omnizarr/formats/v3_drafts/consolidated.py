"""Consolidated metadata of zarr-python 2's experimental v3: layout C alone has them.

One document, `meta/root/consolidated/.zmetadata`, holds every other one under its own key, for the
whole store. The group `consolidated` around it exists for nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from omnizarr.errors import ErrorLocation, MetadataError, UnsupportedError
from omnizarr.formats import members
from omnizarr.formats.base import Node
from omnizarr.formats.hierarchy import BOOTSTRAP, fetch
from omnizarr.formats.v3_drafts.arrays import DraftGroup, read_array, read_group
from omnizarr.formats.v3_drafts.layouts import (
    ARRAY,
    CONSOLIDATED,
    CONSOLIDATED_KEY,
    GROUP,
    META,
    Bootstrap,
    Layout,
    list_members,
    text,
)
from omnizarr.model import json
from omnizarr.model.array import ArrayModel, GroupModel
from omnizarr.model.codec import Json
from omnizarr.model.json import show
from omnizarr.model.paths import ancestors, is_key, join
from omnizarr.model.store import Buffer, Store


def consolidate(store: Store, bootstrap: Bootstrap) -> dict[str, bytes]:
    """The documents that make a hierarchy consolidated."""
    layout, suffix = bootstrap.layout, bootstrap.suffix
    group_key = layout.document_keys(CONSOLIDATED, suffix)[1]
    if CONSOLIDATED in list_members(store, layout, "", suffix).all and not _is_home(
        fetch(store, list(layout.document_keys(CONSOLIDATED, suffix))), group_key
    ):
        raise UnsupportedError(
            f"the root has a member named {CONSOLIDATED!r}, which is where consolidated"
            " metadata go; move it to another name first",
            what="name",
        ).at(store)
    home: dict[str, Json] = {"attributes": {}}
    metadata = {
        BOOTSTRAP: json.loads(bootstrap.text, ErrorLocation(key=BOOTSTRAP)),
        group_key: home,
    }
    for key, data in _documents(store, bootstrap):
        metadata[key] = json.loads(data, ErrorLocation(key=key))
    document = {"metadata": dict(sorted(metadata.items())), "zarr_consolidated_format": 1}
    return {group_key: text(home), CONSOLIDATED_KEY: text(document)}


def _is_home(documents: Mapping[str, Buffer], group_key: str) -> bool:
    """Whether the group of that name says nothing of its own."""
    if list(documents) != [group_key]:
        return False
    group = json.loads(documents[group_key], ErrorLocation(key=group_key))
    return isinstance(group, dict) and not group.get("attributes")


def _documents(store: Store, bootstrap: Bootstrap) -> Iterator[tuple[str, Buffer]]:
    """Every document below `meta`; chunks are never listed."""
    layout, suffix = bootstrap.layout, bootstrap.suffix
    yield from fetch(store, list(layout.document_keys("", suffix))).items()
    pending = [""]
    while pending:
        path = pending.pop(0)
        found = list_members(store, layout, path, suffix)
        keys = [layout.document_keys(join(path, name), suffix)[0] for name in sorted(found.arrays)]
        keys += [layout.document_keys(join(path, name), suffix)[1] for name in sorted(found.groups)]
        yield from fetch(store, keys).items()
        pending.extend(join(path, name) for name in sorted(found.implied - found.arrays))


def parse(path: str, data: Buffer, layout: Layout) -> GroupModel:
    """The group at `path` with every node below it."""
    return members.parsed(
        CONSOLIDATED_KEY, data, lambda value: _group(path, members.document(value), layout)
    )


def _group(path: str, document: Mapping[str, Json], layout: Layout) -> GroupModel:
    version = document.get("zarr_consolidated_format", 1)
    if type(version) is not int or version != 1:
        raise MetadataError(f"zarr_consolidated_format must be 1, found {show(version)}")
    metadata = members.attributes(members.required(document, "metadata"), "metadata")
    nodes: dict[str, Node] = {}
    for key, value in sorted(metadata.items(), reverse=True):  # ".group" first: an array wins
        found = _path_of(key, _suffix(metadata, layout))
        if found is None or found[0] == CONSOLIDATED:
            continue
        try:
            nodes[found[0]] = read_array(value, layout) if found[1] == ARRAY else read_group(value)
        except MetadataError as error:
            raise error.at(f"metadata of {key!r}") from error
    for node in list(nodes):
        for above in ancestors(node):
            nodes.setdefault(above, DraftGroup())
    root = nodes.get(path, DraftGroup())
    if isinstance(root, ArrayModel):
        raise MetadataError(f"the consolidated metadata describe an array at {path!r}, not a group")
    start = f"{path}/" if path else ""
    below = {name[len(start) :]: n for name, n in nodes.items() if name and name.startswith(start)}
    return replace(root, consolidated=dict(sorted(below.items())))


def _suffix(metadata: Mapping[str, Json], layout: Layout) -> str:
    bootstrap = metadata.get(BOOTSTRAP)
    suffix = bootstrap.get("metadata_key_suffix") if isinstance(bootstrap, dict) else None
    return suffix if isinstance(suffix, str) else layout.suffix


def _path_of(key: str, suffix: str) -> tuple[str, str] | None:
    """The node that a key describes, and as what."""
    for kind in (ARRAY, GROUP):
        if key == META + kind + suffix:
            return "", kind
        if key.startswith(META + "/") and key.endswith(kind + suffix):
            path = key[len(META) + 1 : len(key) - len(kind + suffix)]
            if not is_key(key) or not is_key(path):
                raise MetadataError(f"metadata has the key {show(key)}, which no node can have")
            return path, kind
    return None
