"""Open a file by its path or URL, and tell its kind from its first bytes.

Local files are named by their real path: the store of references follows no link. Other files are
read through the store of their folder, with the options of the user.

This module knows paths, URLs and first bytes. It must not know what is in a file.
"""

from __future__ import annotations

import glob
import io
import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from fnmatch import fnmatchcase
from typing import IO, Any, Literal, NamedTuple, Self

from omnizarr.errors import NodeNotFoundError, StoreError, UnsupportedError, ZarrError
from omnizarr.model.store import ByteRange, Store
from omnizarr.stores import as_store
from omnizarr.stores.secrets import masked_url

Kind = Literal["hdf5", "netcdf3", "tiff", "grib", "npy", "npz"]
KINDS: dict[Kind, tuple[bytes, ...]] = {
    "hdf5": (b"\x89HDF\r\n\x1a\n",),
    "netcdf3": (b"CDF\x01", b"CDF\x02", b"CDF\x05"),
    "tiff": (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+"),
    "grib": (b"GRIB",),
    "npy": (b"\x93NUMPY",),
    "npz": (),
}
_ZIP = (b"PK\3\4", b"PK\5\6")
"""How npz files begin. A zipped Zarr begins so too, so that the suffix decides."""
_USER_BLOCKS = [0, *(512 << n for n in range(12))]
"""Where an HDF5 file may begin, behind other bytes; larger blocks need kind="hdf5"."""
_BUFFER = 1 << 18
_WILD = set("*?[")


class Place(NamedTuple):
    """A file: what references call it, and how it is read."""

    url: str
    options: Mapping[str, object]

    def __repr__(self) -> str:
        return f"Place({self.shown!r})"

    @property
    def shown(self) -> str:
        """Its name for messages, without secrets."""
        return self.url if self.local else masked_url(self.url)

    @property
    def local(self) -> bool:
        return "://" not in self.url

    def open(self) -> IO[bytes]:
        """The file for reading, with a position; a regular file, if it is local."""
        if not self.local:
            folder, name = _split(self.url)
            raw = _Remote(as_store(folder, read_only=True, storage_options=self.options), name)
            return io.BufferedReader(raw, _BUFFER)
        if not os.path.isfile(self.url):
            raise NodeNotFoundError(f"there is no file {self.url!r}")
        return open(self.url, "rb")


class _Remote(io.RawIOBase):
    """A value of a store as a file."""

    def __init__(self, store: Store, key: str) -> None:
        self._store, self._key, self._position = store, key, 0
        size = store.size(key)
        if size is None:
            raise NodeNotFoundError("there is no such file").at(store, key=key)
        self._size = size

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = 0) -> int:
        self._position = offset + (0, self._position, self._size)[whence]
        return self._position

    def readinto(self, buffer: Any) -> int:
        stop = min(self._position + len(buffer), self._size)
        if stop <= self._position:
            return 0
        data = self._store.get(self._key, ByteRange(self._position, stop))
        if data is None or len(data) != stop - self._position:
            raise StoreError("the file changed while it was read").at(self._store, key=self._key)
        buffer[: len(data)] = data
        self._position = stop
        return len(data)

    def close(self) -> None:
        if not self.closed:
            self._store.close()
        super().close()


def find(source: object, options: Mapping[str, object] | None) -> list[Place]:
    """The files that a path, a URL, a pattern or a list of them means. Patterns are sorted."""
    if isinstance(source, str | os.PathLike):
        return _expand(os.fspath(source), options or {})
    if not hasattr(source, "__iter__"):
        raise TypeError(f"expected a path, a URL, or a list of them; found {source!r}")
    places = [place for item in source for place in _expand(os.fspath(item), options or {})]
    if not places:
        raise ValueError("the list of files is empty")
    return places


def _expand(name: str, options: Mapping[str, object]) -> list[Place]:
    name = name.removeprefix("file://")
    if "://" not in name:
        if not _WILD & {*name} or os.path.exists(name):
            return [Place(os.path.realpath(name), options)]
        found = sorted(map(os.path.realpath, glob.iglob(name, recursive=True)))
        names = [path for path in found if os.path.isfile(path)]
    elif _WILD & {*name} and "?" not in name:  # a question mark begins a query
        folder, pattern = _split(name)
        with as_store(folder, read_only=True, storage_options=options) as store:
            keys = sorted(store.list_dir("").keys)
        names = [f"{folder}/{key}" for key in keys if fnmatchcase(key, pattern)]
    else:
        names = [name]
    if not names:
        raise NodeNotFoundError(f"no file matches {name!r}")
    return [Place(found, options) for found in names]


def _split(url: str) -> tuple[str, str]:
    plain, mark, query = url.partition("?")
    folder, _, name = plain.rpartition("/")
    return folder + (f"/?{query}" if mark else ""), name


class Excluded(frozenset[str]):
    """What is to be left out, as `exclude=` of `convert` has it: paths and patterns."""

    met: set[str]
    """The patterns that left something out."""

    def __new__(cls, patterns: Iterable[str] = ()) -> Self:
        made = super().__new__(cls, patterns)
        made.met = set()
        return made

    def __contains__(self, path: object) -> bool:
        found = {each for each in self if fnmatchcase(str(path), each)}
        self.met |= found
        return bool(found)


def leaves_out(skip: frozenset[str], path: str) -> bool:
    """Whether `skip` means a path: by itself or by its last name, unless it has patterns."""
    return path in skip or (not isinstance(skip, Excluded) and path.rpartition("/")[2] in skip)


def leave_out(error: ZarrError, skip: frozenset[str], path: str) -> ZarrError:
    """The error with the advice to leave out what it is about."""
    if isinstance(skip, Excluded):
        return error.advise("{} leaves it out", ("exclude", path))
    return error.advise(f"leave it out with skip=[{path!r}]")


def kind_of_bytes(begin: bytes) -> Kind | None:
    """The kind of a file that begins with these bytes; None if none does."""
    for kind, magics in KINDS.items():
        if begin.startswith(magics):
            return kind
    return None


def is_npz(name: str) -> bool:
    """Whether a path or URL has the suffix of npz files."""
    return name.partition("?")[0].lower().endswith(".npz")


def kind_of(place: Place) -> Kind:
    """The kind of a file, by its first bytes."""
    with place.open() as file:
        begin = file.read(8)
        found = kind_of_bytes(begin)
        if found is not None:
            return found
        if begin.startswith(_ZIP) and is_npz(place.url):
            return "npz"
        with suppress(OSError, ZarrError):
            for offset in _USER_BLOCKS:
                file.seek(offset)
                if file.read(8) == KINDS["hdf5"][0]:
                    return "hdf5"
    if not begin:
        raise UnsupportedError(f"{place.shown!r} is an empty file")
    raise UnsupportedError(
        f"{place.shown!r} begins with {begin!r}, which is neither HDF5 nor NetCDF, TIFF, GRIB,"
        " NumPy's npy or npz"
    ).advise(f"if it is, say so with kind= ({', '.join(KINDS)})")
