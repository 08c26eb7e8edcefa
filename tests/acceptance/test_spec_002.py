"""Every example of document 002, the draft of v3 that calls itself "19 June 2019".

Its JSON examples are taken out of the text; what it says in prose is quoted in the tests. The
document contradicts itself in places: `omnizarr.formats.v3_drafts.document` lists them.
"""

from __future__ import annotations

import json
import textwrap
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest

import omnizarr as zarr
from omnizarr.stores import MemoryStore
from tests.acceptance.fixtures import shared

FORMAT = "3-draft2019"
FOUND = sorted((shared() / "specs").glob("002_*.txt"))
needs_document = pytest.mark.skipif(
    not FOUND, reason="NO EXAMPLE WAS READ: document 002 is not below ZARR_SHARED/specs"
)
BOOTSTRAP = b"""{
    "zarr_format": "https://purl.org/zarr/spec/protocol/core/3.0",
    "metadata_encoding": "application/json",
    "extensions": []
}"""


def blocks() -> list[str]:
    """The literal blocks of the document that hold JSON, without their indentation."""
    found = []
    lines = FOUND[0].read_text(encoding="utf-8", errors="replace").splitlines()
    for number, line in enumerate(lines):
        if line == "    {":
            end = lines.index("    }", number)
            found.append(textwrap.dedent("\n".join(lines[number : end + 1])))
    return found


def store_with(**documents: Any) -> MemoryStore:
    """A store with the given documents; "__" in a name stands for "/"."""
    store = MemoryStore()
    store["zarr.json"] = BOOTSTRAP
    for name, document in documents.items():
        data = document if isinstance(document, str) else json.dumps(document)
        store[name.replace("__", "/").replace("_DOT_", ".")] = data.encode()
    return store


@needs_document
def test_number_of_documents(summary: Callable[[str], None]) -> None:
    assert len(blocks()) == 5
    summary("documents: 002: 5 metadata documents and the examples of its prose")


# -- concepts -------------------------------------------------------------------------------------
def test_paths() -> None:
    """The path "/foo/bar" identifies "bar", whose parent is "foo", whose parent is the root."""
    store = MemoryStore()
    group = zarr.create_group(store, path="/foo/bar", zarr_format=FORMAT)
    assert (group.name, group.basename) == ("/foo/bar", "bar")
    assert zarr.open_group(store, path="/", mode="r")["foo"]["bar"].name == "/foo/bar"


def test_shape() -> None:
    array = zarr.create_array(MemoryStore(), shape=(100, 20), dtype="i4", zarr_format=FORMAT)
    assert array.metadata.to_dict()["shape"] == [100, 20]


# -- node names -----------------------------------------------------------------------------------
@pytest.mark.parametrize("name", ["a", "Z", "0", "-", "_", "a.b", ".a", "...a", "x" * 255])
def test_names_that_are_allowed(name: str) -> None:
    store = MemoryStore()
    zarr.create_group(store, path=name, zarr_format=FORMAT)
    assert list(zarr.open_group(store, mode="r")) == [name]


@pytest.mark.parametrize("name", ["...", "x" * 256, "a b", "ä", "a+b", "a:b", "a~"])
def test_names_that_are_not(name: str) -> None:
    store = MemoryStore()
    with pytest.raises(zarr.errors.UnsupportedError, match="names") as caught:
        zarr.create_group(store, path=f"group/{name}", zarr_format=FORMAT)
    assert caught.value.what == "name"
    assert not list(store)


@pytest.mark.parametrize("name", [".", ".."])
def test_names_that_leave_the_store(name: str) -> None:
    with pytest.raises(zarr.errors.InvalidKeyError):
        zarr.create_group(MemoryStore(), path=f"a/{name}", zarr_format=FORMAT)


@pytest.mark.parametrize("path", ["FOO", "FOO/x", "Foo/bar"])
def test_siblings_differ_in_more_than_case(path: str) -> None:
    """The names "foo" and "FOO" are not allowed for sibling nodes."""
    store = MemoryStore()
    zarr.create_group(store, path="foo", zarr_format=FORMAT)
    before = dict(store.items())
    with pytest.raises(zarr.errors.UnsupportedError, match="more than case") as caught:
        zarr.create_array(store, name=path, shape=3, dtype="i4")
    assert caught.value.what == "name"
    assert dict(store.items()) == before
    zarr.create_group(store, path="bar/FOO")  # no sibling


# -- data types -----------------------------------------------------------------------------------
TABLE = {
    "bool": ("?", 1),
    "i1": ("i1", 1),
    "u1": ("u1", 1),
    **{
        order + kind + size: (order + kind + size, int(size))
        for order, kind, size in product("<>", "if", "248")
        if kind + size != "f1"
    },
    **{f"<u{size}": (f"<u{size}", size) for size in (2, 4, 8)},
}
FORGOTTEN = {f">u{size}": (f">u{size}", size) for size in (2, 4, 8)}


@needs_document
def test_the_table_is_the_documents() -> None:
    text = FOUND[0].read_text(encoding="utf-8", errors="replace")
    start, end = text.index("list-table:: Data types"), text.index("Floating point types")
    named = [line.split("`")[1] for line in text[start:end].splitlines() if "* - `" in line]
    assert sorted(named) == sorted(TABLE)


@pytest.mark.parametrize("identifier", [*TABLE, *FORGOTTEN])
def test_core_data_types(identifier: str) -> None:
    dtype, size = {**TABLE, **FORGOTTEN}[identifier]
    store = MemoryStore()
    array = zarr.create_array(
        store, name="a", shape=3, chunks=3, dtype=dtype, compressors=None, zarr_format=FORMAT
    )
    assert json.loads(store["meta/root/a.array"])["data_type"] == identifier
    values = np.array([1, 0, 1], dtype=dtype)
    array[...] = values
    assert store["data/a/0"] == values.tobytes()
    assert len(store["data/a/0"]) == 3 * size
    again = zarr.open_array(store, path="a", mode="r")
    assert again.dtype == np.dtype(dtype)
    np.testing.assert_array_equal(again[...], values)


def test_booleans() -> None:
    r"""False is encoded as \x00 and True as \x01."""
    store = MemoryStore()
    array = zarr.create_array(
        store, name="a", shape=2, dtype=bool, compressors=None, zarr_format=FORMAT
    )
    array[...] = [False, True]
    assert store["data/a/0"] == b"\x00\x01"


# -- chunk grids ----------------------------------------------------------------------------------
def test_regular_grid() -> None:
    """Shape (10, 200, 3000) and chunk shape (5, 20, 400) give the grid (2, 10, 8); the element
    (7, 150, 900) is in the chunk (1, 7, 2), and has the coordinates (2, 10, 100) there."""
    store = MemoryStore()
    array = zarr.create_array(
        store, name="a", shape=(10, 200, 3000), chunks=(5, 20, 400), dtype="u1",
        compressors=None, zarr_format=FORMAT,
    )  # fmt: skip
    assert array.cdata_shape == (2, 10, 8)
    array[7, 150, 900] = 1
    (key,) = store.list_prefix("data/")
    assert key == "data/a/1.7.2"
    place = np.flatnonzero(np.frombuffer(store[key], "u1"))
    assert np.unravel_index(place, (5, 20, 400)) == (2, 10, 100)


@pytest.mark.parametrize(
    ("separator", "key"), [(None, "1.23.45"), (".", "1.23.45"), ("/", "1/23/45")]
)
def test_chunk_identifier(separator: str | None, key: str) -> None:
    """The identifier for the chunk at grid index (1, 23, 45) is "1.23.45"; the separator may be
    configured within the chunk_grid metadata object."""
    store = MemoryStore()
    array = zarr.create_array(
        store, name="a", shape=(2, 24, 46), chunks=(1, 1, 1), dtype="u1",
        dimension_separator=separator, zarr_format=FORMAT,
    )  # fmt: skip
    array[1, 23, 45] = 1
    assert list(store.list_prefix("data/")) == [f"data/a/{key}"]
    grid = json.loads(store["meta/root/a.array"])["chunk_grid"]
    assert grid.get("separator", ".") == (separator or ".")
    assert zarr.open_array(store, path="a", mode="r")[1, 23, 45] == 1


# -- memory layouts -------------------------------------------------------------------------------
@pytest.mark.parametrize("order", ["C", "F"])
def test_memory_layouts(order: str) -> None:
    """C: (0, 0), (0, 1), (0, 2), …; F: (0, 0), (1, 0), (2, 0), …"""
    store = MemoryStore()
    dx, dy = 3, 4
    array = zarr.create_array(
        store, name="a", shape=(dx, dy), chunks=(dx, dy), dtype="u1", order=order,
        compressors=None, zarr_format=FORMAT,
    )  # fmt: skip
    array[...] = np.arange(dx * dy, dtype="u1").reshape(dx, dy)
    assert json.loads(store["meta/root/a.array"])["chunk_memory_layout"] == order
    if order == "C":
        expected = [(x, y) for x in range(dx) for y in range(dy)]
    else:
        expected = [(x, y) for y in range(dy) for x in range(dx)]
    assert [divmod(value, dy) for value in store["data/a/0.0"]] == expected
    again = zarr.open_array(store, path="a", mode="r")
    assert again.order == order
    np.testing.assert_array_equal(again[...], np.arange(dx * dy).reshape(dx, dy))


# -- metadata -------------------------------------------------------------------------------------
@needs_document
def test_bootstrap() -> None:
    plain, with_extension, *_ = blocks()
    assert json.loads(plain) == json.loads(BOOTSTRAP)
    store = MemoryStore()
    zarr.create_group(store, zarr_format=FORMAT)
    assert json.loads(store["zarr.json"]) == json.loads(plain)
    for text in (plain, with_extension):
        store["zarr.json"] = text.encode()
        group = zarr.open_group(store, mode="a")
        assert group.metadata.zarr_format == FORMAT
        group.attrs["changed"] = True
        group.create_array("a", shape=3, dtype="i4", overwrite=True).resize((4,))
        # The extension that may be ignored is kept.
        assert json.loads(store["zarr.json"]) == json.loads(text)


@needs_document
def test_bootstrap_with_an_extension_that_must_be_understood() -> None:
    document = json.loads(blocks()[1])
    document["extensions"][0]["must_understand"] = True
    store = MemoryStore()
    store["zarr.json"] = json.dumps(document).encode()
    with pytest.raises(zarr.errors.UnknownExtensionError, match=r"example\.org/zarr/extension/foo"):
        zarr.open(store, mode="r")


@needs_document
def test_array_document() -> None:
    text = blocks()[2]
    store = store_with(meta__root__a_DOT_array=text)
    array = zarr.open_array(store, path="a", mode="r+")
    assert array.shape == (10000, 1000)
    assert array.chunks == (1000, 100)
    assert array.cdata_shape == (10, 10)
    assert array.nchunks == 100
    assert array.dtype == np.dtype("<f8")
    assert array.order == "C"
    assert np.isnan(array.fill_value)
    assert np.isnan(array[0, 0])
    assert array.compressor.level == 1
    assert array.attrs.asdict() == {"foo": 42, "bar": "apples", "baz": [1, 2, 3, 4]}
    array[0, 0] = 1.5
    assert store["data/a/0.0"][:2] == b"\x1f\x8b"  # gzip
    assert zarr.open_array(store, path="a", mode="r")[0, 0] == 1.5
    # A change rewrites what changed, not what others call it.
    array.attrs["foo"] = 43
    expected = json.loads(text)
    expected["attributes"]["foo"] = 43
    assert json.loads(store["meta/root/a.array"]) == expected


@needs_document
def test_array_document_with_an_extension_data_type() -> None:
    text = blocks()[3]
    store = store_with(meta__root__a_DOT_array=text)
    array = zarr.open_array(store, path="a", mode="r+")
    assert array.dtype == np.dtype("<M8[ns]")
    assert array.fill_value is None
    array[0, 0] = np.datetime64("2019-06-19", "ns")
    assert zarr.open_array(store, path="a", mode="r")[0, 0] == np.datetime64("2019-06-19")
    assert json.loads(store["meta/root/a.array"]) == json.loads(text)
    # What is written for a new array is the same, up to the spelling of the codec.
    made = zarr.create_array(
        MemoryStore(), shape=(10000, 1000), chunks=(1000, 100), dtype="M8[ns]", fill_value=None,
        zarr_format=FORMAT,
    )  # fmt: skip
    assert made.metadata.to_dict()["data_type"] == json.loads(text)["data_type"]


def test_an_extension_data_type_that_is_not_known() -> None:
    """If a fallback is present, then the implementation may proceed using it."""
    document = {
        "shape": [3],
        "data_type": {"extension": "http://example.org/decimal", "type": "d8", "fallback": "<i8"},
        "chunk_grid": {"type": "regular", "chunk_shape": [3]},
        "chunk_memory_layout": "C",
        "compressor": None,
        "fill_value": 7,
        "extensions": [],
        "attributes": {},
    }
    store = store_with(meta__root__a_DOT_array=document)
    array = zarr.open_array(store, path="a", mode="r+")
    assert array.dtype == np.dtype("<i8")
    np.testing.assert_array_equal(array[...], [7, 7, 7])
    array.attrs["still"] = "a decimal"
    assert json.loads(store["meta/root/a.array"])["data_type"] == document["data_type"]
    del document["data_type"]["fallback"]  # type: ignore[attr-defined]
    store = store_with(meta__root__a_DOT_array=document)
    with pytest.raises(zarr.errors.UnknownDataTypeError, match=r"example\.org/decimal"):
        zarr.open_array(store, path="a", mode="r")


def test_chunk_grid() -> None:
    """{"type": "regular", "chunk_shape": [2, 5]}"""
    array = zarr.create_array(
        MemoryStore(), shape=(4, 10), chunks=(2, 5), dtype="u1", zarr_format=FORMAT
    )
    grid = array.metadata.to_dict()["chunk_grid"]
    assert grid == {"type": "regular", "chunk_shape": [2, 5]}


@needs_document
def test_group_document() -> None:
    text = blocks()[4]
    with pytest.raises(zarr.errors.MetadataError, match="invalid JSON"):
        zarr.open_group(store_with(meta__root__a_DOT_group=text), path="a", mode="r")
    repaired = text.replace("42,", "42")  # the one comma that JSON does not allow
    store = store_with(meta__root__a_DOT_group=repaired)
    group = zarr.open_group(store, path="a", mode="r")
    assert group.attrs.asdict() == {"spam": "ham", "eggs": 42}
    made = MemoryStore()
    zarr.create_group(made, path="a", attributes={"spam": "ham", "eggs": 42}, zarr_format=FORMAT)
    assert json.loads(made["meta/root/a.group"]) == json.loads(repaired)


# -- stores ---------------------------------------------------------------------------------------
def test_list_prefix() -> None:
    store = MemoryStore()
    for key in ("a/b", "a/c/d", "e/f/g"):
        store[key] = b""
    assert list(store.list_prefix("a/")) == ["a/b", "a/c/d"]


def test_list_dir() -> None:
    store = MemoryStore()
    for key in ("a/b", "a/c", "a/d/e", "a/f/g"):
        store[key] = b""
    listing = store.list_dir("a/")
    assert listing.keys == ["a/b", "a/c"]
    assert listing.prefixes == ["a/d/", "a/f/"]


# -- storage protocol -----------------------------------------------------------------------------
def test_storage_keys() -> None:
    store = MemoryStore()
    zarr.create_group(store, path="/foo/bar", zarr_format=FORMAT)
    assert list(store) == ["meta/root/foo/bar.group", "zarr.json"]
    array = zarr.create_array(store, name="/foo/baz", shape=(2, 2), chunks=(1, 1), dtype="i4")
    array[0, 0] = 1
    assert list(store) == [
        "data/foo/baz/0.0",
        "meta/root/foo/bar.group",
        "meta/root/foo/baz.array",
        "zarr.json",
    ]


def test_storage_keys_of_the_root() -> None:
    store = MemoryStore()
    zarr.create_group(store, zarr_format=FORMAT)
    assert list(store) == ["meta/root.group", "zarr.json"]
    store = MemoryStore()
    array = zarr.create_array(store, shape=(2, 2), chunks=(1, 1), dtype="i4", zarr_format=FORMAT)
    array[0, 0] = 1
    assert list(store) == ["data/0.0", "meta/root.array", "zarr.json"]
    assert zarr.open(store, mode="r")[0, 0] == 1


def test_discover_children() -> None:
    """A group is created at "/foo/bar", an array at "/foo/baz/qux"."""
    store = MemoryStore()
    zarr.create_group(store, path="/foo/bar", zarr_format=FORMAT)
    zarr.create_array(store, name="/foo/baz/qux", shape=3, dtype="i4")
    # The document says "meta/root/foo/bar/baz/qux.array" and means:
    assert list(store) == ["meta/root/foo/bar.group", "meta/root/foo/baz/qux.array", "zarr.json"]
    listing = store.list_dir("meta/root/foo/")
    assert listing.keys == ["meta/root/foo/bar.group"]
    assert listing.prefixes == ["meta/root/foo/baz/"]
    for path in ("/", "/foo", "/foo/baz"):
        group = zarr.open_group(store, path=path, mode="r")
        assert group.attrs.asdict() == {}
    assert [name for name, _ in zarr.open_group(store, path="/foo", mode="r").groups()] == [
        "bar",
        "baz",
    ]
    assert dict(zarr.open_group(store, path="/foo/baz", mode="r").arrays()).keys() == {"qux"}


def test_a_bootstrap_alone_is_an_empty_group() -> None:
    group = zarr.open(store_with(), mode="r")
    assert isinstance(group, zarr.Group)
    assert not list(group)
    with pytest.raises(zarr.errors.NodeNotFoundError):
        zarr.open(store_with(), path="foo", mode="r")
