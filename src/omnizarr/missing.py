"""What to say of a path that leads to no node: what lies beside it, and the nearest name."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import suppress

from omnizarr import formats
from omnizarr.errors import ZarrError
from omnizarr.keywords import nearest
from omnizarr.model import paths
from omnizarr.model.array import ArrayModel
from omnizarr.model.store import Store

MOST = 10
"""How many names an error lists."""


def beside(store: Store, path: str) -> str:
    """The end of an error's sentence about `path`: members of the nearest group above it.

    It takes a look at the nodes above and one listing; nothing is said where that fails."""
    with suppress(ZarrError):
        for above in reversed(paths.ancestors(path)):
            found = formats.find(store, above)
            if found is None:
                continue
            if isinstance(found[1], ArrayModel):
                return f"; {'/' + above!r} is an array, which has no members"
            if not store.capabilities.listable:
                return ""
            wanted = path[len(above) :].strip("/").partition("/")[0]
            return among(wanted, found[0].names(store, above), "/" + above)
    return ""


def among(wanted: str, names: Collection[str], group: str) -> str:
    """The same where the members are known.

    >>> among("temprature", ["pressure", "temperature"], "/")
    "; did you mean 'temperature'? '/' holds pressure, temperature"
    """
    if not names:
        return f"; {group!r} is empty"
    listed = ", ".join(sorted(names)[:MOST])
    more = f" and {len(names) - MOST} more" if len(names) > MOST else ""
    near = nearest(wanted, names) if len(names) <= 10_000 else ""
    return f"{near or ';'} {group!r} holds {listed}{more}"
