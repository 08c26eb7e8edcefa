"""How the drafts of v3 spell data types.

The core identifiers of document 002 are NumPy's, without "|" for single bytes: `bool`, `i1`, `<f8`.
(Its table forgets `>u2`, `>u4` and `>u8`, which every writer had.) All else is an extension,
`{"extension": URI, "type": …, "fallback": identifier}`:

* dates and durations, as in the document's own example, with 64-bit integers to fall back on;
* complex numbers, with nothing to fall back on;
* zarr-python 2 put a note instead of a URI for byte strings, text, records and objects, which say
  all in their `type`. In the earlier layouts, which it never wrote, such types are written here
  under the URI of the document that defines those type strings: NumPy's array interface.

An extension that is not among these opens as its fallback, or not at all.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import product

import numpy as np

from omnizarr.errors import MetadataError, UnknownDataTypeError, UnsupportedError
from omnizarr.formats.v2 import data_types
from omnizarr.formats.v3_drafts.layouts import Layout
from omnizarr.model.codec import Json
from omnizarr.model.dtypes import DataType, Object, Struct, from_numpy
from omnizarr.model.dtypes.small import NAMES as SMALL_NAMES
from omnizarr.model.json import show

DATETIME = "http://purl.org/zarr/spec/protocol/extensions/datetime-dtypes/1.0"
COMPLEX = "http://purl.org/zarr/spec/protocol/extensions/complex-dtypes/1.0"
NUMPY = "https://numpy.org/doc/stable/reference/arrays.interface.html"

_ZARR_PYTHON = {
    "c": "https://zarr-specs.readthedocs.io/en/core-protocol-v3.0-dev/protocol/extensions/"
    "complex-dtypes/v1.0.html",
    "M": "https://zarr-specs.readthedocs.io/en/latest/extensions/data-types/datetime/v1.0.html",
    "O": "TODO: object array protocol URL",
    "S": "TODO: bytestring array protocol URL",
    "U": "TODO: unicode array protocol URL",
    "V": "TODO: structured array protocol URL",
}
"""What zarr-python 2 stores as the extension of each kind of type. Four it never gave a URI: these
very words are in its documents."""
_ZARR_PYTHON["m"] = _ZARR_PYTHON["M"]

_EXTENSION = re.compile(
    r"https?://\S+/extensions/(?:data-types/)?(datetime|timedelta|complex)[^/\s]*(?:/[^/\s]*)?\Z"
)
_KINDS = {"datetime": "Mm", "timedelta": "Mm", "complex": "c"}

CORE: dict[str, DataType] = {
    "bool": from_numpy(np.dtype(bool)),
    "i1": from_numpy(np.dtype("i1")),
    "u1": from_numpy(np.dtype("u1")),
}
CORE.update(
    {
        name: from_numpy(np.dtype(name))
        for name in map("".join, product("<>", "iuf", ("2", "4", "8")))
    }
)
_IDENTIFIERS = {data_type: name for name, data_type in CORE.items()}


def decode(value: Json) -> DataType:
    """The type of a `data_type` member."""
    if isinstance(value, str):
        known = CORE.get(value)
        # Identifiers with "|", or of extension types without their object, mean no other thing.
        return data_types.decode(value) if known is None else known
    if not isinstance(value, dict):
        raise MetadataError(
            f"data_type must be an identifier or an extension object, found {show(value)}"
        )
    extension = value.get("extension")
    if not isinstance(extension, str):
        raise MetadataError(
            f"data_type: an extension must name itself with a URI, found {show(extension)}"
        )
    fallback = _fallback(value.get("fallback"))
    try:
        return _extended(extension, value.get("type"))
    except MetadataError as error:
        if fallback is not None:
            return fallback
        if isinstance(error, UnknownDataTypeError):
            raise
        raise error.at("data_type") from error


def _fallback(value: Json) -> DataType | None:
    if value is None:
        return None
    known = CORE.get(value) if isinstance(value, str) else None
    if known is None:
        raise MetadataError(
            f"data_type: the fallback must be a core data type such as '<i8', found {show(value)}"
        )
    return known


def _extended(extension: str, described: Json) -> DataType:
    named = _EXTENSION.match(extension)
    if named is not None:
        kinds = _KINDS[named[1]]
    elif extension == NUMPY:
        kinds = "biufcmMSUV"
    else:
        kinds = "".join(kind for kind, note in _ZARR_PYTHON.items() if note == extension)
    if not kinds:
        raise UnknownDataTypeError(
            f"the data type {show(described)} belongs to the extension {show(extension)}, which is"
            " not known here, and there is no fallback"
        )
    found = _described(described)
    if found.numpy.kind not in kinds:
        raise UnknownDataTypeError(
            f"{show(described)} is no data type of the extension {show(extension)}"
        )
    return found


def _described(described: Json) -> DataType:
    # zarr-python describes plain bytes as a record of one unnamed field.
    match described:
        case [["", str(raw)]] if raw.startswith("|V"):
            return data_types.decode(raw)
        case _:
            return data_types.decode(described)


def _foreign(described: Json) -> Iterator[str]:
    """Types in a description that NumPy knows from another package only."""
    if isinstance(described, list):
        for field in described:
            yield from _foreign(field[1])
    elif described in SMALL_NAMES:
        yield described


def encode(data_type: DataType, layout: Layout) -> Json:
    """The `data_type` member; UnsupportedError if the layout has no words for the type."""
    dtype = data_type.numpy
    identifier = _IDENTIFIERS.get(data_type)
    if identifier is not None:
        return identifier
    if data_type.variable and not layout.zarr_python:
        raise UnsupportedError(
            f"{layout.name} has no data type of variable size, and no filters that would make one;"
            " give elements a fixed size ('U12', 'S12'), or use format"
            f" {'2' if isinstance(data_type, Object | Struct) else '2 or 3'}",
            what="data_type",
        )
    try:
        described = data_types.encode(data_type)
    except UnsupportedError as error:
        raise UnsupportedError(f"{layout.name}: {error}", what="data_type") from error
    for foreign in _foreign(described):
        raise UnsupportedError(
            f"{layout.name} has no data type {foreign!r}; use format 3", what="data_type"
        )
    if layout.zarr_python:
        kind = "O" if data_type.variable and not isinstance(data_type, Struct) else dtype.kind
        return {"extension": _ZARR_PYTHON[kind], "type": described, "fallback": None}
    if dtype.kind in "mM":
        return {"extension": DATETIME, "type": described, "fallback": f"{dtype.str[0]}i8"}
    return {"extension": COMPLEX if dtype.kind == "c" else NUMPY, "type": described}
