"""Arrays of Python objects in format 2: every object codec, as its users create, change, convert
and exchange them.

What zarr-python 2 writes must be read here and the other way round, one array for each codec; the
fixtures hold what it and its predecessors wrote long ago.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numcodecs
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import omnizarr
from omnizarr.errors import (
    EncodeError,
    MetadataError,
    PickleCodecDisabledError,
    UnsupportedError,
    ZarrError,
)
from omnizarr.stores import MemoryStore
from tests.acceptance import fixtures
from tests.acceptance.fill_objects import BAD, CASES, FILLS, HELP, Case
from tests.acceptance.fill_peer import packed, unpacked

FORMATS: tuple[int | str, ...] = (
    0, 1, 2, "3-draft2019", "3-draft2020-09", "3-draft2020-10", 3, "n5",
)  # fmt: skip
WITH_FILTERS = (2, "3-draft2020-10")
"""Formats that have filters, and with them objects."""


every_case = pytest.mark.parametrize("case", CASES.values(), ids=CASES)


def vector(items: Any, dtype: Any = object) -> np.ndarray[Any, Any]:
    result = np.empty(len(items), dtype)
    for place, item in enumerate(items):
        result[place] = item
    return result


def plain(item: Any) -> Any:
    """An element so that `==` compares it whole, type and bits included."""
    item = item.item() if isinstance(item, np.void | np.str_) else item
    if isinstance(item, np.ndarray):
        return "array", item.dtype.str, item.shape, item.tobytes()
    return item


def same(found: Any, expected: Any) -> bool:
    return [plain(item) for item in found] == [plain(item) for item in expected]


def create(case: Case, zarr_format: int | str = 2, **more: Any) -> MemoryStore:
    store = MemoryStore()
    codec = {"object_codec": case.made} if case.dtype != "<U3" else {"filters": [case.made]}
    omnizarr.create_array(
        store, shape=(5,), chunks=(2,), dtype=case.dtype, zarr_format=zarr_format,
        **codec, **case.trusted, **more,
    )  # fmt: skip
    return store


def reopened(case: Case, store: Any, mode: Any = "r") -> omnizarr.Array:
    return omnizarr.open_array(store, mode=mode, **case.trusted)


def document(store: MemoryStore) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(bytes(store.get(".zarray") or b""))
    return found


# -- writing and reading --------------------------------------------------------------------------
@pytest.mark.parametrize("zarr_format", WITH_FILTERS)
@every_case
def test_partial_writes_and_missing_chunks(case: Case, zarr_format: int | str) -> None:
    store = create(case, zarr_format)
    array = reopened(case, store, "r+")
    assert same(array[:], [case.missing] * 5)
    array[0:1] = vector(case.items[:1], case.dtype)
    found = reopened(case, store)[:]
    assert same(found, [case.items[0], case.beside, *[case.missing] * 3])
    array[1:4] = vector(case.items[1:4], case.dtype)
    found = reopened(case, store)[:]
    assert same(found, [*case.items[:4], case.missing])
    array[4] = case.items[4]
    assert same(reopened(case, store)[:], case.items)
    assert same(reopened(case, store)[::-2], case.items[::-2])


@every_case
def test_many_dimensions_and_both_orders(case: Case) -> None:
    for order in ("C", "F"):
        store = MemoryStore()
        codec = {"object_codec": case.made} if case.dtype != "<U3" else {"filters": [case.made]}
        array = omnizarr.create_array(
            store, shape=(2, 3), chunks=(2, 2), dtype=case.dtype, zarr_format=2, order=order,
            **codec, **case.trusted,
        )  # fmt: skip
        items = [case.items[place % 5] for place in range(6)]
        array[...] = vector(items, case.dtype).reshape(2, 3)
        assert same(reopened(case, store)[...].reshape(-1), items)


@every_case
def test_one_element_without_dimensions(case: Case) -> None:
    store = MemoryStore()
    codec = {"object_codec": case.made} if case.dtype != "<U3" else {"filters": [case.made]}
    array = omnizarr.create_array(
        store, shape=(), dtype=case.dtype, zarr_format=2, **codec, **case.trusted
    )
    array[...] = vector(case.items[3:4], case.dtype)[0]
    assert same([reopened(case, store)[()]], case.items[3:4])


values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.text(max_size=4)
    | st.floats(allow_nan=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=6,
)  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", ["json2", "json", "msgpack2", "msgpack", "pickle"])
def test_any_object_of_json(name: str) -> None:
    case = CASES[name]

    @given(st.lists(values, min_size=5, max_size=5))
    @settings(max_examples=40)
    def holds(items: list[Any]) -> None:
        if "msgpack" in name:
            try:
                json.dumps(items, ensure_ascii=False).encode()
            except UnicodeEncodeError:
                return
        store = create(case)
        reopened(case, store, "r+")[:] = vector(items)
        assert repr(reopened(case, store)[:].tolist()) == repr(items) or (
            reopened(case, store)[:].tolist() == items
        )

    holds()


# -- creating, as users do ------------------------------------------------------------------------
def test_spellings() -> None:
    def made(**arguments: Any) -> Any:
        store = MemoryStore()
        omnizarr.create_array(store, shape=(5,), chunks=(2,), zarr_format=2, **arguments)
        found = document(store)
        assert found["dtype"] == "|O"
        return found["filters"]

    full = [json.loads(json.dumps(numcodecs.JSON().get_config()))]
    assert made(dtype=object, object_codec=numcodecs.JSON()) == full
    assert made(dtype="O", filters=[numcodecs.JSON()]) == full
    assert made(object_codec=numcodecs.JSON()) == full
    assert made(dtype=str, object_codec=numcodecs.JSON()) == full
    assert made(dtype=object, object_codec={"id": "json2"}) == [{"id": "json2"}]
    assert made(dtype=str) == made(dtype=object, object_codec=numcodecs.VLenUTF8())
    assert made(dtype=bytes) == made(dtype=object, object_codec=numcodecs.VLenBytes())
    for kind, stored in (("i4", "<i4"), ("<f8", "<f8"), ("float64", "<f8"), (">i2", ">i2")):
        assert made(dtype=f"array:{kind}") == [{"id": "vlen-array", "dtype": stored}]
    both = made(dtype=object, object_codec=numcodecs.JSON(), filters=[numcodecs.CRC32()])
    assert [codec["id"] for codec in both] == ["json2", "crc32"]


def test_an_object_codec_for_numbers_is_left_out() -> None:
    with pytest.warns(UserWarning, match="not for int32"):
        array = omnizarr.create_array(
            {}, shape=(5,), dtype="i4", zarr_format=2, object_codec=numcodecs.JSON()
        )
    assert array.dtype == np.dtype("i4")


@pytest.mark.parametrize("dtype", ["array:", "array:nothing", "array:O"])
def test_ragged_arrays_of_no_type(dtype: str) -> None:
    with pytest.raises(ZarrError):
        omnizarr.create_array({}, shape=(5,), dtype=dtype, zarr_format=2)


def test_objects_need_a_codec() -> None:
    with pytest.raises(MetadataError, match="object_codec"):
        omnizarr.create_array({}, shape=(5,), dtype=object, zarr_format=2)


# -- fill values ----------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("name", "fill"), [(name, fill) for name, fills in FILLS.items() for fill in fills]
)
def test_fill_values(name: str, fill: Any) -> None:
    case = CASES[name]
    store = create(case, fill_value=fill)
    array = reopened(case, store, "r+")
    assert array.fill_value == fill
    assert array[:].tolist() == [fill] * 5
    array[0] = case.items[0]
    beside = array[1]
    if name == "vlen-array":  # elements are arrays once they are stored, as numcodecs does it
        assert beside.tolist() == ([0] if fill == 0 else fill)
    else:
        assert beside == fill
    assert array[4] == fill
    # A chunk of nothing but the fill value is not stored.
    array[0] = fill if name != "vlen-array" else case.items[0]
    assert (store.get("0") is None) == (name != "vlen-array")
    array.resize((9,))
    assert reopened(case, store).fill_value == fill


def test_changing_what_was_read_changes_no_fill_value() -> None:
    array = reopened(CASES["json2"], create(CASES["json2"], fill_value={}), "r+")
    array[:][0]["changed"] = True
    assert array.fill_value == {}
    assert array[:].tolist() == [{}] * 5


@pytest.mark.parametrize(
    ("name", "fill", "words"),
    [
        ("json2", object(), "JSON value"),
        ("json2", b"x", "JSON value"),
        ("json2", np.arange(2), "tolist"),
        ("json2", float("nan"), "use fill_value=None"),
        ("vlen-array", "n/a", "ragged.*list of numbers"),
        ("vlen-array", {"a": 1}, "ragged.*list of numbers"),
        ("vlen-utf8", 5, "not a str"),
        ("vlen-bytes", 5, "not bytes"),
        ("record-json2", (1, "x"), "use fill_value=None"),
    ],
)
def test_fill_values_that_cannot_be(name: str, fill: Any, words: str) -> None:
    with pytest.raises(MetadataError, match=words):
        create(CASES[name], fill_value=fill)


# -- elements that a codec cannot hold ------------------------------------------------------------
@pytest.mark.parametrize(("name", "item", "words"), BAD)
def test_elements_that_a_codec_cannot_hold(name: str, item: Any, words: str) -> None:
    case = CASES[name]
    store = create(case)
    array = reopened(case, store, "r+")
    with pytest.raises((EncodeError, TypeError, ValueError), match=words):
        array[0:2] = vector([case.items[0], item])
    assert same(array[:], [case.missing] * 5)


def test_the_place_of_a_bad_element_in_many_dimensions() -> None:
    array = omnizarr.create_array(
        {}, shape=(2, 2), chunks=(2, 2), zarr_format=2, object_codec={"id": "json2"}
    )
    with pytest.raises(EncodeError, match=r"chunk \(0, 0\).* element \(1, 0\) of the chunk"):
        array[...] = vector([1, 2, {3}, 4]).reshape(2, 2)


def test_text_that_is_no_label_is_lost_by_definition() -> None:
    case = CASES["categorize"]
    array = reopened(case, create(case), "r+")
    array[:] = vector(["é", "other", "b", "", "other"])
    assert array[:].tolist() == ["é", "", "b", "", ""]


# -- pickle is opt-in -----------------------------------------------------------------------------
def test_pickle_must_be_allowed() -> None:
    with pytest.raises(PickleCodecDisabledError, match="allow_pickle=True"):
        omnizarr.create_array(
            {}, shape=(5,), dtype=object, zarr_format=2, object_codec=numcodecs.Pickle()
        )
    case = CASES["pickle"]
    store = create(case)
    reopened(case, store, "r+")[:] = vector(case.items)
    with pytest.raises(PickleCodecDisabledError, match="allow_pickle=True"):
        omnizarr.open_array(store, mode="r")[:]


# -- converting -----------------------------------------------------------------------------------
@every_case
def test_converting(case: Case) -> None:
    name = next(key for key, value in CASES.items() if value is case)
    store = create(case)
    reopened(case, store, "r+")[:4] = vector(case.items[:4], case.dtype)
    expected = [*case.items[:4], case.missing]
    for target in FORMATS:
        other = MemoryStore()
        if target in WITH_FILTERS or (target == 3 and name not in HELP) or _fixed(case, target):
            omnizarr.convert(store, other, zarr_format=target, reencode=True)
            assert same(reopened(case, other)[:], expected), target
            continue
        with pytest.raises(UnsupportedError) as caught:
            omnizarr.convert(store, other, zarr_format=target, reencode=True)
        assert caught.value.what == "data_type"
        if target == 3:
            assert caught.match(HELP[name])
        assert not list(other.list())


def _fixed(case: Case, target: int | str) -> bool:
    return case.dtype == "<U3" and target != "n5"


def test_chunks_are_copied_where_the_codec_is_the_same() -> None:
    for name in ("json2", "msgpack2", "vlen-array", "categorize", "vlen-utf8", "pickle"):
        case = CASES[name]
        store = create(case)
        reopened(case, store, "r+")[:] = vector(case.items)
        done = omnizarr.convert(store, MemoryStore(), zarr_format=2)
        assert done.nodes[0].action == "copy chunks"


def test_categories_become_text_only_when_asked() -> None:
    case = CASES["categorize"]
    with pytest.raises(UnsupportedError, match=r"categorize.*reencode=True"):
        omnizarr.convert(create(case), MemoryStore(), zarr_format=3)


# -- what zarr-python 2 makes of it ---------------------------------------------------------------
WORKER = Path(fixtures.__file__).with_name("fill_peer.py")
EXCHANGED = {name: case for name, case in CASES.items() if case.known}


def run_peer(jobs: list[dict[str, Any]], folder: Path) -> list[dict[str, Any]]:
    python = fixtures.REPOSITORY / ".peers" / "zarr2" / "bin" / "python"
    if not python.exists():
        pytest.fail(f"{python} does not exist: run `make peers`")
    (folder / "jobs.json").write_text(json.dumps(jobs))
    command = [python, WORKER, folder / "jobs.json", folder / "results.json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=folder)
    assert done.returncode == 0, done.stderr[-3000:]
    results = json.loads((folder / "results.json").read_text())
    assert results["version"].startswith("2.18"), results["version"]
    outcomes: list[dict[str, Any]] = results["outcomes"]
    return outcomes


def carried(item: Any) -> Any:
    """An element as the peer's report has it."""
    if isinstance(item, tuple):
        return {"record": list(item)}
    return packed(item)


Outcomes = dict[tuple[str, str], dict[str, Any]]
Exchange = Callable[[str, str], dict[str, Any]]


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> Outcomes:
    """What the peer did, by action and case: one process for all of them."""
    folder = tmp_path_factory.mktemp("objects")
    jobs: list[dict[str, Any]] = []
    names: list[tuple[str, str]] = []
    for name, case in EXCHANGED.items():
        ours, theirs = str(folder / f"ours-{name}"), str(folder / f"theirs-{name}")
        omnizarr.copy_store(create(case), omnizarr.LocalStore(ours))
        reopened(case, ours, "r+")[:3] = vector(case.items[:3], case.dtype)
        items = [carried(item) for item in case.items]
        dtype: Any = "O" if case.dtype is object else case.dtype
        for job in (
            {"do": "read", "store": ours},
            {"do": "write", "store": theirs, "codec": case.codec, "items": items[:3],
             "dtype": dtype, "fill": None},
            {"do": "change", "store": ours, "at": 3, "items": items[3:]},
        ):  # fmt: skip
            jobs.append(job)
            names.append((str(job["do"]), name))
    done = dict(zip(names, run_peer(jobs, folder), strict=True))
    for (_, name), outcome in done.items():
        outcome |= {"ours": str(folder / f"ours-{name}"), "theirs": str(folder / f"theirs-{name}")}
    return done


@pytest.fixture
def exchange(outcomes: Outcomes) -> Exchange:
    """The same for what must not fail."""

    def outcome(action: str, name: str) -> dict[str, Any]:
        found = outcomes[action, name]
        assert "error" not in found, found["error"]
        return found

    return outcome


every_exchange = pytest.mark.parametrize("name", EXCHANGED)
GAPS = {"record-json2": "setting an array element with a sequence"}
"""What zarr-python 2 cannot read though it wrote it: JSON has no tuples for NumPy's records."""
every_reading = pytest.mark.parametrize("name", sorted(EXCHANGED.keys() - GAPS))


@pytest.mark.parametrize("name", GAPS)
@pytest.mark.peers
def test_what_zarr_2_cannot_read(outcomes: Outcomes, name: str) -> None:
    assert GAPS[name] in outcomes["read", name]["error"]


@every_reading
@pytest.mark.peers
def test_zarr_2_reads_what_is_written_here(exchange: Exchange, name: str) -> None:
    case = EXCHANGED[name]
    found = exchange("read", name)["items"]
    assert found[:3] == [carried(item) for item in case.items[:3]]


@every_reading
@pytest.mark.peers
def test_zarr_2_changes_what_is_written_here(exchange: Exchange, name: str) -> None:
    case = EXCHANGED[name]
    found = exchange("change", name)
    assert found["items"] == [carried(item) for item in case.items]
    assert same(reopened(case, found["ours"])[:], case.items)


@every_exchange
@pytest.mark.peers
def test_what_zarr_2_writes_is_read_and_changed_here(exchange: Exchange, name: str) -> None:
    case = EXCHANGED[name]
    folder = exchange("write", name)["theirs"]
    array = reopened(case, folder, "r+")
    assert same(array[:3], case.items[:3])
    assert plain(array[4]) == plain(case.missing)
    array[3:] = vector(case.items[3:], case.dtype)
    assert same(reopened(case, folder)[:], case.items)


def test_the_peer_speaks_the_same_language() -> None:
    for case in CASES.values():
        for item in case.items:
            assert plain(unpacked(json.loads(json.dumps(carried(item))))) == plain(item)


# -- what was written long ago --------------------------------------------------------------------
OLD = (
    "zarr-2.0.1/filter_categorize_C.zarr",
    "zarr-2.0.1/filter_categorize_F.zarr",
    "zarr-2.18.7-v2/filter_categorize.zarr",
    "zarr-2.18.7-v2/filter_categorize_U.zarr",
    "zarr-2.18.7-v2/object_json2_mixed_fillnull.zarr",
    "zarr-2.18.7-v2/object_json2_str_fillnull.zarr",
    "zarr-2.18.7-v2/object_msgpack2_mixed_fillnull.zarr",
    "zarr-2.18.7-v2/object_msgpack2_str_fillnull.zarr",
    "zarr-2.18.7-v2/object_pickle_mixed_fillnull.zarr",
    "zarr-2.18.7-v2/object_vlenarray_le_i4.zarr",
    "zarr-2.18.7-v2/object_vlenarray_u1.zarr",
    "zarr-2.18.7-v2/struct_object.zarr",
    "zarr-2.2.0/object_json_str.zarr",
    "zarr-2.2.0/object_msgpack_mixed.zarr",
    "zarr-2.2.0/object_pickle_mixed.zarr",
    "zarr-2.2.0/object_vlenarray.zarr",
)


@pytest.mark.parametrize("path", OLD)
def test_stores_of_older_releases(path: str, tmp_path: Path) -> None:
    row = next(row for row in fixtures.rows() if row.path == path)
    folder = fixtures.unpacked(row.source) / row.store
    allow = {"allow_pickle": row.pickled}
    array = omnizarr.open_array(str(folder), mode="r", **allow)
    assert fixtures.difference(row, array[...]) is None
    # Copied and written again, chunk by chunk, it still reads the same.
    omnizarr.convert(str(folder), str(tmp_path / "copy"), zarr_format=2)
    copy = omnizarr.open_array(str(tmp_path / "copy"), mode="r+", **allow)
    copy[...] = copy[...]
    assert fixtures.difference(row, copy[...]) is None
