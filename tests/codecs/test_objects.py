"""Text, bytes, ragged arrays and Python objects."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnizarr.errors import DecodeError, EncodeError, MetadataError
from tests.codecs.support import layouts, make

STRING = np.dtypes.StringDType()
TEXT = st.text(st.characters(codec="utf-8"), max_size=8)


def objects(items: list[Any], shape: tuple[int, ...] | None = None) -> np.ndarray:
    array = np.empty(len(items), object)
    for place, item in enumerate(items):
        array[place] = item
    return array.reshape(shape or (len(items),))


@given(st.lists(TEXT, min_size=6, max_size=6))
def test_vlen_utf8_like_numcodecs(items: list[str]) -> None:
    import numcodecs

    array = objects(items, (2, 3))
    for codec in ("vlen-utf8", {"id": "vlen-utf8"}):
        for dtype in (object, STRING):
            made = make([codec], (2, 3), dtype, "")
            for layout in layouts(array.astype(dtype)).values():
                encoded = made.encode(layout)
                assert encoded == bytes(numcodecs.VLenUTF8().encode(array))
            decoded = made.decode(encoded)
            assert decoded.dtype == dtype
            assert decoded.tolist() == array.tolist()


def test_vlen_utf8_of_fixed_text() -> None:
    made = make([{"id": "vlen-utf8"}], (3,), "<U5", "")
    array = np.array(["a", "", "éü"], "<U5")
    decoded = made.decode(made.encode(array))
    assert decoded.dtype == array.dtype
    assert decoded.tolist() == array.tolist()
    made = make([{"id": "vlen-bytes"}], (2,), "S7", b"")
    assert made.decode(made.encode(np.array([b"a", b"bc"], "S7"))).tolist() == [b"a", b"bc"]


@given(st.lists(st.binary(max_size=8), min_size=4, max_size=4))
def test_vlen_bytes_like_numcodecs(items: list[bytes]) -> None:
    import numcodecs

    array = objects(items, (2, 2))
    made = make(["vlen-bytes", "zstd"], (2, 2), object, b"")
    assert made.decode(made.encode(array.T)).tolist() == array.T.tolist()
    plain = make(["vlen-bytes"], (2, 2), object, b"")
    assert plain.encode(array) == bytes(numcodecs.VLenBytes().encode(array))


@pytest.mark.parametrize("codec", ["vlen-utf8", "vlen-bytes", {"id": "vlen-array", "dtype": "i4"}])
@pytest.mark.parametrize("item", [None, 0, float("nan"), 1.5])
def test_what_is_no_text_is_refused(codec: Any, item: Any) -> None:
    good = {"vlen-utf8": "a", "vlen-bytes": b"a"}.get(str(codec), np.zeros(1, "i4"))
    made = make([codec], (2,), object, None)
    if item in (None, 0) and isinstance(codec, dict):  # a ragged element that was never written
        empty = [] if item is None else [0]  # which numcodecs makes of the fill value 0
        assert made.decode(made.encode(objects([good, item])))[1].tolist() == empty
        return
    with pytest.raises(EncodeError, match=r"(element|item) 1|dimensions"):
        made.encode(objects([good, item]))


def test_lone_surrogates_are_refused() -> None:
    with pytest.raises(EncodeError):
        make(["vlen-utf8"], (1,), object, "").encode(objects(["\ud800"]))


@pytest.mark.parametrize("codec", ["vlen-utf8", "vlen-bytes", {"id": "vlen-array", "dtype": "u1"}])
def test_vlen_frames_are_checked(codec: Any) -> None:
    made = make([codec], (2,), object, None)
    good = b"\2\0\0\0" + b"\1\0\0\0a" + b"\2\0\0\0bc"
    assert len(made.decode(good)) == 2
    for bad in (
        b"",
        b"\2\0\0",
        b"\1\0\0\0" + good[4:],
        b"\3\0\0\0" + good[4:],
        b"\xff\xff\xff\xff",
        b"\xff\xff\xff\xff" + good[4:],
        good[:-1],
        good + b"x",
        good[:4] + b"\xff\xff\xff\xff" + good[8:],
        good[:9] + b"\xff\xff\xff\x7f" + good[13:],
        good[:9],
    ):
        with pytest.raises(DecodeError):
            made.decode(bad)


def test_bad_utf8() -> None:
    with pytest.raises(DecodeError):
        make(["vlen-utf8"], (1,), STRING, "").decode(b"\1\0\0\0\1\0\0\0\xff")


def test_vlen_array() -> None:
    import numcodecs

    items = [np.arange(3, dtype="<i4"), np.zeros(0, "<i4"), np.array([7], "<i4"), [1, 2]]
    array = objects(items, (2, 2))
    made = make([{"id": "vlen-array", "dtype": "<i4"}], (2, 2), object, None)
    encoded = made.encode(array)
    assert encoded == bytes(numcodecs.VLenArray("<i4").encode(array))
    for one, other in zip(made.decode(encoded).reshape(-1), items, strict=True):
        assert one.tolist() == list(other)
    with pytest.raises(MetadataError):
        make([{"id": "vlen-array", "dtype": "O"}], (2,), object, None)


THINGS = [1, "ä", None, [1, 2], {"a": 1.5}, float("inf")]


@pytest.mark.parametrize(
    "options",
    [
        *({"indent": indent} for indent in (10**9, -(10**30), "-" * 65, 1.5, [1])),
        *({"separators": found} for found in ([","], [1, 2], ",:", {"a": 1}, ["," * 65, ":"])),
    ],
    ids=str,
)
def test_json_whose_spacing_would_fill_memory(options: dict[str, Any]) -> None:
    with pytest.raises(MetadataError, match="64 characters"):
        make([{"id": "json2", **options}], (2,), object, None)


@pytest.mark.parametrize("indent", [None, 0, 4, -1, "\t"])
def test_json_with_an_indent_like_numcodecs(indent: Any) -> None:
    import numcodecs

    array = objects([[1, {"b": 2}], "c"])
    made = make([{"id": "json2", "indent": indent}], (2,), object, None)
    encoded = made.encode(array)
    assert encoded == numcodecs.JSON(indent=indent, separators=(",", ":")).encode(array)
    assert made.decode(encoded).tolist() == array.tolist()


@pytest.mark.parametrize("name", ["json2", "msgpack2"])
@pytest.mark.parametrize("shape", [(6,), (2, 3), (3, 2, 1)])
def test_objects(name: str, shape: tuple[int, ...]) -> None:
    import numcodecs

    made = make([{"id": name}], shape, object, None)
    array = objects(THINGS, shape)
    encoded = made.encode(array)
    assert made.decode(encoded).tolist() == array.tolist()
    if name == "json2":
        assert encoded == numcodecs.JSON().encode(array)


@pytest.mark.parametrize("name", ["json", "msgpack"])
def test_objects_before_numcodecs_0_6(name: str) -> None:
    made = make([{"id": name}], (6,), object, None)
    array = objects(THINGS)
    encoded = made.encode(array)
    assert made.decode(encoded).tolist() == array.tolist()
    if name == "json":
        assert json.loads(encoded)[-1] == "|O"


@pytest.mark.parametrize(
    "text",
    ["", "1", "[]", '["|O"]', '["a","|O",[2]]', '["a","b","|O",[-1]]', '["a","b","|O",["x"]]',
     '["a","b","|O",[2,1]]', '["a"', "[" * 100_000, '["a","b","c","|O",[3]]'],
)  # fmt: skip
def test_bad_json(text: str) -> None:
    with pytest.raises(DecodeError):
        make([{"id": "json2"}], (2,), object, None).decode(text.encode())


def test_categorize() -> None:
    config = {"id": "categorize", "labels": ["female", "male"], "dtype": "|O", "astype": "u1"}
    array = objects(["male", "female", "other", "male"], (2, 2))
    for dtype in (object, "<U6", "S6", STRING):
        made = make([config], (2, 2), dtype, "")
        given = array.astype(dtype)
        encoded = bytes(made.encode(np.asfortranarray(given)))
        assert encoded == bytes([2, 1, 0, 2])
        decoded = made.decode(encoded)
        assert decoded.dtype == dtype
        plain = [item.decode() if isinstance(item, bytes) else item for item in decoded.flat]
        assert plain == ["male", "female", "", "male"]
        assert make([config], (2, 2), dtype, "").decode(bytes([9, 1, 0, 2])).shape == (2, 2)
