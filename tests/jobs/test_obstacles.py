"""All that stands in the way of a conversion is told at once, and nothing is written."""

from __future__ import annotations

import pytest

import omnizarr
from omnizarr.errors import ObstaclesError, UnsupportedError


def test_every_node_that_cannot_be_converted_is_named() -> None:
    source = omnizarr.group()
    for name in ("a", "b", "c"):
        source.create_array(name, data=[1, 2], compressors=None if name == "b" else "auto")
    store = omnizarr.MemoryStore()
    with pytest.raises(ObstaclesError) as caught:
        omnizarr.convert(source, store, zarr_format=1, drop="groups")
    assert len(caught.value.errors) == 2
    for name in ("a", "c"):
        assert f"/{name}" in str(caught.value)
    assert all(isinstance(error, UnsupportedError) for error in caught.value.errors)
    assert all(error.__cause__ is not None for error in caught.value.errors)
    assert not list(store.list())


def test_one_obstacle_is_raised_as_it_is() -> None:
    source = omnizarr.group()
    source.create_array("a", data=[1, 2])
    with pytest.raises(UnsupportedError) as caught:
        omnizarr.convert(source, {}, zarr_format=1, drop="groups")
    assert not isinstance(caught.value, ObstaclesError)
    assert caught.value.options
