"""Configurations of codecs: what a member must be, and codecs whose fields are their members.

`ConfiguredCodec` reads and writes the configuration of a codec whose fields are declared with
`member`. A codec with other rules has its own `from_spec` and `spec`, and uses the same readers.

This module knows names and JSON values. It must not know any codec.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import MISSING, Field, field, fields
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np

from omnizarr.codecs.base import Context
from omnizarr.codecs.document import CodecDocument
from omnizarr.errors import MetadataError
from omnizarr.model.codec import CodecSpec, Json
from omnizarr.model.json import show

REQUIRED: Any = object()
# One simple type. NumPy's own parser is not made for strangers: "m8[s/0]" divides by zero.
_TYPE = re.compile(
    r"[<>|=]?[A-Za-z?][A-Za-z0-9_]{0,31}(?:\[(?:[1-9][0-9]{0,8})?[A-Za-z]{1,2}\])?\Z"
)


def only(spec: CodecSpec, *known: str) -> None:
    """Refuse members of a configuration that are not known here (final v3 demands it)."""
    for key in spec.configuration:
        if key not in known:
            raise MetadataError(
                f"codec {spec.name!r}: unknown configuration member {key!r};"
                f" known are {', '.join(known) or 'none'}"
            )


def option(spec: CodecSpec, key: str, default: Json = REQUIRED) -> Json:
    """A member of the configuration; null counts as missing."""
    value = spec.configuration.get(key)
    if value is not None:
        return value
    if default is REQUIRED:
        raise MetadataError(f"codec {spec.name!r}: configuration lacks {key!r}")
    return default


def integer(
    spec: CodecSpec,
    key: str,
    default: int | Any = REQUIRED,
    low: int | None = None,
    high: int | None = None,
) -> int:
    """An integer member, within bounds; None only if that is the default."""
    value = option(spec, key, default)
    if value is None:
        return default
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        raise MetadataError(f"codec {spec.name!r}: {key} must be an integer, found {value!r}")
    if (low is not None and value < low) or (high is not None and value > high):
        raise MetadataError(
            f"codec {spec.name!r}: {key} must be between {low} and {high}, found {value}"
        )
    return value


def inner_chunk_shape(name: str, shape: Any) -> tuple[int, ...]:
    """The shape of the inner chunks of a codec: one length, or several."""
    given = (shape,) if isinstance(shape, int | np.integer) else shape
    lengths: list[Any] = [None]
    with suppress(TypeError):
        lengths = [*given]
    if not all(isinstance(n, int | np.integer) for n in lengths):
        raise TypeError(f"codec {name!r}: chunk_shape must be integers, found {show(shape)}")
    if any(n < 1 for n in lengths):
        raise MetadataError(
            f"codec {name!r}: chunk_shape must be integers of at least 1, found {show(shape)}"
        )
    return tuple(int(n) for n in lengths)


def number(spec: CodecSpec, key: str, default: float | Any = REQUIRED) -> float:
    """A JSON number."""
    value = option(spec, key, default)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise MetadataError(f"codec {spec.name!r}: {key} must be a number, found {value!r}")
    return value


def boolean(spec: CodecSpec, key: str, default: bool) -> bool:
    value = option(spec, key, default)
    if not isinstance(value, bool):
        raise MetadataError(f"codec {spec.name!r}: {key} must be true or false, found {value!r}")
    return value


def choice(spec: CodecSpec, key: str, allowed: tuple[str, ...], default: str | Any) -> str:
    """One of a few strings."""
    value = option(spec, key, default)
    if value not in allowed or not isinstance(value, str):
        raise MetadataError(
            f"codec {spec.name!r}: {key} must be one of {', '.join(allowed)}; found {value!r}"
        )
    return value


def dtype_option(spec: CodecSpec, key: str, default: Any = REQUIRED) -> np.dtype[Any]:
    """A NumPy dtype without Python objects."""
    value = option(spec, key, default)
    if not isinstance(value, np.dtype) and not (isinstance(value, str) and _TYPE.match(value)):
        raise MetadataError(
            f"codec {spec.name!r}: {key} must name a NumPy data type, found {value!r}"
        )
    try:
        dtype = np.dtype(value)
    except (TypeError, ValueError, SyntaxError) as error:
        raise MetadataError(
            f"codec {spec.name!r}: {key} must name a NumPy data type, found {value!r}"
        ) from error
    if dtype.hasobject or dtype.itemsize == 0:
        raise MetadataError(f"codec {spec.name!r}: {key} cannot be {value!r}")
    return dtype


def configured(name: str, configuration: Mapping[str, Json]) -> CodecSpec:
    """A spec without the members that are None."""
    return CodecSpec(name, {k: v for k, v in configuration.items() if v is not None})


def astype_option(spec: CodecSpec, key: str) -> np.dtype[Any]:
    """A NumPy dtype; if it is missing, that of the member `dtype`."""
    return dtype_option(spec, key, dtype_option(spec, "dtype"))


def member(read: Callable[..., Any], *, hide_default: bool = False, **arguments: Any) -> Any:
    """A dataclass field that is a member of the configuration, under its own name.

    Parameters
    ----------
    read
        One of the readers above: `integer`, `choice`, …
    hide_default
        Leave the member out of `spec()` where it has its default.
    **arguments
        Arguments of the reader. Its `default` is that of the field.
    """
    metadata = {"read": partial(read, **arguments), "hide_default": hide_default}
    return field(default=arguments.get("default", MISSING), metadata=metadata)


class ConfiguredCodec(CodecDocument):
    """Base class of a frozen dataclass whose fields, made with `member`, are its configuration."""

    strict: ClassVar[bool] = False
    """Whether final v3 defines the members, so that others are refused."""
    name: str
    """The name in metadata: a field, because numcodecs may have another spelling."""

    @classmethod
    def from_spec(cls, spec: CodecSpec, context: Context) -> Self:
        members = _members(cls)
        if cls.strict and not spec.name.startswith("numcodecs."):
            only(spec, *(each.name for each in members))
        values = {each.name: each.metadata["read"](spec, each.name) for each in members}
        make: Any = cls
        found: Self = make(**values, name=spec.name)
        return found

    def spec(self) -> CodecSpec:
        configuration = {}
        for each in _members(self):
            value = getattr(self, each.name)
            if value is None or (each.metadata["hide_default"] and value == each.default):
                continue
            configuration[each.name] = value.str if isinstance(value, np.dtype) else value
        return CodecSpec(self.name, configuration)


def _members(codec: Any) -> list[Field[Any]]:
    return [each for each in fields(codec) if "read" in each.metadata]
