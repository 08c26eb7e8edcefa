"""CF packing: what is stored, what it means, and back; NumPy is the oracle."""

from __future__ import annotations

import base64
import struct
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from omnizarr.conventions.netcdf.packing import pack, packing, unpack
from omnizarr.errors import MetadataError

I2 = np.dtype("i2")


@given(
    st.sampled_from(["i1", "u1", "i2", ">i2", "u2", "i4"]),
    st.floats(1e-3, 1e3),
    st.floats(-1e3, 1e3),
    st.data(),
)
def test_packed_values_come_back(kind: str, scale: float, offset: float, data: Any) -> None:
    dtype = np.dtype(kind)
    info = np.iinfo(dtype)
    fill = int(info.max)
    # Beyond 53 bits of a double the product cannot be turned back.
    limit = min(int(info.max) - 1, 1 << 24)
    stored = data.draw(
        hnp.arrays(dtype, (7,), elements=st.integers(max(int(info.min), -limit), limit))
    )
    stored[2] = fill
    how = packing({"scale_factor": scale, "add_offset": offset, "_FillValue": fill}, dtype)
    meant = unpack(stored, how)
    assert meant.dtype == np.float64 and np.isnan(meant[2])
    expected = stored.astype("f8") * scale + offset
    np.testing.assert_array_equal(meant[stored != fill], expected[stored != fill])
    np.testing.assert_array_equal(pack(meant, how, dtype), stored)
    masked = unpack(stored, how, masked=True)
    np.testing.assert_array_equal(np.ma.getmaskarray(masked), stored == fill)
    np.testing.assert_array_equal(pack(masked, how, dtype), stored)


def test_plain_values_are_not_touched() -> None:
    how = packing({"units": "m"}, I2)
    assert how.is_plain
    values = np.array([1, 2], I2)
    np.testing.assert_array_equal(unpack(values, how), values)
    assert unpack(values, how).dtype == I2
    assert pack(np.array([1, 2]), how, I2).dtype == I2


@pytest.mark.parametrize(
    ("kind", "attributes", "expected"),
    [
        ("i1", {"scale_factor": np.float32(0.5)}, "f4"),
        ("i2", {"scale_factor": np.float32(0.5)}, "f4"),
        ("i4", {"scale_factor": np.float32(0.5)}, "f8"),
        ("f4", {"scale_factor": np.float32(0.5)}, "f4"),
        ("i2", {"scale_factor": 0.5}, "f8"),
        ("i2", {"scale_factor": 2}, "f8"),
        ("i2", {"_FillValue": -1}, "f4"),
        ("i4", {"_FillValue": -1}, "f8"),
        ("f4", {"_FillValue": -1}, "f4"),
        ("i4", {}, "i4"),
    ],
)
def test_the_type_of_what_is_meant(kind: str, attributes: Any, expected: str) -> None:
    how = packing(attributes, np.dtype(kind))
    assert how.unpacked == np.dtype(expected)
    assert unpack(np.zeros(2, kind), how).dtype == np.dtype(expected)


def test_what_is_missing() -> None:
    values = np.array([-9, -8, 0, 5, 10, 11], I2)

    def gaps(**attributes: Any) -> list[bool]:
        return np.isnan(unpack(values, packing(attributes, I2))).tolist()

    assert gaps(_FillValue=-9) == [True, False, False, False, False, False]
    assert gaps(missing_value=[-9, -8]) == [True, True, False, False, False, False]
    assert gaps(valid_min=0, valid_max=10) == [True, True, False, False, False, True]
    assert gaps(valid_range=[0, 10], _FillValue=5) == [True, True, False, True, False, True]
    assert not any(gaps(_FillValue=1.5, missing_value=1 << 40))  # no element can be that


def test_a_float_fill_value_in_every_spelling() -> None:
    values = np.array([1, np.nan, -999.9], "f4")
    encoded = base64.standard_b64encode(struct.pack("<d", float(np.float32(-999.9)))).decode()
    for spelling in (-999.9, float(np.float32(-999.9)), encoded, np.float32(-999.9)):
        found = unpack(values, packing({"_FillValue": spelling}, values.dtype))
        assert np.isnan(found).tolist() == [False, True, True]
    for spelling in ("NaN", np.nan):
        how = packing({"_FillValue": spelling}, values.dtype)
        assert np.isnan(how.missing[0])
        assert np.ma.getmaskarray(unpack(values, how, masked=True)).tolist() == [False, True, False]


def test_unsigned() -> None:
    stored = np.array([-1, 1], "i1")
    how = packing({"_Unsigned": "true", "_FillValue": -2}, stored.dtype)
    np.testing.assert_array_equal(unpack(stored, how, masked=True), [255, 1])
    np.testing.assert_array_equal(pack(np.array([255, 1]), how, stored.dtype), stored)
    assert np.isnan(unpack(np.array([-2], "i1"), how)).all()
    how = packing({"_Unsigned": "false"}, np.dtype("u1"))
    np.testing.assert_array_equal(unpack(np.array([255], "u1"), how), [-1])


@pytest.mark.parametrize("dtype", ["i2", "u1", "f4"])
def test_a_value_that_would_be_missing_is_refused(dtype: str) -> None:
    how = packing({"scale_factor": 0.5, "_FillValue": 7}, np.dtype(dtype))
    with pytest.raises(MetadataError, match=r"3\.5 would be stored as 7.*, which marks missing"):
        pack(np.array([[1.0, 3.5]]), how, np.dtype(dtype))
    meant = np.ma.array([1.0, 3.5, 4.0], mask=[False, True, False])
    assert pack(meant, how, np.dtype(dtype)).tolist() == [2, 7, 8]
    assert pack(np.array([1.0, np.nan]), how, np.dtype(dtype)).tolist() == [2, 7]
    with pytest.raises(MetadataError, match="marks missing"):
        pack(np.array(3.5), how, np.dtype(dtype))
    plain = packing({"_FillValue": 7}, np.dtype(dtype))  # there the caller writes what is stored
    assert pack(np.array([7]), plain, np.dtype(dtype)).tolist() == [7]


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(MetadataError, match="does not fit"):
        pack(np.array([1e6]), packing({}, I2), I2)
    with pytest.raises(MetadataError, match="does not fit"):
        pack(np.array([2.0**63]), packing({}, np.dtype("i8")), np.dtype("i8"))
    with pytest.raises(MetadataError, match="no _FillValue"):
        pack(np.array([np.nan]), packing({"scale_factor": 2.0}, I2), I2)
    with pytest.raises(
        MetadataError, match=r"the value 1e\+300 does not fit the stored type float32"
    ):
        pack(np.array([1e300, np.inf]), packing({}, np.dtype("f4")), np.dtype("f4"))
    assert pack(np.array([np.nan]), packing({}, np.dtype("f4")), np.dtype("f4"))[0] != 0
    assert pack(np.array([1.6]), packing({}, I2), I2)[0] == 2


@pytest.mark.parametrize(
    "values",
    [np.array(["2000-01-01"], "M8[D]"), np.array([5], "m8[s]"), ["7"], [1j], [None], [b"7"]],
    ids=repr,
)
def test_what_is_no_number_is_refused(values: Any) -> None:
    for attributes in ({}, {"scale_factor": 2.0}):
        with pytest.raises(MetadataError, match="are no numbers"):
            pack(np.ma.asanyarray(values), packing(attributes, I2), I2)


def test_numbers_that_are_objects_are_packed() -> None:
    how = packing({"scale_factor": 2.0}, I2)
    assert pack(np.array([4, 6.0], object), how, I2).tolist() == [2, 3]


HOSTILE = [
    None, True, "x", "", [], {}, [[1]], {"a": 1}, ["a"], [None], 1e400, float("nan"), 10**400,
    -(10**400), [1, 2, 3], "AAAAAAAAAA==", "=" * 12, "1e999",
]  # fmt: skip


@pytest.mark.parametrize("kind", ["i1", "u8", "f4", "S3", "c8", "M8[s]"])
@pytest.mark.parametrize("value", HOSTILE, ids=repr)
def test_hostile_attributes(kind: str, value: Any) -> None:
    dtype = np.dtype(kind)
    for name in (
        "scale_factor", "add_offset", "_FillValue", "missing_value", "valid_min", "valid_range",
        "_Unsigned",
    ):  # fmt: skip
        try:
            how = packing({name: value}, dtype)
        except MetadataError as error:
            assert name in str(error)
            continue
        with np.errstate(all="ignore"):
            unpack(np.zeros(2, dtype), how)
