"""The drafts of v3 beside the software that wrote them.

zarr-python 2.18.7, with its experimental v3, reads what is written here in the layout of October
2020, and the other way round. Of the earlier layouts no reader is left: there the documents and
keys of the fixtures stand in, which the draft's own author made (zarrita in 2020 and 2021).
"""

from __future__ import annotations

import gzip
import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import omnizarr as zarr
from omnizarr.nodes.creation.arrays import like
from omnizarr.stores import MemoryStore, as_store
from tests.acceptance import fixtures
from tests.acceptance.fixtures import REPOSITORY

pytestmark = pytest.mark.peers

PYTHON = REPOSITORY / ".peers" / "zarr2" / "bin" / "python"
C = "3-draft2020-10"
Summary = Callable[[str], None]

# Runs in zarr-python's environment: python -c PEER FOLDER, jobs on stdin, answers on stdout.
PEER = """
import json, sys, types, warnings
warnings.simplefilter("ignore")
import numcodecs, numpy as np, zarr

class NoTransformer:  # reading any transformer, it imports one of its tests, and pytest with it
    extension_uri = "none"

tests = types.ModuleType("zarr.tests.test_storage_v3")
tests.DummyStorageTransfomer = NoTransformer
sys.modules["zarr.tests.test_storage_v3"] = tests
from zarr._storage.v3_storage_transformers import ShardingStorageTransformer

folder = sys.argv[1]

def plain(array):
    values = np.asarray(array[...])
    if values.dtype.hasobject:
        return {"items": [item if isinstance(item, str) else item.hex() for item in values.ravel()]}
    return {"bytes": np.ascontiguousarray(values).tobytes().hex(), "dtype": values.dtype.str}

def tree(group, found):
    found[group.path] = {"attributes": dict(group.attrs)}
    for name, array in group.arrays():
        attributes = {key: value for key, value in array.attrs.items() if key != "filters"}
        found[array.path] = {"attributes": attributes, "shape": list(array.shape), **plain(array)}
    for name, child in group.groups():
        if child.path != "consolidated":
            tree(child, found)
    return found

def write(name, case):
    options = dict(case["options"])
    for key in ("compressor", "object_codec"):
        if options.get(key):
            options[key] = numcodecs.get_codec(options[key])
    if options.get("filters"):
        options["filters"] = [numcodecs.get_codec(one) for one in options["filters"]]
    if case["per_shard"]:
        options["storage_transformers"] = [
            ShardingStorageTransformer("indexed", chunks_per_shard=case["per_shard"])
        ]
    dtype = case["dtype"]
    if isinstance(dtype, list):
        dtype = [tuple(field) for field in dtype]
    dtype = object if dtype == "text" else np.dtype(dtype)
    array = zarr.create(shape=tuple(case["shape"]), chunks=tuple(case["chunks"]), dtype=dtype,
        store=folder, path=name, zarr_version=3, **options)
    if case["items"] is None:
        data = np.frombuffer(bytes.fromhex(case["bytes"]), dtype).reshape(case["shape"])
    else:
        data = np.array(case["items"], object).reshape(case["shape"])
    if case["size"]:
        array[...] = data

answers = {}
for job in json.load(sys.stdin):
    try:
        if job["do"] == "create":
            root = zarr.open_group(folder, mode="w", zarr_version=3)
            root.attrs["title"] = "theirs"
            array = root.create_dataset("g/theirs", data=np.arange(20).reshape(4, 5), chunks=(2, 2))
            array.attrs["k"] = 1
            root.create_group("g/empty").attrs["k"] = 2
            root.create_dataset("gone", data=np.arange(3))
        elif job["do"] == "write":
            write(job["name"], job["case"])
        elif job["do"] == "tree":
            answers["tree"] = tree(zarr.open_group(folder, mode="r", zarr_version=3), {})
        elif job["do"] == "consolidated":
            group = zarr.open_consolidated(folder, mode="r", zarr_version=3)
            answers["consolidated"] = tree(group, {})
    except Exception as error:
        what = job.get("name", job["do"])
        answers.setdefault("errors", []).append(f"{what}: {type(error).__name__}: {error}")
json.dump(answers, sys.stdout)
"""


def peer(folder: Path, jobs: list[dict[str, Any]]) -> dict[str, Any]:
    if not PYTHON.exists():
        pytest.fail(f"{PYTHON} does not exist: run `make peers`")
    environment = {**os.environ, "ZARR_V3_EXPERIMENTAL_API": "1", "ZARR_V3_SHARDING": "1"}
    done = subprocess.run(
        [PYTHON, "-c", PEER, str(folder)], input=json.dumps(jobs), capture_output=True, text=True,
        timeout=120, env=environment, cwd=folder.parent,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-4000:]
    answers: dict[str, Any] = json.loads(done.stdout)
    assert not answers.get("errors"), answers["errors"]
    return answers


# -- the matrix -----------------------------------------------------------------------------------
def cases() -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}

    def add(name: str, **given: Any) -> None:
        case = {"dtype": "<i4", "shape": [7, 5], "chunks": [3, 2], "per_shard": None, **given}
        case.setdefault("options", {})
        found[name.replace("|", "")] = case

    for number, dtype in enumerate(
        ["|b1", "|i1", "|u1", "<i2", ">i4", "<i8", ">u2", "<u8", "<f2", ">f4", "<f8", "<c8", ">c16",
         "|S4", "<U3", "<M8[ns]", ">m8[D]", [["x", "<i4"], ["y", "|S3"]]]
    ):  # fmt: skip
        add(f"dtype-{number}", dtype=dtype)
    for codec in ("blosc", "bz2", "gzip", "lz4", "lzma", "zlib", "zstd"):
        add(f"compressor-{codec}", options={"compressor": {"id": codec}, "order": "F"})
    add("no-compressor", options={"compressor": None})
    add("dots", options={"dimension_separator": "."})
    add("delta", options={"filters": [{"id": "delta", "dtype": "<i4"}]})
    add("shuffled", options={"filters": [{"id": "shuffle", "elementsize": 4}], "order": "F"})
    add("fill", options={"fill_value": 42})
    add("scalar", shape=[], chunks=[])
    add("empty", shape=[0, 3], chunks=[2, 2])
    add("line", shape=[11], chunks=[4], options={"order": "F"})
    add("cube", shape=[5, 6, 7], chunks=[2, 3, 4])
    add("text", dtype="text", shape=[6], chunks=[4], options={"object_codec": {"id": "vlen-utf8"}})
    add("shards", shape=[20, 13], per_shard=[2, 3])
    add("shards-F", shape=[20, 13], per_shard=[2, 3], options={"order": "F"})
    add("shards-dots", shape=[20], chunks=[3], per_shard=[2],
        options={"dimension_separator": ".", "compressor": {"id": "gzip"}})  # fmt: skip
    return found


CASES = cases()


def values_of(case: dict[str, Any]) -> np.ndarray[Any, Any]:
    shape = tuple(case["shape"])
    size = int(np.prod(shape))
    if case["dtype"] == "text":
        return np.array(["", "a", "bc", "dëf", "", "x" * 40], object).reshape(shape)
    dtype = numpy_dtype(case)
    if dtype.kind == "U":
        return np.array(["a", "bé", "cde"] * size, dtype)[:size].reshape(shape)
    if dtype.kind == "b":
        return (np.arange(size) % 3 == 0).reshape(shape)
    data = np.random.default_rng(5).integers(1, 100, size * dtype.itemsize, np.uint8)
    return np.frombuffer(data.tobytes(), dtype).reshape(shape)


def numpy_dtype(case: dict[str, Any]) -> np.dtype[Any]:
    dtype = case["dtype"]
    return np.dtype([tuple(field) for field in dtype] if isinstance(dtype, list) else dtype)


def same(found: dict[str, Any], values: np.ndarray[Any, Any]) -> bool:
    if found["shape"] != list(values.shape):
        return False
    if values.dtype.hasobject or values.dtype.kind == "T":
        return bool(found["items"] == values.ravel().tolist())
    little = values.dtype.str == found["dtype"] or values.dtype.names is not None
    return little and bytes.fromhex(found["bytes"]) == values.tobytes()


def test_zarr_python_reads_what_is_written_here(tmp_path: Path, summary: Summary) -> None:
    folder = tmp_path / "ours.zr3"
    root = zarr.create_group(folder, zarr_format=C, attributes={"title": "ours", "n": [1, None]})
    for name, case in CASES.items():
        options = dict(case["options"])
        if case["per_shard"]:
            pairs = zip(case["chunks"], case["per_shard"], strict=True)
            options["shards"] = [chunk * count for chunk, count in pairs]
        dtype = str if case["dtype"] == "text" else numpy_dtype(case)
        if case["dtype"] == "text":
            options.pop("object_codec")
        array = root.create_array(
            f"cases/{name}", shape=case["shape"], chunks=case["chunks"] or None, dtype=dtype,
            attributes={"case": name}, **options,
        )  # fmt: skip
        if array.size:
            array[...] = values_of(case)
    zarr.consolidate_metadata(folder)
    answers = peer(folder, [{"do": "tree"}, {"do": "consolidated"}])
    for mode in ("tree", "consolidated"):
        found = answers[mode]
        assert found[""]["attributes"] == {"title": "ours", "n": [1, None]}
        assert len(found) == len(CASES) + 2
        for name, case in CASES.items():
            one = found[f"cases/{name}"]
            assert one["attributes"] == {"case": name}, name
            assert same(one, values_of(case)), name
    summary(f"drafts: zarr-python 2.18.7 (experimental v3) reads {len(CASES)} of {len(CASES)}")


def test_what_zarr_python_writes_is_read_here(tmp_path: Path, summary: Summary) -> None:
    folder = tmp_path / "theirs.zr3"
    jobs: list[dict[str, Any]] = []
    for name, case in CASES.items():
        values = values_of(case)
        text = case["dtype"] == "text"
        data = {
            "items": values.ravel().tolist() if text else None,
            "bytes": None if text else values.tobytes().hex(),
            "size": values.size,
        }
        jobs.append({"do": "write", "name": f"cases/{name}", "case": {**case, **data}})
    peer(folder, jobs)
    group = zarr.open_group(folder, path="cases", mode="r")
    assert sorted(group) == sorted(CASES)
    for name, case in CASES.items():
        array = group[name]
        assert isinstance(array, zarr.Array)
        values = values_of(case)
        found = np.asarray(array[...])
        assert found.shape == values.shape, name
        assert found.tolist() == values.tolist(), name
        assert array.order == case["options"].get("order", "C"), name
    summary(f"drafts: {len(CASES)} of {len(CASES)} arrays of zarr-python 2.18.7 read as written")


def test_changing_a_hierarchy_of_zarr_python(tmp_path: Path) -> None:
    folder = tmp_path / "theirs.zr3"
    peer(folder, [{"do": "create"}])
    root = zarr.open_group(folder, mode="a")
    assert root.metadata.zarr_format == C
    assert sorted(path for path, _ in root.members(max_depth=None)) == [
        "g", "g/empty", "g/theirs", "gone",
    ]  # fmt: skip
    expected = np.arange(20).reshape(4, 5)
    theirs = root["g/theirs"]
    np.testing.assert_array_equal(theirs[...], expected)
    theirs[1:3, 2] = -1
    theirs.resize((6, 5))
    theirs.attrs["k"] = 5
    root.attrs["new"] = True
    root["g"].attrs["k"] = 3  # implied until now
    del root["gone"]
    root.create_array("g/mine", data=np.arange(6.0), chunks=(4,), attributes={"k": 4})
    root.create_group("deep/er").attrs["k"] = 6
    root.move("g/empty", "moved")
    found = peer(folder, [{"do": "tree"}])["tree"]
    assert {path: node["attributes"] for path, node in found.items()} == {
        "": {"title": "theirs", "new": True},
        "g": {"k": 3},
        "g/theirs": {"k": 5},
        "g/mine": {"k": 4},
        "deep": {},
        "deep/er": {"k": 6},
        "moved": {"k": 2},
    }
    expected = np.concatenate([expected, np.zeros((2, 5), expected.dtype)])
    expected[1:3, 2] = -1
    assert same(found["g/theirs"], expected)
    assert same(found["g/mine"], np.arange(6.0))


# -- golden documents -----------------------------------------------------------------------------
GOLDEN = {
    "zarrita-alimanfoo-2020-07-e7e298d": "3-draft2019",
    "zarrita-alimanfoo-2020-09-39bfe49": "3-draft2020-09",
    "zarrita-alimanfoo-2021-03-c9272ce": C,
    "zarr-2.18.7-v3exp": C,
}


def documents(store: Any) -> dict[str, Any]:
    return {key: json.loads(data) for key, data in store.items() if not key.startswith("data")}


@pytest.mark.parametrize("source", GOLDEN)
def test_documents_and_keys_are_those_of_other_writers(source: str, summary: Summary) -> None:
    """The same parameters give equal JSON, the same keys, and chunks of the same bytes."""
    stores = {row.store: row.node.strip("/") for row in fixtures.all_rows() if row.source == source}
    stores = {name: path for name, path in stores.items() if not name.endswith("hierarchy.zr3")}
    assert len(stores) > 15
    for name, path in stores.items():
        theirs = as_store(fixtures.unpacked(source) / name, mode="r")
        array = zarr.open_array(theirs, path=path, mode="r")
        made = MemoryStore()
        mine = zarr.create_array(
            made, name=path, zarr_format=GOLDEN[source], fill_value=array.fill_value,
            attributes=array.attrs.asdict(), dimension_separator=array._model.keys.separator,
            write_empty_chunks=True, **like(array),
        )  # fmt: skip
        for coordinates in array.stored_chunks():
            region = array._model.grid.chunk_shape, coordinates, array.shape
            part = tuple(
                slice(i * n, min((i + 1) * n, end)) for n, i, end in zip(*region, strict=True)
            )
            mine[part] = array[part]
        wanted = {key: _normalised(document) for key, document in documents(theirs).items()}
        if source.startswith("zarr-2"):
            wanted = {key: wanted[key] for key in wanted if "group" not in key and "/." not in key}
        assert documents(made) == wanted, name
        keys = _chunk_keys(theirs)
        if (name, GOLDEN[source]) == (f"{source}/scalar.zr3", C):
            # Its writers differ in the name of this one chunk; zarr-python's is written.
            keys = [key + "0" for key in keys]
        assert _chunk_keys(made) == keys, name
        _compare_chunks(array, mine, name)
    summary(f"drafts: {source}: {len(stores)} stores, equal documents, keys and chunks")


def _normalised(document: dict[str, Any]) -> dict[str, Any]:
    """Without what zarr-python says twice, or says of plain bytes as if they were a record."""
    document.pop("dimension_separator", None)
    described = document.get("data_type")
    if isinstance(described, dict) and described["type"] == [["", "|V3"]]:
        described["type"] = "|V3"
    return document


def _chunk_keys(store: Any) -> list[str]:
    return [key for key in store if key.startswith("data")]


def _compare_chunks(theirs: zarr.Array, mine: zarr.Array, name: str) -> None:
    """The bytes of uncompressed or gzipped chunks, but for what is beyond the array's edge."""
    stated = mine.metadata.to_dict()
    codec = (stated.get("compressor") or {}).get("codec", "/gzip/")
    if "/gzip/" not in codec or theirs.shards or theirs.dtype.hasobject or not theirs.ndim:
        return
    for key in _chunk_keys(mine.store):
        one, other = bytes(mine.store[key]), bytes(theirs.store[key])
        if stated.get("compressor"):
            one, other = gzip.decompress(one), gzip.decompress(other)
        coordinates = mine._model.keys.decode(key[len(mine._source.prefix) :], mine.ndim)
        assert coordinates is not None
        sizes = zip(coordinates, mine.chunks, mine.shape, strict=True)
        inside = tuple(slice(0, min(n, end - i * n)) for i, n, end in sizes)
        seen = [
            np.frombuffer(data, mine.dtype).reshape(mine.chunks, order=mine.order)[inside].tobytes()
            for data in (one, other)
        ]
        assert seen[0] == seen[1], (name, key)


def test_a_hierarchy_of_zarrita() -> None:
    source = "zarrita-alimanfoo-2020-09-39bfe49"
    group = zarr.open_group(fixtures.unpacked(source) / source / "hierarchy.zr3", mode="r")
    assert [path for path, _ in group.members(max_depth=None)] == [
        "arthur", "arthur/dent", "marvin", "marvin/android", "marvin/paranoid", "tricia",
        "tricia/mcmillan",
    ]  # fmt: skip
    assert group["tricia/mcmillan"].attrs.asdict() == {"heart": "gold"}
    assert group["marvin/android"].shape == (42, 4)


def test_consolidated_metadata_of_zarr_python() -> None:
    source = "zarr-2.18.7-v3exp"
    folder = fixtures.unpacked(source) / source / "group_consolidated.zr3"
    group = zarr.open_consolidated(folder, mode="r")
    assert [path for path, _ in group.members(max_depth=None)] == ["g", "g/c"]
    assert list(zarr.open_group(folder, mode="r")) == ["g"]
    np.testing.assert_array_equal(
        group["g/c"][...], zarr.open_array(folder, path="g/c", mode="r")[...]
    )


def test_every_row_of_the_drafts(summary: Summary) -> None:
    rows = [row for row in fixtures.rows() if row.family == "v3-draft"]
    assert len(rows) == fixtures.counted()["v3-draft"]
    wrong = {}
    for row in rows:
        array = zarr.open_array(fixtures.unpacked(row.source) / row.store, path=row.node, mode="r")
        found = fixtures.difference(row, np.asarray(array[...], dtype=array.dtype))
        if found:
            wrong[row.path] = found
    assert not wrong
    summary(f"drafts: {len(rows)} fixture rows read exactly")
