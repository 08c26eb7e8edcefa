"""`CodecPipeline`: equal to zarr-python's own pipeline, and used where it can be."""

from __future__ import annotations

import asyncio
import os
import pickle
import subprocess
import sys
import threading
import tomllib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zarr
import zarr.api.asynchronous
from hypothesis import HealthCheck, Phase, given, reject, settings
from hypothesis import strategies as st
from zarr.codecs import BloscCodec, BytesCodec, Crc32cCodec, GzipCodec, TransposeCodec, ZstdCodec
from zarr.registry import register_codec
from zarr.storage import LocalStore, MemoryStore

from omnizarr.errors import ZarrError
from omnizarr.integrations.zarr_python import CodecPipeline, as_zarr_store, batches
from tests.native.installed import needed

ROOT = Path(__file__).resolve().parents[3]
OURS = "omnizarr.integrations.zarr_python.CodecPipeline"
THEIRS = "zarr.core.codec_pipeline.BatchedCodecPipeline"


def with_pipeline(name: str) -> Any:
    return zarr.config.set({"codec_pipeline.path": name})


@pytest.fixture(autouse=True)
def _ours() -> Iterator[None]:
    with with_pipeline(OURS):
        yield


class Refuses:
    """A default pipeline that must not be needed."""

    async def read(self, *args: object) -> None:
        raise AssertionError("zarr-python's own pipeline was asked to read")

    async def write(self, *args: object) -> None:
        raise AssertionError("zarr-python's own pipeline was asked to write")


def only_ours(array: Any) -> Any:
    """The array, without zarr-python's pipeline to fall back on."""
    pipeline = array._async_array.codec_pipeline
    assert type(pipeline) is CodecPipeline
    object.__setattr__(array._async_array, "codec_pipeline", replace(pipeline, default=Refuses()))
    return array


def is_ours(array: Any) -> bool:
    return array._async_array.codec_pipeline.array is not None


# -- equal ------------------------------------------------------------------------------------

COMPRESSORS = [
    None,
    ZstdCodec(level=1),
    GzipCodec(level=1),
    BloscCodec(cname="lz4"),
    (ZstdCodec(), Crc32cCodec()),
]
DTYPES = ["i2", ">f4", "f8", "c16", "?", "M8[s]", "S3", "U2", "u1", [("a", "i4"), ("b", "f4")]]


@st.composite
def arrays(draw: Any) -> dict[str, Any]:
    ndim = draw(st.integers(0, 3))
    shape = tuple(draw(st.integers(1, 9)) for _ in range(ndim))
    chunks = tuple(draw(st.integers(1, 4)) for _ in range(ndim))
    dtype = draw(st.sampled_from(DTYPES))
    kind = {"shape": shape, "chunks": chunks, "dtype": dtype}
    if draw(st.booleans()) and not isinstance(dtype, list):
        kind |= {"zarr_format": 2, "order": draw(st.sampled_from("CF"))}
    else:
        kind |= {"compressors": draw(st.sampled_from(COMPRESSORS))}
        if ndim and draw(st.booleans()):
            kind["filters"] = TransposeCodec(order=draw(st.permutations(range(ndim))))
        # Records in shards: zarr-python 3.1 cannot read them.
        if ndim and not isinstance(dtype, list) and draw(st.booleans()):
            kind["shards"] = tuple(n * draw(st.integers(1, 3)) for n in chunks)
    if draw(st.booleans()):
        kind["config"] = {"write_empty_chunks": True}
    return kind


@st.composite
def selections(draw: Any, shape: tuple[int, ...]) -> tuple[str, Any]:
    """A way to index, and a key for it."""
    if not shape:
        return "basic", ()
    way = draw(st.sampled_from(["basic", "basic", "orthogonal", "coordinate", "mask", "block"]))
    if way == "mask":
        return way, np.array(draw(st.lists(st.booleans(), min_size=9**3, max_size=9**3)))[
            : int(np.prod(shape))
        ].reshape(shape)
    if way == "block":
        return way, 0
    if way == "coordinate":
        count = draw(st.integers(1, 4))
        return way, tuple(
            [draw(st.integers(0, length - 1)) for _ in range(count)] for length in shape
        )

    def along(length: int) -> Any:
        start = draw(st.integers(0, length - 1))
        stop = draw(st.integers(start + 1, length))
        plain = st.sampled_from([slice(start, stop), slice(start, stop, 2), slice(None), start])
        if way == "orthogonal":
            numbers = st.lists(st.integers(0, length - 1), min_size=1, max_size=3, unique=True)
            plain = plain | numbers.map(sorted)
        return draw(plain)

    return way, tuple(along(length) for length in shape)


def values(shape: tuple[int, ...], dtype: Any, seed: int) -> Any:
    numbers = np.random.default_rng(seed).integers(0, 3, (*shape, np.dtype(dtype).itemsize))
    raw = np.ascontiguousarray(numbers.astype("u1"))
    if np.dtype(dtype).kind == "U":
        return np.array(["", "a", "bé"])[raw[..., 0]].astype(dtype)
    if np.dtype(dtype).kind == "b":
        return raw[..., 0] > 1
    return raw.view(dtype).reshape(shape) if seed % 4 else np.zeros(shape, dtype)


@settings(
    max_examples=40,
    deadline=None,
    phases=[Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(st.data())
@pytest.mark.filterwarnings("ignore")
def test_arrays_are_those_of_zarr_python(tmp_path: Path, data: st.DataObject) -> None:
    kind = data.draw(arrays())
    places = [MemoryStore, lambda: LocalStore(tmp_path / os.urandom(8).hex())]
    place = data.draw(st.sampled_from(places))
    stores = [place(), place()]
    both = []
    for name, store in zip((OURS, THEIRS), stores, strict=True):
        with with_pipeline(name):
            both.append(zarr.create_array(store, **kind))
    assert is_ours(both[0])
    for _ in range(3):
        way, key = data.draw(selections(kind["shape"]))
        ours, theirs = (getattr(one, f"get_{way}_selection") for one in both)
        found, wanted = ours(key), theirs(key)
        assert np.shape(found) == np.shape(wanted)
        np.testing.assert_array_equal(found, wanted)
        value = values(np.shape(wanted), both[0].dtype, data.draw(st.integers(0, 99)))
        if data.draw(st.booleans()) and value.size:
            value = value.reshape(-1)[0]
        ours, theirs = (getattr(one, f"set_{way}_selection") for one in both)
        try:
            theirs(key, value)
        except (IndexError, ValueError):
            reject()  # zarr-python 3.1 cannot write index arrays into shards
        ours(key, value)
        np.testing.assert_array_equal(both[0][...], both[1][...])
    # Each reads what the other one has written, and both have stored the same chunks.
    for name, store in zip((THEIRS, OURS), stores, strict=True):
        with with_pipeline(name):
            other = zarr.open_array(store, mode="r")
            np.testing.assert_array_equal(other[...], both[0][...])
    stored = [set(zarr.core.sync.sync(_keys(store))) for store in stores]
    assert stored[0] == stored[1]


async def _keys(store: Any) -> list[str]:
    return [key async for key in store.list()]


# -- ours, and not ours -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "kind",
    [
        {"dtype": "f4"},
        {"dtype": "f4", "shards": (4, 4)},
        {"dtype": "f4", "zarr_format": 2},
        {"dtype": str},
        {"dtype": "f4", "filters": TransposeCodec(order=(1, 0)), "compressors": BloscCodec()},
    ],
    ids=["numbers", "shards", "format 2", "text", "filters"],
)
@pytest.mark.parametrize("place", ["memory", "local", "omnizarr"])
@pytest.mark.filterwarnings("ignore")
def test_the_usual_is_done_by_us(place: str, kind: dict[str, Any], tmp_path: Path) -> None:
    makes = {
        "memory": MemoryStore,
        "local": lambda: LocalStore(tmp_path),
        "omnizarr": lambda: as_zarr_store({}),
    }
    array = only_ours(zarr.create_array(makes[place](), shape=(6, 7), chunks=(2, 2), **kind))
    data = np.arange(42).reshape(6, 7).astype(array.dtype)
    array[:] = data
    array[1:3, 2] = data[1:3, 3]
    data[1:3, 2] = data[1:3, 3]
    array[::2, 4:] = data[0, 0]
    data[::2, 4:] = data[0, 0]
    for key in np.s_[:, :], np.s_[3], np.s_[5, 6], np.s_[1:6:3, 2:], np.s_[..., 0]:
        np.testing.assert_array_equal(array[key], data[key])


class Negating(BytesCodec):
    """A user's codec under a standard name."""

    async def _decode_single(self, chunk_bytes: Any, chunk_spec: Any) -> Any:
        found = await super()._decode_single(chunk_bytes, chunk_spec)
        return type(found).from_ndarray_like(-found.as_ndarray_like())


@pytest.mark.parametrize("place", ["files", "memory"])
@pytest.mark.parametrize(
    "kind",
    [
        {"chunks": (5, 4)},
        {"chunks": (5, 4), "zarr_format": 2},
        {"chunks": (5, 4), "chunk_key_encoding": {"name": "default", "separator": "."}},
        {"chunks": (1, 4)},
        {"chunks": (5, 4), "shards": (10, 8)},
    ],
)
def test_products_are_executed_by_the_core(
    kind: dict[str, Any], place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Slices and numbers select a product of what they select along each axis."""
    needed()
    asked: list[Any] = []
    factors = batches.Batch.factors

    def noting(self: Any) -> Any:
        asked.append(factors.fget(self))  # type: ignore[attr-defined]
        return asked[-1]

    monkeypatch.setattr(batches.Batch, "factors", property(noting))
    store = LocalStore(tmp_path) if place == "files" else MemoryStore()
    array = zarr.create_array(store, name="a/b", shape=(23, 31), dtype="i4", fill_value=7, **kind)
    expected = np.full((23, 31), 7, "i4")
    for number, selection in enumerate(
        (np.s_[:], np.s_[3:20, 5:], np.s_[::2, 1::3], np.s_[2::9, ::13], np.s_[4], np.s_[:, -1])
    ):
        shape = expected[selection].shape
        array[selection] = expected[selection] = np.arange(np.prod(shape)).reshape(shape) + number
        np.testing.assert_array_equal(array[selection], expected[selection])
    np.testing.assert_array_equal(array[:], expected)
    assert asked and None not in asked


def test_a_configured_codec_is_used() -> None:
    store = MemoryStore()
    array = zarr.create_array(store, shape=4, chunks=2, dtype="i4")
    array[:] = [1, 2, 3, 4]
    register_codec("bytes", Negating)
    with zarr.config.set({"codecs.bytes": f"{Negating.__module__}.{Negating.__qualname__}"}):
        again = zarr.open_array(store, mode="r")
        assert not is_ours(again)
        np.testing.assert_array_equal(again[:], [-1, -2, -3, -4])


def test_a_custom_codec_inside_a_shard_is_used() -> None:
    array = zarr.create_array(
        MemoryStore(), shape=(4,), chunks=(2,), shards=(4,), dtype="i4", serializer=Negating()
    )
    assert not is_ours(array)


class Counting(LocalStore):
    """A store that sees what is asked of it."""

    asked = 0

    async def get(self, *args: Any, **kwargs: Any) -> Any:
        self.asked += 1
        return await super().get(*args, **kwargs)


@pytest.mark.parametrize("shards", [None, (4,)])
def test_a_subclass_of_a_store_is_asked(tmp_path: Path, shards: Any) -> None:
    store = Counting(tmp_path)
    array = zarr.create_array(store, shape=(8,), chunks=(2,), shards=shards, dtype="i4")
    array[:] = np.arange(8)
    store.asked = 0
    np.testing.assert_array_equal(array[:3], [0, 1, 2])
    assert store.asked >= 2 if shards is None else store.asked


def test_other_memory_is_left_to_zarr_python() -> None:
    from zarr.core.buffer import BufferPrototype, cpu

    class Own(cpu.NDBuffer):
        pass

    array = zarr.create_array(MemoryStore(), shape=4, chunks=2, dtype="i4")
    array[:] = 3
    prototype = BufferPrototype(buffer=cpu.Buffer, nd_buffer=Own)
    with pytest.raises(AssertionError, match="own pipeline was asked"):
        only_ours(array).get_basic_selection(prototype=prototype)


def test_statuses_tell_missing_chunks(tmp_path: Path) -> None:
    for store in MemoryStore(), LocalStore(tmp_path):
        array = zarr.create_array(store, shape=6, chunks=2, dtype="i4", fill_value=9)
        array[2:4] = 1
        seen: list[Any] = []
        pipeline = array._async_array.codec_pipeline

        class Watching:
            async def read(self, *args: Any, pipeline: Any = pipeline, **kwargs: Any) -> Any:
                seen.append(await pipeline.read(*args, **kwargs))  # noqa: B023
                return seen[-1]  # noqa: B023

        object.__setattr__(array._async_array, "codec_pipeline", Watching())
        np.testing.assert_array_equal(array[:], [9, 9, 1, 1, 9, 9])
        assert [each["status"] for each in seen[0]] == ["missing", "present", "missing"]


@pytest.mark.parametrize("place", ["memory", "local"])
def test_a_shard_keeps_what_is_beyond_the_edge(place: str, tmp_path: Path) -> None:
    store = MemoryStore() if place == "memory" else LocalStore(tmp_path)
    array = zarr.create_array(store, shape=(4,), chunks=(2,), shards=(4,), dtype="i2")
    array[:] = [1, 2, 3, 4]
    array.resize((3,))
    only_ours(array)[:] = [9, 9, 9]
    array.resize((4,))
    np.testing.assert_array_equal(array[:], [9, 9, 9, 4])


# -- faults -------------------------------------------------------------------------------------


@pytest.mark.parametrize("shards", [None, (8,)])
@pytest.mark.parametrize("place", ["memory", "local"])
def test_a_damaged_chunk_raises(place: str, shards: Any, tmp_path: Path) -> None:
    values: dict[str, Any] = {}
    store = MemoryStore(values) if place == "memory" else LocalStore(tmp_path)
    array = zarr.create_array(
        store,
        shape=(16,),
        chunks=(4,),
        shards=shards,
        dtype="i4",
        compressors=(ZstdCodec(), Crc32cCodec()),
    )
    array[:] = np.arange(16)
    only_ours(array)
    if place == "memory":
        raw = bytearray(values["c/0"].to_bytes())
    else:
        raw = bytearray((tmp_path / "c/0").read_bytes())
    raw[6] ^= 0xFF
    if place == "memory":
        values["c/0"] = zarr.core.buffer.cpu.Buffer.from_bytes(bytes(raw))
    else:
        (tmp_path / "c/0").write_bytes(raw)
    with pytest.raises(ZarrError, match="c/0"):
        array[:]
    with pytest.raises(ZarrError, match="c/0"):
        array[1:2] = 0  # what remains cannot be read


class Failing(MemoryStore):
    """A store that cannot read chunks."""

    async def get(self, key: str, *args: Any, **kwargs: Any) -> Any:
        if "c/" in key:
            raise OSError("the disk is gone")
        return await super().get(key, *args, **kwargs)


def test_a_fault_of_the_store_raises() -> None:
    array = zarr.create_array(Failing(), shape=4, chunks=2, dtype="i4")
    only_ours(array)
    with pytest.raises(OSError, match="the disk is gone"):
        array[:]


def test_an_unreadable_file_raises(tmp_path: Path) -> None:
    array = only_ours(zarr.create_array(LocalStore(tmp_path), shape=4, chunks=2, dtype="i4"))
    array[:] = 1
    (tmp_path / "c/0").unlink()
    os.mkfifo(tmp_path / "c/0")
    with pytest.raises(ZarrError, match="c/0"):
        array[:]


def test_a_read_only_store_is_not_written(tmp_path: Path) -> None:
    store = LocalStore(tmp_path)
    zarr.create_array(store, shape=4, chunks=2, dtype="i4")[:] = 1
    array = zarr.open_array(store.with_read_only(True), mode="r")
    with pytest.raises(ValueError, match="read-only"):
        array[:] = 2
    assert (array[:] == 1).all()


# -- surroundings -------------------------------------------------------------------------------


def test_links_are_followed_as_zarr_python_does(tmp_path: Path) -> None:
    array = zarr.create_array(LocalStore(tmp_path / "a"), shape=4, chunks=2, dtype="i4")
    array[:] = [1, 2, 3, 4]
    (tmp_path / "a/c").rename(tmp_path / "elsewhere")
    (tmp_path / "a/c").symlink_to(tmp_path / "elsewhere")
    only_ours(array)
    np.testing.assert_array_equal(array[:], [1, 2, 3, 4])
    array[1:3] = 0
    np.testing.assert_array_equal(array[:], [1, 0, 0, 4])


def test_a_relative_path_is_one_of_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path)
    array = only_ours(zarr.create_array(LocalStore("a"), shape=4, chunks=2, dtype="i4"))
    array[:] = 1
    monkeypatch.chdir(tmp_path / "other")
    np.testing.assert_array_equal(array[:], 0)  # as zarr-python: nothing is stored there


def test_an_array_is_pickled(tmp_path: Path) -> None:
    array = zarr.create_array(LocalStore(tmp_path), shape=4, chunks=2, dtype="i4")
    array[:] = [1, 2, 3, 4]
    again = pickle.loads(pickle.dumps(array))
    assert is_ours(again)
    assert again == array
    np.testing.assert_array_equal(only_ours(again)[:], [1, 2, 3, 4])


def test_it_works_inside_a_running_loop(tmp_path: Path) -> None:
    async def main() -> Any:
        array = await zarr.api.asynchronous.create_array(
            LocalStore(tmp_path), shape=64, chunks=4, dtype="i4"
        )
        await array.setitem(slice(None), np.arange(64))
        parts = await asyncio.gather(*(array.getitem(slice(n, n + 8)) for n in range(0, 64, 8)))
        return np.concatenate(parts)

    np.testing.assert_array_equal(asyncio.run(main()), np.arange(64))


def test_threads_that_write_parts_of_a_chunk_lose_nothing(tmp_path: Path) -> None:
    array = only_ours(
        zarr.create_array(LocalStore(tmp_path), shape=(32,), chunks=(8,), shards=(32,), dtype="i4")
    )

    def write(start: int) -> None:
        for index in range(start, 32, 4):
            array[index] = index

    threads = [threading.Thread(target=write, args=(start,)) for start in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    np.testing.assert_array_equal(array[:], np.arange(32))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_it_works_after_a_fork(tmp_path: Path) -> None:
    array = only_ours(zarr.create_array(LocalStore(tmp_path), shape=64, chunks=4, dtype="i4"))
    array[:] = np.arange(64)
    child = os.fork()
    if child == 0:
        status = 1
        try:
            array[:32] = array[32:]
            status = 0
        finally:
            os._exit(status)
    assert os.waitpid(child, 0)[1] == 0
    np.testing.assert_array_equal(array[:32], np.arange(32, 64))


def test_zarr_python_finds_it_by_its_name(tmp_path: Path) -> None:
    """By the entry point, without an import of ours; and unused it costs next to nothing."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    entries = project["entry-points"]["zarr.codec_pipeline"]
    package = tmp_path / "somewhere-1.dist-info"
    package.mkdir()
    lines = ["[zarr.codec_pipeline]", *(f"{name} = {value}" for name, value in entries.items())]
    (package / "entry_points.txt").write_text("\n".join(lines))
    (package / "METADATA").write_text("Metadata-Version: 2.1\nName: somewhere\nVersion: 1\n")
    script = f"""
import sys, zarr
from zarr.registry import get_pipeline_class
zarr.create_array({{}}, shape=1, dtype="i4")[:]
assert "omnizarr.integrations.zarr_python" in sys.modules
assert "omnizarr.integrations.zarr_python.arrays" not in sys.modules
zarr.config.set({{"codec_pipeline.path": {OURS!r}}})
assert get_pipeline_class().__module__ == "omnizarr.integrations.zarr_python"
"""
    paths = [str(tmp_path), str(ROOT / "src"), *filter(None, sys.path)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    subprocess.run([sys.executable, "-W", "ignore", "-c", script], env=environment, check=True)
