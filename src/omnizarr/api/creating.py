"""Creating nodes: `create_array`, `create_group`, `array` and their kin.

All arguments are checked before anything is stored or replaced.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal, Unpack

from omnizarr.api.arguments import (
    FromArrayArguments,
    Mode,
    OpenGroupArguments,
    PlacedOptions,
    StorageOptions,
    checked_mode,
    format_of,
    given_of,
    one_format,
    open_store,
)
from omnizarr.api.opening import make_group, open_group
from omnizarr.config import config
from omnizarr.formats import FormatName, with_dialect
from omnizarr.formats.base import DEFAULT
from omnizarr.keywords import suggests
from omnizarr.model import paths
from omnizarr.nodes import node
from omnizarr.nodes.array import Array
from omnizarr.nodes.creation.arguments import (
    ArrayOptions,
    ChunksLike,
    CodecsLike,
    DataTypeLike,
    FilledOptions,
    Order,
    ShapeLike,
)
from omnizarr.nodes.creation.arrays import like, make_array
from omnizarr.nodes.group import Group
from omnizarr.nodes.metadata import Metadata
from omnizarr.nodes.node import NodeAddress, Options
from omnizarr.stores import StoreLike


@suggests
def create_array(
    store: StoreLike = None,
    *,
    name: str | None = None,
    shape: ShapeLike | None = None,
    dtype: DataTypeLike = None,
    data: object = None,
    path: str | None = None,
    overwrite: bool = False,
    write_data: bool = True,
    zarr_format: FormatName | None = None,
    zarr_version: FormatName | None = None,
    storage_options: StorageOptions | None = None,
    **arguments: Unpack[FilledOptions],
) -> Array:
    """Create an array, with its values if `data` is given.

    Parameters
    ----------
    store
        A path, a URL, a mapping or a store; None is a new store in memory.
    name, path
        Of the array within the store; two names of one argument.
    shape
        Length of every dimension; one int makes a 1-d array. That of `data` if it is not given.
    dtype
        A NumPy dtype, or the name of a Zarr data type. That of `data`, else float64.
    data
        Values to write: an array of any library, a scalar, or nested sequences.
    overwrite
        Replace the node that is there, and everything below it.
    write_data
        False takes shape and type from `data` and writes no values.
    zarr_format
        The format: 0, 1, 2, 3, ``"3-draft2019"`` … By default that of the hierarchy it is created
        in, else `config`'s ``default_zarr_format``, 3.
    zarr_version
        Another name of `zarr_format`.
    storage_options
        Options for the store of a URL: credentials, region, timeouts; not with an open store.
    chunks
        Chunk shape: a tuple; one int for all dimensions; -1 or None for a whole dimension; a size
        such as ``"10 MB"``; False for one chunk; lists of lengths for chunks of several lengths.
        By default chosen: about 1 MiB.
    chunk_shape
        Another name of `chunks`.
    shards
        Shard shape, a multiple of the chunk shape, or a size; lists of lengths for shards of
        several lengths; True chooses one. By default none.
    compressors
        One codec or several (``"zstd"``, ``{"name": "gzip", "configuration": {"level": 1}}``, an
        object of `omnizarr.codecs` or numcodecs), ``"fast"``, or None for no compression.
    compressor
        Another name of `compressors`.
    filters
        Codecs before the serializer, in the same forms.
    serializer
        The codec that turns values into bytes.
    codecs
        The whole chain, instead of `filters`, `serializer`, `compressors` and `shards`.
    compression, compression_opts
        h5py's and zarr 1's words for a compressor: ``"gzip"`` and a level, say.
    cname, clevel, shuffle
        zarr 0's words for Blosc.
    object_codec
        The codec for Python objects in format 2.
    fill_value
        What missing chunks read as. None is no fill value, where the format has such.
    order
        Layout of values in a chunk: ``"C"`` or ``"F"``.
    dimension_names
        A name, or None, for every dimension.
    attributes
        The attributes of the array.
    chunk_key_encoding
        How keys of chunks are written: ``"default"`` or ``"v2"``, or a mapping with the separator.
    dimension_separator
        What stands between the indices in a key: ``"."`` or ``"/"``.
    write_empty_chunks
        Store chunks that hold nothing but the fill value, too.
    on_missing
        What reading a missing chunk does: ``"fill"`` (by default) or ``"raise"``.
    text
        What text reads as: ``"string"`` (NumPy's StringDType), ``"object"`` or ``"bytes"``.
    read_only
        Refuse changes through the new object.
    allow_pickle
        Run the pickle codec, which runs code from the data.
    chunk_store
        Another store for the chunks.
    synchronizer
        A `ThreadSynchronizer` or `ProcessSynchronizer` to hold as well. Writes are safe without.
    cache_metadata, cache_attrs
        False reads the metadata, or the attributes, again at every use.
    config
        zarr-python's mapping of settings: ``"order"``, ``"write_empty_chunks"`` and
        ``"read_missing_chunks"``.
    meta_array
        zarr-python's type of the values that are read; only NumPy's is accepted.
    partial_decompress
        Accepted for scripts of zarr-python, where it changes the speed alone; without effect.
    storage_transformers
        None are defined: anything but an empty list is refused.
    **arguments
        The keywords from `chunks` on.

    Returns
    -------
    Array
        The new array.

    Raises
    ------
    NodeExistsError
        If there is a node already, and `overwrite` is False.
    MetadataError
        If an argument does not fit the others, or the format cannot express it.

    Examples
    --------
    >>> import omnizarr
    >>> store = omnizarr.MemoryStore()
    >>> a = omnizarr.create_array(store, name="a", shape=(100, 100), chunks=(10, 10), dtype="i4")
    >>> a[:10] = 1
    >>> int(a[...].sum())
    1000
    >>> omnizarr.create_array(store, name="b", data=[1.5, 2.5], compressors="gzip")[:]
    array([1.5, 2.5])
    """
    given = {**arguments, **present(shape=shape, dtype=dtype, data=data)}
    return make_array(
        open_store(store, "a", storage_options), paths.normalize_path(name or path), given,
        zarr_format=one_format(zarr_format, zarr_version), overwrite=overwrite,
        write_data=write_data,
    )  # fmt: skip


def present(**arguments: object) -> dict[str, Any]:
    """The arguments that are not None."""
    return {name: value for name, value in arguments.items() if value is not None}


@suggests
def create(
    shape: ShapeLike | None = None,
    chunks: ChunksLike = None,
    dtype: DataTypeLike = None,
    compressor: CodecsLike = "auto",
    fill_value: object = DEFAULT,
    order: Order | None = None,
    *,
    store: StoreLike = None,
    path: str | None = None,
    data: object = None,
    overwrite: bool = False,
    mode: Mode | None = None,
    zarr_format: FormatName | None = None,
    zarr_version: FormatName | None = None,
    storage_options: StorageOptions | None = None,
    **arguments: Unpack[ArrayOptions],
) -> Array:
    """Create an array, with the positional arguments of zarr-python 2.

    Parameters
    ----------
    shape, chunks, dtype, compressor, fill_value, order, data
        As in `create_array`.
    store, path, storage_options
        Where to create it; by default in memory.
    overwrite, mode
        Replace the node that is there: ``overwrite=True`` or ``mode="w"``.
    zarr_format, zarr_version, **arguments
        All keywords of `create_array`.

    Returns
    -------
    Array
        The new array.

    Raises
    ------
    NodeExistsError
        If there is a node already that must not be replaced.

    Examples
    --------
    >>> import omnizarr
    >>> omnizarr.create((4, 6), chunks=(2, 3), dtype="i4")
    <omnizarr.Array '/' (4, 6) int32 in MemoryStore(<1 keys>)>
    """
    given = {**arguments, **given_of(shape, chunks, dtype, compressor, fill_value, order)}
    given |= present(data=data, zarr_format=one_format(zarr_format, zarr_version))
    given |= present(store=store, path=path, mode=mode, storage_options=storage_options)
    return create_from({**given, "overwrite": overwrite})


def create_from(arguments: dict[str, Any]) -> Array:
    """Create an array from the keywords of `create`."""
    zarr_format = format_of(arguments)
    mode = arguments.pop("mode", None)
    if mode is not None and checked_mode(mode) in ("r", "r+"):
        raise ValueError(f"create() makes a new array, which is read-only in mode {mode!r}")
    overwrite = arguments.pop("overwrite", False) or mode == "w"
    place = [arguments.pop(name, None) for name in ("store", "path", "storage_options")]
    return make_array(
        open_store(place[0], "w" if overwrite else "a", place[2]), paths.normalize_path(place[1]),
        arguments, zarr_format=zarr_format, overwrite=overwrite,
    )  # fmt: skip


@suggests
def create_group(
    store: StoreLike = None,
    *,
    path: str | None = None,
    zarr_format: FormatName | None = None,
    dialect: Literal["nczarr"] | None = None,
    overwrite: bool = False,
    attributes: Mapping[str, object] | None = None,
    storage_options: StorageOptions | None = None,
) -> Group:
    """Create a group.

    Parameters
    ----------
    store, path, zarr_format, storage_options
        As in `create_array`.
    dialect
        ``"nczarr"``: format 2 as netCDF-C writes it. Groups and arrays that are created below this
        one are of the same dialect.
    overwrite
        Replace the node that is there, and everything below it.
    attributes
        The attributes of the group.

    Returns
    -------
    Group
        The new group.

    Raises
    ------
    NodeExistsError
        If there is a node already, and `overwrite` is False.

    Examples
    --------
    >>> import omnizarr
    >>> root = omnizarr.create_group({}, attributes={"title": "example"})
    >>> root.attrs["title"]
    'example'
    """
    backing = open_store(store, "w" if overwrite else "a", storage_options)
    return make_group(
        backing, paths.normalize_path(path), with_dialect(zarr_format, dialect), attributes,
        Options(), overwrite=overwrite,
    )  # fmt: skip


@suggests
def group(
    store: StoreLike = None,
    overwrite: bool = False,
    *,
    path: str | None = None,
    storage_options: StorageOptions | None = None,
    attributes: Mapping[str, object] | None = None,
    **arguments: Unpack[OpenGroupArguments],
) -> Group:
    """Open a group, and create it if there is none.

    Parameters
    ----------
    store, path, storage_options
        As in `create_group`.
    overwrite
        Replace the node that is there, and everything below it.
    attributes
        Of a group that is created.
    **arguments
        All keywords of `open_group`.

    Returns
    -------
    Group
        The group.

    Examples
    --------
    >>> import omnizarr
    >>> root = omnizarr.group()
    >>> root["a"] = [1, 2, 3]
    >>> root["a"][:]
    array([1, 2, 3])
    """
    return open_group(
        store, "w" if overwrite else "a", path=path, storage_options=storage_options,
        attributes=attributes, **arguments,
    )  # fmt: skip


@suggests
def create_hierarchy(
    *,
    store: StoreLike,
    nodes: Mapping[str, Mapping[str, object] | Metadata],
    overwrite: bool = False,
    zarr_format: FormatName | None = None,
    storage_options: StorageOptions | None = None,
) -> Iterator[tuple[str, Array | Group]]:
    """Create several nodes, parents first.

    Parameters
    ----------
    store, zarr_format, storage_options
        As in `create_array`.
    nodes
        Paths, each with the keywords of `create_array`, with ``{"attributes": …}`` or ``{}`` for a
        group, or with the `metadata` of another node.
    overwrite
        Replace the nodes that are there.

    Returns
    -------
    Iterator[tuple[str, Array | Group]]
        The path of each node, and the node. All are created before the first is given.

    Examples
    --------
    >>> import omnizarr
    >>> nodes = {"g": {"attributes": {"a": 1}}, "g/x": {"shape": (3,), "dtype": "i4"}}
    >>> made = dict(omnizarr.create_hierarchy(store={}, nodes=nodes))
    >>> made["g/x"].shape
    (3,)
    """
    backing = open_store(store, "a", storage_options)
    chosen = node.choose_format(backing, "", zarr_format, config.get("default_zarr_format"))
    from omnizarr.nodes.creation.hierarchies import create_nodes

    return create_nodes(NodeAddress(backing, "", chosen), Options(), nodes, overwrite=overwrite)


@suggests
def array(
    data: object,
    *,
    shape: ShapeLike | None = None,
    fill_value: object = DEFAULT,
    **arguments: Unpack[PlacedOptions],
) -> Array:
    """Create an array that holds `data`.

    Parameters
    ----------
    data
        An array of any library, a scalar, or nested sequences. A new array gets the chunks, codecs
        and fill value of an `Array`.
    shape, fill_value, **arguments
        All keywords of `create`; by default the array is in memory.

    Returns
    -------
    Array
        The new array.

    Examples
    --------
    >>> import omnizarr
    >>> omnizarr.array([[1, 2], [3, 4]], chunks=(1, 2))
    <omnizarr.Array '/' (2, 2) int64 in MemoryStore(<3 keys>)>
    """
    given = like(data, arguments, filled=True) if isinstance(data, Array) else {}
    given |= {} if fill_value is DEFAULT else {"fill_value": fill_value}
    return create_from({**given, **present(shape=shape), **arguments, "data": data})


@suggests
def from_array(
    store: StoreLike,
    *,
    data: object,
    write_data: bool = True,
    name: str | None = None,
    **arguments: Unpack[FromArrayArguments],
) -> Array:
    """Create an array like another, with its values.

    Parameters
    ----------
    store, name
        Where to create it, as in `create_array`.
    data
        An array of any library. That of an `Array` are copied: chunks, shards, codecs, fill value,
        dimension names and attributes.
    write_data
        False writes no values.
    **arguments
        All keywords of `create_array` but shape, to differ from `data`; ``"keep"`` is as if not
        given.

    Returns
    -------
    Array
        The new array.

    Examples
    --------
    >>> import omnizarr
    >>> a = omnizarr.array([[1, 2], [3, 4]], chunks=(1, 2), dimension_names=("y", "x"))
    >>> b = omnizarr.from_array({}, data=a, chunks=(2, 2))
    >>> b.chunks, b.dims
    ((2, 2), ('y', 'x'))
    """
    given = {key: value for key, value in arguments.items() if not _is_keep(value)}
    found = like(data, given, filled=True)
    if isinstance(data, Array):
        found["attributes"] = data.attrs.asdict()
    if "chunks" in given:
        found.pop("shards", None)
    merged = {**found, **given}
    del merged["shape"]
    return create_array(store, name=name, data=data, write_data=write_data, **merged)


def _is_keep(value: object) -> bool:
    return isinstance(value, str) and value == "keep"
