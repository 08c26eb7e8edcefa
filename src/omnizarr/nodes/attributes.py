"""The attributes of an array or group: a mapping that is stored as JSON.

Every change reads the stored attributes again, under a lock, before it writes: two processes that
set different attributes at once lose nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping
from typing import Any

from omnizarr.keywords import suggests
from omnizarr.model import json
from omnizarr.model.codec import Json


class Attributes(MutableMapping[str, Json]):
    """The attributes of a node: `array.attrs`, `group.attrs`.

    Parameters
    ----------
    read
        Returns the current attributes.
    change
        Stores what a function makes of the current attributes.
    refresh
        Reads them again from the store.
    key
        Returns the key of the document that holds them.

    Examples
    --------
    >>> attrs = omnizarr.zeros(3).attrs
    >>> attrs["units"] = "m"
    >>> attrs.update(scale=2, offset=0.5)
    >>> attrs
    {'units': 'm', 'scale': 2, 'offset': 0.5}
    """

    def __init__(
        self,
        read: Callable[[], Mapping[str, Json]],
        change: Callable[[Callable[[dict[str, Any]], Mapping[str, Any]]], None],
        refresh: Callable[[], None],
        key: Callable[[], str],
    ) -> None:
        self._read = read
        self._change = change
        self._refresh = refresh
        self._key = key

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
        """Return a copy as a dict; changing it does not change the attributes.

        Returns
        -------
        dict
            All attributes.
        """
        return dict(json.plain(self._read()))

    @suggests
    def put(self, attributes: Mapping[str, object]) -> None:
        """Replace all attributes with one write.

        Parameters
        ----------
        attributes
            The new attributes; all others are deleted.

        Raises
        ------
        TypeError
            If JSON cannot hold a value.

        Examples
        --------
        >>> attrs = omnizarr.zeros(3, attributes={"a": 1}).attrs
        >>> attrs.put({"b": [2, 3]})
        >>> attrs
        {'b': [2, 3]}
        """
        new = _checked(attributes)
        self._change(lambda _: new)

    def update(  # type: ignore[override]  # one signature for all overloads
        self,
        attributes: Mapping[str, object] | Iterable[tuple[str, object]] = (),
        /,
        **more: object,
    ) -> None:
        """Set several attributes with one write; others stay as they are.

        Parameters
        ----------
        attributes
            Names and values, as `dict` takes them.
        **more
            Further ones by keyword.

        Raises
        ------
        TypeError
            If JSON cannot hold a value.
        """
        new = _checked(dict(attributes, **more))
        self._change(lambda attributes: attributes | new)

    def clear(self) -> None:
        """Delete all attributes."""
        self.put({})

    @property
    def key(self) -> str:
        """Key of the document that holds the attributes.

        Examples
        --------
        >>> omnizarr.zeros(3, zarr_format=2, path="a").attrs.key
        'a/.zattrs'
        """
        return self._key()

    def refresh(self) -> None:
        """Read the attributes again; another process may have changed them.

        Examples
        --------
        >>> a = omnizarr.zeros(3)
        >>> omnizarr.open_array(a.store).attrs["units"] = "m"
        >>> a.attrs.refresh()
        >>> a.attrs
        {'units': 'm'}
        """
        self._refresh()

    def _ipython_key_completions_(self) -> list[str]:
        return sorted(self)

    def __repr__(self) -> str:
        return repr(self.asdict())


def _checked(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """The attributes as JSON would give them back; TypeError for what JSON cannot hold."""
    for name in attributes:
        if not isinstance(name, str):
            raise TypeError(f"attribute names are str, found {type(name).__name__}: {name!r}")
    return dict(json.plain(attributes))
