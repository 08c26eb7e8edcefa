"""`check`: walk a hierarchy and report every departure from the specification of its version.

What a departure is, `formats.rules` knows, and whether a codec is usable, the array itself; here
nodes are visited one after the other, each on its own, so that a broken one hides none of the
others.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from omnizarr import formats
from omnizarr.errors import MetadataError, NodeNotFoundError, NotListableError, ZarrError
from omnizarr.formats import rules
from omnizarr.formats.rules import Finding, Inside
from omnizarr.model import paths
from omnizarr.model.array import ArrayModel
from omnizarr.model.store import Store
from omnizarr.nodes.array import Array
from omnizarr.nodes.node import Options, Place
from omnizarr.runtime import parallel
from omnizarr.stores import LocalStore, WrapperStore, as_store


@dataclass(frozen=True)
class Report:
    """What `check` found. Iterating gives the findings; `str` a listing for people."""

    store: str
    path: str
    findings: tuple[Finding, ...]
    nodes: int
    """How many nodes were looked at."""

    @property
    def ok(self) -> bool:
        """Whether nothing was found that a specification forbids; dialects are forgiven."""
        return not self.counts["error"]

    @property
    def counts(self) -> dict[str, int]:
        """The number of findings of each level."""
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


def check(
    store: Any,
    path: str = "",
    *,
    standard: str | None = None,
    storage_options: Mapping[str, Any] | None = None,
) -> Report:
    """Every departure of a node, and of all nodes below it, from the specification of its format.

    `standard` chooses the document for format 2: "000" (Zarr) or "003" ("ogc"); by default 000
    judges and what 003 sees otherwise is mentioned. Nothing is changed, and no chunk is decoded:
    `omnizarr.verify` does that.
    Where a store cannot be listed, the nodes that consolidated metadata name are checked, and a
    warning says what could not be.
    A symbolic link that is not followed is an error of the node in its place.
    NodeNotFoundError if no node lies at `path`; a store that fails raises.
    """
    chosen = rules.standard_named(standard)
    backing = as_store(store, mode="r", storage_options=storage_options)
    start = paths.normalize_path(path)
    findings: list[Finding] = []
    nodes = 0
    for path, place in _walk(backing, start, chosen):
        findings += place.findings
        nodes += place.nodes
        for known, model in place.arrays:
            findings += _about_codecs(Place(backing, path, known), model, chosen)
    remains = _leftovers(backing)
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
    while isinstance(store, WrapperStore):
        store = store.store
    names, files = store.leftovers() if isinstance(store, LocalStore) else (0, 0)
    if not names:
        return []
    message = (
        f"killed writers or deletions left {rules.plural(names, 'hidden name')} with"
        f" {rules.plural(files, 'file')}; {store!r}.sweep() removes them"
    )
    return [Finding("", ".~*", "warning", message, "docs/stores.md")]


def _about_codecs(
    place: Place, model: ArrayModel, standard: rules.Standard | None
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
    """A store that is asked for listings, or is not, whatever it says of itself."""

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
