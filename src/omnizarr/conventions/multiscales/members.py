"""Members of attributes that anybody may have written: of the expected type, or a MetadataError."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite

from omnizarr.errors import InvalidKeyError, MetadataError
from omnizarr.model import paths
from omnizarr.model.codec import Json
from omnizarr.model.json import show


def objects(value: Json, where: str) -> list[Mapping[str, Json]]:
    """A list of objects, not empty."""
    if not isinstance(value, list) or not value:
        raise MetadataError(f"{where}: expected a list of objects, found {show(value)}")
    for position, item in enumerate(value):
        if not isinstance(item, Mapping):
            raise MetadataError(f"{where}[{position}]: expected an object, found {show(item)}")
    return value


def text(value: Json, where: str) -> str | None:
    """A text, or None where there is none."""
    if value is None or isinstance(value, str):
        return value
    raise MetadataError(f"{where}: expected a text, found {show(value)}")


def mapping(value: Json) -> Mapping[str, Json]:
    """An object; anything else is taken as none, for it is about nothing that is read here."""
    return value if isinstance(value, Mapping) else {}


def numbers(value: Json, where: str, count: int | None = None) -> tuple[float, ...]:
    """A list of finite numbers, as many as there are axes."""
    if (
        not isinstance(value, list)
        or not all(isinstance(item, int | float) and not isinstance(item, bool) for item in value)
        or (count is not None and len(value) != count)
    ):
        amount = "" if count is None else f"{count} "
        raise MetadataError(f"{where}: expected a list of {amount}numbers, found {show(value)}")
    try:
        found = tuple(float(item) for item in value)
    except OverflowError:  # an integer beyond the largest float
        found = (float("inf"),)
    if not all(isfinite(item) for item in found):
        raise MetadataError(f"{where}: expected finite numbers, found {show(value)}")
    return found


def path(value: Json, where: str) -> str:
    """The path of a level below its group. What leaves the group is refused; a slash in front,
    which some writers put there, does not."""
    if not isinstance(value, str):
        raise MetadataError(f"{where}: expected the path of a level, found {show(value)}")
    try:
        found = paths.normalize_path(value)
    except InvalidKeyError as error:
        raise MetadataError(f"{where}: {error}") from error
    if not found:
        raise MetadataError(f"{where}: the path of a level is empty")
    return found


def rest(value: Mapping[str, Json], known: Sequence[str]) -> dict[str, Json]:
    """The members that are not known by name."""
    return {name: item for name, item in value.items() if name not in known}
