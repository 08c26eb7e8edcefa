"""JSON is read strictly and within bounds, and written as document 000 shows it."""

from __future__ import annotations

import json as stdlib
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnizarr import limits
from omnizarr.errors import MetadataError
from omnizarr.model import json

DOCUMENT_000 = """{
    "chunks": [
        10,
        10
    ],
    "compressor": {
        "id": "zlib",
        "level": 1
    },
    "dtype": "<i4",
    "fill_value": 42,
    "filters": null,
    "order": "C",
    "shape": [
        20,
        20
    ],
    "zarr_format": 2
}"""

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(values, st.sampled_from([None, 2, 4]), st.booleans())
def test_what_is_written_is_read(value: Any, indent: int | None, sort_keys: bool) -> None:
    text = json.dumps(value, indent=indent, sort_keys=sort_keys)
    assert text.isascii()
    assert repr_sorted(json.loads(text.encode())) == repr_sorted(value)


def repr_sorted(value: Any) -> str:
    """A form in which NaN equals NaN and 0.0 differs from -0.0."""
    return stdlib.dumps(value, sort_keys=True)


def test_the_text_of_document_000() -> None:
    assert json.dumps(json.loads(DOCUMENT_000.encode())) == DOCUMENT_000


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "empty"),
        (b"{", "invalid JSON"),
        (b"[1,]", "invalid JSON"),
        (b"{} x", "invalid JSON"),
        (b"{'a': 1}", "invalid JSON"),
        (b"\xff{}", "UTF-8"),
        ('{"a": 1}'.encode("utf-16"), "UTF-8"),
        (b'{"a": 1, "b": 2, "a": 3}', "'a'"),
        (b'[{"deep": {"x": 1, "x": 1}}]', "'x'"),
        (b"[" * 200_000, "deep"),
        (b"[" * 200_000 + b"]" * 200_000, "deep"),
        (b'{"a":' * 200_000 + b"1" + b"}" * 200_000, "deep"),
        (b'"' + b"[" * 200_000, "invalid JSON"),
        (b"1" * 10_000, "invalid JSON"),
    ],
)
def test_bad_documents(data: bytes, says: str) -> None:
    with pytest.raises(MetadataError, match=says) as caught:
        json.loads(data, "key 'a/zarr.json'")
    assert str(caught.value).startswith("key 'a/zarr.json': ")
    assert len(str(caught.value)) < 500


def test_depth_is_counted_outside_strings_only() -> None:
    with limits.override(max_json_depth=3):
        assert json.loads(b'[[["[[[[[[", "\\"[[[["]], "]"]') == [[["[[[[[[", '"[[[[']], "]"]
        assert json.loads(b"[[1],[2],[3],[4],[5]]") == [[1], [2], [3], [4], [5]]
        with pytest.raises(MetadataError, match="4 levels"):
            json.loads(b"[[[[1]]]]")


def test_size_is_bounded() -> None:
    with (
        limits.override(max_document_bytes=10),
        pytest.raises(MetadataError, match="max_document_bytes"),
    ):
        json.loads(b'"0123456789"')


def test_what_real_stores_hold() -> None:
    assert json.loads(b'\xef\xbb\xbf{"a": 1}') == {"a": 1}
    assert math.isnan(json.loads(b"NaN"))
    assert json.loads(b"[Infinity, -Infinity]") == [math.inf, -math.inf]
    assert json.loads(b"[9007199254740993, 18446744073709551616]") == [2**53 + 1, 2**64]
    assert json.loads(memoryview(b'"\\u00e9"')) == "é"


def test_nonfinite_numbers_are_bare_tokens() -> None:
    assert json.dumps([math.nan, math.inf, -math.inf], indent=None) == "[NaN,Infinity,-Infinity]"


def test_numpy_scalars_become_numbers() -> None:
    given_values = {
        "i": np.int64(3),
        "u": np.uint64(2**64 - 1),
        "f": np.float32(0.5),
        "b": np.True_,
        "s": np.str_("x"),
        "zero_d": np.array(7),
        "tuple": (1, 2),
        1: "number as a name",
    }
    assert json.plain(given_values) == {
        "i": 3,
        "u": 2**64 - 1,
        "f": 0.5,
        "b": True,
        "s": "x",
        "zero_d": 7,
        "tuple": [1, 2],
        "1": "number as a name",
    }
    assert {type(item) for item in json.plain(given_values).values()} == {
        int,
        float,
        bool,
        str,
        list,
    }


@pytest.mark.parametrize(
    ("value", "says"),
    [
        (np.arange(3), r"tolist"),
        ({"a": [1, {2, 3}]}, r"a\[1\]: set"),
        (b"bytes", "bytes"),
        (1j, "complex"),
        (np.datetime64("2020-01-01"), "datetime64"),
        (np.complex64(1), "complex64"),
        ({None: 1}, "name"),
        ({1.5: 1}, "name"),
        ({1: "a", "1": "b"}, "twice"),
    ],
)
def test_what_json_cannot_hold(value: Any, says: str) -> None:
    with pytest.raises(TypeError, match=says):
        json.dumps(value)


def test_a_value_inside_itself() -> None:
    loop: list[Any] = []
    loop.append(loop)
    with pytest.raises(TypeError, match="inside itself"):
        json.dumps(loop)


def test_copies_are_deep() -> None:
    before = {"a": [1, {"b": 2}]}
    after = json.copy(before)
    after["a"][1]["b"] = 3
    assert before == {"a": [1, {"b": 2}]}


def test_show_never_fails() -> None:
    assert json.show(10**5000) == "<int>"
    assert len(json.show("x" * 1000)) == 80
