"""`rechunk`: arrays with other chunks, as a conversion that may also keep the format."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from omnizarr import formats
from omnizarr.api.arguments import StorageOptions
from omnizarr.errors import Part
from omnizarr.formats import FormatName
from omnizarr.formats.translation.fill_values import FillValues
from omnizarr.jobs import ExecutorLike, Progress
from omnizarr.jobs.conversion.job import Side, carry_out, wanted_of
from omnizarr.jobs.conversion.plan import Manner
from omnizarr.jobs.conversion.report import Conversion
from omnizarr.jobs.memory import MemoryLike
from omnizarr.keywords import suggests_instead
from omnizarr.nodes.array import Array
from omnizarr.nodes.creation.arguments import ChunksLike, CodecsLike, ShardsLike
from omnizarr.nodes.group import Group
from omnizarr.stores import StoreLike


@suggests_instead(
    max_mem="it is called max_memory",
    target_chunks="it is called chunks",
    temp_store="it is called temporary",
)
def rechunk(
    source: StoreLike | Array | Group,
    destination: StoreLike | Array | Group,
    *,
    chunks: ChunksLike | Mapping[str, ChunksLike | Mapping[str, ChunksLike]] = None,
    shards: ShardsLike | Mapping[str, ShardsLike] = None,
    compressors: CodecsLike = "keep",
    zarr_format: FormatName | None = None,
    max_memory: MemoryLike = None,
    temporary: StoreLike = None,
    path: str = "",
    destination_path: str = "",
    drop: Iterable[Part] | Part = (),
    exclude: Iterable[str] | str = (),
    reencode: bool = False,
    fill_values: FillValues | None = None,
    overwrite: bool = False,
    resume: bool = True,
    dry_run: bool = False,
    progress: Callable[[Progress], object] | bool | None = None,
    workers: int | None = None,
    executor: ExecutorLike = None,
    storage_options: StorageOptions | None = None,
    destination_options: StorageOptions | None = None,
) -> Conversion:
    """Write an array or a group, with everything below it, in other chunks or shards.

    Memory stays within `max_memory`. Every array is written in one pass or, where that would read
    the source too often, in two or more, through intermediate arrays that are removed afterwards;
    the cheapest plan is chosen. Missing chunks stay missing. An interrupted call goes on when it is
    made again, and nothing opens before it is complete. The source must not change meanwhile.

    Parameters
    ----------
    source, destination
        A path, a URL, a mapping or a store; or an array or group.
    chunks
        For all arrays, as in `create_array`; or a mapping from names of dimensions to lengths, such
        as ``{"time": 1, "lat": -1}``, from paths of arrays to either, or both. -1 means all of a
        dimension, ``"auto"`` a length that makes chunks of a usual size. Dimensions and arrays
        that are not named keep their chunks. A single number for a name that both a dimension and
        an array have is for the dimension.
    shards
        The same for shards; ``False`` removes them. By default those of the source.
    compressors
        For all arrays, as in `create_array`; ``"keep"`` keeps those of the source.
    zarr_format
        The format to write; by default that of the source.
    max_memory
        For the work of one process, beyond what Python and its packages take: bytes, or text such
        as ``"512 MB"``. By default `limits.worker_bytes`, or what one chunk needs.
    temporary
        A store or a path for intermediate arrays; by default they are beside the destination. They
        take as much room as the array does without compression.
    path, destination_path
        Of the node in `source`, and of the new node in `destination`.
    drop, exclude, reencode, fill_values
        As in `convert`, for another format.
    overwrite
        Replace the node at the destination, and everything below it.
    resume
        Continue the same job if it was interrupted; False begins again.
    dry_run
        Print the plan and what it costs, and write nothing.
    progress
        True shows the plan and then a bar on a terminal or in a notebook, or logs them; a callable
        gets a `Progress` after every step.
    workers
        How many regions are worked on at once; by default as many as there are cores and as fit
        into `max_memory`.
    executor
        Where they run: ``"threads"`` (the default), ``"processes"``, ``"dask"``, a Dask client or
        the address of its scheduler, ``"ray"``, or a `concurrent.futures.Executor`.
    storage_options, destination_options
        Options for the stores of URLs, source and destination.

    Returns
    -------
    Conversion
        One row for every node in ``.nodes``, with the plan in ``rechunking``; print it for a table.

    Raises
    ------
    NodeNotFoundError
        If there is no node at `path`, or none that `chunks` names.
    UnsupportedError
        If an array cannot be written as told, or not within `max_memory`. All such arrays are
        listed, and nothing was written.
    NodeExistsError
        If there is a node at the destination, and `overwrite` is False.

    Examples
    --------
    >>> import omnizarr
    >>> maps = omnizarr.zeros((40, 20, 30), chunks=(1, 20, 30), dimension_names=("time", "y", "x"))
    >>> maps[:] = 1
    >>> series = omnizarr.MemoryStore()
    >>> done = omnizarr.rechunk(maps, series, chunks={"time": -1, "y": 10, "x": 10})
    >>> omnizarr.open(series).chunks
    (40, 10, 10)
    >>> print(done.nodes[0].rechunking)  # doctest: +ELLIPSIS
    1 pass: 40 reads of 187.5 KiB (the source 1.0 times), 6 writes, ...
    """
    wanted = wanted_of(
        drop=drop, exclude=exclude, reencode=reencode, fill_values=fill_values, chunks=chunks,
        shards=shards, compressors=compressors, max_memory=max_memory,
    )  # fmt: skip
    return carry_out(
        Side(source, path, storage_options),
        Side(destination, destination_path, destination_options),
        None if zarr_format is None else formats.get_format(zarr_format),
        wanted,
        Manner(overwrite, resume, progress, workers, executor, max_memory),
        temporary=temporary,
        dry_run=dry_run,
    )
