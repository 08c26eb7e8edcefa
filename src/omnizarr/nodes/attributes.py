"""The attributes of an array or group: a mapping that is stored as JSON.

Every change re-reads the stored attributes under a lock before it writes, so two writers that set
different attributes both win.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, MutableMapping
from typing import Any

from omnizarr.model import json
from omnizarr.model.codec import Json


class Attributes(MutableMapping[str, Json]):
    """A node's attributes. `read` gives the current ones, `change` stores changed ones."""

    def __init__(
        self,
        read: Callable[[], Mapping[str, Json]],
        change: Callable[[Callable[[dict[str, Any]], Mapping[str, Any]]], None],
    ) -> None:
        self._read = read
        self._change = change

    def __getitem__(self, name: str) -> Json:
        return self.asdict()[name]

    def __setitem__(self, name: str, value: Json) -> None:
        self.update({name: value})

    def __delitem__(self, name: str) -> None:
        def without(attributes: dict[str, Any]) -> dict[str, Any]:
            del attributes[name]
            return attributes

        self._change(without)

    def __iter__(self) -> Iterator[str]:
        return iter(self._read())

    def __len__(self) -> int:
        return len(self._read())

    def __contains__(self, name: object) -> bool:
        return name in self._read()

    def asdict(self) -> dict[str, Json]:
        """A copy that is yours to change."""
        return dict(json.plain(self._read()))

    def put(self, attributes: Mapping[str, Json]) -> None:
        """Replace all attributes at once."""
        new = _checked(attributes)
        self._change(lambda _: new)

    def update(self, *args: Any, **kwargs: Any) -> None:
        """Set several attributes with one write."""
        new = _checked(dict(*args, **kwargs))
        self._change(lambda attributes: attributes | new)

    def clear(self) -> None:
        self.put({})

    def __repr__(self) -> str:
        return repr(self.asdict())


def _checked(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """The attributes as JSON would give them back; TypeError for what JSON cannot hold."""
    for name in attributes:
        if not isinstance(name, str):
            raise TypeError(f"attribute names are str, found {type(name).__name__}: {name!r}")
    return dict(json.plain(attributes))
