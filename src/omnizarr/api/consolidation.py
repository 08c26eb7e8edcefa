"""Consolidated metadata of a group: one document that tells of everything below it.

This module knows groups and when the document is read or written. It must not know its form, which
is the format's.
"""

from __future__ import annotations

from functools import partial

from omnizarr.engine import update
from omnizarr.errors import MetadataError
from omnizarr.model.array import GroupModel
from omnizarr.model.store import Store
from omnizarr.nodes.node import NodeAddress


def read_if_there(place: NodeAddress, known: GroupModel | None = None) -> GroupModel | None:
    """The group with the nodes below that its consolidated metadata name; None if it has none.

    known: the group, if it was read just now."""
    keys = place.format.consolidated_keys(place.path)
    if known is not None and keys == place.format.keys(place.path):
        try:  # the document that was read just now
            return place.format.consolidated_in(known)
        except MetadataError as error:
            raise error.at(place.store, path=place.path) from error
    values = place.store.get_many([(key, None) for key in keys])
    documents = {key: value for key, value in zip(keys, values, strict=True) if value is not None}
    return place.format.parse_consolidated(place.path, documents)


def write(place: NodeAddress) -> None:
    """Write the consolidated metadata of a group. All nodes below are read first, which takes its
    time; what others have changed in the group itself meanwhile stays."""
    chosen, path = place.format, place.path
    made = chosen.consolidate(place.store, path)

    def store_document(key: str, held: Store) -> None:
        held.set(key, chosen.consolidated_anew(held, path, made)[key])

    for key in made:
        update(place.store, key, partial(store_document, key))


def read(place: NodeAddress) -> GroupModel:
    """The group with its consolidated metadata; an error if it has none."""
    model = read_if_there(place)
    if model is None:
        raise MetadataError(
            f"{place}: no consolidated metadata; write it with omnizarr.consolidate_metadata(store)"
        )
    return model
