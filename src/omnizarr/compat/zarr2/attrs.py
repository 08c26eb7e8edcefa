"""zarr-python 2's `zarr.attrs`: attributes in a document of their own."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator, Mapping, MutableMapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import omnizarr
from omnizarr.compat.zarr2._stores import opened
from omnizarr.errors import ReadOnlyError
from omnizarr.stores import StoreLike, as_store

__all__ = ["Attributes"]


class Attributes(MutableMapping[str, Any]):
    """The mapping that is stored as JSON under one key.

    Parameters
    ----------
    store
        A store, or a mapping.
    key
        Key of the document.
    read_only
        Refuse every change.
    cache
        Read the document once.
    synchronizer
        Lock to hold during a change.

    Examples
    --------
    >>> attributes = Attributes({}, key=".zattrs")
    >>> attributes["units"] = "m"
    >>> attributes.asdict()
    {'units': 'm'}
    """

    def __init__(
        self,
        store: StoreLike,
        key: str = ".zattrs",
        read_only: bool = False,
        cache: bool = True,
        synchronizer: Any = None,
    ) -> None:
        self.store = as_store(opened(store))
        self.key = key
        self.read_only = read_only
        self.cache = cache
        self.synchronizer = synchronizer
        self._cached: dict[str, Any] | None = None

    def _read(self) -> dict[str, Any]:
        value = self.store.get(self.key)
        found: dict[str, Any] = {} if value is None else json.loads(bytes(value))
        return found

    def asdict(self) -> dict[str, Any]:
        """Give all attributes as a dict."""
        if self.cache and self._cached is not None:
            return self._cached
        found = self._read()
        if self.cache:
            self._cached = found
        return found

    def refresh(self) -> None:
        """Read the document again."""
        if self.cache:
            self._cached = self._read()

    def _lock(self) -> AbstractContextManager[object]:
        return nullcontext() if self.synchronizer is None else self.synchronizer[self.key]

    def _write(self, changes: Mapping[str, Any] | None, *removed: str, keep: bool = True) -> None:
        if self.read_only:
            raise ReadOnlyError(f"the attributes {self.key!r} were opened for reading only")
        with self._lock():
            found = self._read() if keep else {}
            found.update(_named(changes or {}))
            for name in removed:
                del found[name]
            document = json.dumps(found, indent=4, sort_keys=True, ensure_ascii=True)
            self.store[self.key] = document.encode("ascii")
        if self.cache:
            self._cached = found

    def put(self, d: Mapping[str, Any]) -> None:
        """Replace all attributes.

        Parameters
        ----------
        d
            Names and values.
        """
        self._write(d, keep=False)

    def update(self, *args: Any, **kwargs: Any) -> None:
        """Change several attributes with one write.

        Parameters
        ----------
        *args, **kwargs
            Names and values, as `dict` takes them.
        """
        self._write(dict(*args, **kwargs))

    def __getitem__(self, name: str) -> Any:
        return self.asdict()[name]

    def __setitem__(self, name: str, value: Any) -> None:
        self._write({name: value})

    def __delitem__(self, name: str) -> None:
        self._write(None, name)

    def _ipython_key_completions_(self) -> list[str]:
        return sorted(self)

    def __contains__(self, name: object) -> bool:
        return name in self.asdict()

    def __iter__(self) -> Iterator[str]:
        return iter(self.asdict())

    def __len__(self) -> int:
        return len(self.asdict())


def _named(attributes: Mapping[Any, Any]) -> dict[str, Any]:
    """The attributes by names; a key of another type becomes one, as JSON would make it."""
    if not all(isinstance(name, str) for name in attributes):
        warnings.warn(
            "only attribute keys of type 'string' will be allowed in the future",
            DeprecationWarning,
            stacklevel=4,
        )
    return {str(name): value for name, value in attributes.items()}


Attributes.register(type(omnizarr.group().attrs))  # those of arrays and groups
