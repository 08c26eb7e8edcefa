"""What the public functions share: their keywords, modes, stores and formats."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypedDict, get_args

from omnizarr import formats
from omnizarr.errors import StoreError
from omnizarr.formats import FormatName
from omnizarr.formats.base import DEFAULT
from omnizarr.model.store import Store
from omnizarr.nodes.creation.arguments import (
    ArrayArguments,
    ChunkedOptions,
    ChunksLike,
    CodecsLike,
    DataTypeLike,
    FilledOptions,
    NodeOptions,
    Order,
    ShapeLike,
)
from omnizarr.stores import StoreLike, as_store

Mode = Literal["r", "r+", "a", "w", "w-", "x"]
_MODES = get_args(Mode)
StorageOptions = Mapping[str, object]


class FormatArguments(TypedDict, total=False):
    """The format to look for or to write, in the words of both generations."""

    zarr_format: FormatName | None
    zarr_version: FormatName | None


class OpenArguments(ArrayArguments, FormatArguments, total=False):
    """Keywords of `open`."""

    overwrite: bool


class OpenGroupArguments(NodeOptions, FormatArguments, total=False):
    """Keywords of `open_group`."""

    dialect: Literal["nczarr"] | None


class ConsolidatedArguments(OpenGroupArguments, total=False):
    """Keywords of `open_consolidated`."""

    path: str | None
    storage_options: StorageOptions | None


class OpenLikeArguments(OpenArguments, total=False):
    """Keywords of `open_like`."""

    mode: Mode | None
    storage_options: StorageOptions | None


class PlaceArguments(FormatArguments, total=False):
    """Where a new array goes, and what it may replace."""

    store: StoreLike
    path: str | None
    mode: Mode | None
    overwrite: bool
    storage_options: StorageOptions | None


class PlacedOptions(ChunkedOptions, PlaceArguments, total=False):
    """Keywords of `create` but shape, data and fill_value."""

    dtype: DataTypeLike


class ConstantArguments(PlacedOptions, total=False):
    """Keywords of `create` but shape and fill_value."""

    data: object


class LikeArguments(ConstantArguments, total=False):
    """Keywords of `create` but fill_value."""

    shape: ShapeLike | None


class SaveArguments(FilledOptions, FormatArguments, total=False):
    """Keywords of `save_array`."""

    shape: ShapeLike | None
    dtype: DataTypeLike


class FromArrayArguments(FilledOptions, FormatArguments, total=False):
    """Keywords of `from_array`."""

    dtype: DataTypeLike
    path: str | None
    overwrite: bool
    storage_options: StorageOptions | None


def checked_mode(mode: str | None, default: str = "a") -> str:
    """The mode, if there is such a one; ValueError else."""
    mode = default if mode is None else mode
    if mode not in _MODES:
        raise ValueError(f"mode must be one of {', '.join(map(repr, _MODES))}, found {mode!r}")
    return mode


def open_store(store: StoreLike, mode: str, storage_options: StorageOptions | None) -> Store:
    """The store for a call. Mode "w" does not empty an archive: `storing.create` replaces what it
    holds, once all arguments were checked."""
    if mode == "w":
        try:
            return as_store(store, mode="a", storage_options=storage_options)
        except StoreError:  # a file that is no archive can only be replaced
            pass
    return as_store(store, mode=mode, storage_options=storage_options)


def format_of(arguments: dict[str, Any]) -> FormatName | None:
    """`zarr_format=`, or the older `zarr_version=`; neither is left among the arguments."""
    version, chosen = arguments.pop("zarr_version", None), arguments.pop("zarr_format", None)
    return one_format(chosen, version)


def one_format(chosen: FormatName | None, version: FormatName | None) -> FormatName | None:
    """The one that is given; ValueError if both are and disagree."""
    if version is None or chosen is None:
        return chosen if version is None else version
    if formats.get_format(version) is not formats.get_format(chosen):
        raise ValueError(
            f"zarr_version={version!r} and zarr_format={chosen!r} disagree; give one of them"
        )
    return chosen


def given_of(
    shape: ShapeLike | None, chunks: ChunksLike, dtype: DataTypeLike, compressor: CodecsLike,
    fill_value: object, order: Order | None,
) -> dict[str, Any]:  # fmt: skip
    """The arguments that zarr-python 2 takes by position, without those at their default."""
    found = {"shape": shape, "chunks": chunks, "dtype": dtype, "order": order}
    given: dict[str, Any] = {name: value for name, value in found.items() if value is not None}
    if not (isinstance(compressor, str) and compressor == "auto"):
        given["compressor"] = compressor
    if fill_value is not DEFAULT:
        given["fill_value"] = fill_value
    return given
