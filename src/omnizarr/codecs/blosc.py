"""`blosc`: shuffled blocks, compressed (c-blosc 1 containers).

Spec: Zarr v3 core, codecs/blosc. Alias: `numcodecs.blosc` (v2 `blosc`). Configuration: `cname`
(blosclz, lz4, lz4hc, snappy, zlib, zstd), `clevel` 0 to 9, `shuffle`, `blocksize`, `typesize`. v3
names the shuffle (noshuffle, shuffle, bitshuffle), v2 and early v3 number it (0, 1, 2; −1 means
bitshuffle for elements of one byte, else shuffle).

c-blosc trusts the header and the table of block starts that follows it, so both are checked here
against the real length before it sees them. Blocks of Snappy, and of zstd 0.7 as zarr 1.1 wrote
them, are decoded in Python, because current libraries do not.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np

from omnizarr.codecs.base import (
    BytesStage,
    CodecKind,
    Context,
    Step,
    check_size,
    compressed,
    octets,
)
from omnizarr.codecs.configuration import choice, configured, integer, only
from omnizarr.codecs.document import CodecDocument
from omnizarr.codecs.loader import blosc, load_without_core
from omnizarr.errors import DecodeError, EncodeError, MetadataError
from omnizarr.keywords import suggesting
from omnizarr.model.codec import CodecSpec
from omnizarr.model.grids import NDArray
from omnizarr.model.json import show
from omnizarr.model.store import Buffer

READ_ONLY = ("snappy", "zstd-0.7")
"""Nothing here writes them; the second is the Zstandard of zarr 1.1."""
COMPRESSORS = ("blosclz", "lz4", "lz4hc", "zlib", "zstd", *READ_ONLY)
SHUFFLES = ("noshuffle", "shuffle", "bitshuffle")
MAX_BYTES = 2**31 - 1 - 16
HEADER = struct.Struct("<BBBBIII")
MEMCPYED, FUTURE = 0x02, 0x08
SLACK = 16
"""z5py stored whole buffers: up to this many bytes may follow a container."""
FORMATS = ("blosclz", "lz4", "snappy", "zlib", "zstd")

MEMBERS = ("typesize", "cname", "clevel", "shuffle", "blocksize")


class Header(NamedTuple):
    """The 16 bytes that begin a container, and what follows from them."""

    flags: int
    typesize: int
    nbytes: int
    blocksize: int

    @property
    def nblocks(self) -> int:
        return -(-self.nbytes // self.blocksize)


def check_container(data: Buffer, stage: BytesStage) -> Header:
    """The header of a container that is whole, honest about its size, and safe to decode."""
    length = len(data)
    if length < 16:
        raise DecodeError(f"codec 'blosc': {length} bytes, fewer than the 16 of the header")
    version, _, flags, typesize, nbytes, blocksize, cbytes = HEADER.unpack_from(data)
    if version != 2:
        raise DecodeError(f"codec 'blosc': container version 2 expected, found {version}")
    if not cbytes <= length <= cbytes + SLACK:
        raise DecodeError(
            f"codec 'blosc': the header promises {cbytes} stored bytes, found {length}"
        )
    length = cbytes
    if length < 16:
        raise DecodeError(f"codec 'blosc': {length} bytes, fewer than the 16 of the header")
    if nbytes != stage.size:
        check_size("blosc", stage, nbytes)
    header = Header(flags, typesize, nbytes, blocksize)
    if nbytes == 0:
        return header
    if flags & MEMCPYED:
        if nbytes + 16 != length:
            raise DecodeError(
                f"codec 'blosc': {nbytes} bytes stored as they are, found {length - 16}"
            )
        return header
    if flags & FUTURE or flags >> 5 >= len(FORMATS) or typesize == 0:
        raise DecodeError(f"codec 'blosc': flags {flags:#04x}, type size {typesize} are not valid")
    if not 0 < blocksize <= nbytes:
        raise DecodeError(f"codec 'blosc': block size {blocksize} for {nbytes} bytes is not valid")
    nblocks = header.nblocks
    first = 16 + 4 * nblocks
    if first + 4 * nblocks > length:
        raise DecodeError(f"codec 'blosc': {nblocks} blocks do not fit into {length} bytes")
    if nblocks == 1:
        lowest = highest = int.from_bytes(data[16:20], "little")
    else:
        starts = np.frombuffer(data, "<u4", nblocks, 16)
        lowest, highest = int(starts.min()), int(starts.max())
    if lowest < first or highest > length - 4:
        raise DecodeError(
            f"codec 'blosc': block starts between {lowest} and {highest} are outside"
            f" {first} to {length - 4}"
        )
    return header


@suggesting
@dataclass(frozen=True)
class BloscCodec(CodecDocument):
    """Blosc: shuffling bytes or bits, then compression in blocks.

    Raises
    ------
    MetadataError
        If an option is unknown or out of range.

    Examples
    --------
    >>> codec = omnizarr.codecs.BloscCodec(cname="lz4", clevel=5, shuffle="bitshuffle")
    >>> array = omnizarr.create_array({}, shape=3, dtype="i4", compressors=codec)
    """

    kind: ClassVar[CodecKind] = "bytes-bytes"
    typesize: int | None = None
    """Size in bytes of the elements to shuffle; None: that of the data type."""
    cname: str = "zstd"
    """Compressor: "zstd", "lz4", "lz4hc", "blosclz", "zlib" or "snappy"."""
    clevel: int = 5
    """Effort, 0 to 9."""
    shuffle: str | int | None = None
    """"noshuffle", "shuffle" or "bitshuffle"; None: by the size of the elements."""
    blocksize: int = 0
    """Size of a block in bytes; 0: chosen by Blosc."""
    name: str = "blosc"
    """Its name in metadata: numcodecs' spelling of the codec is another one."""

    def __post_init__(self) -> None:
        shuffle = getattr(self.shuffle, "value", self.shuffle)
        cname = getattr(self.cname, "value", self.cname)
        if isinstance(shuffle, int) and shuffle in (0, 1, 2) and self.name == "blosc":
            shuffle = SHUFFLES[shuffle]
        if shuffle not in (None, -1, 0, 1, 2, *SHUFFLES):
            raise MetadataError(
                f"codec 'blosc': shuffle must be one of {SHUFFLES}, found {show(shuffle)}"
            )
        spec = CodecSpec("blosc", {**vars(self), "cname": cname})
        choice(spec, "cname", COMPRESSORS, None)
        vars(self).update(
            typesize=integer(spec, "typesize", None, 1, 2**31 - 1),
            cname=cname,
            clevel=integer(spec, "clevel", low=0, high=9),
            shuffle=shuffle,
            blocksize=integer(spec, "blocksize", 0, 0, MAX_BYTES),
        )

    @classmethod
    def from_spec(cls, spec: CodecSpec, context: Context) -> BloscCodec:
        v3 = spec.name == "blosc"
        if v3:
            only(spec, *MEMBERS)
        options = spec.configuration
        values: dict[str, Any] = {} if v3 else {"cname": "lz4", "shuffle": 1}
        values |= {key: options[key] for key in MEMBERS if options.get(key) is not None}
        if isinstance(values.get("cname"), bytes):
            values["cname"] = values["cname"].decode("ascii", "replace")
        if v3 and values.get("typesize") == 0:
            # Some writers leave it 0 when nothing is shuffled.
            del values["typesize"]
        return cls(**values, name=spec.name)

    def spec(self) -> CodecSpec:
        values = {key: getattr(self, key) for key in MEMBERS}
        if self.name != "blosc" and isinstance(self.shuffle, str):
            values["shuffle"] = SHUFFLES.index(self.shuffle)
        return configured(self.name, values)

    def _settled(self, stage: BytesStage) -> CodecSpec | None:
        """With the element size and the shuffle that suit the data, where they were left open."""
        if self.name != "blosc" or (self.typesize is not None and self.shuffle not in (None, -1)):
            return None
        typesize = self.typesize or stage.itemsize
        shuffle = self.shuffle
        if shuffle in (None, -1):
            shuffle = "bitshuffle" if typesize == 1 else "shuffle"
        return replace(self, typesize=typesize, shuffle=shuffle).spec()

    def _shuffle(self, typesize: int) -> int:
        if isinstance(self.shuffle, str):
            return SHUFFLES.index(self.shuffle)
        if self.shuffle is None or self.shuffle == -1:
            return 2 if typesize == 1 else 1
        return self.shuffle

    def prepare(self, stage: BytesStage) -> Step:
        if stage.size is not None and stage.size > MAX_BYTES:
            raise MetadataError(
                f"codec 'blosc': a chunk of {stage.size} bytes; blosc takes at most {MAX_BYTES}."
                " Use smaller chunks, or zstd"
            )
        load_without_core(blosc)
        typesize = self.typesize or stage.itemsize

        if self.cname in READ_ONLY:
            cname = self.cname

            def encode(data: Buffer) -> bytes:
                raise EncodeError(
                    f"codec 'blosc': {cname} can be read here, not written; convert the array to"
                    " another compressor (omnizarr.convert)"
                )
        else:
            encode = _encoder(self, typesize, self._shuffle(typesize))

        def decode_into(data: Buffer, out: NDArray) -> None:
            unpack(data, check_container(data, stage), out)

        def unpack(data: Buffer, header: Header, out: NDArray) -> None:
            if header.flags & MEMCPYED:
                out[...] = octets(data)[16 : 16 + header.nbytes]
            elif header.nbytes == 0:
                return
            elif FORMATS[header.flags >> 5] == "snappy":
                from omnizarr.codecs.blosc_blocks import decode_blocks
                from omnizarr.codecs.blosc_snappy import snappy

                decode_blocks(data, header, out, snappy)
            else:
                try:
                    blosc().decompress(data, out)
                except (RuntimeError, ValueError, SystemError) as error:
                    if FORMATS[header.flags >> 5] != "zstd":
                        raise DecodeError(f"codec 'blosc': corrupt block: {error}") from error
                    from omnizarr.codecs.blosc_blocks import decode_blocks
                    from omnizarr.codecs.zstd_legacy import decompress_legacy

                    # The blocks are corrupt, or an old zstd wrote them.
                    decode_blocks(data, header, out, decompress_legacy)

        def decode(data: Buffer) -> Buffer:
            header = check_container(data, stage)
            out = np.empty(header.nbytes, np.uint8)
            unpack(data, header, out)
            return out.data

        spec = self._settled(stage)
        shuffle = self._shuffle(typesize)
        block = ("blosc", self.cname, self.clevel, shuffle, typesize, self.blocksize)
        return Step(compressed(stage), encode, decode, decode_into, block=block, spec=spec)


def _encoder(codec: BloscCodec, typesize: int, shuffle: int) -> Any:
    cname, clevel, blocksize = codec.cname.encode(), codec.clevel, codec.blocksize
    element = np.dtype((np.void, typesize))

    def encode(data: Buffer) -> bytes:
        # c-blosc takes the element size from the buffer's.
        length = len(data)
        source = octets(data) if length % typesize or not length else np.frombuffer(data, element)
        try:
            return blosc().compress(source, cname, clevel, shuffle, blocksize)  # type: ignore[no-any-return]
        except (RuntimeError, ValueError) as error:
            raise EncodeError(f"codec 'blosc': {error}") from error

    return encode
