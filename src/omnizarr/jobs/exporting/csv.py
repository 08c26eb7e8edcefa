"""A table as a CSV file: a line of names, and a line for each row (RFC 4180).

Text stands in quotes, quotes in it are doubled. What is missing is nothing at all, so that empty
text, which has quotes, is something else. Floats have the digits that give them back; times are
those of ISO 8601, durations whole numbers of their unit.

This module knows CSV. `tables` knows what is a table, and what its columns are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from omnizarr import limits
from omnizarr.api.virtual.files import Place
from omnizarr.errors import UnsupportedError
from omnizarr.jobs.exporting.regions import slabs
from omnizarr.jobs.exporting.tables import (
    Advance,
    Column,
    Table,
    Values,
    compare,
    count,
    table_of,
    writing,
)
from omnizarr.nodes.array import Array
from omnizarr.nodes.group import Group
from omnizarr.runtime.optional_packages import package

NAME = "csv"
SUFFIXES = (".csv",)
_MOST_COLUMNS = 10_000


def _csv() -> Any:
    return package("pyarrow.csv", "arrow", "writing CSV")


def obstacles(node: Array | Group, options: Mapping[str, Any]) -> list[str]:
    """What cannot be expressed, and what to do."""
    try:
        _table(node, bool(options.get("matrix")))
    except UnsupportedError as error:
        return [str(error)]
    delimiter = options.get("delimiter", ",")
    if not isinstance(delimiter, str) or len(delimiter) != 1 or delimiter in '"\r\n':
        return [f"delimiter must be one character and no quote, found {delimiter!r}"]
    return []


def units(node: Array | Group, options: Mapping[str, Any]) -> int:
    """How many steps there are."""
    return count(_table(node, bool(options.get("matrix"))))


def write(
    node: Array | Group, file: str, advance: Advance, *, delimiter: str = ",",
    matrix: bool = False,
) -> None:  # fmt: skip
    """Write a new file. `matrix`: an array of two dimensions as lines of values alone."""
    table = _table(node, matrix)
    options = _csv().WriteOptions(include_header=not matrix, delimiter=delimiter)
    with writing(NAME), _csv().CSVWriter(file, table.schema, write_options=options) as writer:
        for block in table.blocks():
            writer.write_table(block)
            advance(1, block.nbytes, "")


def differences(
    node: Array | Group, file: str, advance: Advance, *, delimiter: str = ",",
    matrix: bool = False,
) -> Iterator[str]:  # fmt: skip
    """What reads back as something else."""
    csv, table = _csv(), _table(node, matrix)
    names = table.schema.names
    with Place(file, {}).open() as stream:
        found = csv.open_csv(
            stream,
            csv.ReadOptions(
                block_size=8 * limits.MIB, column_names=names, skip_rows=0 if matrix else 1
            ),
            csv.ParseOptions(
                delimiter=delimiter, newlines_in_values=True, ignore_empty_lines=len(names) > 1
            ),
            csv.ConvertOptions(
                column_types=dict(zip(names, table.schema.types, strict=True)), null_values=[""],
                strings_can_be_null=True, quoted_strings_can_be_null=False,
            ),
        )  # fmt: skip
        yield from compare(table, iter(found), advance)


def _table(node: Array | Group, matrix: bool) -> Table:
    table = _matrix(node) if matrix else table_of(node)
    return replace(table, columns=tuple(map(_printable, table.columns)))


def _printable(column: Column) -> Column:
    """A column of a type that CSV has; UnsupportedError if there is none."""
    pa = package("pyarrow", "arrow", "writing CSV")
    types, kind = pa.types, column.type
    if types.is_float16(kind):
        return _as(column, pa.float32())
    if types.is_duration(kind):
        return _as(column, pa.int64())
    if types.is_nested(kind) or types.is_fixed_size_binary(kind) or types.is_binary(kind):
        raise UnsupportedError(
            f"column {column.name!r}: CSV has no form for {kind}; export it as .parquet"
        )
    return column


def _as(column: Column, kind: Any) -> Column:
    return replace(column, type=kind, values=partial(_cast, column.values, kind))


def _cast(values: Values, kind: Any, region: Any) -> Any:
    return values(region).cast(kind)


def _matrix(node: Array | Group) -> Table:
    if not isinstance(node, Array) or node.ndim != 2:
        raise UnsupportedError("matrix=True needs an array of two dimensions: name one with path=")
    if not 0 < node.shape[1] <= _MOST_COLUMNS:
        raise UnsupportedError(f"a matrix of {node.shape[1]} columns; at most {_MOST_COLUMNS}")
    inner = table_of(node).columns[-1]
    read = _Rows(inner.values)
    columns = [Column(str(n), inner.type, partial(read.column, n)) for n in range(node.shape[1])]
    whole = [region for region in slabs(node) if region[1] == slice(0, node.shape[1])]
    return Table(tuple(columns), partial(iter, whole), {})


class _Rows:
    """Rows of an array, read once for all columns of a region."""

    def __init__(self, values: Values) -> None:
        self._values = values
        self._region: Any = None
        self._found: Any = None

    def column(self, number: int, region: Any) -> Any:
        if region != self._region:
            self._region, self._found = region, self._values(region)
        width = region[1].stop - region[1].start
        pa = package("pyarrow", "arrow", "writing CSV")
        return self._found.take(pa.array(range(number, len(self._found), width)))
