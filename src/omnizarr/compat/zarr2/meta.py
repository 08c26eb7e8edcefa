"""zarr-python 2's `zarr.meta`: documents of format 2 as dicts, and back.

These functions are for programs that look into documents themselves. omnizarr reads and writes its
own through `omnizarr.formats`.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

import numpy as np

from omnizarr.compat.zarr2.util import json_dumps, json_loads
from omnizarr.errors import MetadataError

__all__ = [
    "ZARR_FORMAT",
    "decode_array_metadata",
    "decode_dtype",
    "decode_fill_value",
    "decode_group_metadata",
    "encode_array_metadata",
    "encode_dtype",
    "encode_fill_value",
    "encode_group_metadata",
    "json_dumps",
    "json_loads",
    "parse_metadata",
]

ZARR_FORMAT = 2
_FLOATS = {"NaN": np.nan, "Infinity": np.inf, "-Infinity": -np.inf}


def parse_metadata(s: Mapping[str, Any] | bytes | str) -> Mapping[str, Any]:
    """Give a document as a mapping.

    Parameters
    ----------
    s
        The document, or the mapping.
    """
    found: Mapping[str, Any] = s if isinstance(s, Mapping) else json_loads(s)
    return found


def decode_array_metadata(s: Mapping[str, Any] | bytes | str) -> dict[str, Any]:
    """Read a `.zarray` document.

    Parameters
    ----------
    s
        The document.

    Raises
    ------
    MetadataError
        If it is of another format, or a member is missing.
    """
    document = parse_metadata(s)
    _check_format(document)
    try:
        dtype = decode_dtype(document["dtype"])
        filters = document["filters"]
        object_codec = _object_codec(dtype, filters)
        found = {
            "zarr_format": document["zarr_format"],
            "shape": (*document["shape"], *dtype.shape),
            "chunks": tuple(document["chunks"]),
            "dtype": dtype.base,
            "compressor": document["compressor"],
            "fill_value": decode_fill_value(document["fill_value"], dtype.base, object_codec),
            "order": document["order"],
            "filters": filters,
        }
    except MetadataError:
        raise
    except (KeyError, TypeError, ValueError) as error:
        raise MetadataError(f"cannot read the metadata of an array: {error!r}") from error
    if "dimension_separator" in document:
        found["dimension_separator"] = document["dimension_separator"]
    return found


def encode_array_metadata(meta: Mapping[str, Any]) -> bytes:
    """Write a `.zarray` document.

    Parameters
    ----------
    meta
        Its members, with a NumPy dtype.
    """
    dtype = np.dtype(meta["dtype"])
    base, inner = (dtype, ()) if dtype.subdtype is None else (dtype.base, dtype.shape)
    object_codec = _object_codec(base, meta["filters"])
    document = {
        "zarr_format": ZARR_FORMAT,
        "shape": [*meta["shape"], *inner],
        "chunks": list(meta["chunks"]),
        "dtype": encode_dtype(base),
        "compressor": meta["compressor"],
        "fill_value": encode_fill_value(meta["fill_value"], base, object_codec),
        "order": meta["order"],
        "filters": meta["filters"],
    }
    if meta.get("dimension_separator"):
        document["dimension_separator"] = meta["dimension_separator"]
    return json_dumps(document)


def decode_group_metadata(s: Mapping[str, Any] | bytes | str) -> dict[str, Any]:
    """Read a `.zgroup` document.

    Parameters
    ----------
    s
        The document.
    """
    document = parse_metadata(s)
    _check_format(document)
    return {"zarr_format": document["zarr_format"]}


def encode_group_metadata(meta: Mapping[str, Any] | None = None) -> bytes:
    """Write a `.zgroup` document.

    Parameters
    ----------
    meta
        Without effect: a group has no members of its own.
    """
    return json_dumps({"zarr_format": ZARR_FORMAT})


def encode_dtype(d: np.dtype[Any]) -> Any:
    """Give a dtype as JSON.

    Parameters
    ----------
    d
        The dtype.
    """
    return d.str if d.fields is None else d.descr


def decode_dtype(d: Any) -> np.dtype[Any]:
    """Give the dtype that JSON means.

    Parameters
    ----------
    d
        A text, or a list of fields.
    """
    found: np.dtype[Any] = np.dtype(_fields(d) if isinstance(d, list) else d)
    return found


def _fields(described: Any) -> Any:
    """A list of fields with tuples in the places where NumPy wants them."""
    return [
        (name, _fields(kind) if isinstance(kind, list) else kind, *map(tuple, shape))
        for name, kind, *shape in described
    ]


def encode_fill_value(v: Any, dtype: np.dtype[Any], object_codec: Any = None) -> Any:
    """Give a fill value as JSON.

    Parameters
    ----------
    v
        The value; None stays None.
    dtype
        The type of the array.
    object_codec
        The codec of objects.
    """
    if v is None:
        return None
    if dtype.kind == "V" and dtype.hasobject:
        return base64.standard_b64encode(_required(object_codec).encode(v)).decode()
    if dtype.kind == "f":
        return next((name for name, value in _FLOATS.items() if _same(v, value)), float(v))
    if dtype.kind == "c":
        parts = np.array(v, dtype)[()]
        part = np.dtype("f8")
        return [encode_fill_value(parts.real, part), encode_fill_value(parts.imag, part)]
    if dtype.kind in "iu":
        return int(v)
    if dtype.kind == "b":
        return bool(v)
    if dtype.kind in "mM":
        return int(np.asarray(v, dtype).view("i8"))
    if dtype.kind in "SV":
        return base64.standard_b64encode(bytes(v)).decode()
    return str(v) if dtype.kind == "U" else v


def decode_fill_value(v: Any, dtype: np.dtype[Any], object_codec: Any = None) -> Any:
    """Give the fill value that JSON means.

    Parameters
    ----------
    v
        The value; None stays None.
    dtype
        The type of the array.
    object_codec
        The codec of objects.
    """
    if v is None:
        return None
    if dtype.kind == "V" and dtype.hasobject:
        decoded = _required(object_codec).decode(base64.standard_b64decode(v))
        return np.array(decoded, dtype=dtype)[()]
    if dtype.kind == "f":
        return np.array(_FLOATS.get(v, v) if isinstance(v, str) else v, dtype=dtype)[()]
    if dtype.kind == "c":
        part = np.dtype("f8")
        real, imaginary = (decode_fill_value(each, part) for each in v)
        return np.array(complex(real, imaginary), dtype=dtype)[()]
    if dtype.kind == "S":
        return np.array(base64.standard_b64decode(v), dtype=dtype)[()]
    if dtype.kind == "V":
        return np.frombuffer(base64.standard_b64decode(v), dtype=dtype)[0]
    return v if dtype.kind == "O" else np.array(v, dtype=dtype)[()]


def _same(value: Any, wanted: float) -> bool:
    return bool(value == wanted or (value != value and wanted != wanted))


def _required(object_codec: Any) -> Any:
    if object_codec is None:
        raise ValueError("missing object_codec for object array")
    return object_codec


def _object_codec(dtype: np.dtype[Any], filters: Any) -> Any:
    if not dtype.hasobject:
        return None
    if not filters:
        raise ValueError("missing object_codec for object array")
    import numcodecs

    return numcodecs.get_codec(filters[0])


def _check_format(document: Mapping[str, Any]) -> None:
    if document.get("zarr_format") != ZARR_FORMAT:
        raise MetadataError(
            f"expected zarr_format {ZARR_FORMAT}, found {document.get('zarr_format')!r}"
        )
