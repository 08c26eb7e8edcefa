"""Keys below an array's prefix: chunks, keys that are no chunks, and their sizes.

Keys are listed one after the other and counted; no chunk is read. Only where every chunk must
have the same number of bytes is its size asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from math import prod

from omnizarr.formats.rules.base import At, Finding, Level, Look, plural
from omnizarr.model.array import ArrayModel
from omnizarr.model.json import show
from omnizarr.model.keys import ChunkKeys

SHOWN = 3


@dataclass(frozen=True)
class ChunkLayout:
    """What else than chunks may be below an array's prefix, and where that is written."""

    document: str
    section: str
    own: frozenset[str] = frozenset()
    """Names, relative to the prefix, of the array's own documents."""
    nodes: frozenset[str] = frozenset()
    """Last names of keys that mark another node below."""
    nodes_section: str = ""
    known: Callable[[str], tuple[Level, str] | None] = lambda name: None
    """Recognizes a name that other software leaves beside chunks: its level and description."""
    sizes: bool = True
    """Whether chunks that are not compressed all have one size."""


@dataclass
class Tally:
    """How often something was seen, and the first few of it."""

    key: str
    count: int = 0
    first: list[str] = field(default_factory=list)

    def add(self, text: str) -> None:
        self.count += 1
        if len(self.first) < SHOWN:
            self.first.append(text)

    def __str__(self) -> str:
        more = f" and {self.count - SHOWN:,} more" if self.count > SHOWN else ""
        return ", ".join(self.first) + more


def check(look: Look, layout: ChunkLayout) -> Iterator[Finding]:
    """Every finding about the keys below the array; nothing where they cannot be listed."""
    model = look.node
    if not isinstance(model, ArrayModel) or not look.store.capabilities.listable:
        return
    prefix = look.format.chunk_prefix(look.path, model)
    counts: dict[tuple[str, str], Tally] = {}

    def add(kind: str, detail: str, text: str) -> None:
        counts.setdefault((kind, detail), Tally(key)).add(text)

    plain = ChunkKeys(model.keys.name, model.keys.separator, (), model.keys.scalar)
    size_of = encoded_size(model) if layout.sizes else None
    ndim = model.ndim
    shape = model.grid.shape
    for key in _keys(look, prefix):
        name = key[len(prefix) :]
        if name in layout.own:
            continue
        coordinates = plain.decode(name, ndim)
        if coordinates is None:
            for other in model.keys.alternatives:
                coordinates = other.decode(name, ndim)
                if coordinates is not None:
                    add("spelled", other.separator if ndim else "", show(name))
                    break
        if coordinates is None:
            if name.rpartition("/")[2] in layout.nodes:
                add("node", "", show(name))
            elif (known := layout.known(name)) is not None:
                add(*known, show(name))
            else:
                add("stray", "", show(name))
        elif any(at >= count for at, count in zip(coordinates, shape, strict=True)):
            add("outside", "", show(name))
        elif size_of is not None:
            size, expected = look.store.size(key), size_of(coordinates)
            if size is not None and size != expected:
                add("size", "", f"{show(name)} ({size:,} bytes, not {expected:,})")
    for (kind, detail), tally in sorted(counts.items(), key=lambda item: item[0]):
        yield _finding(
            At(look.path, tally.key, layout.document), layout, model, kind, detail, tally
        )


def _keys(look: Look, prefix: str) -> Iterator[str]:
    """The keys below a prefix. One that does not end with "/" is the only chunk's own key, as
    0-d arrays of the 2019 draft have it."""
    if not prefix or prefix.endswith("/"):
        yield from look.store.list_prefix(prefix)
    elif look.store.exists(prefix):
        yield prefix


def _finding(
    at: At, layout: ChunkLayout, model: ArrayModel, kind: str, detail: str, tally: Tally
) -> Finding:
    section = layout.section
    count = plural(tally.count, "chunk")
    match kind:
        case "node":
            return at.error(
                layout.nodes_section or section,
                f"documents of other nodes below an array: {tally}",
            )
        case "outside":
            return at.warning(
                section, f"{count} outside the grid of {model.grid.shape} chunks: {tally}"
            )
        case "spelled" if not detail:
            return at.dialect(
                section, f"the only chunk has a key that other writers of the format use: {tally}"
            )
        case "spelled":
            return at.dialect(
                section,
                f"{count} with the separator {detail!r} in the key, where the metadata say"
                f" {model.keys.separator!r}: {tally}",
            )
        case "size":
            return at.error(
                section, f"{count} of the wrong size for an array without compression: {tally}"
            )
        case "error" | "warning" | "dialect":
            return at.found(kind, section, f"{detail}: {tally}")
    return at.warning(
        section, f"{plural(tally.count, 'key')} below the array that no chunk has: {tally}"
    )


def encoded_size(model: ArrayModel) -> Callable[[tuple[int, ...]], int] | None:
    """The size of every chunk, if nothing in the pipeline makes it depend on the data."""
    extra = 0
    if model.data_type.variable:
        return None
    for spec in model.codecs:
        if spec.name in ("crc32c", "numcodecs.crc32c"):
            extra += 4
        elif spec.name not in ("transpose", "bytes"):
            return None
    itemsize = model.dtype.itemsize
    if model.grid.regular:
        constant = prod(model.grid.chunk_shape) * itemsize + extra
        return lambda coordinates: constant
    return lambda coordinates: prod(model.grid.shape_of(coordinates)) * itemsize + extra
