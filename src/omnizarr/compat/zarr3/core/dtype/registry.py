"""`DataTypeRegistry`: which class is asked for which data type."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from omnizarr.compat.zarr3.core.common import for_format
from omnizarr.compat.zarr3.core.dtype.problems import DataTypeValidationError
from omnizarr.compat.zarr3.core.dtype.wrapper import ZDType

_ONE_BYTE = ("b1", "i1", "u1")


@dataclass(frozen=True, kw_only=True)
class DataTypeRegistry:
    """The known classes of data types, by their names in format 3."""

    contents: dict[str, type[ZDType[Any, Any]]] = field(default_factory=dict, init=False)
    _lazy_load_list: list[Any] = field(default_factory=list, init=False)

    def _lazy_load(self) -> None:
        while self._lazy_load_list:
            found = self._lazy_load_list.pop().load()
            self.register(found._zarr_v3_name, found)

    def register(self, key: str, cls: type[ZDType[Any, Any]]) -> None:
        """Make a class known; an earlier one of that name is replaced."""
        self.contents[key] = cls

    def unregister(self, key: str) -> None:
        """Forget a class."""
        if key not in self.contents:
            raise KeyError(f"Data type '{key}' not found in registry.")
        del self.contents[key]

    def get(self, key: str) -> type[ZDType[Any, Any]]:
        """Return the class of a name."""
        self._lazy_load()
        return self.contents[key]

    def match_dtype(self, dtype: np.dtype[Any]) -> ZDType[Any, Any]:
        """Return the data type of a NumPy dtype."""
        self._lazy_load()
        if dtype == np.dtype("O"):
            raise ValueError(
                f"Zarr data type resolution from {dtype} failed: it is ambiguous, for several data"
                " types are objects in NumPy. Give a Zarr data type instead."
            )
        matched = []
        for known in self.contents.values():
            try:
                matched.append(known.from_native_dtype(dtype))
            except DataTypeValidationError:
                continue
        if not matched:
            raise ValueError(f"No Zarr data type found that matches dtype '{dtype!r}'")
        if len(matched) > 1:
            raise ValueError(
                f"Zarr data type resolution from {dtype} failed. Multiple data type wrappers found"
                f" that match dtype '{dtype}': {matched}. Unregister one of them, or give a Zarr"
                " data type."
            )
        return matched[0]

    def match_json(self, data: Any, *, zarr_format: Any) -> ZDType[Any, Any]:
        """Return the data type that a document names."""
        self._lazy_load()
        ways = for_format(zarr_format, lambda: [data, *_respelled(data)], lambda: [data])
        for spelled in ways:
            for known in self.contents.values():
                try:
                    return known.from_json(spelled, zarr_format=zarr_format)
                except DataTypeValidationError:
                    continue
        raise ValueError(f"No Zarr data type found that matches {data!r}")


def _respelled(data: Any) -> Iterator[Any]:
    """A type of single bytes that was given a byte order, without it."""
    name = data.get("name") if isinstance(data, dict) else None
    if not isinstance(name, str) or name[:1] not in ("<", ">"):
        return
    if name[1:] in _ONE_BYTE or (name[1:2] == "V" and name[2:].isascii() and name[2:].isdigit()):
        yield {**data, "name": f"|{name[1:]}"}
