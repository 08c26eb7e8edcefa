"""Intermediate arrays: what one pass writes and the next one reads.

They have chunks and no document, so nothing takes one for an array. Every chunk of a region that is
written is stored, fill values too: a chunk that is missing later was lost. Elements are stored as
they are, with a checksum.

This module knows arrays. It must not know passes.
"""

from __future__ import annotations

from omnizarr import formats
from omnizarr.model.array import ArrayModel
from omnizarr.model.codec import CodecSpec
from omnizarr.model.grids import Shape, regular_grid
from omnizarr.model.keys import ChunkKeys
from omnizarr.model.store import Store
from omnizarr.nodes.array import Array
from omnizarr.nodes.node import NodeAddress, Options
from omnizarr.stores import WrapperStore, ZipStore

_FOLDER = ".omnizarr-rechunk-"
_CODECS = CodecSpec("bytes", {"endian": "little"}), CodecSpec("crc32c")


def place_of(within: NodeAddress, fingerprint: str) -> NodeAddress:
    """Where the intermediate arrays of a job are."""
    # Of this format the keys of an array's chunks are below its path.
    place = NodeAddress(within.store, within.path, formats.LIKELIEST)
    return place.child(_FOLDER + fingerprint[:16])


def holds_intermediates(store: Store) -> bool:
    """Whether what is deleted gives its room back; an archive keeps it."""
    while isinstance(store, WrapperStore):
        store = store.store
    return not isinstance(store, ZipStore)


def possible(model: ArrayModel) -> bool:
    """Whether elements can be stored as they are."""
    return not model.data_type.variable and model.dtype.kind != "O" and model.ndim > 0


def intermediate(place: NodeAddress, source: ArrayModel, chunks: Shape) -> Array:
    """An array of the same elements with other chunks."""
    model = ArrayModel(
        source.shape,
        source.data_type.native,
        regular_grid(source.shape, chunks),
        ChunkKeys("default", "/"),
        _CODECS,
        source.fill_value,
    )
    options = Options(write_empty_chunks=True, documents_last=True, on_missing="fill")
    return Array._of(place, model, options)


def remove(within: NodeAddress, fingerprint: str) -> None:
    """Delete the intermediate arrays of a job. A damaged journal may give anything for its name."""
    if fingerprint.isalnum() and fingerprint.isascii():
        remove_below(place_of(within, fingerprint))


def remove_below(place: NodeAddress) -> None:
    place.store.delete_prefix(place.path + "/")
