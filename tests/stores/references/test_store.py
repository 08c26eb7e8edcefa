"""Values in other files, as reference files name them."""

from __future__ import annotations

import base64
import gzip
import json
import os
import pickle
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numcodecs.zstd import Zstd

import omnizarr
from omnizarr import limits
from omnizarr.errors import (
    InvalidKeyError,
    MetadataError,
    NodeNotFoundError,
    ReadOnlyError,
    StoreAccessError,
    StoreError,
    ZarrError,
)
from omnizarr.stores import (
    ByteRange,
    LocalStore,
    MemoryStore,
    ReferenceStore,
    Store,
    WrapperStore,
    as_store,
)
from omnizarr.testing import CountingStore, FaultStore, LatencyStore, ReadingSuite
from omnizarr.testing.store_cases import some

OTHER = b"bytes between the values"


def references(folder: Path, values: Mapping[str, bytes]) -> dict[str, Any]:
    """Each value in one of the ways that references have; the files are in `folder`."""
    found: dict[str, Any] = {}
    with open(folder / "data.bin", "wb") as file:
        for number, (key, value) in enumerate(values.items()):
            if number % 4 == 0 and value.isascii() and value[:1] != b"b":
                found[key] = value.decode()
            elif number % 4 == 1:
                found[key] = "base64:" + base64.b64encode(value).decode()
            elif number % 40 == 2 and value:
                name = f"whole-{number}.bin"
                (folder / name).write_bytes(value)
                found[key] = [name]
            else:
                file.write(OTHER)
                found[key] = ["data.bin", file.tell(), len(value)]
                file.write(value)
        file.write(OTHER)
    return found


class TestVersion0(ReadingSuite):
    def store_with(self, folder: Path, values: Mapping[str, bytes]) -> Store:
        (folder / "refs.json").write_text(json.dumps(references(folder, values)))
        return ReferenceStore(folder / "refs.json")


class TestVersion1(ReadingSuite):
    many_keys = 1000

    def store_with(self, folder: Path, values: Mapping[str, bytes]) -> Store:
        refs = references(folder, values)
        for value in refs.values():
            if isinstance(value, list):
                value[0] = "{{u}}/" + value[0]
        document = {"version": 1, "templates": {"u": str(folder)}, "refs": refs}
        (folder / "refs.json.gz").write_bytes(gzip.compress(json.dumps(document).encode()))
        return ReferenceStore(folder / "refs.json.gz")


class TestMapping(ReadingSuite):
    many_keys = 1000

    def store_with(self, folder: Path, values: Mapping[str, bytes]) -> Store:
        refs = references(folder, values)
        for value in refs.values():
            if isinstance(value, list):
                value[0] = "file://" + str(folder / value[0])
        return ReferenceStore(refs, allow=[str(folder)])


class TestStoresForProtocols(ReadingSuite):
    """Targets in any store, here one in memory that lets one wait."""

    many_keys = 1000

    def store_with(self, folder: Path, values: Mapping[str, bytes]) -> Store:
        refs = references(folder, values)
        target = MemoryStore({"x/" + path.name: path.read_bytes() for path in folder.iterdir()})
        for value in refs.values():
            if isinstance(value, list):
                value[0] = "far://x/" + value[0]
        return ReferenceStore(refs, fs={"far": LatencyStore(target, seconds=0, requests=8)})


# -- opening --------------------------------------------------------------------------------------
@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "sub").mkdir()
    (tmp_path / "data.bin").write_bytes(bytes(range(100)))
    (tmp_path / "sub" / "data.bin").write_bytes(bytes(range(100, 200)))
    return tmp_path


ARRAY = {
    "zarr_format": 2,
    "shape": [10, 10],
    "chunks": [5, 10],
    "dtype": "|u1",
    "compressor": None,
    "filters": None,
    "fill_value": 0,
    "order": "C",
}
REFS = {".zarray": ARRAY, "0.0": ["data.bin", 0, 50], "1.0": ["data.bin", 50, 50]}


def frame(data: bytes) -> bytes:
    return bytes(Zstd(level=3).encode(data))


@pytest.mark.parametrize(
    ("name", "pack"),
    [
        ("refs.json", bytes),
        ("refs.json.gz", gzip.compress),
        ("refs.json.zst", frame),
        ("many.json.zst", lambda data: frame(data[:50]) + frame(data[50:])),
        ("many.json.gz", lambda data: gzip.compress(data[:50]) + gzip.compress(data[50:])),
    ],
)
def test_opening_by_path(folder: Path, name: str, pack: Any) -> None:
    (folder / name).write_bytes(pack(json.dumps({"version": 1, "refs": REFS}).encode()))
    array = omnizarr.open(str(folder / name), mode="r")
    np.testing.assert_array_equal(array[...], np.arange(100, dtype="u1").reshape(10, 10))
    np.testing.assert_array_equal(omnizarr.open(folder / name)[3:7, 2], array[3:7, 2])
    again = omnizarr.open("reference://", storage_options={"fo": str(folder / name)}, mode="r")
    np.testing.assert_array_equal(again[...], array[...])
    third = omnizarr.open(f"reference://{folder / name}", mode="r")
    np.testing.assert_array_equal(third[...], array[...])
    store = pickle.loads(pickle.dumps(ReferenceStore(folder / name)))
    assert store == ReferenceStore(folder / name)
    assert some(store.get("1.0", ByteRange(-2))) == bytes((98, 99))


def test_opening_a_mapping_by_url(folder: Path) -> None:
    options = {"fo": {**REFS, "0.0": [str(folder / "data.bin"), 0, 50]}, "target_protocol": "file"}
    options["allow"] = [str(folder)]
    array = omnizarr.open("reference://", storage_options=options, mode="r")
    assert array[4, 9] == 49


def test_a_folder_of_values_with_such_a_name(tmp_path: Path) -> None:
    omnizarr.create_array(str(tmp_path / "x"), shape=3, dtype="i4")[...] = 7
    (tmp_path / "x").rename(tmp_path / "x.parq")
    assert omnizarr.open(str(tmp_path / "x.parq"), mode="r")[...].tolist() == [7] * 3
    assert isinstance(as_store(str(tmp_path / "x.parq")), LocalStore)


def test_what_is_no_reference_file(tmp_path: Path) -> None:
    for text in ("", "[]", "3", '{"a": ', '{"version": 2}', '{"version": true, "refs": {}}'):
        (tmp_path / "x.json").write_text(text)
        with pytest.raises(MetadataError, match=r"x\.json"):
            omnizarr.open(str(tmp_path / "x.json"), mode="r")
    with pytest.raises(NodeNotFoundError):
        ReferenceStore(tmp_path / "none.json")
    with pytest.raises(TypeError, match="fo"):
        as_store("reference://")
    with pytest.raises(TypeError, match="known are"):
        as_store("reference://", storage_options={"fo": {}, "password": "secret"})
    with pytest.raises(TypeError):
        ReferenceStore({}, allow="s3://")
    os.mkfifo(tmp_path / "pipe.json")
    with pytest.raises(StoreError, match="regular"):
        ReferenceStore(tmp_path / "pipe.json")
    (tmp_path / "x.json").write_text("{}")
    for mode in ("w", "w-"):
        with pytest.raises(ReadOnlyError):
            as_store(str(tmp_path / "x.json"), mode=mode)
    assert (tmp_path / "x.json").read_text() == "{}"


def test_packed_bombs(tmp_path: Path) -> None:
    with limits.override(max_document_bytes=1 << 20):
        for name, pack in (("x.json.gz", gzip.compress), ("x.json.zst", frame)):
            (tmp_path / name).write_bytes(pack(b" " * (64 << 20)))
            with pytest.raises(MetadataError, match="max_document_bytes"):
                ReferenceStore(tmp_path / name)
        for wrong in (b"\x28\xb5\x2f\xfd", b"\x1f\x8b\x08", frame(b"{}")[:-1], frame(b"{}") + b"x"):
            (tmp_path / "y.json.zst").write_bytes(wrong)
            with pytest.raises(MetadataError):
                ReferenceStore(tmp_path / "y.json.zst")


# -- values ---------------------------------------------------------------------------------------
def test_kinds_of_values(folder: Path) -> None:
    refs = {
        "text": "grüße",
        "base64": "base64:AAEC",
        "document": {"a": [1, 2]},
        "nothing": ["data.bin", 7, 0],
        "whole": ["sub/data.bin"],
        "none": None,
        "../escape": "x",
    }
    (folder / "refs.json").write_text(json.dumps(refs))
    store = ReferenceStore(folder / "refs.json")
    assert some(store.get("text")) == "grüße".encode()
    assert some(store.get("base64")) == b"\0\1\2"
    assert json.loads(some(store.get("document"))) == {"a": [1, 2]}
    assert some(store.get("nothing")) == b"" and store.size("nothing") == 0
    assert some(store.get("whole", ByteRange(1, 3))) == bytes((101, 102))
    assert store.size("whole") == 100
    assert store.get("none") is None and not store.exists("none")
    assert list(store.list()) == ["base64", "document", "nothing", "text", "whole"]


@pytest.mark.parametrize(
    "value",
    [
        3,
        [],
        ["data.bin", 1],
        ["data.bin", 1, 2, 3],
        ["data.bin", -1, 2],
        ["data.bin", 0, -2],
        ["data.bin", 0, 1.5],
        ["data.bin", "x", 2],
        ["data.bin", 0, 1 << 70],
        [3, 0, 1],
        [None, 0, 1],
        "base64:!!",
        "base64:A",
        "\ud800",
        ["data.bin", True, 2],
    ],
)
def test_broken_references(folder: Path, value: object) -> None:
    (folder / "refs.json").write_text(json.dumps({"ok": "1", "k/0": value}))
    store = ReferenceStore(folder / "refs.json")
    assert some(store.get("ok")) == b"1"
    with pytest.raises(MetadataError, match="k/0"):
        store.get("k/0")


def test_a_default_target(folder: Path) -> None:
    store = ReferenceStore({"a": [None, 3, 2]}, target=str(folder / "data.bin"), allow_local=True)
    assert some(store.get("a")) == bytes((3, 4))


def test_what_is_promised_must_be_there(folder: Path) -> None:
    refs = {
        "short": ["data.bin", 90, 20],
        "beyond": ["data.bin", 1000, 1],
        "no file": ["none.bin", 0, 1],
        "no whole": ["none.bin"],
        "folder": ["sub", 0, 1],
    }
    (folder / "refs.json").write_text(json.dumps(refs))
    store = ReferenceStore(folder / "refs.json")
    for key in refs:
        for call in (
            lambda key=key: store.get(key),
            lambda key=key: store.get_many([(key, None)]),
        ):
            with pytest.raises(StoreError, match=key.replace(" ", ".")):
                call()
        with pytest.raises(StoreError), store.snapshot(key) as read:
            read(None)
    assert some(store.get("short", ByteRange(0, 10))) == bytes(range(90, 100))
    array = {**ARRAY, "fill_value": 3}
    (folder / "array.json").write_text(json.dumps({".zarray": array, "0.0": ["none.bin", 0, 50]}))
    opened = omnizarr.open(str(folder / "array.json"), mode="r")
    with pytest.raises(StoreError):
        opened[...]
    assert (opened[5:] == 3).all(), "a chunk without a reference is missing"


def test_faults_of_targets_are_faults() -> None:
    faulty = FaultStore(MemoryStore({"f": bytes(10)}))
    store = ReferenceStore({"a": ["far://f", 0, 4], "b": ["far://f"]}, fs={"far": faulty})
    faulty.fail("*", StoreError("down"), times=None)
    for key in "ab":
        with pytest.raises(StoreError, match="down"):
            store.get(key)
        with pytest.raises(StoreError, match="down"), store.snapshot(key) as read:
            read(ByteRange(0, 2))


# -- what may be named ----------------------------------------------------------------------------
@pytest.mark.parametrize(
    "url",
    [
        "/etc/passwd",
        "file:///etc/passwd",
        "local:///etc/passwd",
        "../secret.bin",
        "sub/../../secret.bin",
        "file://{above}/secret.bin",
        "{above}/secret.bin",
        "link.bin",
        "linked/secret.bin",
        "%2e%2e/secret.bin",
        "file:////etc/passwd",
        "zip://x::/etc/passwd",
        "simplecache::file:///etc/passwd",
        "memory://x/y",
        "ftp://server/x",
        "data:text/plain,x",
        "reference://x",
        "sqlite:///etc/passwd",
        "",
        "\0",
        ".",
    ],
)
def test_a_hostile_reference(tmp_path: Path, url: str) -> None:
    folder = tmp_path / "opened"
    (folder / "sub").mkdir(parents=True)
    (tmp_path / "secret.bin").write_bytes(b"secret")
    (folder / "link.bin").symlink_to(tmp_path / "secret.bin")
    (folder / "linked").symlink_to(tmp_path)
    url = url.replace("{above}", str(tmp_path))
    (folder / "refs.json").write_text(json.dumps({"a": [url, 0, 3], "b": [url]}))
    for store in (
        ReferenceStore(folder / "refs.json"),
        ReferenceStore({"a": [url, 0, 3], "b": [url]}),
    ):
        for key in "ab":
            with pytest.raises((StoreError, InvalidKeyError)) as caught:
                store.get(key)
            assert "secret" not in str(caught.value).replace("secret.bin", "")


def test_allowing_more(tmp_path: Path) -> None:
    folder = tmp_path / "opened"
    folder.mkdir()
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "a b%20c.bin").write_bytes(b"value")
    (tmp_path / "beside.bin").write_bytes(b"beside")
    refs = {
        "a": [str(tmp_path / "other" / "a b%20c.bin")],
        "b": ["file://" + str(tmp_path / "other" / "a%20b%2520c.bin")],
        "c": ["../beside.bin"],
    }
    (folder / "refs.json").write_text(json.dumps(refs))
    plain = ReferenceStore(folder / "refs.json")
    for key in refs:
        with pytest.raises(StoreAccessError, match=r"allow=\['.*allow_local=True"):
            plain.get(key)
    some_more = ReferenceStore(folder / "refs.json", allow=[str(tmp_path / "other")])
    assert some(some_more.get("a")) == some(some_more.get("b")) == b"value"
    with pytest.raises(StoreAccessError):
        some_more.get("c")
    everything = ReferenceStore(folder / "refs.json", allow_local=True)
    assert [some(everything.get(key)) for key in refs] == [b"value", b"value", b"beside"]
    with pytest.raises(StoreAccessError, match=r"allow=\['https://'\]"):
        ReferenceStore({"a": ["https://server/x"]}, allow=["/tmp"]).get("a")


@pytest.mark.parametrize(
    "url",
    [
        "https://trusted.org.evil.com/x",
        "https://trusted.org@evil.com/x",
        "https://trusted.org:443/x",
        "http://trusted.org/x",
        "https://trusted.org/../x",
        "https://trusted.org/%2e%2e/x",
        "https://trusted.org/",
        "https://trusted.org//x",
    ],
)
def test_a_server_that_is_not_the_allowed_one(url: str) -> None:
    with pytest.raises((StoreAccessError, InvalidKeyError)):
        ReferenceStore({"a": [url, 0, 1]}, allow=["https://trusted.org"]).get("a")


def test_secrets_in_urls_are_not_shown() -> None:
    url = "ftp://user:password@server/x?sig=signature"
    with pytest.raises(StoreAccessError) as caught:
        ReferenceStore({"a": [url]}).get("a")
    assert "password" not in str(caught.value) and "signature" not in str(caught.value)
    assert "server/x" in str(caught.value)


def test_a_protocol_for_all() -> None:
    target = MemoryStore({"bucket/x": b"value"})
    store = ReferenceStore({"a": ["bucket/x"]}, remote_protocol="far", fs=target)
    assert some(store.get("a")) == b"value"


# -- how targets are read -------------------------------------------------------------------------
def test_neighbours_are_read_as_one() -> None:
    inner = CountingStore(MemoryStore({"f": bytes(range(250)) * 1000, "g": bytes(9)}))
    refs = {f"c/{i}": ["far://f", i * 100, 100] for i in range(1000)}
    refs["far away"] = ["far://f", 240_000, 10]
    refs["g"] = ["far://g", 0, 9]
    store = ReferenceStore(refs, fs={"far": inner})
    keys = [*refs][::-1]
    expected = [
        (bytes(range(250)) * 1000)[offset : offset + size] if url == "far://f" else bytes(9)
        for url, offset, size in (refs[key] for key in keys)
    ]
    assert [some(value) for value in store.get_many([(key, None) for key in keys])] == expected
    assert inner.counts == {"get": 3}
    inner.reset()
    parts = store.get_many([("c/0", ByteRange(-1)), ("c/1", ByteRange(0, 1)), ("c/999", None)])
    last = (bytes(range(250)) * 1000)[99_900:100_000]
    assert [some(part) for part in parts] == [bytes([99]), bytes([100]), last]
    assert inner.counts == {"get": 2}


def test_merged_reads_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("omnizarr.stores.references.targets.MERGED", 1000)
    sizes: list[int] = []

    class Watched(WrapperStore):
        def get(self, key: str, byte_range: ByteRange | None = None) -> Any:
            assert byte_range is not None and byte_range.stop is not None
            sizes.append(byte_range.stop - byte_range.start)
            return super().get(key, byte_range)

    target = Watched(MemoryStore({"f": bytes(100_000)}))
    refs = {f"{i}": ["far://f", i * 300, 300] for i in range(100)} | {"x": ["far://f", 0, 5000]}
    store = ReferenceStore(refs, fs={"far": target})
    assert all(value is not None for value in store.get_many([(key, None) for key in refs]))
    assert max(sizes) == 5000 and sorted(sizes)[-2] <= 1000


def test_many_requests_are_under_way() -> None:
    import time

    target = LatencyStore(MemoryStore({f"f{i}": bytes(10) for i in range(40)}), seconds=0.5)
    store = ReferenceStore({f"{i}": [f"far://f{i}", 0, 10] for i in range(40)}, fs={"far": target})
    start = time.perf_counter()
    store.get_many([(f"{i}", None) for i in range(40)])
    assert time.perf_counter() - start < 10, "one after the other they take 20 s"


def test_every_origin_is_opened_once(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).write_bytes(b"12345")
    store = ReferenceStore(
        {"a": [str(tmp_path / "a")], "b": [str(tmp_path / "b")]}, allow_local=True
    )
    store.get_many([("a", None), ("b", None)])
    assert (
        store._targets.find(str(tmp_path / "a")).store
        is store._targets.find(str(tmp_path / "b")).store
    )
    store.close()
    store.close()
    assert some(store.get("a")) == b"12345"


def test_random_documents_never_surprise(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    good = json.dumps(
        {"version": 1, "templates": {"u": "data"}, "gen": [], "refs": {"a": ["{{u}}.bin", 1, 2]}}
    ).encode()
    (tmp_path / "data.bin").write_bytes(bytes(10))
    opened = 0
    for _ in range(300):
        data = bytearray(good)
        for _ in range(int(rng.integers(1, 4))):
            data[int(rng.integers(len(data)))] = int(rng.integers(32, 127))
        (tmp_path / "x.json").write_bytes(data)
        try:
            store = ReferenceStore(tmp_path / "x.json")
            for key in store.list():
                store.get(key)
            opened += 1
        except ZarrError:
            pass
    assert opened


@pytest.mark.parametrize("shards", [None, (10, 10)])
def test_an_array_inside_another_file(tmp_path: Path, shards: tuple[int, int] | None) -> None:
    """All chunks of an array end to end in one file, shards read in parts."""
    data = np.arange(400).reshape(20, 20)
    plain = LocalStore(tmp_path / "plain")
    omnizarr.create_array(plain, shape=(20, 20), chunks=(5, 5), shards=shards, dtype="i8")[...] = (
        data
    )
    refs: dict[str, Any] = {}
    with open(tmp_path / "all.bin", "wb") as file:
        for key, value in plain.items():
            refs[key] = ["all.bin", file.tell(), len(value)]
            file.write(value)
    (tmp_path / "refs.json").write_text(json.dumps(refs))
    array = omnizarr.open(tmp_path / "refs.json", mode="r")
    np.testing.assert_array_equal(array[...], data)
    np.testing.assert_array_equal(array[3:8, 7], data[3:8, 7])
    with pytest.raises(ReadOnlyError):
        omnizarr.open(tmp_path / "refs.json", mode="r+")[0, 0] = 1


def test_relative_paths_follow_the_file(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "refs.json").write_text(json.dumps({"a": ["data.bin", 3, 1]}))
    monkeypatch.chdir(folder / "sub")
    store = ReferenceStore("../refs.json")
    monkeypatch.chdir("/")
    assert some(store.get("a")) == b"\x03"
    assert some(pickle.loads(pickle.dumps(store)).get("a")) == b"\x03"
    link = folder / "sub" / "linked.json"
    os.symlink(folder / "refs.json", link)
    assert some(ReferenceStore(link.parent.parent / "refs.json").get("a")) == b"\x03"
