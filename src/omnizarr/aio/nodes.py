"""Arrays and groups whose calls are awaited.

Each wraps the plain node (`.sync`) and calls it in a thread. What is known without asking the store
is a plain property. This module knows nodes. It must not know how they do their work.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, Self, TypeVar

import numpy as np
import numpy.typing as npt

from omnizarr import Array, Group, Store
from omnizarr.aio.threads import call, iterate
from omnizarr.model import json

NDArray = npt.NDArray[Any]
N = TypeVar("N", Array, Group)


@dataclass(frozen=True, repr=False)
class _AsyncNode(Generic[N]):
    """What arrays and groups share."""

    sync: N
    """The plain node: the same data, without `await`."""

    @property
    def store(self) -> Store:
        return self.sync.store

    @property
    def path(self) -> str:
        return self.sync.path

    @property
    def name(self) -> str:
        return self.sync.name

    @property
    def basename(self) -> str:
        return self.sync.basename

    @property
    def read_only(self) -> bool:
        return self.sync.read_only

    @property
    def zarr_format(self) -> int | str:
        return self.sync.zarr_format

    @property
    def attrs(self) -> dict[str, Any]:
        """The attributes as they were last read: a copy. `update_attributes` stores others."""
        return dict(json.plain(self.sync._stored.attributes))

    async def update_attributes(self, attributes: Mapping[str, Any]) -> Self:
        """Set several attributes with one write."""
        await call(lambda: self.sync.attrs.update(attributes), reads=False)
        return self

    async def put_attributes(self, attributes: Mapping[str, Any]) -> Self:
        """Replace all attributes."""
        await call(lambda: self.sync.attrs.put(attributes), reads=False)
        return self

    async def refresh(self) -> None:
        """Read the metadata again; another process may have changed it."""
        await call(self.sync.refresh, reads=True)

    async def close(self) -> None:
        """Close the store."""
        await call(self.sync.store.close, reads=False)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self.close()

    def __repr__(self) -> str:
        return repr(self.sync).replace("<omnizarr.", "<omnizarr.aio.Async", 1)


@dataclass(frozen=True)
class AsyncIndex:
    """Another way to select: `await array.oindex.read(selection)`."""

    _read: Callable[..., Any]
    _write: Callable[..., None]
    _fields: Any = None

    async def read(self, selection: Any = Ellipsis, *, out: NDArray | None = None) -> Any:
        return await _read(self._read, selection, out, fields=self._fields)

    async def write(self, selection: Any, values: Any) -> None:
        await call(lambda: self._write(selection, values, fields=self._fields), reads=False)


async def _read(function: Callable[..., Any], selection: Any, out: Any, **more: Any) -> Any:
    # With `out`, the caller's own memory is written to.
    return await call(lambda: function(selection, out=out, **more), reads=out is None)


class AsyncArray(_AsyncNode[Array]):
    """An array; `await array.read(selection)` is what `array[selection]` is to the plain one."""

    @property
    def shape(self) -> tuple[int, ...]:
        return self.sync.shape

    @property
    def ndim(self) -> int:
        return self.sync.ndim

    @property
    def size(self) -> int:
        return self.sync.size

    @property
    def nbytes(self) -> int:
        return self.sync.nbytes

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.sync.dtype

    @property
    def chunks(self) -> Any:
        return self.sync.chunks

    @property
    def shards(self) -> Any:
        return self.sync.shards

    @property
    def dims(self) -> Any:
        return self.sync.dims

    @property
    def fill_value(self) -> Any:
        return self.sync.fill_value

    def __len__(self) -> int:
        return len(self.sync)

    def __bool__(self) -> bool:
        return True

    # -- values -------------------------------------------------------------------------------
    async def read(self, selection: Any = Ellipsis, *, out: NDArray | None = None) -> Any:
        """`array[selection]`, into `out` if it is given."""
        if out is None:
            return await call(lambda: self.sync[selection], reads=True)
        return await _read(self.sync.read, selection, out)

    async def write(self, selection: Any, values: Any) -> None:
        """`array[selection] = values`."""
        await call(lambda: self.sync.__setitem__(selection, values), reads=False)

    async def getitem(self, selection: Any) -> Any:
        """zarr-python's name for `read`."""
        return await self.read(selection)

    async def setitem(self, selection: Any, values: Any) -> None:
        """zarr-python's name for `write`."""
        await self.write(selection, values)

    @property
    def oindex(self) -> AsyncIndex:
        """Every axis on its own: `await array.oindex.read(([0, 2], mask))`."""
        return AsyncIndex(self.sync.get_orthogonal_selection, self.sync.set_orthogonal_selection)

    @property
    def vindex(self) -> AsyncIndex:
        """Points: `await array.vindex.read(([0, 2], [1, 3]))`."""
        return AsyncIndex(self.sync.get_coordinate_selection, self.sync.set_coordinate_selection)

    @property
    def blocks(self) -> AsyncIndex:
        """Whole chunks: `await array.blocks.read((0, slice(1, 3)))`."""
        return AsyncIndex(self.sync.get_block_selection, self.sync.set_block_selection)

    def field(self, name: str | list[str]) -> AsyncIndex:
        """One field of a structured type, or some: `await array.field("x").read(slice(0, 5))`."""
        get, put = self.sync.get_basic_selection, self.sync.set_basic_selection
        return AsyncIndex(get, put, name)

    # -- shape --------------------------------------------------------------------------------
    async def resize(self, shape: Any) -> None:
        """Change the shape. What falls outside is gone."""
        await call(lambda: self.sync.resize(shape), reads=False)

    async def append(self, data: Any, axis: int = 0) -> tuple[int, ...]:
        """Add `data` at the end of a dimension; the new shape."""
        return await call(lambda: self.sync.append(data, axis), reads=False)


class AsyncGroup(_AsyncNode[Group]):
    """A group; `await group.get("a/b")` and `async for name, node in group.members()`."""

    async def getitem(self, path: str) -> AsyncArray | AsyncGroup:
        """The member at a path; `NodeNotFoundError` (a KeyError) if there is none."""
        return wrapped(await call(lambda: self.sync[path], reads=True))

    async def get(self, path: str, default: Any = None) -> Any:
        """The member at a path, or `default`."""
        found = await call(lambda: self.sync.get(path), reads=True)
        return default if found is None else wrapped(found)

    async def contains(self, path: str) -> bool:
        return await call(lambda: path in self.sync, reads=True)

    async def __aiter__(self) -> AsyncIterator[str]:
        """The names of the members."""
        async for name in iterate(lambda: self.sync):
            yield name

    async def members(
        self, max_depth: int | None = 0
    ) -> AsyncIterator[tuple[str, AsyncArray | AsyncGroup]]:
        """Names and nodes below this group; None as depth means all the way down."""
        async for name, member in iterate(lambda: self.sync._walk(max_depth)):
            yield name, wrapped(member)

    async def arrays(self) -> AsyncIterator[tuple[str, AsyncArray]]:
        async for name, member in self.members():
            if isinstance(member, AsyncArray):
                yield name, member

    async def groups(self) -> AsyncIterator[tuple[str, AsyncGroup]]:
        async for name, member in self.members():
            if isinstance(member, AsyncGroup):
                yield name, member

    async def create_array(self, name: str, **arguments: Any) -> AsyncArray:
        """The keywords are those of `omnizarr.create_array`."""
        return AsyncArray(
            await call(lambda: self.sync.create_array(name, **arguments), reads=False)
        )

    async def create_group(self, name: str, **arguments: Any) -> AsyncGroup:
        return AsyncGroup(
            await call(lambda: self.sync.create_group(name, **arguments), reads=False)
        )

    async def require_array(self, name: str, shape: Any = None, **arguments: Any) -> AsyncArray:
        """The array of this name, created if there is none."""
        return AsyncArray(
            await call(lambda: self.sync.require_array(name, shape, **arguments), reads=False)
        )

    async def require_group(self, name: str, overwrite: bool = False) -> AsyncGroup:
        """The group of this name, created if there is none."""
        return AsyncGroup(await call(lambda: self.sync.require_group(name, overwrite), reads=False))

    async def delete(self, name: str) -> None:
        """Remove a member and everything below it."""
        await call(lambda: self.sync.__delitem__(name), reads=False)

    async def move(self, source: str, dest: str) -> None:
        """Give a member another name, in this group or below it."""
        await call(lambda: self.sync.move(source, dest), reads=False)


def wrapped(node: Array | Group) -> AsyncArray | AsyncGroup:
    return AsyncArray(node) if isinstance(node, Array) else AsyncGroup(node)
