"""`omnizarr.check`: the walk, the report, and what it says of omnizarr's own writing."""

from __future__ import annotations

import json
import os
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import omnizarr as zarr
from omnizarr.api.checking import Report, check
from omnizarr.errors import NodeNotFoundError, NotListableError, StoreError
from omnizarr.formats import every_format
from omnizarr.model.store import ByteRange, Listing
from omnizarr.stores import LocalStore, MemoryStore

FORMAT_NAMES = [known.name for known in every_format()]
WITH_GROUPS = [name for name in FORMAT_NAMES if name not in (0, 1)]
GROUP = b'{"zarr_format": 2}'


# -- what omnizarr writes -------------------------------------------------------------------------
def expect_sound(report: Report) -> None:
    assert [found for found in report if found.level != "dialect"] == [], str(report)


@pytest.mark.parametrize("zarr_format", FORMAT_NAMES, ids=str)
@pytest.mark.parametrize("dtype", ["u1", "<i4", "<i8", "<f4", "<f8"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_arrays_that_omnizarr_writes(zarr_format: Any, dtype: str, order: str) -> None:
    if order == "F" and zarr_format in (0, 3, "n5"):
        order = "C"  # these have no word for it
    store = MemoryStore()
    array = zarr.create_array(
        store, shape=(7, 5), chunks=(3, 2), dtype=dtype, zarr_format=zarr_format, order=order
    )
    array[...] = np.arange(35).reshape(7, 5)
    array.attrs["units"] = "m"
    array.resize((4, 5))
    report = check(store)
    expect_sound(report)
    assert report.nodes == 1


@pytest.mark.parametrize("zarr_format", [2, 3])
@pytest.mark.parametrize(
    "dtype",
    ["?", "i1", ">u2", "f2", "c8", "c16", "<U3", "M8[ns]", "m8[3s]", str, bytes, "V3", "i4,f8"],
    ids=str,
)
@pytest.mark.parametrize("fill_value", ["default", "written"])
def test_types_that_omnizarr_writes(zarr_format: int, dtype: Any, fill_value: str) -> None:
    store = MemoryStore()
    array = zarr.create_array(store, shape=(3,), chunks=(2,), dtype=dtype, zarr_format=zarr_format)
    if fill_value == "written":
        array = zarr.create_array(
            store, shape=(3,), chunks=(2,), dtype=dtype, zarr_format=zarr_format,
            fill_value=array[0], overwrite=True,
        )  # fmt: skip
        array[1] = array[0]
    expect_sound(check(store))


def test_byte_strings_have_no_registered_name_in_format_3() -> None:
    store = MemoryStore()
    zarr.create_array(store, shape=(3,), dtype="S3")
    assert [(f.level, "null_terminated_bytes" in f.message) for f in check(store)] == [
        ("warning", True)
    ]


@pytest.mark.parametrize("zarr_format", [2, 3, "3-draft2019", "3-draft2020-09", "3-draft2020-10"])
@pytest.mark.parametrize("compressors", ["auto", None])
def test_arrays_without_dimensions(zarr_format: Any, compressors: Any) -> None:
    store = MemoryStore()
    array = zarr.create_array(
        store, name="x", shape=(), dtype="<i4", zarr_format=zarr_format, compressors=compressors
    )
    array[...] = 5
    expect_sound(check(store, "x"))
    (chunk,) = (key for key, value in store.items() if not value.startswith(b"{"))
    store.set(chunk, b"too long for this")
    assert check(store, "x").ok == (compressors is not None)


@pytest.mark.parametrize("zarr_format", WITH_GROUPS, ids=str)
def test_hierarchies_that_omnizarr_writes(zarr_format: Any, tmp_path: Path) -> None:
    root = zarr.group(store=tmp_path / "h", zarr_format=zarr_format)
    root.attrs["title"] = "all"
    below = root.create_group("a").create_group("b")
    below.create_array("x", shape=(4, 4), chunks=(2, 2), dtype="<i4")[...] = 1
    root.create_array("y", shape=(4,), dtype="<f8", compressors=None)[...] = 1.5
    report = check(tmp_path / "h")
    expect_sound(report)
    assert report.nodes == 5


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_consolidated_metadata_that_omnizarr_writes(zarr_format: int) -> None:
    store = MemoryStore()
    root = zarr.group(store=store, zarr_format=zarr_format)
    root.create_group("g").create_array("x", shape=(4,), dtype="f8")
    zarr.consolidate_metadata(store)
    assert check(store).findings == ()
    root.create_array("late", shape=(4,), dtype="f8")
    assert [(f.path, f.level) for f in check(store)] == [("late", "warning")]


def test_shards_and_filters_that_omnizarr_writes() -> None:
    store = MemoryStore()
    root = zarr.group(store=store, zarr_format=3)
    root.create_array("s", shape=(8, 8), chunks=(2, 2), shards=(4, 4), dtype="u2")[...] = 1
    root.create_array("n", shape=(8,), dtype="f4", dimension_names=["x"], fill_value=np.nan)
    assert check(store).findings == ()


# -- the report -----------------------------------------------------------------------------------
def broken() -> MemoryStore:
    store = MemoryStore()
    store.set(".zgroup", GROUP)
    store.set("a/.zgroup", b'{"zarr_format": 2, "_NCZARR_GROUP": {}}')
    store.set("b/.zgroup", b'{"zarr_format": 2, "x": 1}')
    store.set("c/.zattrs", b"{}")
    return store


def test_the_report() -> None:
    report = zarr.check(broken())
    assert isinstance(report, Report)
    assert report.nodes == 3
    assert report.counts == {"error": 1, "warning": 1, "dialect": 1}
    assert not report.ok
    assert bool(report)
    assert list(report) == list(report.findings)
    assert len(report) == 3
    assert [found.path for found in report] == ["a", "b", "c"]
    assert json.loads(json.dumps(report.to_dict())) == report.to_dict()
    assert report.to_dict()["findings"][1] == {
        "path": "b",
        "key": "b/.zgroup",
        "level": "error",
        "message": "the member 'x' must not be present",
        "reference": "document 000, Groups",
    }
    assert str(report).splitlines()[2:4] == [
        "/b",
        "  error    b/.zgroup: the member 'x' must not be present (document 000, Groups)",
    ]
    assert str(report).splitlines()[-1] == report.summary
    assert report.summary.startswith("3 nodes: 1 error, 1 warning, 1 dialect (")


def test_a_part_of_a_hierarchy() -> None:
    report = check(broken(), "/a/")
    assert report.path == "a"
    assert report.nodes == 1
    assert report.ok


def test_an_empty_report_is_true() -> None:
    store = MemoryStore()
    store.set(".zgroup", GROUP)
    assert check(store)
    assert check(store).ok
    assert str(check(store)) == (
        "1 node: 0 errors, 0 warnings, 0 dialects (no chunk was decoded; omnizarr verify does that)"
    )


@pytest.mark.parametrize("standard", ["002", "", 0, "OGC2", b"000"])
def test_a_standard_must_be_known(standard: Any) -> None:
    with pytest.raises(ValueError, match="standard must be None or one of '000', '003', 'ogc'"):
        check(MemoryStore(), standard=standard)


def test_nothing_there(tmp_path: Path) -> None:
    with pytest.raises(NodeNotFoundError, match=r"looked for .*'zarr.json'"):
        check(MemoryStore())
    (tmp_path / "notes.txt").write_text("x")
    with pytest.raises(NodeNotFoundError, match=r"notes\.txt"):
        check(tmp_path)
    with pytest.raises(NodeNotFoundError, match="no array or group at path '/d'"):
        check(broken(), "d")


def test_nothing_is_changed(tmp_path: Path) -> None:
    zarr.create_array(tmp_path / "x", shape=(4,), dtype="i4")[...] = 1
    before = {file: file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()}
    check(tmp_path / "x")
    assert {file: file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()} == before
    with pytest.raises(NodeNotFoundError):
        check(tmp_path / "y")
    assert not (tmp_path / "y").exists()


# -- stores ---------------------------------------------------------------------------------------
class Failing(MemoryStore):
    """Every read of a key that ends so fails."""

    ending = ".zarray"

    def get(self, key: str, byte_range: ByteRange | None = None) -> Any:
        if key.endswith(self.ending):
            raise StoreError(f"cannot read {key}")
        return super().get(key, byte_range)

    def get_many(self, requests: Any) -> Any:
        return [self.get(key, byte_range) for key, byte_range in requests]


@pytest.mark.parametrize("ending", [".zgroup", ".zarray", "a/.zattrs", ".zmetadata"])
def test_a_fault_of_the_store_raises(ending: str) -> None:
    store = Failing()
    store.ending = ending
    store.update(dict(broken().items()))
    with pytest.raises(StoreError, match="cannot read"):
        check(store)


class Unlisted(MemoryStore):
    """As most web servers are."""

    capabilities = replace(MemoryStore.capabilities, listable=False)

    def list_dir(self, prefix: str) -> Listing:
        raise NotListableError("no listing here")

    def list_prefix(self, prefix: str) -> Iterator[str]:
        raise NotListableError("no listing here")


def unlisted(store: MemoryStore) -> Unlisted:
    return Unlisted({key: bytes(store.get(key) or b"") for key in store.list()})


def test_a_store_that_cannot_list_shows_the_node_alone_and_says_so() -> None:
    store = broken()
    store.set("b/.zarray", b"{")
    report = check(unlisted(store))
    assert report.nodes == 1
    (found,) = [found for found in report if "could not be listed" in found.message]
    assert (found.level, found.path) == ("warning", "")
    assert {found.path for found in check(unlisted(store), "b")} == {"b"}


def test_a_store_that_lists_though_it_does_not_promise_it() -> None:
    store = broken()
    whole = check(store)
    store.capabilities = replace(store.capabilities, listable=False)
    found = check(store)
    assert (found.nodes, found.findings) == (whole.nodes, whole.findings)


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_a_store_that_cannot_list_with_consolidated_metadata(zarr_format: int) -> None:
    store = MemoryStore()
    root = zarr.open_group(store, mode="w", zarr_format=zarr_format)
    root.create_group("sub").create_group("empty")
    for name in ("x", "sub/y", "sub/z"):
        root.create_array(name, shape=4, chunks=2, dtype="i4")[...] = 1
    zarr.consolidate_metadata(store)
    report = check(unlisted(store))
    assert report.nodes == 6
    assert [(found.level, found.path) for found in report] == [("warning", "")], str(report)
    assert check(unlisted(store), "sub").nodes == 1
    document = "sub/y/zarr.json" if zarr_format == 3 else "sub/y/.zarray"
    store.set(document, bytes(store.get(document) or b"").replace(b'"shape"', b'"shade"'))
    report = check(unlisted(store))
    assert not report.ok
    assert {found.path for found in report if found.level == "error"} == {"sub/y"}
    # A folder in which the listing fails: what is above it is listed, what is in it is named.
    partly = unlisted(store)
    partly.list_dir = lambda prefix: (  # type: ignore[method-assign]
        Unlisted.list_dir(partly, prefix) if prefix else MemoryStore.list_dir(partly, prefix)
    )
    report = check(partly)
    assert report.nodes == 6 and not report.ok
    assert ("warning", "x") in {(found.level, found.path) for found in report}


class Counting(MemoryStore):
    """Notes every value that is read whole."""

    def __init__(self) -> None:
        super().__init__()
        self.read: list[str] = []

    def get(self, key: str, byte_range: ByteRange | None = None) -> Any:
        self.read.append(key)
        return super().get(key, byte_range)

    def get_many(self, requests: Any) -> Any:
        return [self.get(key, byte_range) for key, byte_range in requests]


@pytest.mark.parametrize("zarr_format", FORMAT_NAMES, ids=str)
def test_no_chunk_is_read(zarr_format: Any) -> None:
    store = Counting()
    array = zarr.create_array(store, shape=(20,), chunks=(2,), dtype="<i4", zarr_format=zarr_format)
    array[...] = 1
    documents = set(store) - {key for key in store if key[-1].isdigit() or key.endswith("blosc")}
    store.read.clear()
    check(store)
    assert not (set(store.read) & set(store)) - documents


def test_a_huge_grid_costs_nothing() -> None:
    store = MemoryStore()
    zarr.create_array(store, shape=(10**12, 10**6), chunks=(1, 1), dtype="u1")
    assert check(store).findings == ()


def test_a_path_of_the_greatest_length() -> None:
    store = MemoryStore()
    store.set(".zgroup", GROUP)
    path = "/".join(["x" * 100] * 10)
    store.set(f"{path}/.zgroup", GROUP)
    report = check(store)
    assert not report.ok


def test_places_below_are_found_whatever_lies_between(tmp_path: Path) -> None:
    store = LocalStore(tmp_path)
    store.set(".zgroup", GROUP)
    store.set("plain/folder/file.txt", b"x")
    store.set("deep/er/still/.zgroup", b"{}")
    report = check(store)
    assert report.nodes == 2
    assert [found.path for found in report if found.level == "error"] == [
        *("deep", "deep/er"),
        "deep/er/still",
    ]


# -- hostile documents ----------------------------------------------------------------------------
KEYS = [
    *("zarr.json", ".zarray", ".zgroup", ".zattrs", ".zmetadata", ".nczarr", "meta", "attrs"),
    *("__zmeta__", "__zattr__", "attributes.json", "meta/root.array", "meta/root.group.json"),
    *("a/zarr.json", "a/.zarray", "a/attributes.json", "meta/root/a.array", "c/0", "0.0"),
]
MEMBERS = [
    *("zarr_format", "node_type", "shape", "chunks", "dtype", "data_type", "fill_value", "codecs"),
    *("filters", "compressor", "order", "chunk_grid", "chunk_key_encoding", "dimension_names"),
    *("name", "configuration", "chunk_shape", "index_codecs", "endian", "id", "compression"),
    *("compression_opts", "metadata", "consolidated_metadata", "zarr_consolidated_format", "kind"),
    *("metadata_encoding", "metadata_key_suffix", "extensions", "attributes", "extension", "type"),
    *("dimensions", "blockSize", "dataType", "n5", "cname", "clevel", "shuffle", "must_understand"),
    *("storage_transformers", "dimension_separator", "separator", "fallback", "chunk_shapes"),
    *("_ARRAY_DIMENSIONS", "level", "typesize", "elementsize", "chunk_memory_layout", "codec"),
]
WORDS = [
    *("array", "group", "C", "F", "<f8", "|O", "<M8[s]", "float64", "bytes", "sharding_indexed"),
    *("transpose", "regular", "rectilinear", "default", "v2", "blosc", "gzip", "NaN", "0x7f"),
    *("https://purl.org/zarr/spec/protocol/core/3.0", "application/json", ".json", "/", "..", ""),
    *("lz4", "raw", "uint8", "4.0.0", "inline", "struct", "cast_value", "vlen-utf8", "shuffle"),
]
scalars = (
    st.none()
    | st.booleans()
    | st.sampled_from([0, 1, 2, 3, -1, 10**30, 10**400])
    | st.floats()
    | st.sampled_from(WORDS)
    | st.text(max_size=4)
)
values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(MEMBERS) | st.text(max_size=2), inner, max_size=5)
    ),
    max_leaves=12,
)
documents = st.dictionaries(st.sampled_from(MEMBERS), values, max_size=12)


@settings(max_examples=150)
@given(
    st.dictionaries(
        st.sampled_from(KEYS),
        st.binary(max_size=12) | (documents | values).map(lambda d: json.dumps(d).encode()),
        min_size=1,
        max_size=4,
    ),
    st.sampled_from([None, "000", "003"]),
)
def test_no_document_raises(stored: dict[str, bytes], standard: str | None) -> None:
    store = MemoryStore()
    for key, value in stored.items():
        store.set(key, value)
    try:
        report = check(store, standard=standard)
    except NodeNotFoundError:
        return
    assert json.dumps(report.to_dict())
    assert str(report)


SOUND: list[dict[str, dict[str, Any]]] = [
    {
        "zarr.json": {
            "zarr_format": 3,
            "node_type": "array",
            "shape": [4, 6],
            "data_type": "float64",
            "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2, 3]}},
            "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
            "fill_value": 0.0,
            "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
            "attributes": {},
        }
    },
    {
        ".zarray": {
            "zarr_format": 2,
            "shape": [4, 6],
            "chunks": [2, 3],
            "dtype": "<f8",
            "compressor": {"id": "zlib", "level": 1},
            "fill_value": 0.0,
            "order": "C",
            "filters": [{"id": "delta", "dtype": "<f8"}],
        }
    },
    {
        "zarr.json": {
            "zarr_format": "https://purl.org/zarr/spec/protocol/core/3.0",
            "metadata_encoding": "application/json",
            "extensions": [],
        },
        "meta/root.array": {
            "shape": [4, 6],
            "data_type": "<f8",
            "chunk_grid": {"type": "regular", "chunk_shape": [2, 3]},
            "chunk_memory_layout": "C",
            "compressor": {"codec": "https://purl.org/zarr/spec/codec/gzip/1.0"},
            "fill_value": 0,
            "extensions": [],
            "attributes": {},
        },
    },
    {
        "attributes.json": {
            "n5": "4.0.0",
            "dimensions": [4, 6],
            "blockSize": [2, 3],
            "dataType": "float64",
            "compression": {"type": "gzip", "level": 1},
        }
    },
    {
        "__zmeta__": {
            "shape": [4], "chunks": [2], "dtype": "<f8", "fill_value": 0,
            "cname": "lz4", "clevel": 1, "shuffle": 1,
        }
    },
    {
        "meta": {
            "zarr_format": 1, "shape": [4], "chunks": [2], "dtype": "<f8", "fill_value": 0,
            "compression": "zlib", "compression_opts": 1, "order": "C",
        },
        "attrs": {},
    },
]  # fmt: skip


def places(value: Any) -> list[list[Any]]:
    """Where something can be replaced: the way to every value inside."""
    found: list[list[Any]] = [[]]
    inside = list(value.items()) if isinstance(value, dict) else []
    inside += enumerate(value) if isinstance(value, list) else []
    for name, item in inside:
        found += [[name, *way] for way in places(item)]
    return found


@pytest.mark.parametrize("sound", SOUND, ids=lambda sound: next(iter(sound)))
def test_every_value_replaced_by_anything(sound: dict[str, dict[str, Any]]) -> None:
    assert check(as_memory(sound)).findings == ()
    wrong = [
        *(None, True, 0, -1, 10**400, 1.5, float("nan"), "", "x", "\ud800", [], [[]], [None], {}),
        *({"name": 5}, {"id": []}, [{"id": []}], ["x"] * 3, {"must_understand": False}, [10**400]),
    ]
    seen: set[bool] = set()
    for key, document in sound.items():
        for way in places(document):
            for value in wrong:
                changed = json.loads(json.dumps(sound))
                target: Any = changed
                *before, last = [key, *way]
                for step in before:
                    target = target[step]
                target[last] = value
                try:
                    report = check(as_memory(changed))
                except NodeNotFoundError:
                    continue
                seen.add(report.ok)
                assert str(report)
    assert seen == {True, False}


def as_memory(stored: dict[str, dict[str, Any]]) -> MemoryStore:
    store = MemoryStore()
    for key, document in stored.items():
        store.set(key, json.dumps(document).encode())
    return store


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs links and pipes")
def test_a_member_that_cannot_be_read_is_an_error_of_that_member(tmp_path: Path) -> None:
    zarr.create_array(tmp_path / "x", name="a", data=[1, 2])
    (tmp_path / "x/out").symlink_to(tmp_path)
    (tmp_path / "x/loop").symlink_to(".")
    (tmp_path / "x/fifo").mkdir()
    os.mkfifo(tmp_path / "x/fifo/zarr.json")
    report = zarr.check(tmp_path / "x")
    errors = {found.path: found.message for found in report if found.level == "error"}
    assert sorted(errors) == ["fifo", "loop", "out"] and not report.ok
    assert "own parent" in errors["loop"] and "outside the store" in errors["out"]


@pytest.mark.parametrize("name", [b"a//zarray", b"../zarray", b"/a/zarray", b"a/\x01zarray"])
def test_members_of_an_archive_that_no_key_names(name: bytes, tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    with zarr.ZipStore(path, mode="w") as store:
        zarr.group(store, zarr_format=2).create_array("a", data=[1, 2, 3])
    assert zarr.check(path).ok
    assert zarr.verify(path).ok
    data = path.read_bytes()
    assert data.count(b"a/.zarray") == 2  # in front of the data, and in the directory
    path.write_bytes(data.replace(b"a/.zarray", name))
    shown = ascii(name)[1:]
    report = zarr.check(path)
    assert not report.ok
    assert shown in str(report)
    verified = zarr.verify(path)
    assert verified.damaged
    assert shown in str(verified)
    with zarr.ZipStore(path, mode="r") as store:
        assert store.unreachable() == [shown]


def test_folders_in_an_archive_are_no_values(tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    zarr.save_array(path, [1, 2, 3])
    with zipfile.ZipFile(path, "a") as archive:
        archive.mkdir("c")
        archive.writestr("__MACOSX/x", b"")
    assert zarr.check(path).ok
    with zarr.ZipStore(path, mode="r") as store:
        assert store.unreachable() == []
