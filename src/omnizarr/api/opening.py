"""Opening nodes: `open`, `open_array`, `open_group` and their kin.

Modes: "r" reads and "r+" changes what exists; "a" creates what is missing; "w" replaces, after all
arguments were checked; "w-" (or "x") creates and refuses to replace. No mode but "w" deletes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from omnizarr import formats
from omnizarr.api import consolidation
from omnizarr.api.ignored_arguments import warn_of_attributes, warn_of_differences
from omnizarr.config import config
from omnizarr.errors import MetadataError, NodeExistsError, NodeNotFoundError, StoreError
from omnizarr.formats import Node
from omnizarr.keywords import suggests
from omnizarr.model import paths
from omnizarr.model.array import ArrayModel
from omnizarr.model.store import Store
from omnizarr.nodes import node
from omnizarr.nodes.array import Array
from omnizarr.nodes.creation.arguments import check_arguments, check_options, options_from
from omnizarr.nodes.creation.arrays import like, make_array
from omnizarr.nodes.group import Group
from omnizarr.nodes.node import Options, Place
from omnizarr.nodes.tree import Tree
from omnizarr.stores import as_store

_MODES = ("r", "r+", "a", "w", "w-", "x")


def checked_mode(mode: str | None, default: str = "a") -> str:
    mode = default if mode is None else mode
    if mode not in _MODES:
        raise ValueError(f"mode must be one of {', '.join(map(repr, _MODES))}, found {mode!r}")
    return mode


def open_store(store: Any, mode: str, storage_options: Any) -> Store:
    """The store for a call. An archive is not started anew by mode "w": what it holds is replaced
    by `node.create`, once all arguments were checked."""
    if mode == "w":
        try:
            return as_store(store, mode="a", storage_options=storage_options)
        except StoreError:  # a file that is no archive can only be replaced
            pass
    return as_store(store, mode=mode, storage_options=storage_options)


def format_of(arguments: dict[str, Any]) -> Any:
    """`zarr_format=`, or the older `zarr_version=`; neither is left among the arguments."""
    version, chosen = arguments.pop("zarr_version", None), arguments.pop("zarr_format", None)
    if version is None or chosen is None:
        return chosen if version is None else version
    if formats.get_format(version) is not formats.get_format(chosen):
        raise ValueError(
            f"zarr_version={version!r} and zarr_format={chosen!r} disagree; give one of them"
        )
    return chosen


POSITIONAL = ("chunks", "dtype", "compressor", "fill_value", "order")
"""What zarr-python 2 takes by position behind a shape."""


def named(positional: tuple[Any, ...], names: tuple[str, ...], function: str) -> dict[str, Any]:
    if len(positional) > len(names):
        raise TypeError(f"{function}() takes at most {len(names)} more positional arguments")
    return dict(zip(names, positional, strict=False))


def open(  # noqa: A001 - the name that every user of Zarr knows
    store: Any = None,
    mode: str | None = None,
    *,
    path: str | None = None,
    storage_options: Mapping[str, Any] | None = None,
    use_consolidated: bool | None = None,
    **arguments: Any,
) -> Array | Group:
    """Open what is stored, array or group; with arguments for an array, create one as mode says."""
    backing, wanted = _opened(store, mode, storage_options)
    normal = paths.normalize_path(path)
    creating = "shape" in arguments or "data" in arguments
    zarr_format = format_of(dict(arguments))
    found = None if wanted in ("w", "w-", "x") else node.find_in(backing, normal, zarr_format)
    if found is None and wanted in ("r", "r+"):
        raise NodeNotFoundError(node.not_found("array or group", backing, normal, zarr_format))
    if creating or (found is not None and isinstance(found[1], ArrayModel)):
        return _open_array(backing, wanted, normal, arguments, found)
    arguments = {name: value for name, value in arguments.items() if value is not None}
    return _open_group(backing, wanted, normal, use_consolidated, arguments, found)


def _opened(store: Any, mode: str | None, storage_options: Any) -> tuple[Store, str]:
    """The store, and the mode: where nothing was said, "a", or "r" of what cannot be written."""
    wanted = checked_mode(mode)
    backing = open_store(store, wanted, storage_options)
    return backing, "r" if mode is None and backing.read_only else wanted


def open_array(
    store: Any = None,
    mode: str | None = None,
    *positional: Any,
    path: str | None = None,
    storage_options: Mapping[str, Any] | None = None,
    **arguments: Any,
) -> Array:
    """Open an array, creating it as `mode` says; the keywords are those of `create_array`."""
    arguments |= named(positional, ("shape", *POSITIONAL), "open_array")
    backing, wanted = _opened(store, mode, storage_options)
    return _open_array(backing, wanted, paths.normalize_path(path), arguments)


Found = tuple[Place, Node] | None


def _open_array(
    backing: Store, wanted: str, normal: str, arguments: dict[str, Any], found: Found = None
) -> Array:
    """`found`: what lies there, if somebody has looked already."""
    overwrite = bool(arguments.pop("overwrite", False)) or wanted == "w"
    zarr_format = format_of(arguments)
    check_arguments(arguments, "open_array")
    options = options_from(arguments, Options(read_only=wanted == "r"))
    if not overwrite and wanted not in ("w-", "x"):
        found = found or node.find_in(backing, normal, zarr_format)
        if found is not None or wanted in ("r", "r+") or not {"shape", "data"} & set(arguments):
            place, model = node.as_array(found, backing, normal, zarr_format)
            opened = Array._of(place, model, options)._check()
            warn_of_differences(opened, arguments)
            return opened
    try:
        return make_array(
            backing, normal, arguments, zarr_format=zarr_format, overwrite=overwrite,
            function="open_array",
        )  # fmt: skip
    except NodeExistsError:
        found = node.find_in(backing, normal, zarr_format) if wanted == "a" else None
        if found is None:
            raise
        place, model = node.as_array(found, backing, normal)  # somebody else was faster
        opened = Array._of(place, model, options)._check()
        warn_of_differences(opened, arguments)
        return opened


def open_group(
    store: Any = None,
    mode: str | None = None,
    *,
    path: str | None = None,
    storage_options: Mapping[str, Any] | None = None,
    attributes: Mapping[str, Any] | None = None,
    use_consolidated: bool | str | None = None,
    **arguments: Any,
) -> Group:
    """Open a group, creating it as `mode` says."""
    backing, wanted = _opened(store, mode, storage_options)
    arguments |= {} if attributes is None else {"attributes": attributes}
    return _open_group(backing, wanted, paths.normalize_path(path), use_consolidated, arguments)


def _open_group(
    backing: Store, wanted: str, normal: str, use_consolidated: bool | str | None,
    arguments: dict[str, Any], found: Found = None,
) -> Group:  # fmt: skip
    zarr_format = format_of(arguments)
    check_options(arguments, "open_group", ("attributes",))
    attributes = arguments.get("attributes")
    options = options_from(arguments, Options(read_only=wanted == "r"))
    if wanted not in ("w", "w-", "x"):
        found = found or node.find_in(backing, normal, zarr_format)
        if found is not None or wanted in ("r", "r+"):
            place, model = node.as_group(found, backing, normal, zarr_format)
            if use_consolidated:
                model = consolidation.read(place)
            elif use_consolidated is None and not backing.capabilities.listable:
                # What cannot be listed can be browsed this way only; elsewhere the nodes
                # themselves are asked, because a consolidated copy of them may be stale.
                model = consolidation.read_if_there(place, model) or model
            return warn_of_attributes(Group._of(place, model, options), attributes)
    try:
        return make_group(
            backing, normal, zarr_format, attributes, options, overwrite=wanted == "w"
        )
    except NodeExistsError:
        found = node.find_in(backing, normal, zarr_format) if wanted == "a" else None
        if found is None:
            raise
        place, opened = node.as_group(found, backing, normal)  # somebody else was faster
        return warn_of_attributes(Group._of(place, opened, options), attributes)


def make_group(
    store: Store, path: str, zarr_format: Any, attributes: Any, options: Options, *, overwrite: bool
) -> Group:
    chosen = node.choose_format(store, path, zarr_format, config.get("default_zarr_format"))
    place = Place(store, path, chosen)
    model = chosen.new_group(dict(attributes or {}))
    node.create(place, model, overwrite=overwrite)
    return Group._of(place, model, options)


def open_consolidated(store: Any, mode: str = "r+", **arguments: Any) -> Group:
    """Open a group through its consolidated metadata; an error if it has none."""
    if mode not in ("r", "r+"):
        raise ValueError(f"open_consolidated takes mode 'r' or 'r+', found {mode!r}")
    return open_group(store, mode, use_consolidated=True, **arguments)


def consolidate_metadata(
    store: Any, path: str | None = None, zarr_format: Any = None,
    storage_options: Mapping[str, Any] | None = None, metadata_key: str = ".zmetadata",
) -> Group:  # fmt: skip
    """Write all metadata below a group into one document, and open the group through it.

    metadata_key: zarr-python 2's; the name of the document is the format's affair."""
    if metadata_key != ".zmetadata":
        raise MetadataError(f"metadata_key: only '.zmetadata' is known, found {metadata_key!r}")
    backing = as_store(store, mode="r+", storage_options=storage_options)
    place, _model = node.require_group(backing, paths.normalize_path(path), zarr_format)
    backing.check_writable()
    consolidation.write(place)
    return Group._of(place, consolidation.read(place), Options())


def open_like(a: Any, path: Any, *, store: Any = None, **arguments: Any) -> Array:
    """Open an array, creating it like another if there is none.

    Parameters
    ----------
    a
        The array whose shape, type, chunks and codecs a new one gets.
    path
        Where the array is: a path or URL, a store, or a path within `store`.
    store
        The store that `path` lies in.
    **arguments
        Keywords of `open_array`.

    Examples
    --------
    >>> import omnizarr
    >>> a = omnizarr.zeros((4, 4), chunks=2)
    >>> omnizarr.open_like(a, path="b", store={}).chunks
    (2, 2)
    """
    where = {} if store is None else {"path": path}
    return open_array(
        path if store is None else store, **{**like(a, filled=True), **arguments, **where}
    )


@suggests
def tree(
    grp: Any, expand: bool | None = None, level: int | None = None, *,
    max_nodes: int | None = 500, plain: bool = False,
) -> Tree:  # fmt: skip
    """The hierarchy below a group, or what is opened as one, as a drawing; see `Group.tree`."""
    group = grp if isinstance(grp, Group) else open_group(grp, "r")
    return group.tree(expand, level, max_nodes=max_nodes, plain=plain)
