"""npz files of NumPy as facts: a ZIP archive of npy files, each an array with the member's name.

Members that are stored without compression (`numpy.savez`) are spans of the archive, cut as in
`npy`. Compressed ones (`numpy.savez_compressed`) have no span that could be read by itself: they
are inflated and held, as long as all of them together are small.

The directory of the archive, its offsets and its sizes are checked as in the store of ZIP archives,
and a compressed member can inflate to no more than was declared and allowed.

This module knows npz files. It must not know how facts are stored.
"""

from __future__ import annotations

import io
import os
import zlib
from collections.abc import Iterator
from typing import IO, NamedTuple

import numpy as np

from omnizarr import limits
from omnizarr.api.virtual.facts import VirtualArray, VirtualFile, held
from omnizarr.api.virtual.files import Place
from omnizarr.api.virtual.npy import Names, located
from omnizarr.api.virtual.npy_header import Header, read_header
from omnizarr.errors import LimitError, MetadataError, StoreError, UnsupportedError, ZarrError
from omnizarr.model.codec import Json
from omnizarr.model.paths import is_key
from omnizarr.stores.zip.content import STORED, inflated
from omnizarr.stores.zip.records import Member, ReadAt, data_start, read_directory

HELD_TOGETHER = 64 * limits.MIB
"""So much of compressed members may be held."""
_SUFFIX = ".npy"


class Found(NamedTuple):
    """A member that is an array."""

    path: str
    entry: Member
    begin: int
    """Where its content begins in the archive."""

    @property
    def compressed(self) -> bool:
        return self.entry.method != STORED


def scan(place: Place, wanted: frozenset[str], skip: frozenset[str]) -> VirtualFile:
    """The arrays of an archive. `wanted`: paths of those whose values are wanted, if they are
    small; `skip`: names and paths to leave out."""
    arrays: dict[str, VirtualArray] = {}
    names = Names()
    room = HELD_TOGETHER
    with place.open() as file:
        try:
            members = list(arrays_in(file, skip))
            for found in members:
                try:
                    content = Content(file, found)
                    header = content.header
                    if found.compressed:
                        room -= header.nbytes
                        arrays[found.path] = _held(content, names, room)
                    else:
                        begin = found.begin + header.size
                        arrays[found.path] = located(
                            file, place.url, header, begin, names, found.path, wanted
                        )
                except ZarrError as error:
                    told = error.at(f"array {found.path!r}")
                    raise told.advise(f"leave it out with skip=[{found.path!r}]") from error
        except ZarrError as error:
            raise error.at(f"{place.shown!r}") from error
    return VirtualFile(place.shown, groups_of(arrays), arrays)


def arrays_in(file: IO[bytes], skip: frozenset[str] = frozenset()) -> Iterator[Found]:
    """The members of an archive that are arrays, checked for names that cannot be."""
    size = file.seek(0, os.SEEK_END)
    directory = read_directory(_reader(file), size)
    paths: set[str] = set()
    for entry in directory.entries:
        path = _path_of(entry)
        if path in skip or path.rpartition("/")[2] in skip:
            continue
        if path in paths:
            raise MetadataError(f"two members of the archive are called {path + _SUFFIX!r}")
        paths.add(path)
        if not entry.name.endswith(_SUFFIX.encode()):
            raise UnsupportedError(
                f"{path!r} in it is no npy file, so that this is no archive of NumPy's"
            ).advise(f"leave it out with skip=[{path!r}]; open a zipped Zarr with omnizarr.open")
        yield Found(path, entry, data_start(_reader(file), entry, directory.start))
    for path in paths:
        parent = path
        while parent := parent.rpartition("/")[0]:
            if parent in paths:
                raise UnsupportedError(
                    f"the array {parent!r} has another, {path!r}, below it; in Zarr it cannot"
                ).advise(f"leave it out with skip=[{path!r}]")


def _path_of(entry: Member) -> str:
    try:
        name = entry.name.decode()
    except UnicodeDecodeError:
        name = entry.name.decode("cp437")
    path = name.removesuffix(_SUFFIX)
    if not is_key(path):
        raise MetadataError(f"a member of the archive is called {name!r}, which names no array")
    return path


def groups_of(arrays: dict[str, VirtualArray]) -> dict[str, dict[str, Json]]:
    """The groups that the paths of arrays need, and the root."""
    groups: dict[str, dict[str, Json]] = {"": {}}
    for path in arrays:
        while path := path.rpartition("/")[0]:
            groups[path] = {}
    return groups


class Content(io.RawIOBase):
    """The bytes of a member from begin to end, inflated piece by piece, and its header. They can be
    no more than the directory declares, and at the end their checksum is compared."""

    def __init__(self, file: IO[bytes], found: Found) -> None:
        self._pieces = inflated(_reader(file), found.entry, found.begin)
        self._declared, self._checksum = found.entry.size, found.entry.crc
        self._waiting = memoryview(b"")
        self._seen = self._crc = 0
        self.header: Header = read_header(self)
        nbytes = self.header.size + self.header.nbytes
        if nbytes != self._declared:
            raise MetadataError(
                f"an array of shape {self.header.shape} and {self.header.dtype} takes {nbytes}"
                f" bytes, and the member has {self._declared}"
            )

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        """So many bytes, or fewer at the end."""
        if size < 0:
            size = self._declared - self._seen
        parts = []
        while size > 0:
            if not self._waiting and not self._next():
                break
            part = self._waiting[:size]
            self._waiting = self._waiting[len(part) :]
            size -= len(part)
            parts.append(part)
        return b"".join(parts)

    def _next(self) -> bool:
        piece = next(self._pieces, None)
        if piece is None:
            return False
        self._seen += len(piece)
        self._crc = zlib.crc32(piece, self._crc)
        self._waiting = memoryview(piece)
        return True

    def finish(self) -> None:
        """Raise unless this was all, and what was written."""
        while self._next():
            pass
        if self._seen != self._declared or self._crc != self._checksum:
            raise StoreError(
                f"the member's {self._seen} bytes have the checksum {self._crc:08x}; the directory"
                f" says {self._declared} and {self._checksum:08x}: it was damaged"
            )


def _held(content: Content, names: Names, room: int) -> VirtualArray:
    shape, dtype, order, _ = content.header
    if room < 0:
        raise LimitError(
            "compressed members are inflated and held, in all no more than"
            f" {HELD_TOGETHER} bytes: write the file with numpy.savez, which does not compress,"
            " or import it with omnizarr.convert"
        )
    data = content.read(content.header.nbytes)
    content.finish()
    array = VirtualArray(shape, shape, dtype, names.of(shape))
    return held(np.frombuffer(data, dtype).reshape(shape, order=order), array)


def _reader(file: IO[bytes]) -> ReadAt:
    def read(offset: int, length: int) -> bytes:
        file.seek(offset)
        return file.read(length)

    return read
