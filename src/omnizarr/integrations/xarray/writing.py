"""`to_zarr`: write a Dataset, a DataArray or a DataTree, with all of xarray's rules.

This module knows xarray's writers. It must not know arrays.
"""

# xarray's functions have no annotations here.
# mypy: disable-error-code="no-untyped-call"

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import TYPE_CHECKING, Literal, cast

import xarray

# Not public in xarray: how it names a DataArray in a file, checks names, chooses a mode, collects
# values and writes them; every backend that writes goes this way.
from xarray.backends.api import (
    DATAARRAY_NAME,
    DATAARRAY_VARIABLE,
    delayed_close_after_writes,
)
from xarray.backends.common import ArrayWriter, _normalize_path
from xarray.backends.writers import _validate_dataset_names, dump_to_store
from xarray.backends.zarr import _choose_default_mode

import omnizarr
from omnizarr.errors import OverlapError
from omnizarr.integrations.xarray.opening import Target, consolidates, is_ours_to_close
from omnizarr.integrations.xarray.store import OmnizarrDataStore, Region
from omnizarr.keywords import suggests
from omnizarr.stores import as_store

if TYPE_CHECKING:
    from dask.delayed import Delayed

WriteMode = Literal["w", "w-", "a", "a-", "r+"]
Encoding = Mapping[Hashable, Mapping[str, object]]


@suggests
def to_zarr(
    obj: xarray.Dataset | xarray.DataArray | xarray.DataTree,
    store: Target = None,
    mode: WriteMode | None = None,
    group: str | None = None,
    encoding: Encoding | None = None,
    *,
    compute: bool = True,
    consolidated: bool | None = None,
    append_dim: Hashable | None = None,
    region: Region | None = None,
    safe_chunks: bool = True,
    align_chunks: bool = False,
    storage_options: Mapping[str, object] | None = None,
    zarr_format: int | str | None = None,
    write_empty_chunks: bool | None = None,
    write_inherited_coords: bool = False,
    chunkmanager_store_kwargs: Mapping[str, object] | None = None,
) -> OmnizarrDataStore | Delayed:
    """Write a Dataset, a DataArray or a DataTree; the arguments are those of xarray's `to_zarr`.

    Parameters
    ----------
    obj
        What to write. Dask arrays are written in parallel, chunk by chunk.
    store
        A path, a URL, a store or mapping, or a `Group` of omnizarr; None is a new store in memory.
    mode
        ``"w"`` replaces, ``"w-"`` refuses to replace, ``"a"`` adds and overwrites variables,
        ``"a-"`` appends and leaves variables without `append_dim` as they are, ``"r+"`` changes
        values alone. By default ``"a"`` with `append_dim`, ``"r+"`` with `region`, else ``"w-"``.
    group
        Path of the group in the store.
    encoding
        For every new variable how it is stored: ``chunks``, ``shards``, ``compressors``,
        ``filters``, ``serializer``, ``fill_value``, ``chunk_key_encoding``,
        ``write_empty_chunks``, and CF's ``dtype``, ``scale_factor``, ``_FillValue``, ``units`` …
        For a tree, the same by path of the group.
    compute
        False writes the metadata, and returns a Dask object that writes the values of Dask arrays.
    consolidated
        Whether the metadata are consolidated; None: where the store and the format can.
    append_dim
        The dimension along which stored variables grow.
    region
        Where to write in stored variables: a slice for each dimension, ``"auto"`` to find it from
        the coordinates.
    safe_chunks
        Refuse Dask chunks of which two would write one chunk, or one shard.
    align_chunks
        Rechunk Dask arrays, so that no two chunks write one chunk or shard.
    storage_options
        Options for the store of a URL.
    zarr_format
        The format of a new store; that of the configuration if it is left out.
    write_empty_chunks
        Whether chunks that hold nothing but the fill value are stored.
    write_inherited_coords
        Of a tree: whether coordinates of parents are stored in every group.
    chunkmanager_store_kwargs
        Arguments for the function that stores chunked arrays, of Dask `dask.array.store`.

    Returns
    -------
    OmnizarrDataStore or Delayed
        The store that was written; with ``compute=False`` a Dask object.

    Raises
    ------
    ValueError
        If mode, region, encoding or chunks do not fit each other or what is stored.

    Examples
    --------
    >>> import xarray
    >>> from omnizarr.integrations.xarray import to_zarr
    >>> store = omnizarr.MemoryStore()
    >>> _ = to_zarr(xarray.Dataset({"t": ("x", [1, 2, 3])}), store)
    >>> int(xarray.open_dataset(store, engine="omnizarr").t.sum())
    6
    """
    encoding = encoding or {}
    if isinstance(obj, xarray.DataTree):
        if group is not None or append_dim is not None:
            raise NotImplementedError(
                "a DataTree is written to the root of a store, and cannot be appended to: leave"
                " out group= and append_dim=, or write one group at a time"
            )
        parts = _parts_of(obj, encoding, inherited=write_inherited_coords)
    else:
        dataset = _dataset(obj) if isinstance(obj, xarray.DataArray) else obj
        parts = [("", dataset, encoding)]
    for _, dataset, _ in parts:
        _validate_dataset_names(dataset)
    chosen = _choose_default_mode(mode=mode, append_dim=append_dim, region=region)
    if chosen == "w":
        _check_apart(parts, store, group, storage_options)
    root = OmnizarrDataStore.open_group(
        _normalize_path(store),
        mode=chosen,
        group=group,
        consolidated=consolidated if chosen == "r+" else False,
        storage_options=storage_options,
        append_dim=append_dim,
        write_region=region,
        safe_chunks=safe_chunks,
        align_chunks=align_chunks,
        zarr_format=zarr_format,
        write_empty=write_empty_chunks,
    )
    writer = ArrayWriter()
    try:
        for path, dataset, how in parts:
            target = root.get_child_store(path) if path else root
            dataset = target._validate_and_autodetect_region(dataset)
            target._validate_encoding(how)
            dump_to_store(dataset, target, writer, encoding=how)
        if chosen != "r+" and consolidated is not False and consolidates(store):
            root.consolidate()
        writes = writer.sync(compute=compute, chunkmanager_store_kwargs=chunkmanager_store_kwargs)
    finally:
        if compute:
            root.close()
    return root if compute else delayed_close_after_writes(writes, root)


def _check_apart(
    parts: list[tuple[str, xarray.Dataset, Encoding]],
    store: Target,
    group: str | None,
    storage_options: Mapping[str, object] | None,
) -> None:
    """Raise an OverlapError if the group that is replaced holds values that are not read yet."""
    path = (group or "").strip("/")
    if isinstance(store, omnizarr.Group):
        path = "/".join(filter(None, (store.path, path)))
        store = store.store
    try:
        found = as_store(_normalize_path(store), mode="r", storage_options=storage_options)
    except (OSError, omnizarr.errors.ZarrError):
        return  # nothing is stored there
    try:
        for _, dataset, _ in parts:
            for name, variable in dataset.variables.items():
                data = variable._data
                while hasattr(data, "array"):  # xarray's wrappers around what an engine has opened
                    data = data.array
                try:
                    omnizarr.storage.check_apart(data, found, path)
                except OverlapError as error:
                    raise OverlapError(
                        f"variable {name!r}: {error}; load() of the dataset reads them first"
                    ) from error
    finally:
        if is_ours_to_close(store):
            found.close()


def _dataset(array: xarray.DataArray) -> xarray.Dataset:
    """A dataset of one variable, from which `xarray.open_dataarray` gets the name back."""
    if array.name is not None and array.name not in {*array.coords, *array.dims}:
        return array.to_dataset()
    dataset = array.to_dataset(name=DATAARRAY_VARIABLE)
    if array.name is not None:
        dataset.attrs[DATAARRAY_NAME] = array.name
    return dataset


def _parts_of(
    tree: xarray.DataTree, encoding: Encoding, *, inherited: bool
) -> list[tuple[str, xarray.Dataset, Encoding]]:
    """Path, dataset and encoding of every group of a tree."""
    unknown = set(encoding) - set(tree.groups)
    if unknown:
        raise ValueError(
            f"unexpected encoding group name(s) provided: {unknown}; the tree has {tree.groups}"
        )
    return [
        (
            "" if node is tree else path,
            node.to_dataset(inherit=inherited or node is tree),
            cast(Encoding, encoding.get(node.path) or {}),
        )
        for path, node in tree.subtree_with_keys
    ]
