"""The matrix of round trips: values × encodings × formats × consolidated, xarray with zarr-python
beside omnizarr, both directions.

    python round_trips.py FOLDER    runs all of it and prints what differs

For every case, both write the same dataset, and both read both stores. All four must be the same:
decoded and undecoded, values, types, attributes and what the encoding says.
"""

from __future__ import annotations

import sys
import tempfile
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

import omnizarr.integrations.xarray  # noqa: F401 - registers the accessor
from omnizarr.integrations.xarray import OmnizarrBackend

ENGINES: dict[str, Any] = {"omnizarr": OmnizarrBackend, "zarr-python": "zarr"}
LENGTH = 12


def numbers(dtype: str) -> Any:
    return np.arange(LENGTH).astype(dtype)


VALUES: dict[str, Any] = {
    "bool": np.arange(LENGTH) % 2 == 0,
    **{name: numbers(name) for name in ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8")},
    "f4": numbers("f4"),
    "f8 with NaN": np.where(np.arange(LENGTH) % 3 == 0, np.nan, numbers("f8")),
    "big-endian": numbers(">f4"),
    "c8": numbers("c8") + 1j,
    "c16": numbers("c16") - 2j,
    "times": pd.date_range("2000-01-01", periods=LENGTH, freq="6h").to_numpy(),
    "durations": numbers("i8") * np.timedelta64(3_600_000_000_000, "ns"),
    "bytes": np.array([f"{i:03}".encode() for i in range(LENGTH)]),
    "text": np.array([f"ü{i}" for i in range(LENGTH)]),
    "objects": np.array(["", *(f"ü{i}" * i for i in range(1, LENGTH))], dtype=object),
    "strings": np.array([f"ü{i}" * i for i in range(LENGTH)], dtype=np.dtypes.StringDType()),
}
INTEGERS = ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8")
FLOATS = ("f4", "f8 with NaN")
GZIP = {"name": "gzip", "configuration": {"level": 3}}
BLOSC = {
    "name": "blosc",
    "configuration": {
        "cname": "lz4", "clevel": 5, "shuffle": "shuffle", "typesize": 4, "blocksize": 0,
    },
}  # fmt: skip


def encodings(name: str, zarr_format: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """What may be said of how values of this kind are stored."""
    import numcodecs

    new = zarr_format != 2
    yield "plain", {}
    yield "chunks", {"chunks": (5,)}
    yield "not compressed", {"compressors": None, "chunks": (5,)}
    yield "gzip", {"compressors": [GZIP] if new else [numcodecs.GZip(3)]}
    if new:
        yield "shards", {"chunks": (3,), "shards": (6,)}
        yield (
            "v2 keys",
            {
                "chunks": (5,),
                "chunk_key_encoding": {"name": "v2", "configuration": {"separator": "."}},
            },
        )
    if name in INTEGERS or name in FLOATS:
        yield "blosc", {"compressors": [BLOSC] if new else [numcodecs.Blosc("lz4")]}
        yield "missing value", {"_FillValue": 7}
        if new:
            yield "fill value", {"fill_value": 9, "chunks": (5,)}
        else:
            dtype = VALUES[name].dtype
            yield "delta", {"filters": [numcodecs.Delta(dtype=dtype.str)], "chunks": (5,)}
    if name in FLOATS:
        packed = {"dtype": "i2", "scale_factor": 0.5, "add_offset": 1.0, "_FillValue": -99}
        yield "packed", packed
        yield "as f4", {"dtype": "f4"}
    if name == "times":
        yield "hours", {"units": "hours since 1999-12-31", "calendar": "standard", "dtype": "i4"}
    if name == "durations":
        yield "hours", {"units": "hours", "dtype": "i4"}


@dataclass(frozen=True)
class Case:
    """One store: a variable for every kind of values that the encoding suits."""

    encoding: str
    zarr_format: int
    consolidated: bool

    def __str__(self) -> str:
        kept = "consolidated" if self.consolidated else "not consolidated"
        return f"{self.encoding}, format {self.zarr_format}, {kept}"

    @property
    def variables(self) -> dict[str, dict[str, Any]]:
        """The encoding of every kind of values."""
        found = {name: dict(encodings(name, self.zarr_format)) for name in VALUES}
        return {
            name: every[self.encoding] for name, every in found.items() if self.encoding in every
        }


def cases() -> list[Case]:
    names = {
        zarr_format: dict.fromkeys(
            name for kind in VALUES for name, _ in encodings(kind, zarr_format)
        )
        for zarr_format in (2, 3)
    }
    return [
        Case(encoding, zarr_format, consolidated)
        for zarr_format in (2, 3)
        for encoding in names[zarr_format]
        for consolidated in (True, False)
    ]


def dataset(case: Case) -> xr.Dataset:
    attributes = {"long_name": "ü", "list": [1, 2.5, "x"], "number": np.float32(1.5), "none": None}
    variables: dict[str, Any] = {}
    for name in case.variables:
        values = VALUES[name]
        variables[name] = ("x", values, attributes)
        if case.encoding == "plain":
            variables[f"{name} scalar"] = ((), values[3])
            variables[f"{name} grid"] = (("y", "x"), np.stack([values] * 2))
            variables[f"{name} empty"] = (("x", "z"), np.empty((LENGTH, 0), values.dtype))
    return xr.Dataset(
        variables,
        coords={"x": np.arange(LENGTH, dtype="i4"), "label": ("y", [10.5, 11.5])},
        attrs={"title": "matrix", "empty": [], "nested": {"a": [1]}},
    )


def differences(case: Case, folder: Path) -> list[str]:
    """What is not the same, in words; empty if all is."""
    made = dataset(case)
    writing: dict[str, Any] = {"encoding": case.variables, "zarr_format": case.zarr_format}
    writing["consolidated"] = case.consolidated
    stores = {writer: str(folder / writer) for writer in ENGINES}
    made.omnizarr.to_zarr(stores["omnizarr"], mode="w", **writing)
    made.to_zarr(stores["zarr-python"], mode="w", **writing)
    found = []
    for decode in (True, False):
        read: dict[str, xr.Dataset] = {}
        for writer, path in stores.items():
            for reader, engine in ENGINES.items():
                opened = xr.open_dataset(
                    path, engine=engine, decode_cf=decode, consolidated=case.consolidated,
                    decode_timedelta=decode or None,
                )  # fmt: skip
                with opened:
                    read[f"{writer} read by {reader}"] = opened.load()
        first, *others = read
        for other in others:
            found += [f"{other}: {why}" for why in _differ(case, read[first], read[other])]
    return found


def _differ(case: Case, a: xr.Dataset, b: xr.Dataset) -> Iterator[str]:
    try:
        xr.testing.assert_identical(a, b)
    except AssertionError as error:
        yield str(error)
    for name in a.variables:
        if name not in b.variables:
            continue
        one, two = a[name], b[name]
        if one.dtype != two.dtype:
            yield f"{name}: type {one.dtype} and {two.dtype}"
        for key in ("chunks", "shards", "dtype", "_FillValue", "fill_value", "units", "calendar"):
            left, right = one.encoding.get(key), two.encoding.get(key)
            if key == "chunks" and "chunks" not in case.variables.get(str(name), {}):
                continue  # each has its own way to choose chunks
            if not (left == right or (left != left and right != right)):
                yield f"{name}: encoding {key} {left!r} and {right!r}"


def main(folder: str) -> None:
    warnings.simplefilter("ignore")
    bad = 0
    every = cases()
    for case in every:
        with tempfile.TemporaryDirectory(dir=folder) as place:
            try:
                found = differences(case, Path(place))
            except Exception as error:
                found = [f"{type(error).__name__}: {error}"]
        bad += bool(found)
        for line in found:
            print(f"{case}: {line}")
    import zarr

    print(f"{len(every) - bad} of {len(every)} cases agree (xarray {xr.__version__},"
          f" zarr-python {zarr.__version__})")  # fmt: skip
    sys.exit(bad > 0)


if __name__ == "__main__":
    main(sys.argv[1])
