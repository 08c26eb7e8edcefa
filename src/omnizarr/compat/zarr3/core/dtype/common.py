"""How data types are spelled in documents, and what some of them have in common."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final, Generic, Literal, TypeAlias, TypedDict, TypeGuard, TypeVar

from omnizarr.compat.zarr3.core.dtype.problems import moved_error
from omnizarr.compat.zarr3.core.dtype.problems import warn_unstable as v3_unstable_dtype_warning

__all__ = ["v3_unstable_dtype_warning"]

__getattr__ = moved_error("zarr.core.dtype.common")

EndiannessStr: TypeAlias = Literal["little", "big"]
ENDIANNESS_STR: Final = ("little", "big")
SpecialFloatStrings: TypeAlias = Literal["NaN", "Infinity", "-Infinity"]
SPECIAL_FLOAT_STRINGS: Final = ("NaN", "Infinity", "-Infinity")
JSONFloatV2: TypeAlias = float | SpecialFloatStrings
JSONFloatV3: TypeAlias = float | SpecialFloatStrings | str
OBJECT_CODEC_IDS: Final = ("vlen-utf8", "vlen-bytes", "vlen-array", "pickle", "json2", "msgpack2")
DTypeJSON: TypeAlias = Any
StructuredName_V2: TypeAlias = Sequence[Any]
DTypeName_V2: TypeAlias = StructuredName_V2 | str
TDTypeName = TypeVar("TDTypeName")
TObjectCodecID = TypeVar("TObjectCodecID")


class DTypeConfig_V2(TypedDict, Generic[TDTypeName, TObjectCodecID]):  # noqa: N801
    """The data type of a document of format 2, and the object codec among its filters."""

    name: TDTypeName
    object_codec_id: TObjectCodecID


DTypeSpec_V2: TypeAlias = DTypeConfig_V2[Any, Any]
DTypeSpec_V3: TypeAlias = str | Mapping[str, Any]


def check_structured_dtype_v2_inner(data: object) -> bool:
    """Tell whether this is a field of a structured type: a name and a type."""
    if isinstance(data, str | Mapping) or not isinstance(data, Sequence) or len(data) != 2:
        return False
    name, kind = data
    if not isinstance(name, str):
        return False
    return isinstance(kind, str) or (
        isinstance(kind, Sequence) and check_structured_dtype_name_v2(kind)
    )


def check_structured_dtype_name_v2(data: Sequence[object]) -> bool:
    """Tell whether these are the fields of a structured type."""
    return all(map(check_structured_dtype_v2_inner, data))


def check_dtype_name_v2(data: object) -> TypeGuard[DTypeName_V2]:
    """Tell whether this is a data type of format 2."""
    return isinstance(data, str) or (
        isinstance(data, Sequence) and check_structured_dtype_name_v2(data)
    )


def check_dtype_spec_v2(data: object) -> TypeGuard[DTypeSpec_V2]:
    """Tell whether this is a data type of format 2 with the name of its object codec."""
    return (
        isinstance(data, Mapping)
        and set(data) == {"name", "object_codec_id"}
        and check_dtype_name_v2(data["name"])
        and isinstance(data["object_codec_id"], str | None)
    )


def check_dtype_spec_no_object_codec_v2(data: object) -> TypeGuard[DTypeConfig_V2[Any, None]]:
    """Tell whether this is a data type of format 2 that needs no object codec."""
    return check_dtype_spec_v2(data) and data["object_codec_id"] is None


def check_dtype_spec_v3(data: object) -> TypeGuard[DTypeSpec_V3]:
    """Tell whether this is a data type of format 3."""
    return isinstance(data, str) or (
        isinstance(data, Mapping)
        and set(data) == {"name", "configuration"}
        and isinstance(data["configuration"], Mapping)
        and all(isinstance(key, str) for key in data["configuration"])
    )


def unpack_dtype_json(data: Any) -> DTypeJSON:
    """Return what the document itself has: of format 2 the name alone."""
    if isinstance(data, Mapping) and set(data) == {"name", "object_codec_id"}:
        return data["name"]
    return data


class ScalarTypeValidationError(ValueError):
    """A value is no scalar of a data type."""


@dataclass(frozen=True, kw_only=True)
class HasLength:
    """A data type whose elements have a length."""

    length: int

    def __post_init__(self) -> None:
        if self.length < 1:
            raise ValueError(f"length must be >= 1, got {self.length}.")


@dataclass(frozen=True, kw_only=True)
class HasEndianness:
    """A data type whose elements have a byte order."""

    endianness: EndiannessStr = sys.byteorder


@dataclass(frozen=True, kw_only=True)
class HasItemSize:
    """A data type whose elements have a fixed number of bytes."""

    @property
    def item_size(self) -> int:
        """Number of bytes of an element."""
        size: int = self.to_native_dtype().itemsize  # type: ignore[attr-defined]  # a mixin
        return size


@dataclass(frozen=True, kw_only=True)
class HasObjectCodec:
    """A data type of format 2 that needs an object codec among the filters."""

    object_codec_id: ClassVar[str]
