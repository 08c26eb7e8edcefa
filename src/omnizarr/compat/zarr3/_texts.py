"""zarr-python's texts of nodes: trees, and reports of arrays and groups.

This module knows layouts. It must not know how the facts are found.
"""

from __future__ import annotations

import sys
from collections import defaultdict, deque
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from operator import itemgetter
from typing import Any

import omnizarr

_BOLD, _USUAL = "\x1b[1m", "\x1b[0m"
_MONOSPACED = "white-space:pre;overflow-x:auto;line-height:normal;font-family:monospace"
_UNITS = ("", "K", "M", "G", "T", "P")
Members = dict[str, list[tuple[str, Any]]]
"""Name and node of the members of each group, by the group's path below the root of a tree."""


class Tree:
    """A drawing of a hierarchy: text when printed, HTML in a notebook.

    Parameters
    ----------
    group
        The group at the top.
    level
        How many levels below its members to show; None for all.
    max_nodes
        How many nodes to show.
    plain
        Leave out bold letters, which only a terminal and a notebook show.
    """

    def __init__(
        self, group: omnizarr.Group, level: int | None, *, max_nodes: int, plain: bool
    ) -> None:
        members, whole = _members(group, level, max_nodes)
        lines = [("", group.name, ""), *_lines(members)]
        note = "Truncated at max_nodes={}: some nodes and their children may be missing\n"
        self._note = "" if whole else note.format(max_nodes)
        bold = (_BOLD, _USUAL) if not plain and sys.stdout.isatty() else ("", "")
        self._text = _joined(lines, *bold)
        marked = [(before, escape(name), escape(facts)) for before, name, facts in lines]
        self._html = _joined(marked, *(("", "") if plain else ("<b>", "</b>")))

    def __repr__(self) -> str:
        return self._note + self._text

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        html = f'<pre style="{_MONOSPACED}">{self._note}{self._html}</pre>\n'
        return {"text/plain": repr(self), "text/html": html}


def _members(group: omnizarr.Group, level: int | None, most: int) -> tuple[Members, bool]:
    """At most so many nodes, those of upper levels first; and whether these are all."""
    found: Members = defaultdict(list)
    waiting: deque[tuple[str, Any, int]] = deque([("", group, 0)])
    count = 0
    while waiting:
        path, parent, depth = waiting.popleft()
        for name, node in sorted(parent.members(), key=itemgetter(0)):
            if count == most:
                return found, False
            count += 1
            found[path].append((name, node))
            if isinstance(node, omnizarr.Group) and (level is None or depth < level):
                waiting.append((f"{path}/{name}", node, depth + 1))
    return found, True


def _lines(members: Members, path: str = "", indent: str = "") -> Iterator[tuple[str, str, str]]:
    """What stands before each name, the name, and the facts behind it."""
    shown = members.get(path, [])
    for index, (name, node) in enumerate(shown):
        last = index == len(shown) - 1
        facts = f" {node.shape} {node.dtype}" if isinstance(node, omnizarr.Array) else ""
        yield f"{indent}{'└' if last else '├'}── ", name, facts
        yield from _lines(members, f"{path}/{name}", f"{indent}{' ' if last else '│'}   ")


def _joined(lines: list[tuple[str, str, str]], begin: str, end: str) -> str:
    return "".join(f"{before}{begin}{name}{end}{facts}\n" for before, name, facts in lines)


@dataclass(frozen=True)
class Info:
    """A report in two columns."""

    rows: tuple[tuple[str, Any], ...]
    width: int
    """Of the first column."""
    _zarr_format: Any
    """OME-Zarr's library looks for it."""

    def items(self) -> list[tuple[str, str]]:
        """List the rows: name and value."""
        return [(name, str(value)) for name, value in self.rows]

    def __repr__(self) -> str:
        return "\n".join(f"{name:<{self.width}} : {value}" for name, value in self.rows)


def array_info(array: omnizarr.Array, counted: bool = False) -> Info:
    """The facts of an array; with `counted` what is stored too, for which the store is listed."""
    metadata: Any = array.metadata
    data_type = getattr(metadata, "data_type", None) or getattr(metadata, "dtype", array.dtype)
    rows: dict[str, Any] = {
        "Type": "Array",
        "Zarr format": array.zarr_format,
        "Data type": data_type,
        "Fill value": array.fill_value,
        "Shape": array.shape,
    }
    if array.shards is not None:
        rows["Shard shape"] = _uniform(array.shards)
    rows |= {
        "Chunk shape": _uniform(array.chunks),
        "Order": array.order,
        "Read-only": array.read_only,
        "Store type": type(array.store).__name__,
        "Filters": array.filters,
    }
    if array.serializer is not None:
        rows["Serializer"] = array.serializer
    rows |= {"Compressors": array.compressors, "No. bytes": _bytes(array.nbytes)}
    if counted:
        stored = int(array.nbytes_stored)
        rows["No. bytes stored"] = _bytes(stored)
        if stored:
            rows["Storage ratio"] = f"{array.nbytes / stored:.1f}"
        kind = "Chunks" if array.shards is None else "Shards"
        rows[f"{kind} Initialized"] = len(array.stored_chunks())
    return Info(tuple(rows.items()), len("Chunks Initialized"), array.zarr_format)


def group_info(group: omnizarr.Group, listed: bool = False) -> Info:
    """The facts of a group; with `listed` those of all members, for which the store is listed."""
    rows: dict[str, Any] = {
        "Name": group.name,
        "Type": "Group",
        "Zarr format": group.zarr_format,
        "Read-only": group.read_only,
        "Store type": type(group.store).__name__,
    }
    if listed:
        members = [node for _, node in group.members(max_depth=None)]
        arrays = sum(isinstance(node, omnizarr.Array) for node in members)
        rows |= {
            "No. members": len(members),
            "No. arrays": arrays,
            "No. groups": len(members) - arrays,
        }
    return Info(tuple(rows.items()), len("No. members"), group.zarr_format)


def _uniform(lengths: tuple[Any, ...]) -> Any:
    """A shape as it is; several lengths along an axis are no shape."""
    return "<variable>" if any(isinstance(each, tuple) for each in lengths) else lengths


def _bytes(count: int) -> str:
    power = min(max(count.bit_length() - 1, 0) // 10, len(_UNITS) - 1)
    return f"{count} ({count / 1024**power:.1f}{_UNITS[power]})" if power else str(count)
