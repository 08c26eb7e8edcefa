"""What an append does: which arrays grow, by how much, and in what regions.

Everything that does not fit is found here, before anything is written. Regions are aligned with
what is stored as one value, and numbered, so that a journal can name them.

This module knows arrays and names. It must not write.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from math import prod
from typing import Any, NamedTuple

from omnizarr.errors import ConflictError, MetadataError, NodeTypeError, SelectionError, ZarrError
from omnizarr.jobs.appending.agreement import check_agreement
from omnizarr.jobs.appending.sources import Source, check_range, source_of
from omnizarr.jobs.conversion.chunks import Blocks, blocks_for
from omnizarr.jobs.conversion.regions import Region, overlap, touched
from omnizarr.jobs.obstacles import Obstacles
from omnizarr.jobs.running import Shared
from omnizarr.model.array import ArrayModel
from omnizarr.nodes import resizing, unfinished
from omnizarr.nodes.array import Array
from omnizarr.nodes.data.values import names_of
from omnizarr.nodes.group import Group
from omnizarr.nodes.node import NodeAddress, Options
from omnizarr.runtime.properties import cached_property


class Growth(NamedTuple):
    """How one array grows."""

    name: str
    array: Array
    axis: int
    start: int
    stop: int
    source: Source

    @property
    def steps(self) -> tuple[int, int, int]:
        return self.axis, self.start, self.stop

    @property
    def work(self) -> Work:
        """The array as it will be; a write to it does not look for its documents."""
        model = resizing.grown(self.array._stored, self.axis, self.stop)
        options = self.array._options.changed(documents_last=True)
        source = self.source.sendable
        return Work(self.array._place, model, options, source, self.axis, self.start)

    @property
    def target(self) -> Array:
        return self.work.target

    @property
    def part(self) -> Region:
        """What is new, in the array as it will be."""
        shape = resizing.grown(self.array._stored, self.axis, self.stop).shape
        return tuple(
            slice(self.start if dimension == self.axis else 0, length)
            for dimension, length in enumerate(shape)
        )

    @property
    def blocks(self) -> Blocks:
        grid = self.target._stored.grid
        lengths = tuple(part.stop - part.start for part in self.part)
        return blocks_for(grid, lengths, grid, self.array.itemsize)

    @property
    def task_bytes(self) -> int:
        """What one region takes: its values, their encoded bytes, and what codecs need."""
        return 3 * self.target._source.chunk_bytes * self.blocks.nbytes_factor

    def regions(self) -> Iterator[Region]:
        """What is new, in regions that share no stored value."""
        if not prod(part.stop - part.start for part in self.part):
            return
        blocks = self.blocks
        for at in touched(blocks.grid, self.part, blocks.factors):
            found = overlap(blocks.region(at), self.part)
            if found is not None:
                yield found

    def inside(self, region: Region) -> Region:
        """A region in the coordinates of the source."""
        return _moved(region, self.axis, -self.start)


def units_of(growth: Growth) -> int:
    return sum(1 for _ in growth.regions())


def _moved(region: Region, axis: int, by: int) -> Region:
    part = region[axis]
    return (*region[:axis], slice(part.start + by, part.stop + by), *region[axis + 1 :])


@dataclass
class Work:
    """What the worker needs for every region of an array. An array that is sent to another process
    is opened again there, as it is stored; this one is not stored yet."""

    place: NodeAddress
    model: ArrayModel
    options: Options
    source: Array | None
    axis: int
    start: int
    token: str = ""
    """Of the append, in the mark of the array."""

    @cached_property
    def target(self) -> Array:
        return Array._of(self.place, self.model, self.options)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "target"}


class Task(NamedTuple):
    work: Shared[Work]
    number: int
    region: Region
    values: Any

    def do(self) -> int:
        """Write the region; gives the bytes of its values."""
        work = self.work.value
        values: Any = self.values
        if work.source is not None:
            whole: Any = (*_moved(self.region, work.axis, -work.start), ...)
            values = work.source[whole]
        # A worker may outlive the process that has sent it here.
        if not unfinished.is_living(work.token) and not unfinished.is_owned(work.place, work.token):
            raise ConflictError(
                f"{work.place}: this append was given up, and another one or a resize has taken"
                " its place"
            ).at(work.place.store)
        check_range(values, work.target)
        work.target[self.region] = values
        count: int = prod(part.stop - part.start for part in self.region)
        return count * work.target.itemsize


def fingerprint_of(growths: list[Growth]) -> str | None:
    """What tells this append from every other; None if the values are not known here."""
    found = hashlib.sha256()
    for one in growths:
        digest = one.source.digest()
        if digest is None:
            return None
        # As it will be, so that it is the same before and after the array has grown.
        model = replace(resizing.grown(one.array._stored, one.axis, one.stop), attributes={})
        documents = one.array._place.format.documents(one.array.path, model)
        facts = (one.name, one.steps, one.blocks.factors, sorted(documents.items()), digest)
        found.update(repr(facts).encode("utf-8", "backslashreplace"))
    return found.hexdigest()


Before = Mapping[str, tuple[int, int, int]]


def growths_of(
    node: Array | Group, source: Any, dim: str | int, grown: Before | None = None
) -> list[Growth]:
    """How every array grows; all that does not fit is told at once. `grown` says of arrays that
    have grown already how they did."""
    obstacles = Obstacles()
    growths: list[Growth] = []
    given = {"": source} if isinstance(node, Array) else _members(source)
    for name, array in _growing(node, dim).items():
        try:
            if name not in given:
                raise MetadataError(
                    f"the source has no array {name!r}, which has the dimension {dim!r} here"
                )
            before = (grown or {}).get(name)
            growths.append(_growth(name, array, given.pop(name), dim, before))
        except ZarrError as error:
            obstacles.add(error)
    for name, values in given.items():
        if dim in (names_of(values) or ()):
            obstacles.add(
                MetadataError(
                    f"the source has an array {name!r} with the dimension {dim!r}, and the group"
                    " has none; create it first"
                )
            )
    starts = {one.start for one in growths}
    if len(starts) > 1 and not obstacles.errors:
        lengths = ", ".join(f"{one.name!r}: {one.start}" for one in growths)
        obstacles.add(MetadataError(f"the arrays differ in the length of {dim!r} ({lengths})"))
    if len({one.stop - one.start for one in growths}) > 1:
        lengths = ", ".join(f"{one.name!r}: {one.stop - one.start}" for one in growths)
        obstacles.add(
            MetadataError(f"the values to append differ in the length of {dim!r} ({lengths})")
        )
    obstacles.check()
    return growths


def _members(source: Any) -> dict[str, Any]:
    """The arrays of a source by name; those of an `xarray.Dataset` with its coordinates."""
    named = getattr(source, "variables", source)
    if not hasattr(named, "keys"):
        raise NodeTypeError(
            "what is appended to a group is a mapping of arrays, a group or an xarray.Dataset;"
            f" found {type(source).__name__}"
        )
    return {str(name): named[name] for name in named.keys()}  # noqa: SIM118 - a group is no Mapping


def _growing(node: Array | Group, dim: str | int) -> dict[str, Array]:
    if isinstance(node, Array):
        return {"": node}
    if not isinstance(dim, str):
        raise MetadataError(
            f"a group grows along a dimension by its name; found {dim!r}"
        ).at(node.store, path=node.path)  # fmt: skip
    found = {name: array for name, array in node.arrays() if dim in (array.dims or ())}
    if not found:
        raise MetadataError(f"no array of the group has a dimension {dim!r}").at(
            node.store, path=node.path
        )
    return found


def _growth(
    name: str, array: Array, given: Any, dim: str | int, before: tuple[int, int, int] | None
) -> Growth:
    if isinstance(dim, str):
        if dim not in (array.dims or ()):
            raise SelectionError(f"no dimension {dim!r}: the array has {array.dims}").at(
                array.store, path=array.path
            )
        axis = (array.dims or ()).index(dim)
    else:
        axis = dim
    check_agreement(given, array)
    source = source_of(given, array)
    axis = resizing.checked_axis(array, source.shape, axis)
    start = array.shape[axis] if before is None else before[1]
    return Growth(name, array, axis, start, start + source.shape[axis], source)
