"""`read`: an npz file with compressed members of any size as a group.

`virtualize` holds compressed members, and so only small ones. Here they are inflated into a
temporary folder, piece by piece, and converted from there. The checksum of each is compared before
anything of it is written. Without compressed members this is `convert` of what `virtualize` shows,
and resumes as that does; with them an import that was killed begins anew.

This module knows npz files and folders. It must not know what a conversion does.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any

from omnizarr import limits
from omnizarr.api.arguments import StorageOptions
from omnizarr.api.opening import open_group
from omnizarr.api.virtual.facts import VirtualArray, VirtualFile
from omnizarr.api.virtual.files import Place, find
from omnizarr.api.virtual.npy import Names, located
from omnizarr.api.virtual.npz import Content, Found, arrays_in, groups_of
from omnizarr.api.virtual.output import references
from omnizarr.errors import StoreError, ZarrError
from omnizarr.jobs.conversion.job import convert
from omnizarr.jobs.conversion.report import Conversion
from omnizarr.nodes.group import Group
from omnizarr.stores import StoreLike
from omnizarr.stores.references.store import ReferenceStore

_PIECE = 4 * limits.MIB


def read(
    file: str | os.PathLike[str],
    destination: StoreLike,
    *,
    storage_options: StorageOptions | None = None,
    **options: Any,
) -> Conversion:
    """Import an npz file, compressed or not.

    Parameters
    ----------
    file
        A path or URL.
    destination
        A path, a URL or a store.
    storage_options
        Options for the store of the file.
    **options
        What `omnizarr.convert` takes besides: ``path``, ``chunks``, ``progress`` …

    Raises
    ------
    MetadataError
        If the file is damaged.
    StoreError
        If a member is damaged, or there is no room for what the members inflate to.

    Examples
    --------
    >>> np.savez_compressed("run.npz", a=np.arange(3))
    >>> report = read("run.npz", "run.zarr")
    >>> omnizarr.open_group("run.zarr", mode="r")["a"][:]
    array([0, 1, 2])
    """
    [place] = find(file, storage_options)
    with opened(place) as group:
        return convert(group, destination, **options)


def has_compressed(place: Place) -> bool:
    """Whether a member is compressed, so that `opened` shows more than `virtualize`."""
    with place.open() as file:
        try:
            return any(found.compressed for found in arrays_in(file))
        except ZarrError as error:
            raise error.at(f"{place.shown!r}") from error


@contextmanager
def opened(place: Place) -> Iterator[Group]:
    """The file as a group. It can be read until the end of the block."""
    with tempfile.TemporaryDirectory(prefix="omnizarr-npz-") as folder:
        facts = _facts(place, os.path.realpath(folder))
        beside = os.path.dirname(place.url) if place.local else place.url.rpartition("/")[0]
        store = ReferenceStore(
            references(facts), allow=[os.path.realpath(folder), beside],
            remote_options=place.options,
        )  # fmt: skip
        with store:
            yield open_group(store, mode="r")


def _facts(place: Place, folder: str) -> VirtualFile:
    """What is in the file; compressed members in a folder."""
    names = Names()
    arrays: dict[str, VirtualArray] = {}
    with place.open() as file:
        try:
            members = list(arrays_in(file))
            _check_room(folder, sum(each.entry.size for each in members if each.compressed))
            for number, found in enumerate(members):
                try:
                    arrays[found.path] = _array(file, place, found, names, f"{folder}/{number}")
                except ZarrError as error:
                    raise error.at(f"array {found.path!r}") from error
        except ZarrError as error:
            raise error.at(f"{place.shown!r}") from error
    return VirtualFile(place.shown, groups_of(arrays), arrays)


def _array(file: IO[bytes], place: Place, found: Found, names: Names, path: str) -> VirtualArray:
    content = Content(file, found)
    header = content.header
    if not found.compressed:
        return located(file, place.url, header, found.begin + header.size, names, found.path, ())
    with open(path, "wb") as out:
        while piece := content.read(_PIECE):
            out.write(piece)
    content.finish()
    with open(path, "rb") as values:
        return located(values, path, header, 0, names, found.path, ())


def _check_room(folder: str, nbytes: int) -> None:
    free = shutil.disk_usage(folder).free
    if nbytes > free:
        raise StoreError(
            f"compressed members inflate to {nbytes} bytes, and there are {free} free in {folder!r}"
        ).advise("name a folder with more room in the environment variable TMPDIR")
