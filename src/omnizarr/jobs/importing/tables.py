"""`read`: a Parquet, Arrow IPC (Feather) or CSV file as a group with an array for each column.

The rows are read as a stream, and written a few chunks at a time. The group appears when it is
complete. An import that was killed begins anew: `table_writing` removes what the first one wrote.

This module knows columns and rows. It must not know what files hold.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from omnizarr import formats, limits
from omnizarr.api.arguments import StorageOptions
from omnizarr.api.virtual.files import Place, find
from omnizarr.config import config
from omnizarr.errors import MetadataError, UnsupportedError, ZarrError
from omnizarr.formats import FormatName
from omnizarr.jobs.importing.table_columns import (
    VALID,
    Column,
    Decimals,
    array_name,
    columns_of,
    flat,
    pieces,
)
from omnizarr.jobs.importing.table_sources import (
    KINDS,
    CsvOptions,
    Table,
    TableKind,
    kind_of,
    opened,
)
from omnizarr.jobs.importing.table_writing import Target
from omnizarr.jobs.obstacles import Obstacles
from omnizarr.jobs.report import Facts, Report, table
from omnizarr.model import paths
from omnizarr.runtime.optional_packages import package
from omnizarr.runtime.progress import Progress, ProgressLike, Reporter, duration, size
from omnizarr.stores import StoreLike, as_store

ORDER, METADATA = "columns", "arrow_metadata"
"""Attributes of the group: the names of the arrays in the order of the columns, and the metadata
of the file's schema."""
_MOST_ROWS, _LEAST_ROWS = 1 << 17, 1 << 8
_BLOCK_BYTES = 64 * limits.MIB
"""What the chunks of all columns have together, at most."""
_HELD_BYTES = 32 * limits.MIB
"""How much is gathered before it is written, if that is a chunk."""


@dataclass(frozen=True)
class TableColumn(Facts):
    """What became of one column."""

    name: str
    """Of the array."""
    type: str
    """What Arrow calls the type that the file has."""
    dtype: str
    """Of the array."""
    missing: int
    """How many values are missing."""
    valid: str = ""
    """The array that says which are not, if any are."""
    chunks: int = 0
    """How many chunks were written."""
    nbytes: int = 0
    """Bytes of values that were written."""


@dataclass(frozen=True)
class ImportedTable(Report):
    """The result of `read`; `str` gives a table."""

    source: str
    """The file."""
    destination: str
    """The store, and the path in it."""
    rows: int
    """How many rows there are."""
    columns: tuple[TableColumn, ...]
    """One for every column."""
    seconds: float
    """How long it took."""
    nbytes: int = 0
    """Bytes of values that were written."""
    restarted: bool = False
    """Whether a killed import had left something, which was removed."""

    @property
    def bytes_written(self) -> int:
        """Bytes of values that were written."""
        return self.nbytes

    def __str__(self) -> str:
        lines = [("column", "from", "to", "missing")]
        lines += [(one.name, one.type, one.dtype, str(one.missing or "")) for one in self.columns]
        done = f"{self.rows:,} rows, {size(self.nbytes)} of values in {duration(self.seconds)}"
        return "\n".join([*table(lines), done])


def read(
    file: str | os.PathLike[str],
    destination: StoreLike,
    *,
    path: str = "",
    kind: TableKind | None = None,
    columns: Sequence[str] | None = None,
    rows: int | None = None,
    decimals: Decimals | None = None,
    delimiter: str | None = None,
    encoding: str = "utf-8",
    null_values: Sequence[str] = ("",),
    types: Mapping[str, object] | None = None,
    zarr_format: FormatName | None = None,
    compressors: Any = "auto",
    overwrite: bool = False,
    dry_run: bool = False,
    progress: Callable[[Progress], object] | bool | None = None,
    storage_options: StorageOptions | None = None,
    destination_options: StorageOptions | None = None,
) -> ImportedTable:
    """Import a table as a group with an array of one dimension, ``row``, for each column.

    Parameters
    ----------
    file
        A path or URL of a Parquet, Arrow IPC (Feather) or CSV file; CSV also compressed.
    destination, path
        A path, a URL or a store, and the path of the new group in it.
    kind
        ``"parquet"``, ``"arrow"`` or ``"csv"``; by default what the first bytes or the suffix say.
    columns
        The columns to read; by default all. A struct is read whole.
    rows
        How many rows a chunk has; by default so many that a chunk of numbers has a MiB.
    decimals
        ``"text"`` keeps all digits of decimals, ``"float"`` rounds them; by default they are
        refused.
    delimiter, encoding, null_values, types
        Of CSV: what stands between values (a comma), the encoding, the texts that mean "missing"
        where they stand without quotes, and types of columns by name, as pyarrow calls them. A
        column without one has the first type that holds all its values: integers, booleans, dates,
        times, floats, text.
    zarr_format, compressors
        Of the new arrays, as in `create_array`.
    overwrite
        Replace the node at the destination.
    dry_run
        Look at the columns, and write nothing.
    progress
        True draws a bar on a terminal; a callable gets a `Progress` after every step. Units are
        rows.
    storage_options, destination_options
        Options for the stores of URLs, of the file and of the destination.

    Raises
    ------
    UnsupportedError
        If columns have types that no array has: lists, maps, unions, decimals.
    MetadataError
        If the file is damaged.

    Examples
    --------
    >>> with open("rivers.csv", "w") as file:
    ...     _ = file.write("name,km\\nAare,288\\nRhein,1233\\nBirs,\\n")
    >>> report = read("rivers.csv", "rivers.zarr")
    >>> root = omnizarr.open_group("rivers.zarr", mode="r")
    >>> root["name"][:].tolist(), root["km"][:].tolist(), root["km_valid"][:].tolist()
    (['Aare', 'Rhein', 'Birs'], [288, 1233, 0], [True, True, False])
    """
    begin = time.monotonic()
    if kind is not None and kind not in KINDS:
        raise ValueError(f"kind must be one of {', '.join(KINDS)}; found {kind!r}")
    if rows is not None and rows < 1:
        raise ValueError(f"rows must be at least 1, found {rows}")
    [place] = find(file, storage_options)
    found = kind or kind_of(place)
    if found is None:
        raise UnsupportedError(f"{place.shown!r} is no Parquet, Arrow or CSV file").advise(
            "if it is, say so with kind="
        )
    if decimals not in (None, "text", "float"):
        raise ValueError(f"decimals must be 'text' or 'float', found {decimals!r}")
    csv = CsvOptions(delimiter, encoding, null_values, types or {})
    chosen = formats.get_format(zarr_format or config.get("default_zarr_format"))
    normal = paths.normalize_path(path)
    with opened(place, found, csv) as source:
        with source.told():
            known = source.schema.names
        names = _chosen(known, columns, place)
        pa = package("pyarrow", "arrow", "reading tables")
        with source.told():
            schema = flat(pa.schema([source.schema.field(n) for n in names]).empty_table()).schema
            planned = columns_of(schema, decimals)
        if dry_run:
            facts = tuple(
                TableColumn(each.name, str(each.arrow), _shown(each.dtype), 0) for each in planned
            )
            seconds = time.monotonic() - begin
            return ImportedTable(place.shown, "", source.rows or 0, facts, seconds)
        store = as_store(destination, mode="a", storage_options=destination_options)
        try:
            stream = _Stream(source, names, planned, rows)
            target = Target(store, normal, chosen, stream.chunk)
            valid = _plan(target, planned, schema, compressors)
            restarted = target.begin(overwrite=overwrite)
            writer = _Writer(target, planned, valid, stream)
            writer.run(progress)
            metadata = _texts(source.schema.metadata)
            attributes: dict[str, Any] = {ORDER: [each.name for each in planned]}
            incomplete = [each.name for each in planned if writer.missing[each.name]]
            target.finish(
                writer.rows, writer.kept, attributes | ({METADATA: metadata} if metadata else {}),
                {name: {VALID: valid[name]} for name in incomplete},
            )  # fmt: skip
        finally:
            if store is not destination:
                store.close()
    facts = tuple(writer.fact(each, valid[each.name]) for each in planned)
    seconds = time.monotonic() - begin
    where = f"{store!r}, path {'/' + normal!r}"
    return ImportedTable(place.shown, where, writer.rows, facts, seconds, writer.nbytes, restarted)


def _flat(batch: Any) -> list[Any]:
    pa = package("pyarrow", "arrow", "reading tables")
    return pieces(flat(pa.Table.from_batches([batch])).columns)


class _Stream:
    """The batches of a table, and how many rows make a chunk and a block of chunks."""

    def __init__(
        self, source: Table, names: list[str], columns: list[Column], rows: int | None
    ) -> None:
        batches = source.batches(names)
        first = next(batches, None)
        with source.told():
            width = _width(columns, first)
        self.source = source
        self.batches = batches if first is None else chain([first], batches)
        self.chunk = rows or min(_MOST_ROWS, max(_LEAST_ROWS, _power(_BLOCK_BYTES // width)))
        self.at_once = max(1, _HELD_BYTES // width // self.chunk)


def _width(columns: list[Column], batch: Any) -> int:
    """Bytes of a row, by what the first batch has."""
    if batch is None or not batch.num_rows:
        return sum(column.itemsize for column in columns) or 1
    found = [column.values(array)[0].nbytes
             for column, array in zip(columns, _flat(batch), strict=True)]  # fmt: skip
    return int(sum(found) // batch.num_rows) + 1


def _chosen(known: Sequence[str], wanted: Sequence[str] | None, place: Place) -> list[str]:
    twice = sorted({name for name in known if known.count(name) > 1}) if len(known) < 1000 else []
    if len(set(known)) < len(known):
        raise MetadataError(f"{place.shown!r} has several columns of one name: {twice or 'many'}")
    if wanted is None:
        return list(known)
    if isinstance(wanted, str) or not isinstance(wanted, Sequence):
        raise ValueError(f"columns must be a list of names, found {wanted!r}")
    for name in wanted:
        if name not in known:
            shown = ", ".join(map(repr, known[:20]))
            raise ValueError(f"{place.shown!r} has no column {name!r}; there are: {shown}")
    return list(wanted)


def _plan(target: Target, columns: list[Column], schema: Any, compressors: Any) -> dict[str, str]:
    """Plan all arrays; gives the names of those that say what is valid."""
    taken = {column.name for column in columns}
    valid: dict[str, str] = {}
    obstacles = Obstacles()
    for column, field in zip(columns, schema, strict=True):
        about = _texts(field.metadata)
        attributes = column.attributes | ({METADATA: about} if about else {})
        try:
            target.add(column.name, column.dtype, attributes=attributes, compressors=compressors)
        except ZarrError as error:
            obstacles.add(error.at(f"column {column.name!r}"), error)
        valid[column.name] = array_name(f"{column.name}_valid", taken)
    obstacles.check()
    with suppress(UnsupportedError):  # of formats without booleans: columns may have no nulls
        for column in columns:
            target.add(valid[column.name], bool, fill_value=True, compressors=compressors)
    return valid


class _Writer:
    """Gathers columns until there are some chunks of each, and writes these."""

    def __init__(
        self, target: Target, columns: list[Column], valid: dict[str, str], stream: _Stream
    ) -> None:
        self._target, self._columns, self._valid = target, columns, valid
        self._stream = stream
        self._chunk, self._block = stream.chunk, stream.chunk * stream.at_once
        self._parts: list[list[tuple[Any, Any]]] = [[] for _ in columns]
        self._waiting = self._held = 0
        self.rows = self.nbytes = 0
        self.missing = dict.fromkeys((column.name for column in columns), 0)
        """How many values of each column are."""
        self._written = dict.fromkeys(self.missing, 0)

    @property
    def kept(self) -> list[str]:
        """The arrays that there are."""
        names = [column.name for column in self._columns]
        return names + [self._valid[name] for name in names if self.missing[name]]

    def fact(self, column: Column, valid: str) -> TableColumn:
        """What became of a column."""
        missing = self.missing[column.name]
        return TableColumn(
            column.name, str(column.arrow), _shown(column.dtype), missing, valid if missing else "",
            -(-self.rows // self._chunk), self._written[column.name],
        )  # fmt: skip

    def run(self, progress: ProgressLike) -> None:
        """Write all rows."""
        reporter = Reporter(progress, self._stream.source.rows or 0)
        try:
            for batch in self._stream.batches:
                with self._stream.source.told():
                    arrays = _flat(batch)
                self.take(arrays, batch.num_rows)
                reporter.advance(batch.num_rows, batch.nbytes, "")
            self.flush()
        finally:
            reporter.close()
        announced = self._stream.source.rows
        if announced is not None and announced != self.rows:
            raise MetadataError(f"{announced} rows were announced, and {self.rows} are there")

    def take(self, arrays: list[Any], rows: int) -> None:
        at = 0
        while at < rows:
            count = min(rows - at, self._chunk - self._waiting % self._chunk)
            for column, array, parts in zip(self._columns, arrays, self._parts, strict=True):
                with self._stream.source.told():
                    values, valid = column.values(array.slice(at, count))
                self._held += values.nbytes
                parts.append((values, valid))
            at += count
            self._waiting += count
            full = self._held >= _HELD_BYTES and self._waiting % self._chunk == 0
            if self._waiting == self._block or full:
                self.flush()

    def flush(self) -> None:
        """Write what there is."""
        start, stop = self.rows, self.rows + self._waiting
        if start == stop:
            return
        for column, parts in zip(self._columns, self._parts, strict=True):
            values = _joined([values for values, _ in parts])
            self._target.write(column.name, start, stop, values)
            if any(valid is not None for _, valid in parts):
                valid = np.concatenate([
                    np.ones(len(values), bool) if valid is None else valid
                    for values, valid in parts
                ])  # fmt: skip
                if not self._target.has(self._valid[column.name]):
                    raise UnsupportedError(
                        f"column {column.name!r}: it has nulls, and the format has no booleans to"
                        " say which values are missing"
                    ).advise("fill them beforehand, or choose {}", ("zarr_format", 3))
                self._target.write(self._valid[column.name], start, stop, valid)
                self.missing[column.name] += int(valid.size - np.count_nonzero(valid))
            self.nbytes += values.nbytes
            self._written[column.name] += values.nbytes
            parts.clear()
        self.rows, self._waiting, self._held = stop, 0, 0


def _joined(parts: list[Any]) -> Any:
    if isinstance(parts[0], np.ndarray):
        return parts[0] if len(parts) == 1 else np.concatenate(parts)
    return package("pyarrow", "arrow", "reading tables").chunked_array(parts)


def _texts(metadata: Any) -> dict[str, str]:
    """The metadata of a schema or a field that are text."""
    found: dict[str, str] = {}
    for key, value in (metadata or {}).items():
        try:
            found[key.decode()] = value.decode()
        except UnicodeDecodeError:
            continue
    return {key: value for key, value in found.items() if key != "PARQUET:field_id"}


def _power(number: int) -> int:
    """The largest power of 2 that is not larger."""
    return 1 << max(0, number.bit_length() - 1)


def _shown(dtype: Any) -> str:
    return dtype.__name__ if isinstance(dtype, type) else str(np.dtype(dtype))
