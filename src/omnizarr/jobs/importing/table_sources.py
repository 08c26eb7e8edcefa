"""Parquet, Arrow IPC (Feather) and CSV files as streams of Arrow's record batches.

The types of a CSV file's columns are found in a first pass over all of it: what the first block
says is widened where a later value does not fit, up to text. Files are strangers': batches have a
bounded number of rows, those of Arrow IPC are validated before anything looks at them, and a line
of CSV must fit into a block.

This module knows files of tables. It must not know Zarr.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from typing import IO, Any, Literal

from omnizarr import limits
from omnizarr.api.virtual.files import Place
from omnizarr.errors import LimitError, MetadataError, UnsupportedError, ZarrError
from omnizarr.keywords import nearest
from omnizarr.runtime.optional_packages import package

TableKind = Literal["parquet", "arrow", "csv"]
KINDS: tuple[TableKind, ...] = ("parquet", "arrow", "csv")
BATCH_ROWS = 1 << 16
MOST_COLUMNS = 10_000
_BLOCK = 2 * limits.MIB
"""Of CSV. The memory that reading takes is some 30 times as much."""
_FIRST = {b"PAR1": "parquet", b"ARRO": "arrow", b"FEA1": "feather 1"}
_PACKED = {b"\x1f\x8b": "gzip", b"BZh": "bz2", b"\x28\xb5\x2f\xfd": "zstd"}
_ENDS_OF_CSV = (".csv", ".tsv", ".tab")
_PACKED_ENDS = ("", ".gz", ".bz2", ".zst")
_ENDS_OF_STREAMS = (".arrow", ".arrows", ".ipc", ".feather")
_AT_COLUMN = re.compile(r"In CSV column #(\d+)")
_INTEGER = r"^\s*[+-]?[0-9]+\s*$"
_WHOLE = re.compile(r"invalid value '\s*[+-]?[0-9]+\s*'")
_PURPOSE = "reading tables"
_LATIN = "options", {"encoding": "latin-1"}


@dataclass(frozen=True)
class CsvOptions:
    """How a CSV file is read."""

    delimiter: str | None = None
    """By default a comma; a tab for .tsv."""
    encoding: str = "utf-8"
    null_values: Sequence[str] = ("",)
    """What means "missing" where it stands without quotes."""
    types: Mapping[str, object] = field(default_factory=dict)
    """Types of Arrow by the names of columns, as pyarrow or text."""

    def __post_init__(self) -> None:
        delimiter: object = self.delimiter
        if delimiter is not None and not (isinstance(delimiter, str) and len(delimiter) == 1):
            raise ValueError(f"delimiter must be one character, found {delimiter!r}")
        try:
            codecs.lookup(self.encoding)
        except (LookupError, TypeError) as error:
            raise ValueError(f"encoding: {error}") from error
        nulls = self.null_values
        if isinstance(nulls, str) or not all(isinstance(each, str) for each in nulls):
            raise ValueError(f"null_values must be a list of texts, found {nulls!r}")
        if not isinstance(self.types, Mapping):
            raise ValueError(f"types must be types by the names of columns, found {self.types!r}")


@dataclass(frozen=True)
class Table:
    """A table that can be read once, from begin to end."""

    kind: TableKind
    schema: Any
    rows: int | None
    """How many there are, if that is known."""
    batches: Callable[[Sequence[str]], Iterator[Any]]
    """Record batches of some columns."""
    told: Callable[[], AbstractContextManager[None]] = nullcontext
    """A block in which an error of pyarrow becomes one that names the file."""


def kind_of(place: Place) -> TableKind | None:
    """The kind of table in a file, by its first bytes or, of text, by its suffix; None for others.

    >>> kind_of(Place("no such file.h5", {})) is None
    True
    """
    plain = place.url.partition("?")[0].lower()
    try:
        with place.open() as file:
            begin = file.read(4)
    except (OSError, ZarrError):
        return None
    found = _FIRST.get(begin)
    if found == "feather 1":
        raise UnsupportedError(f"{place.shown!r} is of the first version of Feather").advise(
            "write it anew with pyarrow.feather.write_feather"
        )
    if found is not None:
        return "parquet" if found == "parquet" else "arrow"
    if plain.endswith(tuple(end + packed for end in _ENDS_OF_CSV for packed in _PACKED_ENDS)):
        return "csv"
    return "arrow" if plain.endswith(_ENDS_OF_STREAMS) else None


@contextmanager
def opened(place: Place, kind: TableKind, csv: CsvOptions) -> Iterator[Table]:
    """The table of a file. What pyarrow says of a damaged one becomes a MetadataError."""
    pa = package("pyarrow", "arrow", _PURPOSE)
    told = partial(_told, pa, place, kind)
    with ExitStack() as stack:
        with told():
            if kind == "csv":
                found = _Csv(pa, place, csv).table()
            else:
                file = stack.enter_context(place.open())
                found = (_parquet if kind == "parquet" else _arrow)(pa, file)

        def batches(columns: Sequence[str]) -> Iterator[Any]:
            with told():
                inner = found.batches(columns)
            while True:
                with told():
                    batch = next(inner, None)
                if batch is None:
                    return
                yield batch

        yield replace(found, batches=batches, told=told)


@contextmanager
def _told(pa: Any, place: Place, kind: TableKind) -> Iterator[None]:
    try:
        yield
    except ZarrError as error:
        raise error.at(f"{place.shown!r}") from error
    except pa.ArrowMemoryError as error:
        raise LimitError(f"{place.shown!r} asks for more memory than there is: {error}") from error
    except (pa.ArrowException, OSError, ValueError, OverflowError) as error:
        found = MetadataError(f"{place.shown!r} cannot be read as {kind}: {error}")
        if isinstance(error, UnicodeError):
            found = found.advise("{} reads another encoding", _LATIN)
        elif "Expected 1 columns, got" in str(error):
            found = found.advise("{} reads another delimiter", ("options", {"delimiter": ";"}))
        raise found from error


# -- Parquet and Arrow ----------------------------------------------------------------------------


def _parquet(pa: Any, file: IO[bytes]) -> Table:
    parquet = package("pyarrow.parquet", "arrow", _PURPOSE)
    # Else all that was read would be kept until the file is closed.
    plain = parquet.ParquetFile(file, pre_buffer=False)
    # A dictionary stands for much more than it takes. Text stays in it until its size is checked.
    coded = [each.name for each in plain.schema_arrow if _is_text(pa, each.type)]
    found = parquet.ParquetFile(file, read_dictionary=coded, pre_buffer=False)

    def batches(columns: Sequence[str]) -> Iterator[Any]:
        return iter(found.iter_batches(BATCH_ROWS, columns=list(columns)))

    return Table("parquet", plain.schema_arrow, plain.metadata.num_rows, batches)


def _is_text(pa: Any, kind: Any) -> bool:
    types = pa.types
    return bool(types.is_string(kind) or types.is_binary(kind))


def _arrow(pa: Any, file: IO[bytes]) -> Table:
    ipc = package("pyarrow.ipc", "arrow", _PURPOSE)
    in_order = file.read(6) != b"ARROW1"
    file.seek(0)
    reader = ipc.open_stream(file) if in_order else ipc.open_file(file)

    def batches(columns: Sequence[str]) -> Iterator[Any]:
        numbers = range(0 if in_order else reader.num_record_batches)
        for batch in reader if in_order else map(reader.get_batch, numbers):
            batch.validate(full=True)
            chosen = batch.select(list(columns))
            for start in range(0, batch.num_rows, BATCH_ROWS):
                yield chosen.slice(start, BATCH_ROWS)

    return Table("arrow", reader.schema, None, batches)


# -- CSV ------------------------------------------------------------------------------------------


class _Csv:
    def __init__(self, pa: Any, place: Place, options: CsvOptions) -> None:
        self._pa, self._place, self._options = pa, place, options
        self._csv = package("pyarrow.csv", "arrow", _PURPOSE)
        tabs = re.search(r"\.(tsv|tab)(\.\w+)?(\?|$)", place.url.lower())
        self._delimiter = options.delimiter or ("\t" if tabs else ",")
        self._single = False
        """Whether there is one column: an empty line is a missing value then."""
        self._types: dict[str, Any] = {
            name: pa.type_for_alias(kind) if isinstance(kind, str) else kind
            for name, kind in options.types.items()
        }

    def table(self) -> Table:
        self._check_width()
        schema, rows = self._examined()
        binary = [each.name for each in schema if self._pa.types.is_binary(each.type)]
        if binary and not set(binary) & set(self._options.types):
            raise MetadataError(f"the column {binary[0]!r} is not text in UTF-8").advise(
                "{} reads another encoding", _LATIN
            )

        def batches(columns: Sequence[str]) -> Iterator[Any]:
            with self._reader() as reader:
                for batch in reader:
                    yield batch.select(list(columns))

        return Table("csv", schema, rows, batches)

    @contextmanager
    def _text(self) -> Iterator[Any]:
        """The file as bytes of text, decompressed as they are read."""
        with self._place.open() as file:
            begin = file.read(4)
            file.seek(0)
            packed = next((name for head, name in _PACKED.items() if begin.startswith(head)), None)
            stream = self._pa.PythonFile(file, "r")
            yield stream if packed is None else self._pa.CompressedInputStream(stream, packed)

    @contextmanager
    def _reader(self) -> Iterator[Any]:
        csv, options = self._csv, self._options
        with self._text() as text:
            yield csv.open_csv(
                text,
                csv.ReadOptions(block_size=_BLOCK, encoding=options.encoding),
                csv.ParseOptions(
                    delimiter=self._delimiter, newlines_in_values=True,
                    ignore_empty_lines=not self._single,
                ),
                csv.ConvertOptions(
                    column_types=self._types, null_values=list(options.null_values),
                    strings_can_be_null=True, quoted_strings_can_be_null=False,
                ),
            )  # fmt: skip

    def _check_width(self) -> None:
        """Refuse a first line with more columns than any table has, before they take memory."""
        with self._text() as text:
            line = text.read(_BLOCK).partition(b"\n")[0]
        found = line.count(self._delimiter.encode(self._options.encoding)) + 1
        self._single = found == 1
        if found > MOST_COLUMNS:
            raise LimitError(f"the first line has {found} columns; at most {MOST_COLUMNS} are read")

    def _examined(self) -> tuple[Any, int]:
        """The types that hold all values, and the number of rows."""
        with self._reader() as reader:
            begin = reader.schema
        names: list[str] = begin.names
        for name in self._options.types:
            if name not in names:
                raise MetadataError(f"there is no column {name!r}{nearest(name, names)}")
        self._types = {each.name: each.type for each in begin}
        self._types |= dict.fromkeys(self._whole(begin), self._pa.int64())
        while True:
            try:
                with self._reader() as reader:
                    schema, rows = reader.schema, 0
                    for batch in reader:
                        rows += batch.num_rows
                    return schema, rows
            except self._pa.ArrowInvalid as error:
                found = _AT_COLUMN.search(str(error))
                if found is None or int(found[1]) >= len(names):
                    raise
                name = names[int(found[1])]
                wider = self._wider(self._types[name], _WHOLE.search(str(error)) is not None)
                if wider is None or name in self._options.types:
                    raise
                self._types[name] = wider

    def _whole(self, schema: Any) -> list[str]:
        """The columns of floats that have whole numbers alone in the first block: they are larger
        than integers, and a float would round them."""
        types = self._pa.types
        floats = [
            each.name for each in schema
            if types.is_float64(each.type) and each.name not in self._options.types
        ]  # fmt: skip
        if not floats:
            return []
        kept = self._types
        self._types = kept | dict.fromkeys(floats, self._pa.string())
        with self._reader() as reader:
            batch = next(iter(reader), None)
        self._types = kept
        pc = package("pyarrow.compute", "arrow", _PURPOSE)
        return [
            name for name in floats if batch is not None
            and pc.all(pc.match_substring_regex(batch[name], _INTEGER), min_count=1).as_py()
        ]  # fmt: skip

    def _wider(self, kind: Any, whole: bool) -> Any:
        """The next type of a column. `whole`: what does not fit is a whole number."""
        pa, types = self._pa, self._pa.types
        if types.is_null(kind):
            return pa.int64()
        if types.is_int64(kind) and whole:
            return pa.uint64()
        if types.is_integer(kind):
            return pa.string() if whole else pa.float64()
        if types.is_date32(kind):
            return pa.timestamp("s")
        if types.is_timestamp(kind) and kind.unit == "s" and kind.tz is None:
            return pa.timestamp("ns")
        return None if types.is_string(kind) else pa.string()
