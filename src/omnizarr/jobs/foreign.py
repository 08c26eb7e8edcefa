"""Keys that belong to no node of a hierarchy: files of the user in a store's folder.

This module judges keys. It must not delete.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache

from omnizarr import formats
from omnizarr.errors import ZarrError
from omnizarr.model import paths
from omnizarr.model.array import ArrayModel
from omnizarr.model.store import Store

_DOCUMENT = re.compile(
    r"(?:^|/)(?:zarr\.json|\.z(?:array|group|attrs|metadata)|\.nc[a-z]+|attributes\.json"
    r"|meta|attrs|__zmeta__|__zattr__|meta/.*\.(?:array|group)(?:\.json)?"
    r"|OME/METADATA\.ome\.xml|\.DS_Store|Thumbs\.db)$|(?:^|/)\.omnizarr-"
)
"""Documents of all formats and of jobs, and what other software always leaves beside them."""
_CHUNK = re.compile(r"(?:^|/)(?:c|c?[./]?\d+(?:[./]\d+)*)(?:\.blosc)?$")
"""How nearly all chunks are called, also those whose array is gone."""


def foreign(store: Store, keys: Iterable[str]) -> list[str]:
    """Those of the keys that no node of the store has."""

    @cache
    def array_at(path: str) -> tuple[str, ArrayModel] | None:
        try:
            found = formats.find(store, path)
        except ZarrError:  # it is broken: its chunks are known by their names alone
            return None
        if found is None or not isinstance(found[1], ArrayModel):
            return None
        return found[0].chunk_prefix(path, found[1]), found[1]

    def is_chunk(key: str) -> bool:
        for above in paths.ancestors(key):
            if (found := array_at(above)) is not None:
                prefix, model = found
                name = key.removeprefix(prefix)
                every = (model.keys, *model.keys.alternatives)
                return any(one.decode(name, model.ndim) is not None for one in every)
        return False

    return [
        key for key in keys if not (_CHUNK.search(key) or _DOCUMENT.search(key) or is_chunk(key))
    ]
