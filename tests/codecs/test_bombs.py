"""Little that is stored must not become much: memory, time and messages stay in proportion."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from omnizarr import limits
from omnizarr.codecs import ArrayStage, cast_value, packbits, zfp, zfp_library
from omnizarr.codecs.base import BytesStage, Context
from omnizarr.codecs.registry import codec_spec, get_codec
from omnizarr.codecs.zfp_library import ZfpFunctions
from omnizarr.errors import DecodeError, LimitError, MetadataError, ZarrError
from tests.codecs.support import LITTLE, make, v3

MIB = 1 << 20
OBJECTS = ["json", "json2", "msgpack", "msgpack2"]
Tighten = Callable[..., None]


@pytest.fixture
def tighten(monkeypatch: pytest.MonkeyPatch) -> Tighten:
    return lambda **caps: monkeypatch.setattr(limits, "current", replace(limits.current, **caps))


def peak(work: Callable[[], Any]) -> int:
    """Bytes that Python and NumPy asked for at once."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


# -- zfp --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "mode",
    [
        {"mode": "reversible"},
        {"mode": "fixed_precision", "precision": 64},
        {"mode": "fixed_rate", "rate": 60},
    ],
    ids=lambda mode: mode["mode"],
)
def test_zfp_of_a_thin_chunk(mode: dict[str, Any], tighten: Tighten) -> None:
    """A block has 256 values where the chunk has 4: within the limits it is read, beyond not."""
    shape = (4000, 1, 1, 1)
    array = np.random.default_rng(2).normal(size=shape)
    made = make([v3("zfp", **mode)], shape, "<f8")
    assert np.allclose(made.decode(made.encode(array)), array)
    tighten(max_expansion=MIB)
    with pytest.raises(LimitError, match=r"max_chunk_bytes=.*max_expansion="):
        make([v3("zfp", **mode)], shape, "<f8")
    tighten(max_expansion=1 << 40, max_chunk_bytes=MIB)
    with pytest.raises(LimitError, match="max_chunk_bytes"):
        make([v3("zfp", **mode)], shape, "<f8")


def test_zfp_touches_what_it_needs() -> None:
    """Behind the stream only the rest of a word is written: the memory there is never touched."""

    class Watched(np.ndarray[Any, Any]):
        def __setitem__(self, key: Any, value: Any) -> None:
            start, stop, _ = key.indices(self.size)
            written.append(stop - start)
            super().__setitem__(key, value)

    written: list[int] = []
    functions = zfp_library.zfp_functions()
    found = zfp_library.fixed_precision(64)
    out = np.empty((4064, 1, 1, 1))
    room = zfp_library.longest(out.shape, "f8", found)
    data = np.zeros(room, np.uint8).view(Watched)
    functions.decompress(data, 127, out, found)  # 1016 blocks of one bit
    assert not out.any()
    assert written == [1]


@pytest.mark.parametrize("ndim", [1, 2, 3, 4])
@pytest.mark.parametrize("rate", [1, 9, 60])
def test_zfp_of_a_rate_expects_two_lengths(ndim: int, rate: int) -> None:
    """Its own and zarrs', no multiple of them."""
    shape = (8,) * ndim
    step = zfp.ZFPCodec("fixed_rate", {"rate": rate}).prepare(ArrayStage(shape, np.dtype("f4")))
    lengths = [
        zfp_library.size_of(zfp_library.blocks(shape) * rate * 4**dimensions)
        for dimensions in (ndim, 3)
    ]
    assert isinstance(step.output, BytesStage)
    assert max(lengths) <= step.output.limit <= max(lengths) + 64
    with pytest.raises(DecodeError, match="at most"):
        step.decode(bytes(step.output.limit + 1))


@pytest.mark.parametrize("plain", [False, True])
@pytest.mark.parametrize("shape", [(0,), (0, 5), (3, 0, 2), (0, 0, 0, 0)])
@pytest.mark.parametrize("codec", [v3("zfp", mode="reversible"), v3("numcodecs.zfpy", mode=5)])
def test_zfp_of_nothing(
    codec: Any, shape: tuple[int, ...], plain: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """libzfp itself ends the process."""

    def functions() -> ZfpFunctions:
        return zfp_library._plain(__import__("zfpy"))

    if plain:
        monkeypatch.setattr(zfp, "zfp_functions", functions)
    made = get_codec(codec_spec(codec), Context())
    assert made is not None
    step = made.prepare(ArrayStage(shape, np.dtype("<f4")))
    assert step.encode(np.empty(shape, "<f4")) == b""
    assert step.decode(b"").shape == shape
    with pytest.raises(DecodeError, match="8 bytes for a chunk without elements"):
        step.decode(bytes(8))


def test_zfpy_header_of_a_thin_shape(tighten: Tighten) -> None:
    """The header, not the metadata, says how many dimensions a stream has."""
    import zfpy

    array = np.random.default_rng(2).normal(size=(4000, 1, 1, 1))
    data = zfpy.compress_numpy(array, write_header=True)
    made = make([v3("numcodecs.zfpy", mode=5)], (4000,), "<f8")
    assert np.array_equal(made.decode(data), array.reshape(-1))
    tighten(max_expansion=MIB)
    with pytest.raises(LimitError, match="max_expansion"):
        made.decode(data)


@pytest.mark.parametrize(
    "options",
    [{"mode": "fixed_rate", "rate": 10**400}, {"mode": "fixed_accuracy", "tolerance": 10**400}],
)
def test_zfp_numbers_beyond_floats(options: dict[str, Any]) -> None:
    with pytest.raises(MetadataError, match="found 1000"):
        make([v3("zfp", **options)], (4,), "<f4")


# -- cast_value -------------------------------------------------------------------------------


def test_scalar_map_with_many_pairs() -> None:
    n, pairs = 1 << 18, [[i, float(-i)] for i in range(4096)]
    codecs = [v3("cast_value", data_type="uint16", scalar_map={"decode": pairs}), LITTLE]
    made = make(codecs, (n,), "<f4")
    stored = (np.arange(n) % 5000).astype("<u2")
    expected = np.where(stored < 4096, -stored.astype("<f4"), stored)
    assert np.array_equal(made.decode(stored.tobytes()), expected)
    assert peak(lambda: made.decode(stored.tobytes())) < 16 * MIB  # 4096 masks took 1 GiB
    for many in (pairs * 2, [[0, 0.0]] * 5000):
        with pytest.raises(MetadataError, match="at most 4096"):
            make([v3("cast_value", data_type="uint16", scalar_map={"decode": many})], (n,), "<f4")


def test_scalar_map_takes_the_last_of_several() -> None:
    pairs = [["NaN", 1], [0.0, 2], [2.5, 7], ["NaN", 3], [-0.0, 4], ["Infinity", 9]]
    codecs = [v3("cast_value", data_type="uint8", scalar_map={"encode": pairs}), LITTLE]
    array = np.array([np.nan, 0.0, -0.0, 5.0, np.inf, 2.5, 1.0], "<f4")
    assert bytes(make(codecs, (7,), "<f4").encode(array)) == bytes([3, 4, 4, 5, 9, 7, 1])
    only_nan = [v3("cast_value", data_type="uint8", scalar_map={"encode": [["NaN", 1]]}), LITTLE]
    assert bytes(make(only_nan, (2,), "<f4").encode(array[[0, 3]])) == bytes([1, 5])
    wide = [[2**64 - 1, 1.0], [2**63, 2.0], [2**53 + 1, 3.0]]
    made = make(
        [v3("cast_value", data_type="uint64", scalar_map={"decode": wide}), LITTLE], (4,), "<f8"
    )
    stored = np.array([2**64 - 1, 2**63, 2**53 + 1, 2**53], "<u8")
    assert made.decode(stored.tobytes()).tolist() == [1.0, 2.0, 3.0, 2.0**53]


def test_scalar_map_that_is_no_list() -> None:
    with pytest.raises(MetadataError, match="list of pairs"):
        make([v3("cast_value", data_type="uint8", scalar_map={"encode": "ab"})], (2,), "<f4")


@pytest.mark.parametrize("rounding", cast_value.ROUNDINGS)
@pytest.mark.parametrize("source", ["int64", "uint64", "int32"])
@pytest.mark.parametrize("target", ["<f4", "<f8", "bfloat16"])
def test_large_integers_are_rounded_exactly(rounding: str, source: str, target: str) -> None:
    if target == "bfloat16":
        import ml_dtypes

        target = ml_dtypes.bfloat16
    dtype, info = np.dtype(target), np.iinfo(source)
    low, high = int(info.min), int(info.max)
    around = [s * (2**k + d) for k in range(66) for d in (-3, -1, 0, 1, 3) for s in (1, -1)]
    halves = [s * (2**k + 2 ** (k - b) + d) for k in range(10, 64) for b in (7, 8, 9, 23, 24, 53)
              if k >= b for d in (-1, 0, 1) for s in (1, -1)]  # fmt: skip
    whole = sorted({n for n in (*around, *halves, low, high) if low <= n <= high})
    stored = np.array(whole, source)
    codecs = [v3("cast_value", data_type=source, rounding=rounding, out_of_range="clamp"), LITTLE]
    found = make(codecs, stored.shape, dtype).decode(stored.astype(stored.dtype.str).tobytes())
    near = stored.astype(np.float64).astype(dtype)
    inf = dtype.type(np.inf)
    neighbours = [np.nextafter(near, -inf), near, np.nextafter(near, inf)]
    choices = [[int(float(c[i])) if np.isfinite(float(c[i])) else None for c in neighbours]
               for i in range(len(whole))]  # fmt: skip
    for value, result, three in zip(whole, found, choices, strict=True):
        assert int(float(result)) == _rounded(value, [c for c in three if c is not None], rounding)


def _rounded(value: int, candidates: list[int], rounding: str) -> int:
    up = min((c for c in candidates if c >= value), default=None)
    down = max((c for c in candidates if c <= value), default=None)
    if up is None or down is None or up == down:
        return up if up is not None else down  # type: ignore[return-value]
    match rounding:
        case "towards-positive":
            return up
        case "towards-negative":
            return down
        case "towards-zero":
            return down if value > 0 else up
    middle = Fraction(up + down, 2)
    if value != middle:
        return up if value > middle else down
    if rounding == "nearest-away":
        return up if value > 0 else down
    step = up - down
    return up if up // step % 2 == 0 else down


@pytest.mark.parametrize("rounding", ["towards-zero", "nearest-away"])
def test_rounding_makes_no_objects(rounding: str) -> None:
    n = 1 << 18
    made = make([v3("cast_value", data_type="uint64", rounding=rounding), LITTLE], (n,), "<f4")
    data = np.full(n, 2**60 + 12345, "<u8").tobytes()
    assert peak(lambda: made.decode(data)) < 12 * MIB  # it took 40 MiB


# -- packbits ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("dtype", "options"),
    [
        ("?", {}),
        ("<i2", {"first_bit": 3, "last_bit": 9}),
        (">f8", {"first_bit": 52, "last_bit": 63}),
        ("<c8", {"padding_encoding": "last_byte"}),
        ("u1", {"last_bit": 4, "padding_encoding": "first_byte"}),
    ],
)
@pytest.mark.parametrize("block", [8, 64])
def test_packbits_in_blocks(
    dtype: str, options: dict[str, Any], block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Blocks do not show in the bytes."""
    kind = np.dtype(dtype)
    raw = np.random.default_rng(4).integers(0, 256, 203 * kind.itemsize, np.uint8)
    array = raw.view(kind) if kind.kind != "b" else raw > 128
    made = make([v3("packbits", **options)], (203,), dtype)
    data = bytes(made.encode(array))
    back = made.decode(data).tobytes()
    monkeypatch.setattr(packbits, "BLOCK", block)
    assert bytes(made.encode(array)) == data
    assert made.decode(data).tobytes() == back
    if "first_bit" not in options and "last_bit" not in options:
        assert back == array.tobytes()


@pytest.mark.parametrize(
    ("dtype", "options"), [("?", {}), ("<f8", {"first_bit": 0, "last_bit": 0})]
)
def test_packbits_needs_little_more_than_the_chunk(dtype: str, options: dict[str, Any]) -> None:
    n = 1 << 20
    made = make([v3("packbits", **options)], (n,), dtype)
    array = np.zeros(n, dtype)
    data = bytes(made.encode(array))
    assert peak(lambda: made.encode(array)) < array.nbytes + 8 * MIB
    assert peak(lambda: made.decode(data)) < array.nbytes + 8 * MIB


# -- objects ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", OBJECTS)
def test_objects_have_a_limit_of_their_own(name: str, tighten: Tighten) -> None:
    made = make([{"id": name}], (2,), "O", None)
    array = np.empty(2, object)
    array[:] = [[[]] * 300, "x" * 400]
    data = bytes(made.encode(array))
    assert made.decode(data).tolist() == array.tolist()
    tighten(max_expansion=16 * len(data))
    assert made.encode(array) == data
    assert made.decode(data).tolist() == array.tolist()
    tighten(max_expansion=16 * len(data) - 1)
    for work in (lambda: made.encode(array), lambda: made.decode(data)):
        with pytest.raises(LimitError, match=rf"max_expansion={16 * len(data)}\)"):
            work()


@pytest.mark.parametrize("name", OBJECTS[:2])
@pytest.mark.parametrize(
    "encoding",
    ["punycode", "idna", "utf-7", "unicode_escape", "base64", "zlib", "x" * 10**6, "", "\0", 8, []],
)
def test_encodings_of_json(name: str, encoding: Any) -> None:
    with pytest.raises(MetadataError, match=r"encoding must be one of utf-8, .*ascii") as refusal:
        make([{"id": name, "encoding": encoding}], (1,), "O", None)
    assert len(str(refusal.value)) < 500


@pytest.mark.parametrize("name", OBJECTS[:2])
@pytest.mark.parametrize(
    "encoding",
    ["utf-8", "UTF8", "utf_8", "utf-16", "utf-16-le", "UTF-16BE", "utf32", "ascii", "latin-1"],
)
def test_encodings_of_json_that_are_read(name: str, encoding: str) -> None:
    options = {"id": name, "encoding": encoding, "ensure_ascii": encoding == "ascii"}
    made = make([options], (1,), "O", None)
    array = np.array(["ä"], object)
    data = bytes(made.encode(array))
    assert json.loads(str(data, encoding))[0] == "ä"
    assert made.decode(data).tolist() == ["ä"]


# -- scale_offset -----------------------------------------------------------------------------


@pytest.mark.parametrize("key", ["offset", "scale"])
@pytest.mark.parametrize("dtype", ["<f4", ">f8", "<f2", "<i4", "u1", "<c8"])
@pytest.mark.parametrize(
    "value",
    [None, True, [1], [], [[1, 2], [3, 4]], [1, [2]], {}, "1_0", " 1 ", "nan", "0x", "0xzz",
     "0x" + "f" * 100000, "1" * 100000, 10**400, "1e999"],
)  # fmt: skip
def test_scalars_that_are_no_fill_values(key: str, dtype: str, value: Any) -> None:
    with pytest.raises(MetadataError, match=rf"'scale_offset': {key}") as refusal:
        make([v3("scale_offset", **{key: value}), LITTLE], (2,), dtype)
    assert len(str(refusal.value)) < 600


@pytest.mark.parametrize(
    ("dtype", "value"),
    [("<f4", 1e308), ("<f4", [1, 2]), ("<i4", [1, 2]), ("<i4", 2**31), ("u1", -1), ("<i4", 1.5)],
)
def test_scalars_out_of_range(dtype: str, value: Any) -> None:
    with pytest.raises(MetadataError, match="is not representable in"):
        make([v3("scale_offset", offset=value), LITTLE], (2,), dtype)


@pytest.mark.parametrize(
    ("dtype", "value", "expected"),
    [
        ("<f4", 2, 2.0),
        (">f4", "0x40000000", 2.0),
        ("<f8", "Infinity", np.inf),
        ("<i4", 2.0, 2),
        ("<c8", [1, 2.5], 1 + 2.5j),
        ("<c8", 2, 2 + 0j),
    ],
)
def test_scalars_like_fill_values(dtype: str, value: Any, expected: Any) -> None:
    made = make([v3("scale_offset", offset=value), LITTLE], (1,), dtype)
    assert made.decode(np.zeros(1, np.dtype(dtype).newbyteorder("<")).tobytes())[0] == expected


# -- messages ---------------------------------------------------------------------------------

LONG = "x" * 10**6
MANY = [1] * 10**5


@pytest.mark.parametrize(
    "codec",
    [
        v3("reshape", shape=LONG),
        v3("reshape", shape=[LONG]),
        v3("reshape", shape=[[1, 0]] * 10**5),
        v3("reshape", shape=MANY),
        v3("transpose", order=LONG),
        v3("transpose", order=MANY),
        v3("transpose", order=list(range(10**5))),
        v3("cast_value", data_type="int8", scalar_map=MANY),
        v3("scale_offset", offset=MANY),
        v3("sharding_indexed", chunk_shape=LONG, codecs=[LITTLE]),
        v3("sharding_indexed", chunk_shape=MANY, codecs=[LITTLE]),
        v3("sharding_indexed", chunk_shape=[0, *MANY], codecs=[LITTLE]),
        v3("conditional", codecs=[{"name": LONG}]),
        v3("conditional", codecs=LONG),
        v3("blosc", cname="lz4", clevel=1, shuffle=LONG, typesize=4),
        {"name": "blosc", LONG: 1},
        {"name": MANY},
        {"name": LONG, "configuration": 5},
        LONG,
        "numcodecs." + LONG,
    ],
    ids=lambda codec: (codec if isinstance(codec, str) else str(codec["name"]))[:20],
)
def test_messages_stay_short(codec: Any) -> None:
    codecs = [codec] if isinstance(codec, dict) and codec["name"] == "sharding_indexed" else [
        codec, LITTLE]  # fmt: skip
    if isinstance(codec, dict) and codec["name"] in ("conditional", "blosc"):
        codecs.reverse()
    with pytest.raises(ZarrError) as refusal:
        make(codecs, (4,), "<f4")
    assert len(str(refusal.value)) < 1000


def test_message_about_a_stored_shape() -> None:
    made = make([{"id": "json2"}], (1,), "O", None)
    with pytest.raises(DecodeError) as refusal:
        made.decode(json.dumps([1, "|O", ["a"] * 10**5]).encode())
    assert len(str(refusal.value)) < 1000
