"""Codecs of numcodecs under the names that format 3 has for them: `zarr.codecs.numcodecs`.

Each takes the options of the codec of numcodecs as keywords. What they do is done by the codec
that is registered under the name.

This module knows names. It must not know what any codec does.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

from omnizarr.codecs.base import CodecKind, Context, Step
from omnizarr.codecs.document import CodecDocument
from omnizarr.codecs.registry import get_codec
from omnizarr.errors import MetadataError
from omnizarr.model.codec import CodecSpec, Json

__all__ = [
    "BZ2",
    "CRC32",
    "CRC32C",
    "LZ4",
    "LZMA",
    "ZFPY",
    "Adler32",
    "AsType",
    "BitRound",
    "Blosc",
    "Delta",
    "FixedScaleOffset",
    "Fletcher32",
    "GZip",
    "JenkinsLookup3",
    "NamedCodec",
    "PCodec",
    "PackBits",
    "Quantize",
    "Shuffle",
    "Zlib",
    "Zstd",
]


class NamedCodec(CodecDocument):
    """A codec of numcodecs; the subclasses have the names.

    Parameters
    ----------
    **codec_config
        Options, as numcodecs has them.

    Examples
    --------
    >>> omnizarr.codecs.numcodecs.BZ2(level=5).to_dict()
    {'name': 'numcodecs.bz2', 'configuration': {'level': 5}}
    """

    codec_name: ClassVar[str] = ""
    """The name in metadata."""
    kind: ClassVar[CodecKind] = "bytes-bytes"

    def __init_subclass__(cls, *, codec: str, **more: object) -> None:
        super().__init_subclass__(**more)
        cls.codec_name = f"numcodecs.{codec}"
        cls.kind = _KINDS.get(codec, "bytes-bytes")

    def __init__(self, **codec_config: Json) -> None:
        given = codec_config.pop("id", self.codec_name.removeprefix("numcodecs."))
        if f"numcodecs.{given}" != self.codec_name:
            raise MetadataError(f"expected the options of {self.codec_name!r}, found {given!r}")
        self.codec_config: Mapping[str, Json] = codec_config

    @classmethod
    def from_spec(cls, spec: CodecSpec, context: Context) -> Self:
        """Make the codec that metadata describes."""
        if spec.name != cls.codec_name:
            raise MetadataError(f"expected a codec {cls.codec_name!r}, found {spec.name!r}")
        return cls(**spec.configuration)

    def spec(self) -> CodecSpec:
        """Give the metadata that describes the codec."""
        return CodecSpec(self.codec_name, dict(self.codec_config))

    def prepare(self, stage: Any) -> Step:
        """Make the codec ready, by the one that is registered under its name."""
        codec = get_codec(self.spec())
        assert codec is not None  # it must be understood
        return codec.prepare(stage)

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other.codec_config == self.codec_config

    def __hash__(self) -> int:
        return hash(self.spec())

    def __repr__(self) -> str:
        options = ", ".join(f"{name}={value!r}" for name, value in self.codec_config.items())
        return f"{type(self).__name__}({options})"


_KINDS: dict[str, CodecKind] = {
    "astype": "array-array",
    "bitround": "array-array",
    "delta": "array-array",
    "fixedscaleoffset": "array-array",
    "packbits": "array-array",
    "pcodec": "array-bytes",
    "quantize": "array-array",
    "zfpy": "array-bytes",
}


class BZ2(NamedCodec, codec="bz2"):
    """bzip2.

    See [numcodecs.bz2.BZ2](https://numcodecs.readthedocs.io) for its options.
    """


class CRC32(NamedCodec, codec="crc32"):
    """CRC-32 checksum.

    See [numcodecs.checksum32.CRC32](https://numcodecs.readthedocs.io) for its options.
    """


class CRC32C(NamedCodec, codec="crc32c"):
    """CRC-32C checksum.

    See [numcodecs.checksum32.CRC32C](https://numcodecs.readthedocs.io) for its options.
    """


class LZ4(NamedCodec, codec="lz4"):
    """LZ4.

    See [numcodecs.lz4.LZ4](https://numcodecs.readthedocs.io) for its options.
    """


class LZMA(NamedCodec, codec="lzma"):
    """LZMA.

    See [numcodecs.lzma.LZMA](https://numcodecs.readthedocs.io) for its options.
    """


class ZFPY(NamedCodec, codec="zfpy"):
    """zfp.

    See [numcodecs.zfpy.ZFPY](https://numcodecs.readthedocs.io) for its options.
    """


class Adler32(NamedCodec, codec="adler32"):
    """Adler-32 checksum.

    See [numcodecs.checksum32.Adler32](https://numcodecs.readthedocs.io) for its options.
    """


class AsType(NamedCodec, codec="astype"):
    """Stored as another type.

    See [numcodecs.astype.AsType](https://numcodecs.readthedocs.io) for its options.
    """


class BitRound(NamedCodec, codec="bitround"):
    """Fewer bits of the mantissa.

    See [numcodecs.bitround.BitRound](https://numcodecs.readthedocs.io) for its options.
    """


class Blosc(NamedCodec, codec="blosc"):
    """Blosc.

    See [numcodecs.blosc.Blosc](https://numcodecs.readthedocs.io) for its options.
    """


class Delta(NamedCodec, codec="delta"):
    """Differences of neighbours.

    See [numcodecs.delta.Delta](https://numcodecs.readthedocs.io) for its options.
    """


class FixedScaleOffset(NamedCodec, codec="fixedscaleoffset"):
    """Scaled and shifted.

    See [numcodecs.fixedscaleoffset.FixedScaleOffset](https://numcodecs.readthedocs.io) for its
    options.
    """


class Fletcher32(NamedCodec, codec="fletcher32"):
    """Fletcher-32 checksum.

    See [numcodecs.fletcher32.Fletcher32](https://numcodecs.readthedocs.io) for its options.
    """


class GZip(NamedCodec, codec="gzip"):
    """gzip.

    See [numcodecs.gzip.GZip](https://numcodecs.readthedocs.io) for its options.
    """


class JenkinsLookup3(NamedCodec, codec="jenkins_lookup3"):
    """Jenkins' lookup3 checksum.

    See [numcodecs.checksum32.JenkinsLookup3](https://numcodecs.readthedocs.io) for its options.
    """


class PCodec(NamedCodec, codec="pcodec"):
    """Pcodec.

    See [numcodecs.pcodec.PCodec](https://numcodecs.readthedocs.io) for its options.
    """


class PackBits(NamedCodec, codec="packbits"):
    """Eight booleans in a byte.

    See [numcodecs.packbits.PackBits](https://numcodecs.readthedocs.io) for its options.
    """


class Quantize(NamedCodec, codec="quantize"):
    """Fewer decimal digits.

    See [numcodecs.quantize.Quantize](https://numcodecs.readthedocs.io) for its options.
    """


class Shuffle(NamedCodec, codec="shuffle"):
    """Bytes of elements regrouped.

    See [numcodecs.shuffle.Shuffle](https://numcodecs.readthedocs.io) for its options.
    """


class Zlib(NamedCodec, codec="zlib"):
    """zlib.

    See [numcodecs.zlib.Zlib](https://numcodecs.readthedocs.io) for its options.
    """


class Zstd(NamedCodec, codec="zstd"):
    """Zstandard.

    See [numcodecs.zstd.Zstd](https://numcodecs.readthedocs.io) for its options.
    """
