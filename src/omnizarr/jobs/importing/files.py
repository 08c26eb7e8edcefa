"""Tell a file of another format, and open it as a group.

The first bytes of a local file decide; of a URL the suffix, so that no store is asked for what is
none. This module knows paths and kinds. It must not know what is in a file.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from typing import Any, TypeVar

from omnizarr.api.opening import open_group
from omnizarr.api.virtual import output
from omnizarr.api.virtual.facts import VirtualFile
from omnizarr.api.virtual.files import Excluded, Kind, Place, find, is_npz, kind_of, kind_of_bytes
from omnizarr.jobs.exporting.formats import READ, has_suffix
from omnizarr.jobs.importing.slices import resliced
from omnizarr.jobs.importing.store import ImportedFile, state_of
from omnizarr.nodes.group import Group
from omnizarr.stores import store_kind

T = TypeVar("T")
NOTHING = Excluded()
_BEGIN = 8


def is_foreign(source: object) -> bool:
    """Whether a path or URL means a file of another format. What is a store is none."""
    if not isinstance(source, str | os.PathLike):
        return False
    name = os.fspath(source).removeprefix("file://")
    if "://" in name:
        plain = name.partition("?")[0].partition("#")[0]
        return any(has_suffix(plain, suffixes) for suffixes in READ.values())
    if not os.path.isfile(name):
        return False
    with open(name, "rb") as file:
        begin = file.read(_BEGIN)
    if kind_of_bytes(begin) is not None or is_npz(name):
        return True
    suffixes = (suffix for several in READ.values() for suffix in several)
    return has_suffix(name, suffixes) and store_kind(name) is None


@contextmanager
def opened(
    source: Any, options: Mapping[str, Any] | None, exclude: Excluded = NOTHING
) -> Iterator[Group | None]:
    """The file as a group, closed at the end; None if the source is no such file."""
    if not is_foreign(source):
        yield None
        return
    [place] = find([source], options)
    state = state_of(place)
    kind = kind_of(place)
    if kind == "npz":
        from omnizarr.jobs.importing import npz

        if npz.has_compressed(place):
            with npz.opened(place) as group:
                yield group
            return
    file = _scanned(kind, place, exclude)
    file, chunks = resliced(file)
    store = ImportedFile(place, output.references(file, old=False), chunks, state, file.notes)
    try:
        store.check_unchanged()
        yield open_group(store, mode="r")
    finally:
        store.close()


def _scanned(kind: Kind, place: Place, exclude: Excluded) -> VirtualFile:
    scan: Any = import_module(f"omnizarr.api.virtual.{kind}").scan
    found: VirtualFile = scan(place, frozenset(), exclude)
    return found


def excluded(patterns: Iterable[str], path: str) -> Excluded:
    """What is left out of a file whose node at `path` is converted."""
    below = f"{path.strip('/')}/" if path.strip("/") else ""
    return Excluded(below + each.strip("/") for each in patterns)


def chunks_for(group: Group, path: str) -> Any:
    """The chunks that a conversion of the node at a path chooses, where those of the file are not
    regular; for one array, or by the paths below it."""
    store = group._place.store
    found = _below(store.chunks, path) if isinstance(store, ImportedFile) else {}
    return found.get("", found or None)


def notes_for(group: Group, path: str) -> dict[str, tuple[str, ...]]:
    """What a report says of each node, by its path below the one that is converted."""
    store = group._place.store
    return _below(store.notes, path) if isinstance(store, ImportedFile) else {}


def _below(facts: Mapping[str, T], path: str) -> dict[str, T]:
    begin = f"{path.strip('/')}/" if path.strip("/") else ""
    return {
        f"{each}/"[len(begin) :].rstrip("/"): fact
        for each, fact in facts.items()
        if f"{each}/".startswith(begin)
    }
