"""The base of stores that no value can be written to, whatever they are opened for.

This module knows the methods that write. It must not know why a store refuses them.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable

from omnizarr.model.store import Buffer, Store


class UnwritableStore(Store):
    """The base of a store whose `check_writable` always raises."""

    @abstractmethod
    def check_writable(self) -> None:
        """Raise the `ReadOnlyError` that says why."""

    def set(self, key: str, value: Buffer) -> None:
        self.check_writable()

    def set_if_absent(self, key: str, value: Buffer) -> bool:
        self.check_writable()
        return False

    def set_if_version(self, key: str, value: Buffer, version: Hashable | None) -> bool:
        self.check_writable()
        return False

    def delete(self, key: str) -> None:
        self.check_writable()

    def delete_prefix(self, prefix: str) -> None:
        self.check_writable()
