"""What every rule speaks in: findings, where they are, and what a rule is given to look at.

A rule is a generator of findings over the stored documents of one node. Findings are made by an
`At` (`model/finding.py`), which knows the place and the document that is being read strictly.
Nothing here knows what any format asks for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeGuard

from omnizarr.errors import MetadataError, UnsupportedError
from omnizarr.formats import members
from omnizarr.formats.base import Format, Node
from omnizarr.formats.core_codecs import plain_options
from omnizarr.formats.hierarchy import child_names, fetch
from omnizarr.formats.members import Constraint
from omnizarr.model.codec import Json
from omnizarr.model.finding import At as At
from omnizarr.model.finding import Finding as Finding
from omnizarr.model.finding import Level as Level
from omnizarr.model.json import show
from omnizarr.model.paths import join
from omnizarr.model.store import Buffer, Store

Standard = Literal["000", "003"]


@dataclass(frozen=True)
class Look:
    """One node as a rule sees it."""

    store: Store
    path: str
    format: Format
    node: Node | None
    """What the lenient parser made of it; None if it refused."""
    standard: Standard | None = None
    start: bool = True
    """Whether the check began here: what concerns the whole hierarchy is said once."""

    def key(self, name: str) -> str:
        return join(self.path, name)

    def fetch(self, *names: str) -> dict[str, Buffer]:
        """The stored documents among these names below the node's path, by name."""
        found = fetch(self.store, [self.key(name) for name in names])
        return {name: found[self.key(name)] for name in names if self.key(name) in found}


def _nothing_missing(path: str, standard: Standard | None) -> Iterator[Finding]:
    yield from ()


def _below_path(look: Look) -> list[str]:
    return child_names(look.store, look.path)


@dataclass(frozen=True)
class Rules:
    """The rules of one format."""

    check: Callable[[Look], Iterable[Finding]]
    is_array: Callable[[Look], bool] = lambda look: False
    """Whether a node that the parser refused was meant to be an array, which has no children."""
    children: Callable[[Look], list[str]] = _below_path
    """The names below a group at which nodes may exist, broken ones included."""
    missing_group: Callable[[str, Standard | None], Iterator[Finding]] = _nothing_missing
    """What it means that nodes exist below `path`, but no group at it."""
    orphans: Callable[[Look], Iterable[Finding]] = lambda look: ()
    """A path below a group that has documents, but no node."""
    listed: Callable[[Look], frozenset[str] | None] = lambda look: None
    """The paths, relative to this group, of the nodes that its consolidated metadata list."""


@dataclass(frozen=True)
class Inside:
    """The nodes above the path that is checked."""

    format: Format
    implied: tuple[str, ...] = ()
    """The paths directly above that hold no group of their own."""
    consolidated: Mapping[str, tuple[str, frozenset[str]]] = field(default_factory=dict)
    """For a format's name: the nearest group with consolidated metadata, and what it lists."""
    unlisted: bool = False
    """Whether the finding "cannot be listed" was reported already."""


# -- rules that all formats share -----------------------------------------------------------------
def is_number(value: Any) -> TypeGuard[int | float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def chunk_shape(value: Any) -> list[int] | None:
    """A list of positive integers; None if it is anything else."""
    if isinstance(value, list) and all(type(n) is int and n > 0 for n in value):
        return value
    return None


def required(
    at: At, section: str, document: Mapping[str, Json], names: Iterable[str]
) -> Iterator[Finding]:
    for name in names:
        if name not in document:
            yield at.error(section, f"the member {name!r} is missing")


def unknown(
    at: At,
    section: str,
    document: Mapping[str, Json],
    known: Iterable[str],
    message: str,
    level: Level = "warning",
) -> Iterator[Finding]:
    """A finding for every member that the specification does not name, "{}" in the message."""
    for name in sorted(document.keys() - set(known)):
        yield at.found(level, section, message.format(show(name)))


def constraints(
    at: At,
    section: str,
    document: Mapping[str, Json],
    wanted: Mapping[str, Constraint],
    where: str = "",
) -> Iterator[Finding]:
    """A finding for every member that does not meet the parser's constraint."""
    for name, constraint in wanted.items():
        if name in document and (message := constraint.fault(where + name, document[name])):
            yield at.error(section, message)


def refused(at: At, section: str, parse: Callable[[], object]) -> Iterator[Finding]:
    """What a function of the parser says against a value. What is only not supported here departs
    from no specification; it is reported of the whole node."""
    try:
        parse()
    except UnsupportedError:
        return
    except MetadataError as error:
        yield at.error(section, str(error))


def lengths(at: At, section: str, name: str, value: Json, least: int) -> Iterator[Finding]:
    yield from refused(at, section, lambda: members.lengths(value, name, least))


def same_dimensions(at: At, section: str, name: str, shape: Json, other: Json) -> Iterator[Finding]:
    if isinstance(shape, list) and isinstance(other, list) and len(shape) != len(other):
        yield at.error(section, f"{name} has {len(other)} dimensions, the shape has {len(shape)}")


def shape_and_chunks(at: At, section: str, document: Mapping[str, Json]) -> Iterator[Finding]:
    """The members `shape` and `chunks` of formats 0, 1 and 2."""
    for name, least in (("shape", 0), ("chunks", 1)):
        if name in document:
            yield from lengths(at, section, name, document[name], least)
    yield from same_dimensions(at, section, "chunks", document.get("shape"), document.get("chunks"))


def text_options(
    at: At, section: str, where: str, options: Mapping[str, Json]
) -> Iterator[Finding]:
    """Options of a codec that are text though they mean a number or a boolean."""
    for name, plain in plain_options(options).items():
        if plain is not options[name] and name != "elementsize":  # which has a rule of its own
            yield at.dialect(
                section,
                f"{where}: {name} is the text {show(options[name])}; GDAL writes it and means"
                f" {show(plain)}",
            )


def plural(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
