"""Errors and where they arose: the text and the fields."""

from __future__ import annotations

import pickle
import subprocess
import sys

import pytest

from omnizarr import errors
from omnizarr.stores import LocalStore, MemoryStore


def test_a_location_is_in_the_text_and_in_fields() -> None:
    store = MemoryStore()
    error = errors.DecodeError("too short").at("inner chunk (1,)").at(store, key="c/0", chunk=(0,))
    assert str(error) == f"{store!r}, key 'c/0', chunk (0,): inner chunk (1,): too short"
    assert error.reason == "too short"
    assert error.location == errors.ErrorLocation(repr(store), None, None, "c/0", (0,))
    assert errors.DecodeError("x").location is None and errors.DecodeError("x").reason == "x"


def test_a_location_without_a_store_is_completed() -> None:
    store = LocalStore("x.zarr")
    error = errors.MetadataError("no").at("fill_value").at(key="a/zarr.json").at(store)
    assert str(error) == f"{store!r}, key 'a/zarr.json': fill_value: no"
    assert error.location == errors.ErrorLocation(repr(store), store.path, None, "a/zarr.json")
    assert str(error.at(store, path="a")).startswith(f"{store!r}, path '/a': {store!r}, key")


@pytest.mark.parametrize(
    "error",
    [
        errors.UnsupportedError("no", "codecs"),
        errors.HTTPStatusError("no", 418),
        errors.NodeNotFoundError("no"),
        errors.StoreTimeoutError("no"),
        errors.MissingPackageError("no"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_a_located_error_keeps_its_members_and_can_be_pickled(error: errors.ZarrError) -> None:
    located = error.at(MemoryStore(), key="a")
    for again in (located, pickle.loads(pickle.dumps(located))):
        assert type(again) is type(error) and str(again) == str(located)
        assert again.location == located.location and again.reason == "no"
        for name in ("what", "hint", "status"):
            assert getattr(again, name, None) == getattr(error, name, None)


def test_advice_comes_last_and_names_options() -> None:
    advised = errors.NodeExistsError("there").advise("{} or {}", ("a", True), ("b", ("c",)))
    located = advised.at(key="k")
    for error in (located, pickle.loads(pickle.dumps(located))):
        assert str(error) == "key 'k': there; a=True or b=('c',)"
        assert (error.reason, error.hint) == ("there", "a=True or b=('c',)")
        assert error.options == (("a", True), ("b", ("c",)))
    assert str(errors.ZarrError("x").advise("look at {this}")) == "x; look at {this}"


def test_errors_travel_where_another_library_pickles_exceptions() -> None:
    """Dask registers tblib's way to pickle every exception class that it finds."""
    code = """
import pickle
from tblib import pickling_support
from omnizarr import errors
classes = [each for each in vars(errors).values() if isinstance(each, type)]
classes = [each for each in classes if issubclass(each, errors.ZarrError)]
pickling_support.install(*classes)
for each in classes:
    error = each("wrong").at(key="c/0").advise("do {}", ("this", 1))
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is each and str(again) == str(error) == "key 'c/0': wrong; do this=1", each
    assert again.options == error.options and again.location == error.location
print(len(classes) > 20)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.stdout.strip(), done.stderr) == ("True", "")
