"""Stores that watch, count, log or break the calls to a store inside.

    store = FaultStore(LocalStore("x.zarr"))
    store.fail("set", OSError("disk full"), at=3)     # the third set from now on fails, once
    store.fail("get", OSError("reset"), key="c/0", times=None)   # every get of c/0
    store.delay("get", 0.01)

This module knows the interface of stores. It must not know any one store.
"""

from __future__ import annotations

import logging
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass

from omnizarr.keywords import suggests
from omnizarr.model.store import Buffer, ByteRange, Listing, Read, Store, Versioned
from omnizarr.runtime import forks, parallel
from omnizarr.stores.wrappers.base import WrapperStore

# One for all stores: it is held while a number is increased, and a store with it can be pickled.
_counting = threading.RLock()
forks.wait_for(sys.modules[__name__], "_counting")


class WatchedStore(WrapperStore):
    """Calls `before(operation, key)` ahead of every call that reaches the store inside.

    A batch is watched request by request and then passed on as one; of a snapshot, every read is
    watched as a "get".

    Parameters
    ----------
    store
        The store inside.

    Examples
    --------
    >>> class Printing(omnizarr.testing.WatchedStore):
    ...     def before(self, operation, key):
    ...         print(operation, key)
    >>> Printing(omnizarr.MemoryStore()).set("key", b"value")
    set key
    """

    def before(self, operation: str, key: str) -> None:
        """Look at a call. An exception that is raised here takes the place of the call.

        Parameters
        ----------
        operation
            Name of the method; a read of a snapshot is a "get".
        key
            Its key or prefix.

        Examples
        --------
        >>> class OnlyMetadata(omnizarr.testing.WatchedStore):
        ...     def before(self, operation, key):
        ...         assert key.endswith("zarr.json"), key
        >>> OnlyMetadata(omnizarr.MemoryStore()).get("c/0")
        Traceback (most recent call last):
            ...
        AssertionError: c/0
        """

    def get(self, key: str, byte_range: ByteRange | None = None) -> Buffer | None:
        self.before("get", key)
        return super().get(key, byte_range)

    def get_many(self, requests: Sequence[tuple[str, ByteRange | None]]) -> list[Buffer | None]:
        for key, _ in requests:
            parallel.check()
            self.before("get", key)
        return super().get_many(requests)

    @contextmanager
    def snapshot(self, key: str) -> Iterator[Read]:
        with super().snapshot(key) as read:

            def watched(byte_range: ByteRange | None) -> Buffer | None:
                self.before("get", key)
                return read(byte_range)

            yield watched

    def get_versioned(self, key: str, byte_range: ByteRange | None = None) -> Versioned | None:
        self.before("get", key)
        return super().get_versioned(key, byte_range)

    def version(self, key: str) -> Hashable | None:
        self.before("version", key)
        return super().version(key)

    def exists(self, key: str) -> bool:
        self.before("exists", key)
        return super().exists(key)

    def size(self, key: str) -> int | None:
        self.before("size", key)
        return super().size(key)

    def set(self, key: str, value: Buffer) -> None:
        self.before("set", key)
        super().set(key, value)

    def set_if_absent(self, key: str, value: Buffer) -> bool:
        self.before("set_if_absent", key)
        return super().set_if_absent(key, value)

    def set_if_version(self, key: str, value: Buffer, version: Hashable | None) -> bool:
        self.before("set_if_version", key)
        return super().set_if_version(key, value, version)

    def delete(self, key: str) -> None:
        self.before("delete", key)
        super().delete(key)

    def delete_prefix(self, prefix: str) -> None:
        self.before("delete_prefix", prefix)
        super().delete_prefix(prefix)

    def make_prefix(self, prefix: str) -> None:
        self.before("make_prefix", prefix)
        super().make_prefix(prefix)

    def move_prefix(self, source: str, target: str) -> None:
        self.before("move_prefix", source)
        super().move_prefix(source, target)

    def list_prefix(self, prefix: str) -> Iterator[str]:
        self.before("list_prefix", prefix)
        return super().list_prefix(prefix)

    def list_dir(self, prefix: str) -> Listing:
        self.before("list_dir", prefix)
        return super().list_dir(prefix)

    def lock(self, key: str) -> AbstractContextManager[object]:
        self.before("lock", key)
        return super().lock(key)


class CountingStore(WatchedStore):
    """Counts the calls that reach a store: `counts` by method, `asked` with the keys of each.

    Parameters
    ----------
    store
        The store inside.

    Examples
    --------
    >>> store = omnizarr.testing.CountingStore(omnizarr.MemoryStore({"key": b"value"}))
    >>> value = store.get("key")
    >>> store.counts["get"], store.asked["get"]
    (1, ['key'])
    """

    @suggests
    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self.counts: Counter[str] = Counter()
        self.asked: dict[str, list[str]] = {}

    def before(self, operation: str, key: str) -> None:
        with _counting:
            self.counts[operation] += 1
            self.asked.setdefault(operation, []).append(key)

    def reset(self) -> None:
        """Forget all calls.

        Examples
        --------
        >>> store = omnizarr.testing.CountingStore(omnizarr.MemoryStore())
        >>> store.set("key", b"value")
        >>> store.reset()
        >>> store.counts["set"]
        0
        """
        with _counting:
            self.counts.clear()
            self.asked.clear()


class LoggingStore(WatchedStore):
    """Writes every call to a log, without values, which may be secret.

    Parameters
    ----------
    store
        The store inside.
    log
        A logger, or a function that takes a line; None: the logger "omnizarr.store".
    level
        Level of the logger's messages.

    Examples
    --------
    >>> store = omnizarr.testing.LoggingStore(omnizarr.MemoryStore(), print)
    >>> store.set("key", b"value")
    set 'key'
    """

    @suggests
    def __init__(
        self,
        store: Store,
        log: logging.Logger | Callable[[str], object] | None = None,
        level: int = logging.DEBUG,
    ) -> None:
        super().__init__(store)
        self._log = log or logging.getLogger("omnizarr.store")
        self._level = level

    def before(self, operation: str, key: str) -> None:
        if isinstance(self._log, logging.Logger):
            self._log.log(self._level, "%s %r on %r", operation, key, self.store)
        else:
            self._log(f"{operation} {key!r}")


@dataclass
class _Fault:
    operation: str
    key: str | None
    skip: int
    times: int | None
    error: BaseException | None
    seconds: float


class FaultStore(WatchedStore):
    """Makes chosen calls fail or wait; all others reach the store inside.

    Parameters
    ----------
    store
        The store inside.

    Examples
    --------
    >>> store = omnizarr.testing.FaultStore(omnizarr.MemoryStore())
    >>> store.fail("set", OSError("no space left"), at=2)
    >>> store.set("a", b"1")
    >>> store.set("b", b"2")
    Traceback (most recent call last):
        ...
    OSError: no space left
    """

    @suggests
    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self._faults: list[_Fault] = []
        self._guard = threading.RLock()
        forks.wait_for(self, "_guard")

    def fail(
        self,
        operation: str,
        error: BaseException,
        *,
        key: str | None = None,
        at: int = 1,
        times: int | None = 1,
    ) -> None:
        """Let chosen calls raise an error.

        Parameters
        ----------
        operation
            Name of a method, or "*" for every method.
        error
            The error to raise.
        key
            Only calls for this key; None: for any.
        at
            Number of the first such call to fail, counted from now and from 1.
        times
            How many calls fail; None: all from then on.

        Examples
        --------
        >>> store = omnizarr.testing.FaultStore(omnizarr.MemoryStore({"a": b"1", "b": b"2"}))
        >>> store.fail("get", OSError("reset"), key="a", times=None)
        >>> store.get("b")
        b'2'
        >>> store.get("a")
        Traceback (most recent call last):
            ...
        OSError: reset
        """
        if at < 1:
            raise ValueError(f"calls are counted from 1, found at={at}")
        self._faults.append(_Fault(operation, key, at - 1, times, error, 0.0))

    def delay(self, operation: str, seconds: float, *, key: str | None = None) -> None:
        """Let every such call wait first.

        Parameters
        ----------
        operation
            Name of a method, or "*" for every method.
        seconds
            How long to wait.
        key
            Only calls for this key; None: for any.

        Examples
        --------
        >>> store = omnizarr.testing.FaultStore(omnizarr.MemoryStore({"key": b"value"}))
        >>> store.delay("get", 0.001)
        >>> store.get("key")
        b'value'
        """
        self._faults.append(_Fault(operation, key, 0, None, None, seconds))

    def heal(self) -> None:
        """Remove all faults and delays.

        Examples
        --------
        >>> store = omnizarr.testing.FaultStore(omnizarr.MemoryStore({"key": b"value"}))
        >>> store.fail("get", OSError("reset"))
        >>> store.heal()
        >>> store.get("key")
        b'value'
        """
        self._faults.clear()

    def before(self, operation: str, key: str) -> None:
        wait = 0.0
        with self._guard:
            error = None
            for fault in self._faults:
                if fault.operation not in ("*", operation) or fault.key not in (None, key):
                    continue
                if fault.skip > 0:
                    fault.skip -= 1
                elif fault.error is None:
                    wait += fault.seconds
                elif fault.times is None or fault.times > 0:
                    fault.times = None if fault.times is None else fault.times - 1
                    error = error or fault.error
        if wait:
            time.sleep(wait)
        if error is not None:
            raise error
