"""A manifest: size and digest of every stored value below a node, and what two of them differ in.

A file of it has one line of JSON for the whole, and one for each key, sorted. The digest over all
is SHA-256 of "key NUL size NUL digest" of all keys in that order, whatever algorithm the digests
of the values have.

This module knows keys and digests. It must not read a store.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

from omnizarr.errors import ErrorLocation, MetadataError
from omnizarr.jobs.report import Facts, Report
from omnizarr.model import json
from omnizarr.runtime.progress import duration, size

VERSION = 1
_SHOWN = 20


class Entry(NamedTuple):
    """One stored value."""

    key: str
    """Relative to the node."""
    size: int
    """Bytes."""
    digest: str
    """In hexadecimal digits."""


@dataclass(frozen=True)
class ManifestDifference(Facts):
    """What differs between two manifests; empty, and false, if nothing does."""

    changed: tuple[str, ...] = ()
    """Keys whose values differ."""
    missing: tuple[str, ...] = ()
    """Keys that the other manifest lacks."""
    new: tuple[str, ...] = ()
    """Keys that only the other manifest has."""

    def __bool__(self) -> bool:
        return bool(self.changed or self.missing or self.new)

    def __str__(self) -> str:
        if not self:
            return "no difference"
        found = (("changed", self.changed), ("missing", self.missing), ("new", self.new))
        lines = [f"{what:<7}  {key}" for what, keys in found for key in keys[:_SHOWN]]
        counts = ", ".join(f"{len(keys)} {what}" for what, keys in found)
        return "\n".join([*lines, counts])


@dataclass(frozen=True)
class Manifest(Report):
    """The result of `checksum`: what is stored, value by value.

    Examples
    --------
    >>> import omnizarr
    >>> a = omnizarr.array([1, 2, 3, 4], chunks=2)
    >>> before = omnizarr.checksum(a)
    >>> [entry.key for entry in before.entries]
    ['c/0', 'c/1', 'zarr.json']
    >>> a[0] = 7
    >>> before.compare(omnizarr.checksum(a)).changed
    ('c/0',)
    """

    algorithm: str
    """Of the digests of the values."""
    entries: tuple[Entry, ...]
    """Every value, sorted by key."""
    source: str = ""
    """What was read, as text."""
    seconds: float = 0.0
    """How long it took."""

    @property
    def digest(self) -> str:
        """One digest over all keys, sizes and digests."""
        found = hashlib.sha256(f"{self.algorithm}\n".encode())
        for entry in self.entries:
            found.update("\0".join(map(str, entry)).encode() + b"\n")
        return found.hexdigest()

    @property
    def nbytes(self) -> int:
        """Bytes of all values."""
        return sum(entry.size for entry in self.entries)

    @property
    def bytes_read(self) -> int:
        """Stored bytes that were read."""
        return self.nbytes

    def compare(self, other: Manifest) -> ManifestDifference:
        """Say what changed from this manifest to another one.

        Parameters
        ----------
        other
            The later manifest, of the same algorithm.

        Returns
        -------
        ManifestDifference
            The keys that changed, are missing or are new; false if there are none.

        Raises
        ------
        MetadataError
            If the algorithms differ.

        Examples
        --------
        >>> import omnizarr
        >>> a = omnizarr.checksum(omnizarr.ones(2))
        >>> bool(a.compare(a))
        False
        """
        if self.algorithm != other.algorithm:
            raise MetadataError(
                f"manifests of {self.algorithm} and {other.algorithm} cannot be compared; make both"
                " with the same algorithm"
            )
        old = {entry.key: entry for entry in self.entries}
        new = {entry.key: entry for entry in other.entries}
        return ManifestDifference(
            tuple(key for key, entry in old.items() if key in new and new[key] != entry),
            tuple(key for key in old if key not in new),
            tuple(key for key in new if key not in old),
        )

    def save(self, file: str | PathLike[str]) -> None:
        """Write the manifest as lines of JSON.

        Parameters
        ----------
        file
            The path of a file, which is replaced.
        """
        with Path(file).open("w", encoding="utf-8", newline="\n") as stream:
            stream.writelines(f"{line}\n" for line in self._lines())

    def _lines(self) -> Iterator[str]:
        head: dict[str, Any] = {
            "omnizarr_manifest": VERSION, "algorithm": self.algorithm, "digest": self.digest,
            "keys": len(self.entries), "bytes": self.nbytes, "source": self.source,
        }  # fmt: skip
        yield json.dumps(head, indent=None)
        for entry in self.entries:
            yield json.dumps(entry._asdict(), indent=None)

    @classmethod
    def load(cls, file: str | PathLike[str]) -> Manifest:
        """Read what `save` wrote.

        Parameters
        ----------
        file
            The path of the file.

        Returns
        -------
        Manifest
            The manifest.

        Raises
        ------
        MetadataError
            If it is no manifest, or not the whole of one.
        """
        with Path(file).open("rb") as stream:
            return cls._parsed(stream, str(file))

    @classmethod
    def _parsed(cls, lines: Iterable[bytes], name: str) -> Manifest:
        try:
            head, *rest = (json.loads(line, ErrorLocation(key=name)) for line in lines)
            if head["omnizarr_manifest"] != VERSION:
                raise ValueError(f"version {head['omnizarr_manifest']!r}")
            entries = tuple(
                Entry(str(one["key"]), int(one["size"]), str(one["digest"])) for one in rest
            )
            found = cls(str(head["algorithm"]), entries, str(head["source"]))
            if found.digest != head["digest"]:
                raise ValueError("its digest does not fit its lines")
        except (MetadataError, KeyError, TypeError, ValueError, IndexError) as error:
            raise MetadataError(
                f"{name} is no manifest, or not the whole of one: {error}"
            ) from error
        return found

    def __str__(self) -> str:
        return (
            f"{self.digest}  {len(self.entries)} keys, {size(self.nbytes)}, {self.algorithm},"
            f" {duration(self.seconds)}"
        )

    def __repr__(self) -> str:
        return f"<Manifest {self}>"
