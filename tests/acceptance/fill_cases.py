"""Data types, their values bit by bit, and how two of them are compared.

Strategies draw any NumPy dtype that Zarr has a type for, and any bit pattern that is a value of it.
`leaves` takes an array apart into the bytes of its fields, little-endian, so that arrays which
differ in byte order, padding or memory layout alone are the same. This module knows NumPy and
ml_dtypes. It must not know the library under test.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st

Dtype = np.dtype[Any]
Values = npt.NDArray[Any]

UNITS = ("Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns", "ps", "fs", "as")
SMALL = {
    "bfloat16": 16,
    "float8_e3m4": 8,
    "float8_e4m3": 8,
    "float8_e4m3b11fnuz": 8,
    "float8_e4m3fn": 8,
    "float8_e4m3fnuz": 8,
    "float8_e5m2": 8,
    "float8_e5m2fnuz": 8,
    "float8_e8m0fnu": 8,
    "float6_e2m3fn": 6,
    "float6_e3m2fn": 6,
    "float4_e2m1fn": 4,
    "int2": 2,
    "int4": 4,
    "uint2": 2,
    "uint4": 4,
}
"""The types of `ml_dtypes` and how many bits of an element count."""

# -- types ----------------------------------------------------------------------------------------
orders = st.sampled_from("<>")
booleans = st.just(np.dtype(bool))
integers = st.builds(
    lambda order, kind, size: np.dtype(f"{order}{kind}{size}"),
    orders, st.sampled_from("iu"), st.sampled_from([1, 2, 4, 8]),
)  # fmt: skip
floats = st.builds(
    lambda order, size: np.dtype(f"{order}f{size}"), orders, st.sampled_from([2, 4, 8])
)
complexes = st.builds(
    lambda order, size: np.dtype(f"{order}c{size}"), orders, st.sampled_from([8, 16])
)
times = st.builds(
    lambda order, kind, multiple, unit: np.dtype(f"{order}{kind}8[{multiple}{unit}]"),
    orders, st.sampled_from("mM"), st.sampled_from([1, 7, 25, 2**31 - 1]), st.sampled_from(UNITS),
)  # fmt: skip
unitless = st.sampled_from([np.dtype("<m8"), np.dtype("<M8")])
text = st.builds(lambda order, length: np.dtype(f"{order}U{length}"), orders, st.integers(1, 9))
byte_strings = st.builds(lambda length: np.dtype(f"S{length}"), st.integers(1, 20))
raw = st.builds(lambda length: np.dtype(f"V{length}"), st.integers(1, 20))
small = st.sampled_from(sorted(SMALL)).map(lambda name: np.dtype(getattr(ml_dtypes, name)))
own = booleans | integers | floats | complexes | times | text | byte_strings | raw
"""NumPy's own types, without those that need ml_dtypes."""


@st.composite
def records(draw: st.DrawFn, members: st.SearchStrategy[Dtype]) -> Dtype:
    """Records of such members: packed, aligned, or with gaps; some members are sub-arrays."""
    names = draw(st.lists(st.text("abcxyzé µ0", min_size=1, max_size=4), min_size=1, max_size=4,
                          unique=True))  # fmt: skip
    formats: list[Any] = []
    for _ in names:
        member = draw(members)
        shape = draw(st.sampled_from([(), (), (), (2,), (2, 2), (1,)]))
        formats.append((member, shape) if shape else member)
    layout: dict[str, Any] = {"names": names, "formats": formats}
    kind = draw(st.sampled_from(["packed", "packed", "aligned", "gaps"]))
    if kind == "gaps":
        end, offsets = 0, []
        for member in formats:
            end += draw(st.integers(0, 3))
            offsets.append(end)
            end += np.dtype(member).itemsize
        layout |= {"offsets": offsets, "itemsize": end + draw(st.integers(0, 3))}
    return np.dtype(layout, align=kind == "aligned")


flat_records = records(own | small | unitless)
nested_records = records(own | flat_records)
dtypes = own | own | small | unitless | flat_records | nested_records

# -- values ---------------------------------------------------------------------------------------
_PARTS = {2: (10, 5), 4: (23, 8), 8: (52, 11)}


@st.composite
def float_bits(draw: st.DrawFn, size: int) -> bytes:
    """Any float of this size, the strange ones more often: little-endian."""
    mantissa, exponent = _PARTS[size]
    quiet = 1 << (mantissa - 1)
    top = ((1 << exponent) - 1) << mantissa
    magnitude = draw(
        st.sampled_from([0, 1, (1 << mantissa) - 1, 1 << mantissa, top - 1, top, top | quiet])
        | st.integers(0, (1 << (mantissa + exponent)) - 1)
        | st.integers(1, (1 << mantissa) - 1).map(lambda payload: top | payload)
    )
    sign = draw(st.integers(0, 1)) << (mantissa + exponent)
    return (sign | magnitude).to_bytes(size, "little")


@st.composite
def element(draw: st.DrawFn, dtype: Dtype) -> bytes:
    """The bytes of one value of a type, in the type's own byte order; padding is 0."""
    if dtype.subdtype is not None:
        base, shape = dtype.subdtype
        return b"".join(draw(element(base)) for _ in range(int(np.prod(shape))))
    if dtype.names is not None:
        assert dtype.fields is not None
        data = bytearray(dtype.itemsize)
        for name in dtype.names:
            member, offset = dtype.fields[name][:2]
            data[offset : offset + member.itemsize] = draw(element(member))
        return bytes(data)
    size = dtype.itemsize
    if dtype.name in SMALL:
        bits = SMALL[dtype.name]
        # Bits that do not count are 0, as ml_dtypes has them in memory.
        return draw(st.integers(0, (1 << bits) - 1)).to_bytes(size, "little")
    match dtype.kind:
        case "b":
            little = bytes([draw(st.integers(0, 1))])
        case "f":
            little = draw(float_bits(size))
        case "c":
            parts = draw(float_bits(size // 2)), draw(float_bits(size // 2))
            return b"".join(_ordered(part, dtype) for part in parts)
        case "U":
            words = draw(st.text(st.characters(codec="utf-8"), max_size=size // 4))
            return words.encode("utf-32-le" if _is_little(dtype) else "utf-32-be").ljust(
                size, b"\0"
            )
        case "S" | "V":
            return draw(st.binary(max_size=size)).ljust(size, b"\0")
        case _:
            edge = 1 << (8 * size - 1)
            number = draw(
                st.sampled_from([0, 1, edge - 1, edge, edge + 1, 2 * edge - 1, (1 << 53) + 1])
                | st.integers(0, 2 * edge - 1)
            )
            little = (number % (2 * edge)).to_bytes(size, "little")
    return _ordered(little, dtype)


def _is_little(dtype: Dtype) -> bool:
    return dtype.newbyteorder("<") == dtype


def _ordered(little: bytes, dtype: Dtype) -> bytes:
    return little if _is_little(dtype) else little[::-1]


@st.composite
def arrays(draw: st.DrawFn, dtype: Dtype, length: int) -> Values:
    """A vector of values; no conversion touches their bits."""
    data = b"".join(draw(element(dtype)) for _ in range(length))
    return np.frombuffer(data, np.uint8).view(dtype) if dtype.isbuiltin == 2 else np.frombuffer(
        data, dtype
    )  # fmt: skip


# -- comparing ------------------------------------------------------------------------------------
def vector(value: Any, dtype: Dtype) -> Values:
    """One scalar as an array of a type: an exact copy where it is of that type already."""
    result = np.zeros(1, dtype)
    result[0] = value
    return result


def leaves(array: Values, path: str = "") -> Iterator[tuple[str, str, bytes]]:
    """The name, the kind and the little-endian bytes of every field, in order."""
    dtype = array.dtype
    if dtype.names is not None:
        for name in dtype.names:
            yield from leaves(array[name], f"{path}.{name}")
        return
    plain = np.ascontiguousarray(array)
    if dtype.isbuiltin == 2:
        yield path, dtype.name, plain.view(f"<u{dtype.itemsize}").tobytes()
        return
    if dtype.byteorder == ">":
        plain = plain.byteswap().view(dtype.newbyteorder("<"))
    yield path, dtype.newbyteorder("<").str, plain.tobytes()


def same(one: Values, two: Values) -> bool:
    return one.shape == two.shape and list(leaves(one)) == list(leaves(two))
