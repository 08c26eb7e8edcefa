"""From what a person types to a node: a folder, an archive, a database, a URL, or a path that
leads into one.

A path may go on inside the store: `data.zarr/group/array`. Some formats keep all metadata in one
place, so the store is looked for from the path upwards. This module knows paths of files and the
public API; `cli.urls` knows URLs. It must not know formats.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import Any

import omnizarr
from omnizarr.cli import urls
from omnizarr.errors import MetadataError, NodeNotFoundError, ZarrError
from omnizarr.stores import Store, ZipStore, as_store, store_kind

_ZIP = b"PK"
_JOURNALS = {
    ".omnizarr-convert.json": ("conversion", "convert"),
    ".omnizarr-import.json": ("conversion of a table", "convert"),
    ".omnizarr-copy.json": ("copy", "cp"),
    ".omnizarr-sync.json": ("synchronization", "sync"),
}
"""What is stored until a command is finished: what it does, and its name."""
DELETING = ".omnizarr-delete.json"
"""What is stored until a deletion is finished."""
_FEW = 24
"""How many folders are looked into for a hint."""


def add_arguments(parser: Any, *, zarr_format: bool = False) -> None:
    """The arguments that name a node: PATH, NODE and the options of the store."""
    parser.add_argument(
        "path",
        metavar="PATH",
        help="a folder, a .zip archive, a database, a URL, or a path into one",
    )
    urls.add_option(parser)
    parser.add_argument("node", metavar="NODE", nargs="?", help="a path inside the store")
    if zarr_format:
        parser.add_argument(
            "--zarr-format", metavar="F", help="look at the node of this format where there are two"
        )


class Problem(Exception):
    """Something a person must change: one line, and what may help."""

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.hint = hint


class Problems(Exception):
    """Several of them, which are told at once."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__("; ".join(map(str, problems)))
        self.problems = tuple(problems)


@dataclass(frozen=True)
class StoredAt:
    """A store that exists, and a path in it."""

    file: str
    """The folder, archive or database, or a URL."""
    path: str
    archive: bool = False
    options: Mapping[str, Any] = field(default_factory=dict, repr=False)
    virtual: bool = False
    """Whether it is a file of another format (HDF5, NetCDF, TIFF, GRIB), which is only read."""

    def open(self, mode: str = "r") -> Store:
        """Open the store. The caller closes it."""
        if self.virtual and mode == "r":
            return omnizarr.virtualize(self.file).store
        if self.archive and mode == "r":
            return ZipStore(self.file, mode="r")
        return open_store(self.file, self.options, mode)

    def __str__(self) -> str:
        return f"{self.shown}/{self.path}" if self.path else self.shown

    @property
    def shown(self) -> str:
        """The folder, archive or URL, without the passwords and signatures that a URL may hold."""
        return urls.masked(self.file) if urls.is_url(self.file) else self.file

    @property
    def kind(self) -> str:
        if urls.is_url(self.file):
            return "URL"
        if self.virtual:
            return "file of another format"
        known = None if self.archive else store_kind(self.file)
        return "zip archive" if self.archive else known.title if known else "folder"


def open_store(file: str, options: Mapping[str, Any], mode: str) -> Store:
    """The store that a path or URL means, with the options that a person gave."""
    if set(options) == {"follow_symlinks"} and not (urls.is_url(file) or os.path.isfile(file)):
        # Only reading follows: nothing outside the store is written or deleted.
        if mode == "r" and options["follow_symlinks"] is True and os.path.isdir(file):
            return omnizarr.LocalStore(file, read_only=True, follow_symlinks=True)
        options = {}
    if options and not urls.takes_options(file):
        raise Problem(
            f"{file}: a folder or an archive has no options",
            "--storage-option goes with a URL or a database",
        )
    try:
        return as_store(file, mode=mode, storage_options=options or None)
    except (TypeError, ValueError) as error:
        if isinstance(error, ZarrError):
            raise
        raise Problem(urls.hidden(str(error), options)) from error


def destination(path: str) -> tuple[str, str]:
    """The store to open for writing, and the path in it. A path may lead into a database or
    archive that exists or not."""
    if urls.is_url(path):
        scheme = path.partition("://")[0].lower()
        return next(urls.places(path, "")) if scheme in urls.DATABASES else (path, "")
    store_kind(path)  # which refuses a URL without its slashes
    path = os.path.expanduser(path)
    file, inner = os.path.normpath(path), ""
    while file and file != os.path.dirname(file):
        known = store_kind(file)
        if known is not None or (file.lower().endswith(".zip") and not os.path.isdir(file)):
            return (file, inner) if inner else (path, "")
        if os.path.lexists(file):
            break
        file, name = os.path.split(file)
        inner = _joined(name, inner)
    return path, ""


Given = Sequence[tuple[str, Any]]
"""The options of a store, as they were typed."""


def shared(given: Given, source: str, target: str) -> tuple[Given, Given]:
    """Options for a source and a destination, to each those that it knows."""
    sides = [[each for each in given if _knows(file, *each)] for file in (source, target)]
    unknown = [name for name, _ in given if all(name not in dict(side) for side in sides)]
    if unknown:
        # Told as for one store, with the names that are known.
        for file in (source, target):
            open_store(file, dict(each for each in given if each[0] in unknown), "r").close()
        raise Problem(f"neither the source nor the destination knows {', '.join(unknown)}")
    return sides[0], sides[1]


def _knows(file: str, name: str, value: Any) -> bool:
    """Whether a store does not refuse the option for its name; nothing is asked or made."""
    try:
        as_store(file, mode="r", storage_options={name: value}).close()
    except TypeError as error:
        named = re.search(rf"(?<!\w){re.escape(name)}(?! must)(?!\w)", str(error))
        return named is None
    except (ZarrError, OSError, ValueError):
        pass  # which is told when the store is opened
    return True


@contextmanager
def opened(
    path: str, node: str | None = None, zarr_format: str | None = None, options: Given = ()
) -> Iterator[tuple[StoredAt, Any]]:
    """The array or group that a person means, for reading; closed at the end. It may be in a file
    of another format (HDF5, NetCDF, TIFF, GRIB)."""
    try:
        place, found = find(path, node, zarr_format, options)
    except (Problem, ZarrError) as error:
        place, found = _in_file(path, node, error)
    try:
        yield place, found
    finally:
        found.store.close()


def find(
    path: str, node: str | None = None, zarr_format: str | None = None, options: Given = ()
) -> tuple[StoredAt, Any]:
    """The array or group, and where it was found."""
    places = every(path, node, options)
    missing: list[tuple[StoredAt, NodeNotFoundError]] = []
    for place in places:
        try:
            return place, _open(place, zarr_format)
        except NodeNotFoundError as error:
            missing.append((place, error))
        except (ZarrError, OSError):
            # An error above the given path counts only if nothing is found.
            if place is places[0]:
                raise
    if zarr_format is not None:
        place, found = find(path, node, options=options)
        found.store.close()
        raise Problem(
            f"{place}: no array or group of format {zarr_format}",
            f"there is one of format {found.zarr_format}",
        )
    raise _nothing(path, missing)


def _in_file(path: str, node: str | None, no_store: Exception) -> tuple[StoredAt, Any]:
    """The same in a file of another format; else the error that there is no store is raised."""
    file, inner = os.path.expanduser(path), (node or "").strip("/")
    while file and not os.path.lexists(file):
        file, name = os.path.split(file)
        inner = _joined(name, inner)
    group = None
    if not urls.is_url(path) and os.path.isfile(file):
        try:
            group = omnizarr.virtualize(file)
        except (ZarrError, ValueError):
            if "omnizarr.virtualize" in str(no_store):  # its format is known: this says what fails
                raise
    if group is None:
        raise no_store
    place = StoredAt(file, inner, virtual=True)
    try:
        return place, group[inner] if inner else group
    except NodeNotFoundError as error:
        raise Problem(f"{place}: no array or group", error.hint) from error


def locate(path: str, node: str | None = None, options: Given = ()) -> StoredAt:
    """Where that array or group is; its metadata need not be readable."""
    try:
        place, found = find(path, node, options=options)
    except MetadataError:
        return every(path, node, options)[0]
    found.store.close()
    return place


def in_group(path: str, node: str | None = None, options: Given = ()) -> StoredAt:
    """Where a node is; an array as a member of the group around it, if there is one."""
    here = locate(path, node, options)
    places = every(path, node, options)
    for place in places[places.index(here) :] if here in places else ():
        folder, _, _ = place.path.rpartition("/")
        with suppress(ZarrError, OSError):
            found = _open(place)
            found.store.close()
            if isinstance(found, omnizarr.Group):
                break
            if place.path:
                _open(replace(place, path=folder)).store.close()
                return place
    return here


def nearest(path: str, node: str | None = None, options: Given = ()) -> StoredAt:
    """Where that array or group is; if there is none, the first place that the path may mean."""
    try:
        return locate(path, node, options)
    except Problem:
        place = every(path, node, options)[0]
        if not urls.is_url(place.file) and not urls.exists(place.file):
            raise
        return place


def _open(place: StoredAt, zarr_format: str | None = None) -> Any:
    store = place.open()
    try:
        return omnizarr.open(store, mode="r", path=place.path, zarr_format=zarr_format)
    except BaseException:
        store.close()
        raise


def every(path: str, node: str | None = None, options: Given = ()) -> list[StoredAt]:
    """Every store that the path may mean, the nearest first."""
    given = dict(options)
    return [replace(place, options=given) for place in _candidates(path, (node or "").strip("/"))]


def _candidates(path: str, inner: str) -> Iterator[StoredAt]:
    if urls.is_url(path):
        yield from (StoredAt(url, below) for url, below in urls.places(path, inner))
        return
    if not path:
        raise Problem("the path is empty", "name a folder, a .zip archive or a URL")
    store_kind(path)  # which refuses a URL without its slashes
    path = os.path.expanduser(path)
    outer = os.path.normpath(path)
    while not urls.exists(outer):
        outer, name = os.path.split(outer)
        inner = _joined(name, inner)
        outer = outer or os.curdir
    if not os.path.isdir(outer):
        if not os.path.lexists(outer):
            yield StoredAt(outer, inner)
        elif is_archive(outer):
            yield StoredAt(outer, inner, archive=True)
        elif (known := store_kind(outer)) is not None and not (
            known.existing and _is_store(os.path.dirname(outer) or os.curdir)
        ):
            yield StoredAt(outer, inner)
        else:
            raise _no_store(outer)
        return
    yield StoredAt(outer, inner)
    absolute = os.path.abspath(outer)
    while os.path.dirname(absolute) != absolute:
        absolute, name = os.path.split(absolute)
        inner = _joined(name, inner)
        yield StoredAt(absolute if os.path.isabs(outer) else os.path.relpath(absolute), inner)


def _joined(name: str, path: str) -> str:
    return f"{name}/{path}" if path else name


def is_archive(path: str) -> bool:
    """Whether a file begins as a zip archive."""
    if os.path.exists(path) and not os.path.isfile(path):  # a pipe would hold us up
        raise Problem(f"{path}: it is neither a regular file nor a folder")
    try:
        with open(path, "rb") as file:
            return file.read(2) == _ZIP
    except PermissionError as error:
        raise Problem(f"{path}: it may not be read ({error.strerror})", _PERMISSION) from error
    except OSError as error:
        raise Problem(f"{path}: {error.strerror or error}") from error


_PERMISSION = "ask its owner, or look with ls -l who may read it"


# -- what to say when nothing is found ---------------------------------------------------------


def _no_store(file: str) -> Problem | ZarrError:
    """The error for a file that is neither a folder nor an archive."""
    folder = os.path.dirname(file) or os.curdir
    message = f"{file}: it is a file, but no zip archive"
    if _is_store(folder):
        return Problem(message, f"it belongs to the store {folder}; name that folder")
    try:
        as_store(file, mode="r").close()
    except ZarrError as error:
        return error
    return Problem(message)


def _is_store(folder: str) -> bool:
    try:
        omnizarr.open(folder, mode="r")
    except (ZarrError, OSError):
        return False
    return True


def _nothing(path: str, missing: list[tuple[StoredAt, NodeNotFoundError]]) -> Problem:
    """The problem of a path that leads to no node in any of the stores it may mean."""
    nearest, first = missing[0]
    for journal, (what, command) in _JOURNALS.items():
        if _is_unfinished(nearest, journal):
            return Problem(
                f"{nearest}: a {what} into this place is unfinished, so nothing opens yet",
                f"run the same omnizarr {command} again to finish it",
            )
    if _is_unfinished(nearest, DELETING):
        return Problem(
            f"{nearest}: its deletion is unfinished, so nothing opens",
            f"omnizarr rm {nearest} --yes finishes it",
        )
    for place, error in missing:
        if place.path and error.hint:
            return Problem(f"{place}: no array or group", error.hint)
    if nearest.kind == "folder" and not os.path.lexists(path):
        beside = near(os.path.basename(path), _names(os.path.dirname(path) or os.curdir))
        hint = f"did you mean {os.path.join(os.path.dirname(path), beside)}?" if beside else None
        return Problem(f"{path}: no such file or folder", hint)
    return Problem(_shortly(first.reason), _stores_inside(nearest))


def _is_unfinished(place: StoredAt, journal: str) -> bool:
    """Whether something was begun in this place and not finished."""
    if place.kind == "URL":
        return False
    with suppress(ZarrError, OSError), place.open() as store:
        return store.get(f"{place.path}/{journal}".lstrip("/")) is not None
    return False


def _shortly(message: str) -> str:
    return message.replace("no array or group at path '/': ", "no array or group: ")


def near(name: str, names: list[str]) -> str | None:
    """The name that is most like another one; None if none is."""
    from difflib import get_close_matches

    folded = {candidate.lower(): candidate for candidate in names}
    found = get_close_matches(name.lower(), folded, n=1, cutoff=0.6)
    return folded[found[0]] if found else None


def _names(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


def _stores_inside(place: StoredAt) -> str | None:
    """Stores one level down, which is what a person may have meant."""
    if place.kind != "folder":
        return None
    names = sorted(_names(place.file))
    if not names:
        return "the folder is empty"
    found = []
    for name in names[:_FEW]:
        below = os.path.join(place.file, name)
        if os.path.isdir(below):
            try:
                omnizarr.open(below, mode="r")
            except (ZarrError, OSError):
                continue
            found.append(below)
    if not found:
        return None
    more = f" and {len(found) - 3} more" if len(found) > 3 else ""
    return f"it contains {', '.join(found[:3])}{more}"
