"""A group or an array as a table of Arrow, block by block: what all writers of tables share.

    a group of arrays of one dimension and length     a column for each
    an array, or a group of arrays with the same      the long form: a row for each element, with a
    dimensions and their coordinates                  column for each dimension and each array

An array that the attribute `valid` of another one names says which of its values are not null.
Where a dimension has no coordinates, its column counts from 0. Types that `read` of
`omnizarr.jobs.importing.tables` has noted are restored: time zones, times of day, dictionaries.

This module knows arrays and columns. It must not know files.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from omnizarr import limits
from omnizarr.api.opening import open as open_node
from omnizarr.errors import UnsupportedError, ZarrError
from omnizarr.jobs.exporting.regions import Region, rows, slabs
from omnizarr.nodes.array import Array
from omnizarr.nodes.group import Group
from omnizarr.runtime.optional_packages import package

ORDER, METADATA, TYPE, VALID, COLUMN = "columns", "arrow_metadata", "arrow_type", "valid", "column"
"""Attributes that `read` writes: of the group the first two, of arrays the last three."""
_MOST_ROWS = 1 << 20
"""Of a block: a chunk of more rows is decoded for each of its blocks."""
_BLOCK_BYTES = 64 * limits.MIB
_TEXT_BYTES = 32
_UNITS = {"W": "D", "h": "s", "m": "s", "Y": "D", "M": "D"}
_ZONE = re.compile(r"timestamp\[(\w+), tz=([^\]]+)\]")
_TIME = re.compile(r"time(32|64)\[(\w+)\]")
_DAY = {"s": 86_400, "ms": 86_400_000, "us": 86_400_000_000, "ns": 86_400_000_000_000}

Advance = Callable[[int, int, str], object]
Values = Callable[[Region], Any]


@dataclass(frozen=True)
class Column:
    """A column: its name, its type, and what gives its values in a region."""

    name: str
    type: Any
    values: Values
    metadata: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Table:
    """Columns, and the regions that are one behind the other."""

    columns: tuple[Column, ...]
    regions: Callable[[], Iterator[Region]]
    metadata: Mapping[str, str]

    @property
    def schema(self) -> Any:
        pa = _arrow()
        fields = [pa.field(each.name, each.type, metadata=dict(each.metadata) or None)
                  for each in self.columns]  # fmt: skip
        return pa.schema(fields, dict(self.metadata) or None)

    def blocks(self) -> Iterator[Any]:
        """The rows, as tables of bounded size."""
        schema = self.schema
        for region in self.regions():
            values = [each.values(region) for each in self.columns]
            yield _arrow().Table.from_arrays(values, schema=schema)


def _arrow() -> Any:
    return package("pyarrow", "arrow", "writing tables")


@contextmanager
def writing(format_name: str) -> Iterator[None]:
    """A block in which what pyarrow refuses is an UnsupportedError."""
    pa = _arrow()
    try:
        yield
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError) as error:
        if isinstance(error, ZarrError):
            raise
        raise UnsupportedError(f"{format_name} does not hold these values: {error}") from error


def table_of(node: Array | Group, *, dictionaries: bool = False) -> Table:
    """The table of a node; UnsupportedError if it is none. `dictionaries`: restore them."""
    if isinstance(node, Array):
        return _long({node.basename or "value": node}, _coordinates(node), {}, dictionaries)
    members = dict(node.members())
    below = [name for name, member in members.items() if isinstance(member, Group)]
    if below:
        raise UnsupportedError(
            f"a table has no groups, and there is {below[0]!r}: export one of the groups or arrays"
            " with path="
        )
    arrays = {name: member for name, member in members.items() if isinstance(member, Array)}
    if not arrays:
        raise UnsupportedError("there is no array in the group")
    lengths = {array.shape for array in arrays.values()}
    if len(lengths) == 1 and len(*lengths) == 1:
        return _wide(node, arrays, dictionaries)
    coordinates = {name: array for name, array in arrays.items() if array.dims == (name,)}
    others = {name: array for name, array in arrays.items() if name not in coordinates}
    first = next(iter(others.values()), None)
    lengths_of = {} if first is None else dict(zip(first.dims or (), first.shape, strict=False))
    left_over = [
        name for name, array in coordinates.items() if array.shape != (lengths_of.get(name),)
    ]
    if left_over or len({(array.shape, array.dims) for array in others.values()}) != 1:
        shapes = ", ".join(f"{name} {array.shape}" for name, array in list(arrays.items())[:8])
        raise UnsupportedError(
            f"its arrays have different shapes ({shapes}), so that they make no table: export one"
            " of them with path="
        )
    return _long(others, coordinates, {}, dictionaries)


# -- both forms -----------------------------------------------------------------------------------


def _wide(group: Group, arrays: dict[str, Array], dictionaries: bool) -> Table:
    attributes = {name: dict(array.attrs) for name, array in arrays.items()}
    valid = {name: found[VALID] for name, found in attributes.items()
             if isinstance(found.get(VALID), str) and found[VALID] in arrays
             and arrays[found[VALID]].dtype == bool and found[VALID] != name}  # fmt: skip
    names = [name for name in arrays if name not in valid.values()]
    order = group.attrs.get(ORDER)
    if isinstance(order, list) and all(isinstance(name, str) for name in order):
        place = {name: number for number, name in enumerate(order)}
        names.sort(key=lambda name: place.get(name, len(place)))
    columns: list[Column] = []
    for name in names:
        mask = arrays[valid[name]] if name in valid else None
        shown = attributes[name].get(COLUMN)
        columns.append(_column(
            shown if isinstance(shown, str) else name, arrays[name], mask, attributes[name],
            dictionaries,
        ))  # fmt: skip
    width = sum(_itemsize(arrays[name]) for name in names) or 1
    most = max(1, min(_MOST_ROWS, _BLOCK_BYTES // width))

    def regions() -> Iterator[Region]:
        if arrays[names[0]].size:
            yield from ((slice(*bounds),) for bounds in rows(arrays[names[0]], most))

    same = order == names
    return Table(tuple(columns), regions, _texts(group.attrs.get(METADATA)) if same else {})


def _long(
    arrays: dict[str, Array], coordinates: dict[str, Array], metadata: dict[str, str],
    dictionaries: bool,
) -> Table:  # fmt: skip
    first = next(iter(arrays.values()))
    dims = [name or f"dim{axis}" for axis, name in enumerate(first.dims or (None,) * first.ndim)]
    columns: list[Column] = []
    for axis, name in enumerate(dims):
        while name in arrays or name in dims[:axis]:
            name += "_"
        found = coordinates.get(dims[axis])
        if found is not None and found.shape == (first.shape[axis],):
            inner = _column(name, found, None, dict(found.attrs), dictionaries)
            columns.append(Column(name, inner.type, partial(_repeated, inner.values, axis)))
        else:
            columns.append(Column(name, _arrow().int64(), partial(_counted, axis)))
    for name, array in arrays.items():
        columns.append(_column(name, array, None, dict(array.attrs), dictionaries))
    width = sum(_itemsize(array) for array in arrays.values()) + 8 * len(dims)
    nbytes = max(1, min(_MOST_ROWS, _BLOCK_BYTES // width)) * first.dtype.itemsize
    return Table(tuple(columns), partial(slabs, first, nbytes), metadata)


def _coordinates(array: Array) -> dict[str, Array]:
    """Arrays beside this one that hold the coordinates of its dimensions."""
    found: dict[str, Array] = {}
    parent = array.path.rpartition("/")[0]
    for name in filter(None, array.dims or ()):
        path = f"{parent}/{name}" if parent else name
        if path == array.path:
            continue
        try:
            member = open_node(array.store, mode="r", path=path)
        except ZarrError:
            continue
        if isinstance(member, Array) and member.dims == (name,):
            found[name] = member
    return found


def _repeated(values: Values, axis: int, region: Region) -> Any:
    """A coordinate for each element of a region, in C order."""
    found = values((region[axis],))
    return found.take(_arrow().array(_places(region, axis, 0)))


def _counted(axis: int, region: Region) -> Any:
    return _arrow().array(_places(region, axis, region[axis].start))


def _places(region: Region, axis: int, start: int) -> Any:
    shape = tuple(part.stop - part.start for part in region)
    line = np.arange(start, start + shape[axis], dtype=np.int64)
    shaped = line.reshape(tuple(-1 if n == axis else 1 for n in range(len(shape))))
    return np.broadcast_to(shaped, shape).reshape(-1)


# -- one column -----------------------------------------------------------------------------------


def _column(
    name: str, array: Array, mask: Array | None, attributes: Mapping[str, Any], dictionaries: bool
) -> Column:
    noted = attributes.get(TYPE)
    noted = noted if isinstance(noted, str) else ""
    values = partial(_values, array, mask, noted, dictionaries)
    nothing: Region = tuple(slice(0, 0) for _ in array.shape)
    try:
        kind = values(nothing).type if nothing else values(()).type
    except ZarrError as error:
        raise UnsupportedError(f"column {name!r}: {error}") from error
    types = _arrow().types
    if (types.is_null(kind) and noted != "null") or types.is_list(kind):
        raise UnsupportedError(f"column {name!r}: elements of {array.dtype}, which no column has")
    cast = values if types.is_dictionary(kind) else partial(_cast, values, kind)
    return Column(name, kind, cast, _texts(attributes.get(METADATA)))


def _cast(values: Values, kind: Any, region: Region) -> Any:
    """In one type: that of text depends on how much there is."""
    found = values(region)
    return found if found.type == kind else found.cast(kind)


def _values(
    array: Array, mask: Array | None, noted: str, dictionaries: bool, region: Region
) -> Any:
    pa = _arrow()
    if array.dtype.kind in "mM":
        found = _times(pa, np.asarray(array[region if region else ...]).reshape(-1), noted)
    else:
        read = array.to_arrow(region if region else ...)
        found = read.combine_chunks() if isinstance(read, pa.ChunkedArray) else read
        found = found.combine_chunks() if isinstance(found, pa.ChunkedArray) else found
    if mask is not None:
        valid = pa.array(np.asarray(mask[region]))
        if noted == "null" and not valid.true_count:
            return pa.nulls(len(valid))
        found = package("pyarrow.compute", "arrow", "writing tables").if_else(
            valid, found, pa.scalar(None, found.type)
        )
    if dictionaries and noted.startswith("dictionary<"):
        found = found.dictionary_encode()
    return found


def _times(pa: Any, values: np.ndarray[Any, Any], noted: str) -> Any:
    unit, multiple = np.datetime_data(values.dtype)
    kind = values.dtype.kind
    wanted = _UNITS.get(unit, unit)
    if wanted == "D" and kind == "m":
        wanted = "s"
    if wanted not in ("D", *_DAY):
        raise UnsupportedError(f"Arrow has no type for {values.dtype}: convert it to {kind}8[ns]")
    if multiple != 1 or wanted != unit:
        converted = values.astype(f"{kind}8[{wanted}]")
        same = (converted.astype(values.dtype) == values) | np.isnat(values)
        if not same.all():
            raise UnsupportedError(f"{values[~same][0]} is beyond {converted.dtype}")
        values = converted
    if wanted == "D" and ((abs(values.view("i8")) >= 1 << 31) & ~np.isnat(values)).any():
        raise UnsupportedError("a date is further than 2**31 days from 1970, and Arrow has no such")
    found = pa.array(values)
    zone, time = _ZONE.fullmatch(noted), _TIME.fullmatch(noted)
    if kind == "M" and zone is not None and zone[1] == wanted:
        return found.cast(pa.timestamp(zone[1], zone[2]))
    if kind == "m" and time is not None and time[2] == wanted:
        numbers = values.view("i8")
        if (((numbers < 0) | (numbers >= _DAY[wanted])) & ~np.isnat(values)).any():
            raise UnsupportedError("a time of day is negative, or a day or longer").advise(
                f"remove the attribute {TYPE!r} of the array"
            )
        width = pa.int32() if time[1] == "32" else pa.int64()
        of_day = pa.time32 if time[1] == "32" else pa.time64
        return found.cast(pa.int64()).cast(width).cast(of_day(wanted))
    return found


def _itemsize(array: Array) -> int:
    return _TEXT_BYTES if array.dtype.kind in "OT" else array.dtype.itemsize


def _texts(found: object) -> dict[str, str]:
    if not isinstance(found, Mapping):
        return {}
    return {key: value for key, value in found.items() if isinstance(value, str)}


# -- reading back ---------------------------------------------------------------------------------


def count(table: Table) -> int:
    """How many blocks there are."""
    return sum(1 for _ in table.regions())


def compare(table: Table, found: Iterator[Any], advance: Advance) -> Iterator[str]:
    """What record batches that were read back have that the table has not."""
    pa = _arrow()
    waiting, row = table.schema.empty_table(), 0
    for block in table.blocks():
        while waiting.num_rows < block.num_rows:
            batch = next(found, None)
            if batch is None:
                yield f"there are {row + waiting.num_rows} rows, and there should be more"
                return
            more = pa.Table.from_batches([batch])
            arrays = [more.column(n).cast(each.type) for n, each in enumerate(table.columns)]
            more = pa.Table.from_arrays(arrays, schema=table.schema)
            waiting = pa.concat_tables([waiting, more])
        part, waiting = waiting.slice(0, block.num_rows), waiting.slice(block.num_rows)
        for column, one, other in zip(table.columns, block.columns, part.columns, strict=True):
            if not alike(pa, one.combine_chunks(), other.combine_chunks()):
                yield f"column {column.name!r} differs in rows {row} to {row + block.num_rows}"
        row += block.num_rows
        advance(1, block.nbytes, "")
    if waiting.num_rows or any(batch.num_rows for batch in found):
        yield f"there are more than {row} rows"


def alike(pa: Any, one: Any, other: Any) -> bool:
    """Whether two arrays are equal; NaN is equal to NaN."""
    if pa.types.is_dictionary(one.type):
        return alike(pa, one.dictionary_decode(), other.dictionary_decode())
    if pa.types.is_struct(one.type):
        return all(alike(pa, *pair) for pair in zip(one.flatten(), other.flatten(), strict=True))
    if not pa.types.is_floating(one.type):
        return bool(one.equals(other))
    if not one.is_valid().equals(other.is_valid()):
        return False
    left, right = one.drop_null().to_numpy(False), other.drop_null().to_numpy(False)
    nans = np.isnan(left) & np.isnan(right)
    return bool((((left == right) & (np.signbit(left) == np.signbit(right))) | nans).all())
