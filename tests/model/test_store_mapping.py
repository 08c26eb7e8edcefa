"""The mapping methods of zarr-python 2's stores, and stores that are written as mappings."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import omnizarr
from omnizarr.stores import LocalStore, MappingStore, MemoryStore, SQLiteStore, Store


class Written(Store):
    """A store as zarr-python 2's users write one."""

    def __init__(self) -> None:
        self.wrapped: dict[str, bytes] = {}

    def __getitem__(self, key: str) -> bytes:
        return self.wrapped[key]

    def __setitem__(self, key: str, value: bytes) -> None:  # type: ignore[override]
        self.wrapped[key] = value

    def __delitem__(self, key: str) -> None:
        del self.wrapped[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self.wrapped)

    def __len__(self) -> int:
        return len(self.wrapped)


@pytest.fixture(params=["memory", "local", "mapping", "sqlite", "written"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    return {
        "memory": MemoryStore,
        "local": lambda: LocalStore(tmp_path / "s"),
        "mapping": lambda: MappingStore({}),
        "sqlite": lambda: SQLiteStore(tmp_path / "s.sqlite"),
        "written": Written,
    }[request.param]()


def test_a_store_is_a_mutable_mapping(store: Store) -> None:
    store.update({"a/b": b"1"}, c=b"22")
    store.setdefault("c", b"3")
    assert store.setdefault("d", b"444") == b"444"
    assert dict(store.items()) == {"a/b": b"1", "c": b"22", "d": b"444"}
    assert store.pop("c") == b"22" and store.pop("c", None) is None
    with pytest.raises(KeyError):
        store.pop("c")
    assert store.getitems(["a/b", "missing"]) == {"a/b": b"1"}
    store.delitems(["d", "missing"])
    assert store.popitem() == ("a/b", b"1")
    with pytest.raises(KeyError):
        store.popitem()


def test_paths_of_a_store(store: Store) -> None:
    store.update({"a": b"1", "c/d": b"22", "c/e/f": b"333"})
    assert store.listdir() == ["a", "c"] and store.listdir("/c/") == ["d", "e"]
    assert store.listdir("a") == [] == store.listdir("missing")
    assert (store.getsize(), store.getsize("c"), store.getsize("c/e/f")) == (1, 2, 3)
    assert store.getsize("missing") == 0
    store.rename("c", "x/y")
    store.rename("a", "b")
    assert sorted(store) == ["b", "x/y/d", "x/y/e/f"]
    store.rmdir("x/y/e")
    assert sorted(store) == ["b", "x/y/d"]
    store.clear()
    assert list(store) == [] and store.is_writeable() and store.is_listable()


def test_values_must_have_a_buffer(store: Store) -> None:
    if isinstance(store, Written):
        pytest.skip("its own __setitem__ decides")
    store["a"] = np.arange(3, dtype="u1")
    assert store["a"] == b"\0\1\2"
    with pytest.raises(TypeError):
        store["b"] = [1, 2]  # type: ignore[assignment]
    assert "b" not in store


def test_arrays_in_a_store_that_is_written_as_a_mapping() -> None:
    store = Written()
    array = omnizarr.zeros((4, 6), chunks=(2, 3), store=store)
    array[:2] = 7
    assert omnizarr.open_array(store, "r")[:].sum() == 84
    assert len(store.wrapped) == 3
    store.read_only = True
    with pytest.raises(PermissionError):
        omnizarr.open_array(store)[:] = 1


def test_an_incomplete_store_cannot_be_made() -> None:
    class Incomplete(Store):
        pass

    with pytest.raises(TypeError, match="abstract"):
        Incomplete()  # type: ignore[abstract]


def test_a_mapping_that_is_not_registered_as_one() -> None:
    class Duck:
        def __init__(self) -> None:
            self.inner: dict[str, bytes] = {}

        def __getitem__(self, key: str) -> bytes:
            return self.inner[key]

        def __setitem__(self, key: str, value: bytes) -> None:
            self.inner[key] = value

        def __delitem__(self, key: str) -> None:
            del self.inner[key]

        def __contains__(self, key: str) -> bool:
            return key in self.inner

        def keys(self) -> list[str]:
            return list(self.inner)

    duck = Duck()
    omnizarr.save_array(duck, [1, 2, 3])  # type: ignore[arg-type]
    assert omnizarr.load(duck).tolist() == [1, 2, 3]  # type: ignore[arg-type, union-attr]


def test_sqlite_in_memory_ends_with_the_store() -> None:
    store = SQLiteStore(":memory:")
    store["a"] = b"1"
    folder = Path(store.path).parent
    assert folder.exists()
    with pytest.raises(Exception, match="removed with this object"):
        store.__reduce_ex__(4)
    store.close()
    assert not folder.exists()
