"""The store of a file that is imported: references into it.

It has the same identity in every process, so that an interrupted conversion is taken up again, and
another one when the file is another. A local file that changes while it is read is an error.

This module knows one file. It must not know what is in it.
"""

from __future__ import annotations

import os
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from omnizarr.api.virtual.files import Place
from omnizarr.errors import ValueChangedError
from omnizarr.model.store import Buffer, ByteRange
from omnizarr.stores.references.store import ReferenceStore


class ImportedFile(ReferenceStore):
    """References into one file."""

    def __init__(
        self, place: Place, references: Mapping[str, object], chunks: Mapping[str, Any], state: Any,
        notes: Mapping[str, tuple[str, ...]],
    ) -> None:  # fmt: skip
        folder = os.path.dirname(place.url) if place.local else place.url.rpartition("/")[0]
        super().__init__(references, allow=[folder], remote_options=place.options)
        self.chunks = dict(chunks)
        """The regular chunks of arrays whose chunks here are not all alike, by path."""
        self.notes = dict(notes)
        """What is lost of each node, by path."""
        self.place = Place(place.url, {})  # options may hold secrets
        self._state = state

    @property
    def identity(self) -> Hashable:
        return "file", self.place.url, self._state

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.place.shown!r})"

    def get_many(self, requests: Sequence[tuple[str, ByteRange | None]]) -> list[Buffer | None]:
        found = super().get_many(requests)
        self.check_unchanged()
        return found

    def check_unchanged(self) -> None:
        """Raise ValueChangedError if the file is another one than when it was opened."""
        if self.place.local and state_of(self.place) != self._state:
            raise ValueChangedError(
                "the file changed while it was read; what was read of it may not fit together"
            ).at(self)


def state_of(place: Place) -> Hashable:
    """What changes when a file changes: size and times of a local one, the size of others."""
    if place.local:
        found = os.stat(place.url)
        return found.st_size, found.st_mtime_ns, found.st_ino
    with place.open() as file:
        return file.seek(0, os.SEEK_END)
