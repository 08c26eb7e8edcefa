"""The group that a user holds: a mapping from names to arrays and groups."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableMapping
from typing import Self, Unpack

from omnizarr import formats
from omnizarr.errors import (
    ContainsArrayError,
    MetadataError,
    NodeExistsError,
)
from omnizarr.keywords import suggests
from omnizarr.model import paths
from omnizarr.nodes import node
from omnizarr.nodes.array import Array
from omnizarr.nodes.creation import storing
from omnizarr.nodes.creation.arguments import (
    OpenOptions,
    check_options,
    options_from,
)
from omnizarr.nodes.group_arrays import GroupArrays
from omnizarr.nodes.metadata import Metadata
from omnizarr.nodes.node import Options
from omnizarr.stores import StoreLike, as_store


class Group(GroupArrays, MutableMapping[str, "Array | Group"]):
    """A group of arrays and groups in a store: a mapping from paths to nodes.

    Functions such as `omnizarr.open_group` and `omnizarr.create_group` return a `Group`.

    Parameters
    ----------
    store
        A store, a path, a URL or a mapping.
    path
        Path of the group in the store; the root if it is left out.
    read_only
        Whether changes are refused.
    zarr_format
        The format to look for; without it, the format is detected.
    options
        Settings of another node, instead of `read_only`.
    **arguments
        Settings, as `omnizarr.open_group` takes them.

    Raises
    ------
    GroupNotFoundError
        If no group is there.

    Examples
    --------
    >>> root = omnizarr.group()
    >>> root["a/b"] = [1, 2, 3]
    >>> root["a/b"][:]
    array([1, 2, 3])
    >>> list(root)
    ['a']
    """

    @suggests
    def __init__(
        self,
        store: StoreLike,
        path: str | None = None,
        read_only: bool = False,
        *,
        zarr_format: int | str | None = None,
        options: Options | None = None,
        **arguments: Unpack[OpenOptions],
    ) -> None:
        check_options(arguments, "Group")
        opened = options_from(arguments, options or Options(read_only=read_only))
        place, model = node.require_group(as_store(store), paths.normalize_path(path), zarr_format)
        self._set(place, model, opened)

    # -- groups -------------------------------------------------------------------------------
    @suggests
    def create_group(
        self, name: str, overwrite: bool = False, *, attributes: Mapping[str, object] | None = None
    ) -> Group:
        """Create a group in this one, and the groups between them.

        Parameters
        ----------
        name
            Path below this group.
        overwrite
            Whether a node that is there is replaced, with everything below it.
        attributes
            Attributes of the new group.

        Returns
        -------
        Group
            The new group.

        Raises
        ------
        NodeExistsError
            If a node is there and `overwrite` is false.

        Examples
        --------
        >>> omnizarr.group().create_group("a/b", attributes={"x": 1}).name
        '/a/b'
        """
        self._check_writable()
        place = self._place.child(self._relative(name))
        model = place.format.new_group(dict(attributes or {}))
        storing.create(place, model, overwrite=overwrite)
        return Group._of(place, model, self._options)

    @suggests
    def create_groups(
        self, *names: str, overwrite: bool = False,
        attributes: Mapping[str, object] | None = None,
    ) -> tuple[Group, ...]:  # fmt: skip
        """Create several groups.

        Parameters
        ----------
        *names
            Paths below this group.
        overwrite, attributes
            As in `create_group`, for each of them.

        Returns
        -------
        tuple of Group
            The new groups.
        """
        return tuple(self.create_group(name, overwrite, attributes=attributes) for name in names)

    @suggests
    def require_group(self, name: str, overwrite: bool = False) -> Group:
        """Return the group of a name; create it if there is none.

        Parameters
        ----------
        name
            Path below this group.
        overwrite
            Whether a node that is there is replaced.

        Returns
        -------
        Group
            The group.

        Raises
        ------
        ContainsArrayError
            If an array is there.

        Examples
        --------
        >>> root = omnizarr.group()
        >>> root.require_group("a") == root.require_group("a")
        True
        """
        found = None if overwrite else self._find(name)
        if found is None:
            try:
                return self.create_group(name, overwrite=overwrite)
            except NodeExistsError:
                found = self._find(name)  # a concurrent process created it
                if found is None:
                    raise
        if isinstance(found, Array):
            raise ContainsArrayError(f"{self._place}: {name!r} is an array, not a group")
        return found

    @suggests
    def require_groups(self, *names: str) -> tuple[Group, ...]:
        """Return several groups; create those that are missing.

        Parameters
        ----------
        *names
            Paths below this group.

        Returns
        -------
        tuple of Group
            The groups.
        """
        return tuple(self.require_group(name) for name in names)

    @suggests
    def create_hierarchy(
        self, nodes: Mapping[str, Metadata | Mapping[str, object]], *, overwrite: bool = False
    ) -> Iterator[tuple[str, Array | Group]]:
        """Create several nodes below this group; see `omnizarr.create_hierarchy`.

        Parameters
        ----------
        nodes
            For every path the keywords that create the node, or the `metadata` of another one.
        overwrite
            Whether nodes that are there are replaced.

        Returns
        -------
        iterator of tuple
            Path and node, parents first.

        Examples
        --------
        >>> nodes = {"g": {"attributes": {}}, "g/a": {"shape": 3, "dtype": "i4"}}
        >>> [path for path, _ in omnizarr.group().create_hierarchy(nodes)]
        ['g', 'g/a']
        """
        from omnizarr.nodes.creation.hierarchies import create_nodes

        self._check_writable()
        return create_nodes(self._place, self._options, nodes, overwrite=overwrite)

    # -- changing -----------------------------------------------------------------------------
    def __delitem__(self, name: str) -> None:
        self._check_writable()
        path = self._relative(name)
        if not path or self._locate(path) is None:
            raise self._missing(name)
        storing.remove(self.store, paths.join(self.path, path))

    def clear(self) -> None:
        """Delete every member."""
        for name in list(self):
            del self[name]

    @suggests
    def move(self, source: str, dest: str) -> None:
        """Rename a member; it may move to another group below this one.

        Parameters
        ----------
        source
            Path of the member.
        dest
            Its new path; groups between are created.

        Raises
        ------
        NodeNotFoundError
            If no node is at `source`.
        NodeExistsError
            If a node is at `dest`.

        Examples
        --------
        >>> root = omnizarr.group()
        >>> root["a"] = [1, 2, 3]
        >>> root.move("a", "b/c")
        >>> root["b/c"].shape
        (3,)
        """
        self._check_writable()
        from_path, to_path = self._relative(source), self._relative(dest)
        found = self._locate(from_path) if from_path else None
        if found is None:
            raise self._missing(source)
        taken = self._locate(to_path)
        if taken is not None:
            raise storing.exists(self._place.child(to_path), taken[1])
        if (to_path + "/").startswith(from_path + "/"):
            raise MetadataError(f"{self._place}: cannot move {source!r} into itself")
        chosen = found[0].format
        origin, target = (paths.join(self.path, path) for path in (from_path, to_path))
        formats.check_outside_drafts(self.store, target)
        chosen.check_place(self.store, target, origin)
        for ancestor in paths.ancestors(to_path)[1:]:
            self.require_group(ancestor)
        chosen.move(self.store, origin, target)

    # -- life ---------------------------------------------------------------------------------
    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.store.close()

    def __repr__(self) -> str:
        read_only = " read-only" if self.read_only else ""
        return f"<omnizarr.Group {self.name!r}{read_only} in {self.store!r}>"
