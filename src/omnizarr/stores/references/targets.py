"""Find and read the files that references name.

A reference file may come from anywhere, and could name any file of this machine. So the files that
it may name are bounded: those below its own folder, and what `allow` lists: folders, and beginnings
of URLs. By default that is every web server and object store, and no other local file.

Every origin (a folder, a server, a bucket) is one store. Ranges of one file that are close together
are read as one. An answer that is missing or shorter than the reference promises is an error.

This module knows URLs and ranges. It must not know reference documents.
"""

from __future__ import annotations

import os
import re
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import unquote

from omnizarr import limits
from omnizarr.errors import ErrorLocation, InvalidKeyError, StoreAccessError, StoreError
from omnizarr.model.paths import is_key
from omnizarr.model.store import Buffer, ByteRange, Read, Store
from omnizarr.runtime import parallel
from omnizarr.stores.references.options import RemoteOptions, digest, identity_of
from omnizarr.stores.secrets import Secret, masked_url

REMOTE = (
    *("https://", "http://", "s3://", "s3a://", "gs://", "gcs://"),
    *("az://", "azure://", "abfs://", "abfss://", "adl://"),
)
"""The beginnings of URLs that may be read unless `allow` says otherwise."""
MERGED = 16 * limits.MIB
"""A merged range is not extended beyond this."""

_MOST_KNOWN = 32 * limits.MIB
_PRIVATE = ("_base", "_options", "_given")
"""What may hold secrets."""
_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://")


class Target(NamedTuple):
    store: Store
    key: str


class WantedRange(NamedTuple):
    """One part of a file, and the reference that names it."""

    target: Target
    byte_range: ByteRange
    where: ErrorLocation


class Targets:
    """Finds the store and key of a URL.

    base: the folder or URL of the reference file; None if it has none.
    allow: what may be read besides; folders and beginnings of URLs.
    options: for the stores that hold the files.
    stores: for each protocol a store (or a filesystem of fsspec), or options for one.
    """

    def __init__(
        self,
        base: str | None,
        allow: Iterable[str],
        options: Mapping[str, Any],
        stores: Mapping[str, Any],
        protocol: str | None,
    ) -> None:
        self._base = base
        self._options = RemoteOptions(options, protocol)
        self._given = dict(stores)
        self._protocol = None if protocol in ("file", "local") else protocol
        allowed = list(allow)
        self._prefixes = tuple(item for item in allowed if _scheme(item) not in ("", "file"))
        folders = [item.removeprefix("file://") for item in allowed if item not in self._prefixes]
        self._roots = [os.path.abspath(folder) for folder in folders]
        if base is not None and not _scheme(base):
            self._roots.insert(0, base)
        self._known: dict[str, Target] = {}
        self._known_length = 0
        self._opened: dict[str, Store] = {}

    def __getstate__(self) -> dict[str, Any]:
        hidden = {name: Secret(self.__dict__[name]) for name in _PRIVATE}
        return self.__dict__ | hidden | {"_known": {}, "_known_length": 0, "_opened": {}}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.__dict__.update({name: state[name].value for name in _PRIVATE})

    @property
    def identity(self) -> Hashable:
        """Equal for two that find the same files; secrets are left out."""
        own = digest(
            self._base,
            sorted(self._prefixes),
            sorted(self._roots),
            self._protocol,
            self._options.told,
        )
        return own, *((name, identity_of(given)) for name, given in sorted(self._given.items()))

    def close(self) -> None:
        opened, self._opened, self._known = self._opened, {}, {}
        for store in opened.values():
            store.close()

    def find(self, url: str) -> Target:
        target = self._known.get(url)
        if target is None:
            target = self._find(url)
            self._known_length += len(url) + len(target.key) + 200
            if self._known_length > _MOST_KNOWN:
                self._known.clear()
                self._known_length = 0
            self._known[url] = target
        return target

    def _find(self, url: str) -> Target:
        scheme = _scheme(url)
        if not scheme and "::" in url.partition("/")[0]:
            return self._remote(url, url.partition("::")[0])
        if not scheme and self._protocol:
            return self._remote(f"{self._protocol}://{url.lstrip('/')}", self._protocol)
        if not scheme and self._base is not None and _scheme(self._base) and url[:1] != "/":
            # Beside a reference file that was itself opened by a URL.
            return self._remote(_beside(self._base, url), _scheme(self._base))
        if scheme in ("", "file", "local"):
            return self._local(url[len(scheme) + 3 :] if scheme else url, url)
        return self._remote(url, scheme)

    # -- local files --------------------------------------------------------------------------
    def _local(self, path: str, url: str) -> Target:
        if "\0" in path or not path:
            raise InvalidKeyError(f"the reference to {url!r} names no file")
        if "://" in path:
            raise StoreAccessError(
                f"a reference names {masked_url(url)!r}, which is neither a URL nor a path"
            )
        if "file" in self._given:
            return self._in_given("file", path.lstrip("/"), url)
        local = self._base if self._base is not None and not _scheme(self._base) else None
        if local is not None:
            path = os.path.join(local, path)
        elif not os.path.isabs(path):
            raise StoreAccessError(
                f"a reference names the local file {url!r}, relative to a folder that is not known:"
                " give the reference as a file, or its targets as absolute paths"
            )
        for name in dict.fromkeys((path, unquote(path))):
            normal = os.path.normpath(name)
            for root in self._roots:
                for folder in dict.fromkeys((root, os.path.realpath(root))):
                    begin = folder.rstrip("/" + os.sep) + os.sep
                    key = normal[len(begin) :].replace(os.sep, "/")
                    if normal.startswith(begin) and is_key(key) and os.path.lexists(normal):
                        return Target(self._open(folder), key)
        allowed = any(
            os.path.normpath(path).startswith(root.rstrip("/" + os.sep) + os.sep)
            for root in self._roots
        )
        if allowed:
            raise StoreError(f"a reference names the local file {path!r}, which does not exist")
        raise StoreAccessError(
            f"a reference names the local file {path!r}, which is outside of the folder of the"
            f" reference file; pass allow=[{os.path.dirname(os.path.normpath(path))!r}] if it may"
            " be read, or allow_local=True if every local file may be"
        )

    # -- others -------------------------------------------------------------------------------
    def _remote(self, url: str, scheme: str) -> Target:
        places = self._prefixes if self._base is None else (*self._prefixes, self._base)
        if scheme not in self._given and not any(_is_below(url, place) for place in places):
            raise StoreAccessError(
                f"a reference names {masked_url(url)!r}, which is not among what it may;"
                f" pass allow=[{scheme + '://'!r}] if you trust it"
            )
        if scheme in self._given and not isinstance(self._given[scheme], Mapping):
            return self._in_given(scheme, url.partition("://")[2], url)
        if "::" in url:
            origin, _, path = url.rpartition("/")
            return self._target(origin, path, url)
        rest, _, query = url.partition("?") if scheme in ("http", "https") else (url, "", "")
        authority, _, path = rest.partition("://")[2].partition("/")
        if scheme in ("http", "https"):
            path = unquote(path)
        origin = f"{scheme}://{authority}" + (f"/?{query}" if query else "")
        return self._target(origin, path, url)

    def _target(self, origin: str, path: str, url: str) -> Target:
        if not is_key(path):
            raise InvalidKeyError(f"a reference names {masked_url(url)!r}, which names no file")
        return Target(self._open(origin), path)

    def _in_given(self, scheme: str, path: str, url: str) -> Target:
        origin = scheme
        given = self._given[scheme]
        if scheme in ("http", "https") and not isinstance(given, Store):
            # Filesystems of fsspec take whole URLs there.
            authority, _, path = path.partition("/")
            origin = f"{scheme}://{authority}"
        if not is_key(path):
            raise InvalidKeyError(f"a reference names {masked_url(url)!r}, which names no file")
        if origin not in self._opened:
            if origin == scheme:
                from omnizarr.stores.resolve import as_store

                store = as_store(given, read_only=True)
            else:
                from omnizarr.stores.fsspec.store import FsspecStore

                store = FsspecStore(given, origin, read_only=True)
            self._opened[origin] = store
        return Target(self._opened[origin], path)

    def _open(self, origin: str) -> Store:
        store = self._opened.get(origin)
        if store is None:
            scheme = _scheme(origin)
            chained = "::" in origin.partition("/")[0]
            if scheme or chained:
                from omnizarr.stores.resolve import as_store

                options = self._options.all if chained else self._given.get(scheme)
                if options is None:
                    options = self._options.of(origin, scheme)
                self._options.refuse_ignored(origin, scheme, options)
                store = as_store(origin, read_only=True, storage_options=options)
            else:
                from omnizarr.stores.local.store import LocalStore

                store = LocalStore(origin, read_only=True)
            store = self._opened.setdefault(origin, store)
        return store


def read(wanted: Sequence[WantedRange]) -> list[Buffer]:
    """All the parts, each exactly as long as its range says."""
    order: dict[tuple[int, str], list[int]] = {}
    for index, item in enumerate(wanted):
        order.setdefault((id(item.target.store), item.target.key), []).append(index)
    groups = [group for indices in order.values() for group in _merge(wanted, indices)]
    answers: list[Any] = [None] * len(wanted)

    def fetch(group: list[int]) -> None:
        first = wanted[group[0]]
        start = first.byte_range.start
        stop = max(wanted[index].byte_range.stop or 0 for index in group)
        data = part(first.target, ByteRange(start, stop), first.where)
        view = memoryview(data)
        for index in group:
            begin, end = wanted[index].byte_range
            whole = (begin, end) == (start, stop)
            answers[index] = data if whole else view[begin - start : (end or 0) - start]

    workers = max((item.target.store.capabilities.requests for item in wanted), default=1)
    parallel.each(fetch, groups, workers)
    return answers


def part(
    target: Target, byte_range: ByteRange, where: ErrorLocation, snapshot: Read | None = None
) -> Buffer:
    """A part of a file, all of it or an error; of one version, if a snapshot is given."""
    start, stop = byte_range.start, byte_range.stop or 0
    if start >= stop:
        return b""
    if snapshot is not None:
        data = snapshot(byte_range)
    else:
        data = target.store.get(target.key, byte_range)
    if data is None or len(data) != stop - start:
        found = "there is no such file" if data is None else f"found {len(data)} bytes"
        raise StoreError(
            f"the reference promises {stop - start} bytes at offset {start} of"
            f" {target.key!r} in {target.store!r}; {found}"
        ).at(where)
    return data


def _merge(wanted: Sequence[WantedRange], indices: list[int]) -> Iterator[list[int]]:
    """Parts of one file, in groups that are close together."""
    gap = wanted[indices[0]].target.store.capabilities.gap
    group: list[int] = []
    start = stop = 0
    for index in sorted(indices, key=lambda index: wanted[index].byte_range):
        begin, end = wanted[index].byte_range.start, wanted[index].byte_range.stop or 0
        if group and (begin > stop + gap or max(end, stop) - start > MERGED):
            yield group
            group = []
        if not group:
            start = stop = begin
        group.append(index)
        stop = max(stop, end)
    if group:
        yield group


def _scheme(url: str) -> str:
    match = _URL.match(url)
    return "" if match is None else match[1].lower()


def _is_below(url: str, place: str) -> bool:
    """Whether a URL is another one or below it."""
    rest = url[len(place) :]
    return url.startswith(place) and (place.endswith("/") or rest[:1] in ("", "/", "?"))


def _beside(base: str, path: str) -> str:
    """A relative path below the URL of a folder."""
    names: list[str] = []
    for name in path.split("/"):
        if name == ".." and names:
            names.pop()
        elif name not in (".", ""):
            names.append(name)
    return f"{base.rstrip('/')}/{'/'.join(names)}"
