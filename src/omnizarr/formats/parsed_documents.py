"""Models of documents that were parsed before, so that opening a node again derives nothing twice.

For formats whose `parse` looks at nothing but the documents of `keys`; the path is for errors. A
model is found by the bytes of all documents that it was made of. It is shared by every handle: a
model is frozen, and nothing hands out its attributes or its document but as copies. One whose fill
value can be changed in place is not kept. One that was made under other limits, or before another
data type was registered, is not used.

This module knows formats by what they answer. It must not know what a document means.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np

from omnizarr import limits
from omnizarr.formats.base import FormatName, Node
from omnizarr.model.array import ArrayModel
from omnizarr.model.dtypes import plugins
from omnizarr.model.store import Buffer

MOST_BYTES = 2 << 20
"""The documents of all nodes that are kept; models take some ten times as much."""
LARGEST_BYTES = 16 * 1024
"""The documents of one node that is kept; those of an array have one or two KiB."""


class _Kept(dict[tuple[Any, ...], tuple[tuple[Any, ...], Node]]):
    """Each use of it is one step of the interpreter, so it needs no lock. When full it is emptied;
    two threads that add at once may count one of the two only."""

    size = 0

    def add(self, key: tuple[Any, ...], found: tuple[tuple[Any, ...], Node], size: int) -> None:
        if self.size + size > MOST_BYTES:
            self.clear()
        self.size += size
        self[key] = found

    def clear(self) -> None:
        super().clear()
        self.size = 0


_known = _Kept()


class Parser(Protocol):
    """The part of a format that parses."""

    name: FormatName

    def keys(self, path: str) -> tuple[str, ...]: ...
    def parse(self, path: str, documents: Mapping[str, Buffer]) -> Node | None: ...


def parsed(chosen: Parser, path: str, documents: Mapping[str, Buffer]) -> Node | None:
    """What `chosen.parse` gives."""
    texts: list[Any] = [chosen.name]
    size = 0
    for name in chosen.keys(path):
        text = documents.get(name)
        if text is not None:
            size += len(text)
            if size > LARGEST_BYTES:
                return chosen.parse(path, documents)
            text = bytes(text)
        texts.append(text)
    key = tuple(texts)
    state = (limits.current, plugins.registered())
    found = _known.get(key)
    if found is not None and found[0] == state:
        return found[1]
    node = chosen.parse(path, documents)
    if node is not None and is_frozen(node):
        _known.add(key, (state, node), size)
    return node


def is_frozen(node: Node) -> bool:
    """Whether no caller can change it. A record is a NumPy scalar with fields to assign."""
    fill = node.fill_value if isinstance(node, ArrayModel) else None
    return not isinstance(fill, (np.void, np.ndarray, list, dict))
