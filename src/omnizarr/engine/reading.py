"""Reading: execute a plan into a working array.

The native core reads the files of a local store by itself. For all other stores, and for what it
leaves: fetch each chunk, decode it, put what is selected where it belongs (`engine.pipeline`). The
core decodes many chunks at a time; Python decodes those that it leaves, and raises the errors. Of
chunks of variable-size elements the core fetches many files at a time and undoes all codecs but the
serializer.

A shard is a nested plan: all of a modest shard is one value like any chunk; of others the index and
the byte ranges that are needed are read (`engine.shard_parts`).

Memory: chunks are fetched in batches that together stay below `limits.scratch_bytes`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from omnizarr import limits
from omnizarr.codecs import Scratch
from omnizarr.engine import native_plans, pipeline, threads
from omnizarr.engine.chunk_source import Source
from omnizarr.engine.decoding import UNFIT, Target, decode_part, unfit
from omnizarr.engine.native_plans import Selected, Unwrapped
from omnizarr.errors import ChunkNotFoundError, ValueChangedError, ZarrError
from omnizarr.indexing import ChunkPart, Plan
from omnizarr.model.store import Buffer
from omnizarr.runtime import parallel

Fetched = Buffer | Unwrapped | Literal["placed", "left"] | ZarrError | None
"""A stored chunk, None if there is none; what its serializer made; that the core left it, and it is
fetched when its turn comes; of a shard that was read in parts, that it is done, or what is wrong
with it, which is raised when its turn comes."""


def read(source: Source, plan: Plan, working: Target) -> None:
    """Fill `working` (of `plan.shape`) with what the plan selects; or gather text in it."""
    if plan.empty:
        return
    native: Selected | None = None
    left = native_plans.read(source, plan, working)
    if left is None:
        native = native_plans.selected(source, plan, working)
    elif left:
        plan = plan.only(left)
    else:
        return
    count = len(plan)
    if count:
        _Reading(source, plan, working, native, count).run()


class _Reading:
    """One call."""

    def __init__(
        self, source: Source, plan: Plan, working: Target, native: Selected | None, count: int
    ) -> None:
        self._source, self._plan, self._working, self._native = source, plan, working, native
        self._wrapping = native_plans.wrapping(source, plan) if native is None else None
        if self._wrapping is None:
            self._amounts = threads.for_reading(source, count, native is not None)
        else:
            self._amounts = threads.for_serialized(source, count)

    def run(self) -> None:
        source, amounts = self._source, self._amounts
        feeder = None
        if amounts.waiting and source.regular_chain.shard is None:
            feeder = source.store.feeder(source.most, amounts.waiting)
        key_of = source.key
        pipeline.read(
            self._plan.parts(),
            self._fetch,
            self._place,
            amounts,
            feeder,
            lambda part: key_of(part.coordinates),
        )

    def _fetch(self, parts: list[ChunkPart]) -> list[Fetched]:
        source = self._source
        if source.regular_chain.shard is not None:
            return [self._try_shard(part) for part in parts]
        if self._wrapping is not None:
            found, left = self._wrapping.read(parts)
            values: list[Fetched] = [*found]
            for number in left:
                values[number] = "left"
            return values
        keys = [source.key(part.coordinates) for part in parts]
        if len(keys) == 1:
            return [source.store.get(keys[0], source.most)]
        return [*source.store.get_many([(key, source.most) for key in keys])]

    def _try_shard(self, part: ChunkPart) -> Fetched:
        parallel.check()
        try:
            return self._fetch_shard(part)
        except ZarrError as error:
            return error

    def _fetch_shard(self, part: ChunkPart) -> Fetched:
        """All of a modest shard that is wanted whole: one read brings index and chunks. Of others
        the parts that are wanted, which are placed at once."""
        from omnizarr.engine.shard_parts import read_parts

        source = self._source
        key = source.key(part.coordinates)
        if part.whole and source.chunk_bytes <= threads.merged(source):
            return source.store.get(key, source.most)
        inside = self._amounts.inside
        try:
            if read_parts(source, part, self._working, key, self._native, inside):
                return "placed"
            return None
        except ValueChangedError as error:
            if source.chunk_bytes <= limits.current.scratch_bytes:
                return source.store.get(key, source.most)  # one request sees one version
            raise error.at(source.where(key, part.coordinates)) from error
        except ZarrError as error:
            raise error.at(source.where(key, part.coordinates)) from error
        except UNFIT as error:
            raise unfit(error, source.where(key, part.coordinates)) from error

    def _place(self, parts: list[ChunkPart], values: list[Fetched], scratch: Scratch) -> None:
        """Decode what was fetched of several chunks, as many as possible at a time."""
        source = self._source
        left: Iterable[int] = range(len(parts))
        if self._native is not None:
            there = [n for n in left if not isinstance(values[n], str | ZarrError)]
            chosen = [parts[number] for number in there]
            found: list[Buffer | None] = [values[number] for number in there]  # type: ignore[misc]
            wrong = [n for n in left if isinstance(values[n], ZarrError)]
            others = self._native.place(chosen, found) if there else ()
            left = sorted([*wrong, *(there[number] for number in others)])
        for index in left:
            parallel.check()
            data = values[index]
            values[index] = "placed"  # free the encoded bytes as soon as they are decoded
            if isinstance(data, ZarrError):
                raise data
            if isinstance(data, str) and data == "left":
                data = source.store.get(source.key(parts[index].coordinates), source.most)
            if not isinstance(data, str):
                self._place_one(parts[index], data, scratch)

    def _place_one(
        self, part: ChunkPart, data: Buffer | Unwrapped | None, scratch: Scratch
    ) -> None:
        source, working, coordinates = self._source, self._working, part.coordinates
        try:
            if isinstance(data, Unwrapped):
                serializer = source.regular_chain.serializer
                decode_part(serializer, data.data, part, working, source, scratch)
                return
            if data is None:
                data = _fetch_alternative(source, part)
                if data is None:
                    source.put_fill(working, part.outer)
                    return
            source.check_length(data, coordinates)
            decode_part(source.chain_for(coordinates), data, part, working, source, scratch)
        except ZarrError as error:
            raise error.at(source.where(source.key(coordinates), coordinates)) from error
        except UNFIT as error:
            raise unfit(error, source.where(source.key(coordinates), coordinates)) from error


def _fetch_alternative(source: Source, part: ChunkPart) -> Buffer | None:
    data = source.fetch_alternative(part.coordinates)
    if data is None and source.on_missing == "raise":
        raise ChunkNotFoundError(
            "the chunk is not stored, and on_missing='raise' makes that an error"
        )
    return data
