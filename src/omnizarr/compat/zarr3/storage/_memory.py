"""`MemoryStore`, `ManagedMemoryStore`, `GpuMemoryStore`."""

from __future__ import annotations

import os
import weakref
from collections.abc import Iterator, MutableMapping
from itertools import count
from typing import Any, Self

import omnizarr
from omnizarr.compat.zarr3.core.buffer import Buffer, cpu
from omnizarr.compat.zarr3.storage._base import ServedStore
from omnizarr.compat.zarr3.storage._utils import normalize_path, parse_store_url
from omnizarr.stores import MappingStore, PrefixStore


class _Values(MutableMapping[str, bytes]):
    """A mapping of the caller's, whose values are buffers, as one of bytes."""

    def __init__(self, mapping: MutableMapping[str, Buffer]) -> None:
        self.mapping = mapping

    def __getitem__(self, key: str) -> bytes:
        value: Any = self.mapping[key]
        return value.to_bytes() if isinstance(value, Buffer) else bytes(value)

    def __setitem__(self, key: str, value: bytes) -> None:
        self.mapping[key] = cpu.Buffer.from_bytes(bytes(value))

    def __delitem__(self, key: str) -> None:
        del self.mapping[key]

    def __contains__(self, key: object) -> bool:
        return key in self.mapping

    def __iter__(self) -> Iterator[str]:
        return iter([*self.mapping])

    def __len__(self) -> int:
        return len(self.mapping)


class MemoryStore(ServedStore):
    """Values in memory.

    Parameters
    ----------
    store_dict
        A mapping to keep the values in, as buffers; None for a new one.
    read_only
        Refuse every change.
    """

    def __init__(
        self, store_dict: MutableMapping[str, Buffer] | None = None, *, read_only: bool = False
    ) -> None:
        inner: omnizarr.Store = (
            omnizarr.MemoryStore() if store_dict is None else MappingStore(_Values(store_dict))
        )
        self._given = store_dict
        super().__init__(inner, read_only=read_only)

    @property
    def _store_dict(self) -> MutableMapping[str, Any]:
        """The values by key, for those who look behind the interface."""
        if self._given is not None:
            return self._given
        return {key: cpu.Buffer.from_bytes(value) for key, value in self._inner.items()}

    def __str__(self) -> str:
        given = self._given
        return f"memory://{id(given) if given is not None else abs(hash(self._inner.identity))}"

    def __repr__(self) -> str:
        return f"{type(self).__name__}('{self}')"

    def __eq__(self, value: object) -> bool:
        if not isinstance(value, type(self)) or self.read_only != value.read_only:
            return False
        same = self._given is value._given if self._given is not None else False
        return (
            same
            or self._inner.identity == value._inner.identity
            or dict(self._inner.items()) == dict(value._inner.items())
        )

    __hash__ = None


class GpuMemoryStore(MemoryStore):
    """Values in the memory of a GPU, which omnizarr does not have."""

    def __init__(self, *args: object, **kwargs: object) -> None:
        raise NotImplementedError("omnizarr keeps values in ordinary memory: use MemoryStore")


class _Shared:
    """The values of a name; they go with the last store that has it."""

    def __init__(self) -> None:
        self.store = omnizarr.MemoryStore()


_shared: weakref.WeakValueDictionary[str, _Shared] = weakref.WeakValueDictionary()
_numbers = count()


class ManagedMemoryStore(MemoryStore):
    """Values in memory that are found by a name, ``memory://name/path``, in this process.

    Parameters
    ----------
    name
        Stores of one name have the same values; None for a new name.
    path
        Where in them this store begins.
    read_only
        Refuse every change.
    """

    def __init__(self, name: str | None = None, *, path: str = "", read_only: bool = False) -> None:
        if name is not None and "/" in name:
            raise ValueError(f"Store name cannot contain '/': {name!r}")
        if name is None:
            name = next(text for text in map(str, _numbers) if text not in _shared)
        self._name = name
        self._values = _shared.setdefault(name, _Shared())
        self.path = normalize_path(path)
        self._given = None
        inner: omnizarr.Store = self._values.store
        ServedStore.__init__(
            self, PrefixStore(inner, self.path) if self.path else inner, read_only=read_only
        )

    def _set_inner(self, inner: omnizarr.Store) -> None:
        # Several stores share the values, and each is shown by its own nodes.
        super()._set_inner(PrefixStore(inner, "") if inner is self._values.store else inner)

    @property
    def name(self) -> str:
        """The name of the values."""
        return self._name

    @classmethod
    def from_url(cls, url: str, *, read_only: bool = False) -> Self:
        """Find the values of a URL; ValueError if no store has them any more."""
        parsed = parse_store_url(url)
        if parsed.scheme != "memory":
            raise ValueError(
                f"Expected a 'memory://' URL, got scheme {parsed.scheme!r} in '{url}'."
            )
        if (parsed.name or "") not in _shared:
            raise ValueError(
                f"Memory store not found for URL '{url}'. "
                "The store may have been garbage collected."
            )
        return cls(parsed.name or "", path=parsed.path, read_only=read_only)

    def with_read_only(self, read_only: bool = False) -> Self:
        return type(self)(self._name, path=self.path, read_only=read_only)

    def __str__(self) -> str:
        return f"memory://{self._name}/{self.path}".rstrip("/")

    def __eq__(self, value: object) -> bool:
        return isinstance(value, ManagedMemoryStore) and (
            (self._values, self.path, self.read_only)
            == (value._values, value.path, value.read_only)
        )

    __hash__ = None

    def __reduce__(self) -> Any:
        return _reconnect, (type(self), self._name, self.path, self.read_only, os.getpid())


def _reconnect(
    kind: type[ManagedMemoryStore], name: str, path: str, read_only: bool, process: int
) -> ManagedMemoryStore:
    if process != os.getpid():
        raise RuntimeError(
            f"ManagedMemoryStore '{name}' was created in process {process} but is being unpickled"
            f" in process {os.getpid()}. Its values are not pickled: share a store on disk instead."
        )
    return kind(name, path=path, read_only=read_only)
