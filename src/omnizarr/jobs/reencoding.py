"""`reencode`: the same hierarchy in the same format, with other codecs, chunks or shards."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypedDict, Unpack

from omnizarr import formats
from omnizarr.api.arguments import StorageOptions
from omnizarr.errors import NodeNotFoundError, Part
from omnizarr.formats.translation.fill_values import FillValues
from omnizarr.jobs import ExecutorLike, MemoryLike
from omnizarr.jobs.conversion.damage import OnDamage
from omnizarr.jobs.conversion.job import convert
from omnizarr.jobs.conversion.report import Conversion
from omnizarr.keywords import suggests
from omnizarr.model import paths
from omnizarr.nodes.array import Array
from omnizarr.nodes.creation.arguments import ChunksLike, CodecsLike, ShardsLike
from omnizarr.nodes.group import Group
from omnizarr.runtime.progress import ProgressLike
from omnizarr.stores import StoreLike, as_store


class ReencodeArguments(TypedDict, total=False):
    """Keywords of `convert` that `reencode` takes."""

    destination_path: str
    drop: Iterable[Part] | Part
    exclude: Iterable[str] | str
    reencode: bool
    verify: bool
    on_damage: OnDamage | None
    fill_values: FillValues | None
    overwrite: bool
    resume: bool
    dry_run: bool
    progress: ProgressLike
    workers: int | None
    executor: ExecutorLike
    max_memory: MemoryLike
    storage_options: StorageOptions | None
    destination_options: StorageOptions | None


@suggests
def reencode(
    source: StoreLike | Array | Group,
    destination: StoreLike | Array | Group,
    *,
    compressors: CodecsLike = "auto",
    chunks: ChunksLike = None,
    shards: ShardsLike = None,
    path: str = "",
    **arguments: Unpack[ReencodeArguments],
) -> Conversion:
    """Write an array or a group again in its own format, with other codecs, chunks or shards.

    Parameters
    ----------
    source, destination
        As in `convert`.
    compressors
        As in `create_array`: ``"auto"`` (the default), ``"fast"``, codecs, or None for none.
    chunks, shards
        As in `create_array`, for all arrays; by default those of the source.
    path
        Of the node in `source`.
    **arguments
        All other keywords of `convert`: ``executor``, ``progress``, ``overwrite``, ``resume`` …

    Returns
    -------
    Conversion
        One row for every node in ``.nodes``; print it for a table.

    Raises
    ------
    NodeNotFoundError
        If there is no node at `path`.

    Examples
    --------
    >>> import omnizarr
    >>> a = omnizarr.create_array({}, data=[1, 2, 3, 4], compressors=None, zarr_format=2)
    >>> store = omnizarr.MemoryStore()
    >>> done = omnizarr.reencode(a, store, compressors=omnizarr.Zlib(level=9))
    >>> omnizarr.open(store).zarr_format, omnizarr.open(store)[:].tolist()
    (2, [1, 2, 3, 4])
    """
    start = paths.normalize_path(path)
    if isinstance(source, Array | Group):
        chosen = source if not start else source[start]
        zarr_format = chosen.zarr_format
    else:
        store = as_store(source, mode="r", storage_options=arguments.get("storage_options"))
        found = formats.find(store, start)
        if found is None:
            raise NodeNotFoundError(
                f"no array or group at path {'/' + start!r}:"
                f" {formats.explain_missing(store, start)}"
            )
        zarr_format = found[0].name
        if store is not source:
            store.close()
    return convert(
        source, destination, zarr_format=zarr_format, path=path,
        compressors=compressors, chunks=chunks, shards=shards, **arguments,
    )  # fmt: skip
