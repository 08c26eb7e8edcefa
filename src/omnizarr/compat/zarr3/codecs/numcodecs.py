"""Codecs of numcodecs under the names of format 3."""

from omnizarr.codecs import numcodecs

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
    "PCodec",
    "PackBits",
    "Quantize",
    "Shuffle",
    "Zlib",
    "Zstd",
]

_NumcodecsCodec = numcodecs.NamedCodec
BZ2 = numcodecs.BZ2
CRC32 = numcodecs.CRC32
CRC32C = numcodecs.CRC32C
LZ4 = numcodecs.LZ4
LZMA = numcodecs.LZMA
ZFPY = numcodecs.ZFPY
Adler32 = numcodecs.Adler32
AsType = numcodecs.AsType
BitRound = numcodecs.BitRound
Blosc = numcodecs.Blosc
Delta = numcodecs.Delta
FixedScaleOffset = numcodecs.FixedScaleOffset
Fletcher32 = numcodecs.Fletcher32
GZip = numcodecs.GZip
JenkinsLookup3 = numcodecs.JenkinsLookup3
PCodec = numcodecs.PCodec
PackBits = numcodecs.PackBits
Quantize = numcodecs.Quantize
Shuffle = numcodecs.Shuffle
Zlib = numcodecs.Zlib
Zstd = numcodecs.Zstd
