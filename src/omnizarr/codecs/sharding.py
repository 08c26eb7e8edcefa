"""`sharding_indexed`: a chunk that holds inner chunks, each encoded alone, and an index of them.

Spec: Zarr v3 core, codecs/sharding_indexed (ZEP 2). Configuration: `chunk_shape`, `codecs` of an
inner chunk, `index_codecs`, `index_location` ("end" or "start"). The index holds for every inner
chunk, in C order, its offset and its length as 64-bit integers, both 2⁶⁴ − 1 if it is missing.

Before July 2023 there was no `index_codecs`: the index is little-endian and at the end. Until May
2023 it had no checksum, after that a CRC-32C, under the same metadata. A matching checksum tells
which.

The engine reads and writes parts of a shard with `Shard`, its layout. The codec also works like any
other array-to-bytes codec: nested, transposed, compressed as a whole.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from math import prod
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from omnizarr import limits
from omnizarr.codecs.base import ArrayStage, BytesStage, CodecKind, Context, Step
from omnizarr.codecs.configuration import choice, inner_chunk_shape, only
from omnizarr.codecs.document import CodecDocument
from omnizarr.codecs.layout import DEFAULT_INDEX
from omnizarr.codecs.loader import library
from omnizarr.codecs.registry import codec_spec, option_specs, spec_document
from omnizarr.errors import DecodeError, MetadataError
from omnizarr.keywords import suggesting
from omnizarr.model.codec import CodecSpec, Json
from omnizarr.model.fill import is_fill
from omnizarr.model.grids import Grid, NDArray, Shape, regular_grid
from omnizarr.model.json import show
from omnizarr.model.store import Buffer, ByteRange
from omnizarr.runtime.properties import cached_property

if TYPE_CHECKING:
    from omnizarr.codecs.chains import Chain

NAME = "sharding_indexed"
MISSING = 2**64 - 1
FAR = 2**62
"""Larger offsets and lengths are refused, so that their sum does not wrap."""
FEW = 16
"""After this many look-ups, and more in a large index, a Python list of all of it is faster."""
UINT64 = np.dtype(np.uint64)
IndexLocation = Literal["start", "end"]
WRITE_ORDERS = ("morton", "unordered", "lexicographic", "colexicographic")
ReadRange = Callable[[ByteRange], Buffer | None]


class ShardIndex:
    """Offsets and lengths of the inner chunks of one shard.

    Parameters
    ----------
    table
        Offset and length of every inner chunk, in an array of shape `(*grid_shape, 2)`.

    Examples
    --------
    >>> table = np.array([[0, 8], [2**64 - 1, 2**64 - 1]], "u8")
    >>> index = omnizarr.codecs.ShardIndex(table)
    >>> index.lookup((0,)), index.lookup((1,)), list(index.items())
    ((0, 8), None, [((0,), 0, 8)])
    >>> index.entries[0]
    [0, 8]
    """

    __slots__ = ("_entries", "_lookups", "_shape", "table")

    def __init__(self, table: npt.NDArray[np.uint64]) -> None:
        self.table = table
        """Offset and length of every inner chunk, in an array of shape `(*grid_shape, 2)`."""
        self._shape = table.shape[:-1]
        self._entries: list[list[int]] | None = None
        self._lookups = 0

    @property
    def entries(self) -> list[list[int]]:
        """The table, flat and in C order."""
        if self._entries is None:
            self._entries = self.table.reshape(-1, 2).tolist()
        return self._entries

    def lookup(self, coordinates: Shape) -> tuple[int, int] | None:
        """Give offset and length of an inner chunk; None if it is missing.

        Parameters
        ----------
        coordinates
            Of the inner chunk in the grid of the shard.
        """
        if self._entries is None:
            self._lookups += 1
            if self._lookups < max(FEW, self.table.size // 16):
                offset, nbytes = self.table[coordinates].tolist()
                return None if offset == MISSING else (offset, nbytes)
        place = 0
        for coordinate, length in zip(coordinates, self._shape, strict=True):
            place = place * length + coordinate
        offset, nbytes = self.entries[place]
        return None if offset == MISSING else (offset, nbytes)

    def items(self) -> Iterator[tuple[Shape, int, int]]:
        """Iterate over coordinates, offset and length of the stored inner chunks, in C order."""
        grid = product(*map(range, self._shape))
        for coordinates, (offset, nbytes) in zip(grid, self.entries, strict=True):
            if offset != MISSING:
                yield coordinates, offset, nbytes


@dataclass(frozen=True, eq=False)
class Shard:
    """The layout of one shard.

    Examples
    --------
    >>> codec = omnizarr.codecs.ShardingCodec(chunk_shape=(2,))
    >>> shard = codec.shard(omnizarr.codecs.ArrayStage((4,), np.dtype("u1")))
    >>> data = shard.encode(np.array([1, 2, 0, 0], "u1"), fill=np.array(0, "u1"))
    >>> {place: bytes(chunk) for place, chunk in shard.split(data).items()}
    {(0,): b'\\x01\\x02'}
    >>> list(shard.decode_index(data[-shard.index_bytes :]).items())
    [((0,), 0, 2)]
    >>> shard.assemble({(0,): b"\\x01\\x02"}) == data, shard.assemble({})
    (True, None)
    >>> out = np.empty(4, "u1")
    >>> shard.decode_into(data, out, fill=np.array(0, "u1"))
    >>> out
    array([1, 2, 0, 0], dtype=uint8)
    """

    grid: Grid
    """The inner chunks within the shard."""
    chain: Chain
    """The codecs of an inner chunk."""
    index_chain: Chain
    """The codecs of the index."""
    index_bytes: int
    """Encoded size of the index."""
    location: IndexLocation
    """Where the index is."""
    checksum_unknown: bool = False
    """True if the metadata do not say whether a checksum follows the index."""

    @cached_property
    def shape(self) -> Shape:
        """How many inner chunks there are along each dimension."""
        return self.grid.shape

    @cached_property
    def index_layout(self) -> Hashable:
        """Equal for shards whose indexes are decoded alike."""
        specs = repr(self.index_chain.specs)
        return self.shape, specs, self.index_bytes, self.location, self.checksum_unknown

    def read_index(self, read: ReadRange, size: int | None = None) -> ShardIndex | None:
        """Read the index of a shard; None if there is no such shard.

        Parameters
        ----------
        read
            Reads a `ByteRange` of the shard.
        size
            Length of the whole shard, where it is known; every entry is checked against it.

        Raises
        ------
        DecodeError
            If the index is damaged.

        Examples
        --------
        >>> codec = omnizarr.codecs.ShardingCodec(chunk_shape=(2,))
        >>> shard = codec.shard(omnizarr.codecs.ArrayStage((4,), np.dtype("u1")))
        >>> store = omnizarr.MemoryStore({"c/0": shard.assemble({(1,): b"ab"})})
        >>> list(shard.read_index(lambda part: store.get("c/0", part)).items())
        [((1,), 0, 2)]
        """
        wanted = self.index_bytes
        if self.location == "start":
            data = read(ByteRange(0, wanted))
        else:
            data = read(ByteRange(-wanted))
        if data is None:
            return None
        index = self.decode_index(data)
        if size is not None:
            self._check_places(index, size)
        return index

    def decode_index(self, data: Buffer) -> ShardIndex:
        """Decode the index.

        Parameters
        ----------
        data
            Its bytes.

        Raises
        ------
        DecodeError
            If the index is damaged.
        """
        if self.checksum_unknown:
            table = self._index_of_2023(data)
        else:
            if len(data) != self.index_bytes:
                raise DecodeError(
                    f"codec {NAME!r}: the index takes {self.index_bytes} bytes, found {len(data)}:"
                    " the shard is truncated, too short to hold its index"
                )
            table = self.index_chain.decode(data)
        if table.max() > FAR:
            # Some are missing, or something is wrong.
            missing = table == MISSING
            wrong = (missing[..., 0] != missing[..., 1]) | ((table > FAR) & ~missing).any(axis=-1)
            if wrong.any():
                offset, length = table[wrong][0].tolist()
                raise DecodeError(
                    f"codec {NAME!r}: the index names {length} bytes at offset {offset}"
                )
        return ShardIndex(table)

    def _index_of_2023(self, data: Buffer) -> npt.NDArray[np.uint64]:
        plain = self.index_bytes - 4
        view = memoryview(data)
        if len(view) == self.index_bytes:
            compute = library("google_crc32c", NAME).value
            stored = int.from_bytes(view[plain:], "little")
            if compute(np.frombuffer(view[:plain], np.uint8)) == stored:
                view = view[:plain]
        if len(view) < plain:
            raise DecodeError(
                f"codec {NAME!r}: the index takes {plain} bytes, found {len(view)}: the shard is"
                " truncated"
            )
        return self.index_chain.decode(view[len(view) - plain :])

    def _check_places(self, index: ShardIndex, size: int) -> None:
        ends = index.table.sum(axis=-1)
        if ends.max() <= size:
            return
        end = int(ends[index.table[..., 0] != MISSING].max(initial=0))
        if end > size:
            raise DecodeError(
                f"codec {NAME!r}: the index names bytes up to {end}, the shard has {size}: it is"
                " truncated"
            )

    def split(self, data: Buffer) -> dict[Shape, memoryview]:
        """Give the encoded inner chunks of a shard, by their coordinates.

        Parameters
        ----------
        data
            The whole shard.

        Raises
        ------
        DecodeError
            If the index is damaged.
        """
        view = memoryview(data)
        index = self._index_of(view)
        return {
            coordinates: view[offset : offset + nbytes]
            for coordinates, offset, nbytes in index.items()
        }

    def _index_of(self, view: memoryview) -> ShardIndex:
        index = self.read_index(lambda part: view[part.start : part.stop], len(view))
        assert index is not None
        return index

    def assemble(self, chunks: Mapping[Shape, Buffer]) -> bytes | None:
        """Make a whole shard; None if there is no inner chunk.

        Parameters
        ----------
        chunks
            Encoded inner chunks, by their coordinates.
        """
        return self._assembled(chunks) if chunks else None

    def empty(self) -> bytes:
        """A shard without a single chunk.

        Examples
        --------
        >>> codec = omnizarr.codecs.ShardingCodec(chunk_shape=(2,))
        >>> shard = codec.shard(omnizarr.codecs.ArrayStage((4,), np.dtype("u1")))
        >>> shard.split(shard.empty())
        {}
        """
        return self._assembled({})

    def _assembled(self, chunks: Mapping[Shape, Buffer]) -> bytes:
        table = np.full((*self.shape, 2), MISSING, UINT64)
        pieces: list[Buffer] = []
        at_start = self.location == "start"
        position = self.index_bytes if at_start else 0
        for coordinates in sorted(chunks):
            data = chunks[coordinates]
            nbytes = memoryview(data).nbytes
            table[coordinates] = position, nbytes
            pieces.append(data)
            position += nbytes
        index = self.index_chain.encode(table)
        if self.checksum_unknown:
            compute = library("google_crc32c", NAME).value
            index = bytes(index) + compute(bytes(index)).to_bytes(4, "little")
        return b"".join([index, *pieces] if at_start else [*pieces, index])

    # -- the shard as an ordinary codec -------------------------------------------------------

    @cached_property
    def _places(self) -> list[tuple[Shape, tuple[Any, ...]]]:
        steps = self.grid.chunk_shape
        # The ellipsis makes it a view, not an element, without dimensions too.
        return [
            (
                coordinates,
                (..., *(slice(c * n, c * n + n) for c, n in zip(coordinates, steps, strict=True))),
            )
            for coordinates in product(*map(range, self.shape))
        ]

    def encode(self, array: NDArray, fill: NDArray | None) -> bytes:
        """Encode a whole shard.

        Parameters
        ----------
        array
            The values of the shard.
        fill
            Inner chunks with no other value are left out; None: none is.
        """
        encode = self.chain.encode
        chunks = {}
        for coordinates, place in self._places:
            block = array[place]
            if fill is None or not is_fill(block, fill):
                chunks[coordinates] = encode(block)
        return self._assembled(chunks)

    def decode_into(self, data: Buffer, out: NDArray, fill: NDArray | None) -> None:
        """Decode every inner chunk of a shard.

        Parameters
        ----------
        data
            The whole shard.
        out
            The array to write to.
        fill
            Value of missing inner chunks; None: a missing one raises.

        Raises
        ------
        DecodeError
            If the index or an inner chunk is damaged.
        """
        view = memoryview(data)
        index = self._index_of(view)
        decode_into = self.chain.decode_into
        for (coordinates, place), (offset, nbytes) in zip(self._places, index.entries, strict=True):
            if offset == MISSING:
                if fill is None:
                    raise DecodeError(
                        f"codec {NAME!r}: inner chunk {coordinates} is missing, and the codecs"
                        " before cannot encode the fill value that stands for it"
                    )
                out[place] = fill
                continue
            try:
                decode_into(view[offset : offset + nbytes], out[place])
            except DecodeError as error:
                raise error.at(f"inner chunk {coordinates}") from error


@suggesting
@dataclass(frozen=True)
class ShardingCodec(CodecDocument):
    """A chunk that holds inner chunks, each encoded alone, and an index of them.

    `create_array(shards=…)` is the usual way to ask for it. Codecs are given in any spelling that
    `codec_spec` takes.

    Raises
    ------
    MetadataError
        If the inner chunks or the location are invalid.

    Examples
    --------
    >>> codec = omnizarr.codecs.ShardingCodec(chunk_shape=(2,), codecs=["bytes", "zstd"])
    >>> array = omnizarr.create_array({}, shape=8, chunks=4, dtype="i4", codecs=[codec])
    >>> array.shards, array.chunks
    ((4,), (2,))
    """

    kind: ClassVar[CodecKind] = "array-bytes"
    chunk_shape: Sequence[int]
    """Shape of the inner chunks, which divides that of the shard."""
    codecs: tuple[CodecSpec, ...] = (CodecSpec("bytes", {"endian": "little"}),)
    """Codecs of an inner chunk."""
    index_codecs: tuple[CodecSpec, ...] | None = DEFAULT_INDEX
    """Codecs of the index; None: as before July 2023."""
    index_location: IndexLocation = "end"
    """Where the index is: "end" or "start"."""
    context: Context = field(default=Context(), repr=False)
    """How deep this codec is nested, and whether pickles are allowed."""
    subchunk_write_order: str = field(default="lexicographic", repr=False, compare=False)
    """zarr-python's wish for the order of inner chunks in a shard, which readers do not depend on;
    they are always written in C order."""

    def __post_init__(self) -> None:
        shape = inner_chunk_shape(NAME, self.chunk_shape)
        choice(
            CodecSpec(NAME, {"subchunk_write_order": str(self.subchunk_write_order)}),
            "subchunk_write_order",
            WRITE_ORDERS,
            None,
        )
        location = getattr(self.index_location, "value", self.index_location)
        if location not in ("start", "end"):
            raise MetadataError(f"codec {NAME!r}: index_location must be one of start, end")
        object.__setattr__(self, "chunk_shape", shape)
        object.__setattr__(self, "index_location", location)
        object.__setattr__(self, "codecs", tuple(codec_spec(codec) for codec in self.codecs))
        if self.index_codecs is not None:
            index = tuple(codec_spec(codec) for codec in self.index_codecs)
            object.__setattr__(self, "index_codecs", index)

    @classmethod
    def from_spec(cls, spec: CodecSpec, context: Context) -> ShardingCodec:
        only(spec, "chunk_shape", "codecs", "index_codecs", "index_location")
        location = choice(spec, "index_location", ("start", "end"), "end")
        shape: Any = spec.configuration.get("chunk_shape")
        if not isinstance(shape, list | tuple) or any(type(n) is not int for n in shape):
            raise MetadataError(f"codec {NAME!r}: chunk_shape must be integers, not {show(shape)}")
        return cls(
            shape,
            option_specs(spec, "codecs") or (),
            option_specs(spec, "index_codecs"),
            "start" if location == "start" else "end",
            context.deeper(),
        )

    def spec(self) -> CodecSpec:
        configuration: dict[str, Any] = {
            "chunk_shape": list(self.chunk_shape),
            "codecs": [spec_document(codec) for codec in self.codecs],
        }
        if self.index_codecs is not None:
            configuration["index_codecs"] = [spec_document(codec) for codec in self.index_codecs]
            configuration["index_location"] = self.index_location
        return CodecSpec(NAME, configuration)

    def to_dict(self) -> dict[str, Json]:
        """Give the codec's metadata; as in zarr-python, its lists are tuples."""
        document = super().to_dict()
        inner: Any = document["configuration"]
        inner |= {key: tuple(item) for key, item in inner.items() if isinstance(item, list)}
        return document

    def shard(self, stage: ArrayStage) -> Shard:
        """Give the layout of shards.

        Parameters
        ----------
        stage
            Shape and type of a shard.

        Raises
        ------
        MetadataError
            If the inner chunks do not divide the shard.

        Examples
        --------
        >>> codec = omnizarr.codecs.ShardingCodec(chunk_shape=(2,))
        >>> codec.shard(omnizarr.codecs.ArrayStage((4,), np.dtype("u1"))).shape
        (2,)
        """
        from omnizarr.codecs.chains import build

        inner, outer = tuple(self.chunk_shape), stage.shape
        if len(inner) != len(outer) or any(n % m for n, m in zip(outer, inner, strict=True)):
            raise MetadataError(
                f"codec {NAME!r}: inner chunks of shape {show(list(inner))} do not divide a shard"
                f" of shape {list(outer)}"
            )
        grid = regular_grid(outer, inner)
        table = ArrayStage((*grid.shape, 2), UINT64, MISSING, "uint64")
        if prod(table.shape) * 8 > limits.current.max_expansion:
            raise MetadataError(
                f"codec {NAME!r}: {prod(grid.shape)} inner chunks in a shard are too many"
            )
        codecs = self.index_codecs
        checksum_unknown = codecs is None
        if codecs is None:
            codecs = DEFAULT_INDEX[:1]
        index_chain = build(codecs, table, self.context)
        size = index_chain.output.size
        if size is None:
            raise MetadataError(
                f"codec {NAME!r}: index_codecs {show([codec.name for codec in codecs])} give an"
                " index whose size depends on the data; only codecs of fixed size are allowed"
            )
        part = ArrayStage(inner, stage.dtype, stage.fill, stage.type_name)
        return Shard(
            grid,
            build(self.codecs, part, self.context),
            index_chain,
            size + 4 * checksum_unknown,
            self.index_location,
            checksum_unknown,
        )

    def prepare(self, stage: ArrayStage) -> Step:
        shard = self.shard(stage)
        shape, dtype = stage.shape, stage.dtype
        fill: NDArray | None = None
        if stage.fill is not None:
            fill = np.empty((), dtype)
            fill[()] = stage.fill

        def encode(array: NDArray) -> bytes:
            return shard.encode(array, fill)

        def decode_into(data: Buffer, out: NDArray) -> None:
            shard.decode_into(data, out, fill)

        def decode(data: Buffer) -> NDArray:
            out = np.empty(shape, dtype)
            shard.decode_into(data, out, fill)
            return out

        count = prod(shard.shape)
        limit = count * shard.chain.output.limit + shard.index_bytes
        output = BytesStage(None, limit, dtype.itemsize)
        spec = None
        if shard.chain.specs != self.codecs:
            spec = replace(self, codecs=shard.chain.specs).spec()
        return Step(output, encode, decode, decode_into, shard=shard, spec=spec)
