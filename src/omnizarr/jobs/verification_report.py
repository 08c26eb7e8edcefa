"""What a verification found: facts, and a listing of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from omnizarr.formats.rules import plural
from omnizarr.jobs.conversion.damage import BadChunk
from omnizarr.jobs.report import Facts, Report
from omnizarr.runtime.progress import size


@dataclass(frozen=True)
class BadNode(Facts):
    """A node that cannot be opened, or whose members or chunks cannot be listed."""

    path: str
    """The node, "" for the root."""
    error: str
    """Why it cannot be read."""

    def __str__(self) -> str:
        return f"cannot be read: {self.error}"


@dataclass(frozen=True)
class NotVerified(Facts):
    """A node that may be sound: its members or chunks could not be listed."""

    path: str
    """The node, "" for the root."""
    reason: str
    """Why it could not be verified."""

    def __str__(self) -> str:
        return f"not verified: {self.reason}"


@dataclass(frozen=True)
class UnusualChunks(Facts):
    """Chunks that decode here, in a form that other readers may refuse."""

    path: str
    """The array, "" for the root."""
    count: int
    """How many of its chunks are unusual."""
    key: str
    """The first of them."""

    def __str__(self) -> str:
        return (
            f"{plural(self.count, 'chunk')} not in the form that the codec's specification"
            f" describes, which other readers may refuse; the first is {self.key!r}"
            " (convert writes them anew)"
        )


@dataclass(frozen=True)
class Verification(Report):
    """What `verify` found; `str` gives a listing.

    Examples
    --------
    >>> import omnizarr
    >>> a = omnizarr.array([1, 2, 3, 4], chunks=2)
    >>> found = omnizarr.verify(a)
    >>> found.ok, found.arrays, found.chunks
    (True, 1, 2)
    """

    store: str
    """The store, as text."""
    path: str
    """The node that the work began at, "" for the root."""
    arrays: int
    """Arrays whose chunks were decoded."""
    chunks: int
    """Stored chunks that were read, shards counted as one."""
    nbytes: int
    """Stored bytes that were read."""
    bad_chunks: tuple[BadChunk, ...] = ()
    """Chunks that cannot be read or decoded."""
    bad_nodes: tuple[BadNode, ...] = ()
    """Nodes that cannot be opened or listed."""
    unusual: tuple[UnusualChunks, ...] = ()
    """Chunks that other readers may refuse, by array."""
    not_verified: tuple[NotVerified, ...] = ()
    """Nodes whose chunks or members could not be listed."""
    seconds: float = 0.0
    """How long it took."""

    @property
    def ok(self) -> bool:
        """Whether every array could be opened and every stored chunk decoded."""
        return not self.damaged and not self.not_verified

    @property
    def damaged(self) -> bool:
        """Whether a chunk or a node is damaged."""
        return bool(self.bad_chunks or self.bad_nodes)

    def to_dict(self) -> dict[str, Any]:
        """The report in JSON's types."""
        facts = super().to_dict()
        return {"ok": self.ok, "bytes": facts.pop("nbytes"), **facts}

    @property
    def bytes_read(self) -> int:
        """Stored bytes that were read."""
        return self.nbytes

    @property
    def lines(self) -> list[tuple[str, str, str]]:
        """The findings as (path, level, text), sorted by path."""
        found = [(node.path, "damaged", str(node)) for node in self.bad_nodes]
        found += [(chunk.path, "damaged", str(chunk)) for chunk in self.bad_chunks]
        found += [(one.path, "unusual", str(one)) for one in self.unusual]
        found += [(one.path, "skipped", str(one)) for one in self.not_verified]
        return sorted(found, key=lambda line: line[0])

    @property
    def summary(self) -> str:
        """One line: what was decoded and how much of it is bad."""
        bad = plural(len(self.bad_chunks), "bad chunk") if self.bad_chunks else "no bad chunk"
        broken = f", {plural(len(self.bad_nodes), 'unreadable node')}" if self.bad_nodes else ""
        if self.not_verified:
            broken += f", {plural(len(self.not_verified), 'node')} not verified"
        return (
            f"{plural(self.arrays, 'array')}, {plural(self.chunks, 'chunk')} decoded"
            f" ({size(self.nbytes)}): {bad}{broken}"
        )

    def __str__(self) -> str:
        text: list[str] = []
        above = None
        for path, level, line in self.lines:
            if path != above:
                above = path
                text.append(f"/{path}")
            text.append(f"  {level:<8} {line}")
        return "\n".join([*text, *([""] if text else []), self.summary])

    def __repr__(self) -> str:
        state = "ok" if self.ok else "damaged" if self.damaged else "not verified"
        return f"<Verification {state}: {self.summary}>"
