"""A table as a Parquet file, with a row group for each block of rows.

This module knows Parquet. `tables` knows what is a table, and what its columns are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from omnizarr.errors import UnsupportedError
from omnizarr.jobs.exporting.tables import Advance, Table, compare, count, table_of, writing
from omnizarr.nodes.array import Array
from omnizarr.nodes.group import Group
from omnizarr.runtime.optional_packages import package

NAME = "parquet"
SUFFIXES = (".parquet", ".parq", ".pq")
_DICTIONARY_BYTES = 1 << 16
"""Of each row group and column. A larger one, of values that are seldom equal, takes more than they
do: row groups are so small that pyarrow's own limit is not reached."""


def _table(node: Array | Group) -> Table:
    return table_of(node, dictionaries=True)


def _parquet() -> Any:
    return package("pyarrow.parquet", "arrow", "writing Parquet")


def obstacles(node: Array | Group, options: Mapping[str, Any]) -> list[str]:
    """What cannot be expressed, and what to do."""
    try:
        _table(node)
    except UnsupportedError as error:
        return [str(error)]
    return []


def units(node: Array | Group, options: Mapping[str, Any]) -> int:
    """How many steps there are."""
    return count(_table(node))


def write(node: Array | Group, file: str, advance: Advance, *, compression: str = "zstd") -> None:
    """Write a new file. `compression`: ``"zstd"``, ``"snappy"``, ``"gzip"``, ``"none"`` …"""
    table = _table(node)
    with (
        writing(NAME),
        _parquet().ParquetWriter(
            file,
            table.schema,
            compression=compression,
            dictionary_pagesize_limit=_DICTIONARY_BYTES,
        ) as writer,
    ):
        for block in table.blocks():
            writer.write_table(block, row_group_size=max(1, block.num_rows))
            advance(1, block.nbytes, "")


def differences(
    node: Array | Group, file: str, advance: Advance, *, compression: str = "zstd"
) -> Iterator[str]:
    """What reads back as something else."""
    # Else all that was read would be kept.
    with _parquet().ParquetFile(file, pre_buffer=False) as found:
        yield from compare(_table(node), iter(found.iter_batches()), advance)
