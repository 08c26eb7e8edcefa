"""Hints for a path without a node: the members beside it, and the nearest name."""

from __future__ import annotations

import os
from collections.abc import Collection
from contextlib import suppress

from omnizarr import formats
from omnizarr.errors import ZarrError
from omnizarr.keywords import nearest
from omnizarr.model import paths
from omnizarr.model.array import ArrayModel
from omnizarr.model.store import Store
from omnizarr.stores import LocalStore
from omnizarr.stores.wrappers.base import PrefixStore, WrapperStore

MOST = 10
"""How many names an error lists."""


class NoAttribute(AttributeError):
    """A group has no such attribute or member. Its members are listed only when the error is shown,
    since `hasattr` must not list a store."""

    def __str__(self) -> str:
        group, name = self.args
        return str(group._missing(name, "attribute or member").args[0])


def beside(store: Store, path: str) -> str:
    """Advice for an error about `path`: the members of the nearest group above it.

    It reads the nodes above and lists once; if that fails, the hint is empty. For the store's own
    root it looks in the folder or container around the store."""
    with suppress(ZarrError, OSError):
        folder = ""
        if not path:
            store, path, folder = _from_outside(store)
        for above in reversed(paths.ancestors(path)):
            found = formats.find(store, above)
            if found is None:
                continue
            group = f"{folder}/{above}" if above else folder or "/"
            if isinstance(found[1], ArrayModel):
                return f"{group!r} is an array, which has no members"
            if not store.capabilities.listable:
                return f"members of {group!r} must be named exactly; the store may not list them"
            wanted = path[len(above) :].strip("/").partition("/")[0]
            return among(wanted, found[0].names(store, above), group)
    return ""


def _from_outside(store: Store) -> tuple[Store, str, str]:
    """The store around a store, the path of the inner store's root in it, and the folder that the
    outer one starts at (the nearest that exists; empty in a container). The path is empty if there
    is no outer store, or if the root is not empty."""
    inner = store
    while isinstance(inner, WrapperStore) and not isinstance(inner, PrefixStore):
        inner = inner.store
    if isinstance(inner, PrefixStore):
        return inner.store, inner.prefix.strip("/"), ""
    if not isinstance(inner, LocalStore) or any(inner.list_dir("")):
        return store, "", ""
    folder, name = os.path.split(inner.path)
    while name and not os.path.isdir(folder):
        folder, last = os.path.split(folder)
        name = f"{last}/{name}" if last else ""
    return LocalStore(folder, read_only=True), name, folder


def among(wanted: str, names: Collection[str], group: str) -> str:
    """The same where the members are known.

    >>> among("temprature", ["pressure", "temperature"], "/")
    "did you mean 'temperature'? '/' holds pressure, temperature"
    """
    if not names:
        return f"{group!r} is empty"
    listed = ", ".join(sorted(names)[:MOST])
    more = f" and {len(names) - MOST} more" if len(names) > MOST else ""
    near = nearest(wanted, names) if len(names) <= 10_000 else ""
    return f"{near} {group!r} holds {listed}{more}".lstrip("; ")
