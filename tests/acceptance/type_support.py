"""What a format cannot hold and what a peer does not do, case by case, each with the reason.

Everything that is listed here must really fail, and in these words: the tests also fail when a
listed case starts to work, so that the matrix of `docs/types.md` stays true.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from tests.acceptance.type_cases import N5, C, Case, Format

DRAFTS = ("3-draft2019", "3-draft2020-09", C)


# -- fill values that a format has no words for ---------------------------------------------------
@dataclass(frozen=True)
class FillGap:
    formats: tuple[Format, ...]
    cases: str
    """Pattern of case names."""
    says: str
    """Pattern of our message."""


FILL_GAPS = (
    FillGap((0, 1), r"^complex\d+.* / (1\.5-2\.5j|NaN)", "a complex number other than a real one"),
    FillGap((0, 1), r"^float.* / NaN with payload", "a NaN with a sign or a payload of its own"),
    FillGap((0, 1), r"^null_terminated_bytes / bytes", "bytes that are no ASCII text"),
    FillGap((0, 1), r"^r24.* / bytes|^struct.* / record", "a record or raw bytes, unless all are"),
    FillGap((0, 1), r"^struct( big-endian| of text and times)? / zero", "a record or raw bytes"),
    FillGap((2, *DRAFTS), r" / NaN with payload", "one NaN, without a sign or a payload"),
    FillGap((2, C), r"^struct with an object.* / record", "no portable fill value for a record"),
    FillGap((N5,), r" / (?!zero|none)", "N5 has no fill value"),
)


def refused_fill(case: Case, zarr_format: Format) -> str | None:
    """The pattern of the message if the format holds the type, but not this fill value."""
    for gap in FILL_GAPS:
        if zarr_format in gap.formats and re.search(gap.cases, case.name):
            return gap.says
    return None


def holds(case: Case, zarr_format: Format) -> bool:
    return zarr_format in case.type.formats and refused_fill(case, zarr_format) is None


# -- what peers do not do -------------------------------------------------------------------------
ZARR1, ZARR2, ZARR3 = "zarr 1.1", "zarr-python 2", "zarr-python 3"
TENSORSTORE, ZARRS, ZARRITA = "tensorstore", "zarrs", "zarrita.js"

SMALL = r"^(u?int[24]|bfloat16|float[468]_\w+) / "
PAIRS = r"^complex_"
TIMES = r"^numpy\."
RECORDS = r"^struct"
OBJECTS = r"^(ragged|objects|labels|struct with an object)"
DIFFERS = "differs in bits"


@dataclass(frozen=True)
class Gap:
    peer: str
    formats: tuple[Format, ...]
    cases: str
    """Pattern of case names."""
    says: str
    """Pattern of the peer's own words, or of what differs."""
    why: str
    """The reason, for the page."""
    actions: tuple[str, ...] = ("read", "write")
    partial: bool = False
    """The type works; what does not is one detail of it."""
    before: tuple[str, int] | None = None
    """The gap exists with versions of this before that major one only."""


ARROW = r"^arrow-"
NO_ARROW = "does not know document 004's layout"

GAPS = (
    # -- the old releases
    Gap(ZARR1, (1,), TIMES + "|^struct of text and times", "cannot include dtype",
        "cannot compress dates and durations", ("write",)),
    # -- zarr-python 2
    Gap(ZARR2, (2,), SMALL, "error decoding metadata|No cast function",
        "knows none of the small types"),
    Gap(ZARR2, (2, C), r"^complex\d+.* / NaN-0\.0j", DIFFERS,
        "reads the imaginary part −0.0 of a fill value as 0.0", ("read",), partial=True),
    Gap(ZARR2, (2, C), r"^float\d+.* / -0\.0", DIFFERS,
        "stores the fill value −0.0 as 0.0", ("write",), partial=True),
    Gap(ZARR2, (2, C), r"^struct, aligned", "differs in dtype.*V7",
        "makes fields of the padding", ("read",), partial=True),
    Gap(ZARR2, (2, C), r"^struct, aligned", "Cannot cast array data",
        "cannot write records with padding", ("write",)),
    Gap(ZARR2, (C,), r"\[25us\]", "Unsupported dtype",
        "knows no multiples of units in its draft"),
    Gap(ZARR2, (2, C), r"^bytes / (bytes|empty)", "differs in items",
        "takes the fill value for text", ("read",), partial=True),
    Gap(ZARR2, (2, C), r"^bytes / (bytes|empty)", "not JSON serializable",
        "has no fill value of bytes", ("write",), partial=True),
    Gap(ZARR2, (2, C), r"^struct with an object \(json2\)", "setting an array element",
        "cannot read such records, its own neither", ("read",)),
    # -- zarr-python 3
    Gap(ZARR3, (2, 3), f"{SMALL}|{PAIRS}", "No Zarr data type found|data type .* not understood",
        "knows none of the small types"),
    Gap(ZARR3, (3,), r"^(float16|complex64).* / NaN with payload", DIFFERS,
        "reads a fill value that is a NaN with a payload as plain NaN", ("read",), partial=True),
    Gap(ZARR3, (3,), r"^(float|complex)\d+.* / NaN with payload", DIFFERS,
        "stores a fill value that is a NaN with a payload as plain NaN", ("write",), partial=True),
    Gap(ZARR3, (2, 3), r"^complex\d+.* / NaN-0\.0j", DIFFERS,
        "takes a chunk of any NaNs for an unwritten one if the fill value is NaN", ("write",),
        partial=True),
    Gap(ZARR3, (3,), r"^r24", "No Zarr data type found that matches 'r24'",
        "has its own name for raw bytes, `raw_bytes`, and reads no other", ("read",)),
    Gap(ZARR3, (2,), r"^struct, aligned", "differs in dtype.*V7",
        "makes fields of the padding", ("read",), partial=True),
    Gap(ZARR3, (2,), r"^struct of text and times", "cannot include dtype 'M' in a buffer",
        "cannot write records with dates and durations", ("write",)),
    Gap(ZARR3, (2,), r"^struct with sub-arrays",
        "No Zarr data type found|does not support field titles or subarray",
        "knows no sub-arrays in records"),
    Gap(ZARR3, (2,), OBJECTS, "No Zarr data type found|type resolution from object failed",
        "knows no objects but text and bytes"),
    Gap(ZARR3, (3,), ARROW, "Invalid data_type|data type .* not understood", NO_ARROW),
    # -- tensorstore
    Gap(TENSORSTORE, (2, 3), r"^(uint[24]|float8_e4m3|float6_\w+) / |" + PAIRS,
        "Unsupported zarr dtype|is not one of the supported data types",
        "knows the types of `ml_dtypes` but `uint2`, `uint4`, `float8_e4m3`, `float6_…`"),
    Gap(TENSORSTORE, (2, 3), r"^float8_e8m0fnu / one", DIFFERS,
        "reads the fill value 1 of this type as another power of 2", ("read",), partial=True),
    Gap(TENSORSTORE, (2,), r"^float4_e2m1fn / (one|zero)", "Expected 1 base64-encoded bytes",
        "wants this type's fill value in base64", ("read",), partial=True),
    Gap(TENSORSTORE, (2, 3), r"^fixed_length_utf32|" + TIMES,
        "Unsupported zarr dtype|is not one of the supported data types",
        "knows no text of a fixed length, dates or durations"),
    Gap(TENSORSTORE, (3,), r"^null_terminated_bytes", "is not one of the supported data types",
        "does not know this type"),
    Gap(TENSORSTORE, (2,), r"^null_terminated_bytes|^r24",
        "base64-encoded bytes|differs in shape|aligning dimensions",
        "makes one more dimension of the bytes"),
    Gap(TENSORSTORE, (3,), r"^r24", "Expected base64-encoded string for raw_bytes|differs in shape",
        "wants the fill value in base64, where the specification has a list"),
    Gap(TENSORSTORE, (2, 3), RECORDS,
        r'Must specify a \\?"field|Error parsing value at position|Nested struct types',
        "opens records one field at a time, and only those of plain numbers"),
    Gap(TENSORSTORE, (2, 3), r"^(string|bytes) / |" + OBJECTS,
        "Unsupported zarr dtype|is not one of the supported data types",
        "knows nothing of variable length"),
    Gap(TENSORSTORE, (3,), ARROW, "Expected string, array, or object with 'name'", NO_ARROW),
    # -- zarrs
    Gap(ZARRS, (2,), SMALL, "is not supported", "knows the small types in format 3 only"),
    Gap(ZARRS, (3,), r"^float8_e4m3fn / ", "is not supported",
        "knows the registered types only, and this is none"),
    Gap(ZARRS, (2,), r"^(complex\d+|fixed_length_utf32|r24).* / none", "invalid fill value.* null",
        "does not open this type without a fill value", ("read",), partial=True),
    Gap(ZARRS, (2, 3), r"^null_terminated_bytes", "is not supported", "does not know this type"),
    Gap(ZARRS, (2,), TIMES, "is not supported", "knows dates and durations in format 3 only"),
    Gap(ZARRS, (2, 3), RECORDS, "is not supported|did not match any variant",
        "knows no records"),
    Gap(ZARRS, (2,), r"^bytes / ", "UnicodeDecodeError", "takes all objects of format 2 for text"),
    Gap(ZARRS, (2,), OBJECTS, "is not supported|unsupported Zarr V2 array|invalid fill value",
        "knows no objects but text"),
    Gap(ZARRS, (3,), ARROW,
        "Expected metadata|Unsupported data type bytes|did not match any|is not supported",
        NO_ARROW),
    # -- zarrita.js
    Gap(ZARRITA, (2, 3), r"^float16", "Unknown or unsupported dataType: float16",
        "needs Node.js 24 or newer for half precision", before=("node", 24)),
    Gap(ZARRITA, (2, 3), r"^u?int64.* / (greatest|2\^53\+1)", DIFFERS,
        "rounds fill values beyond 2⁵³", ("read",), partial=True),
    Gap(ZARRITA, (3,), r"^u?int64.* / (greatest|2\^53\+1|least)",
        f"does not fit the data type|{DIFFERS}",
        "rounds fill values beyond 2⁵³", ("write",), partial=True),
    Gap(ZARRITA, (3,), r"^float(32|64).* / -0\.0", DIFFERS,
        "stores the fill value −0.0 as 0.0", ("write",), partial=True),
    Gap(ZARRITA, (3,), r"^float(32|64).* / NaN with payload", DIFFERS,
        "reads a fill value that is a NaN with a payload as a number", ("read",), partial=True),
    Gap(ZARRITA, (2, 3), rf"^complex\d|{SMALL}|{PAIRS}|^r24",
        "Unknown or unsupported dataType|Invalid dtype|Unsupported or unknown dtype",
        "knows neither complex nor small numbers, nor raw bytes"),
    Gap(ZARRITA, (3,), f"^fixed_length_utf32|^null_terminated_bytes|{TIMES}|{RECORDS}",
        "dataType.match is not a function", "knows no data type with a configuration"),
    Gap(ZARRITA, (2,), r"^fixed_length_utf32", "differs in items: 'xy', expected 'x",
        "leaves NUL characters out of text", ("read",), partial=True),
    Gap(ZARRITA, (2,), r"^null_terminated_bytes", "differs in items",
        "takes bytes for UTF-8 text", ("read",), partial=True),
    Gap(ZARRITA, (2,), f"{TIMES}|{RECORDS}", "Unsupported or unknown dtype|dtype.match is not a",
        "knows neither dates and durations nor records"),
    Gap(ZARRITA, (2, 3), r"^bytes / ", "Unknown codec|Unknown or unsupported dataType",
        "does not know this type"),
    Gap(ZARRITA, (3,), r"^string", "Unsupported: vlen-utf8 encode",
        "cannot write text", ("write",)),
    Gap(ZARRITA, (2,), r"^objects \(json2\)", "differs in items",
        "has the numbers of JavaScript only, and arrays of one dimension", ("read",), partial=True),
    Gap(ZARRITA, (3,), ARROW, "dataType.match is not a function", NO_ARROW),
    Gap(ZARRITA, (2,), OBJECTS, "Unknown codec", "knows no other codec of objects than json2"),
)  # fmt: skip


def gap_of(
    peer: str, action: str, name: str, zarr_format: Format, versions: dict[str, str]
) -> Gap | None:
    """The first gap that a case falls into; a peer of unknown versions has all of them."""
    for gap in GAPS:
        if gap.peer != peer or zarr_format not in gap.formats or action not in gap.actions:
            continue
        if gap.before is not None and gap.before[0] in versions:
            package, major = gap.before
            if int(versions[package].split(".")[0]) >= major:
                continue
        if re.search(gap.cases, name):
            return gap
    return None
