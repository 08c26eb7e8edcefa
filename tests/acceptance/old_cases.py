"""What is exchanged with the releases of formats 0 and 1: a matrix of types, shapes, codecs, fills.

This module knows arguments and values. It must not know the library under test.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

RECORD = [["a", "<i4"], ["b", "<f8"], ["c", "|S3"]]
NESTED = [["a", "<i4"], ["b", [["x", ">f4"], ["y", "|u1"]]]]
WIDE = [["a", "<i8"], ["b", "<f8"], ["c", "|u1"]]
SIMPLE = [
    *("|b1", "|i1", "|u1", "<i2", ">i2", "<u2", "<i4", ">i4", "<u4", "<i8", ">u8", "<u8"),
    *("<f2", "<f4", ">f4", "<f8", ">f8", "<c8", "<c16", ">c16", "|S5", "|S300", "<U3", ">U3"),
    "|V5",
]
TIMES = ["<M8[ns]", ">M8[D]", "<m8[s]", "<M8[25s]"]


@dataclass(frozen=True)
class Case:
    name: str
    dtype: Any
    shape: tuple[int, ...]
    chunks: tuple[int, ...]
    codec: dict[str, Any] = field(default_factory=dict)
    """The keywords that name the compressor, of the release and of omnizarr alike."""
    fill_value: Any = 0
    order: str | None = None
    region: tuple[tuple[int, int], ...] | None = ()
    """What is written; empty for everything, None for nothing."""
    attributes: dict[str, Any] = field(default_factory=dict)
    noise: bool = False
    theirs_alone: bool = False
    """What a user of omnizarr means by this fill value is something else, or nothing."""

    @property
    def numpy(self) -> np.dtype[Any]:
        return _dtype(self.dtype)

    @property
    def written(self) -> tuple[tuple[int, int], ...] | None:
        return tuple((0, length) for length in self.shape) if self.region == () else self.region

    @property
    def slices(self) -> tuple[slice, ...]:
        return tuple(slice(start, stop) for start, stop in self.written or ())

    @property
    def arguments(self) -> dict[str, Any]:
        """The keywords of `open`, all but the dtype the same for everybody."""
        order = {} if self.order is None else {"order": self.order}
        return {
            "shape": list(self.shape),
            "chunks": list(self.chunks),
            "dtype": self.dtype,
            "fill_value": self.fill_value,
            **self.codec,
            **order,
        }

    def values(self, seed: int = 0) -> np.ndarray[Any, Any]:
        """Deterministic values; noise does not compress."""
        count = math.prod(self.shape)
        dtype = self.numpy
        if self.noise:
            rng = np.random.default_rng(seed)
            data = rng.integers(0, 256, count * dtype.itemsize, np.uint8)
            return np.frombuffer(data.tobytes(), dtype).reshape(self.shape)
        return _values(np.arange(seed, seed + count), dtype).reshape(self.shape)

    def expected(self) -> np.ndarray[Any, Any]:
        fill = np.array(0 if self.fill_value is None else self.fill_value)
        result = np.empty(self.shape, self.numpy)
        result[...] = fill.astype(self.numpy)  # as a C cast, which is what old releases made of it
        if self.written is not None:
            result[self.slices] = self.values()[self.slices]
        return result


def _dtype(description: Any) -> np.dtype[Any]:
    if isinstance(description, list):
        return np.dtype([(name, _dtype(inner)) for name, inner in description])
    return np.dtype(description)


def _values(numbers: np.ndarray[Any, Any], dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    if dtype.names is not None:
        result = np.zeros(numbers.size, dtype)
        for name in dtype.names:
            result[name] = _values(numbers, dtype[name])
        return result
    if dtype.kind == "V":
        data = np.resize(numbers.astype(np.uint8), numbers.size * dtype.itemsize)
        return data.view(dtype)
    if dtype.kind in "SU":
        return numbers.astype("U5").astype(dtype)
    if dtype.kind == "b":
        return numbers % 3 == 0
    if dtype.kind == "c":
        return (numbers - 1j * numbers / 4).astype(dtype)
    if dtype.kind == "f":
        return ((numbers % 1000) / 4 - 9).astype(dtype)
    if dtype.kind in "mM":
        return numbers.astype(np.int64).astype(dtype)
    return (numbers * 7 % 120).astype(dtype)


def _shared(codec: dict[str, Any]) -> list[Case]:
    """Cases of both formats, with a codec for those that are not about it."""
    cases = []
    for number, dtype in enumerate([*SIMPLE, NESTED, WIDE]):
        fill: Any = "" if dtype[1:2] in ("S", "U") else 0
        cases.append(Case(f"dtype{number}", dtype, (17,), (5,), codec, fill, region=((3, 14),)))
    cases += [
        Case("record", RECORD, (9,), (4,), codec, None),
        Case("text fill", "|S3", (10,), (4,), codec, "abc", region=((5, 7),)),
        Case("unicode fill", "<U3", (10,), (4,), codec, "é∂", region=((5, 7),)),
        Case("digit fill", "|S3", (10,), (4,), codec, 0, region=((5, 7),), theirs_alone=True),
        Case("digits fill", "<U3", (10,), (4,), codec, 12345, region=None, theirs_alone=True),
        Case("bool fill", "|b1", (10,), (4,), codec, True, region=((5, 7),)),
        Case("wrapped fill", "|u1", (10,), (4,), codec, -1, region=((5, 7),), theirs_alone=True),
        Case("cut fill", "<i4", (10,), (4,), codec, -1.5, region=None, theirs_alone=True),
        Case("record fill", WIDE, (10,), (4,), codec, 7, region=None, theirs_alone=True),
        Case("large fill", "<i8", (6,), (4,), codec, 9007199254740993, region=None),
        Case("largest fill", "<u8", (6,), (4,), codec, 2**64 - 1, region=None),
        Case("half fill", "<f2", (6,), (4,), codec, 0.1, region=None),
        Case("complex fill", "<c16", (6,), (4,), codec, -2.5, region=None),
        Case("nan fill", "<f8", (20, 20), (6, 6), codec, math.nan, region=((2, 9), (3, 17))),
        Case("infinite fill", "<f4", (20, 20), (6, 6), codec, math.inf, region=((2, 9), (3, 17))),
        Case("negative fill", "<f4", (20, 20), (6, 6), codec, -math.inf, region=((5, 6), (0, 20))),
        Case("fill 42", "<i4", (20, 20), (6, 6), codec, 42, region=((2, 9), (3, 17))),
        Case("unwritten", "<u2", (11, 3), (4, 2), codec, 7, region=None),
        Case("no fill", "<f8", (10,), (4,), codec, None),
        Case("larger chunk", "<i4", (5,), (10,), codec),
        Case("chunks of one", "<i4", (6,), (1,), codec),
        Case("three axes", "<i2", (7, 8, 9), (3, 4, 5), codec),
        Case("four axes", "<i2", (3, 4, 5, 6), (2, 2, 2, 2), codec),
        Case("length 0", "<i4", (0,), (4,), codec, region=None),
        Case("lengths 0 and 5", "<i4", (0, 5), (4, 2), codec, region=None),
        Case("many blocks", "<f8", (300_000,), (200_000,), codec),
        Case("many blocks of bytes", "|u1", (3_000_000,), (2_500_000,), codec),
        Case("many blocks of records", WIDE, (100_000,), (60_000,), codec),
        Case("noise", "<i4", (700, 500), (300, 500), codec, noise=True),
        Case(
            "attributes", "<i4", (5,), (2,), codec,
            attributes={"foo": 42, "bar": 4.2, "baz": "quux", "d": {"a": None, "t": True}},
        ),
    ]  # fmt: skip
    return cases


def format_0() -> list[Case]:
    blosc = {"cname": "lz4", "clevel": 5, "shuffle": 1}
    cases = _shared(blosc)
    for number, dtype in enumerate(TIMES):
        cases.append(Case(f"time{number}", dtype, (17,), (5,), blosc, 3, region=((3, 14),)))
    for cname in ("blosclz", "lz4", "lz4hc", "zlib"):
        for shuffle in (0, 1, 2):
            codec = {"cname": cname, "clevel": 5, "shuffle": shuffle}
            cases.append(Case(f"{cname} {shuffle}", "<i4", (400, 300), (160, 110), codec))
            cases.append(Case(f"{cname} {shuffle} wide", "<f8", (90_000,), (70_000,), codec))
        for clevel in (0, 1, 9):
            codec = {"cname": cname, "clevel": clevel, "shuffle": 1}
            cases.append(Case(f"{cname} level {clevel}", "<f8", (90_000,), (40_000,), codec))
    return cases


def format_1() -> list[Case]:
    def blosc(cname: str, clevel: int, shuffle: int) -> dict[str, Any]:
        options = {"cname": cname, "clevel": clevel, "shuffle": shuffle}
        return {"compression": "blosc", "compression_opts": options}

    cases = _shared(blosc("lz4", 5, 1))
    for cname in ("blosclz", "lz4", "lz4hc", "zlib"):
        for shuffle in (0, 1, 2):
            codec = blosc(cname, 5, shuffle)
            cases.append(Case(f"{cname} {shuffle}", "<i4", (400, 300), (160, 110), codec))
            cases.append(Case(f"{cname} {shuffle} wide", "<f8", (90_000,), (70_000,), codec))
        cases.append(Case(f"{cname} 9", "<f8", (90_000,), (40_000,), blosc(cname, 9, 1)))
    delta = [{"id": 3, "dist": 4}, {"id": 33, "preset": 1}]
    others: list[tuple[str, Any]] = [
        ("none", None), ("zlib", 1), ("zlib", 9), ("gzip", 1), ("bz2", 1), ("bz2", 9),
        ("lzma", None), ("lzma", {"check": 1}), ("lzma", {"format": 2}),
        ("lzma", {"format": 3, "filters": [{"id": 33, "preset": 1}]}), ("lzma", {"filters": delta}),
    ]  # fmt: skip
    compressors = [
        blosc("lz4", 5, 1),
        *({"compression": n, "compression_opts": o} for n, o in others),
    ]
    for number, codec in enumerate(compressors):
        for order in ("C", "F"):
            name = f"{number} {codec['compression']} {order}"
            cases.append(Case(name, "<i4", (20, 13), (6, 5), codec, 9, order))
            cases.append(Case(name + " 3", "<u2", (4, 5, 6), (3, 2, 4), codec, 9, order))
            cases.append(Case(name + " 1", "<f8", (14,), (5,), codec, 9, order, ((2, 9),)))
    for number, dtype in enumerate([*TIMES, NESTED, "|b1", "|V5"]):
        codec = {"compression": "zlib", "compression_opts": 1}
        cases.append(Case(f"zlib{number}", dtype, (17,), (5,), codec, 0, region=((3, 14),)))
    return cases
