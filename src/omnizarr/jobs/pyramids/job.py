"""`pyramid`: an array at several resolutions, computed out of core."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from math import prod
from typing import Any, Literal

import numpy as np

from omnizarr import codecs, formats
from omnizarr.api.arguments import StorageOptions
from omnizarr.conventions.multiscales import Axis, Convention, read
from omnizarr.errors import MetadataError, NodeNotFoundError, OverlapError, StoreError, ZarrError
from omnizarr.formats import Format, FormatName
from omnizarr.jobs import ExecutorLike, MemoryLike, Progress, opened
from omnizarr.jobs.pyramids.execution import How, check_free, execute
from omnizarr.jobs.pyramids.kernels import METHODS, Method
from omnizarr.jobs.pyramids.placing import Wanted
from omnizarr.jobs.pyramids.plan import PyramidPlan
from omnizarr.jobs.pyramids.planning import plan_array, plan_beside, plan_group
from omnizarr.jobs.pyramids.report import LevelRow, PyramidReport
from omnizarr.jobs.pyramids.tiles import Tiles, tiles_of
from omnizarr.keywords import suggests
from omnizarr.model import paths
from omnizarr.model.array import ArrayModel
from omnizarr.model.store import Store
from omnizarr.nodes.array import Array
from omnizarr.nodes.creation.arguments import ChunksLike, CodecsLike, ShardsLike
from omnizarr.nodes.creation.overlaps import Location, overlap
from omnizarr.nodes.group import Group
from omnizarr.nodes.node import NodeAddress, Options, find, not_found
from omnizarr.stores import StoreLike, as_store
from omnizarr.stores.resolve import check_sides


@suggests
def pyramid(
    source: StoreLike | Array | Group,
    destination: StoreLike | Group = None,
    *,
    levels: int | None = None,
    method: Method = "mean",
    factors: int | Iterable[int] | Mapping[str, int] | None = None,
    axes: str | Iterable[str | Axis | Mapping[str, str]] | None = None,
    scale: float | Iterable[float] | Mapping[str, float] | None = None,
    convention: Convention | Literal["ome"] | None = None,
    nodata: complex | str | np.generic | None = "auto",
    path: str = "",
    destination_path: str = "",
    zarr_format: FormatName | None = None,
    chunks: ChunksLike = None,
    shards: ShardsLike = None,
    compressors: CodecsLike = "keep",
    max_memory: MemoryLike = None,
    overwrite: bool = False,
    resume: bool = True,
    dry_run: bool = False,
    progress: Callable[[Progress], object] | bool | None = None,
    workers: int | None = None,
    executor: ExecutorLike = None,
    storage_options: StorageOptions | None = None,
    destination_options: StorageOptions | None = None,
) -> PyramidReport:
    """Store an array at smaller and smaller resolutions, and describe them as one image.

    The work is cut into independent tiles of whole chunks or shards. Several levels are computed
    from what is read once. The description of the pyramid is written last, so that no reader takes
    an incomplete one for complete, and the same call goes on where an interrupted one stopped. The
    source must not change meanwhile.

    Every level of a mean is the mean of all valid elements of the source, not a mean of means:
    missing elements weigh nothing, at any level, and integers are rounded once, half to even.
    Other methods compute each level from the one before. Results do not depend on chunks.

    Parameters
    ----------
    source
        A path, a URL, a mapping or a store; or an array or group. Of a group with one array, or of
        one that describes a pyramid already, its array or largest level is taken. Of a group with
        several arrays, each level becomes a group that holds all of them and their coordinates.
    destination
        Where the group of the pyramid is written, with a copy of the source as its largest level.
        None writes the levels beside the array, into the group that holds it: ``0`` is followed by
        ``1``, ``s0`` by ``s1``, ``image`` by ``image_1``.
    levels
        How many levels there are, the largest included. By default levels are added until no axis
        that shrinks is longer than 256 elements, or than a chunk.
    method
        How a block becomes one element. ``"mean"``; ``"mode"``: the most frequent one, for labels,
        the smallest of several; ``"nearest"``: the one before the middle, for any type; ``"max"``,
        ``"min"``; ``"gaussian"``: weights around the middle of the block, with a standard deviation
        of a third of the factor. NaN and `nodata` are ignored; a block of nothing else stays so.
    factors
        How many elements of a level become one of the next: for all axes of space, for every axis,
        or by the name of the axis. By default 2 for axes of space (x, y, z, lat, lon), or for the
        last two if none is known. Times and channels shrink only where they are named.
    axes
        Names of the axes, such as ``"tczyx"``, or mappings with name, type and unit. By default
        the dimension names of the array, or what an existing description says.
    scale
        Distance between the elements of the source: one number for all axes of space, or one for
        each axis. By default what an existing description or coordinates say, else 1.
    convention
        How the group describes the pyramid: ``"0.1"`` (Multiscale Arrays), ``"multiscales"`` (that
        of 2026), ``"ndpyramid"``, ``"ome"`` (OME-NGFF in the version that belongs to the format:
        0.4 in format 2, 0.5 in format 3). By default ``"ome"`` for a level of such an image,
        ``"multiscales"`` for maps and for groups, else ``"0.1"``.
    nodata
        A value that stands for missing ones. ``"auto"`` takes the attribute ``_FillValue``, or in
        format 2 the fill value of an array with dimension names, as xarray does (but not of an
        image of OME-NGFF), and ``missing_value``; None knows none but NaN.
    path, destination_path
        Of the node in `source`, and of the new group in `destination`.
    zarr_format
        The format of the destination; by default that of the source.
    chunks, shards, compressors
        Of all levels, as in `create_array`; by default those of the source. Smaller levels have
        chunks no longer than themselves.
    max_memory
        Memory for the tasks of one process, such as ``"1 GiB"``; by default
        `limits.worker_bytes`.
    overwrite
        Replace levels that are there. The source is never replaced.
    resume
        Continue the same work if it was interrupted. False removes what that run wrote and begins
        again.
    dry_run
        Print the plan with its cost, and write nothing.
    progress
        True draws a bar on a terminal; a callable gets a `Progress` after every step.
    workers
        How many tiles are computed at once; by default one for each core, as far as memory goes.
    executor
        Where they run: ``"threads"`` (the default), ``"processes"``, ``"dask"``, a Dask client or
        the address of its scheduler, ``"ray"``, or a `concurrent.futures.Executor`.
    storage_options, destination_options
        Options for the stores of URLs, source and destination.

    Returns
    -------
    PyramidReport
        One row for every level in ``.levels``; print it for a table.

    Raises
    ------
    NodeNotFoundError
        If there is no node at `path`.
    NodeExistsError
        If a level is there already, and `overwrite` is False.
    UnsupportedError
        If the method has no meaning for the data type, or the format has no such convention.

    Examples
    --------
    >>> import omnizarr
    >>> image = omnizarr.array([[1, 3, 5, 7], [1, 3, 5, 7]], chunks=2)
    >>> store = omnizarr.MemoryStore()
    >>> done = omnizarr.pyramid(image, store, levels=2, axes="yx", convention="ome")
    >>> [level.path for level in done.levels]
    ['0', '1']
    >>> omnizarr.open(store)["1"][:]
    array([[2, 6]])
    """
    begin = time.monotonic()
    if destination is not None:
        check_sides(source, destination, storage_options, destination_options)
    if method not in METHODS:
        raise ValueError(f"method takes {', '.join(map(repr, METHODS))}; found {method!r}")
    if destination is None and (destination_path or zarr_format is not None):
        raise ValueError("destination_path and zarr_format need a destination")
    wanted = Wanted(
        levels, method, factors, axes, scale, convention, chunks, shards, _specs(compressors),
        nodata, max_memory,
    )  # fmt: skip
    needless = () if destination is None else (ZarrError,)  # what is above may be out of reach
    with suppress(*needless):
        source, path = _in_group(source, path, storage_options)
    with ExitStack() as stack:
        mode = "r" if destination is not None or dry_run else "r+"
        here = stack.enter_context(_node(source, path, mode, storage_options))
        if destination is None:
            plan = plan_beside(_array_of(here), wanted)
        else:
            store, target = stack.enter_context(
                _place(destination, destination_path, destination_options)
            )
            plan = _plan_at(here, store, target, zarr_format, wanted)
        _check_possible(plan)
        crew = stack.enter_context(opened(executor, workers))
        how = How(overwrite, resume, progress, workers, crew, max_memory)
        tiles = [tiles_of(variable) for variable in plan.variables]
        if dry_run:
            check_free(plan, how)
            resumed, done = False, 0
        else:
            resumed, done = execute(plan, tiles, how)
        report = _reported(plan, tiles, here, time.monotonic() - begin, dry_run, resumed, done)
    if dry_run:
        sys.stdout.write(f"{report}\n")
    return report


def _in_group(given: Any, path: str, storage_options: StorageOptions | None) -> tuple[Any, str]:
    """The group around the array, and the path of the array in it, where a path or URL leads to the
    array itself; otherwise what was given. Levels and what is said of a map are there."""
    if path or not isinstance(given, str | os.PathLike):
        return given, path
    text = os.fspath(given)
    if "://" in text:
        folder, _, name = text.rstrip("/").rpartition("/")
    else:
        folder, name = os.path.split(os.path.abspath(os.path.expanduser(text)))
    if not name or folder.endswith(":/"):  # nothing is above a bucket or a host
        return given, path
    with as_store(given, mode="r", storage_options=storage_options) as store:
        found = find(store, "")
    if found is None or not isinstance(found[1], ArrayModel):
        return given, path
    with as_store(folder, mode="r", storage_options=storage_options) as store:
        above = find(store, "")
        member = None if above is None else find(store, name)
    is_member = member is not None and member[0].format is found[0].format
    return (folder, name) if is_member else (given, path)


@contextmanager
def _node(
    given: Any, path: str, mode: str, storage_options: StorageOptions | None
) -> Iterator[Array | Group]:
    """The array or group that is meant; its store is closed at the end if it was opened here."""
    normal = paths.normalize_path(path)
    options = Options(read_only=True)
    store = given
    if isinstance(given, Array | Group):
        if not normal:
            yield given
            return
        normal, options = paths.join(given.path, normal), given._options
        given = store = given._place.store
    elif not isinstance(given, Store):
        store = as_store(given, mode=mode, storage_options=storage_options)
    try:
        found = find(store, normal)
        if found is None:
            raise not_found(NodeNotFoundError, store, normal)
        place, model = found
        if isinstance(model, ArrayModel):
            yield Array._of(place, model, options)
        else:
            yield Group._of(place, model, options)
    finally:
        if store is not given:
            store.close()


@contextmanager
def _place(
    given: Any, path: str, storage_options: StorageOptions | None
) -> Iterator[tuple[Store, str]]:
    normal = paths.normalize_path(path)
    if isinstance(given, Array):
        raise TypeError("destination takes a place for a group, found an array")
    if isinstance(given, Group):
        yield given._place.store, paths.join(given.path, normal)
        return
    store = given
    if not isinstance(given, Store):
        store = as_store(given, mode="a", storage_options=storage_options)
    try:
        yield store, normal
    finally:
        if store is not given:
            store.close()


def _specs(compressors: Any) -> Any:
    choices = ("keep", "auto", "fast")
    if compressors is None or (isinstance(compressors, str) and compressors in choices):
        return compressors
    several = compressors if isinstance(compressors, list | tuple) else [compressors]
    return [codecs.chosen_spec(codec, choices) for codec in several]


def _plan_at(
    here: Array | Group, store: Store, path: str, zarr_format: Any, wanted: Wanted
) -> PyramidPlan:
    chosen: Format = here._place.format
    there = find(store, path)
    if zarr_format is not None:
        chosen = formats.get_format(zarr_format)
    elif there is not None:
        chosen = there[0].format
    if there is not None and isinstance(there[1], ArrayModel):
        raise MetadataError(f"{there[0]}: an array is there, and no group can be written")
    group = NodeAddress(store, path, chosen)
    if there is not None:
        there[0].check_format(zarr_format)
    beside = here._options.chunk_store
    stores = (here._place.store,) if beside is None else (here._place.store, beside)
    target = Location(store, paths.join(path, "0"))
    for one in (Location(one, here._place.path) for one in stores):
        if overlap(one, target):
            raise OverlapError(f"the destination ({target}) and the source ({one}) overlap").advise(
                "choose another place, or {} to write the levels beside it", ("destination", None)
            )
    array = _only_array(here)
    if array is not None:
        return plan_array(array, group, wanted)
    assert isinstance(here, Group)
    return plan_group(here, group, wanted)


def _array_of(here: Array | Group) -> Array:
    one = _only_array(here)
    if one is None:
        raise MetadataError(
            f"{here._place}: the group holds several arrays; give a destination, where each level"
            " becomes a group of all of them, or name one of them"
        )
    return one


def _only_array(here: Array | Group) -> Array | None:
    """The array that is meant: of a group the largest level, or the only one."""
    if isinstance(here, Array):
        return here
    known = read(here._stored.attributes)
    if known is not None:
        found = here.get(known.levels[0].path)
        if isinstance(found, Array):
            return found
    arrays = list(here.arrays())
    return arrays[0][1] if len(arrays) == 1 else None


def _check_possible(plan: PyramidPlan) -> None:
    store = plan.group.store
    if store.capabilities.hierarchies_only:
        raise StoreError(
            "a pyramid keeps a journal beside what it writes, and stores the documents last; this"
            " store takes no such keys. Write it into a folder and copy that with omnizarr.copy_all"
        ).at(store)


def _reported(
    plan: PyramidPlan,
    tiles: list[list[Tiles]],
    here: Array | Group,
    seconds: float,
    dry_run: bool,
    resumed: bool,
    done: int,
) -> PyramidReport:
    rows: list[LevelRow] = []
    values_read = 0
    for variable in plan.variables:
        itemsize = variable.reduction.dtype.itemsize
        shapes = variable.geometry.shapes
        bases = {
            level: stage.base
            for stage in variable.stages
            for level in range(stage.base + 1, stage.last + 1)
        }
        values_read += sum(prod(shapes[stage.base]) * itemsize for stage in variable.stages)
        for level, stored in enumerate(variable.levels):
            path = stored.place.path
            rows.append(
                LevelRow(
                    path[len(plan.group.path) :].lstrip("/"),
                    "compute" if level else "copy" if variable.copied else "in place",
                    shapes[level],
                    stored.model.grid.chunk_shape,
                    tuple(float(one) for one in variable.geometry.total(level)),
                    prod(shapes[level]) * itemsize,
                    plan.pyramid.levels[bases[level]].path if level else "",
                )
            )
    stages = [stage for variable in plan.variables for stage in variable.stages]
    return PyramidReport(
        tuple(rows), plan.variables[0].reduction.method, plan.convention, seconds, dry_run,
        str(here._place), str(plan.group), len(stages), values_read,
        max((stage.nbytes for stage in stages), default=0),
        sum(len(one) for stages in tiles for one in stages), resumed, done,
    )  # fmt: skip
