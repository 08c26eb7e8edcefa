"""Opening nodes: what the errors say, and that following their advice helps."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import omnizarr
from omnizarr.errors import ArrayNotFoundError, NodeExistsError, ReadOnlyError
from omnizarr.stores import HTTPStore, PrefixStore, ReadOnlyStore


@pytest.mark.parametrize("mode", ["w-", "x"])
@pytest.mark.parametrize(
    "opening",
    [
        omnizarr.open,
        omnizarr.open_group,
        lambda store, mode: omnizarr.open(store, mode, shape=3),
        lambda store, mode: omnizarr.open_array(store, mode, shape=3),
        lambda store, mode: omnizarr.open_like(omnizarr.zeros(3), store, mode=mode),
    ],
)
def test_what_exists_is_replaced_with_mode_w(
    tmp_path: Path, opening: Callable[..., Any], mode: str
) -> None:
    place = str(tmp_path / "x.zarr")
    omnizarr.save_group(place, a=[1, 2])
    with pytest.raises(NodeExistsError, match=r"a group is already there; mode='w' replaces it$"):
        opening(place, mode)
    opening(place, "w")
    assert not (tmp_path / "x.zarr" / "a").exists()


def test_stale_chunks_are_removed_with_mode_w() -> None:
    store = {"c/0": b"stale"}
    with pytest.raises(NodeExistsError, match=r"; mode='w' removes it$"):
        omnizarr.open_array(store, "w-", shape=3, dtype="i1")
    assert omnizarr.open_array(store, "w", shape=3, dtype="i1")[:].tolist() == [0, 0, 0]


def test_what_was_opened_with_mode_r_names_the_mode_that_writes(tmp_path: Path) -> None:
    place = str(tmp_path / "x.zarr")
    omnizarr.save_group(place, a=[1, 2])
    stores: list[Any] = [place, omnizarr.LocalStore(place)]
    for store in stores:
        root = omnizarr.open_group(store, "r")
        for change in (
            lambda array: array.__setitem__(0, 5),
            lambda array: array.resize(5),
            lambda array: array.attrs.update(x=1),
            lambda array: array.append([5]),
        ):
            with pytest.raises(ReadOnlyError, match=r"path '/a': .* mode 'r' .* mode 'r\+'"):
                change(root["a"])
        with pytest.raises(ReadOnlyError, match=r"path '/': .* mode 'r' .* mode 'r\+'"):
            root.create_group("b")
        omnizarr.open_group(store, "r+")["a"][0] = 5


def test_web_stores_can_only_be_read() -> None:
    web = "http://127.0.0.1:9/x"
    for store in (
        web,
        HTTPStore(web),
        PrefixStore(HTTPStore(web), "y"),
        ReadOnlyStore(HTTPStore(web)),
    ):
        with pytest.raises(ReadOnlyError, match="web stores can only be read"):
            omnizarr.open(store, "w")


def test_an_array_that_is_missing_needs_a_shape_to_be_created(tmp_path: Path) -> None:
    omnizarr.save_group(tmp_path / "x.zarr", days=[1, 2])
    for place in (str(tmp_path / "absent.zarr"), str(tmp_path / "x.zarr" / "dais")):
        with pytest.raises(ArrayNotFoundError, match="; give shape= or data= to create it"):
            omnizarr.open_array(place)
        for mode in ("r", "r+"):
            with pytest.raises(ArrayNotFoundError) as caught:
                omnizarr.open_array(place, mode)
            assert "shape=" not in str(caught.value)
        assert omnizarr.open_array(place, shape=3).shape == (3,)
