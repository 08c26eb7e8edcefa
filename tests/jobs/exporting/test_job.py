"""The framework of `export`: what is chosen, refused, replaced, left behind and reported."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import omnizarr
import omnizarr.jobs.exporting.formats
from omnizarr.errors import (
    NodeExistsError,
    ObstaclesError,
    OverlapError,
    StoreError,
    UnsupportedError,
    ValueChangedError,
)
from omnizarr.jobs import exporting

RAMP = np.arange(12, dtype="i4").reshape(3, 4)


@pytest.fixture
def writer(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """A writer of the format "raw", which has every fault that a test gives it."""
    made: Any = ModuleType("omnizarr.jobs.exporting.raw")
    made.NAME, made.SUFFIXES = "raw", (".raw",)
    made.told = []
    made.obstacles = lambda node, options: made.told

    def write(node: Any, file: str, advance: Any, *, twice: bool = False) -> None:
        Path(file).write_bytes(node[...].tobytes() * (1 + twice))
        advance(1, node.nbytes, "raw")
        if made.fault is not None:
            raise made.fault

    def differences(node: Any, file: str, advance: Any, *, twice: bool = False) -> Iterator[str]:
        advance(1, node.nbytes, "raw")
        if Path(file).read_bytes() != node[...].tobytes():
            yield "other bytes"

    made.write, made.differences, made.fault = write, differences, None
    monkeypatch.setitem(sys.modules, made.__name__, made)
    monkeypatch.setattr(exporting.formats, "WRITERS", (*exporting.WRITERS, "raw"))
    return made


def test_the_suffix_or_the_name_chooses_the_format(writer: ModuleType, tmp_path: Path) -> None:
    array = omnizarr.array(RAMP)
    report = omnizarr.export(array, tmp_path / "a.RAW")
    assert (tmp_path / "a.RAW").read_bytes() == RAMP.tobytes()
    assert report.to == "raw" and report.file_size == RAMP.nbytes and report.bytes_read == 48
    assert omnizarr.export(array, tmp_path / "a.bin", to="raw").to == "raw"
    assert omnizarr.file_formats()["raw"] == ("raw", (".raw",), False, True)
    with pytest.raises(ValueError, match=r"'a.xyz' names no format.*\.h5"):
        omnizarr.export(array, tmp_path / "a.xyz")
    with pytest.raises(ValueError, match="did you mean 'raw'"):
        omnizarr.export(array, tmp_path / "a.xyz", to="rawe")


def test_the_longest_suffix_counts(
    writer: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "SUFFIXES", (".raw", ".raw.h5"))
    array = omnizarr.array(RAMP)
    assert omnizarr.export(array, tmp_path / "a.raw.h5").to == "raw"
    assert omnizarr.export(array, tmp_path / "b.h5").to == "hdf5"


def test_options_are_those_of_the_writer(writer: ModuleType, tmp_path: Path) -> None:
    array = omnizarr.array(RAMP)
    assert omnizarr.export(array, tmp_path / "a.raw", twice=True).file_size == 2 * RAMP.nbytes
    with pytest.raises(TypeError, match="'twise'; did you mean 'twice'"):
        omnizarr.export(array, tmp_path / "b.raw", twise=True)
    with pytest.raises(TypeError, match="unexpected keyword argument 'node'"):
        omnizarr.export(array, tmp_path / "b.raw", node=1)
    with pytest.raises(TypeError, match="'unlimited' for 'raw', whose options are: twice"):
        omnizarr.export(array, tmp_path / "b.raw", unlimited=["x"])


def test_all_obstacles_are_told_before_anything_is_written(
    writer: ModuleType, tmp_path: Path
) -> None:
    writer.told = ["no names", "no types"]
    with pytest.raises(ObstaclesError, match="2 obstacles") as info:
        omnizarr.export(omnizarr.array(RAMP), tmp_path / "a.raw")
    assert [str(each) for each in info.value.errors] == ["no names", "no types"]
    writer.told = ["no names"]
    with pytest.raises(UnsupportedError, match="raw: no names"):
        omnizarr.export(omnizarr.array(RAMP), tmp_path / "a.raw", dry_run=True)
    assert os.listdir(tmp_path) == []


def test_a_file_is_replaced_whole_or_not_at_all(writer: ModuleType, tmp_path: Path) -> None:
    file = tmp_path / "a.raw"
    file.write_bytes(b"before")
    array = omnizarr.array(RAMP)
    with pytest.raises(NodeExistsError, match="overwrite"):
        omnizarr.export(array, file)
    for fault in (RuntimeError("disk"), KeyboardInterrupt()):
        writer.fault = fault
        with pytest.raises(type(fault)):
            omnizarr.export(array, file, overwrite=True)
        assert file.read_bytes() == b"before" and os.listdir(tmp_path) == ["a.raw"]
    writer.fault = None
    with pytest.raises(ValueChangedError, match="other bytes"):
        omnizarr.export(array, file, overwrite=True, verify=True, twice=True)
    assert file.read_bytes() == b"before" and os.listdir(tmp_path) == ["a.raw"]
    assert omnizarr.export(array, file, overwrite=True, verify=True).verified
    assert file.read_bytes() == RAMP.tobytes() and os.listdir(tmp_path) == ["a.raw"]


def test_what_a_killed_export_left_is_removed(writer: ModuleType, tmp_path: Path) -> None:
    from omnizarr.stores.local.temporary_names import temporary_name

    other = temporary_name().replace(f"-{os.getpid()}-", "-999999999-")
    mine = temporary_name()
    (tmp_path / other).write_bytes(b"half")
    (tmp_path / mine).write_bytes(b"half")
    omnizarr.export(omnizarr.array(RAMP), tmp_path / "a.raw")
    assert sorted(os.listdir(tmp_path)) == sorted(["a.raw", mine])


def test_a_destination_in_the_source_is_refused(writer: ModuleType, tmp_path: Path) -> None:
    omnizarr.save_array(str(tmp_path / "a.zarr"), RAMP)
    with pytest.raises(OverlapError, match="is in the source"):
        omnizarr.export(tmp_path / "a.zarr", tmp_path / "a.zarr" / "b.raw")
    with pytest.raises(StoreError, match="there is no folder"):
        omnizarr.export(tmp_path / "a.zarr", tmp_path / "none" / "b.raw")
    with pytest.raises(UnsupportedError, match="local path"):
        omnizarr.export(tmp_path / "a.zarr", "s3://bucket/b.raw")
    with pytest.raises(NodeExistsError, match="folder"):
        omnizarr.export(tmp_path / "a.zarr", tmp_path, to="raw", overwrite=True)


def test_progress_ends_at_its_total(writer: ModuleType, tmp_path: Path) -> None:
    told: list[Any] = []
    array = omnizarr.array(RAMP, chunks=(3, 4))
    omnizarr.export(array, tmp_path / "a.raw", verify=True, progress=told.append)
    assert [(each.done, each.total) for each in told] == [(1, 2), (2, 2)]


def test_a_dry_run_prints_and_writes_nothing(
    writer: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report = omnizarr.export(omnizarr.array(RAMP), tmp_path / "a.raw", dry_run=True)
    assert "nothing was written (dry run)" in capsys.readouterr().out
    assert os.listdir(tmp_path) == [] and report.dry_run
    assert json.loads(report.to_json())["arrays"][0]["shape"] == [3, 4]


def test_a_node_below_the_source_is_exported(writer: ModuleType, tmp_path: Path) -> None:
    root = omnizarr.group(str(tmp_path / "a.zarr"))
    root["b/c"] = RAMP
    for source in (root, tmp_path / "a.zarr", root.store):
        done = omnizarr.export(source, tmp_path / "c.raw", path="b/c", overwrite=True)
        assert done.arrays[0].shape == (3, 4)
