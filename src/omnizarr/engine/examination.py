"""Decoding one stored chunk only to learn whether it can be decoded.

A shard is examined inner chunk by inner chunk, so that one that is damaged hides none of the
others. A shard that is too large to be held is read in parts.

This module knows one chunk. It must not know which chunks there are.
"""

from __future__ import annotations

from typing import NamedTuple

from omnizarr.codecs import Chain
from omnizarr.codecs.conforming import conforms
from omnizarr.codecs.sharding import Shard
from omnizarr.engine.chunk_source import Source
from omnizarr.engine.decoding import UNFIT, unfit
from omnizarr.engine.threads import MERGED
from omnizarr.errors import DecodeError, StoreClosedError, ZarrError
from omnizarr.model.grids import Shape
from omnizarr.model.store import Buffer, ByteRange, Read, read_range
from omnizarr.runtime import parallel


class Fault(NamedTuple):
    """What cannot be decoded, and why; the error does not say where."""

    inner: Shape | None
    """Coordinates of the inner chunk within its shard; None if it is the whole chunk."""
    error: ZarrError


class Examined(NamedTuple):
    nbytes: int | None
    """Stored bytes that were read; None if there is no such chunk."""
    faults: tuple[Fault, ...]
    conforming: bool
    """Whether the bytes have the form that the codecs' specifications describe."""


MISSING = Examined(None, (), True)


def examine(source: Source, key: str, coordinates: Shape) -> Examined:
    """Read and decode the chunk stored under `key`.

    Whatever is wrong with the chunk is returned; only a closed store raises."""
    try:
        chain = source.chain_for(coordinates)
        shard = chain.shard
        if shard is not None and source.chunk_bytes > 2 * MERGED:
            with source.store.snapshot(key) as read:
                return _examine_parts(shard, read, source.store.size(key))
        data = source.get(key)
        return MISSING if data is None else examine_bytes(chain, data)
    except StoreClosedError:
        raise
    except ZarrError as error:
        return Examined(0, (Fault(None, error),), True)
    except UNFIT as error:
        return Examined(0, (Fault(None, unfit(error, "decoding failed")),), True)


def examine_bytes(chain: Chain, data: Buffer) -> Examined:
    """The same for a chunk that is in memory."""
    if chain.shard is not None:
        return _examine_parts(chain.shard, lambda part: read_range(data, part), len(data))
    error = _fault(chain, data)
    if error is not None:
        return Examined(len(data), (Fault(None, error),), True)
    return Examined(len(data), (), conforms(chain, data))


def _examine_parts(shard: Shard, read: Read, size: int | None) -> Examined:
    try:
        index = shard.read_index(read, size)
    except ZarrError as error:
        return Examined(0, (Fault(None, error),), True)
    if index is None:
        return MISSING
    total, conforming = shard.index_bytes, True
    most = shard.chain.output.limit
    faults: list[Fault] = []
    for inner, offset, nbytes in index.items():
        parallel.check()
        data = read(ByteRange(offset, offset + min(nbytes, most)))
        found = 0 if data is None else len(data)
        total += found
        if data is None or found != nbytes:
            problem: ZarrError | None = DecodeError(
                f"the index promises {nbytes} bytes at offset {offset}, found {found}:"
                " it is truncated, or longer than a chunk can be"
            )
        else:
            problem = _fault(shard.chain, data)
            conforming = conforming and (problem is not None or conforms(shard.chain, data))
        if problem is not None:
            faults.append(Fault(inner, problem))
    return Examined(total, tuple(faults), conforming)


def _fault(chain: Chain, data: Buffer) -> ZarrError | None:
    if chain.shard is not None:  # a shard inside a shard
        for inner, error in examine_bytes(chain, data).faults:
            return error if inner is None else error.at(f"inner chunk {inner}")
        return None
    try:
        chain.decode(data)
    except ZarrError as error:
        return error
    except UNFIT as error:
        return unfit(error, "decoding failed")
    return None
