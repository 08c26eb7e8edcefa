"""`copy_store` as a job, and progress of what copies and consolidates."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import omnizarr
from omnizarr.errors import CopyError, UnsupportedError
from omnizarr.runtime.progress import Progress


@pytest.mark.parametrize("executor", [None, "threads", "processes"])
def test_every_executor(executor: Any, tmp_path: Path) -> None:
    omnizarr.create_array(tmp_path / "a.zarr", data=np.arange(1, 101), chunks=4)
    heard: list[Progress] = []
    done = omnizarr.copy_store(
        tmp_path / "a.zarr", tmp_path / "b.zarr",
        executor=executor, workers=2, progress=heard.append,
    )  # fmt: skip
    assert done.copied == 26
    assert done.to_dict() == {"copied": 26, "skipped": 0, "nbytes": done.nbytes}
    assert json.loads(done.to_json()) == done.to_dict()
    assert (heard[-1].done, heard[-1].total, heard[-1].nbytes) == (26, 26, done.nbytes)
    same = omnizarr.checksum(tmp_path / "a.zarr"), omnizarr.checksum(tmp_path / "b.zarr")
    assert same[0].digest == same[1].digest


def test_a_copy_goes_on() -> None:
    class Fails(omnizarr.MemoryStore):
        left = 5

        def set(self, key: str, value: Any) -> None:
            self.left -= 1
            if self.left < 0:
                raise OSError("no space left")
            super().set(key, value)

    source = omnizarr.array(np.arange(1, 101), chunks=4).store
    target = Fails()
    with pytest.raises(OSError, match="no space left"):
        omnizarr.copy_store(source, target)
    target.left = 100
    with pytest.raises(CopyError):
        omnizarr.copy_store(source, target)
    heard: list[Progress] = []
    done = omnizarr.copy_store(source, target, if_exists="skip", progress=heard.append)
    assert done[:2] == (21, 5)
    assert heard[0].resumed == 5
    assert omnizarr.checksum(source).digest == omnizarr.checksum(target).digest


def test_memory_of_another_process_is_refused(tmp_path: Path) -> None:
    omnizarr.create_array(tmp_path / "a.zarr", data=np.arange(1, 9), chunks=4)
    with pytest.raises(UnsupportedError, match=r"lives in one process|cannot be sent"):
        omnizarr.copy_store(tmp_path / "a.zarr", {}, executor="processes", workers=1)


def test_copies_and_consolidation_show_progress() -> None:
    source = omnizarr.group()
    for name in ("a", "g/b"):
        source.create_array(name, data=np.arange(100), chunks=10)
    for copy in (
        lambda hear: omnizarr.copy_all(source, omnizarr.group(), progress=hear),
        lambda hear: omnizarr.copy(source, omnizarr.group(), name="x", progress=hear),
    ):
        heard: list[Progress] = []
        copy(heard.append)
        assert (heard[-1].done, heard[-1].total) == (1600, 1600)
    heard = []
    omnizarr.consolidate_metadata(source.store, progress=heard.append)
    assert heard[-1].done >= 3
    assert heard[-1].label.endswith("zarr.json")
