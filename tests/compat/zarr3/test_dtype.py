"""zarr-python's classes of data types, and what omnizarr makes of them."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import omnizarr
from omnizarr.compat.zarr3 import dtype as of

SAMPLES: list[Any] = [
    np.dtype(name)
    for name in (
        "?", "i1", "u1", "<i2", ">i2", "<u4", ">i8", "f2", ">f4", "f8", "c8", ">c16", "<U3", ">U3",
        "S4", "V5", "<M8[10s]", ">m8[ns]", "M8",
    )
]  # fmt: skip
SAMPLES += [np.dtype([("a", "<i4"), ("b", [("c", ">f8")])]), np.dtypes.StringDType()]


def in_native_order(dtype: Any) -> Any:
    return dtype if dtype.kind == "T" else dtype.newbyteorder("=")


@pytest.mark.parametrize("native", SAMPLES, ids=str)
@pytest.mark.parametrize("zarr_format", [2, 3])
def test_a_data_type_survives_its_document(native: Any, zarr_format: int) -> None:
    found = of.parse_dtype(native, zarr_format=zarr_format)
    assert found.to_native_dtype() == native
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        document = found.to_json(zarr_format=zarr_format)
    again = of.data_type_registry.match_json(document, zarr_format=zarr_format)
    assert again.to_native_dtype() == (native if zarr_format == 2 else in_native_order(native))
    scalar = found.default_scalar()
    written = found.to_json_scalar(scalar, zarr_format=zarr_format)
    read = again.from_json_scalar(written, zarr_format=zarr_format)
    assert read == scalar or np.isnat(read)


@pytest.mark.parametrize("native", SAMPLES, ids=str)
def test_omnizarr_takes_a_data_type(native: Any) -> None:
    given = of.parse_dtype(native, zarr_format=3)
    array = omnizarr.create_array(shape=2, chunks=2, dtype=given)
    assert array.dtype == in_native_order(native)


def test_variable_length_bytes_are_told_from_other_objects() -> None:
    array = omnizarr.create_array(shape=1, chunks=1, dtype=of.VariableLengthBytes())
    array[0] = b"abc"
    assert array[0] == b"abc"
    with pytest.raises(ValueError, match="several data types are objects"):
        of.parse_dtype(np.dtype(object), zarr_format=3)


@pytest.mark.parametrize(
    ("data", "bits"),
    [("NaN", np.nan), ("-Infinity", -np.inf), ("0x7fc00000", np.nan), (1, 1.0), ("1.5", 1.5)],
)
def test_floats_are_read_from_json(data: Any, bits: float) -> None:
    assert of.Float32().from_json_scalar(data, zarr_format=3) == pytest.approx(bits, nan_ok=True)


def test_what_is_no_data_type_is_refused() -> None:
    with pytest.raises(ValueError, match="No Zarr data type"):
        of.data_type_registry.match_json("int7", zarr_format=3)
    with pytest.raises(ValueError, match=r"Invalid zarr_format: .* Expected 2 or 3"):
        of.Int8().to_json(zarr_format=4)
    with pytest.raises(TypeError, match="Expected an integer"):
        of.Int8().from_json_scalar("a", zarr_format=3)
    with pytest.raises(ValueError, match="length must be >= 1"):
        of.RawBytes(length=0)
