"""The token of an array: what Dask names tasks after. Equal tokens must mean equal values.

Dask merges tasks of equal names, also with results that a cluster still holds. So a token has the
place of the array, its document, and a state that changes whenever this process writes, resizes or
replaces the array. An array in memory is hashed as a whole, as Dask does with NumPy's arrays: the
address of a store that is gone may be that of a new one.

What other processes write does not change the token. This module knows places and documents. It
must not know Dask.
"""

from __future__ import annotations

import os
from collections import ChainMap, UserDict
from typing import TYPE_CHECKING, Any

from omnizarr.errors import StoreError
from omnizarr.model.store import Store
from omnizarr.nodes.creation.overlaps import Location, innermost
from omnizarr.stores import MappingStore

if TYPE_CHECKING:
    from omnizarr.nodes.array_facts import ArrayFacts

_states: dict[Any, str] = {}
"""Arrays that a token was made of, by location, and what the last change of each is called."""


def in_memory(store: Store) -> bool:
    """Whether the values are objects of this process: a pickled store is a copy of them."""
    inner = innermost(store)
    if isinstance(inner, MappingStore):  # another kind of mapping may reach a service
        return isinstance(inner.mapping, dict | UserDict | ChainMap)
    return bool(_kind(inner.identity) == "mapping")


def stays_here(place: object) -> StoreError:
    """The error for an array in memory that would leave its process."""
    return StoreError(
        f"{place}: an array in memory cannot be sent to another process by Dask: it would arrive as"
        " a copy, and what is written to the copy is lost"
    ).advise(
        "compute with scheduler='threads', or keep the array in a folder, a database or an object"
        " store that every worker reaches"
    )


def token(array: ArrayFacts) -> tuple[str, ...]:
    """Equal for two handles that read the same values; different after a change."""
    store = array._options.chunk_store or array._place.store
    document = repr(array._stored.document)
    place = Location(store, array.path).inside
    options = array._options
    shown = (str(array.dtype), str(options.text), str(options.on_missing), repr(options.view))
    if in_memory(store):
        state = array.hexdigest()
    elif isinstance(place[0], int) or _kind(place[0]) == "mapping":
        state = _fresh()  # its address is all that the store tells: it may be that of another
    else:
        state = _states.setdefault(place, "")
    return (
        "omnizarr.Array",
        repr(place),
        repr(array._place.store.identity),
        *shown,
        document,
        state,
    )


def changed(store: Store, path: str) -> None:
    """Give an array another token from now on: its values are not what they were."""
    if _states:
        place = Location(store, path).inside
        if place in _states:
            _states[place] = _fresh()


def _fresh() -> str:
    return os.urandom(16).hex()


def _kind(identity: Any) -> Any:
    return identity[0] if isinstance(identity, tuple) and identity else None
