"""Whether stored bytes have the form that the codecs' specifications describe.

The decoders here also accept what known writers store in another form: zlib streams under the
name gzip (z5py), bytes behind a blosc container (z5py), Snappy or an old Zstandard inside blosc,
several Zstandard frames, padding. Other readers refuse some of these, so such a chunk is never
copied unchanged. Only headers are examined; damage is not searched for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from omnizarr.codecs.blosc import FORMATS, HEADER, MEMCPYED
from omnizarr.codecs.chains import Chain
from omnizarr.codecs.n5_default import NAME as N5_BLOCK
from omnizarr.codecs.n5_default import VARLENGTH
from omnizarr.codecs.registry import option_specs
from omnizarr.codecs.zstd import LEGACY, is_one_frame
from omnizarr.errors import DecodeError
from omnizarr.model.codec import CodecSpec
from omnizarr.model.store import Buffer

_CHECKSUMS = {
    "crc32c": "end",
    "numcodecs.crc32c": "end",
    "numcodecs.fletcher32": "end",
    "numcodecs.crc32": "start",
    "numcodecs.adler32": "start",
}
"""Codecs that add four bytes, and where they do so by default."""


def conforms(chain: Chain, data: Buffer) -> bool:
    """Whether a stored chunk is what the chain's specifications describe, as far as headers tell.

    False also where that cannot be seen without decoding."""
    view = memoryview(data)
    if chain.output.size is not None and len(view) != chain.output.size:
        return False
    try:
        if chain.shard is not None:
            inner = chain.shard.chain
            return all(conforms(inner, piece) for piece in chain.shard.split(view).values())
        return _conforms(chain.specs, view)
    except DecodeError:
        return False


def _conforms(specs: Sequence[CodecSpec], view: memoryview) -> bool:
    """The codecs from the outermost inwards, as far as their output can be seen."""
    for place, spec in reversed(list(enumerate(specs))):
        name = spec.name
        if name in _CHECKSUMS:
            at_start = spec.configuration.get("location", _CHECKSUMS[name]) == "start"
            view = view[4:] if at_start else view[:-4]
        elif name == N5_BLOCK:
            if len(view) < 4:
                return False
            ndim = int.from_bytes(view[2:4], "big")
            header = 4 + 4 * ndim + (4 if view[1] == VARLENGTH else 0)
            return _conforms(option_specs(spec, "codecs") or (), view[header:])
        elif name in _FORMS:
            hidden = any(inner.name in _FORMS for inner in specs[:place])
            # What the metadata calls Snappy is Snappy, though few readers have it.
            snappy = spec.configuration.get("cname") == "snappy"
            return (_FORMS[name](view) or (snappy and _is_snappy(view))) and not hidden
        elif any(inner.name in _FORMS for inner in specs[:place]):
            return False  # compressed once more by something that cannot be looked through
    return True


def _gzip(view: memoryview) -> bool:
    return bytes(view[:3]) == b"\x1f\x8b\x08"


def _is_snappy(view: memoryview) -> bool:
    return len(view) >= HEADER.size and FORMATS.index("snappy") == view[2] >> 5


def _blosc(view: memoryview) -> bool:
    if len(view) < HEADER.size:
        return False
    version, _, flags, _, nbytes, _, stored = HEADER.unpack_from(view)
    if version != 2 or stored != len(view):
        return False
    if flags & MEMCPYED or nbytes == 0:
        return True
    found = flags >> 5
    if found >= len(FORMATS) or FORMATS[found] == "snappy":
        return False
    first = int.from_bytes(view[16:20], "little") + 4
    return FORMATS[found] != "zstd" or bytes(view[first : first + 4]) not in LEGACY


def _unpadded(magic: bytes) -> Callable[[memoryview], bool]:
    """A stream that may be padded with zeros: the last byte of a whole one may be zero too, so
    only four of them count."""
    return lambda view: bytes(view[: len(magic)]) == magic and bytes(view[-4:]) != b"\0\0\0\0"


def _lzma(view: memoryview) -> bool:
    return bytes(view[:6]) != b"\xfd7zXZ\0" or bytes(view[-2:]) == b"YZ"


_FORMS: dict[str, Callable[[memoryview], bool]] = {
    "gzip": _gzip,
    "numcodecs.gzip": _gzip,
    "zstd": is_one_frame,
    "numcodecs.zstd": is_one_frame,
    "blosc": _blosc,
    "numcodecs.blosc": _blosc,
    "numcodecs.bz2": _unpadded(b"BZh"),
    "numcodecs.lzma": _lzma,
}
"""Codecs whose decoder accepts more than their specification, and what the latter looks like."""
