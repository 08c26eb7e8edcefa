"""Call a filesystem of fsspec: from this thread, or from the event loop that it belongs to.

    Files         what a store needs of a filesystem, on whole paths; the exceptions are fsspec's
    DirectFiles   calls of an ordinary filesystem; under a lock unless threads may share it
    CachedFiles   reads through one of fsspec's caches, lists and writes past it
    LoopedFiles   coroutines of an asynchronous one, run in fsspec's own loop, many at once

Listings and sizes come from the service, never from fsspec's cache of them.

This module knows how calls are made. It must not know keys or what is in files.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any, Protocol, TypeVar

from omnizarr.model.store import ByteRange, span
from omnizarr.runtime import forks
from omnizarr.stores import deadlines
from omnizarr.stores.fsspec import filesystems
from omnizarr.stores.fsspec import http as fsspec_http
from omnizarr.stores.local.temporary_names import temporary_name
from omnizarr.stores.retries import RetryPolicy, attempts

T = TypeVar("T")
Request = tuple[str, ByteRange | None]
FileInfo = dict[str, Any]

REQUESTS = 64
"""How many coroutines of one batch run at once."""
_STRIPES = 64
_LISTINGS = 16
"""How many folders are listed at once."""
_RACES = RetryPolicy(100)
"""Each retry means that another process removed the folder in between."""
_ONCE_MORE = RetryPolicy(2)


class Files(Protocol):
    fs: Any
    requests: int

    def read(self, path: str, byte_range: ByteRange | None) -> bytes: ...
    def read_many(self, requests: Sequence[Request]) -> list[bytes | BaseException]: ...
    def info(self, path: str) -> FileInfo: ...
    def entries(self, path: str) -> list[FileInfo]: ...
    def find(self, path: str) -> list[str]: ...
    def write(self, path: str, value: bytes, create: bool = False) -> None: ...
    def remove(self, path: str) -> None: ...
    def remove_folder(self, path: str) -> None: ...


def files_of(fs: Any, deadline: float) -> Files:
    if filesystems.is_asynchronous(fs):
        return LoopedFiles(fs, deadline)
    return CachedFiles(fs, deadline) if filesystems.is_cache(fs) else DirectFiles(fs, deadline)


def _walk(path: str, listed: Callable[[Sequence[str]], Iterable[Iterable[FileInfo]]]) -> list[str]:
    """The files below a path; `listed` gives the entries of folders.

    fsspec's own walk passes over folders that cannot be listed."""
    found: list[str] = []
    waiting = [path]
    while waiting:
        below: list[str] = []
        for folder, entries in zip(waiting, listed(waiting), strict=True):
            for entry in entries:
                name = str(entry["name"]).rstrip("/")
                if name != folder.rstrip("/"):
                    (below if entry["type"] == "directory" else found).append(name)
        waiting = below
    return found


def _in_folder(policy: RetryPolicy, put: Callable[[], T], make: Callable[[], object]) -> T:
    """`put()`; `make()` makes its folder where that is missing."""
    for attempt in attempts(policy):
        try:
            return put()
        except FileNotFoundError:
            if attempt.number == policy.attempts:
                raise
            make()
    raise AssertionError("unreachable: the last attempt raises")


class DirectFiles:
    """An ordinary filesystem. Local files and memory are called by the calling thread. Others may
    not be shared by threads, and may never answer: each call is made by a thread of its own, one
    after the other, and abandoned at the deadline."""

    def __init__(self, fs: Any, deadline: float) -> None:
        self.fs = fs
        self.deadline = deadline
        self.instant = filesystems.is_local(fs) or filesystems.is_memory(fs)
        self.requests = _STRIPES if filesystems.is_simple_cache(fs) else 1
        self._locks = [threading.Lock() for _ in range(self.requests)]
        """One per file for a cache without an index, else one for all."""
        self._renames = filesystems.renames(fs)
        self._by_opening = (
            type(fs).cat_file is filesystems.implementation("spec").AbstractFileSystem.cat_file
        )

    # -- calling ------------------------------------------------------------------------------
    def _call(self, path: str, function: Callable[[], T]) -> T:
        if self.instant:
            return function()

        def work() -> T:
            with self._turn(path):
                return function()

        return deadlines.call(work, self.deadline)

    @contextmanager
    def _turn(self, path: str) -> Iterator[None]:
        lock = self._locks[hash(path) % len(self._locks)]
        if not lock.acquire(timeout=self.deadline):
            raise TimeoutError
        try:
            yield
        finally:
            lock.release()

    # -- reading ------------------------------------------------------------------------------
    def read(self, path: str, byte_range: ByteRange | None) -> bytes:
        return self._call(path, lambda: self._read(path, byte_range))

    def _read(self, path: str, byte_range: ByteRange | None) -> bytes:
        if not self._by_opening:
            start, stop = byte_range or (None, None)
            return bytes(self.fs.cat_file(path, start=start, end=stop))
        with self.fs.open(path, "rb") as file:
            size = file.seek(0, os.SEEK_END)
            size = file.tell() if size is None else size
            first, last = span(byte_range or ByteRange(0), size)
            file.seek(first)
            return bytes(file.read(last - first))

    def read_many(self, requests: Sequence[Request]) -> list[bytes | BaseException]:
        answers: list[bytes | BaseException] = []
        for path, byte_range in requests:
            try:
                answers.append(self.read(path, byte_range))
            except Exception as error:  # each request has its own answer
                answers.append(error)
        return answers

    def info(self, path: str) -> FileInfo:
        def ask() -> FileInfo:
            self.fs.invalidate_cache()
            found: FileInfo = self.fs.info(path)
            return found

        return self._call(path, ask)

    def entries(self, path: str) -> list[FileInfo]:
        def ask() -> list[FileInfo]:
            self.fs.invalidate_cache()
            return list(self.fs.ls(path, detail=True))

        return self._call(path, ask)

    def find(self, path: str) -> list[str]:
        if filesystems.is_memory(self.fs):
            return list(self.fs.find(path))
        return _walk(path, lambda folders: map(self.entries, folders))

    # -- writing ------------------------------------------------------------------------------
    def write(self, path: str, value: bytes, create: bool = False) -> None:
        self._call(path, lambda: self._write(path, value, create))

    def _write(self, path: str, value: bytes, create: bool) -> None:
        if create:
            with _creating:
                self._put(path, value, mode="create")
        elif not self._renames:
            self._put(path, value)
        else:
            if self.fs.isdir(path):
                raise IsADirectoryError("it is a folder")
            temporary = f"{path.rpartition('/')[0]}/{temporary_name()}"
            try:
                self._put(temporary, value)
                rename = os.replace if filesystems.is_local(self.fs) else self.fs.mv
                rename(temporary, path)
            except BaseException:
                with suppress(Exception):  # the first error is the one to raise
                    self.fs.rm_file(temporary)
                raise

    def _put(self, path: str, value: bytes, **options: Any) -> None:
        _in_folder(
            _RACES,
            partial(self.fs.pipe_file, path, value, **options),
            partial(self.fs.makedirs, path.rpartition("/")[0], exist_ok=True),
        )

    def remove(self, path: str) -> None:
        self._call(path, lambda: self.fs.rm_file(path))

    def remove_folder(self, path: str) -> None:
        """Remove a folder that is empty."""
        self._call(path, lambda: self.fs.rmdir(path))


_creating = threading.Lock()


def _after_fork() -> None:
    global _creating
    _creating = threading.Lock()


forks.in_child(_after_fork)


class CachedFiles(DirectFiles):
    """One of fsspec's caches: read through it, list and write past it."""

    def __init__(self, fs: Any, deadline: float) -> None:
        super().__init__(fs, deadline)
        self.behind = files_of(fs.fs, deadline)

    def _read(self, path: str, byte_range: ByteRange | None) -> bytes:
        try:
            return super()._read(path, byte_range)
        except FileNotFoundError:
            # A cache raises this for every failed lookup, also for a refused request.
            self._forget(path)
            return self.behind.read(path, byte_range)
        except BaseException:
            self._forget(path)  # it may have kept half a file
            raise

    def info(self, path: str) -> FileInfo:
        return self.behind.info(path)

    def entries(self, path: str) -> list[FileInfo]:
        return self.behind.entries(path)

    def find(self, path: str) -> list[str]:
        return self.behind.find(path)

    def write(self, path: str, value: bytes, create: bool = False) -> None:
        with self._turn(path):
            try:
                self.behind.write(path, value, create)
            finally:
                self._forget(path)

    def remove(self, path: str) -> None:
        with self._turn(path):
            try:
                self.behind.remove(path)
            finally:
                self._forget(path)

    def remove_folder(self, path: str) -> None:
        self.behind.remove_folder(path)

    def _forget(self, path: str) -> None:
        name = self.fs._mapper(self.fs._strip_protocol(path))
        for folder in self.fs.storage:
            with suppress(OSError):  # not cached, or a read-only folder
                os.remove(os.path.join(folder, name))


class LoopedFiles:
    """An asynchronous filesystem, called from any thread, run by its own loop."""

    requests = REQUESTS

    def __init__(self, fs: Any, deadline: float) -> None:
        self.fs = fs
        self.deadline = deadline
        self.http = filesystems.is_http(fs)

    def _call(self, method: Callable[..., Any], *args: Any, **options: Any) -> Any:
        work = partial(method, *args, **options)
        return deadlines.run(work, self.deadline, self.fs.loop)

    # -- reading ------------------------------------------------------------------------------
    async def _fetch(self, path: str, byte_range: ByteRange | None) -> bytes:
        if self.http:
            return await fsspec_http.fetch(self.fs, path, *(byte_range or ByteRange(0)))
        start, stop = byte_range or (None, None)
        return bytes(await self.fs._cat_file(path, start=start, end=stop))

    def read(self, path: str, byte_range: ByteRange | None) -> bytes:
        return bytes(self._call(self._fetch, path, byte_range))

    def read_many(self, requests: Sequence[Request]) -> list[bytes | BaseException]:
        work = [partial(self._fetch, *request) for request in requests]
        return deadlines.run_all(work, self.deadline, REQUESTS, self.fs.loop)

    def info(self, path: str) -> FileInfo:
        self.fs.invalidate_cache()
        if self.http:
            return dict(self._call(fsspec_http.info, self.fs, path))
        return dict(self._call(self.fs._info, path))

    def entries(self, path: str) -> list[FileInfo]:
        self.fs.invalidate_cache()
        return list(self._call(self.fs._ls, path, detail=True))

    def find(self, path: str) -> list[str]:
        base = filesystems.implementation("asyn").AsyncFileSystem
        if type(self.fs)._find is not base._find:
            self.fs.invalidate_cache()
            return list(self._call(self.fs._find, path))
        return _walk(path, self._listed)

    def _listed(self, folders: Sequence[str]) -> list[list[FileInfo]]:
        self.fs.invalidate_cache()
        # A web server lists a folder only under its own URL.
        paths = [folder.rstrip("/") + "/" if self.http else folder for folder in folders]
        work = [partial(self.fs._ls, path) for path in paths]
        listed: list[list[FileInfo]] = []
        for answer in deadlines.run_all(work, self.deadline, _LISTINGS, self.fs.loop):
            if isinstance(answer, FileNotFoundError) and len(folders) > 1:
                listed.append([])  # removed while its neighbours were listed
            elif isinstance(answer, BaseException):
                raise answer
            else:
                listed.append(list(answer))
        return listed

    # -- writing ------------------------------------------------------------------------------
    def write(self, path: str, value: bytes, create: bool = False) -> None:
        options = {"mode": "create"} if create else {}
        _in_folder(
            _ONCE_MORE,
            partial(self._call, self.fs._pipe_file, path, value, **options),
            partial(self._call, self.fs._makedirs, path.rpartition("/")[0], exist_ok=True),
        )

    def remove(self, path: str) -> None:
        self._call(self.fs._rm_file, path)

    def remove_folder(self, path: str) -> None:
        raise NotImplementedError  # object stores have none; `rmdir` may mean the bucket
