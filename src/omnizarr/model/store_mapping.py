"""A store as a mutable mapping from str to bytes, with the methods of zarr-python 2's stores.

They are the same for every store and stand on the seam of `model.store_basics`. A subclass of
`Store` may also be written the other way round: as a mapping, with `__getitem__`, `__setitem__`,
`__delitem__` and `__iter__`. `adapt` gives it the methods of the seam then.

This module knows keys and bytes. It must not know what they mean.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, TypeVar

from omnizarr.model.paths import check_key, check_prefix, is_key, normalize_path
from omnizarr.model.store_facts import Buffer, ByteRange, read_range, sorted_under
from omnizarr.model.store_features import Prefixes

D = TypeVar("D")
_MISSING = object()


class MappingMethods(Prefixes):
    """What the stores of zarr-python 2 can beyond a mapping."""

    def __getitem__(self, key: str) -> bytes:
        value = self.get(key)
        if value is None:
            raise KeyError(key)
        return bytes(value)

    def __setitem__(self, key: str, value: Buffer) -> None:
        self.set(key, plain_bytes(value))

    def __delitem__(self, key: str) -> None:
        if not self.exists(key):
            raise KeyError(key)
        self.delete(key)

    def __contains__(self, key: object) -> bool:
        return isinstance(key, str) and is_key(key) and self.exists(key)

    def __iter__(self) -> Iterator[str]:
        return self.list_prefix("")

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __bool__(self) -> bool:
        return True  # an empty store is a store

    def keys(self) -> Iterator[str]:
        """Iterate over every key, sorted.

        Examples
        --------
        >>> list(omnizarr.MemoryStore({"b": b"2", "a": b"1"}).keys())
        ['a', 'b']
        """
        return iter(self)

    def items(self) -> Iterator[tuple[str, bytes]]:
        """Iterate over every key and its value.

        Examples
        --------
        >>> list(omnizarr.MemoryStore({"b": b"2", "a": b"1"}).items())
        [('a', b'1'), ('b', b'2')]
        """
        return ((key, self[key]) for key in self)

    def values(self) -> Iterator[bytes]:
        """Iterate over every value.

        Examples
        --------
        >>> list(omnizarr.MemoryStore({"b": b"2", "a": b"1"}).values())
        [b'1', b'2']
        """
        return (self[key] for key in self)

    def update(self, values: Mapping[str, Buffer] | None = None, /, **more: Buffer) -> None:
        """Set many values.

        Parameters
        ----------
        values
            The bytes of every key.
        **more
            More of them, with keys that are names.

        Examples
        --------
        >>> store = omnizarr.MemoryStore()
        >>> store.update({"a/c/0": b"1"}, b=b"2")
        >>> list(store.items())
        [('a/c/0', b'1'), ('b', b'2')]
        """
        given = {**(values or {}), **more}
        self.setitems({key: plain_bytes(value) for key, value in given.items()})

    def pop(self, key: str, default: D = _MISSING) -> bytes | D:  # type: ignore[assignment]
        """Remove a key and return its value.

        Parameters
        ----------
        key
            Key of the value.
        default
            What to return if there is no such key, in place of a KeyError.

        Examples
        --------
        >>> store = omnizarr.MemoryStore({"a": b"1"})
        >>> store.pop("a"), store.pop("a", None)
        (b'1', None)
        """
        value = self.get(key)
        if value is not None:
            self.delete(key)
            return bytes(value)
        if default is _MISSING:
            raise KeyError(key)
        return default

    def popitem(self) -> tuple[str, bytes]:
        """Remove one key and return it with its value; KeyError if there is none.

        Examples
        --------
        >>> omnizarr.MemoryStore({"a": b"1"}).popitem()
        ('a', b'1')
        """
        for key in self:
            return key, self.pop(key)
        raise KeyError("the store is empty")

    def setdefault(self, key: str, default: Buffer = b"") -> bytes:
        """Return a value; set it first if there is no such key.

        Parameters
        ----------
        key
            Key of the value.
        default
            The bytes to set.

        Examples
        --------
        >>> store = omnizarr.MemoryStore()
        >>> store.setdefault("a", b"1"), store.setdefault("a", b"2")
        (b'1', b'1')
        """
        if key not in self:
            self[key] = default
        return self[key]

    def clear(self) -> None:
        """Remove every key.

        Examples
        --------
        >>> store = omnizarr.MemoryStore({"a": b"1"})
        >>> store.clear()
        >>> len(store)
        0
        """
        self.delete_prefix("")

    def getitems(self, keys: Sequence[str], *, contexts: object = None) -> Mapping[str, bytes]:
        """Read many values; keys that do not exist are left out.

        Parameters
        ----------
        keys
            The keys.
        contexts
            zarr-python 2's keyword, without effect.

        Examples
        --------
        >>> omnizarr.MemoryStore({"a": b"1", "b": b"2"}).getitems(["a", "c"])
        {'a': b'1'}
        """
        found = ((key, self.get(key)) for key in keys)
        return {key: bytes(value) for key, value in found if value is not None}

    def setitems(self, values: Mapping[str, Buffer]) -> None:
        """Set many values.

        Parameters
        ----------
        values
            The bytes of every key.

        Examples
        --------
        >>> store = omnizarr.MemoryStore()
        >>> store.setitems({"a": b"1", "b": b"2"})
        >>> list(store)
        ['a', 'b']
        """
        for key, value in values.items():
            self.set(key, value)

    def delitems(self, keys: Sequence[str]) -> None:
        """Remove many keys; a missing one is no error.

        Parameters
        ----------
        keys
            The keys.

        Examples
        --------
        >>> store = omnizarr.MemoryStore({"a": b"1", "b": b"2"})
        >>> store.delitems(["a", "c"])
        >>> list(store)
        ['b']
        """
        for key in keys:
            self.delete(key)

    def listdir(self, path: str = "") -> list[str]:
        """List the names directly below a path, sorted; none if there is no such path.

        Parameters
        ----------
        path
            A path, with or without slashes at its ends.

        Examples
        --------
        >>> omnizarr.MemoryStore({"a/zarr.json": b"{}", "a/c/0": b"0"}).listdir("a")
        ['c', 'zarr.json']
        """
        prefix = prefix_of(path)
        keys, prefixes = self.list_dir(prefix)
        return sorted({key[len(prefix) :].rstrip("/") for key in (*keys, *prefixes)})

    def rmdir(self, path: str = "") -> None:
        """Remove every key below a path; it is no error if there is none.

        Parameters
        ----------
        path
            A path, with or without slashes at its ends.

        Examples
        --------
        >>> store = omnizarr.MemoryStore({"a/c/0": b"0", "b": b"1"})
        >>> store.rmdir("a")
        >>> list(store)
        ['b']
        """
        self.delete_prefix(prefix_of(path))

    def rename(self, src_path: str, dst_path: str) -> None:
        """Move a key, or every key below a path.

        Parameters
        ----------
        src_path
            The key or path to move.
        dst_path
            Where to. Keys that are there already are replaced.

        Examples
        --------
        >>> store = omnizarr.MemoryStore({"a/c/0": b"0"})
        >>> store.rename("a", "b")
        >>> list(store)
        ['b/c/0']
        """
        source, target = normalize_path(src_path), normalize_path(dst_path)
        if source and target and self.exists(source):
            self[target] = self.pop(source)
        self.move_prefix(prefix_of(source), prefix_of(target))

    def getsize(self, path: str = "") -> int:
        """Tell the size of a value, or of the values directly below a path, in bytes.

        Parameters
        ----------
        path
            A key, or a path; 0 if there is neither.

        Examples
        --------
        >>> store = omnizarr.MemoryStore({"a/0": b"123", "a/1": b"45"})
        >>> store.getsize("a/0"), store.getsize("a")
        (3, 5)
        """
        normal = normalize_path(path)
        size = self.size(normal) if normal else None
        if size is not None:
            return size
        return sum(self.size(key) or 0 for key in self.list_dir(prefix_of(normal)).keys)

    def is_readable(self) -> bool:
        """Tell whether values can be read: always.

        Examples
        --------
        >>> omnizarr.MemoryStore().is_readable()
        True
        """
        return True

    def is_writeable(self) -> bool:
        """Tell whether values can be set.

        Examples
        --------
        >>> omnizarr.MemoryStore(read_only=True).is_writeable()
        False
        """
        return not self.read_only

    def is_erasable(self) -> bool:
        """Tell whether values can be removed.

        Examples
        --------
        >>> omnizarr.MemoryStore(read_only=True).is_erasable()
        False
        """
        return not self.read_only

    def is_listable(self) -> bool:
        """Tell whether the keys can be listed.

        Examples
        --------
        >>> omnizarr.MemoryStore().is_listable()
        True
        """
        return self.capabilities.listable


def prefix_of(path: str) -> str:
    """The prefix of the keys below a path.

    >>> prefix_of("/a/b")
    'a/b/'
    """
    normal = normalize_path(path)
    return normal + "/" if normal else ""


def plain_bytes(value: Any) -> Buffer:
    """A value as bytes, or a view of them; TypeError for what has no buffer, such as a list."""
    if isinstance(value, bytes | bytearray):
        return value
    view = memoryview(value)
    return view.cast("B") if view.c_contiguous and view.nbytes else view.tobytes()


def adapt(cls: Any) -> None:
    """Give a class that is written as a mapping the methods of the seam that it lacks."""
    if not _overrides(cls, "__getitem__") or not getattr(cls.get, "__isabstractmethod__", False):
        return
    for name, method in _OVER_A_MAPPING.items():
        if name not in vars(cls):
            setattr(cls, name, method)
    if _overrides(cls, "__contains__") and "exists" not in vars(cls):
        cls.exists = _exists


def _overrides(cls: Any, name: str) -> bool:
    return getattr(cls, name) is not getattr(MappingMethods, name)


def _get(store: Any, key: str, byte_range: ByteRange | None = None) -> Buffer | None:
    try:
        value = store[check_key(key)]
    except KeyError:
        return None
    return read_range(plain_bytes(value), byte_range)


def _set(store: Any, key: str, value: Buffer) -> None:
    store.check_writable()
    store[check_key(key)] = bytes(value)


def _delete(store: Any, key: str) -> None:
    store.check_writable()
    with suppress(KeyError):
        del store[check_key(key)]


def _exists(store: Any, key: str) -> bool:
    return check_key(key) in store


def _list_prefix(store: Any, prefix: str) -> Iterator[str]:
    return sorted_under([key for key in store if is_key(key)], check_prefix(prefix))


_OVER_A_MAPPING = {
    "get": _get,
    "set": _set,
    "delete": _delete,
    "list_prefix": _list_prefix,
}
