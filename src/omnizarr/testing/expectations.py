"""What a stored array must read as, and how to compare what was read with it.

This module knows a row of a table of arrays, the expectation beside it (a `.npy` file, a JSON
document or a digest), and the comparison bit by bit. It must not know the library under test: it is
handed arrays.
"""

from __future__ import annotations

import base64
import hashlib
import io
import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

PATTERNS = ("bfloat16", "float8_", "float6_", "float4_", "int4", "int2")
"""Types whose expectations hold bit patterns as unsigned integers."""


@dataclass(frozen=True)
class Row:
    """One stored array and where its expectation is.

    Attributes
    ----------
    path
        ``source/store`` or ``source/store::node``; the source is the name of an archive.
    format, dtype, shape, codecs
        What the metadata says, as text.
    sidecar
        File with the expected values, below the same folder as `path`; empty if there is none.
    how
        How the expectation was obtained.
    digest, digest_shape
        SHA-256 of the little-endian bytes in C order, where there is no sidecar.
    fault
        Why no reader can get the expected values out of this store; empty for sound stores.
    """

    path: str
    format: str
    dtype: str
    shape: str
    codecs: str
    sidecar: str
    how: str
    digest: str | None = None
    digest_shape: tuple[int, ...] | None = None
    fault: str = ""

    @property
    def source(self) -> str:
        """Name of the archive: the software that wrote the store."""
        return self.path.split("/", 1)[0]

    @property
    def store(self) -> str:
        """Path of the store below the unpacked archives."""
        return self.path.partition("::")[0]

    @property
    def node(self) -> str:
        """Path of the array inside the store."""
        return self.path.partition("::")[2]

    @property
    def family(self) -> str:
        """First word of the format: v0, v1, v2, v3, v3-draft, n5 or nczarr."""
        return self.format.split()[0]

    @property
    def stored_axes(self) -> bool:
        """Whether the expectation has the axes in the order in which N5 stores them.

        So it is for what TensorStore wrote, and for the example of the extensions that is an array
        of format 3 at the same time.
        """
        return self.family == "n5" and self.source.startswith(("tensorstore-", "zarr-ext"))

    @property
    def pickled(self) -> bool:
        """Whether the chunks hold pickles, which a reader must refuse unless the caller opts in."""
        return '"pickle"' in self.codecs


def expectation(row: Row, top: Path) -> np.ndarray[Any, Any] | None:
    """Load the expected values.

    Parameters
    ----------
    row
        The array.
    top
        Folder into which the archive was unpacked.

    Returns
    -------
    numpy.ndarray or None
        Object dtype for JSON; None if only a digest is known.
    """
    if not row.sidecar:
        return None
    data = (top / row.sidecar).read_bytes()
    if row.sidecar.endswith(".npy"):
        loaded: np.ndarray[Any, Any] = np.load(io.BytesIO(data), allow_pickle=False)
        # The tool that wrote the sidecars of real stores gave 0-d arrays a dimension.
        return loaded.reshape(()) if row.shape == "[]" else loaded
    document = json.loads(data)
    shape = () if row.shape == "[]" else tuple(document["shape"])
    result = np.empty(math.prod(shape), dtype=object)
    items = document["data"]
    # One flat list, or nested lists, by the tool that wrote it.
    for _ in range(len(shape) - 1 if len(items) != result.size else 0):
        items = [item for part in items for item in part]
    for number, item in enumerate(items):
        result[number] = _plain(item)
    return result.reshape(shape)


def difference(row: Row, actual: np.ndarray[Any, Any], top: Path) -> str | None:
    """Compare an array with the expectation, bit by bit; NaN equals NaN.

    Parameters
    ----------
    row
        The array.
    actual
        What was read, with the axes in NumPy's order.
    top
        Folder into which the archive was unpacked.

    Returns
    -------
    str or None
        What differs; None if nothing does.
    """
    if row.stored_axes:
        actual = actual.transpose()
    expected = expectation(row, top)
    if expected is None:
        return _digest_difference(row, actual)
    if expected.shape != actual.shape:
        return f"shape {actual.shape}, expected {expected.shape}"
    if expected.dtype.hasobject or _is_text(expected, actual):
        return _items_difference(expected, actual)
    if any(name in row.dtype for name in PATTERNS):
        return _pattern_difference(row.dtype, expected, actual)
    return _bits_difference(expected, actual)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        if set(value) == {"__bytes_b64__"}:
            return base64.b64decode(value["__bytes_b64__"])
        if set(value) == {"__complex__"}:
            return complex(*map(float, value["__complex__"]))
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return value


def _is_text(expected: np.ndarray[Any, Any], actual: np.ndarray[Any, Any]) -> bool:
    """Variable-length text or bytes that the sidecar holds with a fixed length."""
    return expected.dtype.kind in "SU" and actual.dtype.kind in "OT"


def _items_difference(expected: np.ndarray[Any, Any], actual: np.ndarray[Any, Any]) -> str | None:
    found = actual.astype(object) if actual.dtype.kind == "T" else actual
    for position in np.ndindex(expected.shape):
        if not _same_item(expected[position], found[position]):
            return f"at {position}: {found[position]!r}, expected {expected[position]!r}"
    return None


def _same_item(expected: Any, actual: Any) -> bool:
    """Whether two items are the same value; a fixed |S128 counts as the text it holds."""
    if isinstance(actual, np.ndarray | np.void):
        actual = actual.tolist()
    if isinstance(actual, np.generic):
        actual = actual.item()
    if isinstance(expected, np.generic):
        expected = expected.item()
    if isinstance(expected, str) and isinstance(actual, bytes):
        return expected.encode() == actual
    if isinstance(expected, list | tuple) and isinstance(actual, list | tuple):
        return len(expected) == len(actual) and all(map(_same_item, expected, actual))
    if isinstance(expected, float) and isinstance(actual, float):
        return expected == actual or (math.isnan(expected) and math.isnan(actual))
    return type(expected) is type(actual) and bool(expected == actual)


def _bits_difference(expected: np.ndarray[Any, Any], actual: np.ndarray[Any, Any]) -> str | None:
    if expected.dtype.names is not None:
        if actual.dtype.names != expected.dtype.names:
            return f"fields {actual.dtype.names}, expected {expected.dtype.names}"
        for name in expected.dtype.names:
            inner = _bits_difference(expected[name], actual[name])
            if inner:
                return f"field {name!r}: {inner}"
        return None
    if (expected.dtype.kind, expected.dtype.itemsize) != (actual.dtype.kind, actual.dtype.itemsize):
        return f"dtype {actual.dtype}, expected {expected.dtype}"
    if expected.dtype.kind in "mM" and expected.dtype.str[1:] != actual.dtype.str[1:]:
        return f"dtype {actual.dtype}, expected {expected.dtype}"
    if _bytes(expected) == _bytes(actual):
        return None
    if expected.dtype.kind in "fc" and _same_but_nan(expected, actual):
        return None
    wrong = np.argwhere(np.asarray(expected != actual))
    where = tuple(wrong[0].tolist()) if wrong.size else ()
    return (
        f"{len(wrong)} of {expected.size} elements differ, first at {where}: "
        f"{actual[where]!r}, expected {expected[where]!r}"
    )


def _same_but_nan(expected: np.ndarray[Any, Any], actual: np.ndarray[Any, Any]) -> bool:
    """Equal bits wherever neither is NaN (so -0.0 and 0.0 stay apart)."""
    real = np.dtype(expected.dtype.newbyteorder("<")).type(0).real.dtype.newbyteorder("<")
    one = np.frombuffer(_bytes(expected), real)
    two = np.frombuffer(_bytes(actual), real)
    nans = np.isnan(one)
    if not np.array_equal(nans, np.isnan(two)):
        return False
    return one[~nans].tobytes() == two[~nans].tobytes()


def _pattern_difference(
    name: str, expected: np.ndarray[Any, Any], actual: np.ndarray[Any, Any]
) -> str | None:
    if actual.dtype.itemsize != expected.dtype.itemsize:
        return f"dtype {actual.dtype}, expected patterns of {expected.dtype.itemsize} bytes"
    unsigned = expected.dtype.newbyteorder("<")
    one = np.frombuffer(_bytes(expected), unsigned)
    two = np.frombuffer(_bytes(actual), unsigned)
    bits = 4 if "int4" in name or "float4" in name else 2 if "int2" in name else 0
    if bits:
        mask = expected.dtype.type((1 << bits) - 1)
        one, two = one & mask, two & mask
    return None if np.array_equal(one, two) else f"bit patterns differ as {actual.dtype}"


def _bytes(array: np.ndarray[Any, Any]) -> bytes:
    """Little-endian bytes in C order."""
    return array.astype(_little_endian(array.dtype), copy=False).tobytes(order="C")


def _little_endian(dtype: np.dtype[Any]) -> np.dtype[Any]:
    if dtype.names is None and dtype.isbuiltin == 2:  # of another library: ml_dtypes
        return dtype
    return dtype.newbyteorder("<")


def _digest_difference(row: Row, actual: np.ndarray[Any, Any]) -> str | None:
    if row.digest_shape != actual.shape:
        return f"shape {actual.shape}, expected {row.digest_shape}"
    if actual.dtype.kind in "OT":
        found = hashlib.sha256(_object_bytes(actual)).hexdigest()
    else:
        found = hashlib.sha256(_bytes(actual)).hexdigest()
    return None if found == row.digest else f"SHA-256 {found}, expected {row.digest}"


def _object_bytes(array: np.ndarray[Any, Any]) -> bytes:
    """The index hashed object arrays as the JSON sidecar that they would have had."""
    document = {"shape": list(array.shape), "data": array.tolist()}
    return json.dumps(document, ensure_ascii=False).encode()
