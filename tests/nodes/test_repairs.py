"""Arrays whose documents have chunk lengths that no chunk can have: opened, written, changed."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import omnizarr
from omnizarr.errors import ReadOnlyError, StaleHandleError, ZarrUserWarning
from omnizarr.stores import MemoryStore, Store
from omnizarr.testing import LatencyStore, WatchedStore

BOTH = pytest.mark.parametrize("zarr_format", [2, 3])
NAMES = {2: ".zarray", 3: "zarr.json"}


class Recording(WatchedStore):
    """A store that notes which keys are set, in their order."""

    def __init__(self) -> None:
        super().__init__(MemoryStore())
        self.noted: list[str] = []

    def before(self, operation: str, key: str) -> None:
        if operation.startswith("set"):
            self.noted.append(key)


def document(store: Store, zarr_format: int, path: str = "") -> Any:
    value = store.get(f"{path}/{NAMES[zarr_format]}".lstrip("/"))
    assert value is not None
    return json.loads(bytes(value))


def chunks_of(stored: Any) -> Any:
    return stored["chunks"] if "chunks" in stored else stored["chunk_grid"]["configuration"][
        "chunk_shape"
    ]  # fmt: skip


def change(store: Recording, zarr_format: int, edit: Callable[[Any], None], path: str = "") -> None:
    stored = document(store, zarr_format, path)
    edit(stored)
    store.store.set(f"{path}/{NAMES[zarr_format]}".lstrip("/"), json.dumps(stored).encode())


def put(*lengths: Any) -> Callable[[Any], None]:
    def edit(stored: Any) -> None:
        chunks_of(stored)[:] = lengths

    return edit


def legacy(
    zarr_format: int, *lengths: Any, shape: tuple[int, ...] = (3,), path: str = "",
    **arguments: Any,
) -> Recording:  # fmt: skip
    """A store with an array in whose document a chunk shape is replaced."""
    found = Recording()
    omnizarr.create_array(
        found, name=path or None, shape=shape, dtype="i2", zarr_format=zarr_format,
        **{"chunks": shape and tuple(max(1, n) for n in shape), "compressors": None} | arguments,
    )  # fmt: skip
    change(found, zarr_format, put(*lengths or (0,)), path)
    found.noted.clear()
    return found


def opened(store: Any, mode: Any = "r+", **arguments: Any) -> omnizarr.Array:
    """The array, without the warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ZarrUserWarning)
        return omnizarr.open_array(store, mode, **arguments)


# -- opening -----------------------------------------------------------------------------------
@BOTH
def test_opening_warns_once_and_names_the_array(zarr_format: int) -> None:
    store = legacy(zarr_format, path="a/b")
    group = omnizarr.open_group(store, "r+", zarr_format=zarr_format)
    for open_it in (
        lambda: omnizarr.open_array(store, path="a/b"),
        lambda: omnizarr.open(store, path="a/b"),
        lambda: omnizarr.Array(store, "a/b"),
        lambda: group["a/b"],
        lambda: dict(group["a"].arrays()),
    ):
        with pytest.warns(ZarrUserWarning, match=r"^Array .*a/b.: .*\[0\] is read as") as told:
            open_it()
        assert len(told) == 1
    array = opened(store, path="a/b")
    assert (array.chunks, array[:].tolist()) == ((1,), [0, 0, 0])
    array.refresh()
    array[0] = 1


@BOTH
@pytest.mark.parametrize(
    ("lengths", "shape"), [((0,), (0,)), ((False, 4), (0, 4)), ((True,), (5,))]
)
def test_silent_where_nothing_is_to_be_done(
    zarr_format: int, lengths: tuple[Any, ...], shape: tuple[int, ...]
) -> None:
    array = omnizarr.open_array(legacy(zarr_format, *lengths, shape=shape))
    assert array.chunks == (1, 4)[: len(shape)]
    assert array[...].shape == shape


@BOTH
def test_consolidated_metadata_are_read_so_and_copied_as_stored(zarr_format: int) -> None:
    store = legacy(zarr_format, path="g/a")
    before = document(store, zarr_format, "g/a")
    with pytest.warns(ZarrUserWarning, match=r"g/a.: .* is read as") as told:
        omnizarr.consolidate_metadata(store, zarr_format=zarr_format)
    assert len(told) == 1
    whole = json.loads(bytes(store.get(".zmetadata" if zarr_format == 2 else "zarr.json") or b""))
    if zarr_format == 2:
        assert whole["metadata"]["g/a/.zarray"] == before
    else:
        assert whole["consolidated_metadata"]["metadata"]["g/a"] == before
    assert document(store, zarr_format, "g/a") == before
    with pytest.warns(ZarrUserWarning, match=r"g/a.: .* is read as") as told:
        group = omnizarr.open_consolidated(store, zarr_format=zarr_format)
    assert len(told) == 1
    array = group["g/a"]  # warned of already
    assert isinstance(array, omnizarr.Array)
    array[:] = [7, 8, 9]
    assert chunks_of(document(store, zarr_format, "g/a")) == [1]
    assert omnizarr.open_array(store, path="g/a")[:].tolist() == [7, 8, 9]


@BOTH
def test_a_member_of_consolidated_metadata_that_was_replaced_is_not_written(
    zarr_format: int,
) -> None:
    store = legacy(zarr_format, path="a")
    with pytest.warns(ZarrUserWarning):
        array = omnizarr.consolidate_metadata(store, zarr_format=zarr_format)["a"]
    change(store, zarr_format, put(3), "a")
    store.noted.clear()
    assert isinstance(array, omnizarr.Array)
    with pytest.raises(StaleHandleError, match="chunk grid"):
        array[:] = 1
    assert store.noted == []


# -- writing -----------------------------------------------------------------------------------
@pytest.mark.parametrize(("zarr_format", "sharded"), [(2, False), (3, False), (3, True)])
def test_the_valid_document_is_stored_before_the_first_chunk(
    zarr_format: int, sharded: bool
) -> None:
    store = legacy(zarr_format, **({"chunks": (2,), "shards": (4,)} if sharded else {}))
    array = opened(store)
    array[:] = [1, 2, 3]
    assert store.noted[0] == NAMES[zarr_format]
    assert store.noted.count(NAMES[zarr_format]) == 1
    assert chunks_of(document(store, zarr_format)) == ([2] if sharded else [1])
    store.noted.clear()
    array[0] = 9
    assert len(store.noted) == 1
    assert omnizarr.open_array(store)[:].tolist() == [9, 2, 3]


@BOTH
def test_other_documents_are_not_written(zarr_format: int) -> None:
    """Neither where a length is only spelled anew, nor for ordinary arrays."""
    for lengths in ((True,), (1,)):
        store = legacy(zarr_format, *lengths)
        before = store.get(NAMES[zarr_format])
        opened(store)[1] = 5
        assert len(store.noted) == 1
        assert NAMES[zarr_format] not in store.noted
        assert store.get(NAMES[zarr_format]) == before
        assert omnizarr.open_array(store)[:].tolist() == [0, 5, 0]


@BOTH
def test_attributes_of_format_2_stay_as_they_are(zarr_format: int) -> None:
    store = legacy(zarr_format, attributes={"a": 1})
    opened(store)[0] = 1
    assert ".zattrs" not in store.noted
    assert dict(opened(store).attrs) == {"a": 1}


@BOTH
def test_an_empty_or_refused_write_stores_nothing(zarr_format: int) -> None:
    store = legacy(zarr_format)
    opened(store)[0:0] = np.empty(0, "i2")
    with pytest.raises(ReadOnlyError):
        opened(store, "r")[0] = 1
    assert store.noted == []


@BOTH
def test_a_view_stores_the_valid_document_as_well(zarr_format: int) -> None:
    store = legacy(zarr_format)
    opened(store).view(dtype="u2")[0] = 7
    assert chunks_of(document(store, zarr_format)) == [1]
    assert document(store, zarr_format).get("dtype", "<i2") == "<i2"
    assert omnizarr.open_array(store)[:].tolist() == [7, 0, 0]


# -- another process ---------------------------------------------------------------------------
@BOTH
@pytest.mark.parametrize("remote", [False, True])
def test_another_chunk_grid_is_not_written_to(zarr_format: int, remote: bool) -> None:
    """Also within the second in which a handle of a remote store does not look."""
    store = legacy(zarr_format)
    stale = opened(LatencyStore(store, seconds=0) if remote else store)
    change(store, zarr_format, put(3))
    for _ in range(2):
        with pytest.raises(StaleHandleError, match="chunk grid"):
            stale[:] = [7, 8, 9]
    assert store.noted == []


@BOTH
def test_a_valid_document_of_another_writer_stays_as_written(zarr_format: int) -> None:
    store = legacy(zarr_format)
    stale = opened(store)
    change(store, zarr_format, put(1))
    written = store.get(NAMES[zarr_format])
    stale[0] = 9
    assert store.get(NAMES[zarr_format]) == written
    assert omnizarr.open_array(store)[:].tolist() == [9, 0, 0]


@BOTH
def test_a_resize_that_kept_the_length_of_0(zarr_format: int) -> None:
    store = legacy(zarr_format)
    stale = opened(store)
    change(store, zarr_format, lambda stored: stored.update(shape=[5]))
    stale[0:3] = [7, 8, 9]
    array = omnizarr.open_array(store)
    assert (array.chunks, array[:].tolist()) == ((1,), [7, 8, 9, 0, 0])


# -- metadata ----------------------------------------------------------------------------------
def grow(array: omnizarr.Array) -> None:
    array.append(np.full((2, *array.shape[1:]), 7, "i2"))


CHANGES: dict[str, Callable[[omnizarr.Array], object]] = {
    "attributes": lambda array: array.update_attributes({}),
    "resize": lambda array: array.resize((5, *array.shape[1:])),
    "append": grow,
    "fill value": lambda array: setattr(array, "fill_value", 3),
}


@BOTH
@pytest.mark.parametrize("name", CHANGES)
@pytest.mark.parametrize(("shape", "length"), [((3,), 0), ((0, 4), 0), ((3,), True)])
def test_every_change_of_metadata_stores_the_valid_form(
    zarr_format: int, name: str, shape: tuple[int, ...], length: Any
) -> None:
    store = legacy(zarr_format, length, *shape[1:], shape=shape)
    array = opened(store)
    values = array[...]
    CHANGES[name](array)
    if length is True and name == "attributes" and zarr_format == 2:
        return  # .zattrs alone
    assert json.dumps(chunks_of(document(store, zarr_format))) == json.dumps([1, *shape[1:]])
    again = omnizarr.open_array(store)
    if name == "append":
        assert again.shape == (shape[0] + 2, *shape[1:])
        assert (again[: shape[0]] == values).all()
        assert (again[shape[0] :] == 7).all()


# -- lists in a regular grid -------------------------------------------------------------------
def mixed() -> tuple[Recording, Any]:
    """What zarr-python 3.2 wrote for `chunks=(2, (5, 10, 5))`."""
    store = Recording()
    values = np.arange(120, dtype="f4").reshape(6, 20)
    array = omnizarr.create_array(store, shape=(6, 20), chunks=(2, (5, 10, 5)), dtype="f4")
    array[...] = values
    stored = document(store, 3)
    stored["chunk_grid"] = {"name": "regular", "configuration": {"chunk_shape": [2, [5, 10, 5]]}}
    store.set("zarr.json", json.dumps(stored).encode())
    store.noted.clear()
    return store, values


@pytest.mark.parametrize("way", ["write", "attributes"])
def test_lists_in_a_regular_grid(way: str) -> None:
    store, values = mixed()
    with pytest.warns(ZarrUserWarning, match="It is read as that rectilinear chunk grid"):
        array = omnizarr.open_array(store, "r+")
    assert (array[...] == values).all()
    if way == "write":
        array[:2] = values[:2] = -1
    else:
        array.update_attributes({})
    assert store.noted[0] == "zarr.json"
    assert document(store, 3)["chunk_grid"] == {
        "name": "rectilinear",
        "configuration": {"kind": "inline", "chunk_shapes": [2, [5, 10, 5]]},
    }
    assert (omnizarr.open_array(store)[...] == values).all()


@BOTH
def test_convert_writes_the_valid_form(zarr_format: int) -> None:
    store, there = legacy(zarr_format, shape=(0,)), MemoryStore()
    omnizarr.convert(store, there, zarr_format=5 - zarr_format)
    assert chunks_of(document(there, 5 - zarr_format)) == [1]


def test_convert_encodes_lists_in_a_regular_grid_anew() -> None:
    (store, values), there = mixed(), MemoryStore()
    omnizarr.convert(store, there, zarr_format=3, reencode=True)
    assert document(there, 3)["chunk_grid"]["name"] == "rectilinear"
    assert (omnizarr.open_array(there)[...] == values).all()
