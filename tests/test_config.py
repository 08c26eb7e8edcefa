"""`omnizarr.config`: every name and value is honoured or refused."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import omnizarr as zarr
from omnizarr import formats
from omnizarr.config import FORMATS, Config
from omnizarr.errors import ChunkNotFoundError, ConfigError, IgnoredArgumentWarning, ZarrError

VALUES: dict[str, list[Any]] = {
    "default_zarr_format": [*FORMATS, "2", "v3"],
    "threads": [None, 1, np.int64(8)],
    "requests": [None, 1, 64],
    "array.order": ["C", "F"],
    "array.read_order": [None, "C", "F"],
    "array.write_empty_chunks": [True, False],
    "array.on_missing": ["fill", "raise"],
    "array.text": ["string", "object", "bytes"],
    "array.target_shard_size_bytes": [None, 1 << 20],
    "fsync": [True, False],
    "json_indent": ["auto", None, 0, 2],
}


def test_every_setting_takes_its_values_and_no_other() -> None:
    fresh = Config()
    assert set(VALUES) == set(fresh.to_dict())
    for name, values in VALUES.items():
        for value in values:
            with fresh.set({name: value}):
                assert str(fresh.get(name)) == str(value).removeprefix("v")
        for wrong in ("error", 2.5, -1, object(), [], "C ", b"C", np.zeros(3)):
            with pytest.raises(ConfigError, match=name):
                fresh.set({name: wrong})
    assert fresh.to_dict() == Config().to_dict()


def test_the_formats_are_those_of_the_formats() -> None:
    assert {known.name for known in formats.every_format()} == set(FORMATS)


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("array.on_mising", "array.on_missing"),
        ("default_zarr_formt", "default_zarr_format"),
        ("thread", "threads"),
        ("async.concurency", "async.concurrency"),
    ],
)
def test_an_unknown_name_raises_with_the_nearest(name: str, near: str) -> None:
    with pytest.raises(ConfigError, match=f"did you mean '{near}'"):
        zarr.config.set({name: 1})
    with pytest.raises(KeyError, match=name):
        zarr.config.get(name)
    assert zarr.config.get(name, "x") == "x"


def test_an_error_is_of_the_tree_and_changes_nothing() -> None:
    before = zarr.config.to_dict()
    for kind in (ZarrError, KeyError, ValueError):
        with pytest.raises(kind, match="'fill' or 'raise', found 'error'"):
            zarr.config.set({"threads": 3, "array.on_missing": "error"})
    assert zarr.config.to_dict() == before


def test_names_of_zarr_python_mean_the_same() -> None:
    with zarr.config.set(
        {"async.concurrency": 7, "threading.max_workers": 2, "array.read_missing_chunks": False}
    ):
        assert zarr.config.get("requests") == zarr.config.get("async.concurrency") == 7
        assert zarr.config.get("threads") == 2
        assert zarr.config.get("array.on_missing") == "raise"
        assert zarr.config.get("array.read_missing_chunks") is False
    assert zarr.config.get("threads") is None
    assert zarr.config.get("array.read_missing_chunks") is True


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("async.timeout", 5, "storage_options"),
        ("codec_pipeline.path", "zarrs.ZarrsCodecPipeline", "one pipeline"),
        ("codec_pipeline.batch_size", 4, "one pipeline"),
        ("codecs.zstd", "x.Zstd", "register_codec"),
        ("buffer", "zarr.buffer.gpu.Buffer", "NumPy"),
        ("array.allow_unsafe_pickle_decode", True, "allow_pickle=True"),
        ("array.rectilinear_chunks", False, "always"),
        ("array.sharding_coalesce_max_gap_bytes", 1, "gap"),
    ],
)
def test_other_names_of_zarr_python_are_refused_with_a_reason(
    name: str, value: Any, reason: str
) -> None:
    with pytest.raises(ConfigError, match=reason):
        zarr.config.set({name: value})


def test_what_is_true_here_anyway_may_be_said() -> None:
    zarr.config.set({"array.rectilinear_chunks": True, "array.allow_unsafe_pickle_decode": False})
    assert zarr.config.get("array.rectilinear_chunks") is True


def test_nested_mappings_keywords_update_and_reset() -> None:
    try:
        with zarr.config.set({"array": {"order": "F"}}, array__on_missing="raise") as inside:
            assert inside.get("array")["order"] == "F"
            assert inside["array.on_missing"] == "raise"
            assert "array.order" in inside
            assert "threads" in inside
            assert "array.ordr" not in inside
        assert zarr.config.get("array.order") == "C"
        zarr.config.update({"threads": 3})
        assert zarr.config.get("threads") == 3
    finally:
        zarr.config.reset()
    assert zarr.config.get("threads") is None


def test_missing_chunks_raise_when_told_so() -> None:
    array = zarr.create_array({}, shape=4, chunks=2, dtype="i4", fill_value=0)
    assert array[...].tolist() == [0, 0, 0, 0]
    with zarr.config.set({"array.on_missing": "raise"}), pytest.raises(ChunkNotFoundError):
        zarr.open_array(array.store, mode="r")[...]


def test_json_indent_is_honoured() -> None:
    store: dict[str, bytes] = {}
    with zarr.config.set({"json_indent": None}):
        zarr.create_group(store, zarr_format=3)
    assert b"\n" not in store["zarr.json"]
    with zarr.config.set({"json_indent": 1}):
        zarr.create_group(store, zarr_format=2, path="old")
    assert b'\n "' in store["old/.zgroup"]


def _run(code: str, **variables: str) -> str:
    finished = subprocess.run(
        [sys.executable, "-W", "always", "-c", code],
        capture_output=True, text=True, env={**os.environ, **variables}, check=False,
    )  # fmt: skip
    return finished.stdout + finished.stderr


def test_the_environment_is_checked_when_it_is_first_needed() -> None:
    show = "import omnizarr, json; print(json.dumps(omnizarr.config.to_dict()))"
    good = _run(show, OMNIZARR_ARRAY__ON_MISSING="raise", OMNIZARR_FSYNC="True")
    assert json.loads(good)["array.on_missing"] == "raise"
    assert json.loads(good)["fsync"] is True
    wrong = _run(show, OMNIZARR_ARRAY__ON_MISSING="error")
    assert "environment variable OMNIZARR_ARRAY__ON_MISSING" in wrong
    assert "'fill' or 'raise'" in wrong
    unknown = _run(show, OMNIZARR_ARRAY__ON_MISING="raise")
    assert IgnoredArgumentWarning.__name__ in unknown
    assert "did you mean 'array.on_missing'" in unknown
    assert "Warning" not in _run(show, OMNIZARR_NATIVE="0")
    assert "Error" not in _run("import omnizarr", OMNIZARR_THREADS="many")
