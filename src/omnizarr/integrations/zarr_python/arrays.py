"""Which arrays and calls of zarr-python are ours.

An array is ours if all its codecs are zarr-python's own classes, unchanged, for codecs that we
have (`are_known`), if our formats can read its document, and if they give it the same NumPy dtype.
A call is ours if it is about NumPy arrays in the memory of the CPU, chunks of one shape, and
selections that the engine has words for.

This module knows the rule. It must not read or write anything.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Iterable, Sequence
from typing import Any

import numpy as np
import zarr.codecs
from numcodecs.registry import codec_registry
from zarr.codecs._v2 import V2Codec
from zarr.core.buffer import cpu
from zarr.storage import StorePath

from omnizarr import formats
from omnizarr.errors import ZarrError
from omnizarr.integrations.zarr_python import batches, transfer
from omnizarr.integrations.zarr_python.batches import Chunks, Item, NDArray
from omnizarr.model.array import ArrayModel
from omnizarr.model.store import Store
from omnizarr.stores import MemoryStore

MOST_SHAPES = 64
"""For how many chunk shapes codecs are kept ready."""

CODECS = frozenset(
    {"BloscCodec", "BytesCodec", "Crc32cCodec", "GzipCodec", "ShardingCodec", "TransposeCodec"}
    | {"VLenBytesCodec", "VLenUTF8Codec", "ZstdCodec"}
)
"""Classes of `zarr.codecs`."""
NUMCODECS = frozenset(
    {"adler32", "blosc", "bz2", "crc32", "delta", "fletcher32", "gzip", "lz4", "lzma", "shuffle"}
    | {"vlen-bytes", "vlen-utf8", "zlib", "zstd"}
)
"""Classes of numcodecs, for format 2."""


def are_known(codecs: Iterable[Any]) -> bool:
    """Whether these codecs of zarr-python do what ours do under the same names."""
    return all(map(_is_known, codecs))


def _is_known(codec: Any) -> bool:
    kind = type(codec)
    if kind is V2Codec:
        inside = (*(codec.filters or ()), *((codec.compressor,) if codec.compressor else ()))
        return all(map(_is_of_numcodecs, inside))
    if kind.__name__ not in CODECS or getattr(zarr.codecs, kind.__name__) is not kind:
        return False
    if kind is zarr.codecs.ShardingCodec:
        # Ours is lexicographic. "morton" is what codecs have that were not told.
        order = getattr(codec, "subchunk_write_order", "morton")
        usual = order in ("morton", "lexicographic", "unordered")
        return usual and are_known((*codec.codecs, *codec.index_codecs))
    return True


def _is_of_numcodecs(codec: Any) -> bool:
    name = getattr(codec, "codec_id", None)
    kind = type(codec)
    known = name in NUMCODECS and codec_registry.get(name) is kind
    return known and kind.__module__.startswith("numcodecs.")


class ZarrArray:
    """An array of zarr-python whose codecs are known.

    Parameters
    ----------
    metadata
        Its metadata.
    """

    def __init__(self, metadata: Any) -> None:
        self._metadata = metadata
        self._model: ArrayModel | bool | None = None
        self._chunks: dict[tuple[tuple[int, ...], bool], Chunks | None] = {}
        self._place: tuple[Any, str, Store | None] | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), (self._metadata,))

    def reading(
        self, items: Sequence[Item], out: Any, drop_axes: tuple[int, ...]
    ) -> Awaitable[set[str]] | None:
        """The job that reads these chunks and gives the keys that were missing; None if that is
        not ours."""
        source, array = self._usable(items, out)
        if source is None or array is None:
            return None
        store = items[0][0].store
        place = self._place_of(store)
        if place is None and transfer.reads_ranges(source, items, store):
            return None
        request = batches.requested(items, source, array, drop_axes, writing=False)
        if request is None:
            return None
        if place is not None:
            return transfer.read(source.within(place, request.prefix), request, store)
        return transfer.read_fetched(source, items, request)

    def writing(
        self, items: Sequence[Item], value: Any, drop_axes: tuple[int, ...]
    ) -> Awaitable[None] | None:
        """The job that writes these chunks; None if that is not ours."""
        source, array = self._usable(items, value)
        if source is None or array is None:
            return None
        request = batches.requested(items, source, array, drop_axes, writing=True)
        if request is None:
            return None
        store = items[0][0].store
        place = self._place_of(store)
        if place is not None:
            return transfer.write(source.within(place, request.prefix), request, store)
        return transfer.write_fetched(source, items, request)

    def _usable(self, items: Sequence[Item], buffer: Any) -> tuple[Chunks | None, NDArray | None]:
        """The chunks and the caller's array; None and None if they are not ours."""
        if not items:
            return None, None
        target, spec = items[0][:2]
        array = buffer.as_ndarray_like()
        if (
            spec.prototype != cpu.buffer_prototype
            or type(array) is not np.ndarray
            or type(target) is not StorePath
            or not all(
                type(item[0]) is StorePath
                and item[0].store is target.store
                and (item[1] is spec or item[1].shape == spec.shape)
                for item in items
            )
        ):
            return None, None
        source = self._source(spec)
        if source is None or not _alike(array.dtype, source.model.dtype):
            return None, None
        return source, array

    def _source(self, spec: Any) -> Chunks | None:
        name = spec.shape, spec.config.write_empty_chunks
        if name not in self._chunks:
            if len(self._chunks) >= MOST_SHAPES:
                self._chunks.clear()
            self._chunks[name] = self._prepared(*name)
        return self._chunks[name]

    def _prepared(self, shape: tuple[int, ...], write_empty_chunks: bool) -> Chunks | None:
        """Our codecs for chunks of a shape; None if we cannot have them."""
        model = self._model
        if model is None:
            model = self._model = _model(self._metadata) or False
        if model is False or model is True:
            return None
        try:
            return batches.prepared(model, shape, write_empty_chunks)
        except ZarrError:  # beyond our limits
            return None

    def _place_of(self, store: Any) -> Store | None:
        known, name = self._place, transfer.name_of(store)
        if known is None or known[0] is not store or known[1] != name:
            known = self._place = store, name, transfer.place_of(store, name)
        return known[2]


def _model(metadata: Any) -> ArrayModel | None:
    """The array that our formats read in the document that zarr-python would write; None if they
    cannot, or see other elements in it."""

    document = {name: value for name, value in metadata.to_dict().items() if name != "attributes"}
    chosen = formats.get_format(metadata.zarr_format)
    values = {chosen.keys("")[0]: json.dumps(document).encode()}
    try:
        found = formats.find(MemoryStore(values), "", (chosen,))
    except ZarrError:
        return None
    if found is None or not isinstance(found[1], ArrayModel):
        return None
    return found[1] if _alike(metadata.dtype.to_native_dtype(), found[1].dtype) else None


def _alike(one: Any, other: Any) -> bool:
    """Whether two dtypes have the same values, whatever their byte order."""
    if one == other or "T" in (one.kind, other.kind):  # strings have none
        return bool(one == other)
    return bool(one.newbyteorder("=") == other.newbyteorder("="))
