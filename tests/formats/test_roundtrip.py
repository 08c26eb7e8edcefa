"""Whatever a format can create comes back from its documents, fact by fact and bit for bit."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from omnizarr.formats import get_format
from omnizarr.formats.base import DEFAULT, ArrayRequest, Format
from omnizarr.model.array import ArrayModel, GroupModel
from omnizarr.model.codec import CodecSpec
from omnizarr.model.dtypes import from_numpy

names = st.text(st.characters(codec="utf-8"), min_size=1, max_size=4)
attributes = st.dictionaries(
    names, st.none() | st.integers() | st.floats(allow_nan=False) | st.text() | st.lists(st.text())
)
simple = st.one_of(
    npst.boolean_dtypes(),
    npst.integer_dtypes(endianness="?"),
    npst.unsigned_integer_dtypes(endianness="?"),
    npst.floating_dtypes(sizes=(16, 32, 64), endianness="?"),
    npst.complex_number_dtypes(sizes=(64, 128), endianness="?"),
    npst.datetime64_dtypes(endianness="?"),
    npst.timedelta64_dtypes(endianness="?"),
    npst.byte_string_dtypes(min_len=1),
    npst.unicode_string_dtypes(min_len=1, endianness="?"),
    st.integers(1, 20).map(lambda size: np.dtype(f"V{size}")),
)
plain_records = st.lists(simple, min_size=1, max_size=3).map(
    lambda fields: np.dtype([(f"f{i}", field) for i, field in enumerate(fields)])
)
records = st.builds(
    lambda fields, align: np.dtype(
        [(f"f{i}", dtype, shape) for i, (dtype, shape) in enumerate(fields)], align=align
    ),
    st.lists(
        st.tuples(simple | plain_records, st.sampled_from([(), (2,), (2, 1)])),
        min_size=1,
        max_size=3,
    ),
    st.booleans(),
)
compressors: Any = st.sampled_from(
    [
        "auto",
        None,
        [],
        [CodecSpec("numcodecs.zlib", {"level": 1})],
        [CodecSpec("gzip", {"level": 5})],
        [CodecSpec("numcodecs.blosc", {"cname": "lz4", "clevel": 5, "shuffle": 1})],
        [CodecSpec("zstd", {"level": 1, "checksum": False}), CodecSpec("crc32c", {})],
    ]
)


@st.composite
def requests(draw: st.DrawFn, two: bool) -> ArrayRequest:
    shape = tuple(draw(st.lists(st.integers(0, 2**62), max_size=4)))
    chunks = tuple(draw(st.integers(1, 2**20)) for _ in shape)
    fixed = simple | (records if two else plain_records)
    data_type = from_numpy(draw(fixed | st.sampled_from([str, bytes])))
    extra: dict[str, Any] = {}
    if not data_type.variable and draw(st.booleans()):
        size = data_type.numpy.itemsize
        bits = draw(st.binary(min_size=size, max_size=size))
        if data_type.numpy.kind not in "UbV":
            value = np.frombuffer(bits, data_type.numpy)[0]
            if two and data_type.numpy.kind in "fc" and np.isnan(value):
                value = data_type.numpy.type(np.nan)  # format 2 has no other
            extra["fill_value"] = value
    if two and draw(st.booleans()):
        extra["fill_value"] = None
    if not two:
        extra["key_encoding"] = draw(st.sampled_from([None, "default", "v2"]))
        if draw(st.booleans()):
            extra["shards"] = tuple(chunk * draw(st.integers(1, 4)) for chunk in chunks)
    if draw(st.booleans()):
        extra["dimension_names"] = tuple(draw(names if two else names | st.none()) for _ in shape)
    return ArrayRequest(
        shape=shape,
        data_type=data_type,
        chunks=chunks,
        compressors=draw(compressors),
        order=draw(st.sampled_from(["C", "F"])),
        separator=draw(st.sampled_from([None, ".", "/"])),
        attributes=draw(attributes),
        **extra,
    )


def check(chosen: Format, request: ArrayRequest) -> ArrayModel:
    model = chosen.new_array(request)
    documents = chosen.documents("a/b", model)
    again = chosen.parse("a/b", documents)
    assert isinstance(again, ArrayModel)
    for fact in (
        "shape",
        "data_type",
        "grid",
        "codecs",
        "dimension_names",
        "order",
        "attributes",
        "document",
    ):
        assert getattr(again, fact) == getattr(model, fact), fact
    assert (again.keys.name, again.keys.separator) == (model.keys.name, model.keys.separator)
    assert chosen.documents("a/b", again) == documents
    # The whole model can be written without its document, too.
    bare = chosen.parse("a/b", chosen.documents("a/b", replace(model, document={})))
    assert isinstance(bare, ArrayModel)
    assert (bare.codecs, bare.data_type, bare.grid) == (model.codecs, model.data_type, model.grid)
    if request.fill_value is not DEFAULT:
        assert (model.fill_value is None) == (again.fill_value is None)
    return again


def bits_of(value: Any, dtype: np.dtype[Any]) -> bytes:
    return np.array(value, dtype=dtype).tobytes()


@pytest.mark.slow
@given(requests(two=True))
@settings(max_examples=300)
def test_format_2(request: ArrayRequest) -> None:
    again = check(get_format(2), request)
    wanted = request.fill_value
    if wanted is not DEFAULT and wanted is not None:
        if again.dtype.kind in "fc":
            np.testing.assert_array_equal(again.fill_value, wanted)  # one NaN is like another
        else:
            assert bits_of(again.fill_value, again.dtype) == bits_of(wanted, again.dtype)


@pytest.mark.slow
@given(requests(two=False))
@settings(max_examples=300)
def test_format_3(request: ArrayRequest) -> None:
    again = check(get_format(3), request)
    if request.fill_value is not DEFAULT:
        assert bits_of(again.fill_value, again.dtype) == bits_of(request.fill_value, again.dtype)


@given(attributes, st.sampled_from([2, 3]))
def test_groups(given_attributes: dict[str, Any], name: int) -> None:
    chosen = get_format(name)
    group = chosen.parse("g", chosen.documents("g", chosen.new_group(given_attributes)))
    assert isinstance(group, GroupModel)
    assert group.attributes == given_attributes
    changed = replace(group, attributes={"only": 1})
    documents = {
        **chosen.documents("g", group),
        **chosen.documents("g", changed, attributes_only=True),
    }
    again = chosen.parse("g", documents)
    assert again is not None
    assert again.attributes == {"only": 1}
