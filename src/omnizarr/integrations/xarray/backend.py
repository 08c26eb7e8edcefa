"""The engine: `xarray.open_dataset(…, engine="omnizarr")` and its kin.

This module knows xarray's entry point. It must not know how a group is read.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from importlib.util import find_spec
from inspect import signature
from typing import Any, Literal, TypeAlias

import xarray
from xarray.backends import AbstractDataStore, BackendEntrypoint, StoreBackendEntrypoint

# Not public in xarray: the name of a variable without a name, and how every backend normalizes
# paths, closes what failed to open, and makes a tree of groups.
from xarray.backends.api import DATAARRAY_VARIABLE
from xarray.backends.common import _normalize_path, datatree_from_dict_with_io_cleanup
from xarray.core.utils import close_on_error

from omnizarr import Array, Group, Store
from omnizarr.errors import MetadataError
from omnizarr.integrations.xarray.opening import (
    Mode,
    Target,
    consolidates,
    is_ours_to_close,
    open_node,
)
from omnizarr.integrations.xarray.store import OmnizarrDataStore
from omnizarr.integrations.xarray.variables import Convention, variable_of

OWN_SUFFIXES = (".n5", ".sqlite", ".sqlite3", ".sqldb", ".lmdb", ".dbm")
SHARED_SUFFIXES = (".zarr", ".zarr.zip", ".ozx")
"""Claimed where zarr-python is missing: with it, xarray opens them as it always did."""
OWN_SCHEMES = ("sqlite", "lmdb", "dbm", "redis", "rediss", "valkey", "valkeys", "mongodb")

Choice: TypeAlias = bool | Mapping[str, bool] | None
"""Whether to decode: all variables, or each by its name."""
TimeChoice: TypeAlias = (
    bool | xarray.coders.CFDatetimeCoder | Mapping[str, bool | xarray.coders.CFDatetimeCoder] | None
)
DurationChoice: TypeAlias = (
    bool
    | xarray.coders.CFTimedeltaCoder
    | Mapping[str, bool | xarray.coders.CFTimedeltaCoder]
    | None
)


class LoneArray(AbstractDataStore):
    """An array that is in no group, as a dataset of one variable without a name."""

    def __init__(self, array: Array, masks: bool | None, *, closes: bool) -> None:
        self._array, self._masks, self._closes = array, masks, closes

    def get_variables(self) -> dict[str, xarray.Variable]:
        """The array; dimensions without a name are called as in a new `DataArray`."""
        found = self._array.dims or (None,) * self._array.ndim
        dims = tuple(name or f"dim_{axis}" for axis, name in enumerate(found))
        convention = Convention.of(self._array, self._masks)
        return {DATAARRAY_VARIABLE: variable_of(self._array, dims, convention)}

    def get_attrs(self) -> dict[str, Any]:
        """No attributes: those of the array are the variable's."""
        return {}

    def get_dimensions(self) -> dict[Any, int]:
        """The length of every dimension."""
        return dict(self.get_variables()[DATAARRAY_VARIABLE].sizes)

    def close(self) -> None:
        """Close the store, if opening the array opened it."""
        if self._closes:
            self._array.store.close()


class OmnizarrBackend(BackendEntrypoint):
    """The engine `omnizarr` of xarray: every format and store that `omnizarr.open` takes.

    Examples
    --------
    >>> import xarray
    >>> group = omnizarr.group({})
    >>> _ = group.create_array("t", data=np.array([1.5, 2.5]), dimension_names=["x"])
    >>> xarray.open_dataset(group, engine=OmnizarrBackend)["t"].values
    array([1.5, 2.5])
    >>> dict(xarray.open_datatree(group, engine=OmnizarrBackend).sizes)
    {'x': 2}
    """

    description = "Open Zarr (every version) and N5 in any store, with omnizarr"
    supports_groups = True

    def guess_can_open(self, filename_or_obj: object) -> bool:
        """Whether xarray may choose this engine where none is named.

        Stores and groups of omnizarr are its own, and so are files and URLs that no other engine
        opens. Zarr's own suffixes are left to xarray's engine where zarr-python is installed.

        Parameters
        ----------
        filename_or_obj
            What the user wants to open.

        Returns
        -------
        bool
            Whether it looks like data of this engine.

        Examples
        --------
        >>> backend = OmnizarrBackend()
        >>> backend.guess_can_open("data.n5"), backend.guess_can_open("data.nc")
        (True, False)
        """
        if isinstance(filename_or_obj, Store | Group | Array):
            return True
        if not isinstance(filename_or_obj, str | os.PathLike):
            return False
        name = str(filename_or_obj).lower().rstrip("/")
        if name.endswith(OWN_SUFFIXES) or name.partition("://")[0] in OWN_SCHEMES:
            return True
        return name.endswith(SHARED_SUFFIXES) and not _has_zarr_python()

    def open_dataset(
        self,
        filename_or_obj: Target,
        *,
        mask_and_scale: Choice = True,
        decode_times: TimeChoice = True,
        concat_characters: Choice = True,
        decode_coords: bool | Literal["coordinates", "all"] | None = True,
        drop_variables: str | Iterable[str] | None = None,
        use_cftime: Choice = None,
        decode_timedelta: DurationChoice = None,
        group: str | None = None,
        mode: Mode = "r",
        consolidated: bool | None = None,
        storage_options: Mapping[str, object] | None = None,
        zarr_format: int | str | None = None,
        use_zarr_fill_value_as_mask: bool | None = None,
        cache_members: bool = True,
    ) -> xarray.Dataset:
        """Open one group as a dataset; see `xarray.open_dataset`.

        Parameters
        ----------
        filename_or_obj
            A path, a URL, a store or mapping, or a `Group` or `Array` of omnizarr.
        mask_and_scale, decode_times, concat_characters, decode_coords, drop_variables, \
use_cftime, decode_timedelta
            As in `xarray.open_dataset`.
        group
            Path of the group in the store.
        mode
            ``"r"`` or ``"r+"``.
        consolidated
            True requires consolidated metadata, False reads each array's own; None takes
            consolidated metadata where there are some.
        storage_options
            Options for the store of a URL.
        zarr_format
            The format to look for, where several share a path.
        use_zarr_fill_value_as_mask
            Whether values that equal the array's fill value are missing; None: yes in format 2,
            no in format 3.
        cache_members
            Whether the group is listed only once.

        Returns
        -------
        Dataset
            Its values are read when they are asked for.

        Examples
        --------
        >>> group = omnizarr.group({})
        >>> _ = group.create_array("t", data=np.array([1.5, 2.5]), dimension_names=["x"])
        >>> OmnizarrBackend().open_dataset(group)["t"].values
        array([1.5, 2.5])
        """
        found = open_node(
            _normalize_path(filename_or_obj),
            mode,
            group,
            consolidated=consolidated if consolidates(filename_or_obj) else False,
            storage_options=storage_options,
            zarr_format=zarr_format,
        )
        closes = is_ours_to_close(filename_or_obj)
        store: AbstractDataStore
        if isinstance(found, Array):
            store = LoneArray(found, use_zarr_fill_value_as_mask, closes=closes)
        else:
            store = OmnizarrDataStore(
                found,
                mode=mode,
                close_store_on_close=closes,
                use_zarr_fill_value_as_mask=use_zarr_fill_value_as_mask,
                cache_members=cache_members,
            )
        return _decoded(
            store,
            mask_and_scale=mask_and_scale,
            decode_times=decode_times,
            concat_characters=concat_characters,
            decode_coords=decode_coords,
            drop_variables=drop_variables,
            use_cftime=use_cftime,
            decode_timedelta=decode_timedelta,
        )

    def open_groups_as_dict(
        self,
        filename_or_obj: Target,
        *,
        mask_and_scale: Choice = True,
        decode_times: TimeChoice = True,
        concat_characters: Choice = True,
        decode_coords: bool | Literal["coordinates", "all"] | None = True,
        drop_variables: str | Iterable[str] | None = None,
        use_cftime: Choice = None,
        decode_timedelta: DurationChoice = None,
        group: str | None = None,
        mode: Mode = "r",
        consolidated: bool | None = None,
        storage_options: Mapping[str, object] | None = None,
        zarr_format: int | str | None = None,
        use_zarr_fill_value_as_mask: bool | None = None,
    ) -> dict[str, xarray.Dataset]:
        """Open a group and all groups below it; see `xarray.open_groups`.

        Parameters
        ----------
        filename_or_obj, mask_and_scale, decode_times, concat_characters, decode_coords, \
drop_variables, use_cftime, decode_timedelta, group, mode, consolidated, storage_options, \
zarr_format, use_zarr_fill_value_as_mask
            As in `open_dataset`.

        Returns
        -------
        dict
            A dataset for every group, by its path below `group`.

        Examples
        --------
        >>> group = omnizarr.group({})
        >>> _ = group.create_group("a")
        >>> list(OmnizarrBackend().open_groups_as_dict(group))
        ['/', '/a']
        """
        root = OmnizarrDataStore.open_group(
            _normalize_path(filename_or_obj),
            mode=mode,
            group=group,
            consolidated=consolidated,
            storage_options=storage_options,
            zarr_format=zarr_format,
            use_zarr_fill_value_as_mask=use_zarr_fill_value_as_mask,
        )
        return {
            f"/{path}": _decoded(
                store,
                mask_and_scale=mask_and_scale,
                decode_times=decode_times,
                concat_characters=concat_characters,
                decode_coords=decode_coords,
                drop_variables=drop_variables,
                use_cftime=use_cftime,
                decode_timedelta=decode_timedelta,
            )
            for path, store in root.below().items()
        }

    def open_datatree(
        self,
        filename_or_obj: Target,
        *,
        mask_and_scale: Choice = True,
        decode_times: TimeChoice = True,
        concat_characters: Choice = True,
        decode_coords: bool | Literal["coordinates", "all"] | None = True,
        drop_variables: str | Iterable[str] | None = None,
        use_cftime: Choice = None,
        decode_timedelta: DurationChoice = None,
        group: str | None = None,
        mode: Mode = "r",
        consolidated: bool | None = None,
        storage_options: Mapping[str, object] | None = None,
        zarr_format: int | str | None = None,
        use_zarr_fill_value_as_mask: bool | None = None,
    ) -> xarray.DataTree:
        """Open a group and all groups below it as a tree; see `xarray.open_datatree`.

        Parameters
        ----------
        filename_or_obj, mask_and_scale, decode_times, concat_characters, decode_coords, \
drop_variables, use_cftime, decode_timedelta, group, mode, consolidated, storage_options, \
zarr_format, use_zarr_fill_value_as_mask
            As in `open_dataset`.

        Returns
        -------
        DataTree
            The tree; its values are read when they are asked for.

        Examples
        --------
        >>> group = omnizarr.group({})
        >>> _ = group.create_array("a/t", data=np.array([1.5, 2.5]), dimension_names=["x"])
        >>> OmnizarrBackend().open_datatree(group)["a/t"].values
        array([1.5, 2.5])
        """
        return datatree_from_dict_with_io_cleanup(
            self.open_groups_as_dict(
                filename_or_obj,
                mask_and_scale=mask_and_scale,
                decode_times=decode_times,
                concat_characters=concat_characters,
                decode_coords=decode_coords,
                drop_variables=drop_variables,
                use_cftime=use_cftime,
                decode_timedelta=decode_timedelta,
                group=group,
                mode=mode,
                consolidated=consolidated,
                storage_options=storage_options,
                zarr_format=zarr_format,
                use_zarr_fill_value_as_mask=use_zarr_fill_value_as_mask,
            )
        )


# xarray fills this in for engines that it finds by name, not for `engine=OmnizarrBackend`.
OmnizarrBackend.open_dataset_parameters = tuple(
    name for name in signature(OmnizarrBackend.open_dataset).parameters if name != "self"
)


def _decoded(store: AbstractDataStore, **decoders: Any) -> xarray.Dataset:
    with close_on_error(store):
        try:
            return StoreBackendEntrypoint().open_dataset(store, **decoders)
        except AttributeError as error:  # xarray takes `coordinates` for text
            variables, own = store.load()  # type: ignore[no-untyped-call]
            told = {name: one.attrs for name, one in variables.items()}
            for name, attributes in {**told, "the group": own}.items():
                found = attributes.get("coordinates", "")
                if not isinstance(found, str):
                    raise MetadataError(
                        f"{name}: the attribute coordinates must be names with spaces between them,"
                        f" found {found!r:.60}"
                    ).advise("open it with decode_coords=False") from error
            raise


def _has_zarr_python() -> bool:
    try:
        return find_spec("zarr") is not None
    except ValueError:  # sys.modules["zarr"] is None: it was made unimportable
        return False
