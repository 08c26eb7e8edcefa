"""How the types of document 004 are named in metadata, what tells practice apart, and the fallback
of text to bytes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import google_crc32c
import numpy as np
import pyarrow as pa
import pytest

import omnizarr as zarr
from omnizarr.errors import DecodeError, MetadataError, ReadOnlyError, UnknownDataTypeError
from tests.acceptance.document_004 import (
    KINDS,
    WORDS,
    check_reading,
    encoded,
    full,
    stored,
    values_of,
)
from tests.codecs import text_layouts
from tests.model import columns

LITTLE = {"name": "bytes", "configuration": {"endian": "little"}}


@pytest.fixture(scope="module", params=columns.MODES, autouse=True)
def mode(request: pytest.FixtureRequest) -> Iterator[str]:
    with columns.mode(request.param):
        yield request.param


def configured(name: str, width: str) -> dict[str, Any]:
    return {"name": name, "configuration": {"offset_data_type": width}}


@pytest.mark.parametrize(
    ("data_type", "kind"),
    [
        ("string", "arrow-string"),
        ({"name": "string"}, "arrow-string"),
        ({"name": "string", "fallback": "binary"}, "arrow-string"),
        (configured("string", "int32"), "arrow-string"),
        (configured("string", "int64"), "arrow-large-string"),
        ("LargeString", "arrow-large-string"),
        ({"name": "LargeString", "fallback": "LargeBinary"}, "arrow-large-string"),
        ("binary", "arrow-binary"),
        ({"name": "binary"}, "arrow-binary"),
        (configured("binary", "int32"), "arrow-binary"),
        (configured("binary", "int64"), "arrow-large-binary"),
        ("LargeBinary", "arrow-large-binary"),
        ({"name": "unheard", "fallback": "string"}, "arrow-string"),
        ({"name": "unheard", "fallback": "LargeString"}, "arrow-large-string"),
        ({"name": "unheard", "fallback": "binary"}, "arrow-binary"),
        ({"name": "unheard", "fallback": {"name": "LargeBinary"}}, "arrow-large-binary"),
        ({"name": "unheard", "fallback": configured("string", "int64")}, "arrow-large-string"),
    ],
)
@pytest.mark.parametrize("codecs", [[LITTLE], ["bytes"], []])
def test_every_way_to_name_the_types(data_type: Any, kind: str, codecs: list[Any]) -> None:
    values = values_of(kind, (10,))
    chunk = text_layouts.write_offsets(encoded(values), KINDS[kind][1])
    array = stored(data_type, codecs, 10, {"c/0": chunk}, mode="r+")
    check_reading(array, values, kind)
    # What is written later keeps the words of who wrote first, and the layout.
    array.resize((12,))
    array[0] = values[1]
    document = json.loads(bytes(array.store.get("zarr.json")))
    assert document["data_type"] == data_type
    fill = "" if KINDS[kind][0] else b""
    values = np.array([values[1], *values[1:], fill, fill], object)
    check_reading(zarr.open_array(array.store, mode="r"), values, kind)


@pytest.mark.parametrize(
    ("data_type", "codec", "kind"),
    [
        ("string", "vlen-utf8", str),
        ({"name": "string", "fallback": "binary"}, "vlen-utf8", str),
        (configured("string", "int32"), "vlen-utf8", str),
        ("bytes", "vlen-bytes", bytes),
        ("variable_length_bytes", "vlen-bytes", bytes),
        ({"name": "binary"}, "vlen-bytes", bytes),
        ({"name": "unheard", "fallback": "string"}, "vlen-utf8", str),
    ],
)
def test_practice_is_told_apart_by_its_codec(data_type: Any, codec: str, kind: type) -> None:
    items = [word.encode() for word in WORDS]
    values = WORDS if kind is str else items
    chunk = text_layouts.write_frame(items)
    for codecs in ([codec], [{"name": codec}, {"name": "crc32c"}]):
        tail = google_crc32c.value(chunk).to_bytes(4, "little") if len(codecs) == 2 else b""
        array = stored(data_type, codecs, 10, {"c/0": chunk + tail})
        assert array[:].tolist() == values
        arrow = array.to_arrow()
        arrow.validate(full=True)
        assert arrow.to_pylist() == values
        assert array.to_awkward().tolist() == values


@pytest.mark.parametrize(
    ("data_type", "codecs", "error", "words"),
    [
        ("LargeString", ["vlen-utf8"], MetadataError, "LargeString.*codec 'bytes'.*'vlen-utf8'"),
        ("LargeBinary", ["vlen-bytes"], MetadataError, "LargeBinary.*codec 'bytes'"),
        (configured("string", "int64"), ["vlen-utf8"], MetadataError, "codec 'bytes'"),
        (
            configured("string", "int16"),
            [LITTLE],
            MetadataError,
            "offset_data_type.*int32 or int64",
        ),
        (configured("binary", 64), [LITTLE], MetadataError, "offset_data_type"),  # type: ignore[arg-type]
        ({"name": "unheard"}, [LITTLE], UnknownDataTypeError, "unheard"),
        ({"name": "unheard", "fallback": "of"}, [LITTLE], UnknownDataTypeError, "'of'"),
        (
            {"name": "a", "fallback": {"name": "b", "fallback": "string"}},
            [LITTLE],
            MetadataError,
            "fallback itself",
        ),
        ("bytes", [LITTLE], MetadataError, "vlen-bytes"),
    ],
)
def test_what_is_refused(data_type: Any, codecs: Any, error: type, words: str) -> None:
    with pytest.raises(error, match=words):
        stored(data_type, codecs, 3)[:]


@pytest.mark.parametrize(
    ("kind", "data_type"),
    [
        ("arrow-string", {"name": "string", "fallback": "binary"}),
        ("arrow-large-string", {"name": "LargeString", "fallback": "LargeBinary"}),
        ("arrow-binary", {"name": "binary"}),
        ("arrow-large-binary", {"name": "LargeBinary"}),
    ],
)
def test_what_we_write(kind: str, data_type: Any) -> None:
    fill = "ü" if KINDS[kind][0] else b"\0\xff"
    for dtype in (kind, KINDS[kind][2]):
        store: dict[str, bytes] = {}
        zarr.create_array(store=store, shape=3, chunks=2, dtype=dtype, fill_value=fill)
        document = json.loads(store["zarr.json"])
        assert document["data_type"] == data_type
        assert document["fill_value"] == ("ü" if KINDS[kind][0] else "AP8=")
        assert document["codecs"][0] == LITTLE
        assert zarr.open_array(store).fill_value == fill
        check_reading(zarr.open_array(store), full(3, fill), kind)


def test_plain_str_is_what_others_read_today() -> None:
    store: dict[str, bytes] = {}
    zarr.create_array(store=store, shape=3, dtype=str)
    document = json.loads(store["zarr.json"])
    assert document["data_type"] == "string"
    assert document["codecs"][0]["name"] == "vlen-utf8"


# -- text that is not UTF-8 ---------------------------------------------------------------------


@pytest.mark.parametrize("layout", ["string", "LargeString", "vlen-utf8", "shards"])
def test_the_fallback_reads_what_is_no_text(layout: str) -> None:
    items = [b"ok", b"\xff\xfe", b"", "\udc80".encode("utf-8", "surrogatepass")]
    codecs: list[Any] = [LITTLE]
    if layout == "vlen-utf8":
        chunk, codecs = text_layouts.write_frame(items), ["vlen-utf8"]
    else:
        chunk = text_layouts.write_offsets(items, 8 if layout == "LargeString" else 4)
    if layout == "shards":
        index = np.array([0, len(chunk)], "<u8").tobytes()
        chunk += index + google_crc32c.value(index).to_bytes(4, "little")
        sharding = {"chunk_shape": [4], "codecs": [LITTLE], "index_codecs": [LITTLE, "crc32c"]}
        codecs = [{"name": "sharding_indexed", "configuration": sharding}]
    name = "LargeString" if layout == "LargeString" else "string"
    array = stored(name, codecs, 4, {"c/0": chunk}, fill_value="ü", mode="r+")
    for read in (array.to_arrow, array.to_awkward, lambda: array[:], lambda: array[0]):
        with pytest.raises(DecodeError, match="item 1 is not UTF-8"):
            read()
    binary = array.as_binary()
    assert binary[:].tolist() == items
    assert binary[1:].tolist() == items[1:]
    arrow = binary.to_arrow()
    arrow.validate(full=True)
    assert arrow.type == (pa.large_binary() if layout == "LargeString" else pa.binary())
    assert arrow.to_pylist() == items
    assert binary.to_awkward().tolist() == items
    assert binary.fill_value == "ü".encode()
    with pytest.raises(ReadOnlyError):
        binary[0] = b"x"


def test_the_fallback_of_missing_chunks() -> None:
    array = zarr.create_array(store={}, shape=3, dtype="arrow-string", fill_value="ü")
    assert array.as_binary()[:].tolist() == ["ü".encode()] * 3
    assert array.as_binary().to_arrow().to_pylist() == ["ü".encode()] * 3
