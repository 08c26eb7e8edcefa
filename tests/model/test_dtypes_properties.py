"""All data types at once: what metadata say of a type and of an element comes back as it was."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import omnizarr
from omnizarr.errors import MetadataError
from omnizarr.model import json as strict
from omnizarr.model.dtypes import DataType, from_json, from_numpy
from omnizarr.model.dtypes.numeric import width
from omnizarr.model.dtypes.pairs import NAMES as PAIRS
from omnizarr.model.dtypes.small import NAMES as SMALL
from omnizarr.model.dtypes.time import UNITS

CORE = ["bool", "float16", "float32", "float64", "complex64", "complex128"] + [
    f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)
]


def configured(name: str, **options: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.fixed_dictionaries(
        {"name": st.just(name), "configuration": st.fixed_dictionaries(options)}
    )


times = st.one_of(
    configured(name, unit=st.sampled_from(UNITS[:-1]), scale_factor=st.integers(1, 2**31 - 1))
    | st.just({"name": name, "configuration": {"unit": "generic", "scale_factor": 1}})
    for name in ("numpy.datetime64", "numpy.timedelta64")
)
fixed = st.one_of(
    st.sampled_from([*CORE, *sorted(SMALL), *sorted(PAIRS)]),
    st.integers(1, 20).map(lambda n: f"r{8 * n}"),
    configured("null_terminated_bytes", length_bytes=st.integers(1, 9)),
    configured("fixed_length_utf32", length_bytes=st.integers(1, 5).map(lambda n: 4 * n)),
    times,
)
names = st.lists(st.text(min_size=1, max_size=6), min_size=1, max_size=3, unique=True)


def record(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    def of(fields: list[str]) -> st.SearchStrategy[Any]:
        described = [
            st.fixed_dictionaries({"name": st.just(name), "data_type": inner}) for name in fields
        ]
        return st.tuples(*described).map(
            lambda found: {"name": "struct", "configuration": {"fields": list(found)}}
        )

    return names.flatmap(of)


types = st.recursive(fixed, record, max_leaves=5)
anything = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(-(2**70), 2**70)
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(["NaN", "Infinity", "-Infinity", "NaT", "0x", "0x7ff8", "0xzz", "AQI="])
    | st.sampled_from([10**400, -0.0, 1e308, "\ud800", "0x" + "f" * 16, "a\0b"]),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from("abc") | st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=6,
)


def stored_type(member: Any) -> DataType:
    """The type, unless two field names are the same to NumPy."""
    try:
        return from_json(member)
    except MetadataError as error:
        assume("no record has these fields" not in str(error))
        raise


def leaves(dtype: np.dtype[Any]) -> list[tuple[int, np.dtype[Any]]]:
    """Offsets of the numbers and texts in an element."""
    if dtype.names is None:
        return [(0, dtype)]
    assert dtype.fields is not None
    return [
        (offset + inner, leaf)
        for field, offset in (dtype.fields[name][:2] for name in dtype.names)
        for inner, leaf in leaves(field)
    ]


def element(dtype: np.dtype[Any], data: st.DataObject) -> Any:
    """An element with any bits that its type can have."""
    bits = bytearray(data.draw(st.binary(min_size=dtype.itemsize, max_size=dtype.itemsize)))
    for offset, leaf in leaves(dtype):
        size = leaf.itemsize
        if leaf.kind == "b":
            bits[offset] &= 1
        elif leaf.kind == "U":
            text = data.draw(st.text(max_size=size // 4)).rstrip("\0")
            bits[offset : offset + size] = np.array(text, leaf).tobytes()
        elif leaf.isbuiltin == 2 and width(leaf) < 8:
            bits[offset] &= (1 << width(leaf)) - 1
    return np.frombuffer(bytes(bits), dtype)[0]


def bits_of(scalar: Any, data_type: DataType) -> bytes:
    return np.array(scalar, data_type.numpy).tobytes()


def through_text(value: Any) -> Any:
    """A value as it is after a document was written and read."""
    text = strict.dumps(value)
    assert json.loads(text, parse_constant=refuse) is not refuse
    return strict.loads(text)


def refuse(token: str) -> Any:
    raise AssertionError(f"a bare {token} is no JSON")


@given(types)
def test_types_come_back(member: Any) -> None:
    data_type = stored_type(member)
    again = from_json(through_text(data_type.json))
    assert again == data_type == data_type.native
    assert hash(again) == hash(data_type)
    assert again.numpy == data_type.numpy
    assert not data_type.variable
    assert str(data_type)


@given(types, st.data())
def test_fill_values_come_back_bit_for_bit(member: Any, data: st.DataObject) -> None:
    data_type = stored_type(member)
    scalar = element(data_type.numpy, data)
    stored = through_text(data_type.fill_to_json(scalar))
    again = data_type.fill_from_json(stored)
    assert bits_of(again, data_type) == bits_of(scalar, data_type)
    assert repr(data_type.fill_to_json(again)) == repr(data_type.fill_to_json(scalar))
    assert bits_of(data_type.scalar(scalar), data_type) == bits_of(scalar, data_type)
    assert bits_of(data_type.scalar(np.array(scalar, data_type.numpy)), data_type) == bits_of(
        scalar, data_type
    )


@given(types)
def test_the_zero_of_a_type_is_a_fill_value(member: Any) -> None:
    data_type = stored_type(member)
    zero = data_type.fill_from_json(through_text(data_type.fill_to_json(data_type.zero)))
    assert bits_of(zero, data_type) == bytes(data_type.numpy.itemsize)


@given(types, st.sampled_from("<>"), st.data())
def test_byte_orders(member: Any, order: Any, data: st.DataObject) -> None:
    """A type in the other order has the same name, and the same fill values."""
    data_type = stored_type(member)
    told = from_numpy(data_type.numpy)
    assume(not any(leaf.isbuiltin == 2 for _, leaf in leaves(told.numpy)))
    swapped = from_numpy(told.numpy.newbyteorder(order))
    assert swapped.native == told
    assert swapped.json == told.json
    scalar = element(swapped.numpy, data)
    stored = swapped.fill_to_json(scalar)
    assert bits_of(swapped.fill_from_json(stored), swapped) == bits_of(scalar, swapped)
    assert repr(told.fill_to_json(told.fill_from_json(stored))) == repr(stored)


@given(types | st.sampled_from(["string", "bytes", "variable_length_bytes"]), anything)
def test_hostile_fill_values(member: Any, value: Any) -> None:
    """Whatever stands there is an error of ours, or a value that comes back."""
    data_type = stored_type(member)
    try:
        scalar = data_type.fill_from_json(value)
    except MetadataError as error:
        assert str(error)
        return
    again = data_type.fill_from_json(data_type.fill_to_json(scalar))
    if data_type.variable:
        assert again == scalar
    else:
        assert bits_of(again, data_type) == bits_of(scalar, data_type)


@given(
    st.sampled_from(
        (
            *("struct", "structured", "raw_bytes", "numpy.datetime64", "fixed_length_utf32"),
            *("null_terminated_bytes", "complex_bfloat16", "string", "r8", "r", "int8", ""),
        )
    )
    | st.text(max_size=5),
    st.dictionaries(
        st.sampled_from(["fields", "length_bytes", "unit", "scale_factor", "x"]),
        anything | st.lists(st.lists(anything, max_size=2), max_size=2),
        max_size=3,
    )
    | anything,
)
def test_hostile_types(name: str, configuration: Any) -> None:
    for member in (name, {"name": name, "configuration": configuration}, configuration):
        try:
            data_type = from_json(member)
        except MetadataError as error:
            assert str(error)
        else:
            assert from_json(data_type.json) == data_type


@settings(max_examples=60)
@given(types, st.data())
def test_through_a_store(member: Any, data: st.DataObject) -> None:
    """Unwritten elements have the bits of the fill value, written ones their own."""
    data_type = stored_type(member)
    fill, written = element(data_type.numpy, data), element(data_type.numpy, data)
    store = omnizarr.MemoryStore()
    endian = data.draw(st.sampled_from(["little", "big"]))
    array = omnizarr.create_array(
        store,
        shape=3,
        chunks=2,
        dtype=member,
        fill_value=fill,
        serializer={"name": "bytes", "configuration": {"endian": endian}},
    )
    array[0] = written
    again = omnizarr.open_array(store)
    assert again.data_type == data_type
    assert bits_of(again.fill_value, data_type) == bits_of(fill, data_type)
    assert again[:].tobytes() == b"".join(bits_of(one, data_type) for one in (written, fill, fill))
