"""`virtualize`: files of other formats as a group, without copying.

Files are scanned as independent tasks, on threads or an executor; what they are made of, and how
they become one, is in `omnizarr.api.virtual`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from omnizarr.api.arguments import StorageOptions
from omnizarr.api.opening import open_group
from omnizarr.api.virtual import output as writing
from omnizarr.api.virtual.facts import VirtualFile
from omnizarr.api.virtual.files import KINDS, Kind, Place, find, kind_of
from omnizarr.api.virtual.joining import join as joined
from omnizarr.api.virtual.joining import known_dimensions, stack, wanted
from omnizarr.jobs import ExecutorLike, Progress, opened, run, workers_for
from omnizarr.keywords import suggests
from omnizarr.model.paths import normalize_path
from omnizarr.nodes.group import Group
from omnizarr.runtime.progress import Reporter
from omnizarr.stores.references.store import ReferenceStore

_WORKERS = 8
"""Scans at once: mostly requests, and h5py runs one at a time."""


@suggests
def virtualize(
    source: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    *,
    kind: Kind | None = None,
    join: str | int | None = None,
    new_dim: str | Mapping[str, npt.ArrayLike] | None = None,
    group: str = "",
    skip: Iterable[str] = (),
    output: object = None,
    storage_options: StorageOptions | None = None,
    output_options: StorageOptions | None = None,
    progress: Callable[[Progress], object] | bool | None = None,
    executor: ExecutorLike = None,
) -> Group:
    """Open HDF5, NetCDF, GeoTIFF, GRIB or npy files as a group, without copying their data.

    Chunks stay where they are: the group holds references to spans of the files. Small coordinates,
    scalars and text are copied into the references. Many files become one group whose arrays are
    joined along a dimension.

    Parameters
    ----------
    source
        A path, a URL, a pattern (``"data/*.nc"``, whose matches are sorted), or a list of these.
    kind
        ``"hdf5"`` (and NetCDF-4), ``"netcdf3"``, ``"tiff"``, ``"grib"``, ``"npy"`` or ``"npz"``; by
        default what the first bytes of each file say.
    join
        The dimension along which the arrays of several files are joined: its name, or the number of
        the axis. Arrays without it must be equal in all files.
    new_dim
        In place of `join`: the name of a new dimension, with one step for each file; or a mapping
        from the name to the coordinates, a value for each file.
    group
        The group of the files to open; by default all of each file.
    skip
        Arrays and groups to leave out, by name or path.
    output
        Also write the references: to a ``.json`` file, a ``.parquet`` folder (path or URL), which
        replace older references, or to a session of Icechunk, which the caller commits.
    storage_options, output_options
        Arguments of the stores that hold the files, and the output.
    progress
        True draws a bar on a terminal; a function is called with a `Progress` after every file.
    executor
        Where files are scanned, as in all jobs; by default threads. h5py scans one file at a time
        in each process, so many HDF5 files gain from ``"processes"``.

    Returns
    -------
    Group
        The group, read-only. It reads the files, which must not change meanwhile.

    Raises
    ------
    UnsupportedError
        If something in a file has no form in Zarr; the message names it, and `skip` leaves it out.
    NodeExistsError
        If `output` is there already, and is no references.
    MetadataError
        If a file is damaged, or the files do not fit together: in their arrays, data types, codecs,
        packing or coordinates.

    Examples
    --------
    >>> import h5py
    >>> for year in (2023, 2024):
    ...     with h5py.File(f"{year}.h5", "w") as file:
    ...         rain = file.create_dataset("rain", (12, 4), "f4", chunks=(3, 4), compression="gzip")
    ...         rain[...] = year
    >>> root = omnizarr.virtualize(["2023.h5", "2024.h5"], join=0, output="rain.json")
    >>> root["rain"].shape, root["rain"].chunks
    ((24, 4), (3, 4))
    >>> omnizarr.open("rain.json", mode="r")["rain"][11:13, 0]
    array([2023., 2024.], dtype=float32)
    """
    if kind is not None and kind not in KINDS:
        raise ValueError(f"kind must be one of {', '.join(KINDS)}; found {kind!r}")
    if join is not None and new_dim is not None:
        raise TypeError("join and new_dim exclude each other: give one of them")
    if isinstance(skip, str):
        raise TypeError(f"skip must be a list of names, found one str: {skip!r}")
    write = _writer(output, output_options)
    places = find(source, storage_options)
    name, labels = _new_dimension(new_dim)
    scan = _Scan(kind, frozenset(skip), normalize_path(group))
    if len(places) > 1:
        example = scan(places[0])
        if join is None and name is None:
            names = ", ".join(map(repr, known_dimensions(example))) or "none"
            raise TypeError(
                f"{len(places)} files need join= or new_dim=, the dimension that makes them one;"
                f" those of {example.source!r} are {names}"
            )
        scan = scan._replace(wanted=wanted(example, join))
    files = _scan_all(scan, places, progress, executor)
    if name is not None:
        file = stack(files, name, labels)
    elif len(files) > 1 and join is not None:
        file = joined(files, join)
    else:
        file = files[0]
    return write(file, places)


# -- scanning -------------------------------------------------------------------------------------


class _Scan(NamedTuple):
    """What is to be known of each file; a function that can be sent to other processes."""

    kind: Kind | None
    skip: frozenset[str]
    group: str
    wanted: frozenset[str] = frozenset()

    def __call__(self, place: Place) -> VirtualFile:
        kind = self.kind or kind_of(place)
        begin = f"{self.group}/" if self.group else ""
        scan: Any = import_module(f"omnizarr.api.virtual.{kind}").scan
        paths = frozenset(begin + path for path in self.wanted)
        file: VirtualFile = scan(place, paths, self.skip)
        return file.below(self.group)


def _scan_all(
    scan: _Scan, places: Sequence[Place], progress: Any, executor: ExecutorLike
) -> list[VirtualFile]:
    files: dict[int, VirtualFile] = {}
    reporter = Reporter(progress, len(places))

    def finished(task: tuple[int, Place], file: VirtualFile) -> None:
        files[task[0]] = file
        reporter.advance(1, 0, os.path.basename(task[1].shown))

    try:
        with opened(executor) as crew:
            most = _WORKERS if crew is None else workers_for(0, executor=crew)
            run(partial(_numbered, scan), enumerate(places), finished,
                workers=min(most, len(places)), executor=crew)  # fmt: skip
    finally:
        reporter.close()
    return [files[number] for number in range(len(places))]


def _numbered(scan: _Scan, task: tuple[int, Place]) -> VirtualFile:
    return scan(task[1])


def _new_dimension(new_dim: str | Mapping[str, npt.ArrayLike] | None) -> tuple[str | None, Any]:
    if not isinstance(new_dim, Mapping):
        return new_dim, None
    if len(new_dim) != 1:
        raise ValueError(f"new_dim must name one dimension, found {list(new_dim)}")
    [(name, values)] = new_dim.items()
    found = np.asarray(values)
    return name, found.astype(np.dtypes.StringDType()) if found.dtype.kind == "U" else found


# -- what becomes of it ---------------------------------------------------------------------------


def _writer(output: Any, options: StorageOptions | None) -> (
    Callable[[VirtualFile, Sequence[Place]], Group]
):  # fmt: skip
    """The function that writes and opens the result. A wrong `output` is found before the scan."""
    if output is None:
        return lambda file, places: _opened(writing.references(file), places, None)
    if writing.is_icechunk(output):
        return lambda file, places: open_group(writing.write_icechunk(file, output), mode="r")
    if not isinstance(output, str | os.PathLike):
        raise TypeError(f"output must be a path or a session of Icechunk, found {output!r}")
    path = os.fspath(output).removeprefix("file://").rstrip("/")
    if not path.endswith((".json", ".parquet", ".parq")):
        raise ValueError(f"output must end with .json or .parquet, found {path!r}")
    writing.check_replaceable(path, options)

    def write(file: VirtualFile, places: Sequence[Place]) -> Group:
        found = writing.references(file)
        if path.endswith(".json"):
            writing.write_json(found, path, options)
        else:
            writing.write_parquet(file, found, path, options)
        return _opened(path, places, options)

    return write


def _opened(reference: Any, places: Sequence[Place], options: StorageOptions | None) -> Group:
    """The group of references to these files, which may be read, and no others."""
    folders = dict.fromkeys(os.path.dirname(place.url) for place in places if place.local)
    remote = dict.fromkeys(place.url.rpartition("/")[0] for place in places if not place.local)
    store = ReferenceStore(
        reference, allow=[*folders, *remote], remote_options=places[0].options,
        target_options=options,
    )  # fmt: skip
    return open_group(store, mode="r")
