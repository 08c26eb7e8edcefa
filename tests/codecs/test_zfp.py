"""`zfp`: all modes, all types, through libzfp itself and through zfpy's own functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import omnizarr
from omnizarr.codecs import zfp, zfp_library
from omnizarr.codecs.zfp_library import Parameters, ZfpFunctions
from omnizarr.errors import CodecError, DecodeError, EncodeError, MetadataError
from tests.codecs.support import make, v3

FUNCTIONS: dict[str, Callable[[], ZfpFunctions]] = {
    "direct": zfp_library.zfp_functions,
    "plain": lambda: zfp_library._plain(__import__("zfpy")),
}
WAVE = np.sin(np.arange(3 * 4 * 5 * 6) / 7).reshape(3, 4, 5, 6)
SHAPES = [(1,), (4,), (7,), (5, 9), (4, 4), (3, 4, 5), (2, 3, 5, 7)]
EXPERT = {"mode": "expert", "minbits": 64, "maxbits": 5000, "maxprec": 30, "minexp": -12}


@pytest.fixture(params=FUNCTIONS)
def functions(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(zfp, "zfp_functions", FUNCTIONS[request.param])
    return str(request.param)


@pytest.mark.usefixtures("functions")
@pytest.mark.parametrize("shape", [(), *SHAPES])
@pytest.mark.parametrize(
    "dtype", ["i1", "u1", "<i2", ">u2", "<i4", ">i4", "<u4", "<i8", "<u8", ">f4", "<f8", "<f2"]
)
def test_reversible(shape: tuple[int, ...], dtype: str) -> None:
    kind = np.dtype(dtype)
    rng = np.random.default_rng(5)
    array = np.array(rng.integers(0, 128, shape), kind, order="F")
    if kind.kind == "i":
        array.reshape(-1)[:1] = np.iinfo(kind).min
    made = make([v3("zfp", mode="reversible")], shape, dtype)
    data = bytes(made.encode(array))
    assert made.decode(data).tobytes() == array.tobytes()
    out = np.empty(shape, kind, order="F")
    made.decode_into(memoryview(data), out)
    assert np.array_equal(out, array)


def test_types_that_are_promoted() -> None:
    """The stored integers are those of the text's formulas."""
    array = np.array([-8, 7, -1, 0])
    import ml_dtypes

    plain = make([v3("zfp", mode="reversible")], (4,), "<i4")
    nibbles = make([v3("zfp", mode="reversible")], (4,), ml_dtypes.int4)
    assert nibbles.encode(array.astype(ml_dtypes.int4)) == plain.encode(array.astype("<i4") << 27)
    unsigned = make([v3("zfp", mode="reversible")], (4,), "<u2")
    given = np.array([0, 65535, 32768, 5], "<u2")
    moved = (given.astype("<i4") - 32768) << 15
    assert unsigned.encode(given) == plain.encode(moved)
    brain = make([v3("zfp", mode="reversible")], (4,), ml_dtypes.bfloat16)
    single = make([v3("zfp", mode="reversible")], (4,), "<f4")
    assert brain.encode(array.astype(ml_dtypes.bfloat16)) == single.encode(array.astype("<f4"))
    times = make([v3("zfp", mode="reversible")], (2,), ">M8[s]")
    dates = np.array(["2020-01-01", "NaT"], ">M8[s]")
    assert times.decode(times.encode(dates)).tobytes() == dates.tobytes()


@pytest.mark.usefixtures("functions")
@pytest.mark.parametrize("ndim", [1, 2, 3, 4])
@pytest.mark.parametrize("dtype", ["<f4", "<f8"])
def test_lossy_modes_keep_their_promise(ndim: int, dtype: str) -> None:
    array = WAVE.reshape((*WAVE.shape[: ndim - 1], -1)).astype(dtype)
    accurate = make([v3("zfp", mode="fixed_accuracy", tolerance=1e-3)], array.shape, dtype)
    assert np.abs(accurate.decode(accurate.encode(array)) - array).max() <= 1e-3
    precise = make([v3("zfp", mode="fixed_precision", precision=20)], array.shape, dtype)
    assert np.abs(precise.decode(precise.encode(array)) - array).max() <= 1e-2
    rated = make([v3("zfp", mode="fixed_rate", rate=16)], array.shape, dtype)
    data = rated.encode(array)
    assert len(data) == zfp_library.size_of(zfp_library.blocks(array.shape) * 16 * 4**ndim)
    assert np.abs(rated.decode(data) - array).max() <= 0.1


def test_expert() -> None:
    """Where zfpy's own functions do not reach, the error says so."""
    array = WAVE.astype("<f8")
    made = make([v3("zfp", **EXPERT)], array.shape, "<f8")
    assert np.abs(made.decode(made.encode(array)) - array).max() < 0.01
    plain = FUNCTIONS["plain"]()
    with pytest.raises(CodecError, match="expert mode that zfpy's Python functions do not have"):
        plain.compress(array, Parameters(64, 5000, 30, -12))
    # The parameters of other modes are theirs, whatever the name.
    same = make([v3("zfp", mode="fixed_precision", precision=9)], array.shape, "<f8")
    named = {"minbits": 1, "maxbits": 16658, "maxprec": 9, "minexp": -1074}
    assert make([v3("zfp", mode="expert", **named)], array.shape, "<f8").encode(array) == (
        same.encode(array)
    )


def test_modes_are_expert_parameters() -> None:
    array = WAVE.astype("<f4")
    direct, plain = FUNCTIONS["direct"](), FUNCTIONS["plain"]()
    for found in (
        zfp_library.REVERSIBLE,
        zfp_library.fixed_rate(5.3, 4, "f4"),
        zfp_library.fixed_precision(11),
        zfp_library.fixed_precision(0),
        zfp_library.fixed_accuracy(0.01),
        zfp_library.fixed_accuracy(0.0),
    ):
        assert direct.compress(array, found) == plain.compress(array, found)


def test_a_rate_that_zarrs_computes() -> None:
    """It takes every chunk for three-dimensional: a block of 16 values gets the bits of 64."""
    array = WAVE.reshape(30, 12).astype("<f4")
    made = make([v3("zfp", mode="fixed_rate", rate=4)], array.shape, "<f4")
    theirs = zfp_library.zfp_functions().compress(array, Parameters(256, 256))
    assert len(theirs) == 4 * len(made.encode(array))
    assert np.abs(made.decode(theirs) - array).max() < 1e-3
    with pytest.raises(DecodeError):
        made.decode(theirs[:-8])


@pytest.mark.usefixtures("functions")
@pytest.mark.parametrize(
    "mode",
    [
        {"mode": "reversible"},
        {"mode": "fixed_rate", "rate": 9},
        {"mode": "fixed_precision", "precision": 17},
        {"mode": "fixed_accuracy", "tolerance": 0.001},
    ],
    ids=lambda mode: mode["mode"],
)
@pytest.mark.parametrize("shape", [(60,), (5, 9), (3, 4, 5)])
def test_cut_streams_are_refused(mode: dict[str, Any], shape: tuple[int, ...]) -> None:
    array = np.random.default_rng(1).normal(size=shape)
    made = make([v3("zfp", **mode)], shape, "<f8")
    data = bytes(made.encode(array))
    for length in (0, 1, 8, len(data) // 2, len(data) - 8):
        with pytest.raises(DecodeError):
            made.decode(data[:length])


def test_streams_that_go_on_are_refused() -> None:
    for mode in ({"mode": "reversible"}, {"mode": "fixed_rate", "rate": 9}, EXPERT):
        made = make([v3("zfp", **mode)], WAVE.shape, "<f8")
        with pytest.raises(DecodeError):
            made.decode(bytes(made.encode(WAVE)) + bytes(8))


@given(
    st.sampled_from(SHAPES),
    st.sampled_from(["i4", "i8", "f4", "f8"]),
    st.tuples(st.integers(0, 900), st.integers(15, 16658), st.integers(1, 64)),
    st.sampled_from([-1075, -1074, -20, 900]),
    st.one_of(st.sampled_from([b"\xff", b"\xaa", b"\x55", b"\x01"]), st.binary(min_size=200)),
)
def test_no_bits_are_read_beyond_the_longest_stream(
    shape: tuple[int, ...],
    kind: str,
    bits: tuple[int, int, int],
    minexp: int,
    pattern: bytes,
) -> None:
    minbits, maxbits, maxprec = bits
    found = zfp_library.check(Parameters(minbits, max(maxbits, minbits, 19), maxprec, minexp), kind)
    room = zfp_library.longest(shape, kind, found)
    data = np.frombuffer((pattern * room)[:room] + bytes(room), np.uint8).copy()
    with pytest.raises(ValueError, match="decoding takes") as caught:
        zfp_library.zfp_functions().decompress(data, 2 * room + 999, np.empty(shape, kind), found)
    assert int(str(caught.value).rpartition(" ")[2]) <= room


@given(hnp.arrays("<f4", hnp.array_shapes(min_dims=1, max_dims=4, max_side=6)))
def test_reversible_keeps_every_bit(array: np.ndarray) -> None:
    made = make([v3("zfp", mode="reversible")], array.shape, "<f4")
    assert made.decode(made.encode(array)).tobytes() == array.tobytes()


@pytest.mark.parametrize(
    "configuration",
    [
        {},
        {"mode": "lossless"},
        {"mode": "reversible", "rate": 3},
        {"mode": "fixed_rate"},
        {"mode": "fixed_rate", "rate": 0},
        {"mode": "fixed_rate", "rate": -1},
        {"mode": "fixed_rate", "rate": 1e9},
        {"mode": "fixed_rate", "rate": float("nan")},
        {"mode": "fixed_precision", "precision": -1},
        {"mode": "fixed_precision", "precision": 1.5},
        {"mode": "fixed_accuracy", "tolerance": -1},
        {"mode": "fixed_accuracy", "tolerance": float("inf")},
        {"mode": "expert", "minbits": 1, "maxbits": 300, "maxprec": 19},
        {**EXPERT, "maxbits": 8},
        {**EXPERT, "minbits": 5001},
        {**EXPERT, "minbits": 4_000_000, "maxbits": 4_000_000},
        {**EXPERT, "maxprec": 0},
        {**EXPERT, "maxprec": 65},
        {**EXPERT, "minexp": 1 << 40},
    ],
)
def test_configurations_that_cannot_be(configuration: dict[str, Any]) -> None:
    with pytest.raises(MetadataError, match="zfp"):
        make([v3("zfp", **configuration)], (8,), "<f4")


def test_what_it_does_not_take() -> None:
    with pytest.raises(MetadataError, match="at most 4 dimensions"):
        make([v3("zfp", mode="reversible")], (1, 1, 1, 1, 1), "<f4")
    for dtype in ("?", "<c8", "S3", "V3"):
        with pytest.raises(MetadataError, match="integers and floats"):
            make([v3("zfp", mode="reversible")], (4,), dtype)
    with pytest.raises(MetadataError, match="fixed_accuracy is for floats"):
        make([v3("zfp", mode="fixed_accuracy", tolerance=1)], (4,), "<i4")
    unsigned = make([v3("zfp", mode="reversible")], (2,), "<u4")
    with pytest.raises(EncodeError, match="2147483647"):
        unsigned.encode(np.array([1, 2**31], "<u4"))
    lossy = make([v3("zfp", mode="fixed_precision", precision=9)], (2,), "<f4")
    with pytest.raises(EncodeError, match="reversible"):
        lossy.encode(np.array([1, np.nan], "<f4"))


def test_in_an_array_and_a_shard() -> None:
    data = WAVE.reshape(30, 12).astype("<f4")
    store: dict[str, bytes] = {}
    array = omnizarr.create_array(
        store, shape=data.shape, chunks=(10, 6), shards=(20, 12), dtype="<f4",
        serializer={"name": "zfp", "configuration": {"mode": "fixed_accuracy", "tolerance": 0.01}},
        compressors=None,
    )  # fmt: skip
    array[...] = data
    again = omnizarr.open_array(store)
    assert np.abs(again[...] - data).max() <= 0.01
    assert np.abs(again[7, 3:9] - data[7, 3:9]).max() <= 0.01
