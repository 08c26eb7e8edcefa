"""Facts as Zarr: references in memory, reference files (JSON, parquet), Icechunk's manifests.

The documents are made by creating the arrays in memory, so that they are what omnizarr writes
everywhere. References have format 2, which all readers of references know; arrays whose chunks
differ in their length need format 3.

This module knows nodes and references. It must not know kinds of files.
"""

from __future__ import annotations

import json
import os
import re
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from omnizarr import formats, limits
from omnizarr.api.consolidating import consolidate_metadata
from omnizarr.api.creating import create_group
from omnizarr.api.virtual.facts import Span, VirtualArray, VirtualFile, places
from omnizarr.conventions.multiscales import ome_versions
from omnizarr.errors import LimitError, NodeExistsError, StoreError, UnsupportedError, ZarrError
from omnizarr.model.codec import Json
from omnizarr.model.grids import Shape
from omnizarr.model.store import ByteRange, Store
from omnizarr.nodes.array import Array
from omnizarr.nodes.creation import storing
from omnizarr.nodes.creation.arguments import request_from
from omnizarr.nodes.node import NodeAddress, Options
from omnizarr.runtime import optional_packages
from omnizarr.stores import MemoryStore, as_store

RECORDS = 100_000
"""References in one parquet file."""
_FILL_VALUE = "_FillValue"

Reference = bytes | Span


def references(file: VirtualFile, old: bool | None = None) -> dict[str, Any]:
    """Keys and what they stand for: bytes, or a span of a file. `old`: in format 2; by default if
    that can be."""
    old = regular(file) if old is None else old
    store = MemoryStore()
    found: dict[str, Any] = {}
    for path, (array, facts) in _create(store, file, old).items():
        key = key_of(array)
        for chunks in (facts.pieces, facts.inline):
            found.update((f"{path}/{key(place)}", chunk) for place, chunk in chunks.items())
    if old:
        consolidate_metadata(store)  # zarr-python cannot list the members of groups in references
    return {key: bytes(store.get(key) or b"") for key in store.list()} | found


def regular(file: VirtualFile) -> bool:
    """Whether the chunks of each array have one shape."""
    return all(array.regular for array in file.arrays.values())


def key_of(array: Array) -> Callable[[Shape], str]:
    """The function from the coordinates of a chunk to its key below the array."""
    return array._stored.keys.encoder(array.ndim)


def _create(store: Store, file: VirtualFile, old: bool) -> dict[str, tuple[Array, VirtualArray]]:
    """Create all nodes, with the values that are held. `old`: in format 2."""
    chosen = 2 if old else 3
    version = formats.get_format(chosen).ome_version or "0.4"
    for path in sorted(file.groups):
        attributes = ome_versions.moved(file.groups[path], version).attributes
        create_group(store, path=path, attributes=dict(attributes), zarr_format=chosen)
    made: dict[str, tuple[Array, VirtualArray]] = {}
    for path, facts in file.arrays.items():
        try:
            made[path] = _create_array(store, path, facts, old), facts
        except ZarrError as error:
            if isinstance(error, StoreError) and not facts.regular:
                raise UnsupportedError(
                    f"array {path!r}: its chunks differ in their length, and {store!r} refuses the"
                    " chunk grid 'rectilinear', as releases of Icechunk do"
                ).advise("write JSON: output='….json'") from error
            told = error.at(f"{file.source!r}, array {path!r}")
            raise told.advise(f"leave it out with skip=[{path!r}]") from error
    return made


def _create_array(store: Store, path: str, facts: VirtualArray, old: bool) -> Array:
    attributes = dict(facts.attributes)
    fill = facts.fill_value if facts.unwritten is None else facts.unwritten
    more: dict[str, Any] = {"order": "F"} if facts.order == "F" else {}
    if not old:
        order = _byte_order(facts.dtype)
        if facts.values is None and order == ">":
            more["serializer"] = {"name": "bytes", "configuration": {"endian": "big"}}
        if facts.fill_value is not None:
            attributes[_FILL_VALUE] = _for_xarray(facts.fill_value)
    if fill is not None or old:
        more["fill_value"] = fill
    request = request_from({
        "shape": facts.shape, "chunks": False, "dtype": facts.dtype, "filters": None,
        "compressors": [dict(codec) for codec in facts.codecs] or None,
        "dimension_names": facts.dimensions, "attributes": attributes, **more,
    })  # fmt: skip
    chosen = formats.get_format(2 if old else 3)
    place = NodeAddress(store, path, chosen)
    # A last chunk that is shorter is stored so; `create_array` takes such a grid for a regular one.
    model = chosen.new_array(replace(request, chunks=facts.chunks))
    array = Array._of(place, model, Options())
    array._source.regular_chain  # noqa: B018 - codecs that are not installed are found here
    storing.create(place, model, overwrite=False)
    if facts.values is not None and facts.values.size:
        array[...] = facts.values
    return array


def _byte_order(dtype: np.dtype[Any]) -> str:
    """Of a type that has one; UnsupportedError if its fields differ."""
    kinds = [dtype[name] for name in dtype.names] if dtype.names else [dtype]
    orders = {kind.str[0] for kind in kinds} - {"|"}
    if len(orders) > 1:
        raise UnsupportedError(f"the fields of {dtype} differ in their byte order")
    return next(iter(orders), "|")


def _for_xarray(fill: Any) -> Json:
    """A fill value as xarray keeps it in the attributes of format 3."""
    value = np.asarray(fill)
    if value.dtype.kind == "f":
        return b64encode(value.astype("<f8").tobytes()).decode()
    if value.dtype.kind == "S":
        return b64encode(bytes(value[()])).decode()
    item: Json = value.item() if value.dtype.kind in "iub" else str(value[()])
    return item


# -- reference files ------------------------------------------------------------------------------


def check_replaceable(path: str, options: Mapping[str, object] | None) -> None:
    """Refuse a place that holds something else than references, which would be lost."""
    folder, name = os.path.split(path)
    with as_store(folder or ".", mode="a", storage_options=options) as store:
        if path.endswith(".json"):
            data = store.get(name, ByteRange(0, limits.current.max_document_bytes))
            other = name if data is not None and not _is_document(bytes(data)) else None
        else:
            other = name if store.get(name, ByteRange(0, 1)) is not None else None
            inside = (key.removeprefix(f"{name}/") for key in store.list_prefix(f"{name}/"))
            other = other or next((f"{name}/{key}" for key in inside if not _IN.match(key)), None)
        if other is not None:
            raise NodeExistsError(
                "output is written as references, and what is there is none; delete it, or give"
                " another path"
            ).at(store, key=other)


_IN = re.compile(r"\.zmetadata$|(.*/)?refs\.\d+\.parq$", re.DOTALL)
"""The keys below a folder of references."""


def _is_document(data: bytes) -> bool:
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        return False
    return isinstance(found, dict) and "refs" in found


def write_json(found: Mapping[str, Any], path: str, options: Mapping[str, object] | None) -> None:
    """Write references as one JSON document of version 1."""
    refs = {key: list(value) if isinstance(value, tuple) else _inline(value)
            for key, value in found.items()}  # fmt: skip
    data = json.dumps({"version": 1, "refs": refs}, separators=(",", ":")).encode()
    most = limits.current.max_document_bytes
    if len(data) > most:
        raise LimitError(
            f"{len(refs)} references make a document of {len(data)} bytes, more than"
            f" limits.max_document_bytes, {most}, that can be read back"
        ).advise("write them as parquet: output='….parquet'")
    folder, name = os.path.split(path)
    with as_store(folder or ".", mode="a", storage_options=options) as store:
        store.set(name, data)


def _inline(value: bytes) -> str:
    try:
        text = value.decode("ascii")
    except UnicodeDecodeError:
        return "base64:" + b64encode(value).decode()
    return "base64:" + b64encode(value).decode() if text.startswith("base64:") else text


def write_parquet(
    file: VirtualFile, found: Mapping[str, Any], path: str, options: Mapping[str, object] | None
) -> None:
    """Write references as a folder of parquet files, as fsspec reads it."""
    if not regular(file):
        raise UnsupportedError(
            "parquet references hold arrays of format 2, whose chunks have one length;"
            " here they differ"
        ).advise("write JSON: output='….json'")
    arrow = optional_packages.package("pyarrow", "arrow", "writing parquet references")
    parquet = optional_packages.package("pyarrow.parquet", "arrow", "writing parquet references")
    metadata = {key: json.loads(value) for key, value in found.items()
                if key.rpartition("/")[2] in (".zgroup", ".zarray", ".zattrs")}  # fmt: skip
    folder, name = os.path.split(path)
    with as_store(folder or ".", mode="a", storage_options=options) as store:
        store.delete_prefix(f"{name}/")
        for array, facts in file.arrays.items():
            for record, rows in enumerate(_records(array, facts, found)):
                sink = arrow.BufferOutputStream()
                parquet.write_table(_table(arrow, rows), sink, compression="zstd")
                store.set(f"{name}/{array}/refs.{record}.parq", memoryview(sink.getvalue()))
        # Last: it makes the folder one of references.
        document = {"metadata": metadata, "record_size": RECORDS}
        store.set(f"{name}/.zmetadata", json.dumps(document).encode())


def _records(
    path: str, facts: VirtualArray, found: Mapping[str, Any]
) -> Iterator[list[Reference | None]]:
    """The references of an array in C order, in portions for one file each."""
    rows: list[Reference | None] = []
    for place in places(facts.counts() or (1,)):
        rows.append(found.get(f"{path}/{'.'.join(map(str, place))}"))
        if len(rows) == RECORDS:
            yield rows
            rows = []
    if rows:
        yield rows


def _table(arrow: Any, rows: list[Reference | None]) -> Any:
    spans = [row if isinstance(row, Span) else Span("", 0, 0) for row in rows]
    urls = [row.url if isinstance(row, Span) else None for row in rows]
    raw = [row if isinstance(row, bytes) else None for row in rows]
    return arrow.table({
        "path": arrow.array(urls, arrow.string()).dictionary_encode(),
        "offset": arrow.array([span.offset for span in spans], arrow.int64()),
        "size": arrow.array([span.size for span in spans], arrow.int64()),
        "raw": arrow.array(raw, arrow.binary()),
    })  # fmt: skip


# -- Icechunk -------------------------------------------------------------------------------------


def is_icechunk(output: object) -> bool:
    """Whether an object is a session or a store of Icechunk."""
    return any(kind.__module__.partition(".")[0] == "icechunk" for kind in type(output).__mro__)


def write_icechunk(file: VirtualFile, session: Any) -> Store:
    """Write nodes and virtual references into a session, which the caller commits."""
    from datetime import UTC, datetime, timedelta

    icechunk = optional_packages.package("icechunk", "zarr", "writing to Icechunk")
    inner = getattr(session, "store", session)
    store = as_store(inner)
    # Icechunk refuses to read a file that was changed after this.
    scanned = datetime.now(UTC) + timedelta(seconds=1)
    for path, (array, facts) in _create(store, file, old=False).items():
        key = key_of(array)
        for place, data in facts.inline.items():
            store.set(f"{path}/{key(place)}", data)
        chunks = [
            icechunk.VirtualChunkSpec(
                index=list(place), location=_location(span.url), offset=span.offset,
                length=span.size, last_updated_at_checksum=scanned,
            )
            for place, span in facts.pieces.items()
        ]  # fmt: skip
        refused = inner.set_virtual_refs(path, chunks, validate_containers=True) if chunks else None
        if refused:
            url = _location(facts.pieces[tuple(refused[0])].url)
            raise UnsupportedError(
                f"no virtual chunk container of the repository holds {url!r}"
            ).advise("add one to its configuration: icechunk.VirtualChunkContainer")
    return store


def _location(url: str) -> str:
    return url if "://" in url else f"file://{url}"
