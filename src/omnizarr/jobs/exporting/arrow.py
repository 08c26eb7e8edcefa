"""A table as a file of Arrow's IPC format, which is Feather's second version.

This module knows the format. `tables` knows what is a table, and what its columns are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from omnizarr.errors import UnsupportedError
from omnizarr.jobs.exporting.tables import Advance, compare, count, table_of, writing
from omnizarr.nodes.array import Array
from omnizarr.nodes.group import Group
from omnizarr.runtime.optional_packages import package

NAME = "arrow"
SUFFIXES = (".arrow", ".feather", ".ipc")


def _ipc() -> Any:
    return package("pyarrow.ipc", "arrow", "writing Arrow files")


def obstacles(node: Array | Group, options: Mapping[str, Any]) -> list[str]:
    """What cannot be expressed, and what to do."""
    try:
        table_of(node)
    except UnsupportedError as error:
        return [str(error)]
    return []


def units(node: Array | Group, options: Mapping[str, Any]) -> int:
    """How many steps there are."""
    return count(table_of(node))


def write(
    node: Array | Group, file: str, advance: Advance, *, compression: str | None = "lz4"
) -> None:
    """Write a new file. `compression`: ``"lz4"``, ``"zstd"`` or None."""
    table = table_of(node)
    options = _ipc().IpcWriteOptions(compression=compression)
    with writing(NAME), _ipc().new_file(file, table.schema, options=options) as writer:
        for block in table.blocks():
            writer.write_table(block)
            advance(1, block.nbytes, "")


def differences(
    node: Array | Group, file: str, advance: Advance, *, compression: str | None = "lz4"
) -> Iterator[str]:
    """What reads back as something else."""
    with open(file, "rb") as stream, _ipc().open_file(stream) as found:
        batches = map(found.get_batch, range(found.num_record_batches))
        yield from compare(table_of(node), iter(batches), advance)
