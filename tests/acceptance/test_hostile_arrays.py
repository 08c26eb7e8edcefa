"""What an attacker or an unlucky moment once achieved, and must not achieve again."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import omnizarr as zarr
from omnizarr.errors import (
    DecodeError,
    LimitError,
    MetadataError,
    StoreError,
    ZarrError,
)
from omnizarr.testing import FaultStore

LITTLE = {"name": "bytes", "configuration": {"endian": "little"}}


def v2(stored: dict[str, bytes] | None = None, **members: Any) -> zarr.MemoryStore:
    document = {
        "zarr_format": 2, "shape": [8], "chunks": [8], "dtype": "<f4", "compressor": None,
        "fill_value": 0, "order": "C", "filters": None, **members,
    }  # fmt: skip
    return zarr.MemoryStore({".zarray": json.dumps(document).encode(), **(stored or {})})


def v3(**members: Any) -> zarr.MemoryStore:
    grid = {"name": "regular", "configuration": {"chunk_shape": [4, 4]}}
    document = {
        "zarr_format": 3, "node_type": "array", "shape": [8, 8], "data_type": "uint8",
        "chunk_grid": grid, "chunk_key_encoding": {"name": "default"}, "fill_value": 0,
        "codecs": [LITTLE], **members,
    }  # fmt: skip
    return zarr.MemoryStore({"zarr.json": json.dumps(document).encode()})


@pytest.mark.slow
@pytest.mark.parametrize("unit", ["m8[s/0]", "M8[ns/0]", "<m8[D/0]", "m8[0s]", "(2,)i4", "i4,i4"])
def test_a_codec_type_that_crashes_numpy(unit: str) -> None:
    """In a process of its own: NumPy divides by zero on some of these."""
    program = (
        "import sys, json, omnizarr as zarr\n"
        "document = json.loads(sys.argv[1])\n"
        "store = zarr.MemoryStore({'.zarray': json.dumps(document).encode()})\n"
        "try: zarr.open(store, 'r')\n"
        "except zarr.errors.MetadataError as error: print('refused', error)\n"
    )
    document = json.loads(
        bytes(v2(dtype="<i8", filters=[{"id": "delta", "dtype": unit}]).get(".zarray") or b"")
    )
    done = subprocess.run(
        [sys.executable, "-c", program, json.dumps(document)],
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "refused" in done.stdout and "delta" in done.stdout


@pytest.mark.parametrize("kind", ["fifo", "hard link"])
def test_a_planted_lock_file(tmp_path: Path, kind: str) -> None:
    secret = tmp_path / "secret"
    secret.write_text("mine")
    array = zarr.create_array(tmp_path / "a", shape=8, chunks=8, dtype="u1")
    array[...] = 1
    lock = tmp_path / "a" / "c" / ".~0.lock"
    if kind == "fifo":
        os.mkfifo(lock)
    else:
        os.link(secret, lock)
    with pytest.raises(StoreError, match="lock file"):
        array[...] = 2
    assert array[...].tolist() == [1] * 8
    assert secret.read_text() == "mine"


def test_a_failed_overwrite_leaves_the_old_array() -> None:
    store = zarr.MemoryStore()
    zarr.save_array(store, np.arange(4))
    failing = FaultStore(store)
    failing.fail("set", StoreError("full"))
    with pytest.raises(StoreError, match="full"):
        zarr.save_array(failing, np.arange(5))
    assert zarr.open_array(store, mode="r")[...].tolist() == [0, 1, 2, 3]


def test_replacing_leaves_no_trace_of_the_probe() -> None:
    store = zarr.MemoryStore()
    zarr.save_array(store, np.arange(4), path="a/b")
    zarr.save_array(store, np.arange(5), path="a/b")
    assert not [key for key in store.list() if "omnizarr" in key]


@pytest.mark.parametrize("mode", ["a", "w-"])
def test_a_document_that_cannot_be_read_is_not_replaced(mode: str) -> None:
    text = b'{"zarr_format": "https://purl.org/zarr/spec/protocol/core/3.0", "extensions": []}'
    store = zarr.MemoryStore({"zarr.json": text})
    with pytest.raises(MetadataError, match=r"zarr\.json.*metadata_encoding"):
        zarr.open_group(store, mode=mode)
    with pytest.raises(MetadataError, match=r"zarr\.json.*metadata_encoding"):
        zarr.create_array(store, name="below", shape=3, dtype="i4")
    assert store["zarr.json"] == text
    assert zarr.open_group(store, mode="w").attrs.asdict() == {}


def peak_of(function: Any) -> int:
    tracemalloc.start()
    try:
        function()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_an_oversized_chunk_is_not_read(tmp_path: Path, zarr_format: int) -> None:
    array = zarr.create_array(
        tmp_path / "a", shape=8, chunks=8, dtype="u1", zarr_format=zarr_format
    )
    array[...] = 1
    os.truncate(tmp_path / "a" / ("0" if zarr_format == 2 else "c/0"), 400 << 20)

    def read() -> None:
        with pytest.raises(DecodeError, match=str(400 << 20)):
            array[0:1]

    assert peak_of(read) < 8 << 20


def test_an_oversized_document_is_not_read(tmp_path: Path) -> None:
    zarr.create_array(tmp_path / "a", shape=8, dtype="u1")
    os.truncate(tmp_path / "a" / "zarr.json", 1 << 30)
    with zarr.limits.override(max_document_bytes=1 << 20):

        def read() -> None:
            with pytest.raises(MetadataError, match="max_document_bytes"):
                zarr.open_array(tmp_path / "a", mode="r")

        assert peak_of(read) < 8 << 20


def test_a_fifo_instead_of_an_archive(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "x.zip")
    with pytest.raises(StoreError, match="regular file"):
        zarr.open(tmp_path / "x.zip", mode="r")


def test_links_to_oneself_end(tmp_path: Path) -> None:
    zarr.open_group(tmp_path / "g", mode="w")
    for name in ("s1", "s2"):
        os.symlink(".", tmp_path / "g" / name)
    with pytest.raises(StoreError):
        zarr.consolidate_metadata(tmp_path / "g")


@pytest.mark.parametrize(
    "store",
    [
        v3(
            codecs=[{"name": "scale_offset", "configuration": {"scale": [1, 1]}}, LITTLE],
            data_type="float32",
        ),
        v3(
            data_type="string",
            fill_value="",
            codecs=[{"name": "numcodecs.pcodec", "configuration": {}}],
        ),
        v2(
            {"0": bytes(32)},
            dtype="|S4",
            filters=[{"id": "fixedscaleoffset", "dtype": "|S4", "offset": 1, "scale": 2}],
        ),
        v2(shape=[2**62, 2**62], chunks=[4, 4]),
    ],
)
def test_every_failure_is_ours(store: zarr.MemoryStore) -> None:
    with pytest.raises(ZarrError):
        zarr.open_array(store, mode="r")[...]


def test_info_of_odd_codecs() -> None:
    odd = v2(compressor={"id": "blosc", "cname": "lz4", "clevel": 5, "shuffle": "noshuffle"})
    try:
        assert "blosc" in str(zarr.open_array(odd, mode="r").info).lower()
    except MetadataError as error:
        assert "shuffle" in str(error)


def test_more_than_memory_is_a_limit() -> None:
    array = zarr.create_array(None, shape=(2**40, 2**20), chunks=(100, 100), dtype="f8")
    with pytest.raises(LimitError, match="does not fit into memory"):
        array[...]


@pytest.mark.parametrize(
    ("other", "error", "words"),
    [
        (None, ValueError, "no missing values"),
        (float("nan"), ValueError, "no missing values"),
        (5, TypeError, "takes str"),
        (b"x", TypeError, "takes str"),
    ],
)
def test_text_takes_text_only(other: object, error: type[Exception], words: str) -> None:
    array = zarr.create_array(None, shape=2, dtype=str)
    with pytest.raises(error, match=words):
        array[:] = np.array(["a", other], dtype=object)
    with pytest.raises(error, match=words):
        array[0] = other
    array[:] = np.array(["a", "bb"])
    array[1] = "c"
    assert array[:].tolist() == ["a", "c"]


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_copies_keep_their_codecs(zarr_format: int) -> None:
    root = zarr.open_group(zarr.MemoryStore(), mode="w", zarr_format=zarr_format)
    source = root.create_array(
        "a", data=np.arange(20, dtype="i4"), chunks=5, filters=[zarr.Delta("<i4")],
        compressors=[zarr.Zlib(3)], fill_value=7,
    )  # fmt: skip
    zarr.copy(source, root, name="b")
    copies = [root["b"], root.zeros_like("c", source), zarr.from_array(None, data=source)]
    copies.append(zarr.empty_like(source, zarr_format=zarr_format))
    for other in copies:
        assert repr(other.filters) == repr(source.filters)
        assert repr(other.compressors) == repr(source.compressors)
    assert root["b"][:].tolist() == list(range(20)) and root["b"].fill_value == 7
    assert root["c"][:].tolist() == [0] * 20
    assert root.ones_like("d", source)[:].tolist() == [1] * 20
    assert root.full_like("e", source)[:].tolist() == [7] * 20


def test_arguments_by_position() -> None:
    array = zarr.create((6, 6), (2, 3), "i2")
    assert array.chunks == (2, 3) and array.dtype == "i2"
    opened = zarr.open_array(zarr.MemoryStore(), "w", (4,), (2,), "u1")
    assert opened.shape == (4,) and opened.chunks == (2,)
    with pytest.raises(TypeError, match="positional"):
        zarr.create((6,), 2, "i2", None, 0, "C", "too many")


def test_a_store_is_a_mapping_too(tmp_path: Path) -> None:
    for store in (zarr.MemoryStore(), zarr.LocalStore(tmp_path / "a")):
        assert store and len(store) == 0
        store["x/y"] = b"1"
        store.update({"z": b"2"})
        assert dict(store.items()) == {"x/y": b"1", "z": b"2"} and "z" in store
        assert list(store) == list(store.keys()) == ["x/y", "z"]
        del store["z"]
        assert "z" not in store and "../x" not in store
        with pytest.raises(KeyError):
            store["z"]
