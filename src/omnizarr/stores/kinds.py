"""Which module serves which URL, file or foreign object: one table, read when a store is opened.

Each module named here is imported when it is first needed and offers what its row promises:

    open_url(url, *, mode, read_only, options) -> Store     for the row's schemes
    open_path(path, *, mode, read_only, options) -> Store   for paths that the row recognises
    adopt(obj, *, read_only) -> Store | None                for objects of the row's packages

`options` is what the user gave as `storage_options` (a new dict, empty if nothing was given). A
module says which names it does not know, and never shows values: they may be secrets.

This module knows names. It must not import any of the stores.
"""

from __future__ import annotations

import importlib
import os
import re
import stat
import sys
from typing import Any, NamedTuple

from omnizarr.errors import StoreError
from omnizarr.model.store import Store


class StoreKind(NamedTuple):
    """How stores of one kind are recognised and opened."""

    module: str
    """Below `omnizarr.stores`."""
    title: str = ""
    """The usual name for a file of this kind."""
    schemes: tuple[str, ...] = ()
    """Schemes of URLs, without "://"."""
    suffixes: tuple[str, ...] = ()
    """Endings of names of local files or folders."""
    folder: bool = False
    """Whether a folder with such a name is of this kind too."""
    existing: bool = False
    """Whether this kind is only read, never created."""
    magic: bytes = b""
    """The first bytes of such a file, whatever its name."""
    packages: tuple[str, ...] = ()
    """Packages whose objects `adopt` takes, and subclasses of them."""

    def holds(self, path: str) -> bool:
        """Whether this process has the file open as this kind."""
        module = sys.modules.get(f"omnizarr.stores.{self.module}")
        return module is not None and bool(module.is_open(path))

    def is_there(self, path: str) -> bool:
        """Whether a database is at a path though no file has that name: DBM adds endings."""
        return self.module == "databases.dbm" and any(
            os.path.exists(path + ending) for ending in (".dat", ".dir", ".db", ".pag")
        )

    def load(self) -> Any:
        return importlib.import_module(f"omnizarr.stores.{self.module}")


KINDS: tuple[StoreKind, ...] = (
    StoreKind(
        "cloud.store",
        schemes=("s3", "s3a", "gs", "gcs", "az", "azure", "abfs", "abfss", "adl"),
        packages=("obstore", "obspec"),
    ),
    StoreKind("http.store", schemes=("http", "https")),
    StoreKind("zarr_python.store", packages=("zarr", "omnizarr", "icechunk", "virtualizarr")),
    StoreKind("fsspec.store", packages=("fsspec",)),
    StoreKind(
        "databases.sqlite",
        title="SQLite database",
        schemes=("sqlite",),
        suffixes=(".sqlite", ".sqlite3", ".sqldb"),
        magic=b"SQLite format 3\0",
    ),
    StoreKind(
        "databases.lmdb",
        title="LMDB database",
        schemes=("lmdb",),
        suffixes=(".lmdb",),
        folder=True,
        packages=("lmdb",),
    ),
    StoreKind("databases.dbm", title="DBM database", schemes=("dbm",), suffixes=(".dbm",)),
    StoreKind(
        "databases.redis",
        schemes=("redis", "rediss", "valkey", "valkeys"),
        packages=("redis", "valkey"),
    ),
    StoreKind("databases.mongodb", schemes=("mongodb", "mongodb+srv"), packages=("pymongo",)),
    StoreKind(
        "references.store",
        title="reference file",
        schemes=("reference",),
        suffixes=(".json", ".json.zst", ".json.gz", ".parq", ".parquet"),
        folder=True,
        existing=True,
    ),
)


_WITH_SUFFIXES = tuple(kind for kind in KINDS if kind.suffixes)
_SUFFIXES = tuple(suffix for kind in KINDS for suffix in kind.suffixes)
_OTHER_SCHEMES = frozenset(
    {
        "dropbox", "file", "ftp", "gdrive", "github", "hdfs", "hf", "memory", "oci", "oss", "sftp",
        "smb", "ssh", "tar", "webdav", "webhdfs", "zip",
    }
)  # fmt: skip
"""Schemes that resolve and fsspec know."""
_ABSOLUTE = frozenset({"dbm", "file", "lmdb", "sqlite"})
"""Schemes of local files, whose absolute paths have a third slash."""
_BROKEN = re.compile(r"\s*([A-Za-z][A-Za-z0-9+.-]+):(?!//|:)([/\\]?)")
_SCHEME = re.compile(r"\s*[A-Za-z][A-Za-z0-9+.-]*:")
_LINKS = re.compile(r"::(?=[A-Za-z][A-Za-z0-9+.-]*:)")
"""The separator of a chain of URLs: `simplecache::s3://bucket/x`."""


def is_broken_url(text: str) -> bool:
    """Whether a text is a URL without its two slashes (`s3:/bucket`), as pathlib makes it, or a
    chain with such a URL."""
    if _SCHEME.match(text) is None:
        return False
    return any(_broken(link) is not None for link in _LINKS.split(text))


def _broken(link: str) -> re.Match[str] | None:
    match = _BROKEN.match(link)
    scheme = match[1].lower() if match is not None else ""
    return match if scheme in _OTHER_SCHEMES or for_scheme(scheme) is not None else None


def broken_url(text: str) -> str:
    """The message for such a text, without secrets."""
    repaired = "::".join(map(_repaired, _LINKS.split(text)))
    local = f"./{text.strip().partition(':')[0]}:…"
    return (
        f"a URL has two slashes behind its scheme: expected {repaired!r}. Give a URL as a str (a"
        f" pathlib.Path removes a slash), or {local!r} for a local folder of that name"
    )


def _repaired(link: str) -> str:
    """A URL, or one of a chain, with its slashes and without its secrets."""
    from omnizarr.stores.secrets import SHOWN, masked_url  # only for errors

    match = _broken(link)
    if match is None:
        # A text that is no URL may be a part of a password that has "::" in it.
        return masked_url(link) if "//" in link or "@" not in link else SHOWN
    root = "/" if match[2] and match[1].lower() in _ABSOLUTE else ""
    return masked_url(f"{match[1]}://{root}{link[match.end() :].lstrip('/')}")


def refuse_url(path: str) -> None:
    """Raise a StoreError if a local path is a URL; its password is not shown."""
    if ":" not in path:
        return
    if is_broken_url(path):
        raise StoreError(broken_url(path))
    scheme, mark, _ = path.strip().partition("://")
    if mark and (scheme.lower() in _OTHER_SCHEMES or for_scheme(scheme.lower()) is not None):
        from omnizarr.stores.secrets import masked_url

        raise StoreError(
            f"{masked_url(path)!r} is a URL, expected a path; open it with"
            " omnizarr.stores.as_store(url)"
        )


def for_scheme(scheme: str) -> StoreKind | None:
    return next((kind for kind in KINDS if scheme in kind.schemes), None)


def nearest_scheme(scheme: str) -> str | None:
    """The known scheme that an unknown one is most like; None if it is like none."""
    from difflib import get_close_matches  # only for errors

    known = {*_OTHER_SCHEMES, *(name for kind in KINDS for name in kind.schemes)}
    found = get_close_matches(scheme, sorted(known), n=1, cutoff=0.8)
    return found[0] if found and found[0] != scheme else None


def fsspec_kind() -> StoreKind:
    """The kind for chained URLs and for schemes that no other kind knows."""
    return next(kind for kind in KINDS if kind.module == "fsspec.store")


def mode_of(path: str) -> int:
    """The mode of whatever is at a path; 0 if nothing is."""
    try:
        return os.stat(path).st_mode
    except (OSError, ValueError):
        return 0


def for_path(path: str, mode: int | None = None) -> StoreKind | None:
    """The kind of a local file or folder; None for a plain folder of keys. `mode` is what `mode_of`
    has given a moment ago."""
    name = path.lower().rstrip("/")
    if mode is None:
        mode = mode_of(path)
    for kind in _WITH_SUFFIXES if name.endswith(_SUFFIXES) else ():
        if name.endswith(kind.suffixes):
            fits = (kind.folder or not stat.S_ISDIR(mode)) and (mode or not kind.existing)
            if fits:
                return kind
    if not stat.S_ISREG(mode):  # reading a pipe could block for ever
        return None
    for kind in KINDS:
        if kind.magic and kind.holds(path):
            return kind  # closing another descriptor of the file would release its POSIX locks
    with open(path, "rb") as file:
        begin = file.read(32)
    return next((kind for kind in KINDS if kind.magic and begin.startswith(kind.magic)), None)


def store_kind(path: str) -> StoreKind | None:
    """Tell which kind of store a local file or folder is opened as.

    Parameters
    ----------
    path
        A path of the file system; nothing needs to be there.

    Returns
    -------
    Kind | None
        Its `title` names the kind; None for a plain folder or a zip archive.

    Raises
    ------
    StoreError
        If the path is a URL without its two slashes.

    Examples
    --------
    >>> store_kind("climate.sqlite").title
    'SQLite database'
    >>> store_kind("climate.zarr") is None
    True
    """
    if is_broken_url(path):
        raise StoreError(broken_url(path))
    return for_path(path)


def container_of(path: str) -> str | None:
    """The database or archive that a path leads into ("x.sqlite/group/array"); None if it leads
    into folders only."""
    if os.path.lexists(path):
        return None
    above = os.path.dirname(path.rstrip("/" + os.sep))
    while above and above != os.path.dirname(above):
        kind = for_path(above)
        if kind is not None and (os.path.exists(above) or kind.is_there(above)):
            return above
        if os.path.lexists(above):
            archive = os.path.isfile(above) and above.lower().endswith(".zip")
            return above if archive else None
        above = os.path.dirname(above)
    return None


def adopt(obj: Any, *, read_only: bool) -> Store | None:
    """The store for an object of another library; None if no module knows it."""
    origins = {cls.__module__.partition(".")[0] for cls in type(obj).__mro__}
    # A type of an extension module (lmdb's) may not say where it comes from.
    origins |= {
        name
        for kind in KINDS
        for name in kind.packages
        if getattr(sys.modules.get(name), type(obj).__name__, None) is type(obj)
    }
    for kind in KINDS:
        # A library that was never imported has no objects.
        if origins.intersection(kind.packages) and any(name in sys.modules for name in origins):
            store: Store | None = kind.load().adopt(obj, read_only=read_only)
            if store is not None:
                return store
    return None
