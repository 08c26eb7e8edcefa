"""Decoding one chunk that is in memory, in Python: the reference for the native core.

A chunk that is wanted whole and lands in one block of the output is decoded straight into it. A
shard is cut along its inner grid, and each inner chunk is decoded like any other; so is a shard
inside a shard.

This module knows one chunk. It must not know where its bytes come from.
"""

from __future__ import annotations

from omnizarr.codecs import Chain, Scratch
from omnizarr.engine.chunk_source import Source
from omnizarr.engine.gathering import Gathered
from omnizarr.errors import DecodeError, ErrorLocation, LimitError, ZarrError
from omnizarr.indexing import ChunkPart, refine
from omnizarr.model.grids import NDArray
from omnizarr.model.store import Buffer, read_range

UNFIT = (ArithmeticError, AttributeError, LookupError, MemoryError, TypeError, ValueError)
"""What a codec may raise on bytes that its metadata does not fit."""

Target = NDArray | Gathered


def unfit(error: Exception, where: ErrorLocation | str) -> ZarrError:
    """Our own error for what a codec let through."""
    if isinstance(error, MemoryError):
        return LimitError("decoding it takes more memory than there is").at(where)
    return DecodeError(f"{type(error).__name__}: {error}").at(where)


def decode_part(
    chain: Chain, data: Buffer, part: ChunkPart, working: Target, source: Source, scratch: Scratch
) -> None:
    """Decode a chunk and put the selected elements in their place."""
    shard = chain.shard
    if shard is not None:
        index = shard.read_index(lambda wanted: read_range(data, wanted), len(data))
        if index is None:
            raise DecodeError("sharding_indexed: the shard holds no index")
        view = memoryview(data)
        for inner in refine(part, shard.grid):
            place = index.lookup(inner.coordinates)
            if place is None:
                source.put_fill(working, inner.outer)
                continue
            offset, nbytes = place
            piece = view[offset : offset + nbytes]
            decode_part(shard.chain, piece, inner, working, source, scratch)
    elif isinstance(working, Gathered):
        working[part.outer] = chain.decode_column(data)[part.inner]
    elif part.direct:
        # A shard or chunk that is taken whole needs no copy of its own.
        chain.decode_into(data, working[part.outer], scratch)
    elif chain.columnar:
        working[part.outer] = chain.decode_column(data)[part.inner].numpy(working.dtype)
    else:
        working[part.outer] = chain.decode(data, scratch)[part.inner]
