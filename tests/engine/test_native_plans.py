"""Whole plans in one native call: the same values, and the same errors, as with the reference."""

from __future__ import annotations

import ctypes
import json
import mmap
import os
import random
import signal
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import omnizarr
from omnizarr import engine
from omnizarr.config import config
from omnizarr.engine import native_plans
from omnizarr.errors import ChunkNotFoundError, DecodeError, ZarrError
from omnizarr.runtime import parallel
from omnizarr.stores.wrappers.base import ReadOnlyStore
from tests.codecs.mutation_worker import mutate
from tests.codecs.support import LITTLE, v3
from tests.engine.native_cases import (
    CODECS,
    SHAPE,
    TYPES,
    WAYS,
    chunk_files,
    obstruct,
    replaced,
    slices,
    values,
)
from tests.model.columns import mode, outcome
from tests.native.installed import needed

needed()
if sys.platform != "linux":
    pytest.skip("the core reads whole plans on Linux alone", allow_module_level=True)

LAYOUTS: dict[str, dict[str, Any]] = {
    "v2": {"zarr_format": 2, "chunks": (5, 4)},
    "v2 nested": {"zarr_format": 2, "chunks": (5, 4), "dimension_separator": "/"},
    "v2 F": {"zarr_format": 2, "chunks": (5, 4), "order": "F", "compressors": None},
}


def stored(path: Path, dtype: str, codecs: list[Any], index: str | None = None) -> Any:
    chunks = (5, 4)
    if index is not None:
        inner = v3("sharding_indexed", chunk_shape=chunks, codecs=codecs, index_location=index,
                   index_codecs=[LITTLE, "crc32c"])  # fmt: skip
        chunks, codecs = (10, 20), [inner]
    data = values(dtype)
    array = omnizarr.create_array(path, shape=SHAPE, dtype=data.dtype, chunks=chunks, codecs=codecs,
                                  fill_value=data.dtype.type(), overwrite=True)  # fmt: skip
    array[...] = data
    return array


def noted(monkeypatch: pytest.MonkeyPatch, name: str) -> list[int | None]:
    """For each plan, how many chunks the core left; None where it was not asked."""
    answers: list[int | None] = []
    execute = getattr(native_plans, name)

    def noting(*arguments: Any) -> Any:
        left = execute(*arguments)
        answers.append(None if left is None else len(left))
        return left

    monkeypatch.setattr(native_plans, name, noting)
    return answers


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[int | None]:
    answers = noted(monkeypatch, "read")
    read_single = engine.read_single

    def noting(*arguments: Any) -> Any:
        found = read_single(*arguments)
        if found is not None:  # else it is asked again, with a plan
            answers.append(0)
        return found

    monkeypatch.setattr(engine, "read_single", noting)
    return answers


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> list[int | None]:
    return noted(monkeypatch, "write")


@pytest.mark.slow
@given(
    st.sampled_from(TYPES),
    st.sampled_from(sorted(CODECS)),
    st.sampled_from([None, "start", "end"]),
    st.lists(st.tuples(slices(SHAPE[0]), slices(SHAPE[1])), min_size=1, max_size=4),
    st.sets(st.tuples(st.integers(0, 5), st.integers(0, 10)), max_size=5),
    st.lists(st.tuples(st.integers(0, 29), st.integers(0, 43)), min_size=1, max_size=30),
    st.sampled_from([1, 3]),
)
def test_values_are_numpys_either_way(
    tmp_path_factory: pytest.TempPathFactory,
    dtype: str,
    name: str,
    index: str | None,
    selections: Any,
    missing: Any,
    points: Any,
    workers: int,
) -> None:
    array = stored(tmp_path_factory.mktemp("a"), dtype, CODECS[name], index)
    expected = values(dtype)
    for row, column in missing:
        place = slice(5 * row, 5 * row + 5), slice(4 * column, 4 * column + 4)
        array[place] = expected[place] = expected.dtype.type()
    rows, columns = map(list, zip(*points, strict=True))
    with config.set({"threads": workers}):
        for way in WAYS:
            with mode(way):
                for selection in selections:
                    wanted = expected[selection[0]][..., selection[1]]
                    np.testing.assert_array_equal(array.oindex[selection], wanted)
                np.testing.assert_array_equal(array.vindex[rows, columns], expected[rows, columns])


@pytest.mark.parametrize("name", LAYOUTS)
def test_every_layout_of_keys(name: str, tmp_path: Path, asked: list[int | None]) -> None:
    data = values("float32")
    array = omnizarr.create_array(tmp_path / "a", data=data, **LAYOUTS[name])
    with mode("native"):
        np.testing.assert_array_equal(array[...], data)
        np.testing.assert_array_equal(array[3:17:4, ::-3], data[3:17:4, ::-3])
    assert asked == [0, 0]


@pytest.mark.parametrize("index", [None, "end", "start"])
def test_the_core_reads_all_that_is_sound(
    index: str | None, tmp_path: Path, asked: list[int | None]
) -> None:
    array, data = stored(tmp_path, "float32", CODECS["fast"], index), values("float32")
    with mode("native"):
        for selection in (np.s_[...], np.s_[3, 5], np.s_[2:28, 1:40], np.s_[::3, ::-7]):
            np.testing.assert_array_equal(array[selection], data[selection])
        np.testing.assert_array_equal(array.oindex[[7, 7, 1], 3:9], data[[7, 7, 1], 3:9])
        np.testing.assert_array_equal(array.vindex[[7, 0], [3, 9]], data[[7, 0], [3, 9]])
    assert asked == [0] * 6


def test_three_dimensions_and_points_on_two_of_them(tmp_path: Path) -> None:
    data = np.arange(20 * 30 * 14).reshape(20, 30, 14)
    for keywords in ({"chunks": (4, 7, 5)}, {"chunks": (2, 5, 2), "shards": (10, 10, 6)}):
        array = omnizarr.create_array(tmp_path / "a", data=data, overwrite=True, **keywords)
        i, j = np.random.default_rng(3).integers(0, 14, (2, 9, 4))
        for way in WAYS:
            with mode(way):
                np.testing.assert_array_equal(array[i, j], data[i, j])
                np.testing.assert_array_equal(array[i, :, j], data[i, :, j])
                np.testing.assert_array_equal(array[:, i, j][::2], data[:, i, j][::2])
                np.testing.assert_array_equal(array[5, 3:25:4, j], data[5, 3:25:4, j])


LARGE: dict[str, dict[str, Any]] = {
    "zstd": {"compressors": {"name": "zstd", "configuration": {"level": 1, "checksum": True}}},
    "blosc": {"compressors": "fast"},
    "blosc blocks": {
        "compressors": v3(
            "blosc", cname="lz4", clevel=5, shuffle="shuffle", typesize=4, blocksize=3000
        )
    },
    "gzip": {"compressors": "gzip"},
    "raw": {"compressors": None},
    "raw, big": {"compressors": None, "serializer": v3("bytes", endian="big")},
    "random": {"compressors": v3("blosc", cname="lz4", clevel=1, shuffle="noshuffle", typesize=4)},
}


@pytest.mark.parametrize("columns", [700, 1500])
@pytest.mark.parametrize("name", LARGE)
def test_chunks_that_are_decoded_some_rows_at_a_time(
    name: str, columns: int, tmp_path: Path, asked: list[int | None]
) -> None:
    data = np.random.default_rng(2).integers(0, 50, (700, 1500)).astype("f4")
    if name == "random":
        data = np.random.default_rng(2).random((700, 1500), "f4")
    array = omnizarr.create_array(tmp_path, data=data, chunks=(600, columns), **LARGE[name])
    i, j = np.random.default_rng(3).integers(0, 700, (2, 400))
    with mode("native"):
        np.testing.assert_array_equal(array[...], data)
        np.testing.assert_array_equal(array[13:691:7, ::-3], data[13:691:7, ::-3])
        np.testing.assert_array_equal(array[i, j], data[i, j])
        np.testing.assert_array_equal(array.oindex[i, 100:900], data[i, 100:900])
        assert asked == [0] * 4
    file = tmp_path / "c" / "0" / "0"
    content = file.read_bytes()
    for changed in (
        content[:-1] + bytes([content[-1] ^ 1]),
        content[:-1],
        content + b"\0",
        content[: 1 << 18],
        content + content,
    ):
        file.write_bytes(changed)
        with mode("native"):
            native = outcome(lambda: array[...].tobytes())
        with mode("python"):
            assert outcome(lambda: array[...].tobytes()) == native


def test_into_the_callers_array(tmp_path: Path) -> None:
    array, expected = stored(tmp_path, "float32", CODECS["big"]), values("float32")
    with mode("native"):
        for out in (np.empty(SHAPE, "f4", order="F"), np.empty((60, 88), "f4")[::2, ::-2]):
            array.read(out=out)
            np.testing.assert_array_equal(out, expected)
        frozen = np.zeros(SHAPE, "f4")
        frozen.flags.writeable = False
        assert isinstance(outcome(lambda: array.read(out=frozen)), tuple)
        assert not frozen.any()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["raw crc32c", "zstd", "zstd checked", "fast", "lz4"])
@pytest.mark.parametrize("index", [None, "end"])
def test_damage_is_told_in_the_same_words(name: str, index: str | None, tmp_path: Path) -> None:
    array = stored(tmp_path, "float32", CODECS[name], index)
    rnd, refused = random.Random(5), 0
    files = chunk_files(tmp_path)
    with config.set({"threads": 1}):
        for _ in range(120):
            file = rnd.choice(files)
            sound = file.read_bytes()
            file.write_bytes(mutate(sound, rnd, 16 if index is None else len(sound)))
            found = []
            for way in WAYS:
                with mode(way):
                    found.append(outcome(lambda: array[...].tobytes()))
            file.write_bytes(sound)
            assert found[0] == found[1]
            refused += isinstance(found[0], tuple)
    assert refused > 20


@pytest.mark.parametrize("size", [0, 3, 10**6, 2**61])
@pytest.mark.parametrize("offset", [0, 17, 10**6, 2**61])
def test_a_lying_index(offset: int, size: int, tmp_path: Path) -> None:
    array = stored(tmp_path, "float32", CODECS["zstd"], "end")
    shard = array._source.regular_chain.shard
    file = tmp_path / "c" / "0" / "0"
    data = file.read_bytes()
    table = shard.decode_index(data[-shard.index_bytes :]).table.copy()
    table[1, 2] = offset, size
    file.write_bytes(data[: -shard.index_bytes] + bytes(shard.index_chain.encode(table)))
    for selection in (np.s_[...], np.s_[:10, :18]):
        found = []
        for way in WAYS:
            with mode(way):
                found.append(outcome(lambda s=selection: array[s]))
        assert found[0] == found[1] and found[0][0] is DecodeError


@pytest.mark.parametrize("follow", [False, True])
@pytest.mark.parametrize(
    "kind",
    ["link outside", "link inside", "directory", "pipe", "too long", "too short", "empty", "gone"],
)
@pytest.mark.parametrize("name", ["raw", "fast"])
@pytest.mark.parametrize("index", [None, "end"])
def test_what_stands_in_the_place_of_a_chunk(
    kind: str, name: str, index: str | None, follow: bool, tmp_path: Path
) -> None:
    path = tmp_path / "a"
    stored(path, "float32", CODECS[name], index)
    replaced(kind, path / "c" / "1" / "0")
    store = omnizarr.LocalStore(path, follow_symlinks=follow)
    found = []
    for way in WAYS:
        with mode(way):
            array = omnizarr.open_array(store, mode="r")
            found.append(outcome(lambda a=array: a[...].tobytes()))
    assert found[0] == found[1]
    if kind == "link outside" and not follow:
        assert isinstance(found[0], tuple) and issubclass(found[0][0], ZarrError)


@pytest.mark.parametrize("where", ["inside", "outside"])
def test_a_directory_of_chunks_that_is_a_link(where: str, tmp_path: Path) -> None:
    path = tmp_path / "a"
    array = stored(path, "float32", CODECS["fast"])
    target = path / "moved" if where == "inside" else tmp_path / "moved"
    (path / "c" / "1").rename(target)
    (path / "c" / "1").symlink_to(target)
    found = []
    for way in WAYS:
        with mode(way):
            found.append(outcome(lambda: array[...].tobytes()))
    assert found[0] == found[1]
    assert isinstance(found[0], tuple) == (where == "outside")


def test_missing_chunks_can_be_an_error(tmp_path: Path) -> None:
    stored(tmp_path, "float32", CODECS["fast"])
    (tmp_path / "c" / "1" / "1").unlink()
    with mode("native"):
        assert (omnizarr.open_array(tmp_path, mode="r")[5:10, 4:8] == 0).all()
        with pytest.raises(ChunkNotFoundError, match="c/1/1"):
            omnizarr.open_array(tmp_path, mode="r", on_missing="raise")[...]


@pytest.mark.parametrize("fill", [0.0, 1.5, np.nan, -0.0])
def test_missing_chunks_have_the_fill_value(fill: float, tmp_path: Path) -> None:
    array = omnizarr.create_array(tmp_path, shape=(30, 44), chunks=(5, 4), dtype="f4",
                                  fill_value=fill, codecs=CODECS["big"])  # fmt: skip
    with mode("native"):
        expected = np.full((30, 44), fill, "f4")
        assert array[...].tobytes() == expected.tobytes()
        assert array[1::2, 3:9].tobytes() == expected[1::2, 3:9].tobytes()


@pytest.mark.parametrize("wrapped", [False, True])
def test_a_subclass_sees_every_read(wrapped: bool, tmp_path: Path, asked: list[int | None]) -> None:
    base: Any = ReadOnlyStore if wrapped else omnizarr.LocalStore

    class Counting(base):  # type: ignore[misc]
        reads = 0

        def get(self, key: str, byte_range: Any = None) -> Any:
            Counting.reads += 1
            return super().get(key, byte_range)

    stored(tmp_path, "float32", CODECS["fast"])
    inside: Any = omnizarr.LocalStore(tmp_path) if wrapped else tmp_path
    for store, answer in ((Counting(inside), None), (base(inside), 0)):
        asked.clear()
        with mode("native"):
            array = omnizarr.open_array(store, mode="r")
            np.testing.assert_array_equal(array[:5, :4], values("float32")[:5, :4])
        assert asked == [answer]
    assert Counting.reads


# -- writing ----------------------------------------------------------------------------------


@pytest.mark.slow
@given(
    st.sampled_from(TYPES),
    st.sampled_from(sorted(CODECS)),
    st.sampled_from([None, "start", "end"]),
    st.lists(st.tuples(slices(SHAPE[0]), slices(SHAPE[1])), min_size=1, max_size=4),
    st.sampled_from([1, 3]),
    st.booleans(),
)
def test_what_is_written_either_way_reads_as_numpys(
    tmp_path_factory: pytest.TempPathFactory,
    dtype: str,
    name: str,
    index: str | None,
    selections: Any,
    workers: int,
    empty: bool,
) -> None:
    keys = []
    for way in WAYS:
        path = tmp_path_factory.mktemp("a")
        with mode(way), config.set({"threads": workers, "array.write_empty_chunks": empty}):
            array = stored(path, dtype, CODECS[name], index)
            expected = values(dtype)
            array[5:20, 4:24] = expected[5:20, 4:24] = expected.dtype.type()
            for number, (rows, columns) in enumerate(selections):
                here = np.ix_(*(np.atleast_1d(np.arange(n)[s]) for n, s in
                                zip(SHAPE, (rows, columns), strict=True)))  # fmt: skip
                expected[here] = np.array(number).astype(expected.dtype)
                array.oindex[rows, columns] = np.array(number).astype(expected.dtype)[()]
        with mode("python"):
            np.testing.assert_array_equal(array[...], expected)
        keys.append(sorted(str(file.relative_to(path)) for file in path.rglob("*")))
    assert keys[0] == keys[1]


@pytest.mark.parametrize("index", [None, "end", "start"])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("name", ["fast", "big", "transpose"])
def test_the_core_stores_what_is_covered_whole(
    name: str, order: Any, index: str | None, tmp_path: Path, written: list[int | None]
) -> None:
    data = np.asarray(values("float32"), order=order)
    with mode("native"):
        array = stored(tmp_path, "float32", CODECS[name], index)
        written.clear()
        array[...] = data
        array[5:25, 4:40] = data[5:25, 4:40]
    assert written == [0, 0]
    with mode("python"):
        np.testing.assert_array_equal(array[...], values("float32"))


@pytest.mark.parametrize("index", [None, "end", "start"])
@pytest.mark.parametrize("name", ["fast", "big", "transpose", "raw crc32c"])
def test_the_core_changes_chunks(
    name: str, index: str | None, tmp_path: Path, written: list[int | None]
) -> None:
    data = values("float32").copy()
    with mode("native"):
        array = stored(tmp_path, "float32", CODECS[name], index)
        written.clear()
        array[3:17, 2:30] = data[3:17, 2:30] = -data[3:17, 2:30]
        array[::3, 5:40:7] = data[::3, 5:40:7] = 9
        array[28, 43] = data[28, 43] = 1.5
        i, j = np.random.default_rng(1).integers(0, 29, (2, 200))
        array.vindex[i, j] = data[i, j] = np.arange(
            200, dtype="f4"
        )  # several values for some places
        array.oindex[[5, 1, 20], 3:9] = data[[5, 1, 20], 3:9] = 4
        (tmp_path / "c" / "1" / "1").unlink()
        rows, columns = array.shards or array.chunks
        data[rows : 2 * rows, columns : 2 * columns] = 0
        array[rows + 1, columns + 1] = data[rows + 1, columns + 1] = 2
    assert written == [0] * 6
    with mode("python"):
        np.testing.assert_array_equal(array[...], data)


def test_inner_chunks_that_are_not_touched_keep_their_bytes(tmp_path: Path) -> None:
    with mode("python"):
        array = stored(tmp_path, "float32", CODECS["zstd"], "end")
    file = tmp_path / "c" / "0" / "0"
    before = file.read_bytes()
    with mode("native"):
        array[0, 0] = 7
        assert array[0, 0] == 7
    shard = array._source.regular_chain.shard
    old, new = shard.split(before), shard.split(file.read_bytes())
    assert old.keys() == new.keys()
    changed = [place for place in old if bytes(old[place]) != bytes(new[place])]
    assert changed == [(0, 0)]


def test_a_chunk_that_cannot_be_changed(tmp_path: Path) -> None:
    outcomes = []
    for way in WAYS:
        with mode(way):
            array = stored(tmp_path, "float32", CODECS["fast"])
            damaged = tmp_path / "c" / "0" / "0"
            damaged.write_bytes(b"no chunk")
            outcomes.append(outcome(lambda array=array: array.__setitem__((1, 1), 5)))
            assert damaged.read_bytes() == b"no chunk"
            array[:5, :4] = 3  # nothing of it remains
            array[5:10] = np.zeros(44, "f4")  # nothing but the fill value, one row at a time
            for row in range(10, 15):
                array[row] = 0
            assert not list((tmp_path / "c").glob("[12]/*"))
    assert outcomes[0] == outcomes[1]


def test_a_shard_that_is_too_long(tmp_path: Path) -> None:
    outcomes = []
    for way in WAYS:
        with mode(way):
            array = stored(tmp_path, "float32", CODECS["raw crc32c"], "start")
            file = tmp_path / "c" / "0" / "0"
            damaged = file.read_bytes() + bytes(100)
            file.write_bytes(damaged)
            outcomes.append(outcome(lambda array=array: array.__setitem__((1, 1), 5)))
            outcomes.append(outcome(lambda array=array: array[...]))
            assert file.read_bytes() == damaged
    assert outcomes[:2] == outcomes[2:]
    assert outcomes[0][0] is DecodeError


@pytest.mark.parametrize("shape", [(600, 700), (1, 600, 700)])
@pytest.mark.parametrize("name", LARGE)
def test_chunks_that_are_encoded_some_rows_at_a_time(
    name: str, shape: tuple[int, ...], tmp_path: Path, written: list[int | None]
) -> None:
    whole = (*shape[:-2], 1200, 1400)
    data = np.random.default_rng(2).integers(0, 50, whole).astype("f4")
    if name == "random":
        data = np.random.default_rng(2).random(whole, "f4")
    data[..., :600, :700] = 0
    data[..., :600, 700:] = np.arange(600)[:, None] > 598  # the fill value, but for the last row
    with mode("native"):
        array = omnizarr.create_array(
            tmp_path, shape=whole, dtype="f4", chunks=shape, fill_value=0, **LARGE[name]
        )
        for given_values in (data, np.asfortranarray(data)):
            array[...] = given_values
    assert written == [0, 0]
    assert len(chunk_files(tmp_path)) == 3
    with mode("python"):
        np.testing.assert_array_equal(array[...], data)


@pytest.mark.parametrize("index", ["end", "start"])
@pytest.mark.parametrize("shards", [(40, 60), (40, 20), (8, 12)])
def test_shards_that_several_threads_encode(
    index: Any, shards: tuple[int, int], tmp_path: Path, written: list[int | None]
) -> None:
    data = np.random.default_rng(4).integers(0, 9, (40, 60))
    data[:12, :20] = 0
    with mode("native"), config.set({"threading.max_workers": 5}):
        array = omnizarr.create_array(
            tmp_path, shape=data.shape, dtype=data.dtype, chunks=(4, 4), fill_value=0,
            shards={"shape": shards, "index_location": index},
        )  # fmt: skip
        array[...] = np.asfortranarray(data)
        array[...] = data
    assert written == [0, 0]
    with mode("python"):
        np.testing.assert_array_equal(array[...], data)


def test_values_that_are_not_contiguous_or_of_another_type(tmp_path: Path) -> None:
    data = values("float32")
    wide = np.zeros((60, 88), "f4")
    wide[::2, ::-2] = data
    frozen = data.copy()
    frozen.flags.writeable = False
    for given_values in (wide[::2, ::-2], frozen, data.astype("f8"), data.astype(">f4")):
        with mode("native"):
            array = stored(tmp_path, "float32", CODECS["big"])
            array[...] = 0
            array[...] = given_values
        with mode("python"):
            np.testing.assert_array_equal(array[...], data)


def test_a_chunk_of_fill_value_is_deleted(tmp_path: Path) -> None:
    with mode("native"):
        array = stored(tmp_path, "float32", CODECS["fast"])
        assert (tmp_path / "c" / "1" / "1").exists()
        array[5:10] = 0
        assert not (tmp_path / "c" / "1").exists()
        array[5:10] = -0.0  # not the fill value, bit for bit
        assert (tmp_path / "c" / "1" / "1").exists()


def test_nothing_remains_beside_the_chunks(tmp_path: Path) -> None:
    with mode("native"):
        stored(tmp_path, "float32", CODECS["fast"])[...] = 7
    names = [file.name for file in tmp_path.rglob("*")]
    assert not [name for name in names if name.startswith(".")]


@pytest.mark.parametrize("kind", ["directory", "link", "pipe", "lock directory", "lock of content"])
def test_what_stands_in_the_way_of_a_chunk(kind: str, tmp_path: Path) -> None:
    found = []
    for way in WAYS:
        with mode(way):
            path = tmp_path / way
            array = stored(path, "float32", CODECS["fast"])
            file = path / "c" / "1" / "0"
            obstruct(kind, file, tmp_path / f"outside {way}")
            told = outcome(lambda a=array: a.__setitem__(..., 3))
            if isinstance(told, tuple):
                told = told[0], str(told[1]).replace(str(path), "")
            else:
                assert (array[...] == 3).all() and file.is_file() and not file.is_symlink()
            found.append(told)
    assert found[0] == found[1]
    assert isinstance(found[0], tuple) == (kind in ("directory", "lock directory"))


def test_a_lock_that_is_held_is_waited_for(tmp_path: Path) -> None:
    array = stored(tmp_path, "float32", CODECS["fast"])
    entered, release = threading.Event(), threading.Event()

    def hold() -> None:
        with omnizarr.LocalStore(tmp_path).lock("c/1/1"):
            entered.set()
            release.wait(20)

    def write() -> None:
        with config.set({"threads": 2}):
            array[...] = 5

    holder, writer = threading.Thread(target=hold), threading.Thread(target=write)
    with mode("native"):
        holder.start()
        entered.wait(20)
        writer.start()
        writer.join(0.3)
        waited = writer.is_alive()
        release.set()
        writer.join()
        holder.join()
    assert waited and (array[...] == 5).all()


def test_stores_that_ask_for_more_are_not_passed_by(
    tmp_path: Path, written: list[int | None]
) -> None:
    class Noting(omnizarr.LocalStore):
        keys: list[str] = []

        def set(self, key: str, value: Any) -> None:
            self.keys.append(key)
            super().set(key, value)

    stored(tmp_path, "float32", CODECS["fast"])
    for store in (
        Noting(tmp_path),
        omnizarr.LocalStore(tmp_path, fsync=True),
        omnizarr.LocalStore(tmp_path, locking=False),
    ):
        written.clear()
        with mode("native"):
            omnizarr.open_array(store, mode="r+")[...] = 9
        assert written == [None]
    assert "c/1/1" in Noting.keys
    with pytest.raises(ZarrError), mode("native"):
        omnizarr.open_array(omnizarr.LocalStore(tmp_path, read_only=True))[...] = 1


def test_links_are_left_to_the_reference(written: list[int | None], tmp_path: Path) -> None:
    """A store that follows links writes through one to a directory, and replaces one to a file."""
    path, beside = tmp_path / "a", tmp_path / "beside"
    stored(path, "float32", CODECS["fast"])
    (path / "c" / "1").rename(beside)
    (path / "c" / "1").symlink_to(beside)
    (path / "c" / "0" / "0").rename(tmp_path / "chunk")
    (path / "c" / "0" / "0").symlink_to(tmp_path / "chunk")
    before = (tmp_path / "chunk").read_bytes()
    written.clear()
    array = omnizarr.open_array(omnizarr.LocalStore(path, follow_symlinks=True), mode="r+")
    expected = values("float32")
    with mode("native"):
        for selection in (..., np.s_[1:28, 2:40]):
            array[selection] = expected[selection] = expected[selection] + 1
    assert written == [11, 10]
    with mode("python"):
        np.testing.assert_array_equal(array[...], expected)
    assert len(list(beside.iterdir())) == 11 and (path / "c" / "1").is_symlink()
    assert (tmp_path / "chunk").read_bytes() == before


# -- threads ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Any:
    data = np.random.default_rng(0).integers(0, 9, (4096, 4096)).astype("f4")
    path = tmp_path_factory.mktemp("large")
    array = omnizarr.create_array(path, shape=data.shape, dtype="f4", chunks=(64, 64))
    array[...] = data
    return array


def repeated(array: Any) -> None:
    for _ in range(500):
        array[...]


def test_no_thread_remains(large: Any) -> None:
    before = len(os.listdir("/proc/self/task"))
    with mode("native"), config.set({"threads": 4}):
        large[...]
    assert len(os.listdir("/proc/self/task")) == before


def test_a_signal_interrupts_the_call(large: Any) -> None:
    class Interrupt(BaseException): ...

    def raised(*_: Any) -> None:
        raise Interrupt

    before = signal.signal(signal.SIGALRM, raised)
    try:
        with mode("native"), config.set({"threads": 3}), pytest.raises(Interrupt):
            signal.setitimer(signal.ITIMER_REAL, 0.2)
            repeated(large)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


SLOW: dict[str, dict[str, Any]] = {
    "zstd": {"compressors": [v3("zstd", level=19, checksum=False)]},
    "blosc": {"compressors": [v3("blosc", cname="zstd", clevel=9, shuffle="shuffle", typesize=4,
                                 blocksize=0)]},
    "shard": {"compressors": [v3("zstd", level=19, checksum=False)], "chunks": (64, 64)},
}  # fmt: skip


@pytest.mark.parametrize("part", [False, True])
@pytest.mark.parametrize("name", SLOW)
def test_a_signal_interrupts_a_long_task(name: str, part: bool, tmp_path: Path) -> None:
    """One chunk or shard that takes seconds to encode stays as it was, and is not locked."""

    class Interrupt(BaseException): ...

    def raised(*_: Any) -> None:
        raise Interrupt

    size = (4096, 1024)
    keywords = {"chunks": size, **SLOW[name]}
    if name == "shard":
        keywords["shards"] = size
    array = omnizarr.create_array(tmp_path / "a", shape=size, dtype="f4", **keywords)
    array[...] = np.ones(size, "f4")
    file = tmp_path / "a" / "c" / "0" / "0"
    old = file.read_bytes()
    data = np.random.default_rng(0).integers(0, 50, size).astype("f4")
    place = np.s_[1:, 1:] if part else np.s_[...]
    before = signal.signal(signal.SIGALRM, raised)
    try:
        with mode("native"), config.set({"threads": 2}), pytest.raises(Interrupt):
            signal.setitimer(signal.ITIMER_REAL, 0.1)
            array[place] = data[place]
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert file.read_bytes() == old
    assert os.listdir(file.parent) == ["0"]


def test_a_call_can_be_called_off(large: Any) -> None:
    event = threading.Event()
    timer = threading.Timer(0.1, event.set)
    timer.start()
    with parallel.abandoned_by(event), mode("native"), pytest.raises(parallel.Abandoned):
        repeated(large)
    timer.join()


def test_a_call_that_was_called_off_does_nothing(tmp_path: Path) -> None:
    array = stored(tmp_path, "float32", CODECS["fast"])
    event = threading.Event()
    event.set()
    with mode("native"):
        with parallel.abandoned_by(event):
            for call in (lambda: array[...], lambda: array.__setitem__(..., 7)):
                with pytest.raises(parallel.Abandoned):
                    call()
        np.testing.assert_array_equal(array[...], values("float32"))


def test_a_child_of_a_fork_reads(large: Any) -> None:
    with mode("native"), config.set({"threads": 3}):
        expected = large[:64].tobytes()
        child = os.fork()
        if child == 0:
            os._exit(0 if large[:64].tobytes() == expected else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


# -- missing chunks that may not be fill value -------------------------------------------------


@pytest.mark.parametrize("kind", ["files", "memory"])
def test_a_chunk_under_its_other_name_is_changed_not_replaced(kind: str, tmp_path: Path) -> None:
    """A document of format 2 that does not tell its separator: chunks may have either."""
    for way in WAYS:
        place: Any = tmp_path / way if kind == "files" else {}
        data = np.arange(64, dtype="i4").reshape(8, 8)
        array = omnizarr.create_array(
            place, data=data, chunks=(4, 4), zarr_format=2, dimension_separator="/"
        )
        store = array.store
        document = json.loads(bytes(store.get(".zarray")))
        del document["dimension_separator"]
        store.set(".zarray", json.dumps(document).encode())
        with mode(way):
            again = omnizarr.open_array(store, mode="r+")
            assert again._source.model.keys.alternatives
            np.testing.assert_array_equal(again[...], data)
            again[2:5, 2:5] = data[2:5, 2:5] = -1
            np.testing.assert_array_equal(again[...], data)


def test_missing_inner_chunks_are_fill_value_where_missing_chunks_are_errors(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored(tmp_path, "float32", CODECS["fast"], "end")[0:5, 0:4] = 0
    answers = noted(monkeypatch, "read")
    array = omnizarr.open_array(tmp_path, on_missing="raise")
    expected = values("float32")
    expected[0:5, 0:4] = 0
    with mode("native"):
        np.testing.assert_array_equal(array[...], expected)
        assert answers == [0]
        (tmp_path / "c" / "1" / "1").unlink()
        with pytest.raises(ChunkNotFoundError, match="c/1/1"):
            array[...]


ROWS, PAGES = 4, 16
ROW = PAGES * mmap.PAGESIZE
"""A chunk that is a row, whose pages the core asks for at once."""


def rows_of_pages(path: Path) -> tuple[Any, np.ndarray]:
    data = np.random.default_rng(0).integers(0, 9, (ROWS, ROW), "u1")
    codecs = [LITTLE, v3("zstd", level=1, checksum=False)]
    array = omnizarr.create_array(
        path, shape=data.shape, dtype="u1", chunks=(1, ROW), codecs=codecs
    )
    array[...] = data
    return array, data


@pytest.mark.parametrize("kind", ["protected", "shared", "odd", "file", "copied", "sparse"])
def test_memory_of_every_kind_is_filled(kind: str, tmp_path: Path) -> None:
    array, data = rows_of_pages(tmp_path / "a")
    page, size, file = mmap.PAGESIZE, data.nbytes, tmp_path / "memory"
    file.write_bytes(b"")
    os.truncate(file, size + page)
    if kind in ("file", "copied", "sparse"):
        how: Any = "c" if kind == "copied" else "r+"
        offset = 0 if kind == "sparse" else 3
        out: Any = np.memmap(file, np.uint8, how, offset, data.shape)
    else:
        flags = mmap.MAP_SHARED if kind == "shared" else mmap.MAP_PRIVATE
        memory = np.frombuffer(mmap.mmap(-1, size + 2 * page, flags | mmap.MAP_ANONYMOUS), "u1")
        first = page - 3 if kind == "odd" else page
        out = memory[first : first + size].reshape(data.shape)
        if kind == "protected":  # nothing before it, and nothing can be written behind it
            protect = ctypes.CDLL(None).mprotect
            assert protect(ctypes.c_void_p(memory.ctypes.data), page, 0) == 0
            behind = ctypes.c_void_p(memory.ctypes.data + page + size)
            assert protect(behind, page, mmap.PROT_READ) == 0
    with mode("native"):
        array.read(slice(1, 3), out=out[1:3])
        assert not out[0].any() and not out[3].any()
        array.read(out=out)
    np.testing.assert_array_equal(out, data)


def test_pages_of_memory_that_was_used_are_not_asked_for(tmp_path: Path) -> None:
    """That would take longer than reading raw bytes."""
    array, _ = rows_of_pages(tmp_path / "a")
    for file in chunk_files(tmp_path / "a"):
        file.write_bytes(b"damaged: nothing is written to the memory")
    memory = mmap.mmap(-1, ROW, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    with suppress(OSError):  # a system without large pages
        memory.madvise(mmap.MADV_NOHUGEPAGE)
    out = np.frombuffer(memory, "u1")
    out[ROW // 2] = 1
    with mode("native"), pytest.raises(DecodeError):
        array.read(0, out=out)
    there = (ctypes.c_ubyte * PAGES)()
    assert ctypes.CDLL(None).mincore(ctypes.c_void_p(out.ctypes.data), ROW, there) == 0
    assert [page & 1 for page in there] == [n == PAGES // 2 for n in range(PAGES)]
