"""Which keys are shown: all but hidden files that belong to no node.

`.git`, journals, locks and temporary files lie beside the data of many stores. Names that begin
with "." are shown only where they are documents of a format, or inside a node of such a name.

This module knows names. It must not know HTTP.
"""

from __future__ import annotations

import omnizarr
from omnizarr.errors import (
    MetadataError,
    NodeNotFoundError,
    NotAFileError,
    UnknownExtensionError,
    UnsupportedError,
)
from omnizarr.stores import Listing, Store

_DOCUMENTS = frozenset(
    {
        *(".zarray", ".zgroup", ".zattrs", ".zmetadata"),
        *(".nczarr", ".nczgroup", ".nczvar", ".nczattr", ".nczarray", ".nczattrs"),
    }
)


def is_visible(store: Store, key: str) -> bool:
    """Whether a key is one that is shown, if there is a value."""
    if "." not in key:
        return True
    names = key.split("/")
    *folders, name = names
    if name.startswith(".") and name not in _DOCUMENTS:
        return False
    hidden = [number for number, folder in enumerate(folders) if folder.startswith(".")]
    return all(_is_node(store, "/".join(names[: number + 1])) for number in hidden)


def _is_node(store: Store, path: str) -> bool:
    if path.rpartition("/")[2].startswith((".~", ".omnizarr-")):
        return False
    try:
        omnizarr.open(store, path=path, mode="r")
    except (UnknownExtensionError, UnsupportedError):
        return True
    except (NodeNotFoundError, MetadataError, NotAFileError):
        return False  # what only looks like a node stays hidden
    return True


def shown(store: Store, listing: Listing) -> Listing:
    """A listing without what is hidden."""
    keys = [key for key in listing.keys if is_visible(store, key)]
    return Listing(keys, [each for each in listing.prefixes if is_visible(store, each + "_")])
