"""Reading several parts of one version of an object.

This module knows versions. It must not know how parts are requested.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, Any

from omnizarr.model.store import Buffer, ByteRange
from omnizarr.stores.cloud import reads

if TYPE_CHECKING:
    from omnizarr.stores.cloud.store import ObjectStore


class Snapshot:
    """Reads parts of one object, of the version of the first part or of an expected one, and raises
    if it was replaced.

    lasting: whether an ETag is of one value for ever. That of an object of a service is; an object
    in memory may get the ETag of an earlier one.
    """

    def __init__(self, store: ObjectStore, key: str, *, lasting: bool) -> None:
        self._store, self._key, self._lasting = store, key, lasting
        self._version: Any = None

    def __call__(self, byte_range: ByteRange | None) -> Buffer | None:
        before = self._version
        found = self._store._fetch(self._key, byte_range, before)
        if found is None and before is None:
            return None
        if found is None or (before is not None and found.version != before):
            raise self._store._changed(self._key)
        self._version = found.version
        return found.value

    @property
    def version(self) -> Hashable | None:
        return self._version if self._lasting and reads.is_strong(self._version) else None

    def expect(self, version: Hashable) -> bool:
        self._version = version
        return True
