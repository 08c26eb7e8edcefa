"""`MappingStore`: any mapping from str to bytes as a store.

This module knows `collections.abc.Mapping`. It must not know which mapping it was given.
"""

from __future__ import annotations

from collections import ChainMap, UserDict
from collections.abc import Hashable, Iterator, Mapping, MutableMapping
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import Any, Literal, cast

from omnizarr.errors import StoreError, ZarrError
from omnizarr.keywords import suggests
from omnizarr.model.paths import check_key, check_prefix, is_key
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
from omnizarr.stores.memory import snapshot_of


class MappingStore(Store):
    """The values of any mapping. Also `KVStore`.

    A `KeyError` means that a key is missing; every other exception of the mapping is a failure.
    The store is as safe between threads and processes as the mapping. Two stores on the same
    mapping object are equal.

    Parameters
    ----------
    mapping
        Values are bytes, or other objects with the buffer protocol. The store is read-only if the
        mapping cannot be written.
    read_only
        Refuse every change.
    dimension_separator
        What new arrays have between chunk coordinates; None: the default of the format.

    Examples
    --------
    >>> from collections import OrderedDict
    >>> store = omnizarr.stores.MappingStore(OrderedDict(key=b"value"))
    >>> store.get("key")
    b'value'
    """

    capabilities = Capabilities(ranges=False)

    @suggests
    def __init__(
        self,
        mapping: Mapping[str, object],
        *,
        read_only: bool = False,
        dimension_separator: Literal[".", "/"] | None = None,
    ) -> None:
        if not is_mapping(mapping):
            raise TypeError(f"expected a mapping from str to bytes, found {type(mapping).__name__}")
        self.mapping = mapping
        self.read_only = read_only or not _is_writable(mapping)
        if dimension_separator is not None:
            self.dimension_separator = dimension_separator

    @property
    def identity(self) -> Hashable:
        return "mapping", id(self.mapping)

    def locate(self, key: str) -> tuple[Hashable, str]:
        mapping: object = self.mapping
        while isinstance(mapping, ChainMap | UserDict):  # changes go to the mapping inside
            mapping = mapping.maps[0] if isinstance(mapping, ChainMap) else mapping.data
        return ("mapping", id(mapping)), key

    def __repr__(self) -> str:
        return f"{type(self).__name__}(<{type(self.mapping).__name__}>)"

    def get(self, key: str, byte_range: ByteRange | None = None) -> Buffer | None:
        check_key(key)
        with self._failing("read", key):
            try:
                value = self.mapping[key]
            except KeyError:
                return None
        return read_range(self._buffer(key, value), byte_range)

    def snapshot(self, key: str) -> AbstractContextManager[Read]:
        return snapshot_of(self.get(key))

    def exists(self, key: str) -> bool:
        return check_key(key) in self.mapping

    def set(self, key: str, value: Buffer) -> None:
        self.check_writable()
        check_key(key)
        with self._failing("write", key):
            self._writable[key] = bytes(value)

    def delete(self, key: str) -> None:
        self.check_writable()
        check_key(key)
        with self._failing("delete", key), suppress(KeyError):
            del self._writable[key]

    @contextmanager
    def _failing(self, doing: str, key: str) -> Iterator[None]:
        """Turn exceptions of the mapping into errors of the store."""
        try:
            yield
        except (OSError, ZarrError):
            raise
        except Exception as error:
            raise StoreError(f"cannot {doing}: {error!r}").at(self, key=key) from error

    def list_prefix(self, prefix: str) -> Iterator[str]:
        return sorted_under(self._keys(), check_prefix(prefix))

    def list_dir(self, prefix: str) -> Listing:
        return listing_of(self._keys(), check_prefix(prefix))

    @property
    def _writable(self) -> MutableMapping[str, Any]:
        return cast("MutableMapping[str, Any]", self.mapping)

    def _keys(self) -> list[str]:
        keys: list[object] = list(self.mapping.keys())  # there may be keys of other types
        return [key for key in keys if isinstance(key, str) and is_key(key)]

    def _buffer(self, key: str, value: Any) -> Buffer:
        if isinstance(value, bytes):
            return value
        try:
            view = memoryview(value)
        except TypeError as error:
            raise StoreError(f"the value must be bytes, found {type(value).__name__}").at(
                self, key=key
            ) from error
        return view.cast("B") if view.c_contiguous and view.nbytes else view.tobytes()


def is_mapping(obj: object) -> bool:
    """Whether an object can be read as a mapping, though it may not be registered as one."""
    return isinstance(obj, Mapping) or _has(obj, "__getitem__", "__contains__", "keys")


def _is_writable(mapping: object) -> bool:
    if isinstance(mapping, Mapping):
        return isinstance(mapping, MutableMapping)
    return _has(mapping, "__setitem__", "__delitem__")


def _has(obj: object, *names: str) -> bool:
    return all(callable(getattr(type(obj), name, None)) for name in names)


KVStore = MappingStore
