"""A table as the source of `convert`: whether a path means one, and the report in `convert`'s form.

This module knows paths and reports. It must not know what is in a table.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any, TypeGuard

from omnizarr.api.virtual.files import find
from omnizarr.config import config
from omnizarr.errors import UnsupportedError
from omnizarr.formats import FormatName
from omnizarr.jobs.conversion.report import Conversion, Row
from omnizarr.jobs.importing.table_sources import kind_of
from omnizarr.jobs.importing.tables import ImportedTable, read
from omnizarr.keywords import nearest
from omnizarr.stores import StoreLike

READING = ("columns", "decimals", "delimiter", "encoding", "null_values", "types")
"""Options of `convert` for the reading of a table."""
_ENDS_OF_URLS = (".parquet", ".pq", ".arrow", ".feather", ".csv", ".tsv", ".csv.gz", ".tsv.gz")


def is_table(source: object) -> TypeGuard[str | os.PathLike[str]]:
    """Whether a path or URL means a table: of a local file the first bytes decide, or the suffix
    of text; of a URL the suffix alone, so that no store is asked for what is none.

    >>> is_table("no/such/file.csv"), is_table({}), is_table("https://127.0.0.1/x.parquet?key=1")
    (False, False, True)
    """
    if not isinstance(source, str | os.PathLike):
        return False
    name = os.fspath(source)
    if not isinstance(name, str):
        return False
    plain = name.removeprefix("file://")
    if "://" in plain:
        return plain.partition("?")[0].partition("#")[0].lower().endswith(_ENDS_OF_URLS)
    return os.path.isfile(plain) and kind_of(find(plain, None)[0]) is not None


def convert_table(
    source: str | os.PathLike[str],
    destination: StoreLike,
    *,
    chunks: Any = None,
    compressors: Any = "keep",
    zarr_format: FormatName | None = None,
    dry_run: bool = False,
    refused: Mapping[str, object] | None = None,
    reading: Mapping[str, Any] | None = None,
    **options: Any,
) -> Conversion:
    """What `convert` does with a table. `refused`: arguments that a table does not take, which
    must have no value; `reading`: what a caller says of the table; `options`: others of `read`.

    >>> with open("a.csv", "w") as file:
    ...     _ = file.write("a\\n1\\n")
    >>> convert_table("a.csv", "a.zarr", chunks=10).nodes[1].notes
    ('int64 column',)
    """
    for name, value in (refused or {}).items():
        if value:
            raise UnsupportedError(f"{name} is not taken for a table").advise(
                "convert the table without {}, and then the result once more", (name, value)
            )
    if destination is None:
        raise TypeError("a table is not converted in place; give a destination")
    for name in reading or {}:
        if name not in READING:
            known = ", ".join(READING)
            raise UnsupportedError(
                f"a table has no option {name!r}; it has {known}{nearest(name, READING)}"
            )
    chosen = zarr_format or config.get("default_zarr_format")
    report = read(
        source, destination, rows=_rows(chunks), zarr_format=chosen, dry_run=dry_run,
        compressors="auto" if isinstance(compressors, str) and compressors == "keep"
        else compressors, **options, **(reading or {}),
    )  # fmt: skip
    found = _conversion(report, chosen, dry_run)
    if dry_run:
        sys.stdout.write(f"{found}\n")
    return found


def _rows(chunks: Any) -> int | None:
    """How many rows a chunk has, as `chunks=` says it."""
    if isinstance(chunks, Sequence) and not isinstance(chunks, str) and len(chunks) == 1:
        chunks = chunks[0]
    if chunks is None or (isinstance(chunks, int) and not isinstance(chunks, bool)):
        return chunks
    raise UnsupportedError(f"chunks of a table are a number of rows; found {chunks!r}")


def _conversion(report: ImportedTable, chosen: FormatName, dry_run: bool) -> Conversion:
    count = f"{report.rows:,} row{'s' * (report.rows != 1)}"
    rows = [Row("", "group", chosen, chosen, "group", notes=(count,))]
    for each in report.columns:
        notes: tuple[str, ...] = (f"{each.type} column",)
        if each.missing and each.valid:
            notes += (f"{each.missing:,} missing, see {each.valid}",)
        rows.append(Row(
            each.name, "array", chosen, chosen, "re-encode", each.chunks,
            bytes_written=each.nbytes, notes=notes,
        ))  # fmt: skip
    return Conversion(
        tuple(rows), (), report.seconds, dry_run, report.source, report.destination,
        report.restarted,
    )  # fmt: skip
