"""Stores as mutable mappings from str to bytes, which the stores of zarr-python 2 are.

This module knows the basic methods of a store. It must not know any one store.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from omnizarr.model.paths import is_key
from omnizarr.model.store_facts import Buffer


class StoreMapping:
    """The methods of a mapping, made of `get`, `set`, `delete`, `exists` and `list`."""

    if TYPE_CHECKING:

        def get(self, key: str) -> Buffer | None: ...
        def set(self, key: str, value: Buffer) -> None: ...
        def delete(self, key: str) -> None: ...
        def exists(self, key: str) -> bool: ...
        def list(self) -> Iterator[str]: ...

    def __getitem__(self, key: str) -> bytes:
        value = self.get(key)
        if value is None:
            raise KeyError(key)
        return bytes(value)

    def __setitem__(self, key: str, value: Buffer) -> None:
        self.set(key, value)

    def __delitem__(self, key: str) -> None:
        if not self.exists(key):
            raise KeyError(key)
        self.delete(key)

    def __contains__(self, key: object) -> bool:
        return isinstance(key, str) and is_key(key) and self.exists(key)

    def __iter__(self) -> Iterator[str]:
        return self.list()

    def __len__(self) -> int:
        return sum(1 for _ in self.list())

    def __bool__(self) -> bool:
        return True  # an empty store is a store

    def keys(self) -> Iterator[str]:
        """Iterate over every key, sorted."""
        return self.list()

    def items(self) -> Iterator[tuple[str, bytes]]:
        """Iterate over every key and its value."""
        return ((key, self[key]) for key in self.list())

    def values(self) -> Iterator[bytes]:
        """Iterate over every value."""
        return (self[key] for key in self.list())

    def update(self, values: Mapping[str, Buffer]) -> None:
        """Set many values.

        Parameters
        ----------
        values
            The bytes of every key.
        """
        for key, value in values.items():
            self.set(key, value)
