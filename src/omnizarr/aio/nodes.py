"""Arrays and groups whose calls are awaited.

Each wraps the plain node (`.sync`) and calls it in a thread. What is known without asking the store
is a plain property. This module knows nodes. It must not know how they do their work.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, Self, TypeVar

import numpy as np
import numpy.typing as npt

from omnizarr import Array, Group, Store
from omnizarr.aio.signatures import like_method
from omnizarr.aio.threads import call, iterate
from omnizarr.model import json
from omnizarr.model.codec import Json

NDArray = npt.NDArray[Any]
N = TypeVar("N", Array, Group)
D = TypeVar("D")


@dataclass(frozen=True, repr=False)
class _AsyncNode(Generic[N]):
    """What arrays and groups share."""

    sync: N
    """The plain node: the same data, without `await`."""

    @property
    def store(self) -> Store:
        """The store of the node."""
        return self.sync.store

    @property
    def path(self) -> str:
        """Path of the node in its store."""
        return self.sync.path

    @property
    def name(self) -> str:
        """The path with a "/" in front."""
        return self.sync.name

    @property
    def basename(self) -> str:
        """The last part of the path."""
        return self.sync.basename

    @property
    def read_only(self) -> bool:
        """Every change raises `ReadOnlyError`."""
        return self.sync.read_only

    @property
    def zarr_format(self) -> int | str:
        """Format of the node."""
        return self.sync.zarr_format

    @property
    def attrs(self) -> dict[str, Json]:
        """A copy of the attributes as they were last read. `update_attributes` changes them.

        Examples
        --------
        >>> omnizarr.aio.AsyncArray(omnizarr.zeros(3, attributes={"units": "K"})).attrs
        {'units': 'K'}
        """
        return dict(json.plain(self.sync._stored.attributes))

    async def update_attributes(self, attributes: Mapping[str, Json]) -> Self:
        """Set several attributes with one write.

        Parameters
        ----------
        attributes
            Names and JSON values.

        Examples
        --------
        >>> import asyncio
        >>> array = omnizarr.aio.AsyncArray(omnizarr.zeros(3))
        >>> asyncio.run(array.update_attributes({"units": "K"})).attrs
        {'units': 'K'}
        """
        await call(lambda: self.sync.attrs.update(attributes), reads=False)
        return self

    async def put_attributes(self, attributes: Mapping[str, Json]) -> Self:
        """Replace all attributes.

        Parameters
        ----------
        attributes
            Names and JSON values.

        Examples
        --------
        >>> import asyncio
        >>> array = omnizarr.aio.AsyncArray(omnizarr.zeros(3, attributes={"units": "K"}))
        >>> asyncio.run(array.put_attributes({"title": "sea"})).attrs
        {'title': 'sea'}
        """
        await call(lambda: self.sync.attrs.put(attributes), reads=False)
        return self

    async def refresh(self) -> None:
        """Read the metadata again, which another process may have changed.

        Examples
        --------
        >>> import asyncio
        >>> plain = omnizarr.zeros(3)
        >>> array = omnizarr.aio.AsyncArray(omnizarr.open(plain.store))
        >>> plain.resize(5)
        >>> asyncio.run(array.refresh())
        >>> array.shape
        (5,)
        """
        await call(self.sync.refresh, reads=True)

    async def close(self) -> None:
        """Close the store.

        Examples
        --------
        >>> import asyncio
        >>> asyncio.run(omnizarr.aio.AsyncArray(omnizarr.zeros(3)).close())
        """
        await call(self.sync.store.close, reads=False)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self.close()

    def __repr__(self) -> str:
        return repr(self.sync).replace("<omnizarr.", "<omnizarr.aio.Async", 1)


@dataclass(frozen=True)
class AsyncIndex:
    """Another way to select: `await array.oindex.read(selection)`.

    Examples
    --------
    >>> import asyncio
    >>> array = omnizarr.aio.AsyncArray(omnizarr.array([[1, 2], [3, 4]], chunks=(1, 2)))
    >>> asyncio.run(array.oindex.read(([1], [0, 1])))
    array([[3, 4]])
    >>> asyncio.run(array.vindex.read(([0, 1], [1, 0])))
    array([2, 3])
    """

    _read: Callable[..., Any]
    _write: Callable[..., None]
    _fields: Any = None

    async def read(self, selection: Any = Ellipsis, *, out: NDArray | None = None) -> Any:
        """Read the values of a selection.

        Parameters
        ----------
        selection
            As the plain array takes it in brackets.
        out
            An array to read into; None: a new one.

        Returns
        -------
        ndarray or scalar
            The values.
        """
        return await _read(self._read, selection, out, fields=self._fields)

    async def write(self, selection: Any, values: Any) -> None:
        """Write values to a selection.

        Parameters
        ----------
        selection
            As the plain array takes it in brackets.
        values
            Values of the selection's shape, or that broadcast to it.

        Examples
        --------
        >>> import asyncio
        >>> array = omnizarr.aio.AsyncArray(omnizarr.array([[1, 2], [3, 4]], chunks=(1, 2)))
        >>> asyncio.run(array.blocks.write((1, 0), 0))
        >>> asyncio.run(array.read())
        array([[1, 2],
               [0, 0]])
        """
        await call(lambda: self._write(selection, values, fields=self._fields), reads=False)


async def _read(function: Callable[..., Any], selection: Any, out: Any, **more: Any) -> Any:
    # With `out`, the caller's own memory is written to.
    return await call(lambda: function(selection, out=out, **more), reads=out is None)


class AsyncArray(_AsyncNode[Array]):
    """An array; `await array.read(selection)` is what `array[selection]` is to the plain one.

    Parameters
    ----------
    sync
        The plain array.

    Examples
    --------
    >>> array = omnizarr.aio.AsyncArray(omnizarr.zeros((4, 6), chunks=(2, 3), dtype="i4"))
    >>> array.shape, array.ndim, array.size, array.nbytes, array.dtype
    ((4, 6), 2, 24, 96, dtype('int32'))
    >>> array.chunks, array.shards, array.dims, array.fill_value
    ((2, 3), None, None, np.int32(0))
    >>> array.path, array.name, array.basename, array.zarr_format, array.read_only
    ('', '/', '', 3, False)
    >>> array.store is array.sync.store
    True
    """

    @property
    def shape(self) -> tuple[int, ...]:
        """Length of every dimension."""
        return self.sync.shape

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return self.sync.ndim

    @property
    def size(self) -> int:
        """Number of elements."""
        return self.sync.size

    @property
    def nbytes(self) -> int:
        """Size of all elements in memory, in bytes."""
        return self.sync.nbytes

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the elements in memory."""
        return self.sync.dtype

    @property
    def chunks(self) -> tuple[int, ...] | tuple[int | tuple[int, ...], ...]:
        """Shape of a chunk; of a grid with different ones, the lengths along each dimension."""
        return self.sync.chunks

    @property
    def shards(self) -> tuple[int, ...] | tuple[int | tuple[int, ...], ...] | None:
        """Shape of a shard, as `chunks` has it; None without sharding."""
        return self.sync.shards

    @property
    def dims(self) -> tuple[str | None, ...] | None:
        """Names of the dimensions."""
        return self.sync.dims

    @property
    def fill_value(self) -> Any:
        """Value of elements that are not stored."""
        return self.sync.fill_value

    def __len__(self) -> int:
        return len(self.sync)

    def __bool__(self) -> bool:
        return True

    # -- values -------------------------------------------------------------------------------
    async def read(self, selection: Any = Ellipsis, *, out: NDArray | None = None) -> Any:
        """Read `array[selection]`.

        Parameters
        ----------
        selection
            As the plain array takes it in brackets.
        out
            An array to read into; None: a new one.

        Returns
        -------
        ndarray or scalar
            The values.

        Examples
        --------
        >>> import asyncio
        >>> array = omnizarr.aio.AsyncArray(omnizarr.array([1, 2, 3]))
        >>> asyncio.run(array.read(slice(1, None)))
        array([2, 3])
        """
        if out is None:
            return await call(lambda: self.sync[selection], reads=True)
        return await _read(self.sync.read, selection, out)

    async def write(self, selection: Any, values: Any) -> None:
        """Do `array[selection] = values`.

        Parameters
        ----------
        selection
            As the plain array takes it in brackets.
        values
            Values of the selection's shape, or that broadcast to it.

        Examples
        --------
        >>> import asyncio
        >>> array = omnizarr.aio.AsyncArray(omnizarr.array([1, 2, 3]))
        >>> asyncio.run(array.write(slice(0, 2), 0))
        >>> array.sync[:]
        array([0, 0, 3])
        """
        await call(lambda: self.sync.__setitem__(selection, values), reads=False)

    async def getitem(self, selection: Any) -> Any:
        """Read `array[selection]`, under the name of zarr-python.

        Parameters
        ----------
        selection
            As the plain array takes it in brackets.

        Examples
        --------
        >>> import asyncio
        >>> array = omnizarr.aio.AsyncArray(omnizarr.array([1, 2, 3]))
        >>> asyncio.run(array.getitem(slice(1, None)))
        array([2, 3])
        """
        return await self.read(selection)

    async def setitem(self, selection: Any, values: Any) -> None:
        """Do `array[selection] = values`, under the name of zarr-python.

        Parameters
        ----------
        selection
            As the plain array takes it in brackets.
        values
            Values of the selection's shape, or that broadcast to it.

        Examples
        --------
        >>> import asyncio
        >>> array = omnizarr.aio.AsyncArray(omnizarr.array([1, 2, 3]))
        >>> asyncio.run(array.setitem(0, 7))
        >>> array.sync[:]
        array([7, 2, 3])
        """
        await self.write(selection, values)

    @property
    def oindex(self) -> AsyncIndex:
        """Every axis on its own: `await array.oindex.read(([0, 2], mask))`.

        Examples
        --------
        >>> import asyncio
        >>> array = omnizarr.aio.AsyncArray(omnizarr.array([[1, 2], [3, 4]]))
        >>> asyncio.run(array.oindex.read(([1], [0, 1])))
        array([[3, 4]])
        """
        return AsyncIndex(self.sync.get_orthogonal_selection, self.sync.set_orthogonal_selection)

    @property
    def vindex(self) -> AsyncIndex:
        """Points: `await array.vindex.read(([0, 2], [1, 3]))`.

        Examples
        --------
        >>> import asyncio
        >>> array = omnizarr.aio.AsyncArray(omnizarr.array([[1, 2], [3, 4]]))
        >>> asyncio.run(array.vindex.read(([0, 1], [1, 0])))
        array([2, 3])
        """
        return AsyncIndex(self.sync.get_coordinate_selection, self.sync.set_coordinate_selection)

    @property
    def blocks(self) -> AsyncIndex:
        """Whole chunks: `await array.blocks.read((0, slice(1, 3)))`.

        Examples
        --------
        >>> import asyncio
        >>> array = omnizarr.aio.AsyncArray(omnizarr.array([1, 2, 3, 4], chunks=2))
        >>> asyncio.run(array.blocks.read(1))
        array([3, 4])
        """
        return AsyncIndex(self.sync.get_block_selection, self.sync.set_block_selection)

    def field(self, name: str | list[str]) -> AsyncIndex:
        """Select fields of a structured type: `await array.field("x").read(slice(0, 5))`.

        Parameters
        ----------
        name
            Name of a field, or a list of names.

        Examples
        --------
        >>> import asyncio
        >>> points = np.array([(1, 2.0), (3, 4.0)], dtype=[("x", "i4"), ("y", "f4")])
        >>> array = omnizarr.aio.AsyncArray(omnizarr.array(points))
        >>> asyncio.run(array.field("x").read(slice(0, 2)))
        array([1, 3], dtype=int32)
        """
        get, put = self.sync.get_basic_selection, self.sync.set_basic_selection
        return AsyncIndex(get, put, name)

    # -- shape --------------------------------------------------------------------------------
    async def resize(self, shape: int | Iterable[int]) -> None:
        """Change the shape. Data outside the new shape is deleted.

        Parameters
        ----------
        shape
            New length of every dimension.

        Examples
        --------
        >>> import asyncio
        >>> array = omnizarr.aio.AsyncArray(omnizarr.array([1, 2, 3]))
        >>> asyncio.run(array.resize(5))
        >>> array.sync[:]
        array([1, 2, 3, 0, 0])
        """
        await call(lambda: self.sync.resize(shape), reads=False)

    async def append(self, data: npt.ArrayLike, axis: int = 0) -> tuple[int, ...]:
        """Add values at the end of a dimension.

        Parameters
        ----------
        data
            The values.
        axis
            The dimension.

        Returns
        -------
        tuple of int
            The new shape.

        Examples
        --------
        >>> import asyncio
        >>> array = omnizarr.aio.AsyncArray(omnizarr.array([1, 2, 3]))
        >>> asyncio.run(array.append([4, 5]))
        (5,)
        """
        return await call(lambda: self.sync.append(data, axis), reads=False)


class AsyncGroup(_AsyncNode[Group]):
    """A group; `await group.get("a/b")` and `async for name, node in group.members()`.

    Parameters
    ----------
    sync
        The plain group.

    Examples
    --------
    >>> import asyncio
    >>> group = omnizarr.aio.AsyncGroup(omnizarr.group({}))
    >>> async def fill():
    ...     await group.create_array("a", shape=4, dtype="i4")
    ...     await group.create_group("b")
    ...     return [name async for name, _ in group.members()]
    >>> asyncio.run(fill())
    ['a', 'b']
    """

    async def getitem(self, path: str) -> AsyncArray | AsyncGroup:
        """Give the member at a path.

        Parameters
        ----------
        path
            Path of the member, relative to the group.

        Raises
        ------
        NodeNotFoundError
            If there is none. It is a KeyError.

        Examples
        --------
        >>> import asyncio
        >>> plain = omnizarr.group({})
        >>> _ = plain.create_array("a", shape=4, dtype="i4")
        >>> asyncio.run(omnizarr.aio.AsyncGroup(plain).getitem("a")).shape
        (4,)
        """
        return wrapped(await call(lambda: self.sync[path], reads=True))

    async def get(self, path: str, default: D | None = None) -> AsyncArray | AsyncGroup | D | None:
        """Give the member at a path, or a default.

        Parameters
        ----------
        path
            Path of the member, relative to the group.
        default
            What to give if there is no such member.

        Examples
        --------
        >>> import asyncio
        >>> group = omnizarr.aio.AsyncGroup(omnizarr.group({}))
        >>> asyncio.run(group.get("a", "none"))
        'none'
        """
        found = await call(lambda: self.sync.get(path), reads=True)
        return default if found is None else wrapped(found)

    async def contains(self, path: str) -> bool:
        """Tell whether there is a member at a path.

        Parameters
        ----------
        path
            Path of the member, relative to the group.

        Examples
        --------
        >>> import asyncio
        >>> group = omnizarr.aio.AsyncGroup(omnizarr.group({}))
        >>> asyncio.run(group.contains("a"))
        False
        """
        return await call(lambda: path in self.sync, reads=True)

    async def __aiter__(self) -> AsyncIterator[str]:
        """The names of the members."""
        async for name in iterate(lambda: self.sync):
            yield name

    async def members(
        self, max_depth: int | None = 0
    ) -> AsyncIterator[tuple[str, AsyncArray | AsyncGroup]]:
        """Iterate over names and nodes below this group.

        Parameters
        ----------
        max_depth
            How many levels of groups to enter; None: all.

        Examples
        --------
        >>> import asyncio
        >>> plain = omnizarr.group({})
        >>> _ = plain.create_array("b/a", shape=4, dtype="i4")
        >>> async def names(group):
        ...     return [name async for name, _ in group.members(max_depth=None)]
        >>> asyncio.run(names(omnizarr.aio.AsyncGroup(plain)))
        ['b', 'b/a']
        """
        async for name, member in iterate(lambda: self.sync._walk(max_depth)):
            yield name, wrapped(member)

    async def arrays(self) -> AsyncIterator[tuple[str, AsyncArray]]:
        """Iterate over names and arrays directly below this group.

        Examples
        --------
        >>> import asyncio
        >>> plain = omnizarr.group({})
        >>> _ = plain.create_array("a", shape=4, dtype="i4"), plain.create_group("b")
        >>> async def shapes(group):
        ...     return {name: array.shape async for name, array in group.arrays()}
        >>> asyncio.run(shapes(omnizarr.aio.AsyncGroup(plain)))
        {'a': (4,)}
        """
        async for name, member in self.members():
            if isinstance(member, AsyncArray):
                yield name, member

    async def groups(self) -> AsyncIterator[tuple[str, AsyncGroup]]:
        """Iterate over names and groups directly below this group.

        Examples
        --------
        >>> import asyncio
        >>> plain = omnizarr.group({})
        >>> _ = plain.create_array("a", shape=4, dtype="i4"), plain.create_group("b")
        >>> async def names(group):
        ...     return [name async for name, _ in group.groups()]
        >>> asyncio.run(names(omnizarr.aio.AsyncGroup(plain)))
        ['b']
        """
        async for name, member in self.members():
            if isinstance(member, AsyncGroup):
                yield name, member

    @like_method(Group.create_array)
    async def create_array(self, name: str, **arguments: Any) -> AsyncArray:
        """Create an array in this group: `Group.create_array`.

        Examples
        --------
        >>> import asyncio
        >>> group = omnizarr.aio.AsyncGroup(omnizarr.group({}))
        >>> asyncio.run(group.create_array("a", shape=4, dtype="i4")).name
        '/a'
        """
        return AsyncArray(
            await call(lambda: self.sync.create_array(name, **arguments), reads=False)
        )

    @like_method(Group.create_group)
    async def create_group(self, name: str, **arguments: Any) -> AsyncGroup:
        """Create a group in this group: `Group.create_group`.

        Examples
        --------
        >>> import asyncio
        >>> group = omnizarr.aio.AsyncGroup(omnizarr.group({}))
        >>> asyncio.run(group.create_group("b", attributes={"title": "sea"})).attrs
        {'title': 'sea'}
        """
        return AsyncGroup(
            await call(lambda: self.sync.create_group(name, **arguments), reads=False)
        )

    @like_method(Group.require_array)
    async def require_array(self, name: str, shape: Any = None, **arguments: Any) -> AsyncArray:
        """Give the array of this name, and create it if there is none: `Group.require_array`.

        Examples
        --------
        >>> import asyncio
        >>> group = omnizarr.aio.AsyncGroup(omnizarr.group({}))
        >>> asyncio.run(group.require_array("a", 4, dtype="i4")).shape
        (4,)
        >>> asyncio.run(group.require_array("a", 4, dtype="i4")).shape
        (4,)
        """
        return AsyncArray(
            await call(lambda: self.sync.require_array(name, shape, **arguments), reads=False)
        )

    async def require_group(self, name: str, overwrite: bool = False) -> AsyncGroup:
        """Give the group of this name, and create it if there is none.

        Parameters
        ----------
        name
            Path of the member, relative to the group.
        overwrite
            Replace an existing member.

        Examples
        --------
        >>> import asyncio
        >>> group = omnizarr.aio.AsyncGroup(omnizarr.group({}))
        >>> asyncio.run(group.require_group("b")).name
        '/b'
        """
        return AsyncGroup(await call(lambda: self.sync.require_group(name, overwrite), reads=False))

    async def delete(self, name: str) -> None:
        """Remove a member and everything below it.

        Parameters
        ----------
        name
            Path of the member, relative to the group.

        Examples
        --------
        >>> import asyncio
        >>> plain = omnizarr.group({})
        >>> _ = plain.create_group("b")
        >>> asyncio.run(omnizarr.aio.AsyncGroup(plain).delete("b"))
        >>> list(plain)
        []
        """
        await call(lambda: self.sync.__delitem__(name), reads=False)

    async def move(self, source: str, dest: str) -> None:
        """Give a member another name, in this group or below it.

        Parameters
        ----------
        source, dest
            Old and new path, relative to the group.

        Examples
        --------
        >>> import asyncio
        >>> plain = omnizarr.group({})
        >>> _ = plain.create_group("b")
        >>> asyncio.run(omnizarr.aio.AsyncGroup(plain).move("b", "c"))
        >>> list(plain)
        ['c']
        """
        await call(lambda: self.sync.move(source, dest), reads=False)


def wrapped(node: Array | Group) -> AsyncArray | AsyncGroup:
    return AsyncArray(node) if isinstance(node, Array) else AsyncGroup(node)
