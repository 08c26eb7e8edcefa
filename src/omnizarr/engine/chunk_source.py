"""Where an array's chunks are stored and how one is encoded: all that executing a plan needs."""

from __future__ import annotations

import copy
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from math import prod
from typing import Any, Literal, TypeVar

import numpy as np
import numpy.typing as npt

from omnizarr import limits
from omnizarr.codecs import Chain, chain
from omnizarr.codecs.shared_chains import known, shared
from omnizarr.engine import native_plans
from omnizarr.errors import DecodeError, ErrorLocation, LimitError
from omnizarr.model.array import ArrayModel
from omnizarr.model.dtypes.struct import cleared, is_padded
from omnizarr.model.grids import Shape
from omnizarr.model.store import Buffer, ByteRange, Store
from omnizarr.runtime.native_core import Chunks, Serialized
from omnizarr.runtime.properties import cached_property

T = TypeVar("T")

OBJECT_BYTES = 32
"""What a character of a list or an object costs at the most, once it is Python's."""
LONG_FILL = 1024
"""Fill values of text beyond this size are looked at before they are multiplied."""


def has_chain(model: ArrayModel, allow_pickle: bool) -> bool:
    """Whether the codecs of a chunk were prepared before, and can be used as they are."""
    return known(model.derived, ("chain", allow_pickle)) is not None


@dataclass(frozen=True, eq=False)
class Source:
    """The chunks of one array in one store."""

    store: Store
    prefix: str
    """Prefix of the chunk keys in the store."""
    model: ArrayModel
    allow_pickle: bool = False
    write_empty_chunks: bool = False
    on_missing: Literal["fill", "raise"] = "fill"
    synchronizer: Any = None
    """The caller's mapping from key to lock; taken in addition to our own locks."""

    def on(self, store: Store) -> Source:
        """The same chunks, through another handle on their store."""
        return self if store is self.store else replace(self, store=store)

    @cached_property
    def encode_key(self) -> Callable[[Shape], str]:
        return self.model.keys.encoder(self.model.ndim)

    @cached_property
    def _alternatives(self) -> tuple[Callable[[Shape], str], ...]:
        return tuple(keys.encoder(self.model.ndim) for keys in self.model.keys.alternatives)

    def key(self, coordinates: Shape) -> str:
        return self.prefix + self.encode_key(coordinates)

    def alternative_keys(self, coordinates: Shape) -> list[str]:
        """Other names under which a careless writer may have stored the chunk."""
        return [self.prefix + encode(coordinates) for encode in self._alternatives]

    def fetch(self, key: str, coordinates: Shape) -> Buffer | None:
        """The stored chunk under its key or, failing that, under an alternative one."""
        data = self.get(key)
        return self.fetch_alternative(coordinates) if data is None else data

    def fetch_alternative(self, coordinates: Shape) -> Buffer | None:
        """The stored chunk under an alternative key."""
        for other in self.alternative_keys(coordinates):
            data = self.get(other)
            if data is not None:
                return data
        return None

    def caller_lock(self, key: str) -> AbstractContextManager[object]:
        return nullcontext() if self.synchronizer is None else self.synchronizer[key]

    @cached_property
    def fill(self) -> npt.NDArray[Any]:
        """The fill value as a 0-d array: assigning it broadcasts even if it is a list."""
        scalar = np.zeros(1, self.model.dtype)
        fill = self.model.fill
        if scalar.dtype.kind in "mM":  # NumPy assigns no time without a unit but NaT
            scalar.view(f"{scalar.dtype.byteorder}i8")[0] = fill.view(np.int64)
        else:
            scalar[0] = fill
        return cleared(scalar.reshape(())) if self.padded else scalar.reshape(())

    @cached_property
    def padded(self) -> bool:
        """Whether elements have bytes between their fields, which must not be stored as they are:
        they hold whatever memory held before."""
        return is_padded(self.model.dtype)

    @cached_property
    def regular_chain(self) -> Chain:
        """The codecs of a chunk of the regular shape, shared by all who read the same document."""
        model = self.model
        build = partial(self._chain, model.grid.chunk_shape)
        return shared(model.derived, ("chain", self.allow_pickle), model.codecs, build)

    @property
    def decides_missing(self) -> bool:
        """Whether a chunk that is missing under its key may not simply be fill value."""
        return self.on_missing != "fill" or bool(self.model.keys.alternatives)

    @cached_property
    def native_chunks(self) -> Chunks | None:
        """What executes plans, where the native core can; shared as the chain is."""
        return self._shared(("chunks", self.decides_missing), native_plans.chunks_of)

    @cached_property
    def executor(self) -> native_plans.Executor | None:
        """The same, and what each call asks of it."""
        return native_plans.executor_of(self)

    @cached_property
    def native_files(self) -> bool:
        """Whether the native core finds the files of chunks by itself."""
        return native_plans.knows_files(self.model.keys)

    @cached_property
    def native_serialized(self) -> Serialized | None:
        """What reads and stores chunks of elements of variable size, where the native core can."""
        return self._shared(("serialized",), native_plans.serialized_of)

    def _shared(self, name: tuple[object, ...], make: Callable[[Source], T]) -> T:
        """What `make` gives for this chain, made once for all handles that share the chain."""
        chain, kept = self.regular_chain, self.model.derived
        found = kept.get(name)
        if found is None or found[0] is not chain:
            found = kept[name] = chain, make(self)
        made: T = found[1]
        return made

    @cached_property
    def most(self) -> ByteRange:
        """What is fetched of a chunk: one byte more than an honest one can have, so that an
        oversized one is refused and not read."""
        return ByteRange(0, self.limit + 1)

    @cached_property
    def limit(self) -> int:
        """The most bytes that an honest chunk is stored in."""
        return self.regular_chain.output.limit

    def get(self, key: str) -> Buffer | None:
        """A whole stored chunk."""
        data = self.store.get(key, self.most)
        if data is not None:
            self.check_length(data, key)
        return data

    def check_length(self, data: Buffer, key: str | Shape) -> None:
        """Refuse a chunk, of this key or coordinates, of which only the beginning was fetched."""
        if len(data) > self.limit:
            found = self.store.size(key if isinstance(key, str) else self.key(key))
            hint = " (omnizarr.limits.set(max_expansion=…) raises it)"
            raise DecodeError(
                f"a stored chunk takes at most {self.limit} bytes here,"
                f" found {found}{hint if self.model.data_type.variable else ''}"
            )

    def chain_for(self, coordinates: Shape) -> Chain:
        grid = self.model.grid
        return self.regular_chain if grid.regular else self._chain(grid.shape_of(coordinates))

    def _chain(self, shape: Shape) -> Chain:
        model = self.model
        return chain(
            model.codecs, shape, model.data_type, model.fill, allow_pickle=self.allow_pickle
        )

    def new_chunk(self, shape: Shape) -> npt.NDArray[Any]:
        """A chunk that holds nothing but the fill value."""
        nbytes = prod(shape) * self.model.dtype.itemsize
        if nbytes > limits.current.max_chunk_bytes:
            raise LimitError(
                f"a chunk of shape {shape} takes {nbytes} bytes in memory; the limit is"
                f" {limits.current.max_chunk_bytes} (omnizarr.limits.set(max_chunk_bytes=…))"
            )
        try:
            block = np.empty(shape, self.model.dtype)
        except MemoryError as error:
            raise LimitError(
                f"a chunk of shape {shape} takes {nbytes} bytes, more than there is"
            ) from error
        self.put_fill(block, ...)
        return block

    def put_fill(self, block: Any, places: Any) -> None:
        """The fill value in these places of a block."""
        if self.fill_bytes > LONG_FILL:
            most = limits.current.max_expansion * (1 if self.changeable else 32)
            total = prod(block.shape) * self.fill_bytes
            if total > most:
                raise LimitError(
                    f"unwritten elements read as a fill value of {self.fill_bytes} bytes, which"
                    f" may come to {total} bytes; the limit is {most}:"
                    " select less (omnizarr.limits.set(max_expansion=…) raises it)"
                )
        # The text itself: of an array that holds it, index arrays take some other memory.
        strings = isinstance(block, np.ndarray) and block.dtype.kind == "T"
        block[places] = self.model.fill if strings else self.fill
        if self.changeable:
            # A copy for each element: a caller that changes one must not change the others.
            shape = block[places].shape
            own = np.empty(prod(shape), object)
            for place in range(own.size):
                own[place] = copy.deepcopy(self.model.fill)
            block[places] = own.reshape(shape)

    @cached_property
    def fill_bytes(self) -> int:
        """How long a fill value of variable size is."""
        value = self.model.fill
        if self.changeable:
            return OBJECT_BYTES * len(repr(value))
        return len(value) if isinstance(value, str | bytes) and self.model.data_type.variable else 0

    @cached_property
    def changeable(self) -> bool:
        """Whether the fill value is an object that a reader could change."""
        return isinstance(self.model.fill, list | dict)

    def where(self, key: str, coordinates: Shape) -> ErrorLocation:
        """The place of a chunk, for errors."""
        return ErrorLocation.of(self.store, key=key, chunk=coordinates)

    @cached_property
    def chunk_bytes(self) -> int:
        """Decoded size of a chunk, roughly for types without a fixed size."""
        return prod(self.model.grid.chunk_shape) * max(1, self.model.dtype.itemsize)
