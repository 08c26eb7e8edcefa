"""Arrays that are made like another."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import omnizarr

MAKERS: dict[str, Callable[..., omnizarr.Array]] = {
    "zeros_like": lambda a, **given: omnizarr.zeros_like(a, zarr_format=2, **given),
    "full_like": lambda a, **given: omnizarr.full_like(a, 7, zarr_format=2, **given),
    "open_like": lambda a, **given: omnizarr.open_like(a, "b", store={}, zarr_format=2, **given),
    "array": lambda a, **given: omnizarr.array(a, zarr_format=2, **given),
    "Group.zeros_like": lambda a, **given: _group().zeros_like("b", a, **given),
    "Group.empty_like": lambda a, **given: _group().empty_like("b", a, **given),
}


def _group() -> omnizarr.Group:
    return omnizarr.group(zarr_format=2)


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
@pytest.mark.parametrize(
    ("given", "level"),
    [({}, 5), ({"compressor": omnizarr.Zlib(2)}, 2), ({"compressors": [omnizarr.Zlib(2)]}, 2)],
    ids=["none", "compressor", "compressors"],
)
def test_codecs_that_are_given_replace_those_of_the_model(
    make: Callable[..., omnizarr.Array], given: dict[str, Any], level: int
) -> None:
    model = omnizarr.ones(10, chunks=5, compressor=omnizarr.Zlib(5), zarr_format=2)
    made = make(model, **given)
    assert made.chunks == (5,)
    assert [codec.level for codec in made.compressors] == [level]  # type: ignore[union-attr]
    assert make(model, compressor=None).compressor is None
