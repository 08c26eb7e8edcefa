"""Equal tokens mean equal values: every kind of change, in every kind of store."""

from __future__ import annotations

import pickle
from collections import UserDict
from collections.abc import Callable, Iterator, MutableMapping
from pathlib import Path

import numpy as np
import pytest

import omnizarr
from omnizarr import Array
from omnizarr.stores import MappingStore, Store

tokenize = pytest.importorskip("dask.base").tokenize

STORES: dict[str, Callable[[Path], Store]] = {
    "local": lambda folder: omnizarr.LocalStore(folder / "a"),
    "zip": lambda folder: omnizarr.ZipStore(folder / "a.zip"),
    "sqlite": lambda folder: omnizarr.stores.SQLiteStore(folder / "a.sqlite"),
    "prefix": lambda folder: omnizarr.PrefixStore(omnizarr.LocalStore(folder), "p/q"),
    "memory": lambda folder: omnizarr.MemoryStore(),
    "dict": lambda folder: MappingStore(UserDict()),
}


@pytest.fixture(params=STORES)
def array(request: pytest.FixtureRequest, tmp_path: Path) -> Array:
    store = STORES[request.param](tmp_path)
    return omnizarr.create_array(store, name="x", data=np.arange(10), chunks=4)


def test_handles_of_one_array_have_one_token(array: Array) -> None:
    first = tokenize(array)
    assert tokenize(array) == first
    assert tokenize(omnizarr.open_array(array.store, path="x")) == first
    assert tokenize(omnizarr.open_array(array.store, path="x", mode="r")) == first
    assert array.to_dask().name == array.to_dask().name


CHANGES: dict[str, Callable[[Array], object]] = {
    "element": lambda a: a.__setitem__(3, 99),
    "whole": lambda a: a.__setitem__(..., 7),
    "append": lambda a: a.append([1, 2]),
    "shrink and grow": lambda a: (a.resize(4), a.resize(10)),
    "attributes": lambda a: a.attrs.update(units="m"),
    "replaced": lambda a: omnizarr.create_array(
        a.store, name="x", data=np.arange(10) + 1, chunks=4, overwrite=True
    ),
    "through another handle": lambda a: omnizarr.open_array(a.store, path="x").__setitem__(0, 5),
    "view": lambda a: a.oindex.__setitem__([1, 3], 8),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_changes_the_token(array: Array, change: str) -> None:
    before = {tokenize(array)}
    CHANGES[change](array)
    for _ in range(2):
        after = tokenize(omnizarr.open_array(array.store, path="x"))
        assert after not in before
    before.add(after)
    array.refresh()
    array[1] = 77
    assert tokenize(array) not in before


def test_a_replaced_array_has_another_token_at_once(tmp_path: Path) -> None:
    names = {
        omnizarr.create_array(tmp_path / "a", data=[n], overwrite=True).to_dask().name
        for n in range(5)
    }
    assert len(names) == 5


def test_arrays_in_memory_that_are_gone_share_no_token() -> None:
    """The address of a dict is used again."""
    names = {omnizarr.array([n, n + 1]).to_dask().name for n in range(50)}
    assert len(names) == 50


def test_two_arrays_of_equal_values_are_two_targets() -> None:
    import dask.array as da

    one, two = omnizarr.zeros(4, chunks=2), omnizarr.zeros(4, chunks=2)
    x = da.arange(4, chunks=2)
    da.store([x, x], [one, two], lock=False, scheduler="sync")
    assert one[:].tolist() == two[:].tolist() == [0, 1, 2, 3]


class _Service(MutableMapping[str, bytes]):
    """A mapping that may stand for anything, a service for instance."""

    def __init__(self) -> None:
        self._values: dict[str, bytes] = {}

    def __getitem__(self, key: str) -> bytes:
        return self._values[key]

    def __setitem__(self, key: str, value: bytes) -> None:
        self._values[key] = value

    def __delitem__(self, key: str) -> None:
        del self._values[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)


def test_a_store_that_tells_no_place_has_no_lasting_token() -> None:
    array = omnizarr.create_array(MappingStore(_Service()), shape=3)
    assert tokenize(array) != tokenize(array)


def test_what_text_reads_as_is_in_the_token(tmp_path: Path) -> None:
    omnizarr.create_array(tmp_path / "a", data=np.array(["a", "b"]), dtype=str)
    tokens = {
        tokenize(omnizarr.open_array(tmp_path / "a", text=text))  # type: ignore[arg-type]
        for text in ("string", "object", "bytes")
    }
    assert len(tokens) == 3


def test_a_view_has_a_token_of_its_own(tmp_path: Path) -> None:
    array = omnizarr.create_array(tmp_path / "a", data=np.arange(3, dtype="u2"))
    assert tokenize(array.view(dtype="i2")) not in (tokenize(array), tokenize(array.view()))


def test_a_pickled_handle_has_the_same_token(tmp_path: Path) -> None:
    array = omnizarr.create_array(tmp_path / "a", data=[1, 2, 3])
    assert tokenize(pickle.loads(pickle.dumps(array))) == tokenize(array)
    array[0] = 5
    assert tokenize(pickle.loads(pickle.dumps(array))) == tokenize(array)


def test_results_that_were_kept_are_not_taken_for_new_ones(tmp_path: Path) -> None:
    array = omnizarr.create_array(tmp_path / "a", data=np.arange(10), chunks=5)
    before = array.to_dask().persist(scheduler="sync")
    array[2] = 100
    difference = (array.to_dask() - before).compute(scheduler="sync")
    assert difference.tolist() == [0, 0, 98, 0, 0, 0, 0, 0, 0, 0]
