"""References in parquet files, as kerchunk writes them: a folder with

    .zmetadata                  {"metadata": {key: document}, "record_size": n}
    <array>/refs.<i>.parq       n references each, one row per chunk in C order

with the columns path, offset and size, and raw for values that are in the file itself. A row with
neither path nor raw is a chunk that does not exist; so are all rows of a file that does not.

A file is read when a chunk in it is first read, and the latest files are kept, `KEPT` bytes in all.
They are parsed by pyarrow, after rows and pages were counted: what a file unpacks to is bounded by
`limits.max_document_bytes`, as the file itself is. pyarrow has no such bound of its own.

This module knows the folder. It must not know where the files are that its rows name.
"""

from __future__ import annotations

import re
import sys
import threading
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from math import prod
from typing import Any

from omnizarr import limits
from omnizarr.errors import ErrorLocation, MetadataError, StoreError
from omnizarr.model import json
from omnizarr.model.codec import Json
from omnizarr.model.json import show
from omnizarr.model.paths import ancestors, is_key
from omnizarr.model.store import Buffer, ByteRange, Listing, Store, listing_of
from omnizarr.runtime import forks, optional_packages
from omnizarr.stores.references.json import BASE64, FileSpan, Reference, inline
from omnizarr.stores.references.parquet_pages import check_pages

KEPT = 64 * limits.MIB
METADATA = ".zmetadata"
_ROW = 24  # bytes that a row takes in memory, at the least
_ARRAY = "/.zarray"
_TEXT, _BYTES = {"string", "large_string"}, {"binary", "large_binary"}
_WHOLE = {f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)}
_VALUES = ("path", "raw")
_TYPES = {"path": _TEXT, "offset": _WHOLE, "size": _WHOLE, "raw": _TEXT | _BYTES}
_INDEX = re.compile(r"0|[1-9][0-9]{0,18}")
_FILE = re.compile(r"refs\.(0|[1-9][0-9]{0,18})\.parq")

# One for all; never held while a file is read. A fork waits for it.
_guard = threading.RLock()
forks.wait_for(sys.modules[__name__], "_guard")


class ReferenceFolder:
    """The references in the folder that `store` shows."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._pyarrow = optional_packages.package(
            "pyarrow.parquet", "arrow", "reading parquet references"
        )
        document = _metadata(store)
        members = document if isinstance(document, Mapping) else {}
        metadata, record_size = members.get("metadata"), members.get("record_size")
        if not isinstance(metadata, Mapping) or not isinstance(record_size, int) or record_size < 1:
            raise MetadataError(
                "expected an object with 'metadata' and a positive 'record_size';"
                f" found {show(record_size)}"
            ).at(store, key=METADATA)
        self._record_size = record_size
        self._documents = {key: value for key, value in metadata.items() if is_key(key)}
        self._grids = {
            key[: -len(_ARRAY)]: _grid(value, key)
            for key, value in self._documents.items()
            if key.endswith(_ARRAY)
        }
        self._kept: OrderedDict[tuple[str, int], Any] = OrderedDict()
        self._kept_bytes = 0

    # -- one reference ------------------------------------------------------------------------
    def get(self, key: str) -> Reference | None:
        if key in self._documents:
            return json.dumps(self._documents[key]).encode()
        number = self._number(key)
        if number is None:
            return None
        array, index = number
        table = self._table(array, index // self._record_size)
        try:
            return None if table is None else _row(table, index % self._record_size)
        except MetadataError as error:
            raise error.at(f"the row of {key!r}").at(self._store) from error

    def _number(self, key: str) -> tuple[str, int] | None:
        """The array that a chunk belongs to, and its number in C order."""
        for array in reversed(ancestors(key)):
            if array in self._grids:
                separator, counts = self._grids[array]
                names = key[len(array) + 1 :].split(separator) if array else key.split(separator)
                if len(names) != max(1, len(counts)) or not all(map(_INDEX.fullmatch, names)):
                    return None
                number = 0
                for name, count in zip(names, counts or (1,), strict=True):
                    if int(name) >= count:
                        return None
                    number = number * count + int(name)
                return array, number
        return None

    # -- files --------------------------------------------------------------------------------
    def _table(self, array: str, record: int) -> Any:
        """The rows of one file; None if there is no such file."""
        name = array, record
        with _guard:
            if name in self._kept:
                self._kept.move_to_end(name)
                return self._kept[name]
        table = self._read(f"{array}/refs.{record}.parq" if array else f"refs.{record}.parq")
        with _guard:
            if name not in self._kept:
                self._kept[name] = table
                self._kept_bytes += _nbytes(table)
            while self._kept_bytes > KEPT and len(self._kept) > 1:
                self._kept_bytes -= _nbytes(self._kept.popitem(last=False)[1])
        return table

    def _read(self, key: str) -> Any:
        most = limits.current.max_document_bytes
        data = self._store.get(key, ByteRange(0, most + 1))
        if data is None:
            return None
        try:
            if len(data) > most:
                raise MetadataError(f"more than limits.max_document_bytes, {most} bytes")
            return self._parse(data, most)
        except MetadataError as error:
            raise error.at(self._store, key=key) from error
        except Exception as error:
            raise MetadataError(f"not a parquet file of references: {error}").at(
                self._store, key=key
            ) from error

    def _parse(self, data: Buffer, most: int) -> Any:
        package = optional_packages.package("pyarrow", "arrow", "reading parquet references")
        buffer = package.py_buffer(data)
        file = self._pyarrow.ParquetFile(buffer)
        rows, columns = file.metadata.num_rows, file.schema_arrow.names
        if rows > self._record_size:
            raise MetadataError(f"more than the {self._record_size} rows it may have")
        if rows > most // _ROW:  # columns of one value take no space in the file
            raise MetadataError(f"{rows} rows; limits.max_document_bytes is {most}")
        wanted = [name for name in columns if name in _TYPES]
        if len(wanted) > len(set(wanted)):
            raise MetadataError(f"two columns have the same name: {wanted}")
        for name in wanted:
            _check_type(file.schema_arrow.field(name).type, name)
        check_pages(memoryview(data).cast("B"), _leaves(file, wanted), rows, most)
        file = self._pyarrow.ParquetFile(
            buffer,
            metadata=file.metadata,
            read_dictionary=[name for name in wanted if name in _VALUES],  # shared values stay so
            page_checksum_verification=True,
        )
        table = file.read(columns=wanted, use_threads=False)
        table.validate(full=True)  # positions, and that text is text
        return table

    # -- listing ------------------------------------------------------------------------------
    def keys(self, prefix: str) -> Iterator[str]:
        return iter(sorted(self._keys(prefix, chunks_below=True)))

    def list_dir(self, prefix: str) -> Listing:
        # Above an array only its name is listed, so its files are not read.
        return listing_of(self._keys(prefix, chunks_below=False), prefix)

    def _keys(self, prefix: str, chunks_below: bool) -> set[str]:
        found = {key for key in self._documents if key.startswith(prefix)}
        for array in self._grids:
            begin = f"{array}/" if array else ""
            if prefix.startswith(begin) or (chunks_below and begin.startswith(prefix)):
                found.update(key for key in self._chunks(array) if key.startswith(prefix))
        return found

    def _chunks(self, array: str) -> Iterator[str]:
        separator, counts = self._grids[array]
        begin = f"{array}/" if array else ""
        total = prod(counts)
        for key in self._store.list_dir(begin).keys:
            match = _FILE.fullmatch(key[len(begin) :])
            if match is None:
                continue
            table = self._table(array, int(match[1]))
            first = int(match[1]) * self._record_size
            for row, there in enumerate(_there(table)[: max(0, total - first)]):
                if there:
                    yield begin + _name(first + row, counts, separator)


def _row(table: Any, row: int) -> Reference | None:
    if row >= table.num_rows:
        return None
    columns = {name: table.column(name)[row].as_py() for name in table.column_names}
    raw, path = columns.get("raw"), columns.get("path")
    if raw is not None:
        if isinstance(raw, bytes) and not raw.startswith(BASE64.encode()):
            return raw
        return inline(raw if isinstance(raw, str) else raw.decode("latin-1"))
    if path is None:
        return None
    offset, size = columns.get("offset") or 0, columns.get("size") or 0
    if offset < 0 or size < 0:
        raise MetadataError(f"an offset of {offset} and a size of {size} bytes")
    return FileSpan(path, offset, size) if offset or size else FileSpan(path, 0, None)


def _leaves(file: Any, wanted: list[str]) -> list[int]:
    """The numbers of these columns among all that have values."""
    paths = [file.schema.column(i).path for i in range(len(file.schema))]
    leaves = [i for i, path in enumerate(paths) if path.partition(".")[0] in wanted]
    if len(leaves) != len(wanted):  # pyarrow takes "path.x" for a part of "path"
        raise ValueError(f"expected the columns {wanted}, found {[paths[i] for i in leaves]}")
    return leaves


def _check_type(found: Any, name: str) -> None:
    dictionary = hasattr(found, "index_type")
    values = str(found.value_type if dictionary else found)
    if values != "null" and values not in _TYPES[name]:
        raise MetadataError(
            f"the column {name!r} holds {found}, expected one of {sorted(_TYPES[name])}"
        )


def _there(table: Any) -> list[bool]:
    """Whether each row is a reference; values are not copied."""
    names = [] if table is None else table.column_names
    columns = [table.column(name).is_valid().to_pylist() for name in names if name in _VALUES]
    return [any(row) for row in zip(*columns, strict=True)]


def _nbytes(table: Any) -> int:
    return 256 if table is None else 256 + int(table.nbytes)


def _grid(document: Json, key: str) -> tuple[str, tuple[int, ...]]:
    """The separator of chunk keys, and the number of chunks in each dimension."""
    if isinstance(document, Mapping):
        shape, chunks = document.get("shape"), document.get("chunks")
        separator = document.get("dimension_separator", ".")
        if (
            isinstance(shape, list)
            and isinstance(chunks, list)
            and len(shape) == len(chunks)
            and separator in (".", "/")
            and all(isinstance(length, int) and length >= 0 for length in shape)
            and all(isinstance(length, int) and length > 0 for length in chunks)
        ):
            return separator, tuple(-(-n // size) for n, size in zip(shape, chunks, strict=True))
    raise MetadataError(f"key {key!r}: expected a shape and chunks of whole numbers")


def _name(number: int, counts: tuple[int, ...], separator: str) -> str:
    names: list[str] = []
    for count in reversed(counts or (1,)):
        number, index = divmod(number, count)
        names.append(str(index))
    return separator.join(reversed(names))


def is_folder(store: Store) -> bool:
    """Whether `store` shows a folder of parquet references, and not one of values."""
    try:
        document = _metadata(store)
    except (MetadataError, StoreError):
        return False
    return isinstance(document, Mapping) and "record_size" in document


def _metadata(store: Store) -> Json:
    data = store.get(METADATA, ByteRange(0, limits.current.max_document_bytes + 1))
    where = ErrorLocation.of(store, key=METADATA)
    return None if data is None else json.loads(data, where)
