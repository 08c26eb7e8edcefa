"""`check`: walk a hierarchy and report every departure from the specification of its version.

What a departure is, `formats.rules` knows, and whether a codec is usable, the array itself; here
nodes are visited one after the other, each on its own, so that a broken one hides none of the
others. `conventions.rules` looks at the attributes of all of them afterwards: they name each other.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal

from omnizarr import formats
from omnizarr.api.arguments import StorageOptions
from omnizarr.conventions import rules as conventions
from omnizarr.conventions.rules import NodeFacts
from omnizarr.errors import MetadataError, NodeNotFoundError, NotListableError, ZarrError
from omnizarr.formats import rules
from omnizarr.formats.base import Format, Node
from omnizarr.formats.rules import Finding, Inside
from omnizarr.keywords import suggests
from omnizarr.model import paths
from omnizarr.model.array import ArrayModel
from omnizarr.model.store import Store
from omnizarr.model.store_facts import PartlyNamed, Sweepable
from omnizarr.nodes.array import Array
from omnizarr.nodes.creation.overlaps import innermost
from omnizarr.nodes.node import NodeAddress, Options, attributes_key
from omnizarr.runtime import parallel
from omnizarr.stores import StoreLike, WrapperStore, as_store

_NAMED = 8
"""How many unreachable values a finding names."""


@dataclass(frozen=True)
class Report:
    """What `check` found. Iterate it for the findings; `str` gives a listing.

    Examples
    --------
    >>> import omnizarr
    >>> report = omnizarr.check(omnizarr.group().store)
    >>> report.ok, len(report), report.nodes
    (True, 0, 1)
    """

    store: str
    """The store, as text."""
    path: str
    """The node that the check began at, "" for the root."""
    findings: tuple[Finding, ...]
    """Every departure from the specification, sorted by path."""
    nodes: int
    """How many nodes were checked."""

    @property
    def ok(self) -> bool:
        """Whether there is no finding of level "error". Known dialects are no errors."""
        return not self.counts["error"]

    @property
    def counts(self) -> dict[str, int]:
        """The number of findings of each level: "error", "warning" and "dialect"."""
        counts = dict.fromkeys(rules.LEVELS, 0)
        for finding in self.findings:
            counts[finding.level] += 1
        return {str(level): count for level, count in counts.items()}

    def __iter__(self) -> Iterator[Finding]:
        return iter(self.findings)

    def __len__(self) -> int:
        return len(self.findings)

    def __bool__(self) -> bool:
        return True  # an empty report is good news, not no news

    def to_dict(self) -> dict[str, Any]:
        """The report in JSON's types."""
        return {
            "store": self.store,
            "path": self.path,
            "ok": self.ok,
            "nodes": self.nodes,
            "chunks_decoded": False,
            "counts": self.counts,
            "findings": [finding.to_dict() for finding in self.findings],
        }

    def __str__(self) -> str:
        lines: list[str] = []
        above = None
        for finding in self.findings:
            if finding.path != above:
                above = finding.path
                lines.append(f"/{above}")
            where = f"{finding.level:<8} {finding.key}"
            lines.append(f"  {where}: {finding.message} ({finding.reference})")
        if lines:
            lines.append("")
        return "\n".join([*lines, self.summary])

    @property
    def summary(self) -> str:
        """One line: how many nodes, how many findings of each level."""
        counts = [rules.plural(count, level) for level, count in self.counts.items()]
        return (
            f"{rules.plural(self.nodes, 'node')}: {', '.join(counts)}"
            " (no chunk was decoded; omnizarr verify does that)"
        )


@suggests
def check(
    store: StoreLike,
    path: str = "",
    *,
    standard: Literal["000", "003", "ogc"] | None = None,
    storage_options: StorageOptions | None = None,
) -> Report:
    """List every departure of a node, and of all nodes below it, from the specification.

    Nothing is changed, and no chunk is decoded: `verify` does that. Where a store cannot be listed,
    the nodes that consolidated metadata name are checked, and a warning names what was not. A
    symbolic link that is not followed is an error of the node in its place.

    Parameters
    ----------
    store
        A path, a URL, a mapping or a store.
    path
        The node to begin at.
    standard
        The document that format 2 is held against: ``"000"`` (Zarr) or ``"003"`` (also ``"ogc"``).
        By default 000, and what 003 forbids beyond it is mentioned.
    storage_options
        Options for the store of a URL.

    Returns
    -------
    Report
        ``.ok``, ``.findings``, ``.counts``; iterate it for the findings, print it for a listing.

    Raises
    ------
    NodeNotFoundError
        If there is no node at `path`.

    Examples
    --------
    >>> import omnizarr
    >>> root = omnizarr.group()
    >>> root["a"] = [1, 2, 3]
    >>> report = omnizarr.check(root.store)
    >>> report.ok
    True
    >>> report.nodes
    2
    """
    chosen = rules.standard_named(standard)
    backing = as_store(store, mode="r", storage_options=storage_options)
    start = paths.normalize_path(path)
    findings: list[Finding] = []
    nodes = 0
    hierarchies: dict[Format, dict[str, NodeFacts]] = {}
    for path, place in _walk(backing, start, chosen):
        findings += place.findings
        nodes += place.nodes
        below = tuple(path for path, _ in place.below)
        for known, node in place.readable:
            found = _facts(NodeAddress(backing, path, known), node, below)
            hierarchies.setdefault(known, {})[path] = found
        for known, model in place.arrays:
            findings += _about_codecs(NodeAddress(backing, path, known), model, chosen)
    for hierarchy in hierarchies.values():
        findings += conventions.findings(hierarchy)
    remains = [*_leftovers(backing), *map(_unnamed, unreachable(backing))]
    if not nodes:
        reason = "; ".join(
            [formats.explain_missing(backing, start), *(found.message for found in remains)]
        )
        raise NodeNotFoundError(f"no array or group at path {'/' + start!r}: {reason}")
    findings += remains
    unique = sorted(dict.fromkeys(findings), key=lambda found: found.path)
    return Report(repr(backing), start, tuple(unique), nodes)


def _leftovers(store: Store) -> list[Finding]:
    """What killed writers and deletions left in a directory."""
    store = innermost(store)
    names, files = store.leftovers() if isinstance(store, Sweepable) else (0, 0)
    if not names:
        return []
    message = (
        f"killed writers or deletions left {rules.plural(names, 'hidden name')} with"
        f" {rules.plural(files, 'file')}; {store!r}.sweep() removes them"
    )
    return [Finding("", ".~*", "warning", message, "docs/stores.md")]


def _unnamed(message: str) -> Finding:
    return Finding("", "", "error", message, "docs/stores.md")


def unreachable(store: Store) -> list[str]:
    """One sentence if a store holds values that no key names, else nothing."""
    store = innermost(store)
    names = store.unreachable() if isinstance(store, PartlyNamed) else []
    if not names:
        return []
    shown = ", ".join(names[:_NAMED]) + (", …" if len(names) > _NAMED else "")
    return [
        f"{rules.plural(len(names), 'value')} cannot be read, because the names are no keys:"
        f" {shown}; rename them with the tool that wrote them"
    ]


def _facts(place: NodeAddress, node: Node, below: tuple[str, ...]) -> NodeFacts:
    """A node as the rules of conventions see it."""
    key = attributes_key(place, node)
    if not isinstance(node, ArrayModel):
        version = place.format.ome_version
        return NodeFacts(place.path, key, node.attributes, children=below, ome_version=version)
    return NodeFacts(place.path, key, node.attributes, node.shape, node.dtype, node.dimension_names)


def _about_codecs(
    place: NodeAddress, model: ArrayModel, standard: rules.Standard | None
) -> Iterator[Finding]:
    """Whether the array's codecs are known, and take their configurations."""
    try:
        Array._of(place, model, Options(read_only=True, allow_pickle=True))._check()
    except MetadataError as error:
        reason = error.__cause__ if isinstance(error.__cause__, MetadataError) else error
        yield rules.unusable(place.store, place.path, place.format, standard, reason)
    except ZarrError:
        return  # a limit, say: no fault of what is stored


class Seen(WrapperStore):
    """A store whose capability to list is overridden."""

    def __init__(self, store: Store, listable: bool) -> None:
        super().__init__(store)
        self.capabilities = replace(store.capabilities, listable=listable)

    def __repr__(self) -> str:
        return repr(self.store)


def _walk(
    store: Store, start: str, standard: rules.Standard | None
) -> Iterator[tuple[str, rules.Visit]]:
    """Every place below `start`, parents first. Chunks are no places."""
    listed = store if store.capabilities.listable or not lists(store, start) else Seen(store, True)
    pending: list[tuple[str, Inside | None]] = [(start, None)]
    while pending:
        parallel.check()
        path, inside = pending.pop()
        try:
            place = rules.visit(listed, path, standard, inside)
        except NotListableError:
            place = rules.visit(Seen(store, False), path, standard, inside)
        yield path, place
        pending.extend(reversed(place.below))


def lists(store: Store, path: str) -> bool:
    """Whether a store that does not promise listings gives one here, as some web servers do."""
    try:
        store.list_dir(f"{path}/" if path else "")
    except NotListableError:
        return False
    return True
