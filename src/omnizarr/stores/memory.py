"""`MemoryStore`: values in a dict.

This module knows a dict. It must not know what values mean.
"""

from __future__ import annotations

import threading
from collections.abc import Hashable, Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Literal

from omnizarr.keywords import suggests
from omnizarr.model.paths import check_key, check_prefix
from omnizarr.model.store import (
    Buffer,
    ByteRange,
    Capabilities,
    Listing,
    Read,
    Store,
    listing_of,
    read_range,
    sorted_under,
)
from omnizarr.runtime import forks

# One for all stores, so that it can be renewed in a forked child: a thread of the parent may
# have held it. It is held for a dict operation, never longer.
_guard = threading.Lock()


def _after_fork() -> None:
    global _guard
    _guard = threading.Lock()


forks.in_child(_after_fork)


class MemoryStore(Store):
    """Values in memory. Also `DictStore`.

    A pickled store carries its values: the store that comes back in another process is a copy,
    and neither sees what the other writes afterwards.

    Parameters
    ----------
    mapping
        A dict to keep the values in, which is used in place; None: a new one.
    read_only
        Refuse every change.
    dimension_separator
        What new arrays have between chunk coordinates; None: the default of the format.
    store_dict, root
        `mapping` by the names of zarr-python 3 and 2.

    Examples
    --------
    >>> store = omnizarr.MemoryStore({"key": b"value"})
    >>> store["key"]
    b'value'
    """

    # No other process can see the values, so no writer has to be excluded.
    capabilities = Capabilities(ranges=False, conditional=True, known_sizes=True)

    @suggests
    def __init__(
        self,
        mapping: dict[str, bytes] | None = None,
        *,
        read_only: bool = False,
        dimension_separator: Literal[".", "/"] | None = None,
        store_dict: dict[str, bytes] | None = None,
        root: dict[str, bytes] | None = None,
    ) -> None:
        given = [each for each in (mapping, store_dict, root) if each is not None]
        if len(given) > 1:
            raise TypeError("mapping, store_dict and root name the same argument; give one of them")
        mapping = given[0] if given else None
        if mapping is not None and not isinstance(mapping, dict):
            raise TypeError(
                f"a MemoryStore keeps its values in a dict, found {type(mapping).__name__};"
                " wrap any other mapping with MappingStore"
            )
        self._values: dict[str, bytes] = {} if mapping is None else mapping
        self.read_only = read_only
        if dimension_separator is not None:
            self.dimension_separator = dimension_separator

    @property
    def identity(self) -> Hashable:
        return "mapping", id(self._values)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(<{len(self._values)} keys>)"

    def __getstate__(self) -> dict[str, Any]:
        # A copy made at once: other threads may go on writing.
        return {**self.__dict__, "_values": self._values.copy()}

    def get(self, key: str, byte_range: ByteRange | None = None) -> Buffer | None:
        value = self._values.get(check_key(key))
        return value if value is None or byte_range is None else read_range(value, byte_range)

    def snapshot(self, key: str) -> AbstractContextManager[Read]:
        return snapshot_of(self.get(key))

    def exists(self, key: str) -> bool:
        return check_key(key) in self._values

    def set(self, key: str, value: Buffer) -> None:
        self.check_writable()
        self._values[check_key(key)] = bytes(value)

    def set_if_absent(self, key: str, value: Buffer) -> bool:
        self.check_writable()
        check_key(key)
        with _guard:
            if key in self._values:
                return False
            self._values[key] = bytes(value)
            return True

    def delete(self, key: str) -> None:
        self.check_writable()
        self._values.pop(check_key(key), None)

    def list_prefix(self, prefix: str) -> Iterator[str]:
        return sorted_under(list(self._values), check_prefix(prefix))

    def list_dir(self, prefix: str) -> Listing:
        return listing_of(list(self._values), check_prefix(prefix))

    def clear(self) -> None:
        """Remove every key."""
        self.check_writable()
        self._values.clear()


def snapshot_of(value: Buffer | None) -> AbstractContextManager[Read]:
    """The snapshot of a value that is in memory already."""
    return nullcontext(lambda byte_range: None if value is None else read_range(value, byte_range))


DictStore = MemoryStore
