"""`convert`: a hierarchy of any format into any format that can be written."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import Any, Literal, NamedTuple

from omnizarr import codecs, formats
from omnizarr.api.arguments import StorageOptions
from omnizarr.config import config
from omnizarr.errors import NodeNotFoundError, Part, StoreError, UnsupportedError
from omnizarr.formats import Format, FormatName, Node
from omnizarr.formats.translation.fill_values import CHOICES as FILL_VALUES
from omnizarr.formats.translation.fill_values import FillValues
from omnizarr.formats.translation.nodes import DROPPABLE
from omnizarr.jobs import ExecutorLike, Progress, opened
from omnizarr.jobs.conversion.damage import CHOICES, BadChunk, OnDamage
from omnizarr.jobs.conversion.destination import check_free
from omnizarr.jobs.conversion.execution import execute
from omnizarr.jobs.conversion.in_place import (
    check_agreement,
    check_alone,
    check_root,
    finish_removal,
    migrate,
    plan_in_place,
    source_of,
)
from omnizarr.jobs.conversion.overlaps import Location, check_apart, check_nodes_apart
from omnizarr.jobs.conversion.plan import ConversionPlan, Manner, Wanted
from omnizarr.jobs.conversion.planning import make_plan
from omnizarr.jobs.conversion.report import Conversion, Row, plan_lines
from omnizarr.jobs.conversion.resumption import taken_up
from omnizarr.jobs.exporting.formats import READ, has_suffix
from omnizarr.jobs.importing.files import chunks_for, excluded, notes_for
from omnizarr.jobs.importing.files import opened as opened_file
from omnizarr.jobs.memory import MemoryLike
from omnizarr.keywords import suggests_instead
from omnizarr.model import paths
from omnizarr.model.store import Store
from omnizarr.nodes.array import Array
from omnizarr.nodes.creation.arguments import ChunksLike, CodecsLike, ShardsLike
from omnizarr.nodes.group import Group
from omnizarr.nodes.node import NodeAddress, Options
from omnizarr.runtime.progress import announce
from omnizarr.runtime.sizes import as_bytes
from omnizarr.stores import StoreLike, as_store
from omnizarr.stores.resolve import check_sides


@suggests_instead(in_place="leave destination out to change the format in place")
def convert(
    source: StoreLike | Array | Group,
    destination: StoreLike | Array | Group = None,
    *,
    zarr_format: FormatName | None = None,
    dialect: Literal["nczarr"] | None = None,
    path: str = "",
    destination_path: str = "",
    drop: Iterable[Part] | Part = (),
    exclude: Iterable[str] | str = (),
    reencode: bool = False,
    verify: bool = False,
    on_damage: OnDamage | None = None,
    fill_values: FillValues | None = None,
    chunks: ChunksLike | Mapping[str, ChunksLike] = None,
    shards: ShardsLike | Mapping[str, ShardsLike] = None,
    compressors: CodecsLike = "keep",
    overwrite: bool = False,
    remove_source: bool = False,
    resume: bool = True,
    dry_run: bool = False,
    progress: Callable[[Progress], object] | bool | None = None,
    workers: int | None = None,
    executor: ExecutorLike = None,
    max_memory: MemoryLike = None,
    storage_options: StorageOptions | None = None,
    destination_options: StorageOptions | None = None,
    options: Mapping[str, object] | None = None,
) -> Conversion:
    """Write an array or a group, with everything below it, in another format.

    Chunks whose stored bytes are valid in the destination are copied without decoding them. The
    documents of the destination are written last, so it is no node before all its chunks are there.
    The source must not change meanwhile.

    Parameters
    ----------
    source, destination
        A path, a URL, a mapping or a store; or an array or group. The source may be a file that
        `virtualize` opens: HDF5, NetCDF, GeoTIFF, GRIB. Without a destination the documents are
        changed in place and no chunk is touched, which is possible where chunks keep their keys and
        bytes (format 2 to 3, say). Both sets of documents then remain, and the newer format is what
        opens.
    zarr_format
        The format to write; by default `config`'s ``default_zarr_format``.
    dialect
        ``"nczarr"``: format 2 as netCDF-C writes it, with a destination only.
    path, destination_path
        Of the node in `source`, and of the new node in `destination`.
    drop
        Parts that may be left out where the format cannot express them: ``"groups"``,
        ``"attributes"``, ``"dimension_names"``, ``"fill_value"``. Values never change: without the
        fill value every missing chunk is written.
    exclude
        Nodes to leave out, with everything below them, whether they can be opened or not: paths
        from the node that is converted, or patterns such as ``"stations/*"``.
    reencode
        Replace codecs, shards and chunk grids that the format does not have by its defaults. Chunks
        that are copied are decoded first.
    verify
        Decode every chunk before it is copied. Without it damage in a copied chunk is copied too;
        `omnizarr.verify` finds it there.
    on_damage
        What to do with a chunk that cannot be decoded; every chunk is decoded then. ``"raise"``
        ends the conversion. ``"skip"`` leaves out each destination chunk (of shards, inner chunk)
        that needs it, which then reads as the fill value. ``"fill"`` stores the fill value in place
        of the damaged part alone. The result's ``damaged`` lists such chunks. A store that fails
        raises. By default ``"raise"``, for chunks that are decoded anyway.
    fill_values
        Whose meaning of the fill value is kept between formats 2 and 3. xarray masks the fill value
        in format 2, and only the attribute ``_FillValue`` in format 3. ``"xarray"`` translates, so
        that `xarray.open_zarr` gives equal datasets: the attribute is added, or the fill value left
        out and missing chunks written. ``"zarr"`` keeps the fill value. By default arrays with
        dimension names are translated, and refused if more than 100,000 missing chunks would be
        written; others are kept. Values that Zarr reads never change. Notes in the result name the
        arrays where the two meanings differ.
    chunks, shards
        For all arrays, as in `create_array`, or a mapping from paths or names of dimensions, as in
        `rechunk`. ``shards=False`` removes shards. By default those of the source.
    compressors
        For all arrays, as in `create_array`; ``"keep"`` keeps those of the source.
    overwrite
        Replace the node at the destination, and everything below it.
    remove_source
        Remove the old documents after a conversion in place.
    resume
        Continue the same conversion if it was interrupted. False removes what that one wrote, and
        nothing else, and begins again. A source whose documents, chunks or sizes of chunks changed
        since does not count as the same; other values of the same size are not noticed.
    dry_run
        Print the plan and write nothing.
    progress
        True draws a bar on a terminal; a callable gets a `Progress` after every step.
    workers
        How many portions run at once; by default one for each core.
    executor
        Where they run: ``"threads"`` (the default), ``"processes"``, ``"dask"``, a Dask client or
        the address of its scheduler, ``"ray"``, or a `concurrent.futures.Executor`.
    max_memory
        For the work of one process, as bytes or text such as ``"512 MB"``; by default
        `limits.worker_bytes`, or what one chunk needs.
    storage_options, destination_options
        Options for the stores of URLs, source and destination.
    options
        How a table is read: ``columns``, ``decimals``, and of CSV ``delimiter``, ``encoding``,
        ``null_values``, ``types`` (the page "Convert npy, CSV, Parquet, Arrow").

    Returns
    -------
    Conversion
        One row for every node in ``.nodes``; print it for a table.

    Raises
    ------
    NodeNotFoundError
        If there is no node at `path`.
    UnsupportedError
        If the format cannot express a node; the message names what to `drop` or to `reencode`.
    NodeExistsError
        If there is a node at the destination, and `overwrite` is False.
    DecodeError
        If a chunk is damaged, and `on_damage` does not say what to do with it.

    Examples
    --------
    >>> import omnizarr
    >>> old = omnizarr.group(zarr_format=2)
    >>> old["a"] = [1, 2, 3]
    >>> new = omnizarr.MemoryStore()
    >>> result = omnizarr.convert(old, new, zarr_format=3)
    >>> [row.path for row in result.nodes]
    ['', 'a']
    >>> omnizarr.open(new)["a"][:]
    array([1, 2, 3])
    """
    if on_damage is not None and on_damage not in CHOICES:
        raise ValueError(f"on_damage takes {', '.join(map(repr, CHOICES))}; found {on_damage!r}")
    if destination is None and destination_path:
        raise ValueError("destination_path needs a destination")
    if zarr_format is None:
        _check_is_no_file(destination)
    from omnizarr.jobs.importing.table_conversion import convert_table, is_table

    if is_table(source):
        return convert_table(
            source, destination, chunks=chunks, compressors=compressors, zarr_format=zarr_format,
            dry_run=dry_run, path=destination_path, overwrite=overwrite, progress=progress,
            storage_options=storage_options, destination_options=destination_options,
            reading=options,
            refused={"path": path, "dialect": dialect, "drop": drop, "exclude": exclude,
                     "on_damage": on_damage, "shards": shards, "remove_source": remove_source},
        )  # fmt: skip
    if options:
        raise UnsupportedError(
            f"options are for the reading of a table, which {source!r} is not; found"
            f" {', '.join(options)}"
        )
    named = formats.with_dialect(zarr_format, dialect)
    target = formats.get_format(config.get("default_zarr_format") if named is None else named)
    if destination is None and isinstance(target, formats.Registering):
        raise ValueError("NCZarr is not written in place; give a destination")
    wanted = wanted_of(
        drop=drop, exclude=exclude, reencode=reencode, fill_values=fill_values, chunks=chunks,
        shards=shards, compressors=compressors, max_memory=max_memory,
    )  # fmt: skip
    left_out = excluded(wanted.exclude, path)
    with opened_file(source, storage_options, left_out) as file:
        if file is not None:
            _check_not_in_place(source, destination)
            left = (each for each in wanted.exclude if not left_out.met & excluded([each], path))
            cut = chunks_for(file, path) if chunks is None else chunks
            notes = notes_for(file, path)
            # A file may have codecs that no Zarr format has.
            wanted = replace(wanted, chunks=cut, exclude=tuple(left), notes=notes, reencode=True)
        return carry_out(
            Side(source, path, storage_options) if file is None else Side(file, path, None),
            None
            if destination is None
            else Side(destination, destination_path, destination_options),
            target,
            replace(wanted, on_damage=on_damage or "raise", verify=bool(verify or on_damage)),
            Manner(overwrite, resume, progress, workers, executor, max_memory),
            remove_source=remove_source,
            dry_run=dry_run,
        )


def _check_is_no_file(destination: Any) -> None:
    """Who names `x.nc` expects a file of that format, not a folder of that name."""
    if isinstance(destination, str | os.PathLike) and not os.path.lexists(destination):
        for name, suffixes in READ.items():
            if has_suffix(os.fspath(destination), suffixes):
                raise UnsupportedError(
                    f"{os.fspath(destination)!r} ends as a file of the format {name} does, and"
                    " convert writes Zarr; omnizarr.export writes files"
                ).advise("{} makes a folder of that name", ("zarr_format", 3))


def _check_not_in_place(source: Any, destination: Any) -> None:
    if destination is None:
        raise UnsupportedError(
            f"{source!r} is a file of another format, and not changed in place; give a destination"
        )


class Side(NamedTuple):
    """Where a caller says that a node is."""

    given: Any
    path: str
    options: Mapping[str, Any] | None


def wanted_of(
    *,
    drop: Iterable[Part] | Part,
    exclude: Iterable[str] | str,
    reencode: bool,
    fill_values: FillValues | None,
    chunks: Any,
    shards: Any,
    compressors: Any,
    max_memory: MemoryLike,
) -> Wanted:
    """The choices from a caller's arguments, which are checked."""
    if fill_values is not None and fill_values not in FILL_VALUES:
        raise ValueError(
            f"fill_values takes None, {', '.join(map(repr, FILL_VALUES))}; found {fill_values!r}"
        )
    return Wanted(
        _parts(drop), bool(reencode), chunks, shards, _specs(compressors),
        exclude=(exclude,) if isinstance(exclude, str) else tuple(exclude),
        fill_values=fill_values,
        max_memory=None if max_memory is None else as_bytes(max_memory),
    )  # fmt: skip


def carry_out(
    source: Side,
    destination: Side | None,
    target: Format | None,
    wanted: Wanted,
    manner: Manner,
    *,
    temporary: StoreLike = None,
    remove_source: bool = False,
    dry_run: bool = False,
) -> Conversion:
    """Convert from one side to the other, or in place without a destination. `target`: None keeps
    the format of the source. `temporary`: a store for intermediate arrays."""
    begin = time.monotonic()
    if destination is not None:
        check_sides(source.given, destination.given, source.options, destination.options)
    with ExitStack() as stack:
        crew = stack.enter_context(opened(manner.executor, manner.workers))
        manner = replace(manner, executor=crew)
        if destination is None:
            mode = "r" if dry_run else "r+"
            here = there = stack.enter_context(_opened(*source, mode))
            assert target is not None
            result = _in_place(here, target, wanted, manner, remove_source, dry_run)
        else:
            if remove_source:
                raise ValueError(
                    "remove_source removes the old documents after a migration in place; with a"
                    " destination, delete the source yourself once you are content"
                )
            here = stack.enter_context(_opened(*source, "r"))
            there = stack.enter_context(_opened(*destination, "a"))
            if temporary is not None:
                between = stack.enter_context(_opened(temporary, "", None, "a"))
                place = NodeAddress(between.store, between.path, formats.LIKELIEST)
                wanted = replace(wanted, temporary=place)
            result = _to(here, there, target, wanted, manner, dry_run)
    finished = Conversion(
        result.rows, result.dropped, time.monotonic() - begin, dry_run,
        str(here), str(there), result.resumed, result.damaged,
    )  # fmt: skip
    if dry_run:
        sys.stdout.write(f"{finished}\n")
    return finished


class _Opened(NamedTuple):
    """Where a node is looked for, and how it was opened if it was."""

    store: Store
    path: str
    options: Options

    def __str__(self) -> str:
        return f"{self.store!r}, path {'/' + self.path!r}"


class _Result(NamedTuple):
    rows: tuple[Row, ...]
    dropped: tuple[Part, ...] = ()
    resumed: bool = False
    damaged: tuple[BadChunk, ...] = ()


@contextmanager
def _opened(
    given: Any, path: str, storage_options: Mapping[str, Any] | None, mode: str
) -> Iterator[_Opened]:
    """The store that is meant, closed at the end if it was opened here."""
    normal = paths.normalize_path(path)
    if isinstance(given, Array | Group):
        options = given._options.changed(read_only=True)
        yield _Opened(given._place.store, paths.join(given.path, normal), options)
        return
    store = given
    if not isinstance(given, Store):
        store = as_store(given, mode=mode, storage_options=storage_options)
    try:
        yield _Opened(store, normal, Options(read_only=True))
    finally:
        if store is not given:
            store.close()


def _parts(drop: Iterable[Part] | Part) -> frozenset[Part]:
    parts = frozenset((drop,) if isinstance(drop, str) else drop)
    for part in parts:
        if part not in DROPPABLE:
            raise ValueError(f"drop takes {', '.join(map(repr, DROPPABLE))}; found {part!r}")
    return parts


def _specs(compressors: Any) -> Any:
    choices = ("keep", "auto", "fast")
    if compressors is None or (isinstance(compressors, str) and compressors in choices):
        return compressors
    several = compressors if isinstance(compressors, list | tuple) else [compressors]
    return [codecs.chosen_spec(codec, choices) for codec in several]


def _found(here: _Opened) -> tuple[NodeAddress, Node]:
    found = formats.find(here.store, here.path)
    if found is None:
        raise NodeNotFoundError(
            f"no array or group at path {'/' + here.path!r}:"
            f" {formats.explain_missing(here.store, here.path)}"
        )
    return NodeAddress(here.store, here.path, found[0]), found[1]


def _check_convertible(store: Store, instead: str) -> None:
    """Refuse a store that takes neither a journal nor chunks whose array has no document yet."""
    if store.capabilities.hierarchies_only:
        raise StoreError(
            f"a conversion keeps a journal beside what it writes, and stores the"
            f" documents last; this store takes no such keys. Instead, {instead}"
        ).at(store)


def _to(
    here: _Opened,
    there: _Opened,
    target: Format | None,
    wanted: Wanted,
    manner: Manner,
    dry_run: bool,
) -> _Result:
    beside = here.options.chunk_store
    stores = (here.store,) if beside is None else (here.store, beside)
    check_apart([Location(store, here.path) for store in stores], Location(there.store, there.path))
    _check_convertible(
        there.store,
        "copy the nodes with omnizarr.copy_all(source, omnizarr.open_group(destination)), which"
        " takes groups of every format; copy_store takes a whole store of the same format",
    )
    place, model = _found(here)
    target = target or place.format
    formats.check_outside_drafts(there.store, there.path)
    if there.path or not manner.overwrite:
        target.check_place(there.store, there.path)
    address = NodeAddress(there.store, there.path, target)

    def planned_for(memory: int | None) -> ConversionPlan:
        asked = replace(wanted, begun_with=memory)
        return make_plan(place, model, address, asked, here.options)

    plan = taken_up(planned_for(None), manner, planned_for)
    check_nodes_apart(
        (Location(store, node.source.path) for node in plan.nodes for store in stores if node.path),
        (Location(there.store, node.target.path) for node in plan.nodes if node.path),
    )
    if dry_run:
        check_free(plan, manner)
        return _Result(_rows(plan), plan.dropped)
    announce(manner.progress, plan_lines(_rows(plan)))
    done = execute(plan, manner)
    return _Result(done.rows, plan.dropped, done.resumed, done.damaged)


def _in_place(
    here: _Opened,
    target: Format,
    wanted: Wanted,
    manner: Manner,
    remove_source: bool,
    dry_run: bool,
) -> _Result:
    store, path = here.store, here.path
    rows = finish_removal(store, path, target, dry_run=dry_run)
    if rows is not None:
        return _Result(rows, (), True)
    found = source_of(store, path, target)
    if found is None:
        _found(here)  # raises if there is nothing at all
        return _Result(())
    _check_convertible(store, "give a destination")
    plan = plan_in_place(*found, target, wanted)
    if dry_run:
        if remove_source:
            check_root(plan)
        check_alone(plan)
        check_agreement(plan, manner.overwrite)
        return _Result(_rows(plan))
    return _Result(
        migrate(
            plan, remove_source=remove_source, overwrite=manner.overwrite, progress=manner.progress
        )
    )


def _rows(plan: ConversionPlan) -> tuple[Row, ...]:
    return tuple(planned.row() for planned in plan.nodes) + plan.left_out
