"""`ArraySpec`: what a codec is told about a chunk; `ArrayConfig`: how arrays are used."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import Any, Self, TypeAlias, TypedDict, cast

import numpy as np

from omnizarr.compat.zarr3.core.buffer.core import BufferPrototype
from omnizarr.compat.zarr3.core.common import (
    MemoryOrder,
    parse_bool,
    parse_int,
    parse_order,
    parse_shapelike,
)


class ArrayConfigParams(TypedDict, total=False):
    """The members of an `ArrayConfig`, each of them optional."""

    order: MemoryOrder
    write_empty_chunks: bool
    read_missing_chunks: bool
    sharding_coalesce_max_gap_bytes: int
    sharding_coalesce_max_bytes: int


@dataclass(frozen=True)
class ArrayConfig:
    """How an array is read and written.

    Parameters
    ----------
    order
        Memory order of what a read returns.
    write_empty_chunks
        Whether chunks that hold the fill value alone are stored.
    read_missing_chunks
        Whether a missing chunk is read as the fill value.
    sharding_coalesce_max_gap_bytes
        Largest gap between parts of a shard that are read with one request.
    sharding_coalesce_max_bytes
        Largest such request.
    """

    order: MemoryOrder = "C"
    write_empty_chunks: bool = False
    read_missing_chunks: bool = True
    sharding_coalesce_max_gap_bytes: int = 1 << 20
    sharding_coalesce_max_bytes: int = 16 << 20

    def __post_init__(self) -> None:
        parse_order(self.order)
        parse_bool(self.write_empty_chunks)
        parse_bool(self.read_missing_chunks)
        parse_int(self.sharding_coalesce_max_gap_bytes)
        parse_int(self.sharding_coalesce_max_bytes)

    @classmethod
    def from_dict(cls, data: ArrayConfigParams) -> Self:
        """Make a configuration of some of its members; the configuration of `zarr` has the rest."""
        from omnizarr.compat.zarr3 import config

        names = [field.name for field in fields(cls)]
        unknown = sorted(set(data) - set(names))
        if unknown:
            raise TypeError(f"Unknown array config keys: {unknown}. Valid keys are {names}.")
        given: dict[str, Any] = {}
        for field in fields(cls):
            given[field.name] = config.get(f"array.{field.name}", field.default)
        return cls(**{**given, **data})

    def to_dict(self) -> ArrayConfigParams:
        """Return the members."""
        return cast(ArrayConfigParams, asdict(self))


ArrayConfigLike: TypeAlias = ArrayConfig | ArrayConfigParams


def parse_array_config(data: ArrayConfigLike | None) -> ArrayConfig:
    """Return a configuration, given as one, as a dictionary, or not at all."""
    return data if isinstance(data, ArrayConfig) else ArrayConfig.from_dict(data or {})


@dataclass(frozen=True, eq=False)
class ArraySpec:
    """What a codec is told about a chunk.

    Parameters
    ----------
    shape
        Shape of the chunk.
    dtype
        Its data type, a `ZDType`.
    fill_value
        The fill value of the array.
    config
        How the array is read and written.
    prototype
        The classes of buffers to make.
    """

    shape: tuple[int, ...]
    dtype: Any
    fill_value: Any
    config: ArrayConfig
    prototype: BufferPrototype

    def __post_init__(self) -> None:
        object.__setattr__(self, "shape", parse_shapelike(self.shape))

    def _key(self) -> tuple[Any, ...]:
        fill = self.fill_value
        if isinstance(fill, np.generic):
            fill = fill.tobytes()  # NaN equals NaN, and 0.0 is not -0.0
        return self.shape, self.dtype, fill, self.config, self.prototype

    def __eq__(self, other: object) -> bool:
        return self._key() == other._key() if isinstance(other, ArraySpec) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._key())

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return len(self.shape)

    @property
    def order(self) -> MemoryOrder:
        """Memory order of what a read returns."""
        return self.config.order
