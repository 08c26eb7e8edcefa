"""Copies into files of h5py."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import omnizarr
from omnizarr.errors import CopyError, UnsupportedError

h5py = pytest.importorskip("h5py")


@pytest.fixture
def source() -> omnizarr.Group:
    root = omnizarr.group()
    root.create_array("a/b", data=np.arange(60).reshape(6, 10), chunks=(2, 5), fill_value=7)
    root["a/b"].attrs["units"] = "m"
    root["a"].attrs["title"] = "example"
    root["scalar"] = 3
    return root


def test_a_group_with_all_below_it(source: omnizarr.Group, tmp_path: Path) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as file:
        done = omnizarr.copy_all(source, file)
        assert (done.copied, done.skipped) == (3, 0)
        copied = file["a/b"]
        assert np.array_equal(copied[:], source["a/b"][:])
        assert (copied.chunks, copied.fillvalue) == ((2, 5), 7)
        assert copied.attrs["units"] == "m" and file["a"].attrs["title"] == "example"
        assert file["scalar"][()] == 3


def test_what_is_there_is_kept_or_replaced(source: omnizarr.Group, tmp_path: Path) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["b"] = np.zeros(3)
        with pytest.raises(CopyError):
            omnizarr.copy(source["a/b"], file)
        assert omnizarr.copy(source["a/b"], file, if_exists="skip").skipped == 1
        assert file["b"].shape == (3,)
        with pytest.raises(UnsupportedError):
            omnizarr.copy(source["a/b"], file, if_exists="skip_initialized")
        omnizarr.copy(source["a/b"], file, if_exists="replace", compression="gzip", fillvalue=1)
        assert (file["b"].shape, file["b"].compression, file["b"].fillvalue) == ((6, 10), "gzip", 1)


def test_a_dataset_keeps_its_filters(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as file:
        made = file.create_dataset(
            "a", data=np.arange(9), chunks=(3,), shuffle=True, compression="gzip"
        )
        omnizarr.copy(made, file, name="c/b")
        assert file["c/b"].shuffle and file["c/b"].compression == "gzip"
        assert np.array_equal(file["c/b"][:], np.arange(9))


def test_a_dry_run_counts_all_nodes(source: omnizarr.Group, tmp_path: Path) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as file:
        assert omnizarr.copy(source["a"], file, dry_run=True).copied == 2
        assert list(file) == []
    assert omnizarr.copy(source["a"], omnizarr.group(), dry_run=True).copied == 2


def test_keywords_of_h5py_are_for_h5py(source: omnizarr.Group) -> None:
    with pytest.raises(TypeError, match="fletcher32"):
        omnizarr.copy(source["a/b"], omnizarr.group(), fletcher32=True)
    copied = omnizarr.group()
    omnizarr.copy(source["a/b"], copied, compressor=None)
    assert copied["b"].compressors == ()
