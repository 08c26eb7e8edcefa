"""Opening and loading with the arguments of zarr-python 2 and 3."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import omnizarr
from omnizarr.errors import NodeNotFoundError


def test_load_a_format_by_either_name(tmp_path: Path) -> None:
    path = tmp_path / "x.zarr"
    omnizarr.save_array(path, np.arange(3), zarr_version=2)
    omnizarr.save_group(path / "g", a=np.arange(4), zarr_format=2)
    for arguments in ({}, {"zarr_version": 2}, {"zarr_format": 2}):
        assert omnizarr.load(path, **arguments).tolist() == [0, 1, 2]
        assert omnizarr.load(path, path="g", **arguments)["a"].tolist() == [0, 1, 2, 3]
    for arguments in ({"zarr_version": 3}, {"zarr_format": 3}):
        for inner, kind in (("", "an array"), ("g", "a group")):
            with pytest.raises(NodeNotFoundError, match=f"of format 3 .* {kind} of format 2 there"):
                omnizarr.load(path, path=inner, **arguments)
        for function in (omnizarr.open_array, omnizarr.open_group):
            with pytest.raises(NodeNotFoundError, match="has an array of format 2 there"):
                function(path, mode="r", **arguments)
    both = omnizarr.open(path, "r", zarr_format=None, zarr_version=2)
    assert both.metadata.zarr_format == 2
    assert omnizarr.load(path, zarr_format=2, zarr_version=2).tolist() == [0, 1, 2]


def test_two_names_of_the_format_that_disagree() -> None:
    store: dict[str, bytes] = {}
    arguments: Any = {"zarr_format": 2, "zarr_version": 3}
    for call in (
        lambda: omnizarr.load(store, **arguments),
        lambda: omnizarr.open(store, "r", **arguments),
        lambda: omnizarr.open_group(store, **arguments),
        lambda: omnizarr.open_array(store, shape=2, **arguments),
        lambda: omnizarr.create(2, store=store, **arguments),
        lambda: omnizarr.create_array(store, shape=2, **arguments),
        lambda: omnizarr.save(store, [1], **arguments),
    ):
        with pytest.raises(ValueError, match="zarr_version=3 and zarr_format=2 disagree"):
            call()
    assert not store


def test_open_like(tmp_path: Path) -> None:
    like = omnizarr.full((4, 6), fill_value=7, chunks=(2, 3), dtype="i2")
    store: dict[str, bytes] = {}
    made = [
        omnizarr.open_like(like, tmp_path / "a"),
        omnizarr.open_like(like, path=tmp_path / "b"),
        omnizarr.open_like(like, path="c", store=tmp_path),
        omnizarr.open_like(like, "d/e", store=store),
        omnizarr.open_like(like, {}, chunks=(4, 6)),
    ]
    for array in made:
        assert (array.shape, array.dtype, array.fill_value) == ((4, 6), np.dtype("i2"), 7)
    assert [array.chunks for array in made] == [(2, 3)] * 4 + [(4, 6)]
    made[2][:] = 1
    assert (omnizarr.open_like(like, path="c", store=tmp_path)[:] == 1).all()  # not made anew
    assert "d/e/zarr.json" in store
