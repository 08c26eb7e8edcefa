"""`OverlayStore`: changes go to one store, over the values of another.

A deleted key must stay deleted although the lower store still has it. So `upper` keeps a mark for
it below `MARKS`, a prefix that no key of the overlay may have: one mark for a key, or one for all
keys below a prefix. A mark hides values of `lower`, never those of `upper`. Hence a value can be
written again without touching its mark, marks are never removed, and an interrupted change leaves
every key with its old value or its new one.

The name of a mark is the key itself, in letters that every file system tells apart. A key that is
too long for a file name is hashed, and is then the value of its mark.

This module knows the interface of stores. It must not know any one store.
"""

from __future__ import annotations

import heapq
import os
from base64 import b32decode, b32encode
from collections.abc import Collection, Hashable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, replace
from itertools import chain
from threading import get_ident
from typing import TYPE_CHECKING, Any

from omnizarr.errors import InvalidKeyError, StoreError
from omnizarr.keywords import suggests
from omnizarr.model.paths import DOCUMENT, ancestors, check_key, check_prefix, deletion_steps
from omnizarr.model.store import Buffer, ByteRange, Listing, Read, Store, Versioned, read_range
from omnizarr.stores.wrappers.base import read_rest

if TYPE_CHECKING:
    from omnizarr.stores.resolve import StoreLike

MARKS = ".omnizarr-deleted/"
_LONGEST_NAME = 120  # five bytes of a key make eight characters of a name
_NOTHING = ByteRange(0, 0)


def _mark(place: str) -> str:
    """The key of the mark for a key or, if `place` is empty or ends with "/", for a prefix."""
    text = place.encode()
    if len(text) <= _LONGEST_NAME:
        return f"{MARKS}k{b32encode(text).decode().lower().rstrip('=')}"
    from hashlib import blake2b

    return f"{MARKS}h{blake2b(text, digest_size=20).hexdigest()}"


def _prefixes_over(key: str) -> list[str]:
    return [f"{place}/" if place else "" for place in ancestors(key)]


def _place(name: str) -> str | None:
    """The key or prefix that a mark of this name hides; None if it is no mark."""
    try:
        return b32decode(name.upper() + "=" * (-len(name) % 8)).decode()
    except ValueError:
        return None


@dataclass(frozen=True)
class _Deleted:
    """What is marked as deleted, read once for a listing."""

    keys: frozenset[str]
    prefixes: frozenset[str]

    def hides(self, key: str) -> bool:
        return key in self.keys or not self.prefixes.isdisjoint(_prefixes_over(key))

    def hides_all(self, prefix: str) -> bool:
        return prefix in self.prefixes or not self.prefixes.isdisjoint(_prefixes_over(prefix[:-1]))

    def below(self, prefix: str) -> bool:
        return any(place.startswith(prefix) for place in self.keys | self.prefixes)


class OverlayStore(Store):
    """The values of `lower`, with changes in `upper`. `lower` is never written to.

    Locks, versions and conditional writes are those of `upper`; closing closes both.

    Parameters
    ----------
    upper
        The store that takes changes, or what `as_store` takes: a URL, a path, …
    lower
        The store to read what `upper` does not have, or what `as_store` takes.

    Examples
    --------
    >>> lower = omnizarr.MemoryStore({"a": b"1", "b": b"2"})
    >>> store = omnizarr.stores.OverlayStore(omnizarr.MemoryStore(), lower)
    >>> store.set("a", b"changed")
    >>> store.delete("b")
    >>> dict(store.items()), dict(lower.items())
    ({'a': b'changed'}, {'a': b'1', 'b': b'2'})
    """

    @suggests
    def __init__(self, upper: StoreLike, lower: StoreLike) -> None:
        if not isinstance(upper, Store) or not isinstance(lower, Store):
            from omnizarr.stores.resolve import as_store

            upper = as_store(upper)
            lower = lower if isinstance(lower, Store) else as_store(lower, read_only=True)
        self._held: set[tuple[str, int, int]] = set()
        """Locks by key, process and thread, because `delete` inside a lock must not wait for it."""
        self.upper = upper
        self.lower = lower
        self.read_only = upper.read_only
        self.dimension_separator = upper.dimension_separator or lower.dimension_separator
        above, below = upper.capabilities, lower.capabilities
        self.capabilities = replace(
            above,
            listable=above.listable and below.listable,
            ranges=above.ranges or below.ranges,
            validators=False,
            known_sizes=above.known_sizes and below.known_sizes,
            requests=max(above.requests, below.requests),
            gap=max(above.gap, below.gap),
        )

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.upper!r}, {self.lower!r})"

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_held": set()}

    def _check(self, key: str) -> str:
        if check_key(key).startswith(MARKS) or key == MARKS[:-1]:
            raise InvalidKeyError(
                f"invalid key {key!r}: {type(self).__name__} reserves {MARKS!r} for what is deleted"
            )
        return key

    def _check_prefix(self, prefix: str) -> str:
        if check_prefix(prefix):
            self._check(prefix[:-1])
        return prefix

    # -- readable -----------------------------------------------------------------------------
    def get(self, key: str, byte_range: ByteRange | None = None) -> Buffer | None:
        return self.get_many([(key, byte_range)])[0]

    def get_many(self, requests: Sequence[tuple[str, ByteRange | None]]) -> list[Buffer | None]:
        for key, _ in requests:
            self._check(key)
        answers = self.upper.get_many(requests)
        missing = [index for index, answer in enumerate(answers) if answer is None]
        visible = self._visible(dict.fromkeys(requests[index][0] for index in missing))
        wanted = [index for index in missing if requests[index][0] in visible]
        read_rest(self.lower, requests, answers, wanted)
        return answers

    def _visible(self, keys: dict[str, None]) -> set[str]:
        """Those of the keys that no mark hides, asked for in one batch."""
        if not keys:
            return set()
        marks = {key: [_mark(place) for place in (key, *_prefixes_over(key))] for key in keys}
        names = list(dict.fromkeys(name for group in marks.values() for name in group))
        answers = self.upper.get_many([(name, _NOTHING) for name in names])
        set_marks = {
            name for name, answer in zip(names, answers, strict=True) if answer is not None
        }
        return {key for key, group in marks.items() if set_marks.isdisjoint(group)}

    def _in_lower(self, key: str) -> bool:
        return bool(self._visible({key: None})) and self.lower.exists(key)

    def snapshot(self, key: str) -> AbstractContextManager[Read]:
        if self.upper.exists(self._check(key)):
            return self.upper.snapshot(key)
        if self._visible({key: None}):
            return self.lower.snapshot(key)
        return nullcontext(lambda byte_range: None)

    def get_versioned(self, key: str, byte_range: ByteRange | None = None) -> Versioned | None:
        found = self.upper.get_versioned(self._check(key), byte_range)
        if found is not None:
            return Versioned(found.value, ("upper", found.version))
        if not self._visible({key: None}):
            return None
        if self.lower.capabilities.versions:
            found = self.lower.get_versioned(key, byte_range)
            return found and Versioned(found.value, ("lower", found.version))
        value = self.lower.get(key)
        if value is None:
            return None
        from hashlib import blake2b

        digest = blake2b(value, digest_size=20).hexdigest()
        return Versioned(read_range(value, byte_range), ("lower", digest))

    def exists(self, key: str) -> bool:
        return self.upper.exists(self._check(key)) or self._in_lower(key)

    def size(self, key: str) -> int | None:
        size = self.upper.size(self._check(key))
        if size is None and self._visible({key: None}):
            size = self.lower.size(key)
        return size

    # -- writeable ----------------------------------------------------------------------------
    def set(self, key: str, value: Buffer) -> None:
        self.upper.set(self._check(key), value)

    def set_if_absent(self, key: str, value: Buffer) -> bool:
        self.check_writable()
        if self._in_lower(self._check(key)):
            return False
        return self.upper.set_if_absent(key, value)

    def set_if_version(self, key: str, value: Buffer, version: Hashable | None) -> bool:
        self.check_writable()
        self._check(key)
        match version:
            case ("upper", inner):
                return self.upper.set_if_version(key, value, inner)
            case None:
                expected = not self._in_lower(key)
            case _:
                now = self.get_versioned(key, _NOTHING)
                expected = now is not None and now.version == version
        # The version is that of a value in the lower store, so the upper one must have none.
        if not expected or not self.upper.set_if_version(key, value, None):
            return False
        if version is None or self._visible({key: None}):
            return True
        # The key was deleted between the check and the write: the new value is based on a deleted
        # one, so it is removed again.
        now = self.upper.get_versioned(key)
        if now is not None and bytes(now.value) == bytes(value):
            self.upper.delete(key)
        return False

    def delete(self, key: str) -> None:
        self.check_writable()
        if not self.exists(key):
            return
        with ExitStack() as held:
            self._keep_out(key, held)
            above = self.upper.exists(key)
            if self._in_lower(key):
                self.upper.set(_mark(key), key.encode())
        if above:  # takes the lock itself; until then every reader sees the upper value
            self.upper.delete(key)

    def _keep_out(self, key: str, held: ExitStack) -> None:
        """Wait for writers that may be about to write what they read of the lower store."""
        if not self.capabilities.locks or (key, os.getpid(), get_ident()) in self._held:
            return
        try:
            held.enter_context(self.lock(key))
        except StoreError:
            # A key below a value of the upper store: no value can be written there.
            if not any(self.upper.exists(place) for place in ancestors(key) if place):
                raise

    def delete_prefix(self, prefix: str) -> None:
        self.check_writable()
        self._check_prefix(prefix)
        if self.capabilities.listable:  # each document vanishes at once, from both stores
            documents = (key for key in self.list_prefix(prefix) if DOCUMENT.search(key))
            for key in chain.from_iterable(deletion_steps(documents)):
                self.delete(key)
        if prefix == "":
            for name in self._upper_dir("").prefixes:
                self.upper.delete_prefix(name)
            for key in self._upper_dir("").keys:
                self.upper.delete(key)
        else:
            self.upper.delete_prefix(prefix)
        self._hide(prefix)

    def _hide(self, prefix: str) -> None:
        """One mark for all that the lower store shows below `prefix`."""
        if not self.lower.capabilities.listable or any(self._lower_keys(prefix)):
            self.upper.set(_mark(prefix), prefix.encode())

    def make_prefix(self, prefix: str) -> None:
        self._check_prefix(prefix)
        self.upper.make_prefix(prefix)

    def check_move(self, source: str, target: str) -> None:
        self.check_writable()
        self._check_prefix(source)
        self._check_prefix(target)
        super().check_move(source, target)

    # -- listable -----------------------------------------------------------------------------
    def list_prefix(self, prefix: str) -> Iterator[str]:
        self._check_prefix(prefix)
        return self._merged(prefix)

    def _merged(self, prefix: str) -> Iterator[str]:
        upper = (key for key in self.upper.list_prefix(prefix) if not key.startswith(MARKS))
        last = None
        for key in heapq.merge(upper, self._lower_keys(prefix)):
            if key != last:
                yield key
            last = key

    def _lower_keys(self, prefix: str) -> Iterator[str]:
        deleted = self._deleted()
        return (
            key
            for key in self.lower.list_prefix(prefix)
            if not key.startswith(MARKS) and not deleted.hides(key)
        )

    def _deleted(self) -> _Deleted:
        begin = len(MARKS)
        names = list(self.upper.list_prefix(MARKS))
        found = [_place(name[begin + 1 :]) for name in names if name[begin] == "k"]
        hashed = [(name, None) for name in names if name[begin] == "h"]
        found += [bytes(value).decode() for value in self.upper.get_many(hashed) if value]
        places = [place for place in found if place is not None]
        prefixes = {place for place in places if not place or place.endswith("/")}
        return _Deleted(frozenset(places) - prefixes, frozenset(prefixes))

    def _upper_dir(self, prefix: str) -> Listing:
        keys, prefixes = self.upper.list_dir(prefix)
        return Listing(keys, [name for name in prefixes if name != MARKS])

    def list_dir(self, prefix: str) -> Listing:
        upper = self._upper_dir(self._check_prefix(prefix))
        deleted = self._deleted()
        if deleted.hides_all(prefix):
            return upper
        lower = self.lower.list_dir(prefix)
        keys = {key for key in lower.keys if not deleted.hides(key)}
        prefixes = {name for name in lower.prefixes if name != MARKS and self._shown(name, deleted)}
        return Listing(
            sorted(keys.union(upper.keys)),
            sorted(prefixes.union(upper.prefixes)),
        )

    def _shown(self, prefix: str, deleted: _Deleted) -> bool:
        """Whether anything that the lower store has below `prefix` is left."""
        if deleted.hides_all(prefix):
            return False
        if not deleted.below(prefix):
            return True
        return any(not deleted.hides(key) for key in self.lower.list_prefix(prefix))

    # -- safe updates and life ----------------------------------------------------------------
    @property
    def identity(self) -> Hashable:
        return "overlay", self.upper.identity, self.lower.identity

    def locate(self, key: str) -> tuple[Hashable, str]:
        return self.upper.locate(key)  # changes go there

    def above(self, names: Collection[str]) -> Iterator[Store]:
        yield from self.upper.above(names)
        yield from self.lower.above(names)

    def lock(self, key: str) -> AbstractContextManager[object]:
        return self._locked(self._check(key))

    def fresh_reads(self) -> AbstractContextManager[object]:
        return self.upper.fresh_reads()

    @contextmanager
    def _locked(self, key: str) -> Iterator[object]:
        with self.upper.lock(key) as held:
            owner = key, os.getpid(), get_ident()
            self._held.add(owner)
            try:
                yield held
            finally:
                self._held.discard(owner)

    def close(self) -> None:
        try:
            self.upper.close()
        finally:
            self.lower.close()
