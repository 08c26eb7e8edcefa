"""as_store: what a user may call a store."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

import omnizarr
from omnizarr import stores
from omnizarr.errors import NodeNotFoundError, ReadOnlyError, StoreError
from omnizarr.stores import (
    LocalStore,
    MappingStore,
    MemoryStore,
    ReadOnlyStore,
    SQLiteStore,
    Store,
    ZipStore,
    as_store,
    kinds,
)


def test_stores_and_mappings() -> None:
    assert isinstance(as_store(None), MemoryStore)
    store = MemoryStore()
    assert as_store(store) is store
    assert as_store(store, mode="w") is store
    frozen = as_store(store, read_only=True)
    assert isinstance(frozen, ReadOnlyStore)
    assert as_store(frozen, mode="r") is frozen
    values: dict[str, bytes] = {}
    wrapped = as_store(values)
    assert isinstance(wrapped, MappingStore)
    wrapped.set("a", b"1")
    assert values == {"a": b"1"}
    assert as_store(MappingProxyType(values)).read_only


def test_paths_are_directories_and_are_not_created(tmp_path: Path) -> None:
    for mode in (None, "r", "r+", "a", "w", "w-", "x"):
        for obj in (tmp_path / "x.zarr", str(tmp_path / "x.zarr"), (tmp_path / "x.zarr").as_uri()):
            store = as_store(obj, mode=mode)
            assert isinstance(store, LocalStore)
            assert store.root == tmp_path / "x.zarr"
            assert store.read_only == (mode == "r")
            assert list(store.list()) == []
    assert list(tmp_path.iterdir()) == []


def test_a_url_may_have_escapes(tmp_path: Path) -> None:
    store = as_store(f"file://localhost{tmp_path}/with%20space")
    assert isinstance(store, LocalStore)
    assert store.root == tmp_path / "with space"
    with pytest.raises(StoreError):
        as_store("file://otherhost/x")


def test_memory_urls_share_by_name() -> None:
    one, two = as_store("memory://shared-by-name"), as_store("memory://shared-by-name")
    one.set("a/b", b"1")
    assert two.get("a/b") == b"1"
    assert as_store("memory://another-name").get("a/b") is None
    below = as_store("memory://shared-by-name/a", mode="r")
    assert below.get("b") == b"1" and below.read_only
    with pytest.raises(ReadOnlyError):
        below.set("b", b"2")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("url", "package", "extra"),
    [
        ("s3://bucket/x", "obstore", "cloud"),
        ("gs://bucket", "obstore", "cloud"),
        ("az://container/x", "obstore", "cloud"),
        ("https://host/x.zarr", "urllib3", "http"),
        ("simplecache::https://host/x.zarr", "fsspec", "fsspec"),
        ("ftp://host/x.zarr", "fsspec", "fsspec"),
        ("redis://host/0", "redis", "redis"),
        ("mongodb://host/db.collection", "pymongo", "mongodb"),
        ("lmdb:///tmp/nothing.lmdb", "lmdb", "lmdb"),
    ],
)
def test_a_missing_package_is_named(url: str, package: str, extra: str) -> None:
    # In a process of its own: a library that was loaded cannot be unloaded.
    program = (
        f"import sys; sys.modules[{package!r}] = None\n"
        "from omnizarr.errors import MissingPackageError\n"
        "from omnizarr.stores import as_store\n"
        "try:\n"
        f"    as_store({url!r}, mode='w').set('a', b'1')\n"
        "except MissingPackageError as error:\n"
        "    print(error)\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    said = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, env=environment
    )
    assert f"pip install 'omnizarr[{extra}]'" in said.stdout, said.stderr


@pytest.mark.parametrize("name", [name for name in stores.__all__ if name.endswith("Store")])
def test_every_store_is_found_by_name(name: str) -> None:
    found = getattr(omnizarr, name)
    assert found is getattr(stores, name)
    assert issubclass(found, Store)


def test_names_and_first_bytes_choose_the_kind(tmp_path: Path) -> None:
    for suffix in (".sqlite", ".lmdb", ".dbm"):
        kind = kinds.for_path(str(tmp_path / f"new{suffix}"))
        assert kind is not None and kind.module == f"databases{suffix}"
    assert kinds.for_path(str(tmp_path / "new.json")) is None, "references are never made"
    assert kinds.for_path(str(tmp_path / "x.zarr")) is None
    (tmp_path / "folder.sqlite").mkdir()
    assert kinds.for_path(str(tmp_path / "folder.sqlite")) is None
    (tmp_path / "unnamed").write_bytes(b"SQLite format 3\0" + bytes(84))
    kind = kinds.for_path(str(tmp_path / "unnamed"))
    assert kind is not None and kind.module == "databases.sqlite"


@pytest.mark.parametrize(
    "text",
    [
        "::http://u:HUSHHUSH@host/x",
        " http://u:HUSHHUSH@host/x",
        "folder/http://u:HUSHHUSH@host/x?sig=HUSHHUSH",
        "h://u:HUSHHUSH@host/x",
        "file://u:HUSHHUSH@host/x",
        "sqlite://x::http://u:HUSHHUSH@host/x",
        "dbm://u:HUSHHUSH@host/x",
    ],
)
def test_what_looks_like_a_url_is_no_local_path(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(StoreError) as refused:
        as_store(text)
    assert "u:***@host/x" in str(refused.value) and "HUSH" not in str(refused.value)
    assert list(tmp_path.iterdir()) == []


def test_zip_modes(tmp_path: Path) -> None:
    path = tmp_path / "x.zip"
    for mode in ("r", "r+"):
        with pytest.raises(NodeNotFoundError):
            as_store(path, mode=mode)
    assert list(tmp_path.iterdir()) == []
    for mode, value in (("w-", b"1"), ("a", b"2"), ("r+", b"3"), ("w", b"4")):
        with as_store(path, mode=mode) as store:
            assert isinstance(store, ZipStore)
            store.set("k", value)
        with as_store(str(path), mode="r") as store:
            assert store.get("k") == value
            with pytest.raises(ReadOnlyError):
                store.set("k", b"")
    for mode in ("w-", "x"):
        with pytest.raises(StoreError):
            as_store(path, mode=mode)
    assert zipfile.ZipFile(path).namelist() == ["k"]


def test_a_directory_named_zip_is_a_directory(tmp_path: Path) -> None:
    (tmp_path / "x.zip").mkdir()
    assert isinstance(as_store(tmp_path / "x.zip"), LocalStore)


def test_anything_else_is_named() -> None:
    for obj in (5, b"x", [], object()):
        with pytest.raises(TypeError, match=f"found {type(obj).__name__}"):
            as_store(obj)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="mode must be one of"):
        as_store(None, mode="rw")
    for obj in (None, "x", {}):
        with pytest.raises(TypeError, match="storage_options"):
            as_store(obj, storage_options={"a": 1})


# -- surprises ------------------------------------------------------------------------------------
def test_the_home_folder_is_meant(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home, here = tmp_path / "home", tmp_path / "here"
    home.mkdir()
    here.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.chdir(here)
    for name in ("x.zarr", "x.zip", "x.sqlite"):
        for given in (f"~/{name}", Path("~") / name):
            store = as_store(given, mode="a")
            store.set(f"key{type(given).__name__}", b"value")
            store.close()
        assert (home / name).exists()
    assert list(here.iterdir()) == []


@pytest.mark.parametrize(
    "text",
    [
        "http:/u:HUSHHUSH@h/x",
        "https:u:HUSHHUSH@h/x",
        " http:/u:HUSHHUSH@h/x",
        "redis:/u:HUSHHUSH@h/x",
        "mongodb+srv:/u:HUSHHUSH@h/x",
        "S3:/u:HUSHHUSH@h/x",
        Path("http://u:HUSHHUSH@h/x"),
        "simplecache::http:/u:HUSHHUSH@h/x",
        "zip://a.zarr::https:/u:HUSHHUSH@h/x",
        Path("zip://a.zarr::simplecache::http://u:HUSHHUSH@h/x"),
    ],
    ids=str,
)
def test_a_url_without_its_slashes_is_refused(
    text: str | Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for mode in ("r", "a", "w"):
        with pytest.raises(StoreError, match="two slashes") as refused:
            as_store(text, mode=mode)
        assert "://u:***@h/x" in str(refused.value) and "HUSH" not in str(refused.value)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "text",
    ["s3:/bkt", "gs:bkt/x", "file:/tmp/x", "memory:x", "az:/c/x", "simplecache::s3:/b"],
)
def test_other_urls_without_slashes(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(StoreError, match="two slashes"):
        as_store(text)
    local = as_store(f"./{text}", mode="a")
    local.set("key", b"value")
    assert (tmp_path / text / "key").exists()


@pytest.mark.parametrize(
    ("given", "right"),
    [
        ("s3:/bkt", "s3://bkt"),
        ("file:/tmp/x", "file:///tmp/x"),
        ("sqlite:/tmp/x", "sqlite:///tmp/x"),
        ("file:tmp/x", "file://tmp/x"),
        ("simplecache::s3:/b", "simplecache::s3://b"),
    ],
)
def test_the_right_url_is_shown(given: str, right: str) -> None:
    with pytest.raises(StoreError, match="two slashes") as refused:
        as_store(given)
    assert f"expected {right!r}." in str(refused.value)


@pytest.mark.parametrize("make", [LocalStore, ZipStore, SQLiteStore])
@pytest.mark.parametrize(
    "text",
    [
        "http:/u:HUSHHUSH@h/x",
        "http://u:HUSHHUSH@h/x",
        "simplecache::http:/u:HUSHHUSH@h/x",
        Path("s3://u:HUSHHUSH@h/x"),
    ],
    ids=str,
)
def test_a_url_as_the_path_of_a_local_store(make: Any, text: str | Path) -> None:
    with pytest.raises((StoreError, TypeError)) as refused:
        make(text)
    assert "HUSH" not in str(refused.value)


def test_names_with_a_colon_are_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("12:30.zarr", "run:1/x.zarr", "a:b"):
        as_store(name, mode="a").set("key", b"value")
        assert (tmp_path / name / "key").exists()


@pytest.mark.parametrize(
    ("name", "begin", "advice"),
    [
        ("a.h5", b"\x89HDF\r\n\x1a\n", "h5py"),
        ("a.nc", b"CDF\x01", "NetCDF-3"),
        ("a.tif", b"II*\0", "virtualize"),
        ("archive", b"PK\x03\x04", "ZipStore"),
        ("a.tar.gz", b"\x1f\x8b", "unpack"),
        ("zarr.json", b"{}", "open the folder"),
        ("notes.txt", b"hello", "a regular file"),
        ("empty", b"", "an empty file"),
    ],
)
def test_a_file_says_that_it_is_one(name: str, begin: bytes, advice: str, tmp_path: Path) -> None:
    file = tmp_path / name
    file.write_bytes(begin)
    for path in (file, file / "group" / "array"):
        for mode in ("r", "r+"):
            with pytest.raises(NodeNotFoundError, match=advice) as missing:
                as_store(path, mode=mode)
            assert str(file) in str(missing.value)
        for writing in ("a", "w", "w-"):
            with pytest.raises(StoreError, match=advice):
                as_store(path, mode=writing)
    assert file.read_bytes() == begin


@pytest.mark.parametrize("function", [omnizarr.copy_store, omnizarr.convert])
def test_options_of_the_other_side_are_named(function: Any, tmp_path: Path) -> None:
    omnizarr.create_group(tmp_path / "x.zarr")
    local, far = str(tmp_path / "x.zarr"), "s3://bucket/x.zarr"
    with pytest.raises(TypeError, match="as destination_options"):
        function(local, far, storage_options={"anon": True})
    with pytest.raises(TypeError, match="as storage_options"):
        function(far, local, destination_options={"anon": True})


@pytest.mark.parametrize("place", ["x.zarr", "x.zip", "x.sqlite", "http://host/x", None, {}])
def test_options_that_are_no_mapping(place: Any) -> None:
    with pytest.raises(TypeError, match="storage_options must be a mapping, found str"):
        as_store(place, storage_options="hidden")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="destination_options must be a mapping, found str"):
        omnizarr.copy_store({}, place, destination_options="hidden")  # type: ignore[arg-type]


@pytest.mark.parametrize("installed", [True, False])
def test_a_misspelt_scheme(monkeypatch: pytest.MonkeyPatch, installed: bool) -> None:
    if not installed:
        monkeypatch.setitem(sys.modules, "fsspec", None)
        monkeypatch.setitem(sys.modules, "fsspec.registry", None)
    for wrong, right in (("htp", "http"), ("HTPS", "https"), ("s33", "s3"), ("sftpp", "sftp")):
        with pytest.raises(StoreError) as caught:
            as_store(f"{wrong}://me:hidden@host/x")
        assert f"did you mean '{right}://me:***@host/x'?" in str(caught.value)
    for other in ("foo", "git"):
        with pytest.raises(omnizarr.errors.ZarrError) as unknown:
            as_store(f"{other}://host/x")
        assert "did you mean" not in str(unknown.value)
