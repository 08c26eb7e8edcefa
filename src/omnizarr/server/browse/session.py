"""The store that is shown: nodes by path, children in pages, a search.

This module opens nodes. It must not know HTTP.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict, deque
from typing import Any

import omnizarr
from omnizarr.errors import NodeNotFoundError, ZarrError
from omnizarr.runtime import forks
from omnizarr.server.browse.facts import short

PAGE = 200
_LARGEST_PAGE = 1000
_KEPT = 64
_READS = 3
"""How many answers may hold values at a time."""
_SECONDS = 20.0
"""How long a node, or a list of members, is kept before the store is asked again."""
_SEARCHED = 50_000
"""Nodes that one search looks at."""
_SEARCH_SECONDS = 3.0
_HITS = 100


class Session:
    """What one page shows: a node and all that is below it."""

    def __init__(self, root: Any, title: str, line: str) -> None:
        self.root = root
        self.title = title
        self.line = line
        """The Python expression that opens the node at the top."""
        self._nodes: OrderedDict[str, tuple[float, Any]] = OrderedDict()
        self._members: OrderedDict[str, tuple[float, list[tuple[str, Any]]]] = OrderedDict()
        self._renew_locks()
        forks.in_child(self._renew_locks)

    def _renew_locks(self) -> None:
        self._lock = threading.Lock()
        self.reads = threading.BoundedSemaphore(_READS)
        """Held while an answer has values of arrays, which bounds the memory."""

    def node(self, path: str) -> Any:
        """The node at a path below the top; "" is the top itself."""
        path = path.strip("/")
        if not path:
            return self.root
        if isinstance(self.root, omnizarr.Array):
            raise NodeNotFoundError(f"the array at the top has no member {path!r}")
        with self._lock:
            known = self._nodes.get(path)
        if known is not None and time.monotonic() - known[0] < _SECONDS:
            return known[1]
        node = self.root[path]
        self._keep(self._nodes, path, node)
        return node

    def group_of(self, path: str) -> Any:
        """The group that holds a node; None if there is none, or it is above the top's store."""
        path = path.strip("/")
        if path:
            return self.node(path.rpartition("/")[0])
        try:
            above = self.root.path.rpartition("/")[0]
            return omnizarr.open_group(self.root.store, path=above, mode="r")
        except (ZarrError, OSError):
            return None

    def children(self, path: str, offset: int = 0, limit: int = PAGE) -> dict[str, Any]:
        """Members of a group, by name, from one position on."""
        found = self._listed(path.strip("/"))
        page = found[offset : offset + max(1, min(limit, _LARGEST_PAGE))]
        above = path.strip("/")
        return {
            "path": above,
            "total": len(found),
            "offset": offset,
            "children": [short(_below(above, name), name, node) for name, node in page],
        }

    def _listed(self, path: str) -> list[tuple[str, Any]]:
        with self._lock:
            known = self._members.get(path)
        if known is not None and time.monotonic() - known[0] < _SECONDS:
            return known[1]
        node = self.node(path)
        found = [] if isinstance(node, omnizarr.Array) else sorted(_members(node), key=_natural)
        self._keep(self._members, path, found)
        return found

    def _keep(self, kept: OrderedDict[str, Any], path: str, found: Any) -> None:
        with self._lock:
            kept[path] = (time.monotonic(), found)
            kept.move_to_end(path)
            while len(kept) > _KEPT:
                kept.popitem(last=False)

    def search(self, text: str) -> dict[str, Any]:
        """Nodes whose path has the text, the nearest first; bounded in number and time."""
        wanted, started, looked = text.lower(), time.monotonic(), 0
        hits: list[dict[str, Any]] = []
        queue = deque([""])
        complete = True
        while queue and complete:
            above = queue.popleft()
            for name, node in self._listed(above):
                path = _below(above, name)
                looked += 1
                if wanted in path.lower():
                    hits.append(short(path, path, node))
                if isinstance(node, omnizarr.Group):
                    queue.append(path)
                if len(hits) >= _HITS or looked >= _SEARCHED:
                    complete = False
                    break
            complete = complete and time.monotonic() - started < _SEARCH_SECONDS
        return {"hits": hits, "looked": looked, "complete": complete}

    def forget(self) -> None:
        """Ask the store anew from now on."""
        with self._lock:
            self._nodes.clear()
            self._members.clear()
        if hasattr(self.root, "refresh"):
            self.root.refresh()


def _members(group: Any) -> list[tuple[str, Any]]:
    """Names and nodes; an error in place of a node that cannot be read."""
    try:
        return list(group.members())
    except ZarrError as error:
        if not group.store.capabilities.listable:
            raise
        whole = error
    # One of the members is damaged, and the others are still worth showing.
    prefix = f"{group.path}/" if group.path else ""
    found: list[tuple[str, Any]] = []
    for folder in group.store.list_dir(prefix).prefixes:
        name = folder[len(prefix) : -1]
        try:
            member = group.get(name)
        except ZarrError as error:
            member = error
        if member is not None:
            found.append((name, member))
    if not any(isinstance(member, Exception) for _, member in found):
        raise whole
    return found


def _below(above: str, name: str) -> str:
    return f"{above}/{name}" if above else name


def _natural(member: tuple[str, Any]) -> list[tuple[int, int | str]]:
    """Names in the order that people expect: a2 before a10."""
    import re

    parts = re.split(r"(\d{1,18})", member[0])
    return [(0, int(part)) if part.isdecimal() else (1, part.lower()) for part in parts]
