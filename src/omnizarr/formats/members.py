"""Typed access to the members of a metadata document.

Every function returns a value of the wanted type or raises MetadataError that names the member,
what was expected and what was found. They know JSON shapes, not what a member means.

A `Constraint` states what a member must be, as data. Parsers `check` it and refuse the document;
the linter (`formats.rules`) reports the same words for every member that does not meet it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeVar

from omnizarr import limits
from omnizarr.errors import MetadataError
from omnizarr.model import json
from omnizarr.model.codec import Json
from omnizarr.model.dtypes.base import DataType
from omnizarr.model.grids import Shape
from omnizarr.model.json import show
from omnizarr.model.store import Buffer

T = TypeVar("T")
MISSING = object()
MAX_LENGTH = (1 << 63) - 1
"""The longest dimension that a 64-bit index reaches; the product of several has no bound."""


class Extension(NamedTuple):
    """A named extension: final v3's `{"name", "configuration", "must_understand"}`."""

    name: str
    configuration: Mapping[str, Json]
    must_understand: bool


class Constraint(NamedTuple):
    """What a member must be."""

    expected: str
    holds: Callable[[Json], bool]

    def fault(self, name: str, value: Json) -> str:
        """The message about a value that does not meet the constraint; "" for one that does."""
        return "" if self.holds(value) else f"{name} must be {self.expected}, found {show(value)}"

    def check(self, name: str, value: Json) -> None:
        if not self.holds(value):
            raise MetadataError(self.fault(name, value))


def one_of(*choices: Json) -> Constraint:
    """One of a few values; true is not 1, nor is 1.0."""
    named = [show(choice) for choice in choices]
    expected = " or ".join(named) if len(named) < 3 else f"one of {', '.join(named)}"
    typed = tuple((type(choice), choice) for choice in choices)
    return Constraint(expected, lambda value: (type(value), value) in typed)


def integer(low: int, high: int | None = None) -> Constraint:
    """A JSON integer in a range; true is none, nor is 1.0."""
    expected = f"at least {low}" if high is None else f"from {low} to {high}"
    return Constraint(
        f"an integer {expected}",
        lambda value: type(value) is int and value >= low and (high is None or value <= high),
    )


ANYTHING = Constraint("anything", lambda value: True)
BOOLEAN = Constraint("true or false", lambda value: isinstance(value, bool))
OBJECT = Constraint("an object", lambda value: isinstance(value, dict))
LIST = Constraint("a list", lambda value: isinstance(value, list))
EXTENSION = {"configuration": OBJECT, "must_understand": BOOLEAN}
ORDER = one_of("C", "F")
SEPARATOR = one_of(".", "/")


def parsed(key: str, data: Buffer, build: Callable[[Json], T]) -> T:
    """What `build` makes of the document that is stored under a key; errors name the key."""
    try:
        return build(json.loads(data))
    except MetadataError as error:
        raise error.at(key=key) from error


def document(value: Json) -> dict[str, Json]:
    if not isinstance(value, dict):
        raise MetadataError(f"the document must be a JSON object, found {show(value)}")
    return value


def required(members: Mapping[str, Json], name: str) -> Json:
    value = members.get(name, MISSING)
    if value is MISSING:
        raise MetadataError(f"the member {name!r} is missing")
    return value


def attributes(value: Json, name: str = "attributes") -> dict[str, Json]:
    OBJECT.check(name, value)
    found: dict[str, Json] = value
    return found


def lengths(value: Json, name: str, least: int) -> Shape:
    """A list of integers, each at least `least`, no more than an array may have dimensions."""
    if not isinstance(value, list):
        raise MetadataError(f"{name} must be a list of integers, found {show(value)}")
    if len(value) > limits.current.max_dimensions:
        raise MetadataError(
            f"{name} has {len(value)} dimensions; limits.max_dimensions allows"
            f" {limits.current.max_dimensions}"
        )
    for length in value:
        if type(length) is not int or not least <= length <= MAX_LENGTH:
            raise MetadataError(
                f"{name} must hold integers from {least} to 2**63 - 1, found {show(length)}"
                f" in {show(value)}"
            )
    return tuple(value)


def extension(value: Json, name: str) -> Extension:
    """An extension object, or the short-hand string that stands for its name alone."""
    if type(value) is str and value:
        return Extension(value, {}, True)
    if not isinstance(value, dict):
        raise MetadataError(f"{name} must be a name or an object with a name, found {show(value)}")
    found = value.get("name")
    if not isinstance(found, str) or not found:
        raise MetadataError(f"{name}: the name must be a string, found {show(found)}")
    configuration, must_understand = value.get("configuration"), value.get("must_understand", True)
    if configuration is None:
        configuration = {}
    if type(configuration) is not dict or type(must_understand) is not bool:
        given = {"configuration": configuration, "must_understand": must_understand}
        for member, constraint in EXTENSION.items():
            constraint.check(f"{name} {found!r}: {member}", given[member])
    return Extension(found, configuration, must_understand)


def essential(value: Json, name: str) -> Extension:
    """An extension that cannot be ignored: data type, chunk grid, chunk key encoding."""
    found = extension(value, name)
    if not found.must_understand:
        raise MetadataError(f"{name} {found.name!r}: must_understand may not be false here")
    return found


def has_bare_token(value: Json) -> bool:
    """Whether there is a NaN or an infinity in it, which no JSON number can be."""
    if isinstance(value, list):
        return any(map(has_bare_token, value))
    if isinstance(value, dict):
        return any(map(has_bare_token, value.values()))
    return isinstance(value, float) and not math.isfinite(value)


def scalar(value: Any, data_type: DataType) -> Any:
    """A user's fill value as a scalar of its type."""
    try:
        return data_type.scalar(value)
    except (TypeError, ValueError) as error:
        raise MetadataError(
            f"fill_value {show(value)} does not fit the data type {data_type.name!r}: {error}"
        ) from error
