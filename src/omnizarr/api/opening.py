"""Opening nodes: `open`, `open_array`, `open_group` and their kin.

Modes: "r" reads and "r+" changes what exists; "a" creates what is missing; "w" replaces, after all
arguments were checked; "w-" (or "x") creates and refuses to replace. No mode but "w" deletes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Unpack

from omnizarr import formats
from omnizarr.api.arguments import (
    Mode,
    OpenArguments,
    OpenGroupArguments,
    OpenLikeArguments,
    StorageOptions,
    checked_mode,
    format_of,
    given_of,
    one_format,
    open_store,
)
from omnizarr.config import config
from omnizarr.errors import ArrayNotFoundError, MetadataError, NodeExistsError, NodeNotFoundError
from omnizarr.formats import FormatName, Node
from omnizarr.formats.base import DEFAULT
from omnizarr.keywords import refuse_unknown, suggests
from omnizarr.model import paths
from omnizarr.model.array import ArrayModel, GroupModel
from omnizarr.model.store import Store
from omnizarr.nodes import node
from omnizarr.nodes.array import Array
from omnizarr.nodes.creation.arguments import (
    OPTIONS,
    ArrayOptions,
    ChunksLike,
    CodecsLike,
    DataTypeLike,
    Order,
    ShapeLike,
    options_from,
)
from omnizarr.nodes.node import NodeAddress, Options
from omnizarr.stores import StoreLike

if TYPE_CHECKING:
    from omnizarr.nodes.group import Group
    from omnizarr.nodes.tree import Tree


@suggests
def open(  # noqa: A001 - the name that every user of Zarr knows
    store: StoreLike = None,
    mode: Mode | None = None,
    *,
    path: str | None = None,
    storage_options: StorageOptions | None = None,
    use_consolidated: bool | str | None = None,
    **arguments: Unpack[OpenArguments],
) -> Array | Group:
    """Open an array or a group, whichever is stored.

    Where there is none and `mode` creates, a shape or data makes an array, else a group.

    Parameters
    ----------
    store
        A path, a URL, a mapping or a store; None is a new store in memory.
    mode
        ``"r"`` reads, ``"r+"`` changes what exists, ``"a"`` creates what is missing, ``"w"``
        replaces, ``"w-"`` or ``"x"`` creates and refuses to replace. By default ``"a"``, and
        ``"r"`` for a store that cannot be written.
    path
        Of the node within the store.
    storage_options
        Options for the store of a URL: credentials, region, timeouts.
    use_consolidated
        Whether to open a group through its consolidated metadata. By default only where the
        store cannot be listed.
    **arguments
        All keywords of `open_array`, or those of `open_group`.

    Returns
    -------
    Array or Group
        The node. What it reads and writes goes to the store at once.

    Raises
    ------
    NodeNotFoundError
        If there is no node and `mode` is ``"r"`` or ``"r+"``.
    NodeExistsError
        If there is a node and `mode` is ``"w-"`` or ``"x"``.

    Examples
    --------
    >>> import omnizarr
    >>> store = omnizarr.MemoryStore()
    >>> omnizarr.save_array(store, [1, 2, 3])
    >>> omnizarr.open(store, "r")[:]
    array([1, 2, 3])
    """
    backing, wanted = _opened(store, mode, storage_options)
    normal = paths.normalize_path(path)
    given: dict[str, Any] = {**arguments}
    creating = "shape" in given or "data" in given
    zarr_format = format_of(dict(given))
    found = None if wanted in ("w", "w-", "x") else node.find_in(backing, normal, zarr_format)
    if found is None and wanted in ("r", "r+"):
        raise node.not_found(NodeNotFoundError, backing, normal, zarr_format)
    if creating or (found is not None and isinstance(found[1], ArrayModel)):
        return _open_array(backing, wanted, normal, given, found)
    given = {name: value for name, value in given.items() if value is not None}
    return _open_group(backing, wanted, normal, use_consolidated, given, found)


def _opened(
    store: StoreLike, mode: str | None, storage_options: StorageOptions | None
) -> tuple[Store, str]:
    """The store and the mode: by default "a", or "r+" for a store that cannot be written. That one
    opens the same as "r", and errors then name the store as the reason, not the mode."""
    wanted = checked_mode(mode)
    backing = open_store(store, wanted, storage_options)
    return backing, "r+" if mode is None and backing.read_only else wanted


@suggests
def open_array(
    store: StoreLike = None,
    mode: Mode | None = None,
    shape: ShapeLike | None = None,
    chunks: ChunksLike = None,
    dtype: DataTypeLike = None,
    compressor: CodecsLike = "auto",
    fill_value: object = DEFAULT,
    order: Order | None = None,
    *,
    path: str | None = None,
    data: object = None,
    overwrite: bool = False,
    zarr_format: FormatName | None = None,
    zarr_version: FormatName | None = None,
    storage_options: StorageOptions | None = None,
    **arguments: Unpack[ArrayOptions],
) -> Array:
    """Open an array, or create one as `mode` says.

    Parameters
    ----------
    store, mode, path, storage_options
        As in `open`.
    shape, chunks, dtype, compressor, fill_value, order, data
        Of an array that is created. For an array that exists they have no effect: a warning names
        those that differ from what is stored.
    overwrite
        Replace what is there, as mode ``"w"`` does.
    zarr_format, zarr_version
        The format to look for, or to create. By default any format is found.
    **arguments
        All keywords of `create_array`.

    Returns
    -------
    Array
        The array.

    Raises
    ------
    NodeNotFoundError
        If there is no array and none can be created.
    ContainsGroupError
        If there is a group instead.
    NodeExistsError
        If there is a node and `mode` is ``"w-"`` or ``"x"``.

    Examples
    --------
    >>> import omnizarr
    >>> store = omnizarr.MemoryStore()
    >>> a = omnizarr.open_array(store, "w", shape=(4, 6), chunks=(2, 3), dtype="i4")
    >>> a[0] = 7
    >>> omnizarr.open_array(store, "r")[0]
    array([7, 7, 7, 7, 7, 7], dtype=int32)
    """
    backing, wanted = _opened(store, mode, storage_options)
    given = {**arguments, **given_of(shape, chunks, dtype, compressor, fill_value, order)}
    given |= {"overwrite": overwrite, "zarr_format": one_format(zarr_format, zarr_version)}
    given |= {} if data is None else {"data": data}
    return _open_array(backing, wanted, paths.normalize_path(path), given)


Found = tuple[NodeAddress, Node] | None


def _open_array(
    backing: Store, wanted: str, normal: str, arguments: dict[str, Any], found: Found = None
) -> Array:
    """`found`: the node at this path, if it was looked up already."""
    overwrite = bool(arguments.pop("overwrite", False)) or wanted == "w"
    zarr_format = format_of(arguments)
    options = options_from(arguments, node.opened_as(wanted))
    if not overwrite and wanted not in ("w-", "x"):
        found = found or node.find_in(backing, normal, zarr_format)
        if found is not None or wanted in ("r", "r+") or not {"shape", "data"} & set(arguments):
            try:
                place, model = node.as_array(found, backing, normal, zarr_format)
            except ArrayNotFoundError as error:
                if wanted != "a":
                    raise
                advice = ("give shape= or data= to create it", error.advice)
                raise error.advise("; ".join(filter(None, advice))) from error.__cause__
            opened = Array._of(place, model, options)._check()
            return _compared(opened, arguments) if arguments else opened
    from omnizarr.nodes.creation.arrays import make_array

    try:
        return make_array(backing, normal, arguments, zarr_format=zarr_format, overwrite=overwrite)
    except NodeExistsError as error:
        found = node.find_in(backing, normal, zarr_format) if wanted == "a" else None
        if found is None:
            raise _replaceable(error) from error.__cause__
        place, model = node.as_array(found, backing, normal)  # a concurrent creator was faster
        return _compared(Array._of(place, model, options)._check(), arguments)


def _compared(array: Array, arguments: dict[str, Any]) -> Array:
    """The array that is there already, with a warning if it is not what the arguments describe."""
    from omnizarr.api.ignored_arguments import warn_of_differences

    warn_of_differences(array, arguments)
    return array


def _replaceable(error: NodeExistsError) -> NodeExistsError:
    """The same error, with the advice for functions that have a mode and may lack `overwrite`."""
    if error.options != (("overwrite", True),):
        return error
    return error.advise(error.advice.replace("mode 'w' or {}", "{}"), ("mode", "w"))


@suggests
def open_group(
    store: StoreLike = None,
    mode: Mode | None = None,
    *,
    path: str | None = None,
    storage_options: StorageOptions | None = None,
    attributes: Mapping[str, object] | None = None,
    use_consolidated: bool | str | None = None,
    **arguments: Unpack[OpenGroupArguments],
) -> Group:
    """Open a group, or create one as `mode` says.

    Parameters
    ----------
    store, mode, path, storage_options, use_consolidated
        As in `open`.
    attributes
        Of a group that is created. For a group that exists they have no effect, and a warning
        says so if they differ.
    **arguments
        ``zarr_format`` (or ``zarr_version``): the format to look for, or to create. ``dialect``:
        ``"nczarr"`` creates a group of format 2 as netCDF-C writes it. Then how the arrays
        of the group behave, as in `create_array`: ``read_only``, ``write_empty_chunks``,
        ``on_missing``, ``text``, ``allow_pickle``, ``synchronizer``, ``cache_metadata``,
        ``cache_attrs``, ``chunk_store``, ``config``, ``meta_array``.

    Returns
    -------
    Group
        The group.

    Raises
    ------
    NodeNotFoundError
        If there is no group and `mode` is ``"r"`` or ``"r+"``.
    ContainsArrayError
        If there is an array instead.
    NodeExistsError
        If there is a node and `mode` is ``"w-"`` or ``"x"``.

    Examples
    --------
    >>> import omnizarr
    >>> store = omnizarr.MemoryStore()
    >>> root = omnizarr.open_group(store, "w", attributes={"title": "example"})
    >>> root["a"] = [1, 2, 3]
    >>> list(omnizarr.open_group(store, "r"))
    ['a']
    """
    backing, wanted = _opened(store, mode, storage_options)
    given: dict[str, Any] = {**arguments}
    given |= {} if attributes is None else {"attributes": attributes}
    return _open_group(backing, wanted, paths.normalize_path(path), use_consolidated, given)


def _open_group(
    backing: Store, wanted: str, normal: str, use_consolidated: bool | str | None,
    arguments: dict[str, Any], found: Found = None,
) -> Group:  # fmt: skip
    from omnizarr.api.ignored_arguments import warn_of_attributes
    from omnizarr.nodes.group import Group

    dialect = arguments.pop("dialect", None)
    zarr_format = format_of(arguments)
    made = formats.with_dialect(zarr_format, dialect)
    refuse_unknown(arguments, OPTIONS | {"attributes"}, "open_group")
    attributes = arguments.get("attributes")
    options = options_from(arguments, node.opened_as(wanted))
    if wanted not in ("w", "w-", "x"):
        found = found or node.find_in(backing, normal, zarr_format)
        if found is not None or wanted in ("r", "r+"):
            place, model = node.as_group(found, backing, normal, zarr_format)
            if use_consolidated:
                model = read_consolidated(place, model)
            elif use_consolidated is None and not backing.capabilities.listable:
                # Only this way can the members be known. Where they can be listed, the nodes
                # themselves are read, because the consolidated copy may be stale.
                model = _consolidated(place, model) or model
            return warn_of_attributes(Group._of(place, model, options), attributes)
    try:
        return make_group(backing, normal, made, attributes, options, overwrite=wanted == "w")
    except NodeExistsError as error:
        found = node.find_in(backing, normal, zarr_format) if wanted == "a" else None
        if found is None:
            raise _replaceable(error) from error.__cause__
        place, opened = node.as_group(found, backing, normal)  # a concurrent creator was faster
        return warn_of_attributes(Group._of(place, opened, options), attributes)


def read_consolidated(place: NodeAddress, known: GroupModel | None = None) -> GroupModel:
    """The group with its consolidated metadata; an error if it has none.

    known: the group, if it was read just now."""
    model = _consolidated(place, known)
    if model is None:
        raise MetadataError(
            f"{place}: no consolidated metadata; write it with omnizarr.consolidate_metadata(store)"
        )
    return model


def _consolidated(place: NodeAddress, known: GroupModel | None = None) -> GroupModel | None:
    """The group with the nodes below that its consolidated metadata name; None if it has none.

    known: the group, if it was read just now."""
    try:
        found = formats.consolidated(place.format, place.store, place.path, known)
    except MetadataError as error:
        if known is None:
            raise
        raise error.at(place.store, path=place.path) from error
    below = {} if found is None else found.consolidated or {}
    for name, model in below.items():
        node.warn_of_repair(place.child(name), model)
    return found


def make_group(
    store: Store, path: str, zarr_format: FormatName | None,
    attributes: Mapping[str, object] | None, options: Options, *, overwrite: bool,
) -> Group:  # fmt: skip
    """Create a group, its parents included."""
    from omnizarr.nodes.creation import storing
    from omnizarr.nodes.group import Group

    chosen = node.choose_format(store, path, zarr_format, config.get("default_zarr_format"))
    place = NodeAddress(store, path, chosen)
    model = chosen.new_group(dict(attributes or {}))
    model = storing.create(place, model, overwrite=overwrite)
    return Group._of(place, model, options)


@suggests
def open_like(
    a: object, path: StoreLike, *, store: StoreLike = None, **arguments: Unpack[OpenLikeArguments]
) -> Array:
    """Open an array, or create it like another if there is none.

    Parameters
    ----------
    a
        The array whose shape, type, chunks, codecs and fill value a new one gets.
    path
        Where the array is: a path or URL, a store, or a path within `store`.
    store
        The store that holds `path`.
    **arguments
        All keywords of `open_array`.

    Returns
    -------
    Array
        The array.

    Examples
    --------
    >>> import omnizarr
    >>> a = omnizarr.zeros((4, 4), chunks=2)
    >>> omnizarr.open_like(a, path="b", store={}).chunks
    (2, 2)
    """
    from omnizarr.nodes.creation.arrays import like

    given = {**like(a, arguments, filled=True), **arguments}
    where = given.pop("mode", None), given.pop("storage_options", None)
    backing, wanted = _opened(path if store is None else store, *where)
    within = None if store is None else path
    normal = paths.normalize_path(within)  # type: ignore[arg-type]  # refused there unless a str
    return _open_array(backing, wanted, normal, given)


@suggests
def tree(
    grp: StoreLike | Group, expand: bool | None = None, level: int | None = None, *,
    max_nodes: int | None = 500, plain: bool = False,
) -> Tree:  # fmt: skip
    """Draw the hierarchy below a group.

    Parameters
    ----------
    grp
        A group, or the store of one.
    expand
        Whether the HTML drawing starts unfolded.
    level
        How many levels to draw; None draws all.
    max_nodes
        The most nodes to draw; None draws all.
    plain
        A keyword of zarr-python 3, without effect: text is always plain.

    Returns
    -------
    Tree
        Prints as text, and shows as HTML in a notebook.

    Examples
    --------
    >>> import omnizarr
    >>> root = omnizarr.group()
    >>> root["a"] = [1, 2, 3]
    >>> omnizarr.tree(root)
    /
     └── a (3,) int64
    """
    from omnizarr.nodes.group import Group

    group = grp if isinstance(grp, Group) else open_group(grp, "r")
    return group.tree(expand, level, max_nodes=max_nodes, plain=plain)
