"""The members of a group: find them by path, list them, visit them, draw them.

`GroupMembers` is the base of `Group`, which creates and deletes members.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar, cast

from omnizarr.errors import NodeNotFoundError, NodeTypeError
from omnizarr.formats.base import Node
from omnizarr.keywords import suggests
from omnizarr.model.array import ArrayModel, GroupModel
from omnizarr.nodes import member_lookup
from omnizarr.nodes.array import Array
from omnizarr.nodes.info import SHOWN, GroupInfo, group_html
from omnizarr.nodes.missing_nodes import NoAttribute
from omnizarr.nodes.node import NodeAddress
from omnizarr.nodes.node_facts import NodeFacts
from omnizarr.nodes.tree import Tree

if TYPE_CHECKING:
    from omnizarr.nodes.group import Group

D = TypeVar("D")
R = TypeVar("R")


class GroupMembers(NodeFacts[GroupModel], Mapping[str, "Array | Group"]):
    """The base of `Group`; not of use by itself."""

    def _replace(self, model: GroupModel) -> None:
        before: GroupModel | None = self.__dict__.get("_stored")
        if before is not None and model.consolidated is None:
            model = replace(model, consolidated=before.consolidated)
        super()._replace(model)

    @property
    def info(self) -> GroupInfo:
        """Report of the group's facts, as text and as HTML. It does not read the store.

        Examples
        --------
        >>> print(omnizarr.group().info)  # doctest: +ELLIPSIS
        Name        : /
        Type        : omnizarr.Group
        ...
        """
        return GroupInfo(self._group)

    def info_complete(self) -> GroupInfo:
        """Report the group's facts and its members. It lists the store.

        Returns
        -------
        GroupInfo
            The report, as text and as HTML.

        Examples
        --------
        >>> dict(omnizarr.group().info_complete().items())["No. members"]
        '0'
        """
        return GroupInfo(self._group, listed=True)

    def info_items(self) -> list[tuple[str, str]]:
        """List the rows of `info`.

        Returns
        -------
        list of tuple of str
            Name and value of every row.

        Examples
        --------
        >>> omnizarr.group().info_items()[0]
        ('Name', '/')
        """
        return self.info.items()

    # -- one member ---------------------------------------------------------------------------
    @property
    def _group(self) -> Group:
        return cast("Group", self)

    def _wrap(self, path: str, model: Node, place: NodeAddress) -> Array | Group:
        """The object for a member. `path` is relative to this group."""
        if isinstance(model, ArrayModel):
            array = Array._of(place, model, self._options)
            if self._stored.consolidated is not None:
                array._freshness.forget()  # its own document was not read
            return array
        model = member_lookup.with_consolidated(self._stored, path, model)
        return self._group._of(place, model, self._options)

    def _members(self) -> dict[str, Node]:
        return member_lookup.children(self._place, self._stored)

    def _locate(self, path: str) -> tuple[NodeAddress, Node] | None:
        return member_lookup.locate(self._place, self._stored, path)

    def _find(self, path: str) -> Array | Group | None:
        relative = self._relative(path)
        if not relative:
            return self._group
        found = self._locate(relative)
        if found is None:
            return None
        member = self._wrap(relative, found[1], found[0])
        return member._check() if isinstance(member, Array) else member

    def _relative(self, path: str) -> str:
        return member_lookup.relative(self._place, path)

    def _missing(self, path: str, kind: str = "member") -> NodeNotFoundError:
        return member_lookup.missing(self._place, self._stored, path, kind)

    def __getitem__(self, path: str) -> Array | Group:
        member = self._find(path)
        if member is None:
            raise self._missing(path)
        return member

    @suggests
    def get(  # type: ignore[override]  # `path` may be named
        self, path: str | None = None, default: D | None = None, *, key: str | None = None
    ) -> Array | Group | D | None:
        """Return the member at a path, or a default if there is none.

        Parameters
        ----------
        path
            Path of the member below this group; a leading "/" starts at the store's root.
        default
            What to return if no node is there.
        key
            Another name for `path`.

        Returns
        -------
        Array or Group
            The member, or `default`.

        Examples
        --------
        >>> omnizarr.group().get("missing", "nothing")
        'nothing'
        """
        member = self._find(path if path is not None else cast(str, key))
        return default if member is None else member

    @suggests
    def get_array(self, path: str) -> Array:
        """Return the array at a path.

        Parameters
        ----------
        path
            Path of the array below this group.

        Returns
        -------
        Array
            The array.

        Raises
        ------
        ArrayNotFoundError
            If no node is there.
        NodeTypeError
            If the node is a group.

        Examples
        --------
        >>> root = omnizarr.group()
        >>> root["a"] = [1, 2, 3]
        >>> root.get_array("a").shape
        (3,)
        """
        member = self.get(path)
        if member is None:
            raise self._missing(path, "array")
        if not isinstance(member, Array):
            raise NodeTypeError(f"{self._place}: {path!r} is a group, not an array")
        return member

    @suggests
    def get_group(self, path: str) -> Group:
        """Return the group at a path.

        Parameters
        ----------
        path
            Path of the group below this one.

        Returns
        -------
        Group
            The group.

        Raises
        ------
        GroupNotFoundError
            If no node is there.
        NodeTypeError
            If the node is an array.

        Examples
        --------
        >>> root = omnizarr.group()
        >>> _ = root.create_group("a")
        >>> root.get_group("a").name
        '/a'
        """
        member = self.get(path)
        if member is None:
            raise self._missing(path, "group")
        if isinstance(member, Array):
            raise NodeTypeError(f"{self._place}: {path!r} is an array, not a group")
        return member

    # -- all members --------------------------------------------------------------------------
    def __contains__(self, path: object) -> bool:
        if not isinstance(path, str):
            return False
        relative = self._relative(path)
        return not relative or self._locate(relative) is not None

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self._members()))

    def __len__(self) -> int:
        return len(self._members())

    def __bool__(self) -> bool:
        return True

    @suggests
    def members(
        self, max_depth: int | None = 0, *, use_consolidated_for_children: bool = True
    ) -> tuple[tuple[str, Array | Group], ...]:
        """List names and nodes below this group.

        Parameters
        ----------
        max_depth
            How many levels of groups to look into below this one; None for all.
        use_consolidated_for_children
            zarr-python's keyword, without effect: a group that was opened through consolidated
            metadata takes its members from there, any other group reads their own documents.

        Returns
        -------
        tuple of tuple
            Path relative to this group, and node, of every member.

        Examples
        --------
        >>> root = omnizarr.group()
        >>> _ = root.create_group("a/b")
        >>> [name for name, _ in root.members(max_depth=None)]
        ['a', 'a/b']
        """
        if max_depth is not None and max_depth < 0:
            raise ValueError(f"max_depth must be None or an int of at least 0, found {max_depth}")
        return tuple(self._walk(max_depth))

    def _walk(self, max_depth: int | None, prefix: str = "") -> Iterator[tuple[str, Array | Group]]:
        for name, model in sorted(self._members().items()):
            member = self._wrap(name, model, self._place.child(name))
            yield prefix + name, member
            if not isinstance(member, Array) and (max_depth is None or max_depth > 0):
                deeper = None if max_depth is None else max_depth - 1
                yield from member._walk(deeper, prefix + name + "/")

    @suggests
    def nmembers(self, max_depth: int | None = 0) -> int:
        """Count the members.

        Parameters
        ----------
        max_depth
            How many levels of groups to look into below this one; None for all.

        Returns
        -------
        int
            The number of arrays and groups.

        Examples
        --------
        >>> root = omnizarr.group()
        >>> _ = root.create_group("a/b")
        >>> root.nmembers(), root.nmembers(max_depth=None)
        (1, 2)
        """
        return len(self) if max_depth == 0 else sum(1 for _ in self._walk(max_depth))

    @suggests
    def arrays(self, recurse: bool = False) -> Iterator[tuple[str, Array]]:
        """Iterate over the arrays in this group.

        Parameters
        ----------
        recurse
            Whether arrays in groups below this one are included.

        Returns
        -------
        iterator of tuple
            Name (the last part of the path) and array.

        Examples
        --------
        >>> root = omnizarr.group()
        >>> root["a"] = [1, 2, 3]
        >>> [(name, array.shape) for name, array in root.arrays()]
        [('a', (3,))]
        """
        return (
            (name.rpartition("/")[2], member)
            for name, member in self._walk(None if recurse else 0)
            if isinstance(member, Array)
        )

    @suggests
    def array_keys(self, recurse: bool = False) -> Iterator[str]:
        """Iterate over the names of the arrays in this group.

        Parameters
        ----------
        recurse
            Whether arrays in groups below this one are included.

        Returns
        -------
        iterator of str
            The names, as `arrays` gives them.
        """
        return (name for name, _ in self.arrays(recurse))

    def array_values(self) -> Iterator[Array]:
        """Iterate over the arrays in this group, without their names."""
        return (array for _, array in self.arrays())

    def groups(self) -> Iterator[tuple[str, Group]]:
        """Iterate over the groups in this group.

        Returns
        -------
        iterator of tuple
            Name and group.

        Examples
        --------
        >>> root = omnizarr.group()
        >>> _ = root.create_group("a/b")
        >>> [name for name, group in root.groups()]
        ['a']
        """
        return ((name, each) for name, each in self._walk(0) if not isinstance(each, Array))

    def group_keys(self) -> Iterator[str]:
        """Iterate over the names of the groups in this group."""
        return (name for name, _ in self.groups())

    def group_values(self) -> Iterator[Group]:
        """Iterate over the groups in this group, without their names."""
        return (group for _, group in self.groups())

    # -- visiting -----------------------------------------------------------------------------
    @suggests
    def visit(self, func: Callable[[str], R | None]) -> R | None:
        """Call a function with the path of every member at any depth. Also `visitkeys`.

        Parameters
        ----------
        func
            It is called in sorted order, until it returns something else than None.

        Returns
        -------
        object
            What `func` returned last.

        Examples
        --------
        >>> root = omnizarr.group()
        >>> _ = root.create_group("a/b")
        >>> root.visit(print)
        a
        a/b
        """
        return self._first(func(path) for path, _ in self._walk(None))

    visitkeys = visit

    @suggests
    def visitvalues(self, func: Callable[[Array | Group], R | None]) -> R | None:
        """Call a function with every member at any depth.

        Parameters
        ----------
        func
            It is called in sorted order, until it returns something else than None.

        Returns
        -------
        object
            What `func` returned last.
        """
        return self._first(func(member) for _, member in self._walk(None))

    @suggests
    def visititems(self, func: Callable[[str, Array | Group], R | None]) -> R | None:
        """Call a function with the path and the node of every member at any depth.

        Parameters
        ----------
        func
            It is called in sorted order, until it returns something else than None.

        Returns
        -------
        object
            What `func` returned last.
        """
        return self._first(func(path, member) for path, member in self._walk(None))

    @staticmethod
    def _first(answers: Iterator[R | None]) -> R | None:
        return next((answer for answer in answers if answer is not None), None)

    @suggests
    def tree(
        self, expand: bool | None = None, level: int | None = None, *,
        max_nodes: int | None = 500, plain: bool = False,
    ) -> Tree:  # fmt: skip
        """Draw the hierarchy, in text and (in notebooks) as HTML.

        Parameters
        ----------
        expand
            Whether groups are shown open in HTML; None means True.
        level
            How many levels to show; None for all.
        max_nodes
            Number of nodes after which the drawing ends with "…"; None for no end.
        plain
            zarr-python's keyword, without effect: the text is never bold.

        Returns
        -------
        Tree
            The drawing.

        Examples
        --------
        >>> root = omnizarr.group()
        >>> _ = root.create_array("a", shape=3, dtype="i4")
        >>> root.tree()
        /
         └── a (3,) int32
        """
        return Tree(self._group, level, expand=expand is not False, max_nodes=max_nodes)

    # -- in a notebook ------------------------------------------------------------------------
    def __getattr__(self, name: str) -> Any:
        # Members are attributes too: `root.foo.bar`.
        if name.startswith("_"):
            raise AttributeError(name)
        member = self.get(name)
        if member is None:
            raise NoAttribute(self, name)
        return member

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *(name for name in self if name.isidentifier())})

    def _repr_html_(self) -> str:
        """Name, store and some members, from one listing at most."""
        return group_html(self._group, member_lookup.some_names(self._place, self._stored, SHOWN))
