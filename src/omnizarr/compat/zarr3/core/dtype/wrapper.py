"""`ZDType`: the interface of a data type."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, Self, TypeAlias, TypeVar

import numpy as np

from omnizarr.compat.zarr3.core.common import for_format

TBaseScalar: TypeAlias = np.generic | str | bytes
TBaseDType: TypeAlias = np.dtype[Any]
D = TypeVar("D", bound="np.dtype[Any]", covariant=True)
S = TypeVar("S", bound="np.generic | str | bytes", covariant=True)


@dataclass(frozen=True, kw_only=True)
class ZDType(ABC, Generic[D, S]):
    """A data type: how it and its scalars are spelled in documents, and its NumPy dtype."""

    dtype_cls: ClassVar[Any]
    _zarr_v3_name: ClassVar[str]

    @classmethod
    def _check_native_dtype(cls, dtype: np.dtype[Any]) -> bool:
        return type(dtype) is cls.dtype_cls

    @classmethod
    @abstractmethod
    def from_native_dtype(cls, dtype: np.dtype[Any]) -> Self:
        """Make the data type of a NumPy dtype; DataTypeValidationError if it is another's."""

    @abstractmethod
    def to_native_dtype(self) -> Any:
        """Return the NumPy dtype."""

    @classmethod
    @abstractmethod
    def _from_json_v2(cls, data: Any) -> Self: ...

    @classmethod
    @abstractmethod
    def _from_json_v3(cls, data: Any) -> Self: ...

    @classmethod
    def from_json(cls, data: Any, *, zarr_format: Any) -> Self:
        """Make the data type that a document names; DataTypeValidationError if it is another."""
        return for_format(
            zarr_format, lambda: cls._from_json_v2(data), lambda: cls._from_json_v3(data)
        )

    @abstractmethod
    def to_json(self, zarr_format: Any) -> Any:
        """Return how a document names the data type."""

    @abstractmethod
    def _check_scalar(self, data: object) -> bool: ...

    @abstractmethod
    def cast_scalar(self, data: object) -> Any:
        """Convert a value to a scalar of this type."""

    @abstractmethod
    def default_scalar(self) -> Any:
        """Return the scalar that arrays are filled with by default."""

    @abstractmethod
    def from_json_scalar(self, data: Any, *, zarr_format: Any) -> Any:
        """Read a scalar from JSON."""

    @abstractmethod
    def to_json_scalar(self, data: object, *, zarr_format: Any) -> Any:
        """Write a scalar as JSON."""


def scalar_failed_type_check_msg(cls_instance: Any, bad_scalar: object) -> str:
    """Return the message for a value that is no scalar of a data type."""
    return f"The value {bad_scalar!r} is no scalar of the data type {cls_instance}."
