"""A database file that is deleted or replaced while this process has it open: nothing is lost."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import omnizarr
from omnizarr.errors import StoreError
from omnizarr.stores import LMDBStore, SQLiteStore

Make = Callable[..., Any]
pytestmark = pytest.mark.skipif(os.name == "nt", reason="an open file cannot be deleted there")


@pytest.fixture(params=["sqlite", "lmdb"])
def make(request: pytest.FixtureRequest) -> Make:
    if request.param == "sqlite":
        return SQLiteStore
    pytest.importorskip("lmdb")
    return LMDBStore


def remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink()


def contents(make: Make, path: Path) -> dict[str, bytes]:
    with make(path, read_only=True) as store:
        return {key: bytes(store.get(key)) for key in store.list()}


@pytest.mark.parametrize("old_first", [False, True])
def test_deleted_and_written_by_a_new_handle(tmp_path: Path, make: Make, old_first: bool) -> None:
    path = tmp_path / "x"
    old = make(path)
    old.set("a", b"old")
    remove(path)
    new = make(path)
    new.set("b", b"new")
    for store in (old, new) if old_first else (new, old):
        store.close()
    assert contents(make, path) == {"b": b"new"}


def test_deleted_and_written_by_the_old_handle(tmp_path: Path, make: Make) -> None:
    path = tmp_path / "x"
    with make(path) as old:
        old.set("a", b"old")
        remove(path)
        old.set("b", b"new")
    assert contents(make, path) == {"b": b"new"}


def test_both_write_after_it_was_deleted(tmp_path: Path, make: Make) -> None:
    path = tmp_path / "x"
    with make(path) as old:
        old.set("a", b"old")
        remove(path)
        with make(path) as new:
            new.set("b", b"1")
            old.set("c", b"2")
            assert bytes(old.get("b")) == b"1"
            assert bytes(new.get("c")) == b"2"
    assert contents(make, path) == {"b": b"1", "c": b"2"}


def test_replaced(tmp_path: Path, make: Make) -> None:
    path, other = tmp_path / "x", tmp_path / "y"
    for place, value in ((path, b"old"), (other, b"new")):
        with make(place) as store:
            store.set("a", value)
    old = make(path, read_only=True)
    assert bytes(old.get("a")) == b"old"
    remove(path)
    other.rename(path)
    assert contents(make, path) == {"a": b"new"}
    with make(path) as new:
        assert bytes(new.get("a")) == b"new"
        new.set("b", b"more")
        old.close()
    assert contents(make, path) == {"a": b"new", "b": b"more"}


def test_an_environment_that_is_being_read(tmp_path: Path) -> None:
    pytest.importorskip("lmdb")
    path = tmp_path / "x"
    with LMDBStore(path) as old:
        old.set("a", b"old")
        with old.snapshot("a") as read:
            remove(path)
            with pytest.raises(StoreError, match="deleted or replaced"):
                LMDBStore(path)
            assert bytes(read(None) or b"") == b"old"
        with LMDBStore(path) as new:
            new.set("a", b"new")
    assert contents(LMDBStore, path) == {"a": b"new"}


def test_an_environment_of_the_caller(tmp_path: Path) -> None:
    lmdb = pytest.importorskip("lmdb")
    path = tmp_path / "x"
    environment = lmdb.open(str(path))
    adopted = omnizarr.stores.as_store(environment)
    adopted.set("a", b"old")
    remove(path)
    with pytest.raises(StoreError, match="deleted or replaced"):
        LMDBStore(path)
    assert bytes(adopted.get("a") or b"") == b"old"
    adopted.close()
    environment.close()
    with LMDBStore(path) as new:
        new.set("b", b"new")
    assert contents(LMDBStore, path) == {"b": b"new"}
