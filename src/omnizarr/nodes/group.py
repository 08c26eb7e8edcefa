"""The group that a user holds: a mapping from names to arrays and groups."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, MutableMapping
from dataclasses import replace
from typing import Any, Self

import numpy as np

from omnizarr import formats
from omnizarr.errors import (
    ArrayNotFoundError,
    ContainsArrayError,
    GroupNotFoundError,
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
from omnizarr.nodes import node
from omnizarr.nodes.array import Array
from omnizarr.nodes.creation.arrays import like, make_array
from omnizarr.nodes.info import SHOWN, GroupInfo, group_html
from omnizarr.nodes.missing_nodes import NoAttribute, among, beside
from omnizarr.nodes.node import Options, Place
from omnizarr.nodes.node_facts import NodeFacts
from omnizarr.nodes.tree import Tree
from omnizarr.stores import as_store


class Group(NodeFacts[GroupModel], MutableMapping[str, "Array | Group"]):
    """A group of arrays and groups in a store."""

    def __init__(
        self,
        store: Any,
        path: str | None = None,
        read_only: bool = False,
        *,
        zarr_format: int | str | None = None,
        options: Options | None = None,
        **kwargs: Any,
    ) -> None:
        """Open the group that is stored at `path`; to create one, use `omnizarr.create_group`."""
        from omnizarr.nodes.creation.arguments import check_options, options_from

        check_options(kwargs, "Group")
        opened = options_from(kwargs, options or Options(read_only=read_only))
        place, model = node.require_group(as_store(store), paths.normalize_path(path), zarr_format)
        self._set(place, model, opened)

    def _replace(self, model: GroupModel) -> None:
        before: GroupModel | None = self.__dict__.get("_stored")
        if before is not None and model.consolidated is None:
            model = replace(model, consolidated=before.consolidated)
        super()._replace(model)

    @property
    def info(self) -> GroupInfo:
        """A report of what is known without asking the store."""
        return GroupInfo(self)

    def info_complete(self) -> GroupInfo:
        """The same with the members, which are listed and read."""
        return GroupInfo(self, listed=True)

    def info_items(self) -> list[tuple[str, str]]:
        """The rows of `info`."""
        return self.info.items()

    # -- members ------------------------------------------------------------------------------
    def _wrap(self, path: str, model: Node, place: Place | None = None) -> Array | Group:
        """The node that a user gets for a member. `path` is relative to this group."""
        place = place or self._place.child(path)
        if isinstance(model, ArrayModel):
            array = Array._of(place, model, self._options)
            if self._stored.consolidated is not None:
                array._freshness.forget()  # its own document was not read
            return array
        if self._stored.consolidated is not None:
            below = path + "/"
            inside = {
                name[len(below) :]: member
                for name, member in self._stored.consolidated.items()
                if name.startswith(below)
            }
            model = replace(model, consolidated=inside)
        return Group._of(place, model, self._options)

    def _members(self) -> dict[str, Node]:
        if self._stored.consolidated is not None:
            return {
                name: model for name, model in self._stored.consolidated.items() if "/" not in name
            }
        return self._place.format.children(self.store, self.path)

    def _some_names(self, most: int) -> tuple[list[str], int] | None:
        """Some names of members and how many there are, from one listing at most; None if the
        store cannot be listed. What lies beside the members may be among them."""
        if self._stored.consolidated is not None:
            names = sorted(name for name in self._stored.consolidated if "/" not in name)
        elif self.store.capabilities.listable:
            names = sorted(self._place.format.names(self.store, self.path))
        else:
            return None
        return names[:most], len(names)

    def _locate(self, path: str) -> tuple[Place | None, Node] | None:
        """What is stored at a path below this group."""
        if self._stored.consolidated is not None:
            model = self._stored.consolidated.get(path)
            return None if model is None else (None, model)
        return node.find(self.store, paths.join(self.path, path), self._place.format)

    def _find(self, path: str) -> Array | Group | None:
        if not path:
            return self
        found = self._locate(path)
        if found is None:
            return None
        member = self._wrap(path, found[1], found[0])
        return member._check() if isinstance(member, Array) else member

    def _relative(self, path: Any) -> str:
        """A member's path relative to this group; a leading "/" means from the root."""
        if isinstance(path, str) and path.startswith("/") and self.path:
            absolute = paths.normalize_path(path)
            if absolute == self.path:
                return ""
            if not absolute.startswith(self.path + "/"):
                raise KeyError(f"{path!r} is not inside group {self.name!r}")
            return absolute[len(self.path) + 1 :]
        return paths.normalize_path(path)

    def __getitem__(self, path: str) -> Array | Group:
        member = self._find(self._relative(path))
        if member is None:
            raise self._missing(path)
        return member

    def _missing(self, path: str, kind: str = "member") -> NodeNotFoundError:
        """The error for a path that leads to nothing, with what lies beside it."""
        relative = self._relative(path)
        hint = ""
        if self._stored.consolidated is None:
            hint = beside(self.store, paths.join(self.path, relative))
        elif "/" not in relative:
            hint = among(relative, self._members(), self.name)
        error = {"array": ArrayNotFoundError, "group": GroupNotFoundError}
        return error.get(kind, NodeNotFoundError)(f"{self._place}: no {kind} {path!r}{hint}")

    def get(self, path: Any = None, default: Any = None, *, key: Any = None) -> Any:
        member = self._find(self._relative(key if path is None else path))
        return default if member is None else member

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
        """Names and nodes below this group.

        Parameters
        ----------
        max_depth
            How many levels of groups to look into below this one; None for all.
        use_consolidated_for_children
            zarr-python's. It changes nothing: nodes that are read from the store are always read
            from their own documents, and a group that was opened through consolidated metadata
            always takes its members from there.

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
            member = self._wrap(name, model)
            yield prefix + name, member
            if isinstance(member, Group) and (max_depth is None or max_depth > 0):
                deeper = None if max_depth is None else max_depth - 1
                yield from member._walk(deeper, prefix + name + "/")

    def nmembers(self, max_depth: int | None = 0) -> int:
        return len(self) if max_depth == 0 else sum(1 for _ in self._walk(max_depth))

    def arrays(self, recurse: bool = False) -> Iterator[tuple[str, Array]]:
        for name, member in self._walk(None if recurse else 0):
            if isinstance(member, Array):
                yield (name.rpartition("/")[2] if recurse else name), member

    def array_keys(self, recurse: bool = False) -> Iterator[str]:
        return (name for name, _ in self.arrays(recurse))

    def array_values(self) -> Iterator[Array]:
        return (array for _, array in self.arrays())

    def groups(self) -> Iterator[tuple[str, Group]]:
        for name, member in self._walk(0):
            if isinstance(member, Group):
                yield name, member

    def group_keys(self) -> Iterator[str]:
        return (name for name, _ in self.groups())

    def group_values(self) -> Iterator[Group]:
        return (group for _, group in self.groups())

    def get_array(self, path: str) -> Array:
        member = self.get(path)
        if member is None:
            raise self._missing(path, "array")
        if not isinstance(member, Array):
            raise NodeTypeError(f"{self._place}: {path!r} is a group, not an array")
        return member

    def get_group(self, path: str) -> Group:
        member = self.get(path)
        if member is None:
            raise self._missing(path, "group")
        if not isinstance(member, Group):
            raise NodeTypeError(f"{self._place}: {path!r} is an array, not a group")
        return member

    # -- visiting -----------------------------------------------------------------------------
    def visit(self, func: Callable[[str], Any]) -> Any:
        """Call with the path of every member, all the way down; stop at the first answer."""
        return self._first(func(path) for path, _ in self._walk(None))

    visitkeys = visit

    def visitvalues(self, func: Callable[[Array | Group], Any]) -> Any:
        return self._first(func(member) for _, member in self._walk(None))

    def visititems(self, func: Callable[[str, Array | Group], Any]) -> Any:
        return self._first(func(path, member) for path, member in self._walk(None))

    @staticmethod
    def _first(answers: Iterator[Any]) -> Any:
        return next((answer for answer in answers if answer is not None), None)

    @suggests
    def tree(
        self, expand: bool | None = None, level: int | None = None, *,
        max_nodes: int | None = 500, plain: bool = False,
    ) -> Tree:  # fmt: skip
        """The hierarchy as a drawing, in text and (in notebooks) as HTML.

        Parameters
        ----------
        expand
            Whether groups are shown open in HTML; they are, unless it is False.
        level
            How many levels to show; None for all.
        max_nodes
            After so many nodes the drawing ends with "…"; None for no end.
        plain
            zarr-python's: no bold text. The text never has any here.

        Examples
        --------
        >>> root = omnizarr.group()
        >>> _ = root.create_array("a", shape=3, dtype="i4")
        >>> root.tree()
        /
         └── a (3,) int32
        """
        return Tree(self, level, expand=expand is not False, max_nodes=max_nodes)

    # -- creating -----------------------------------------------------------------------------
    def _check_writable(self) -> None:
        super()._check_writable()
        if self._stored.consolidated is not None:
            raise UnsupportedError(
                f"{self._place} was opened through consolidated metadata, which creating or"
                " deleting a member would make wrong; open it with use_consolidated=False and"
                " consolidate again"
            )
        if self._stored.document:  # a group without a document is there as long as its members are
            self._look()

    @suggests
    def create_group(
        self, name: str, overwrite: bool = False, *, attributes: Mapping[str, Any] | None = None
    ) -> Group:
        self._check_writable()
        place = self._place.child(self._relative(name))
        model = place.format.new_group(dict(attributes or {}))
        node.create(place, model, overwrite=overwrite)
        return Group._of(place, model, self._options)

    def create_hierarchy(
        self, nodes: Mapping[str, Any], *, overwrite: bool = False
    ) -> Iterator[tuple[str, Array | Group]]:
        """Create several nodes below this group; see `omnizarr.create_hierarchy`."""
        from omnizarr.nodes.creation.hierarchies import create_nodes

        self._check_writable()
        return create_nodes(self._place, self._options, nodes, overwrite=overwrite)

    @suggests
    def create_groups(
        self,
        *names: str,
        overwrite: bool = False,
        attributes: Mapping[str, Any] | None = None,
    ) -> tuple[Group, ...]:
        """Create several groups; the keywords are those of `create_group`, for each of them."""
        return tuple(self.create_group(name, overwrite, attributes=attributes) for name in names)

    def require_group(self, name: str, overwrite: bool = False) -> Group:
        """The group of this name, created if there is none."""
        found: Array | Group | None = None if overwrite else self.get(name)
        if found is None:
            try:
                return self.create_group(name, overwrite=overwrite)
            except NodeExistsError:
                found = self.get(name)  # created by somebody else since the first look
                if found is None:
                    raise
        if isinstance(found, Array):
            raise ContainsArrayError(f"{self._place}: {name!r} is an array, not a group")
        return found

    def require_groups(self, *names: str) -> tuple[Group, ...]:
        return tuple(self.require_group(name) for name in names)

    def create_array(
        self, name: str, *, overwrite: bool = False, write_data: bool = True, **arguments: Any
    ) -> Array:
        """Create an array in this group; the keywords are those of `omnizarr.create_array`."""
        self._check_writable()
        if arguments.pop("storage_options", None):
            raise TypeError(
                "create_array() of a group takes no storage_options: its store is open already;"
                " give them where the group is opened"
            )
        path = self._relative(name)
        if not path:
            raise MetadataError(f"{self._place}: an array in a group needs a name")
        return make_array(
            self.store, paths.join(self.path, path), arguments,
            chosen=self._place.format, overwrite=overwrite, write_data=write_data,
            options=self._options,
        )  # fmt: skip

    create = create_array

    def create_dataset(self, name: str, **arguments: Any) -> Array:
        """h5py's and zarr-python 2's name for `create_array`."""
        return self.create_array(name, **arguments)

    def array(self, name: str, data: Any, **arguments: Any) -> Array:
        return self.create_array(name, data=data, **arguments)

    def require_array(
        self, name: str, shape: Any = None, dtype: Any = None, exact: bool = False, **arguments: Any
    ) -> Array:
        """The array of this name, created if there is none; its shape and type must agree."""
        found = self.get(name)
        if found is None:
            try:
                return self.create_array(name, shape=shape, dtype=dtype, **arguments)
            except NodeExistsError:
                found = self.get(name)  # created by somebody else since the first look
                if found is None:
                    raise
        if not isinstance(found, Array):
            raise NodeTypeError(f"{self._place}: {name!r} is a group, not an array")
        if shape is not None:
            wanted = (shape,) if isinstance(shape, int) else tuple(shape)
            if found.shape != wanted:
                raise TypeError(f"{found!r} is there with shape {found.shape}, not {wanted}")
        if dtype is not None:
            asked = np.dtype(dtype)
            if found.dtype != asked and (exact or not np.can_cast(found.dtype, asked)):
                raise TypeError(f"{found!r} is there with dtype {found.dtype}, not {asked}")
        return found

    require_dataset = require_array

    def empty(self, name: str, *, shape: Any, **arguments: Any) -> Array:
        return self.create_array(name, shape=shape, **{"fill_value": None, **arguments})

    def zeros(self, name: str, *, shape: Any, **arguments: Any) -> Array:
        return self.create_array(name, shape=shape, **{"fill_value": 0, **arguments})

    def ones(self, name: str, *, shape: Any, **arguments: Any) -> Array:
        return self.create_array(name, shape=shape, **{"fill_value": 1, **arguments})

    def full(self, name: str, *, shape: Any, fill_value: Any, **arguments: Any) -> Array:
        return self.create_array(name, shape=shape, fill_value=fill_value, **arguments)

    def empty_like(self, name: str, data: Any, **arguments: Any) -> Array:
        return self.empty(name, **{**like(data), **arguments})

    def zeros_like(self, name: str, data: Any, **arguments: Any) -> Array:
        return self.zeros(name, **{**like(data), **arguments})

    def ones_like(self, name: str, data: Any, **arguments: Any) -> Array:
        return self.ones(name, **{**like(data), **arguments})

    def full_like(self, name: str, data: Any, fill_value: Any = None, **arguments: Any) -> Array:
        if fill_value is None:
            fill_value = getattr(data, "fill_value", None)
        return self.full(name, fill_value=fill_value, **{**like(data), **arguments})

    def __setitem__(self, name: str, value: Any) -> None:
        """Store values as an array of this name, replacing what is there."""
        if isinstance(value, Group):
            raise TypeError("a group cannot be assigned; use omnizarr.copy(source, destination)")
        self.create_array(name, data=value, overwrite=True)

    def __delitem__(self, name: str) -> None:
        self._check_writable()
        path = self._relative(name)
        if not path or self._locate(path) is None:
            raise self._missing(name)
        node.remove(self.store, paths.join(self.path, path))

    def clear(self) -> None:
        """Delete every member."""
        for name in list(self):
            del self[name]

    def move(self, source: str, dest: str) -> None:
        """Give a member another name, in this group or below it."""
        self._check_writable()
        from_path, to_path = self._relative(source), self._relative(dest)
        found = self._locate(from_path) if from_path else None
        if found is None or found[0] is None:
            raise self._missing(source)
        taken = self._locate(to_path)
        if taken is not None:
            raise node.exists(self._place.child(to_path), taken[1])
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
    def __getattr__(self, name: str) -> Any:
        # Members are attributes too, as in h5py-like browsing: `root.foo.bar`.
        if name.startswith("_"):
            raise AttributeError(name)
        member = self.get(name)
        if member is None:
            raise NoAttribute(self, name)
        return member

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *(name for name in self if name.isidentifier())})

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.store.close()

    def __repr__(self) -> str:
        read_only = " read-only" if self.read_only else ""
        return f"<omnizarr.Group {self.name!r}{read_only} in {self.store!r}>"

    def _repr_html_(self) -> str:
        """Name, store and some members, from one listing at most."""
        return group_html(self, self._some_names(SHOWN))
