"""A place in its hierarchy: the outermost store that a path leads into, and the path in it.

`data.zarr/group/array` may be opened as a store of its own; what copies, moves and deletes nodes
asks for the hierarchy around it, whose formats and consolidated metadata concern them. This module
knows paths and the public API. It must not know formats.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import omnizarr
from omnizarr.cli import places, urls
from omnizarr.cli.places import Given, Problem, StoredAt, find, open_store
from omnizarr.errors import MetadataError, NodeNotFoundError, ZarrError
from omnizarr.stores import Store, store_kind

_JOURNALS = ".omnizarr-"
"""How the names of all that jobs keep until they are finished begin."""


def existing(path: str, node: str | None, given: Given) -> StoredAt:
    """Where an array or group is, from the outermost group around it."""
    return enclosing(places.locate(path, node, given))


def enclosing(place: StoredAt) -> StoredAt:
    """The same place, from the outermost group around it."""
    while place.kind in ("folder", "URL"):
        above, name = _above(place.file)
        if not name or not is_group(StoredAt(above, "", options=place.options)):
            break
        path = f"{name}/{place.path}" if place.path else name
        place = StoredAt(above, path, options=place.options)
    return place


def _above(file: str) -> tuple[str, str]:
    if urls.is_url(file):
        found = list(urls.places(file, ""))
        return found[1] if len(found) > 1 else (file, "")
    above, name = os.path.split(os.path.abspath(file))
    return (above if os.path.isabs(file) else os.path.relpath(above)), name


def is_group(place: StoredAt) -> bool:
    try:
        with place.open() as store:
            omnizarr.open_group(store, mode="r", path=place.path)
    except (ZarrError, OSError, ValueError, Problem):
        return False
    return True


def target(path: str, given: Given = ()) -> StoredAt:
    """Where something is to be written: in the hierarchy that is there, or in a new store."""
    options = dict(given)
    if urls.is_url(path):
        found = list(urls.places(path, ""))
        for file, inner in found[1:]:
            if is_group(StoredAt(file, "", options=options)):
                return enclosing(StoredAt(file, inner, options=options))
        file, inner = places.destination(path)
        return StoredAt(file, inner, options=options)
    if not path:
        raise Problem("the path is empty", "name a folder, a .zip archive or a URL")
    file, inner = places.destination(path)
    if inner or store_kind(file) is not None or file.lower().endswith(".zip"):
        return StoredAt(file, inner, options=options)
    file = os.path.normpath(file)
    outer, rest = file, ""
    while not os.path.lexists(outer):
        outer, name = os.path.split(outer)
        rest = f"{name}/{rest}" if rest else name
        outer = outer or os.curdir
    if not os.path.isdir(outer):
        raise Problem(f"{outer}: it is a file", "name a new folder, or a .zip archive")
    if not rest or is_group(StoredAt(outer, "")):
        return enclosing(StoredAt(outer, rest))
    with StoredAt(outer, "").open() as store:
        if node_at(store, "") is not None:
            raise Problem(f"{outer}: it is an array, and nothing can be inside", "name a group")
    return StoredAt(file, "")


def below(place: StoredAt, name: str) -> StoredAt:
    """A member of a group."""
    if place.path or place.kind not in ("folder", "URL") or is_group(place):
        path = f"{place.path}/{name}" if place.path else name
        return StoredAt(place.file, path, place.archive, place.options)
    return StoredAt(f"{place.file.rstrip('/')}/{name}", "", options=place.options)


@contextmanager
def writing(place: StoredAt) -> Iterator[Store]:
    """The store of a place, to write to; closed at the end."""
    with open_store(place.file, place.options, "a") as store:
        yield store


def node_at(store: Store, path: str) -> Any:
    """The array or group there; None if there is none. One that is broken is there, too."""
    try:
        return omnizarr.open(store, mode="r", path=path)
    except NodeNotFoundError:
        return None
    except MetadataError as error:
        return error


def check_free(
    store: Store, path: str, shown: str, own: Callable[[str], bool] | None = None
) -> None:
    """Refuse to write among things that are neither a node nor what a job has begun.

    `own` tells of a key below the path whether it is the command's own from an earlier run.
    """
    if not store.capabilities.listable or node_at(store, path) is not None:
        return
    prefix = f"{path}/" if path else ""
    top = store.list_dir(prefix)
    if any(each.startswith(prefix + _JOURNALS) for each in (*top.keys, *top.prefixes)):
        return
    keys = (key[len(prefix) :] for key in store.list_prefix(prefix))
    if any(own is None or not own(key) for key in keys):
        raise Problem(f"{shown}: other things are stored there", "name a new place")


def describe(node: Any) -> str:
    """What a node is, in few words."""
    if isinstance(node, omnizarr.Array):
        from omnizarr.cli.output import times

        return f"array {times(node.shape)} {node.dtype}"
    return "group" if isinstance(node, omnizarr.Group) else "node that cannot be read"


def groups_above(path: str) -> list[str]:
    """The paths of the groups around a path, the root first.

    >>> groups_above("a/b/c")
    ['', 'a', 'a/b']
    """
    steps = path.split("/") if path else []
    return ["/".join(steps[:count]) for count in range(len(steps))]


def stale(store: Store, path: str) -> list[str]:
    """The groups around a node whose consolidated metadata no longer tell of it."""
    found = []
    for above in groups_above(path):
        try:
            omnizarr.open_group(store, mode="r", path=above, use_consolidated=True)
        except (ZarrError, ValueError):
            continue
        found.append(above)
    return found


def renewal(place: StoredAt, groups: list[str]) -> list[str]:
    """What to run for each of them."""
    return [f"omnizarr consolidate {place.shown}{'/' + path if path else ''}" for path in groups]


def at(path: str, given: Given) -> tuple[StoredAt, Any]:
    """Where a node is, and its format."""
    place, node = find(path, options=given)
    node.store.close()
    return place, node.zarr_format
