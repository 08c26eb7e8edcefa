"""`export`: an array or a group as a file of another format.

The file is written under another name beside its destination, flushed, and renamed at the end: the
destination is what it was, or whole. What a killed export leaves is removed by the next one.
"""

from __future__ import annotations

import inspect
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from functools import wraps
from math import prod
from typing import Any, ParamSpec, TypeVar

from omnizarr.api.arguments import StorageOptions
from omnizarr.api.opening import open as open_node
from omnizarr.errors import (
    NodeExistsError,
    ObstaclesError,
    OverlapError,
    StoreError,
    UnsupportedError,
    ValueChangedError,
)
from omnizarr.jobs.exporting.formats import has_suffix, options_of, writers
from omnizarr.jobs.exporting.report import ExportedArray, ExportReport
from omnizarr.jobs.importing.files import opened
from omnizarr.jobs.importing.table_conversion import is_table
from omnizarr.jobs.memory import MemoryLike
from omnizarr.keywords import nearest, refuse_unknown
from omnizarr.model.store import Store
from omnizarr.nodes.array import Array
from omnizarr.nodes.group import Group
from omnizarr.runtime.progress import ProgressLike, Reporter
from omnizarr.runtime.sizes import as_bytes
from omnizarr.stores import StoreLike
from omnizarr.stores.local.temporary_names import is_abandoned, temporary_name

P = ParamSpec("P")
R = TypeVar("R")
_MOST_TOLD = 10
_ABANDONED_SECONDS = 24 * 3600.0


def _suggests(function: Callable[P, R]) -> Callable[P, R]:
    """`suggests`, with the options of all writers among the names that are known."""
    own = frozenset(inspect.signature(function).parameters) - {"options"}

    @wraps(function)
    def checked(*args: P.args, **kwargs: P.kwargs) -> R:
        if not own.issuperset(kwargs):
            options = set().union(*map(options_of, writers()))
            refuse_unknown(kwargs, own | options, "export")
        return function(*args, **kwargs)

    return checked


@_suggests
def export(
    source: StoreLike | Array | Group,
    destination: str | os.PathLike[str],
    *,
    path: str = "",
    to: str | None = None,
    overwrite: bool = False,
    verify: bool = False,
    max_memory: MemoryLike = None,
    progress: ProgressLike = None,
    dry_run: bool = False,
    storage_options: StorageOptions | None = None,
    **options: object,
) -> ExportReport:
    """Write an array or a group, with everything below it, as a file of another format.

    Everything that the format cannot express is told at once, before anything is written. The file
    appears under its name when it is complete. Values are read chunk by chunk.

    Parameters
    ----------
    source
        A path, a URL, a mapping or a store; an array or group; or a file that `virtualize` opens.
    destination
        Path of the file.
    path
        Of the node in `source`.
    to
        The format: ``"hdf5"``, ``"netcdf"``, …; `file_formats` lists them. By default what the
        suffix of `destination` says.
    overwrite
        Replace the file that is there.
    verify
        Read the file back before it gets its name, and compare every value.
    max_memory
        For formats that can be written in larger or smaller parts: memory for one of them, such as
        ``"1 GiB"``.
    progress
        True draws a bar on a terminal; a callable gets a `Progress` after every step.
    dry_run
        Look for obstacles and print what would be written.
    storage_options
        Options for the store of a URL.
    **options
        What the format takes besides; the page "Convert files" has a section for each.

    Returns
    -------
    ExportReport
        One row for every array in ``.arrays``; print it for a table.

    Raises
    ------
    UnsupportedError
        If the format cannot express something; the message says what to do.
    NodeExistsError
        If there is a file at `destination`, and `overwrite` is False.
    ValueChangedError
        If `verify` finds another value in the file, which is then removed.

    Examples
    --------
    >>> import h5py
    >>> rain = omnizarr.array([[1.5, 2.5]], dimension_names=["y", "x"], attributes={"units": "mm"})
    >>> report = omnizarr.export(rain, "rain.h5", verify=True)
    >>> with h5py.File("rain.h5") as file:
    ...     file["data"][0], file["data"].attrs["units"]
    (array([1.5, 2.5]), 'mm')
    """
    begin = time.monotonic()
    file = _local(destination)
    writer = _writer(file, to)
    given = _options(writer, options, max_memory)
    with ExitStack() as stack:
        node = stack.enter_context(_node(source, path, storage_options))
        _check_place(node, source, file, overwrite)
        _check_expressible(writer, node, given)
        arrays = tuple(_arrays(node))
        facts = writer.NAME, str(node._place), file
        rows = tuple(
            ExportedArray(name, array.shape, str(array.dtype), array.nbytes)
            for name, array in arrays
        )
        if dry_run:
            report = ExportReport(*facts, rows, time.monotonic() - begin, dry_run=True)
            sys.stdout.write(f"{report}\n")
            return report
        total = _units(writer, node, given, arrays)
        reporter = Reporter(progress, total * (2 if verify else 1))
        stack.callback(reporter.close)
        with _replaced(file, overwrite) as temporary:
            writer.write(node, temporary, reporter.advance, **given)
            if verify:
                _verify(writer, node, temporary, file, reporter, given)
            written = os.path.getsize(temporary)
    seconds = time.monotonic() - begin
    return ExportReport(*facts, rows, seconds, verified=verify, file_size=written)


# -- what is meant --------------------------------------------------------------------------------


def _local(destination: str | os.PathLike[str]) -> str:
    if not isinstance(destination, str | os.PathLike):
        raise TypeError(f"destination is the path of a file, found {destination!r}")
    file = os.fspath(destination).removeprefix("file://")
    if "://" in file:
        raise UnsupportedError(
            "a file of another format is written to a local path, because its parts are not written"
            " in order"
        ).advise("write it locally, and copy the file")
    return os.path.abspath(os.path.expanduser(file))


def _writer(file: str, to: str | None) -> Any:
    known = writers()
    if to is not None:
        found = [each for each in known if to == each.NAME]
        names = [each.NAME for each in known]
        if not found:
            raise ValueError(f"to takes {', '.join(map(repr, names))}; found {to!r}"
                             f"{nearest(to, names)}")  # fmt: skip
        return found[0]
    fitting = [
        (len(suffix), each) for each in known for suffix in each.SUFFIXES
        if has_suffix(file, [suffix])
    ]  # fmt: skip
    if fitting:  # ".ome.tif" means more than ".tif"
        return max(fitting, key=lambda item: item[0])[1]
    suffixes = ", ".join(suffix for each in known for suffix in each.SUFFIXES)
    raise ValueError(
        f"the suffix of {os.path.basename(file)!r} names no format that can be written; say which"
        f" with to=, or use one of {suffixes}"
    )


def _options(writer: Any, given: Mapping[str, Any], max_memory: MemoryLike) -> dict[str, Any]:
    """The options for the writer; TypeError for one that it does not know."""
    known = options_of(writer)
    for name in given:
        if name not in known:
            some = ", ".join(sorted(known)) or "none"
            raise TypeError(
                f"export() got an unexpected keyword argument {name!r} for {writer.NAME!r}, whose"
                f" options are: {some}{nearest(name, known)}"
            )
    found = dict(given)
    if "max_memory" in known and max_memory is not None:
        found["max_memory"] = as_bytes(max_memory)
    return found


@contextmanager
def _node(
    source: Any, path: str, storage_options: Mapping[str, Any] | None
) -> Iterator[Array | Group]:
    if isinstance(source, Array | Group):
        if path and isinstance(source, Array):
            raise TypeError(f"path needs a group, found an array; path is {path!r}")
        yield source[path] if path else source
        return
    if is_table(source):
        raise UnsupportedError(
            f"{source!r} is a table, which is not written as another file"
        ).advise("convert it to Zarr, and that to the file")
    with opened(source, storage_options) as foreign:
        if foreign is not None:
            yield foreign[path] if path else foreign
            return
    node = open_node(source, "r", path=path or None, storage_options=storage_options)
    try:
        yield node
    finally:
        if not isinstance(source, Store):
            node._place.store.close()


def _arrays(node: Array | Group) -> Iterator[tuple[str, Array]]:
    """All arrays at and below a node, by their paths relative to it."""
    if isinstance(node, Array):
        yield "", node
        return
    for name, array in node.members(max_depth=None):
        if isinstance(array, Array):
            yield name, array


# -- before anything is written -------------------------------------------------------------------


def _check_place(node: Array | Group, source: Any, file: str, overwrite: bool) -> None:
    folder = os.path.dirname(file)
    if not os.path.isdir(folder):
        raise StoreError(f"there is no folder {folder!r}").advise("create it")
    places = [getattr(node._place.store, "path", None), source]
    real = os.path.realpath(file)
    for each in places:
        if isinstance(each, str | os.PathLike) and "://" not in os.fspath(each):
            there = os.path.realpath(os.fspath(each))
            if real == there or real.startswith(there + os.sep):
                raise OverlapError(f"the destination {file!r} is in the source, {there!r}").advise(
                    "choose another place"
                )
    if os.path.isdir(file):
        raise NodeExistsError(f"there is a folder at {file!r}").advise("choose another place")
    if os.path.lexists(file) and not overwrite:
        raise NodeExistsError(f"there is a file at {file!r} already").advise(
            "{} replaces it", ("overwrite", True)
        )


def _check_expressible(writer: Any, node: Array | Group, options: Mapping[str, Any]) -> None:
    """Tell everything that the format cannot express."""
    found = list(writer.obstacles(node, options))
    if len(found) == 1:
        raise UnsupportedError(f"{writer.NAME}: {found[0]}")
    if found:
        raise ObstaclesError.of([UnsupportedError(each) for each in found])


def _units(
    writer: Any, node: Array | Group, options: Mapping[str, Any], arrays: tuple[Any, ...]
) -> int:
    if hasattr(writer, "units"):
        return int(writer.units(node, options))
    return sum(prod(map(len, array.write_chunk_sizes)) for _, array in arrays)


# -- the file -------------------------------------------------------------------------------------


@contextmanager
def _replaced(file: str, overwrite: bool) -> Iterator[str]:
    """A path beside the file, which takes its name at the end, or is removed."""
    folder = os.path.dirname(file)
    _sweep(folder)
    temporary = os.path.join(folder, temporary_name())
    try:
        yield temporary
        with open(temporary, "rb+") as written:
            os.fsync(written.fileno())
        if overwrite:
            os.replace(temporary, file)
        else:
            _put_new(temporary, file)
    finally:
        with suppress(OSError):
            os.remove(temporary)


def _put_new(temporary: str, file: str) -> None:
    """Rename, unless another process made the file meanwhile."""
    try:
        os.link(temporary, file)
    except FileExistsError as error:
        raise NodeExistsError(f"a file appeared at {file!r} meanwhile") from error
    except OSError:  # a file system without links
        os.replace(temporary, file)


def _sweep(folder: str) -> None:
    """Remove what killed exports left in the folder."""
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            with suppress(OSError):
                if entry.is_file(follow_symlinks=False):
                    age = time.time() - entry.stat(follow_symlinks=False).st_mtime
                    if is_abandoned(entry.name, age, _ABANDONED_SECONDS):
                        os.remove(entry.path)


def _verify(
    writer: Any, node: Array | Group, temporary: str, file: str, reporter: Reporter,
    options: Mapping[str, Any],
) -> None:  # fmt: skip
    found: list[str] = []
    for each in writer.differences(node, temporary, reporter.advance, **options):
        found.append(each)
        if len(found) == _MOST_TOLD:
            break
    if found:
        listed = "; ".join(found)
        raise ValueChangedError(
            f"{file!r} was not written: read back, it differs from its source: {listed}"
        )
