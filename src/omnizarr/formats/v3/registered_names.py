"""Extension objects of final v3 and the names that are registered for them.

The registry is that of zarr-extensions in the middle of 2026; a name that is not in it may be
perfectly usable, so it is a warning, never an error.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping

from omnizarr.formats.members import EXTENSION
from omnizarr.formats.rules.base import At, Finding, constraints, unknown
from omnizarr.model.codec import Json
from omnizarr.model.json import show

NAMING, DEFINITION = "Extension naming", "Extension definition"

_NAME = re.compile(r"[a-z][a-z0-9\-_.]+\Z")
_URI = re.compile(r"[a-z][a-z0-9+.-]*:")

ENCODINGS = frozenset({"default", "v2"})
CORE_CODECS = frozenset({"bytes", "transpose", "blosc", "gzip", "crc32c", "sharding_indexed"})
CODECS = CORE_CODECS | {
    *("zstd", "vlen-utf8", "vlen-bytes", "packbits", "bitround", "zfp", "cast_value"),
    *("scale_offset", "reshape", "n5_default", "conditional"),
}
CORE_TYPES = frozenset(
    {
        *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
        *("float16", "float32", "float64", "complex64", "complex128"),
    }
)
_PARTS = (
    *("bfloat16", "float16", "float32", "float64", "float4_e2m1fn"),
    *("float6_e2m3fn", "float6_e3m2fn", "float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz"),
    *("float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu"),
)
TYPES = CORE_TYPES | {
    *("string", "bytes", "fixed_length_utf32", "struct", "numpy.datetime64", "numpy.timedelta64"),
    *("int2", "int4", "uint2", "uint4"),
    *_PARTS,
    *(f"complex_{part}" for part in _PARTS),
}


def name_of(value: Json) -> str | None:
    """The name of an extension, in its long or short form; None if it has none."""
    name = value.get("name") if isinstance(value, dict) else value
    return name if isinstance(name, str) and name else None


def configuration_of(value: Json) -> Mapping[str, Json]:
    """The configuration of an extension; empty if it has none."""
    found = value.get("configuration") if isinstance(value, dict) else None
    return found if isinstance(found, dict) else {}


def extension(
    at: At,
    section: str,
    where: str,
    value: Json,
    registered: Collection[str],
    *,
    essential: bool = False,
    also: str = "",
) -> Iterator[Finding]:
    """The form of an extension, and whether its name is known; `essential` ones are understood
    or the node is not opened. Names that match `also` count as registered."""
    name = name_of(value)
    if name is None:
        yield at.error(
            section, f"{where} must be a name or an object with a name, found {show(value)}"
        )
        return
    if isinstance(value, dict):
        yield from constraints(at, DEFINITION, value, EXTENSION, f"{where}: ")
        if essential and value.get("must_understand") is False:
            yield at.error(DEFINITION, f"{where}: must_understand may not be false here")
        known = {"name", *EXTENSION}
        yield from unknown(
            at, DEFINITION, value, known, f"{where}: an extension has no member {{}}"
        )
    yield from _registered(at, where, name, registered, also)


def _registered(
    at: At, where: str, name: str, registered: Collection[str], also: str
) -> Iterator[Finding]:
    if name in registered or (also and re.fullmatch(also, name)):
        return
    if _NAME.match(name) is None and _URI.match(name) is None:
        yield at.error(
            NAMING,
            f"{where}: the name {show(name)} must begin with a lower-case letter and hold only"
            " those, digits, '_', '.' and '-'",
        )
    elif _NAME.match(name) is None:
        yield at.warning(NAMING, f"{where}: the name {show(name)} is a URI, which is discouraged")
    else:
        yield at.warning(NAMING, f"{where}: the name {show(name)} is not registered")
