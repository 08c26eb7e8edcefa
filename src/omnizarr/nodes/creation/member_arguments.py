"""The keywords of the methods of `Group` that create arrays, as types.

A method that takes one of `create_array`'s keywords by position has a type without that keyword.
"""

from __future__ import annotations

from typing import Any

from omnizarr.nodes.creation.arguments import (
    ChunkedOptions,
    DataTypeLike,
    FilledOptions,
    ShapeLike,
)


class FullOptions(ChunkedOptions, total=False):
    """All keywords but `shape`, `data` and `fill_value`."""

    dtype: DataTypeLike
    overwrite: bool
    zarr_format: int | str | None
    """That of the group, which every member has; another is an error."""


class FullLikeOptions(FullOptions, total=False):
    """All keywords but `data` and `fill_value`."""

    shape: ShapeLike | None


class MemberOptions(FullOptions, total=False):
    """All keywords but `shape` and `data`."""

    fill_value: object


class LikeOptions(MemberOptions, total=False):
    """All keywords but `data`."""

    shape: ShapeLike | None


class DatasetOptions(LikeOptions, total=False):
    """All keywords."""

    fillvalue: object
    data: object
    write_data: bool


class RequireOptions(FilledOptions, total=False):
    """All keywords but `shape` and `dtype`."""

    overwrite: bool
    data: object
    write_data: bool


def renamed_of_h5py(arguments: DatasetOptions) -> dict[str, Any]:
    """The keywords with `fill_value` for h5py's `fillvalue`."""
    given: dict[str, Any] = {**arguments}
    if "fillvalue" in given:
        if "fill_value" in given:
            raise TypeError("fillvalue and fill_value name the same argument; give one of them")
        given["fill_value"] = given.pop("fillvalue")
    return given
