"""Copying nodes between groups, as zarr-python 2 does it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import omnizarr
from omnizarr.nodes.group import Group


@pytest.fixture
def source() -> Group:
    group = omnizarr.group(attributes={"root": 1})
    group.create_array("g/a", data=np.arange(6), chunks=2)
    group.create_array("g/inner/b", data=np.arange(4))
    group["c"] = np.ones(3)
    return group


def names(group: Group) -> list[str]:
    return [name for name, _ in group.members(None)]


@pytest.mark.parametrize("dry_run", [False, True])
def test_a_shallow_copy_leaves_out_groups_inside(source: Group, dry_run: bool) -> None:
    dest = omnizarr.group()
    omnizarr.copy(source["g"], dest, shallow=True, dry_run=dry_run)
    assert names(dest) == ([] if dry_run else ["g", "g/a"])


def test_a_shallow_copy_of_all_members_copies_arrays_only(source: Group) -> None:
    dest = omnizarr.group()
    result = omnizarr.copy_all(source, dest, shallow=True)
    assert names(dest) == ["c"] and result.copied == 1
    assert dest.attrs.asdict() == {"root": 1}


def test_a_deep_copy(source: Group) -> None:
    dest = omnizarr.group()
    omnizarr.copy_all(source, dest)
    assert names(dest) == names(source)
    assert dest["g/inner/b"][...].tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("dest", [None, "x.zarr", {}, np.zeros(3), omnizarr.zeros(3)])
def test_a_destination_that_is_no_group(source: Group, dest: Any) -> None:
    for copy in (omnizarr.copy, omnizarr.copy_all):
        with pytest.raises(TypeError, match=r"destination .* found .*; open one with"):
            copy(source["g"], dest)


def test_a_wrong_device_is_refused_before_anything_is_copied() -> None:
    source, dest = omnizarr.group(), omnizarr.group()
    source.create_group("a")
    source.create_array("b", shape=2, dtype="i4")
    with pytest.raises(TypeError, match="meta_array"):
        omnizarr.copy_all(source, dest, meta_array=5)
    assert list(dest) == []


def test_the_members_of_an_array(source: Group) -> None:
    with pytest.raises(TypeError, match="members of a group, found Array"):
        omnizarr.copy_all(source["c"], omnizarr.group())


@pytest.mark.parametrize("name", ["absent.zarr", "absent.zip", "absent.sqlite", "there.sqlite/no"])
def test_a_source_store_that_does_not_exist(tmp_path: Path, name: str) -> None:
    omnizarr.save_array(str(tmp_path / "there.sqlite"), [1, 2, 3])
    before = sorted(tmp_path.iterdir())
    for copy in (omnizarr.copy_store, omnizarr.convert):
        with pytest.raises(omnizarr.errors.NodeNotFoundError, match=name.partition("/")[0]):
            copy(str(tmp_path / name), str(tmp_path / "copy.zarr"))
    assert sorted(tmp_path.iterdir()) == before


def test_an_empty_folder_is_a_source_without_keys(tmp_path: Path) -> None:
    (tmp_path / "empty.zarr").mkdir()
    assert omnizarr.copy_store(tmp_path / "empty.zarr", {}).copied == 0
    assert omnizarr.copy_store({}, {}).copied == 0
    assert omnizarr.copy_store("memory://empty-source", {}).copied == 0
