"""The pipeline: what stands between codecs, what is refused, and how little a call costs."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from omnizarr import limits
from omnizarr.codecs import chain, codec_spec
from omnizarr.errors import (
    EncodeError,
    LimitError,
    MetadataError,
    PickleCodecDisabledError,
    UnknownCodecError,
)
from omnizarr.model.codec import CodecSpec
from omnizarr.model.dtypes import from_json, from_numpy
from tests.codecs.support import BIG, LITTLE, make, sharding, v3


def test_from_a_data_type() -> None:
    made = chain([codec_spec(BIG)], (2, 3), from_json("int32"), np.int32(0))
    assert (made.shape, made.dtype, made.nbytes) == ((2, 3), np.dtype("int32"), 24)
    assert bytes(made.encode(np.ones((2, 3), "i4"))) == b"\0\0\0\1" * 6
    text = chain([codec_spec("vlen-utf8")], (2,), from_json("string"), "")
    assert text.nbytes is None
    assert text.decode(text.encode(np.array(["a", "é"], text.dtype))).tolist() == ["a", "é"]


def test_v2_pipelines_are_joined_implicitly() -> None:
    array = np.arange(6, dtype=">i2").reshape(2, 3)
    assert bytes(make([], (2, 3), ">i2").encode(array)) == array.tobytes()
    # A filter that yields bytes, then one that wants numbers: they are seen as its own type.
    both = make([{"id": "crc32"}, {"id": "delta", "dtype": "u2"}], (2, 3), ">i2")
    encoded = np.frombuffer(bytes(both.encode(array)), "u2")
    first = np.frombuffer(bytes(make([{"id": "crc32"}], (2, 3), ">i2").encode(array)), "u2")
    assert np.array_equal(np.cumsum(encoded, dtype="u2"), first)
    assert np.array_equal(both.decode(encoded.tobytes()), array)
    # An array-to-bytes codec behind plain bytes sees the array that they are.
    late = make(["bytes", {"id": "pcodec"}], (2, 3), "<i2")
    assert np.array_equal(late.decode(late.encode(array.astype("<i2"))), array)


def test_filters_see_column_major_data_in_order_f() -> None:
    array = np.arange(6, dtype="<i4").reshape(2, 3)
    made = make([v3("transpose", order=[1, 0]), {"id": "delta", "dtype": "<i4"}], (2, 3), "<i4")
    expected = np.diff(array.reshape(-1, order="F"), prepend=0).astype("<i4")
    for layout in (array, np.asfortranarray(array)):
        assert bytes(made.encode(layout)) == expected.tobytes()


def test_codecs_that_do_not_meet() -> None:
    with pytest.raises(MetadataError, match=r"vlen-utf8.*bytes"):
        make([LITTLE, "zstd", "vlen-utf8"], (2,), "<i4")
    with pytest.raises(MetadataError, match="no whole number"):
        make([{"id": "delta", "dtype": "<i8"}], (3,), "<i4")
    for codecs in ([], ["bytes"], ["zstd"]):
        with pytest.raises(MetadataError, match="vlen"):
            make(codecs, (2,), object)


def test_wrong_input() -> None:
    made = make([LITTLE], (2, 3), "<i4")
    with pytest.raises(EncodeError, match=r"\(2, 3\).*\(3, 2\)"):
        made.encode(np.zeros((3, 2), "<i4"))
    with pytest.raises(EncodeError):
        made.encode(np.array([["a"] * 3] * 2))
    assert bytes(made.encode(np.ones((2, 3), "f8"))) == np.ones((2, 3), "<i4").tobytes()


def test_whole_chunks_are_decoded_in_place() -> None:
    """The bytes go straight from the library into the target, swapped there if need be."""
    import tracemalloc

    big = np.arange(1 << 19, dtype="<f4").reshape(512, 1024)
    for codecs in (
        [LITTLE, "zstd"],
        [BIG, "zstd"],
        [LITTLE, "blosc"],
        [LITTLE, "blosc", "crc32c"],
        [{"id": "lz4"}],
        [v3("transpose", order=[1, 0]), LITTLE, "zstd"],
    ):
        made = make(codecs, big.shape, "<f4")
        encoded = bytes(made.encode(big))
        transposed = codecs[0].get("name") == "transpose"
        out = np.zeros(big.shape, "<f4", order="F" if transposed else "C")
        made.decode_into(encoded, out)
        tracemalloc.start()
        made.decode_into(encoded, out)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert np.array_equal(out, big)
        assert peak < big.nbytes // 4, (codecs, peak)


def test_specs_are_complete() -> None:
    made = make([BIG, v3("blosc", cname="lz4", clevel=1)], (4,), "<f8")
    assert made.specs[1].configuration["typesize"] == 8
    assert made.specs[1].configuration["shuffle"] == "shuffle"
    made = make([LITTLE, "blosc"], (4,), "u1")
    assert made.specs[0] == CodecSpec("bytes")
    assert made.specs[1].configuration["shuffle"] == "bitshuffle"
    given = [codec_spec(LITTLE), codec_spec(v3("zstd", level=1))]
    assert list(make(given, (4,), "<i4").specs) == given
    inner = make([sharding([2], [LITTLE, "blosc"])], (4,), "<i2").specs[0].configuration["codecs"]
    assert inner[1]["configuration"]["typesize"] == 2
    assert make([v3("transpose", order="F"), LITTLE], (4, 2), "i2").specs[0].configuration == {
        "order": [1, 0]
    }


def test_must_understand() -> None:
    unknown = {"name": "example.thumbnail", "must_understand": False}
    made = make([LITTLE, unknown], (4,), "<i4")
    assert bytes(made.encode(np.zeros(4, "<i4"))) == bytes(16)
    assert [spec.name for spec in made.specs] == ["bytes", "example.thumbnail"]
    with pytest.raises(UnknownCodecError, match=r"example\.thumbnail"):
        make([LITTLE, {"name": "example.thumbnail"}], (4,), "<i4")


class Malice:
    def __init__(self, path: str) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (Path(self.path),)


@pytest.mark.parametrize(
    "codecs",
    [
        [{"id": "pickle", "protocol": 4}],
        [{"id": "vlen-utf8"}, {"id": "pickle"}],
        [{"id": "pickle"}, {"id": "zlib"}],
        ["numcodecs.pickle"],
        [{"name": "numcodecs.pickle", "must_understand": False}],
        [sharding([1], ["numcodecs.pickle"])],
        [sharding([1], [sharding([1], ["numcodecs.pickle"])])],
        [sharding([1], ["vlen-utf8"], index_codecs=["numcodecs.pickle"])],
        ["vlen-utf8", v3("conditional", codecs=["numcodecs.pickle"])],
        [v3("n5_default", codecs=[v3("transpose", order=[0]), BIG, "numcodecs.pickle"])],
    ],
)
def test_pickle_is_refused_wherever_it_stands(codecs: list[Any], tmp_path: Path) -> None:
    marker = tmp_path / "ran"
    data = pickle.dumps(np.array([Malice(str(marker))], object))
    with pytest.raises(PickleCodecDisabledError, match="allow_pickle"):
        made = make(codecs, (1,), object if "n5" not in str(codecs) else "i2", "")
        made.decode(data)
    assert not marker.exists()


def test_pickle_can_be_allowed() -> None:
    array = np.array([[1, "a"], [None, (2, 3)]], object)
    made = make([{"id": "pickle"}, {"id": "zlib"}], (2, 2), object, None, allow_pickle=True)
    assert np.array_equal(made.decode(made.encode(array)), array)
    given = [CodecSpec("numcodecs.pickle")]
    whole = chain(given, (2, 2), from_numpy(np.dtype("i4")), 0, allow_pickle=True)
    assert whole.decode(whole.encode(np.ones((2, 2), "i4"))).tolist() == [[1, 1], [1, 1]]


def test_a_chain_can_be_sent_to_another_process() -> None:
    made = make([sharding([2], [LITTLE, "zstd"])], (4,), "<i4", np.int32(5))
    again = pickle.loads(pickle.dumps(made))
    data = made.encode(np.arange(4, dtype="<i4"))
    assert again.decode(data).tolist() == [0, 1, 2, 3]


def test_deep_nesting_is_capped_and_cheap() -> None:
    codec: Any = LITTLE
    for _ in range(limits.current.max_codec_depth):
        codec = sharding([1], [codec])
    made = make([codec], (1,), "<i4")
    assert made.decode(made.encode(np.array([7], "<i4"))).tolist() == [7]
    with pytest.raises(LimitError, match="max_codec_depth"):
        make([sharding([1], [codec])], (1,), "<i4")


def test_zero_itemsize() -> None:
    made = make([LITTLE, "zstd"], (3,), "S0" if np.dtype("S0").itemsize == 0 else "V0", None)
    assert made.decode(made.encode(np.zeros(3, made.dtype))).shape == (3,)
