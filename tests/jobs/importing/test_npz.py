"""Compressed npz files of any size: inflated into a folder, in bounded memory, and checked."""

from __future__ import annotations

import shutil
import tempfile
import tracemalloc
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import omnizarr
from omnizarr.api.virtual import npz as virtual
from omnizarr.api.virtual.files import Place
from omnizarr.errors import LimitError, StoreError, ZarrError
from omnizarr.jobs.importing.npz import has_compressed, read

ARRAYS: dict[str, Any] = {
    "a": np.arange(100_000), "b/c": np.asfortranarray(np.arange(60.0).reshape(3, 4, 5)),
    "s": np.array("text"), "empty": np.zeros((0, 2)),
}  # fmt: skip


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_all_arrays(save: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(virtual, "HELD_TOGETHER", 1000)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "scratch"))
    (tmp_path / "scratch").mkdir()
    save(tmp_path / "x.npz", **ARRAYS)
    place = Place(str(tmp_path / "x.npz"), {})
    assert has_compressed(place) == (save is np.savez_compressed)
    done: list[float] = []
    report = read(
        tmp_path / "x.npz", tmp_path / "x.zarr", progress=lambda p: done.append(p.fraction)
    )
    assert done[-1] == 1 and len(report.nodes) == 6
    root = omnizarr.open_group(tmp_path / "x.zarr", mode="r")
    for name, values in ARRAYS.items():
        np.testing.assert_array_equal(root[name][...], values)
        assert root[name].dtype == values.dtype
    assert not list((tmp_path / "scratch").iterdir())
    if save is np.savez_compressed:
        with pytest.raises(LimitError, match="1000 bytes"):
            omnizarr.virtualize(tmp_path / "x.npz")


@pytest.mark.slow
def test_memory_is_bounded(tmp_path: Path) -> None:
    np.savez_compressed(tmp_path / "x.npz", a=np.zeros((200, 1 << 17)))  # 200 MiB
    tracemalloc.start()
    try:
        read(tmp_path / "x.npz", tmp_path / "x.zarr", workers=1, max_memory="32 MiB")
        assert tracemalloc.get_traced_memory()[1] < 80 << 20
    finally:
        tracemalloc.stop()
    assert omnizarr.open_group(tmp_path / "x.zarr", mode="r")["a"].shape == (200, 1 << 17)


def test_damage_is_found_before_anything_is_written(tmp_path: Path) -> None:
    np.savez_compressed(tmp_path / "x.npz", a=np.random.default_rng(0).integers(0, 99, 10_000))
    data = bytearray((tmp_path / "x.npz").read_bytes())
    data[len(data) // 2] ^= 1
    (tmp_path / "x.npz").write_bytes(data)
    with pytest.raises(ZarrError, match="array 'a'"):
        read(tmp_path / "x.npz", tmp_path / "x.zarr")
    assert not (tmp_path / "x.zarr").exists()


class _Usage(NamedTuple):
    free: int


def test_a_full_disk_is_told_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    np.savez_compressed(tmp_path / "x.npz", a=np.zeros(1000))
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: _Usage(100))
    with pytest.raises(StoreError, match=r"100 free.*TMPDIR"):
        read(tmp_path / "x.npz", tmp_path / "x.zarr")
