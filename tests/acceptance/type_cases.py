"""Every data type, as data: its names, the formats that hold it, the fill values it is tried with.

A `Type` is a row of the matrix in `docs/types.md`, a `Case` one array of it: a type, one fill value
and a layout. This module runs in the environment of every peer, so it knows NumPy and the standard
library only; what the values are is the business of `type_values`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

Json = Any
Format = int | str

A, B, C, N5 = "3-draft2019", "3-draft2020-09", "3-draft2020-10", "n5"
FORMATS: tuple[Format, ...] = (0, 1, 2, A, B, C, 3, N5)

FIXED = (0, 1, 2, A, B, C, 3)
"""The formats of NumPy's own types of a fixed size."""
NUMBERS = (*FIXED, N5)
VARIABLE = (2, C, 3)
OBJECTS = (2, C)


def node(zarr_format: Format) -> str:
    """The path of the array in its store: peers expect groups around it in some formats."""
    return "a" if zarr_format in (A, B, C, N5) else ""


@dataclass(frozen=True)
class Type:
    name: str
    family: str
    dtype: Json
    """What a user gives as `dtype=`: NumPy's string or list of fields, or Zarr's name."""
    v3: Json
    """The member `data_type` of format 3; None if it has none."""
    v2: Json
    """The member `dtype` of format 2; None if it has none."""
    formats: tuple[Format, ...]
    fills: tuple[str, ...]
    """Names of fill values, see `type_values.fill`; "none" is tried with every type."""
    codec: Json = None
    """The object codec that format 2 needs, or would need: it tells what the elements are."""
    big: bool = False
    """The most significant byte is first, in format 3 by the codec's `endian`."""
    aligned: bool = False


@dataclass(frozen=True)
class Case:
    type: Type
    fill: str
    shape: tuple[int, ...]
    chunks: tuple[int, ...]
    written: tuple[tuple[slice, ...], ...]
    """What is written, in whole chunks."""
    missing: tuple[slice, ...] | None
    """The chunk between them that is not; None where no fill value says what it would be."""

    @property
    def name(self) -> str:
        return f"{self.type.name} / {self.fill}"


_LAYOUTS: tuple[dict[str, Any], ...] = (
    {
        "shape": (23,),
        "chunks": (5,),
        "written": ((slice(0, 10),), (slice(15, 23),)),
        "missing": (slice(10, 15),),
    },
    {
        "shape": (7, 9),
        "chunks": (3, 4),
        "written": (
            (slice(0, 3), slice(0, 9)),
            (slice(3, 6), slice(0, 4)),
            (slice(3, 6), slice(8, 9)),
            (slice(6, 7), slice(0, 9)),
        ),
        "missing": (slice(3, 6), slice(4, 8)),
    },
)

# -- families -------------------------------------------------------------------------------------
BIG = " big-endian"
SMALL_INTEGERS = ("int2", "int4", "uint2", "uint4")
SMALL_FLOATS = (
    "bfloat16", "float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz", "float8_e4m3fn",
    "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu", "float6_e2m3fn",
    "float6_e3m2fn", "float4_e2m1fn",
)  # fmt: skip
WITHOUT_NAN = ("float6_e2m3fn", "float6_e3m2fn", "float4_e2m1fn")
WITHOUT_ZERO = ("float8_e8m0fnu",)

RECORD = [["a", "<i4"], ["b", "<f8"], ["c", "|S3"]]
TEXTS = [["t", "<U3"], ["w", "<M8[ns]"], ["d", "<m8[10ms]"], ["z", "<c8"], ["f", "|b1"]]
NESTED = [["a", "|u1"], ["b", [["x", "<f4"], ["y", [["z", "<i8"]]]]]]
BLOCKS = [["a", "<i4"], ["b", "<f4", [2, 2]]]
ALIGNED = [["a", "|u1"], ["b", "<f8"], ["c", "<i2"]]
PADDED = [["a", "|u1"], ["", "|V7"], ["b", "<f8"], ["c", "<i2"], ["", "|V6"]]
WITH_OBJECT = [["a", "<i4"], ["b", "|O"]]


def _both_orders(name: str, family: str, code: str, v3: Json, fills: Any, formats: Any) -> Any:
    """A type, and the same with the most significant byte first."""
    yield Type(name, family, f"<{code}", v3, f"<{code}", formats, fills)
    yield Type(name + BIG, family, f">{code}", v3, f">{code}", formats, fills, big=True)


def _numbers() -> Iterator[Type]:
    yield Type("bool", "Numbers", "|b1", "bool", "|b1", FIXED, ("true", "false"))
    for sign, word in (("i", "int"), ("u", "uint")):
        for size in (1, 2, 4, 8):
            name, code = f"{word}{8 * size}", f"{sign}{size}"
            fills = ("greatest", "zero", *(("least",) if sign == "i" else ()))
            fills = (*fills, "2^53+1") if size == 8 else fills
            if size == 1:
                yield Type(name, "Numbers", f"|{code}", name, f"|{code}", NUMBERS, fills)
            else:
                yield from _both_orders(name, "Numbers", code, name, fills, NUMBERS)
    fills = ("NaN", "-0.0", "-Infinity", "zero", "NaN with payload")
    for size in (2, 4, 8):
        formats = FIXED if size == 2 else NUMBERS
        yield from _both_orders(
            f"float{8 * size}", "Numbers", f"f{size}", f"float{8 * size}", fills, formats
        )
    fills = ("1.5-2.5j", "NaN-0.0j", "real", "NaN with payload")
    for size in (8, 16):
        yield from _both_orders(
            f"complex{8 * size}", "Numbers", f"c{size}", f"complex{8 * size}", fills, FIXED
        )


def _small() -> Iterator[Type]:
    family = "Small numbers"
    for name in SMALL_INTEGERS:
        fills: tuple[str, ...] = ("greatest", "least" if name[0] == "i" else "zero")
        yield Type(name, family, name, name, name, (2, 3), fills)
    for name in SMALL_FLOATS:
        fills = ("one",) if name in WITHOUT_ZERO else ("one", "zero")
        fills = fills if name in WITHOUT_NAN else (*fills, "NaN")
        yield Type(name, family, name, name, name, (2, 3), fills)
    for part in ("float16", *SMALL_FLOATS):
        if part != "float8_e4m3fn":  # the one that is not registered
            name = f"complex_{part}"
            yield Type(name, "Small complex numbers", name, name, None, (3,), ("one", "unequal"))


def _configured(name: str, **configuration: Any) -> Json:
    return {"name": name, "configuration": configuration}


def _fixed() -> Iterator[Type]:
    family = "Text and bytes of a fixed length"
    utf32 = _configured("fixed_length_utf32", length_bytes=20)
    yield from _both_orders("fixed_length_utf32", family, "U5", utf32, ("text", "empty"), FIXED)
    terminated = _configured("null_terminated_bytes", length_bytes=6)
    fills = ("text", "bytes", "empty")
    yield Type("null_terminated_bytes", family, "|S6", terminated, "|S6", FIXED, fills)
    yield Type("r24 (raw bytes)", family, "|V3", "r24", "|V3", FIXED, ("bytes", "zero"))


def _times() -> Iterator[Type]:
    family = "Times"
    fills = ("NaT", "least", "one")
    for code, name in (("M8", "numpy.datetime64"), ("m8", "numpy.timedelta64")):
        for unit, factor in (("ns", 1), ("D", 1), ("us", 25)):
            text = f"{code}[{factor if factor > 1 else ''}{unit}]"
            v3 = _configured(name, unit=unit, scale_factor=factor)
            label = f"{name}[{factor if factor > 1 else ''}{unit}]"
            if unit == "ns":
                yield from _both_orders(label, family, text, v3, fills, FIXED)
            else:
                yield Type(label, family, f"<{text}", v3, f"<{text}", FIXED, fills)
        v3 = _configured(name, unit="generic", scale_factor=1)
        yield Type(f"{name} without a unit", family, f"<{code}", v3, None, (3,), fills)


def _struct(fields: list[Json]) -> Json:
    """The packed record of format 3."""
    names = {
        "<i4": "int32", ">i4": "int32", "<f8": "float64", ">f8": "float64", "<f4": "float32",
        "|u1": "uint8", "<i8": "int64", "<i2": "int16", "<c8": "complex64", "|b1": "bool",
        "|S3": _configured("null_terminated_bytes", length_bytes=3),
        "<U3": _configured("fixed_length_utf32", length_bytes=12),
        "<M8[ns]": _configured("numpy.datetime64", unit="ns", scale_factor=1),
        "<m8[10ms]": _configured("numpy.timedelta64", unit="ms", scale_factor=10),
    }  # fmt: skip
    members = [
        {"name": name, "data_type": _struct(kind) if isinstance(kind, list) else names[kind]}
        for name, kind in fields
    ]
    return _configured("struct", fields=members)


def _records() -> Iterator[Type]:
    family = "Records"
    fills = ("record", "zero")
    yield Type("struct", family, RECORD, _struct(RECORD), RECORD, FIXED, fills)
    turned = [[name, kind.replace("<", ">")] for name, kind in RECORD]
    yield Type("struct" + BIG, family, turned, _struct(turned), turned, FIXED, fills, big=True)
    yield Type("struct of text and times", family, TEXTS, _struct(TEXTS), TEXTS, FIXED, fills)
    yield Type("struct, nested", family, NESTED, _struct(NESTED), NESTED, FIXED, fills)
    padded = (2, A, B, C, 3)
    yield Type(
        "struct, aligned", family, ALIGNED, _struct(ALIGNED), PADDED, padded, fills, aligned=True
    )
    formats = (2, A, B, C)
    yield Type("struct with sub-arrays", family, BLOCKS, None, BLOCKS, formats, fills)


def _variable() -> Iterator[Type]:
    family = "Text and bytes of any length"
    yield Type(
        "string", family, "string", "string", "|O", VARIABLE, ("text", "empty"), {"id": "vlen-utf8"}
    )
    yield Type(
        "bytes", family, "bytes", "bytes", "|O", VARIABLE, ("bytes", "empty"), {"id": "vlen-bytes"}
    )
    arrow: dict[str, Json] = {
        "arrow-string": {"name": "string", "fallback": "binary"},
        "arrow-large-string": {"name": "LargeString", "fallback": "LargeBinary"},
        "arrow-binary": {"name": "binary"},
        "arrow-large-binary": {"name": "LargeBinary"},
    }
    for name, v3 in arrow.items():
        text = name.endswith("string")
        fills, codec = ("text" if text else "bytes", "empty"), "vlen-utf8" if text else "vlen-bytes"
        yield Type(name, family, name, v3, None, (3,), fills, {"id": codec})


def _objects() -> Iterator[Type]:
    family = "Python objects"
    labels = ["red", "green", "blau"]
    codecs: dict[str, tuple[Json, tuple[str, ...]]] = {
        "ragged <i4 (vlen-array)": ({"id": "vlen-array", "dtype": "<i4"}, ("zero",)),
        "ragged >f8 (vlen-array)": ({"id": "vlen-array", "dtype": ">f8"}, ("zero",)),
        "objects (json2)": ({"id": "json2"}, ("json",)),
        "objects (msgpack2)": ({"id": "msgpack2"}, ("json",)),
        "objects (pickle)": ({"id": "pickle"}, ("json",)),
        "labels (categorize)": (
            {"id": "categorize", "labels": labels, "dtype": "|O", "astype": "|u1"},
            ("empty",),
        ),
    }
    for name, (codec, fills) in codecs.items():
        yield Type(name, family, "|O", None, "|O", OBJECTS, fills, codec)
    for codec in ("json2", "pickle"):
        name = f"struct with an object ({codec})"
        yield Type(
            name, family, WITH_OBJECT, None, WITH_OBJECT, OBJECTS, ("record",), {"id": codec}
        )


@cache
def types() -> tuple[Type, ...]:
    """Every row, in the order of the page."""
    found = (_numbers, _small, _fixed, _times, _records, _variable, _objects)
    return tuple(one for family in found for one in family())


@cache
def cases() -> dict[str, Case]:
    """Every array, by its name."""
    found = {}
    for one in types():
        for number, fill in enumerate((*one.fills, "none")):
            layout = _LAYOUTS[number % 2]
            if fill == "none":
                whole = tuple(slice(0, length) for length in layout["shape"])
                layout = {**layout, "written": (whole,), "missing": None}
            case = Case(one, fill, **layout)
            found[case.name] = case
    return found
