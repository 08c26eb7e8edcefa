"""Stores that other software wrote, and what they must read as.

This module knows the manifest beside the repository (`../shared/fixtures`, or the folder that
`OMNIZARR_SHARED` names), how to unpack it once, and how to compare an array with its
expectation. It must not know the library under test: it is handed arrays.

Which rows count
----------------
A row has an expectation if it names a sidecar file or if `_expected_real/INDEX.json` holds a
SHA-256 for it. All of them are read, whatever their format: nothing is left out because it is
awkward. (Rows of format `raw` are single buffers of numcodecs; `tests/codecs` reads those.) The
rows without an expectation (virtual shapes of 10^10 elements, deliberately broken metadata) are
opened, and one element is read: that works or ends in an error of ours.
"""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import json
import math
import os
import shutil
import tempfile
import zipfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

REPOSITORY = Path(__file__).resolve().parents[2]
EXPECTED_ROWS = {
    "v0": 84,
    "v1": 54,
    "v2": 1439,
    "v3": 910,
    "v3-draft": 135,
    "n5": 91,
    "nczarr": 18,
}
"""Rows with an expectation by family: the first word of their format."""
EXPECTED_SIDECARS = 2640
"""Of these, the rows whose expectation is an array; the others have a digest."""
EXPECTED_WITHOUT = 36

PATTERNS = ("bfloat16", "float8_", "float6_", "float4_", "int4", "int2")
"""Types whose sidecars hold bit patterns as unsigned integers."""


def shared() -> Path:
    return Path(os.environ.get("OMNIZARR_SHARED", REPOSITORY.parent / "shared"))


def available() -> bool:
    return (shared() / "fixtures" / "MANIFEST.tsv").is_file()


@dataclass(frozen=True)
class Row:
    """One array of the manifest that has an expectation."""

    path: str
    format: str
    dtype: str
    shape: str
    codecs: str
    sidecar: str
    how: str
    digest: str | None
    digest_shape: tuple[int, ...] | None

    @property
    def source(self) -> str:
        return self.path.split("/", 1)[0]

    @property
    def store(self) -> str:
        return self.path.partition("::")[0]

    @property
    def node(self) -> str:
        return self.path.partition("::")[2]

    @property
    def family(self) -> str:
        return self.format.split()[0]

    @property
    def stored_axes(self) -> bool:
        """Whether the expectation has the axes as N5 stores them: what TensorStore generated, and
        the example that is an array of format 3 at the same time."""
        return self.family == "n5" and self.source.startswith(("generated-tensor", "zarr-ext"))

    @property
    def pickled(self) -> bool:
        return '"pickle"' in self.codecs


@cache
def rows() -> tuple[Row, ...]:
    """Every row that has an expectation, in manifest order."""
    return tuple(row for row in all_rows() if row.sidecar or row.digest)


@cache
def all_rows() -> tuple[Row, ...]:
    """Every row that is an array in a store."""
    root = shared() / "fixtures"
    with zipfile.ZipFile(root / "_expected_real.zip") as archive:
        index = json.loads(archive.read("_expected_real/INDEX.json"))
    found = []
    with open(root / "MANIFEST.tsv", newline="", encoding="utf-8") as file:
        for line in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE):
            form = line["format"]
            if form.startswith("raw"):
                continue
            entry = index.get(line["path"])
            found.append(
                Row(
                    path=line["path"],
                    format=form,
                    dtype=line["dtype"],
                    shape=line["shape"],
                    codecs=line["codecs"],
                    sidecar=line["expected_sidecar"],
                    how=line["expected_how"],
                    digest=entry["sha256_le_c"] if entry else None,
                    digest_shape=tuple(entry["shape"]) if entry else None,
                )
            )
    return tuple(found)


def sources() -> list[str]:
    return sorted({row.source for row in rows()})


# -- unpacking ------------------------------------------------------------------------------------
@cache
def cache_root() -> Path:
    """A folder named after the manifest, so that another set of fixtures gets another one."""
    manifest = (shared() / "fixtures" / "MANIFEST.tsv").read_bytes()
    stamp = hashlib.sha256(manifest).hexdigest()[:12]
    root = REPOSITORY / ".cache" / "fixtures" / stamp
    root.mkdir(parents=True, exist_ok=True)
    (REPOSITORY / ".cache" / ".gitignore").write_text("*\n")
    return root


@cache
def unpacked(source: str) -> Path:
    """The folder above the unpacked source. Safe when several workers ask at once."""
    root = cache_root()
    target = root / source
    if not target.is_dir():
        scratch = Path(tempfile.mkdtemp(prefix=f".{source}-", dir=root))
        with zipfile.ZipFile(shared() / "fixtures" / f"{source}.zip") as archive:
            archive.extractall(scratch)
        try:
            os.rename(scratch / source, target)
        except OSError:
            if not target.is_dir():
                raise
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
    return root


def state_of(folder: Path) -> dict[str, tuple[int, int]]:
    """Size and time of every file below, to prove that reading changed nothing."""
    result = {}
    for parent, _, names in os.walk(folder):
        for name in names:
            status = os.lstat(os.path.join(parent, name))
            result[os.path.join(parent, name)] = (status.st_size, status.st_mtime_ns)
    return result


# -- expectations ---------------------------------------------------------------------------------
def expectation(row: Row) -> np.ndarray[Any, Any] | None:
    """The sidecar as an array; object dtype for JSON; None if only a digest is known.

    The data of a JSON sidecar is one flat list, or nested lists, by the tool that wrote it.
    """
    if not row.sidecar:
        return None
    data = (unpacked(row.sidecar.split("/", 1)[0]) / row.sidecar).read_bytes()
    if row.sidecar.endswith(".npy"):
        loaded: np.ndarray[Any, Any] = np.load(io.BytesIO(data), allow_pickle=False)
        # The tool that wrote the sidecars of real stores gave 0-d arrays a dimension.
        return loaded.reshape(()) if row.shape == "[]" else loaded
    document = json.loads(data)
    shape = () if row.shape == "[]" else tuple(document["shape"])
    result = np.empty(math.prod(shape), dtype=object)
    data = document["data"]
    for _ in range(len(shape) - 1 if len(data) != result.size else 0):
        data = [item for part in data for item in part]
    for number, item in enumerate(data):
        result[number] = _plain(item)
    return result.reshape(shape)


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


def difference(row: Row, actual: np.ndarray[Any, Any]) -> str | None:
    """None if `actual` is what the row must read as, else what differs."""
    if row.stored_axes:
        actual = actual.transpose()
    expected = expectation(row)
    if expected is None:
        return _digest_difference(row, actual)
    if expected.shape != actual.shape:
        return f"shape {actual.shape}, expected {expected.shape}"
    if expected.dtype.hasobject or _is_text(expected, actual):
        return _items_difference(expected, actual)
    if any(name in row.dtype for name in PATTERNS):
        return _pattern_difference(row.dtype, expected, actual)
    return _bits_difference(expected, actual)


def _is_text(expected: np.ndarray[Any, Any], actual: np.ndarray[Any, Any]) -> bool:
    """Variable-length text or bytes that the sidecar holds with a fixed length."""
    return expected.dtype.kind in "SU" and actual.dtype.kind in "OT"


def _items_difference(expected: np.ndarray[Any, Any], actual: np.ndarray[Any, Any]) -> str | None:
    found = actual.astype(object) if actual.dtype.kind == "T" else actual
    for position in np.ndindex(expected.shape):
        if not same_item(expected[position], found[position]):
            return f"at {position}: {found[position]!r}, expected {expected[position]!r}"
    return None


def same_item(expected: Any, actual: Any) -> bool:
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
        return len(expected) == len(actual) and all(map(same_item, expected, actual))
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
    if little(expected) == little(actual):
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
    one = np.frombuffer(little(expected), real)
    two = np.frombuffer(little(actual), real)
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
    one = np.frombuffer(little(expected), unsigned)
    two = np.frombuffer(little(actual), unsigned)
    bits = 4 if "int4" in name or "float4" in name else 2 if "int2" in name else 0
    if bits:
        mask = expected.dtype.type((1 << bits) - 1)
        one, two = one & mask, two & mask
    return None if np.array_equal(one, two) else f"bit patterns differ as {actual.dtype}"


def little(array: np.ndarray[Any, Any]) -> bytes:
    """Little-endian bytes in C order."""
    return array.astype(_little(array.dtype), copy=False).tobytes(order="C")


def _little(dtype: np.dtype[Any]) -> np.dtype[Any]:
    if dtype.names is None and dtype.isbuiltin == 2:  # of another library: ml_dtypes
        return dtype
    return dtype.newbyteorder("<")


def _digest_difference(row: Row, actual: np.ndarray[Any, Any]) -> str | None:
    if row.digest_shape != actual.shape:
        return f"shape {actual.shape}, expected {row.digest_shape}"
    if actual.dtype.kind in "OT":
        found = hashlib.sha256(_object_bytes(actual)).hexdigest()
    else:
        found = hashlib.sha256(little(actual)).hexdigest()
    return None if found == row.digest else f"SHA-256 {found}, expected {row.digest}"


def _object_bytes(array: np.ndarray[Any, Any]) -> bytes:
    """The index hashed object arrays as the JSON sidecar that they would have had."""
    document = {"shape": list(array.shape), "data": array.tolist()}
    return json.dumps(document, ensure_ascii=False).encode()
