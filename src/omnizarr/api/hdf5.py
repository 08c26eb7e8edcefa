"""A group of h5py as the destination of a copy.

`Hdf5Group` has the few methods that `api.copying` calls on a destination. This module knows h5py's
words. It must not import h5py: the caller has the file open.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

KEYWORDS = {"fill_value": "fillvalue"}
"""omnizarr's keywords, by h5py's names for them."""
_SHARED = ("shape", "dtype", "chunks")
_OWN = ("compression", "compression_opts", "shuffle", "fletcher32", "scaleoffset", "maxshape")


def is_group(obj: object) -> bool:
    """Whether an object is a group of h5py."""
    return _is_of_h5py(obj) and hasattr(obj, "create_dataset")


def _is_of_h5py(obj: object) -> bool:
    return any(kind.__module__.partition(".")[0] == "h5py" for kind in type(obj).__mro__)


class Hdf5Group:
    """An `h5py.Group` with the methods of `Group` that a copy needs."""

    def __init__(self, group: Any) -> None:
        self._group = group
        self.attrs = group.attrs
        self.name: str = group.name

    def __repr__(self) -> str:
        return repr(self._group)

    def __contains__(self, name: str) -> bool:
        return name in self._group

    def __getitem__(self, name: str) -> Any:
        found = self._group[name]
        return Hdf5Group(found) if is_group(found) else found

    def __delitem__(self, name: str) -> None:
        del self._group[name]

    def get(self, name: str) -> Any:
        """The member of a name, or None."""
        return self[name] if name in self._group else None

    def require_group(self, name: str) -> Hdf5Group:
        """The group of a name, made if there is none."""
        return Hdf5Group(self._group.require_group(name))

    def create_array(self, name: str, *, overwrite: bool = False, **arguments: Any) -> Any:
        """A new dataset. Codecs of Zarr have no place in it."""
        if overwrite and name in self:
            del self[name]
        return self._group.create_dataset(name, **arguments)


def arguments(source: object, like: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
    """The keywords of a dataset: what it shares with an array of Zarr, what another dataset has
    besides, and what was given."""
    found = {name: like[name] for name in _SHARED if name in like}
    found["dtype"] = getattr(found.get("dtype"), "numpy", found.get("dtype"))
    if not found.get("shape"):
        found.pop("chunks", None)  # a scalar has none
    if _is_of_h5py(source):
        found |= {name: getattr(source, name) for name in _OWN}
    if like.get("fill_value") is not None:
        found["fillvalue"] = like["fill_value"]
    return found | {KEYWORDS.get(name, name): value for name, value in given.items()}


def regions(dataset: Any) -> Iterable[Any]:
    """The whole dataset in selections of bounded size."""
    found: Iterable[Any] = dataset.iter_chunks() if dataset.chunks else [Ellipsis]
    return found
