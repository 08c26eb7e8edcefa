"""`FsspecStore`: any filesystem of fsspec as a store: hundreds of places, chained and cached ones.

fsspec tells neither versions of a file apart nor locks it. So a whole value is replaced at once
where the filesystem can do that (object stores, memory, local files, SFTP), but two processes that
change parts of one chunk or shard at the same time may lose a change: give each its own chunks,
or use the store that omnizarr has for the place (`ObjectStore`, `LocalStore`, …), as URLs do.

This module knows keys and paths. It must not know how a filesystem is called (`calls`).
"""

from __future__ import annotations

import os
from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, NoReturn
from urllib.parse import quote, unquote

from omnizarr.errors import (
    InvalidKeyError,
    NotListableError,
)
from omnizarr.keywords import suggests
from omnizarr.model.paths import check_key, check_prefix, is_key
from omnizarr.model.store import (
    Buffer,
    ByteRange,
    Capabilities,
    Listing,
    Read,
    Store,
    span,
)
from omnizarr.stores.exact_ranges import answered, exact
from omnizarr.stores.fsspec import filesystems
from omnizarr.stores.fsspec.calls import FileInfo, Files, files_of
from omnizarr.stores.fsspec.constructors import FsspecConstructors
from omnizarr.stores.fsspec.faults import cause, failure, is_missing, status_of
from omnizarr.stores.local.store import LocalStore
from omnizarr.stores.local.temporary_names import RESERVED, is_reserved
from omnizarr.stores.memory import snapshot_of
from omnizarr.stores.retries import RetryPolicy, attempts
from omnizarr.stores.secrets import Secret, masked_url, secrets_in, secrets_in_url, without

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem

DEADLINE = 60.0
_MIB = 1 << 20
_CONFLICTS = RetryPolicy(10, first_delay=0.01, cap=0.1)
_NOT_HTTP = "/!$&'()*+,;=:@~"


class FsspecStore(FsspecConstructors, Store):
    """The files below a path of any filesystem of fsspec.

    Parameters
    ----------
    url_or_fs
        A URL, chained or not, or a filesystem.
    path
        Path in the filesystem, or below the URL.
    storage_options
        Arguments for the filesystem of a URL.
    read_only
        Refuse every change.
    deadline
        Seconds after which a request is given up; retries of the filesystem are included.
    dimension_separator
        What new arrays have between chunk coordinates; None: the default of the format.

    Examples
    --------
    >>> store = omnizarr.stores.FsspecStore("memory://example/data.zarr")
    >>> store.set("key", b"value")
    >>> store.fs.cat_file("/example/data.zarr/key")
    b'value'
    """

    @suggests
    def __init__(
        self,
        url_or_fs: str | os.PathLike[str] | AbstractFileSystem,
        path: str = "",
        *,
        storage_options: Mapping[str, object] | None = None,
        read_only: bool = False,
        deadline: float = DEADLINE,
        dimension_separator: Literal[".", "/"] | None = None,
    ) -> None:
        base = filesystems.implementation("spec").AbstractFileSystem
        if isinstance(url_or_fs, base):
            if storage_options:
                raise TypeError("storage_options make the filesystem of a URL; here is one already")
            fs, root, shown = url_or_fs, path, None
        elif isinstance(url_or_fs, str | os.PathLike):
            url = os.fspath(url_or_fs)
            fs, root = filesystems.filesystem_of(url, dict(storage_options or {}))
            root = f"{root.rstrip('/')}/{path}" if path else root
            shown = f"{url.rstrip('/')}/{path}" if path else url
        else:
            raise TypeError(
                f"expected a URL or a filesystem of fsspec, found {type(url_or_fs).__name__}"
            )
        root = str(fs._strip_protocol(root))
        fs, root = filesystems.unwrapped(fs, root)
        if getattr(fs, "asynchronous", False) and filesystems.is_asynchronous(fs):
            fs = filesystems.renewed(fs)  # one that does not depend on the caller's loop
        self.root = root.rstrip("/")
        given = frozenset(secrets_in([fs.storage_options, list(fs.storage_args)]))
        if shown is None:
            at = self.root.lstrip("/")
            shown = at if "://" in at else f"{filesystems.protocol_of(fs)}://{at}"
        self.url = masked_url(without(shown, given))
        """The URL, without secrets."""
        self._secrets = given.union(secrets_in_url(shown))
        self.deadline = deadline
        self.read_only = read_only or filesystems.is_read_only(fs)
        if dimension_separator is not None:
            self.dimension_separator = dimension_separator
        self._use(fs)

    def _use(self, fs: Any) -> None:
        self._files: Files = files_of(fs, self.deadline)
        self._process = os.getpid()
        self._http = filesystems.is_http(fs)
        behind = filesystems.innermost(fs)
        self._reserves = filesystems.renames(behind)
        self._folders = filesystems.has_folders(behind)
        # Filesystems that fetch large files in parts ask for the size first, unless a part of the
        # file is wanted.
        self._whole = ByteRange(0) if filesystems.is_asynchronous(fs) else None
        remote = self._files.requests > 1
        self.capabilities = Capabilities(
            ranges=not filesystems.is_memory(fs),
            conditional=filesystems.creates(behind) and not self.read_only,
            requests=self._files.requests,
            gap=_MIB if remote else Capabilities().gap,
        )

    @property
    def fs(self) -> AbstractFileSystem:
        """The filesystem, rebuilt in a forked child."""
        return self._calls.fs

    @property
    def _calls(self) -> Files:
        if self._process != os.getpid():
            fs = self._files.fs
            self._use(fs if filesystems.is_memory(fs) else filesystems.renewed(fs))
        return self._files

    @property
    def identity(self) -> Hashable:
        fs = filesystems.innermost(self._files.fs)
        if filesystems.is_local(fs):
            return "local", os.path.realpath(self.root)
        return "fsspec", filesystems.place_of(fs), filesystems.untold(self.root, self._secrets)

    def locate(self, key: str) -> tuple[Hashable, str]:
        place = self.identity
        if isinstance(place, tuple) and place[0] == "fsspec":
            return place[:2], f"{place[2].strip('/')}/{key}".lstrip("/")
        return place, key

    def above(self, names: Collection[str]) -> Iterator[Store]:
        parent, _, name = self.root.rpartition("/")
        while parent:
            if name in names:
                yield FsspecStore(self.fs, parent, read_only=True, deadline=self.deadline)
            parent, _, name = parent.rpartition("/")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.url!r})"

    def __getstate__(self) -> dict[str, Any]:
        fs = self._files.fs
        if filesystems.is_memory(fs) and getattr(fs, "global_store", True):
            raise TypeError(
                f"{self!r} lives in the memory of this process and cannot be pickled to another"
            )
        state = {name: value for name, value in self.__dict__.items() if name != "_files"}
        # Options, arguments and the path itself may hold secrets.
        return {"_opened": Secret((fs, state))}

    def __setstate__(self, state: dict[str, Any]) -> None:
        fs, own = state["_opened"].value
        self.__dict__.update(own)
        self._use(fs)

    # -- paths --------------------------------------------------------------------------------
    def _path(self, key: str) -> str:
        check_key(key)
        if self._reserves and RESERVED in key and is_reserved(key):
            raise InvalidKeyError(
                f"invalid key {key!r}: names that begin with {RESERVED!r} are reserved"
            ).at(self)
        if self._http:
            key = quote(key, safe=_NOT_HTTP)
        return f"{self.root}/{key}" if self.root else key

    def _folder(self, prefix: str) -> str:
        return self._path(check_prefix(prefix)[:-1]) if prefix else self.root

    def _key(self, name: str) -> str | None:
        """The key of a path that a listing showed; None if it is none of ours."""
        root = self.root + "/" if self.root else ""
        if root == "" or self.root.startswith("/"):
            name = "/" + name.lstrip("/") if root else name.lstrip("/")
        if not name.startswith(root):
            return None
        key = name[len(root) :]
        if self._http:
            if "?" in key or "#" in key:
                return None  # a link that sorts the page
            key = unquote(key)
        if not is_key(key) or (self._reserves and is_reserved(key)):
            return None
        return key

    def _fail(
        self, doing: str, error: BaseException, *, key: str | None = None, path: str | None = None
    ) -> NoReturn:
        """Raise our own error for an exception of the filesystem."""
        ours = failure(error, doing, self._secrets).at(self, key=key, path=path)
        raise ours from cause(error, self._secrets)

    # -- readable -----------------------------------------------------------------------------
    def get(self, key: str, byte_range: ByteRange | None = None) -> Buffer | None:
        part = byte_range or self._whole
        return exact(part, partial(self._fetch, key), partial(self.size, key))

    def _fetch(self, key: str, byte_range: ByteRange | None) -> Buffer | None:
        path = self._path(key)
        try:
            return self._calls.read(path, byte_range)
        except Exception as error:
            return self._answer(key, error)

    def _answer(self, key: str, answer: Buffer | BaseException) -> Buffer | None:
        """The value that the filesystem gave; None if it raised that the file is missing."""
        if not isinstance(answer, BaseException):
            return answer
        if not is_missing(answer):
            self._fail("read", answer, key=key)
        return None

    def get_many(self, requests: Sequence[tuple[str, ByteRange | None]]) -> list[Buffer | None]:
        parts = [byte_range or self._whole for _, byte_range in requests]
        paths = [(self._path(key), part) for (key, _), part in zip(requests, parts, strict=True)]
        for part in parts:
            span(part or ByteRange(0), 0)
        if self.capabilities.requests < 2 or len(requests) < 2:
            return [self.get(key, byte_range) for key, byte_range in requests]
        try:
            answers = self._calls.read_many(paths)
        except Exception as error:
            self._fail("read many values", error)
        settled: list[Buffer | None] = []
        for (key, _), part, answer in zip(requests, parts, answers, strict=True):
            fetch = answered(part, partial(self._answer, key, answer), partial(self._fetch, key))
            settled.append(exact(part, fetch, partial(self.size, key)))
        return settled

    def snapshot(self, key: str) -> AbstractContextManager[Read]:
        if not filesystems.is_memory(self._files.fs):
            return super().snapshot(key)
        return snapshot_of(self.get(key))

    def size(self, key: str) -> int | None:
        path = self._path(key)
        try:
            info = self._calls.info(path)
        except Exception as error:
            if is_missing(error):
                return None
            self._fail("read its size", error, key=key)
        if info.get("type") == "directory":
            return None
        size = info.get("size")
        if size is not None:
            return int(size)
        value = self._fetch(key, None)
        return None if value is None else len(value)

    # -- writeable ----------------------------------------------------------------------------
    def set(self, key: str, value: Buffer) -> None:
        self.check_writable()
        path = self._path(key)
        try:
            self._calls.write(path, bytes(value))
        except Exception as error:
            self._fail("write", error, key=key)

    def set_if_absent(self, key: str, value: Buffer) -> bool:
        self.check_writable()
        path = self._path(key)
        if not self.capabilities.conditional:
            return super().set_if_absent(key, value)
        for attempt in attempts(_CONFLICTS):
            try:
                self._calls.write(path, bytes(value), create=True)
                return True
            except Exception as error:
                taken = isinstance(error, FileExistsError) or _status(error) == 412
                conflict = _status(error) == 409  # another writer creates it at this moment
                if (taken or conflict) and self.exists(key):
                    return False
                if not conflict or attempt.number == _CONFLICTS.attempts:
                    self._fail("write", error, key=key)
        raise AssertionError("unreachable: the last attempt raises")

    def delete(self, key: str) -> None:
        self.check_writable()
        path = self._path(key)
        try:
            self._calls.remove(path)
        except Exception as error:
            if not is_missing(error) and self.size(key) is not None:
                self._fail("delete", error, key=key)
            return
        self._prune(key)

    def _prune(self, key: str) -> None:
        """Remove the folders above a deleted file that are empty now, but never the root."""
        if not self._folders:
            return
        while "/" in key:
            key = key.rpartition("/")[0]
            try:
                self._calls.remove_folder(self._path(key))
            except Exception:
                return  # not empty, not there, or not ours to remove

    # -- listable -----------------------------------------------------------------------------
    def list_prefix(self, prefix: str) -> Iterator[str]:
        found = self._listed(prefix, self._calls.find)
        keys = {key for name in found if (key := self._key(name)) is not None}
        return iter(sorted(key for key in keys if key.startswith(prefix)))

    def list_dir(self, prefix: str) -> Listing:
        keys: set[str] = set()
        prefixes: set[str] = set()
        for entry in self._listed(prefix, self._entries):
            key = self._key(str(entry["name"]).rstrip("/"))
            if key is None or not key.startswith(prefix) or "/" in key[len(prefix) :]:
                continue
            if entry["type"] == "directory":
                prefixes.add(key + "/")
            elif key != prefix[:-1]:
                keys.add(key)
        return Listing(sorted(keys), sorted(prefixes))

    def _entries(self, path: str) -> list[FileInfo]:
        return self._calls.entries(path + "/" if self._http else path)

    def _listed(self, prefix: str, ask: Any) -> list[Any]:
        path = self._folder(prefix)
        try:
            found: list[Any] = ask(path)
            return found
        except Exception as error:
            if not is_missing(error):
                self._fail("list", error, path=prefix.strip("/"))
            if self._http and not prefix:
                raise NotListableError(
                    "the server shows no list of its files; open a node by its path, or use"
                    " consolidated metadata"
                ).at(self) from cause(error, self._secrets)
        if self._http:
            # "No such folder" is believed only where the server lists folders.
            self._listed("", self._entries)
        return []


def _status(error: BaseException) -> int | None:
    found = status_of(error)
    return status_of(error.__cause__) if found is None and error.__cause__ is not None else found


class FSStore(FsspecStore):
    """`FsspecStore` with the name and arguments of zarr-python 2.

    Parameters
    ----------
    url
        A URL, or a path in `fs`.
    normalize_keys
        Read and write keys in lower case.
    key_separator
        Another name of `dimension_separator`.
    mode
        "r" refuses changes; no other mode removes anything.
    dimension_separator
        What new arrays have between chunk coordinates; None: the default of the format.
    fs
        A filesystem of fsspec, in place of the one of `url`.
    check
        Write and delete a key, to raise early where that fails.
    create
        Create the directory.
    **storage_options
        Arguments for the filesystem of `url`.

    Examples
    --------
    >>> store = omnizarr.stores.FSStore("memory://example/old.zarr", key_separator="/")
    >>> omnizarr.zeros((4, 6), chunks=(2, 3), store=store, overwrite=True).zarr_format
    3
    """

    def __init__(
        self,
        url: str,
        normalize_keys: bool = False,
        key_separator: Literal[".", "/"] | None = None,
        mode: str = "w",
        dimension_separator: Literal[".", "/"] | None = None,
        fs: AbstractFileSystem | None = None,
        check: bool = False,
        create: bool = False,
        **storage_options: object,
    ) -> None:
        storage_options.pop("exceptions", None)  # the store itself decides what is missing
        storage_options.pop("missing_exceptions", None)
        if fs is not None and storage_options:
            raise ValueError("storage_options make the filesystem of a URL; fs= is one already")
        self.normalize_keys = normalize_keys
        self.mode = mode
        super().__init__(
            url if fs is None else fs,
            "" if fs is None else url,
            storage_options=storage_options or None,
            read_only=mode == "r",
            dimension_separator=dimension_separator or key_separator,
        )
        if create and not self.read_only:
            self.fs.makedirs(self.root, exist_ok=True)
        if check and not self.read_only:
            self.set("~check", b"")  # raises where nothing can be written
            self.delete("~check")

    def _path(self, key: str) -> str:
        return super()._path(key.lower() if self.normalize_keys and is_key(key) else key)


# -- for `stores.kinds` -------------------------------------------------------------


def open_url(url: str, *, mode: str | None, read_only: bool, options: dict[str, Any]) -> Store:
    """The store of a URL, which may be chained."""
    archive = _local_archive(url)
    if archive is not None and not options:
        from omnizarr.stores.resolve import as_store

        return as_store(archive, mode=mode, read_only=read_only)
    fs, path = filesystems.filesystem_of(url, options)
    local = _local(fs, path, read_only)
    if local is not None:
        return local
    return FsspecStore(url, storage_options=options, read_only=read_only)


def adopt(obj: Any, *, read_only: bool) -> Store | None:
    """The store of a filesystem (all of it) or of a mapper."""
    mapper = filesystems.implementation("mapping").FSMap
    if isinstance(obj, mapper):
        fs, path = obj.fs, str(obj.root)
    elif isinstance(obj, filesystems.implementation("spec").AbstractFileSystem):
        fs, path = obj, ""
    else:
        return None
    return _local(fs, path, read_only) or FsspecStore(fs, path, read_only=read_only)


def _local(fs: Any, path: str, read_only: bool) -> Store | None:
    """A `LocalStore` for local files, which it serves better."""
    fs, path = filesystems.unwrapped(fs, path)
    if not filesystems.is_local(fs):
        return None
    return LocalStore(str(fs._strip_protocol(path)), read_only=read_only)


def _local_archive(url: str) -> str | None:
    """The path of a local archive that `zip::/path/x.zip` names."""
    outer, _, inner = url.partition("::")
    path = inner.removeprefix("file://")
    plain = "::" not in inner and "://" not in path
    return path if outer in ("zip", "zip://") and plain and path.endswith(".zip") else None
