"""Names for types, keys and small parsers that authors of codecs and stores import."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from enum import Enum
from typing import Any, Final, Generic, Literal, NotRequired, TypeAlias, TypedDict, TypeVar, cast

import numpy as np

from omnizarr.compat.zarr3.core.buffer.core import BytesLike

__all__ = ["BytesLike"]

T = TypeVar("T", bound=tuple[Any, ...])
V = TypeVar("V")
E = TypeVar("E", bound=Enum)
TName = TypeVar("TName", bound=str)
TConfig = TypeVar("TConfig", bound=Mapping[str, Any])

ZARR_JSON = "zarr.json"
ZARRAY_JSON = ".zarray"
ZGROUP_JSON = ".zgroup"
ZATTRS_JSON = ".zattrs"
ZMETADATA_V2_JSON = ".zmetadata"

ShapeLike: TypeAlias = Iterable[int | np.integer[Any]] | int | np.integer[Any]
ChunksLike: TypeAlias = Any
ChunkCoords: TypeAlias = tuple[int, ...]
ZarrFormat: TypeAlias = Literal[2, 3]
NodeType: TypeAlias = Literal["array", "group"]
JSON: TypeAlias = str | int | float | bool | Mapping[str, "JSON"] | Sequence["JSON"] | None
MemoryOrder: TypeAlias = Literal["C", "F"]
AccessModeLiteral: TypeAlias = Literal["r", "r+", "a", "w", "w-"]
ANY_ACCESS_MODE: Final = ("r", "r+", "a", "w", "w-")
DimensionNamesLike: TypeAlias = Iterable[str | None] | None
DimensionNames: TypeAlias = DimensionNamesLike


class NamedConfig(TypedDict, Generic[TName, TConfig]):
    """A JSON object with a name, and perhaps a configuration."""

    name: TName
    configuration: NotRequired[TConfig]


class NamedRequiredConfig(TypedDict, Generic[TName, TConfig]):
    """A JSON object with a name and a configuration."""

    name: TName
    configuration: TConfig


def for_format(version: Any, two: Callable[[], V], three: Callable[[], V]) -> V:
    """What zarr-python's interface says of a format that its caller names.

    Where an argument `zarr_format` chooses between two spellings, this is the one place that looks
    at it.
    """
    ways = {2: two, 3: three}
    if version not in ways:
        raise ValueError(f"Invalid zarr_format: {version}. Expected 2 or 3")
    return ways[version]()


def product(tup: tuple[int, ...]) -> int:
    """Multiply the lengths of a shape."""
    return math.prod(tup)


def ceildiv(a: float, b: float) -> int:
    """Divide, and round up."""
    return 0 if a == 0 else math.ceil(a / b)


def concurrent_iter(
    items: Iterable[T], func: Callable[..., Awaitable[V]], limit: int | None = None
) -> list[asyncio.Task[V]]:
    """Start `func(*item)` for each item, at most `limit` of them at a time."""
    places = asyncio.Semaphore(limit) if limit is not None else None

    async def run(item: T) -> V:
        if places is None:
            return await func(*item)
        async with places:
            return await func(*item)

    return [asyncio.ensure_future(run(item)) for item in items]


async def concurrent_map(
    items: Iterable[T], func: Callable[..., Awaitable[V]], limit: int | None = None
) -> list[V]:
    """Await `func(*item)` for each item, at most `limit` of them at a time."""
    return await asyncio.gather(*concurrent_iter(items, func, limit))


def enum_names(enum: type[E]) -> Iterator[str]:
    """Iterate over the names of an enumeration."""
    return (item.name for item in enum)


def parse_enum(data: object, cls: type[E]) -> E:
    """Return the member of an enumeration that is given, or named."""
    if isinstance(data, cls):
        return data
    if not isinstance(data, str):
        raise TypeError(f"Expected str, got {type(data)}")
    if data in enum_names(cls):
        return cls(data)
    raise ValueError(f"Value must be one of {list(enum_names(cls))!r}. Got {data} instead.")


def parse_name(data: Any, expected: str | None = None) -> str:
    """Return a name, which must be `expected` if that is given."""
    if not isinstance(data, str):
        raise TypeError(f"Expected a string, got an instance of {type(data)}.")
    if expected is None or data == expected:
        return data
    raise ValueError(f"Expected '{expected}'. Got {data} instead.")


def parse_configuration(data: Any) -> Any:
    """Return a configuration, which must be a dictionary."""
    if not isinstance(data, dict):
        raise TypeError(f"Expected dict, got {type(data)}")
    return data


def parse_named_configuration(
    data: Any, expected_name: str | None = None, *, require_configuration: bool = True
) -> tuple[str, dict[str, Any]]:
    """Return the name and the configuration of a JSON object, None if it may lack one."""
    if not isinstance(data, dict):
        raise TypeError(f"Expected dict, got {type(data)}")
    if "name" not in data:
        raise ValueError(f"Named configuration does not have a 'name' key. Got {data}.")
    name = parse_name(data["name"], expected_name)
    if "configuration" in data:
        return name, parse_configuration(data["configuration"])
    if require_configuration:
        raise ValueError(f"Named configuration does not have a 'configuration' key. Got {data}.")
    return name, cast("dict[str, Any]", None)


def parse_shapelike(data: ShapeLike) -> tuple[int, ...]:
    """Return a shape, given as one length or as several."""
    if isinstance(data, int | np.integer):
        if data < 0:
            raise ValueError(f"Expected a non-negative integer. Got {data} instead")
        return (int(data),)
    try:
        lengths = tuple(data)
    except TypeError as error:
        raise TypeError(
            f"Expected an integer or an iterable of integers. Got {data} instead."
        ) from error
    if not all(isinstance(length, int | np.integer) for length in lengths):
        raise TypeError(f"Expected an iterable of integers. Got {data} instead.")
    if any(length < 0 for length in lengths):
        raise ValueError(f"Expected all values to be non-negative. Got {data} instead.")
    return tuple(int(length) for length in lengths)


def parse_fill_value(data: Any) -> Any:
    """Return a fill value as it is."""
    return data


def parse_order(data: Any) -> MemoryOrder:
    """Return "C" or "F"."""
    if data in ("C", "F"):
        return cast(MemoryOrder, data)
    raise ValueError(f"Expected one of ('C', 'F'), got {data} instead.")


def parse_bool(data: Any) -> bool:
    """Return a truth value, which must be a bool."""
    if isinstance(data, bool):
        return data
    raise ValueError(f"Expected instance of bool, got {data} instead.")


def parse_int(data: Any) -> int:
    """Return an integer, which must not be a bool."""
    if isinstance(data, int) and not isinstance(data, bool):
        return data
    raise ValueError(f"Expected int, got {data} instead.")
