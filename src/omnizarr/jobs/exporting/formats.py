"""Which formats of files there are besides Zarr, by name: `file_formats`.

This module knows names and suffixes. It must not know what is in a file.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from importlib import import_module
from typing import Any, NamedTuple

from omnizarr.jobs.exporting import WRITERS
from omnizarr.keywords import suggests

READ = {
    "hdf5": (".h5", ".hdf5", ".he5", ".hdf"),
    "netcdf": (".nc", ".nc3", ".nc4", ".cdf"),
    "tiff": (".tif", ".tiff", ".btf", ".tf8"),
    "grib": (".grib", ".grib1", ".grib2", ".grb", ".grb1", ".grb2"),
    "npy": (".npy",),
    "npz": (".npz",),
    "parquet": (".parquet", ".pq"),
    "arrow": (".arrow", ".feather", ".ipc"),
    "csv": (".csv",),
    "tsv": (".tsv",),
}
"""What `convert` reads, by the suffixes that are usual; the first bytes of a file decide."""


class FileFormat(NamedTuple):
    """A format of files.

    Examples
    --------
    >>> omnizarr.file_formats()["grib"].writes
    False
    """

    name: str
    """What ``to=`` calls it."""
    suffixes: tuple[str, ...]
    """Ends of file names, with the dot."""
    reads: bool
    """Whether `convert` and `virtualize` read it."""
    writes: bool
    """Whether `export` writes it."""


def writer(name: str) -> Any:
    """The module of a writer."""
    return import_module(f"omnizarr.jobs.exporting.{name}")


def writers() -> list[Any]:
    """The modules of all writers."""
    return [writer(name) for name in WRITERS]


@suggests
def file_formats(*, reads: bool | None = None, writes: bool | None = None) -> dict[str, FileFormat]:
    """List the formats of files that can be converted to Zarr, or written by `export`.

    Parameters
    ----------
    reads, writes
        Only those that can be read (True) or cannot (False), or be written.

    Returns
    -------
    dict[str, FileFormat]
        By name.

    Examples
    --------
    >>> omnizarr.file_formats(writes=True)["netcdf"].suffixes[0]
    '.nc'
    """
    found = {name: FileFormat(name, suffixes, True, False) for name, suffixes in READ.items()}
    for each in writers():
        before = found.get(each.NAME, FileFormat(each.NAME, (), False, False))
        suffixes = tuple(dict.fromkeys((*each.SUFFIXES, *before.suffixes)))
        found[each.NAME] = before._replace(suffixes=suffixes, writes=True)
    return {
        name: each
        for name, each in found.items()
        if reads in (None, each.reads) and writes in (None, each.writes)
    }


def options_of(module: Any) -> set[str]:
    """The names of a writer's options."""
    _, _, _, *options = inspect.signature(module.write).parameters.values()
    return {each.name for each in options if each.kind is not each.VAR_KEYWORD}


def has_suffix(name: str, suffixes: Iterable[str]) -> bool:
    return name.lower().endswith(tuple(suffixes))
