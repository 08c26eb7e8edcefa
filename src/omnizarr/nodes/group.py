"""The group that a user holds: a mapping from names to arrays and groups.

Its methods are thin: functions of `nodes.creation` create and delete nodes, and `member_lookup`
finds them. Nothing here knows a format version or a store.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, MutableMapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self, TypeVar, Unpack, cast

from omnizarr import formats
from omnizarr.errors import (
    ContainsArrayError,
    MetadataError,
    NodeExistsError,
    NodeNotFoundError,
    NodeTypeError,
    UnsupportedError,
)
from omnizarr.formats.base import Node
from omnizarr.keywords import suggests
from omnizarr.model import paths
from omnizarr.model.array import ArrayModel, GroupModel
from omnizarr.nodes import member_lookup, node
from omnizarr.nodes.array import Array
from omnizarr.nodes.constructors import GroupConstructors
from omnizarr.nodes.creation import storing
from omnizarr.nodes.creation.arguments import (
    DataTypeLike,
    FilledOptions,
    OpenOptions,
    ShapeLike,
    options_from,
)
from omnizarr.nodes.creation.arrays import like, make_array, require_alike
from omnizarr.nodes.creation.member_arguments import (
    DatasetOptions,
    FullLikeOptions,
    FullOptions,
    LikeOptions,
    MemberOptions,
    RequireOptions,
    renamed_of_h5py,
)
from omnizarr.nodes.group_conventions import GroupConventions
from omnizarr.nodes.info import GroupInfo
from omnizarr.nodes.metadata import Metadata
from omnizarr.nodes.missing_nodes import NoAttribute
from omnizarr.nodes.node import NodeAddress, Options
from omnizarr.nodes.tree import Tree
from omnizarr.stores import StoreLike, as_store

D = TypeVar("D")
R = TypeVar("R")

if TYPE_CHECKING:
    import numpy.typing as npt


class Group(GroupConstructors, GroupConventions, MutableMapping[str, "Array | Group"]):
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
    zarr_format, zarr_version
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

    _array_type: type[Array] = Array
    """The class of members that are arrays."""

    @suggests
    def __init__(
        self,
        store: StoreLike,
        path: str | None = None,
        read_only: bool = False,
        *,
        zarr_format: int | str | None = None,
        zarr_version: int | str | None = None,
        options: Options | None = None,
        **arguments: Unpack[OpenOptions],
    ) -> None:
        opened = options_from(arguments, options or Options(read_only=read_only))
        chosen = zarr_version if zarr_format is None else zarr_format
        place, model = node.require_group(as_store(store), paths.normalize_path(path), chosen)
        self._set(place, model, opened)

    def _replace(self, model: GroupModel) -> None:
        if model.consolidated is None:
            model = replace(model, consolidated=self._stored.consolidated)
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
        return GroupInfo(self)

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
        return GroupInfo(self, listed=True)

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
    def _wrap(self, model: Node, place: NodeAddress) -> Array | Group:
        """The object for a member."""
        spoken = formats.spoken(place.format, model)
        if spoken is not place.format:
            place = place._replace(format=spoken)
        if isinstance(model, ArrayModel):
            array = self._array_type._of(place, model, self._options)
            if self._stored.consolidated is not None:
                array._freshness.forget()  # its own document was not read
            else:
                node.warn_of_repair(place, model)
            return array
        model = member_lookup.with_consolidated(self._place, self._stored, place.path, model)
        return type(self)._of(place, model, self._options)

    def _members(self) -> dict[str, Node]:
        return member_lookup.children(self._place, self._stored)

    def _locate(self, path: str) -> tuple[NodeAddress, Node] | None:
        return member_lookup.locate(self._place, self._stored, path)

    def _find(self, path: str) -> Array | Group | None:
        absolute = self._absolute(path)
        if absolute == self.path:
            return self
        found = self._locate(absolute)
        if found is None:
            return None
        member = self._wrap(found[1], found[0])
        return member._check() if isinstance(member, Array) else member

    def _absolute(self, path: str) -> str:
        return member_lookup.absolute(self._place, path)

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
        absolute = self._absolute(path)
        return absolute == self.path or self._locate(absolute) is not None

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
            member = self._wrap(model, self._place.child(name))
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

        Examples
        --------
        >>> group = omnizarr.group({})
        >>> _ = group.create_array("a", shape=3, dtype="i4"), group.create_group("b")
        >>> list(group.array_keys())
        ['a']
        """
        return (name for name, _ in self.arrays(recurse))

    def array_values(self) -> Iterator[Array]:
        """Iterate over the arrays in this group, without their names.

        Examples
        --------
        >>> group = omnizarr.group({})
        >>> _ = group.create_array("a", shape=3, dtype="i4"), group.create_group("b")
        >>> [array.shape for array in group.array_values()]
        [(3,)]
        """
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
        """Iterate over the names of the groups in this group.

        Examples
        --------
        >>> group = omnizarr.group({})
        >>> _ = group.create_array("a", shape=3, dtype="i4"), group.create_group("b")
        >>> list(group.group_keys())
        ['b']
        """
        return (name for name, _ in self.groups())

    def group_values(self) -> Iterator[Group]:
        """Iterate over the groups in this group, without their names.

        Examples
        --------
        >>> group = omnizarr.group({})
        >>> _ = group.create_array("a", shape=3, dtype="i4"), group.create_group("b")
        >>> [member.name for member in group.group_values()]
        ['/b']
        """
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

        Examples
        --------
        >>> group = omnizarr.group({})
        >>> _ = group.create_array("b/a", shape=3, dtype="i4")
        >>> group.visitvalues(lambda node: print(node.name))
        /b
        /b/a
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

        Examples
        --------
        >>> group = omnizarr.group({})
        >>> _ = group.create_array("b/a", shape=3, dtype="i4")
        >>> group.visititems(lambda path, node: print(path, type(node).__name__))
        b Group
        b/a Array
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
        return Tree(self, level, expand=expand is not False, max_nodes=max_nodes)

    # -- creating arrays ----------------------------------------------------------------------
    def _check_writable(self) -> None:
        super()._check_writable()
        if self._stored.consolidated is not None:
            raise UnsupportedError(
                f"{self._place} was opened through consolidated metadata, which creating or"
                " deleting a member would make wrong; open it with use_consolidated=False and"
                " consolidate again"
            )
        if self._stored.document:  # a group without a document exists as long as its members do
            self._look()

    @suggests
    def create_array(
        self,
        name: str,
        *,
        shape: ShapeLike | None = None,
        dtype: DataTypeLike = None,
        data: object = None,
        overwrite: bool = False,
        write_data: bool = True,
        storage_options: Mapping[str, object] | None = None,
        **arguments: Unpack[FilledOptions],
    ) -> Array:
        """Create an array in this group, with its values if `data` is given. Also `create`.

        Parameters
        ----------
        name
            Path below this group.
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
        storage_options
            Options for the store of a URL: credentials, region, timeouts; not with an open store.
        **arguments
            All other keywords of `omnizarr.create_array`.

        Returns
        -------
        Array
            The new array.

        Raises
        ------
        NodeExistsError
            If a node is there and `overwrite` is false.

        Examples
        --------
        >>> root = omnizarr.group()
        >>> root.create_array("a", shape=(4, 6), chunks=(2, 3), dtype="i4").nchunks
        4
        """
        if storage_options:
            raise TypeError(
                "create_array() of a group takes no storage_options: its store is open already;"
                " give them where the group is opened"
            )
        given = {"shape": shape, "dtype": dtype, "data": data, **arguments}
        return self._create(name, {**given, "overwrite": overwrite, "write_data": write_data})

    create = create_array

    def _create(self, name: str, arguments: Mapping[str, Any]) -> Array:
        self._check_writable()
        path = self._absolute(name)
        if path in ("", self.path):
            raise MetadataError(f"{self._place}: an array in a group needs a name")
        rest = self._completed({**arguments})
        self._place.check_format(rest.pop("zarr_format", None))
        made = make_array(
            self._place.store, path, rest,
            overwrite=rest.pop("overwrite", False), write_data=rest.pop("write_data", True),
            chosen=self._place.format, options=self._options,
        )  # fmt: skip
        return made.as_type(self._array_type)

    def _completed(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """The arguments of a new array with the defaults of a subclass."""
        return arguments

    @suggests
    def create_dataset(self, name: str, **arguments: Unpack[DatasetOptions]) -> Array:
        """Create an array: h5py's and zarr-python 2's name for `create_array`.

        Parameters
        ----------
        name
            Path below this group.
        **arguments
            Keywords of `create_array`; ``fillvalue``, h5py's name, is ``fill_value``.

        Returns
        -------
        Array
            The new array.

        Examples
        --------
        >>> group = omnizarr.group({})
        >>> group.create_dataset("a", shape=3, dtype="i4", fillvalue=7)[:]
        array([7, 7, 7], dtype=int32)
        """
        return self._create(name, renamed_of_h5py(arguments))

    @suggests
    def array(
        self, name: str, data: object, *, write_data: bool = True, **arguments: Unpack[LikeOptions]
    ) -> Array:
        """Create an array from values.

        Parameters
        ----------
        name
            Path below this group.
        data
            The values.
        write_data, **arguments
            Keywords of `create_array`.

        Returns
        -------
        Array
            The new array.

        Examples
        --------
        >>> omnizarr.group().array("a", [1, 2, 3])[:]
        array([1, 2, 3])
        """
        return self._create(name, {"data": data, "write_data": write_data, **arguments})

    @suggests
    def require_array(
        self, name: str, shape: ShapeLike | None = None, dtype: DataTypeLike = None,
        exact: bool = False, **arguments: Unpack[RequireOptions],
    ) -> Array:  # fmt: skip
        """Return the array of a name; create it if there is none.

        Parameters
        ----------
        name
            Path below this group.
        shape
            Shape that the array must have.
        dtype
            Type that the array must have, or that its type can be cast to safely.
        exact
            Whether the type must be the same.
        **arguments
            Keywords of `create_array`, for an array that is created.

        Returns
        -------
        Array
            The array.

        Raises
        ------
        TypeError
            If an array is there that does not agree.
        NodeTypeError
            If a group is there.

        Examples
        --------
        >>> root = omnizarr.group()
        >>> root.require_array("a", shape=3) == root.require_array("a", shape=3)
        True
        """
        found = self._found_or_made(name, {"shape": shape, "dtype": dtype, **arguments})
        require_alike(found, shape, dtype, exact)
        return found if arguments.get("config") is None else found.with_config(arguments["config"])

    def _found_or_made(self, name: str, arguments: Mapping[str, Any]) -> Array:
        self._check_writable()
        found = self._find(name)
        if found is None:
            try:
                return self._create(name, arguments)
            except NodeExistsError:
                found = self._find(name)  # a concurrent process created it
                if found is None:
                    raise
        if not isinstance(found, Array):
            raise NodeTypeError(f"{self._place}: {name!r} is a group, not an array")
        return found

    @suggests
    def require_dataset(
        self, name: str, shape: ShapeLike | None = None, dtype: DataTypeLike = None,
        exact: bool = False, **arguments: Unpack[RequireOptions],
    ) -> Array:  # fmt: skip
        """Return the array of a name; create it if there is none: h5py's `require_array`.

        Parameters
        ----------
        name, shape, exact, **arguments
            As in `require_array`.
        dtype
            Type that the array must have, or that can be cast to its type safely: values of it can
            be written.

        Returns
        -------
        Array
            The array.

        Raises
        ------
        TypeError
            If an array is there that does not agree.
        NodeTypeError
            If a group is there.

        Examples
        --------
        >>> root = omnizarr.group()
        >>> _ = root.create_array("a", shape=3, dtype="f4")
        >>> root.require_dataset("a", shape=3, dtype="i2").dtype
        dtype('float32')
        """
        found = self._found_or_made(name, {"shape": shape, "dtype": dtype, **arguments})
        require_alike(found, shape, dtype, exact, writing=True)
        return found

    @suggests
    def empty(self, name: str, *, shape: ShapeLike, **arguments: Unpack[MemberOptions]) -> Array:
        """Create an array whose missing chunks have no defined value.

        Parameters
        ----------
        name
            Path below this group.
        shape
            Length of every dimension.
        **arguments
            Keywords of `create_array`.

        Returns
        -------
        Array
            The new array.

        Examples
        --------
        >>> omnizarr.group().empty("a", shape=3, dtype="i4").shape
        (3,)
        """
        return self._create(name, {"shape": shape, "fill_value": None, **arguments})

    @suggests
    def zeros(self, name: str, *, shape: ShapeLike, **arguments: Unpack[MemberOptions]) -> Array:
        """Create an array of zeros.

        Parameters
        ----------
        name
            Path below this group.
        shape
            Length of every dimension.
        **arguments
            Keywords of `create_array`.

        Returns
        -------
        Array
            The new array.

        Examples
        --------
        >>> omnizarr.group().zeros("a", shape=3, dtype="i4")[:]
        array([0, 0, 0], dtype=int32)
        """
        return self._create(name, {"shape": shape, "fill_value": 0, **arguments})

    @suggests
    def ones(self, name: str, *, shape: ShapeLike, **arguments: Unpack[MemberOptions]) -> Array:
        """Create an array of ones.

        Parameters
        ----------
        name
            Path below this group.
        shape
            Length of every dimension.
        **arguments
            Keywords of `create_array`.

        Returns
        -------
        Array
            The new array.

        Examples
        --------
        >>> omnizarr.group().ones("a", shape=3, dtype="i4")[:]
        array([1, 1, 1], dtype=int32)
        """
        return self._create(name, {"shape": shape, "fill_value": 1, **arguments})

    @suggests
    def full(
        self, name: str, *, shape: ShapeLike, fill_value: object, **arguments: Unpack[FullOptions]
    ) -> Array:
        """Create an array of one value.

        Parameters
        ----------
        name
            Path below this group.
        shape
            Length of every dimension.
        fill_value
            The value.
        **arguments
            Keywords of `create_array`.

        Returns
        -------
        Array
            The new array.

        Examples
        --------
        >>> omnizarr.group().full("a", shape=2, fill_value=7)[:]
        array([7., 7.])
        """
        return self._create(name, {"shape": shape, "fill_value": fill_value, **arguments})

    @suggests
    def empty_like(self, name: str, data: object, **arguments: Unpack[LikeOptions]) -> Array:
        """Create an array without a fill value, otherwise like another one.

        Parameters
        ----------
        name
            Path below this group.
        data
            An array that gives shape, type, chunks, shards, codecs and dimension names.
        **arguments
            Keywords of `create_array`; they replace what `data` gives.

        Returns
        -------
        Array
            The new array.

        Examples
        --------
        >>> a = omnizarr.zeros(6, chunks=2, dtype="i4")
        >>> omnizarr.group({}).empty_like("a", a).chunks
        (2,)
        """
        return self._create(
            name, {"fill_value": None, **like(data, arguments, filled=True), **arguments}
        )

    @suggests
    def zeros_like(self, name: str, data: object, **arguments: Unpack[LikeOptions]) -> Array:
        """Create an array of zeros, otherwise like another one.

        Parameters
        ----------
        name
            Path below this group.
        data
            An array that gives shape, type, chunks, shards, codecs and dimension names.
        **arguments
            Keywords of `create_array`; they replace what `data` gives.

        Returns
        -------
        Array
            The new array.

        Examples
        --------
        >>> omnizarr.group({}).zeros_like("a", omnizarr.ones(3, dtype="i4"))[:]
        array([0, 0, 0], dtype=int32)
        """
        return self._create(name, {"fill_value": 0, **like(data, arguments), **arguments})

    @suggests
    def ones_like(self, name: str, data: object, **arguments: Unpack[LikeOptions]) -> Array:
        """Create an array of ones, otherwise like another one.

        Parameters
        ----------
        name
            Path below this group.
        data
            An array that gives shape, type, chunks, shards, codecs and dimension names.
        **arguments
            Keywords of `create_array`; they replace what `data` gives.

        Returns
        -------
        Array
            The new array.

        Examples
        --------
        >>> omnizarr.group({}).ones_like("a", omnizarr.zeros(3, dtype="i4"))[:]
        array([1, 1, 1], dtype=int32)
        """
        return self._create(name, {"fill_value": 1, **like(data, arguments), **arguments})

    @suggests
    def full_like(
        self, name: str, data: object, fill_value: object = None,
        **arguments: Unpack[FullLikeOptions],
    ) -> Array:  # fmt: skip
        """Create an array of one value, otherwise like another one.

        Parameters
        ----------
        name
            Path below this group.
        data
            An array that gives shape, type, chunks, shards, codecs and dimension names.
        fill_value
            The value; that of `data` if it is left out.
        **arguments
            Keywords of `create_array`; they replace what `data` gives.

        Returns
        -------
        Array
            The new array.

        Examples
        --------
        >>> omnizarr.group({}).full_like("a", omnizarr.zeros(3, dtype="i4"), 7)[:]
        array([7, 7, 7], dtype=int32)
        """
        if fill_value is None:
            fill_value = getattr(data, "fill_value", None)
        return self._create(name, {**like(data, arguments), "fill_value": fill_value, **arguments})

    # -- creating groups ----------------------------------------------------------------------
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
        place = self._place._replace(path=self._absolute(name))
        model = place.format.new_group(dict(attributes or {}))
        model = storing.create(place, model, overwrite=overwrite)
        return type(self)._of(place, model, self._options)

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

        Examples
        --------
        >>> group = omnizarr.group({})
        >>> _ = group.create_groups("a", "b")
        >>> list(group)
        ['a', 'b']
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
        if found is self and not self.read_only:
            storing.store_again(self._place, self._stored)
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

        Examples
        --------
        >>> group = omnizarr.group({})
        >>> _ = group.create_group("a")
        >>> [member.name for member in group.require_groups("a", "b")]
        ['/a', '/b']
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
    def __setitem__(self, name: str, value: npt.ArrayLike | Array | Group) -> None:
        """Store values as an array of this name, replacing what is there."""
        if isinstance(value, Group):
            raise TypeError("a group cannot be assigned; use omnizarr.copy(source, destination)")
        self._create(name, {"data": value, "overwrite": True})

    def __delitem__(self, name: str) -> None:
        self._check_writable()
        path = self._absolute(name)
        if path in ("", self.path) or self._locate(path) is None:
            raise self._missing(name)
        storing.remove(self._place.store, path)
        if self._options.chunk_store is not None:
            self._options.chunk_store.delete_prefix(path + "/")

    def clear(self) -> None:
        """Delete every member.

        Examples
        --------
        >>> group = omnizarr.group({})
        >>> _ = group.create_groups("a", "b")
        >>> group.clear()
        >>> list(group)
        []
        """
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
        from omnizarr.nodes import moving

        moving.move(self, source, dest)

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
        names = self._ipython_key_completions_()
        return sorted({*super().__dir__(), *(name for name in names if name.isidentifier())})

    def _ipython_key_completions_(self) -> list[str]:
        return member_lookup.completions(self._place, self._stored)

    def _repr_html_(self) -> str:
        from omnizarr.nodes.html.pages import group_page

        return group_page(self)

    # -- life ---------------------------------------------------------------------------------
    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.store.close()

    def __repr__(self) -> str:
        read_only = " read-only" if self.read_only else ""
        return f"<omnizarr.Group {self.name!r}{read_only} in {self.store!r}>"
