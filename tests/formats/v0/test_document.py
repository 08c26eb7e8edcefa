"""Format 0: its documents, its refusals, its pickles, and arrays through the public surface."""

from __future__ import annotations

import json
import os
import pickle
import pickletools
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import omnizarr
from omnizarr import formats
from omnizarr.errors import (
    ContainsArrayError,
    MetadataError,
    NodeNotFoundError,
    ReadOnlyError,
    UnsupportedError,
)
from omnizarr.formats import find
from omnizarr.formats.v0 import pickled_metadata
from omnizarr.formats.v0.document import V0
from omnizarr.model.array import ArrayModel
from omnizarr.stores import LocalStore, MemoryStore, PrefixStore, ReadOnlyStore
from tests.acceptance import fixtures

GOOD: dict[str, Any] = {
    "shape": [20, 10],
    "chunks": [6, 4],
    "dtype": "<i4",
    "fill_value": 42,
    "cname": "lz4",
    "clevel": 3,
    "shuffle": 1,
}


def parse(document: Any, attributes: Any = None) -> ArrayModel:
    documents = {"a/__zmeta__": document if isinstance(document, bytes) else _text(document)}
    if attributes is not None:
        documents["a/__zattr__"] = _text(attributes)
    node = V0().parse("a", documents)
    assert isinstance(node, ArrayModel)
    return node


def _text(value: Any) -> bytes:
    return value if isinstance(value, bytes) else json.dumps(value).encode()


def new(**arguments: Any) -> omnizarr.Array:
    """An array of format 0 in memory, (20, 10) unless told otherwise."""
    arguments = {"shape": (20, 10), "chunks": (6, 4), "dtype": "i4", **arguments}
    return omnizarr.create_array(MemoryStore(), zarr_format=0, **arguments)


# -- documents --------------------------------------------------------------------------------


def test_a_document_becomes_a_model() -> None:
    model = parse(GOOD, {"x": 1, "_ARRAY_DIMENSIONS": ["y", "x"]})
    assert (model.shape, model.grid.chunk_shape, model.order) == ((20, 10), (6, 4), "C")
    assert model.dtype == np.dtype("<i4")
    assert model.fill_value == 42
    assert [spec.name for spec in model.codecs] == ["bytes", "numcodecs.blosc"]
    assert model.codecs[1].configuration == {
        "cname": "lz4", "clevel": 3, "shuffle": 1, "blocksize": 0,
    }  # fmt: skip
    assert model.keys.encoder(2)((1, 2)) == "1.2.blosc"
    assert model.attributes["x"] == 1
    assert model.dimension_names == ("y", "x")
    assert V0().chunk_prefix("a", model) == "a/__zdata__/"
    assert V0().chunk_prefix("", model) == "__zdata__/"


def test_unknown_members_are_kept() -> None:
    model = parse({**GOOD, "mine": {"b": [1]}})
    written = V0().documents("a", model)
    assert json.loads(written["a/__zmeta__"]) == {**GOOD, "mine": {"b": [1]}}
    assert list(written) == ["a/__zmeta__"]


@pytest.mark.parametrize("name", sorted(GOOD))
def test_every_member_is_mandatory(name: str) -> None:
    document = {key: value for key, value in GOOD.items() if key != name}
    with pytest.raises(MetadataError, match=f"key 'a/__zmeta__'.*{name}"):
        parse(document)


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ({"shape": "x"}, "shape must be a list"),
        ({"shape": [-1, 10]}, "shape must hold integers"),
        ({"shape": [20.0, 10]}, "shape must hold integers"),
        ({"shape": [1] * 65, "chunks": [1] * 65}, "max_dimensions"),
        ({"shape": [], "chunks": []}, "no arrays of 0 dimensions"),
        ({"chunks": [0, 4]}, "chunks must hold integers"),
        ({"chunks": [6]}, "1 dimensions"),
        ({"dtype": "|O"}, "fixed size"),
        ({"dtype": [["a", "|O"]]}, "fixed size"),
        ({"dtype": "bfloat16"}, "NumPy's own"),
        ({"dtype": "<x4"}, "dtype '<x4'"),
        ({"dtype": 4}, "dtype must be a string"),
        ({"dtype": "<f16"}, "extended precision"),
        ({"dtype": "|V2000000000", "fill_value": 0}, "is not a NumPy type string"),
        ({"cname": "zstd"}, "cname must be one of"),
        ({"cname": None}, "cname must be one of"),
        ({"clevel": 10}, "clevel must be an integer from 0 to 9"),
        ({"clevel": True}, "clevel"),
        ({"shuffle": 3}, "shuffle must be one of 0, 1, 2"),
        ({"shuffle": "shuffle"}, "shuffle"),
        ({"fill_value": [1]}, "fill value"),
        ({"fill_value": {}}, "fill value"),
        ({"fill_value": "x"}, "fill value"),
        ({"fill_value": float("nan")}, "fill value"),
        ({"fill_value": 1 << 70}, "fill value"),
        ({"dtype": "|S3", "fill_value": "é"}, "ASCII"),
        ({"dtype": "|V3", "fill_value": 5}, "0 or null"),
        ({"dtype": "<M8[s]", "fill_value": "soon"}, "ticks"),
    ],
)  # fmt: skip
def test_broken_members(members: dict[str, Any], message: str) -> None:
    with pytest.raises(MetadataError, match=message) as error:
        parse({**GOOD, **members})
    assert "a/__zmeta__" in str(error.value)


@pytest.mark.parametrize(
    "text", [b"", b"[1]", b"nothing", b"{", b'{"shape": 1, "shape": 2}', b"\xff"]
)
def test_broken_documents(text: bytes) -> None:
    with pytest.raises(MetadataError, match="a/__zmeta__"):
        parse(text)
    if text:
        with pytest.raises(MetadataError, match="a/__zattr__"):
            parse(GOOD, text)


@pytest.mark.parametrize(
    ("dtype", "fill", "expected"),
    [
        ("<f8", 0, 0.0), ("<f4", float("inf"), np.inf), ("<c16", -2.5, -2.5 + 0j),
        ("|b1", 7, True), ("<i4", -1.5, -1), ("|u1", -1, 255), ("|u1", 300, 44),
        ("<u8", 2**64 - 1, 2**64 - 1), ("<i8", 2**53 + 1, 2**53 + 1),
        ("|S5", 0, b"0"), ("|S2", "abc", b"ab"), ("<U3", "é∂", "é∂"), ("<U2", 1.5, "1."),
        ("<M8[s]", 5, np.datetime64(5, "s")), ("<m8[s]", True, np.timedelta64(1, "s")),
        ("<M8[s]", "2000-01-01", np.datetime64("2000-01-01", "s")),
        ([["a", "<i4"], ["b", "|S3"]], 7, (7, b"7")),
    ],
)  # fmt: skip
def test_fill_values_mean_what_numpy_makes_of_them(dtype: Any, fill: Any, expected: Any) -> None:
    model = parse({**GOOD, "dtype": dtype, "fill_value": fill})
    found = model.fill_value
    assert (found.item() if isinstance(expected, tuple) else found) == expected
    # What was read is written as it was.
    written = V0().documents("a", model)["a/__zmeta__"]
    assert json.loads(written)["fill_value"] == fill


@pytest.mark.parametrize("fill", [float("nan"), "", "NaT"])
def test_no_time(fill: Any) -> None:
    for dtype in ("<M8[s]", "<m8[s]"):
        if not (fill == "NaT" and dtype == "<m8[s]"):
            assert np.isnat(parse({**GOOD, "dtype": dtype, "fill_value": fill}).fill_value)


# -- hostile documents ------------------------------------------------------------------------

WRONG = [
    None, True, 0, -1, 1.5, 10**30, float("nan"), "", "x", "\ud800", [], [[]], [None], [-1],
    [1] * 100, ["x"], [{}], [["a", "<i4"]], [["", "|V3"], ["a", "<i4", [2]]], {}, {"id": "x"},
]  # fmt: skip


@pytest.mark.parametrize("member", sorted(GOOD))
def test_any_value_of_a_member_parses_or_is_refused(member: str) -> None:
    for wrong in WRONG:
        try:
            model = parse({**GOOD, member: wrong})
        except MetadataError:
            continue
        again = parse(V0().documents("a", model)["a/__zmeta__"])
        assert (again.shape, again.dtype, again.codecs) == (model.shape, model.dtype, model.codecs)


def honest(**members: Any) -> bytes:
    """A pickle as release 0.3 wrote it, of any members."""
    whole = {
        "shape": (20, 10), "chunks": (6, 4), "dtype": np.dtype("<i4"), "cname": b"blosclz",
        "clevel": 5, "shuffle": 1, "fill_value": 0, **members,
    }  # fmt: skip
    # NumPy 2 moved the module whose name release 0.3 found in its own NumPy.
    return pickle.dumps(whole, protocol=0).replace(b"numpy._core", b"numpy.core")


RECORD = np.dtype([("a", "<i4"), ("b", [("x", ">f4"), ("y", "u1")]), ("c", "S3")])


@given(
    st.sampled_from([json.dumps(GOOD).encode(), honest(), honest(dtype=RECORD, fill_value=None)]),
    st.lists(st.tuples(st.integers(0, 2000), st.binary(max_size=3), st.integers(0, 3)), max_size=4),
)
@settings(max_examples=400)
def test_damaged_documents_raise_nothing_else(
    document: bytes, damage: list[tuple[int, bytes, int]]
) -> None:
    for position, data, length in damage:
        at = position % len(document) if document else 0
        document = document[:at] + data + document[at + length :]
    try:
        parse(document)
    except MetadataError as error:
        assert "a/__zmeta__" in str(error)


# -- pickles ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("dtype", "fill"),
    [
        ("|b1", True), ("|b1", False), ("<i4", -7), (">u2", 7), ("<f8", np.nan), ("<f4", -1.5),
        ("<c16", 2.0), ("|S3", b"ab"), ("|S3", b"\xff\x00a"), ("<U3", "é∂"), ("|V4", None),
        ("<M8[25s]", 5), (">m8[ns]", 3), ("<f4", np.float32(0.1)), ("<i8", np.int8(-3)),
        ("<M8[s]", np.datetime64(7, "s")), ("<c8", np.complex64(1 + 2j)), ("|S3", np.bytes_(b"q")),
        (RECORD, None), (RECORD, np.array((1, (2.5, 3), b"q"), RECORD)[()]),
        (np.dtype([("a", "u1"), ("b", "<i4")], align=True), None),
        (np.dtype([("a", "u1"), ("b", "<i4", (2, 3))]), None),
    ],
)  # fmt: skip
def test_what_release_03_pickled_is_read(dtype: Any, fill: Any) -> None:
    model = parse(honest(dtype=np.dtype(dtype), fill_value=fill))
    assert model.shape == (20, 10)
    assert model.dtype == np.dtype(dtype)
    if fill is None:
        assert model.fill_value is None
    else:
        expected = np.array(fill).astype(dtype)
        assert np.array(model.fill_value, dtype).tobytes() == expected.tobytes()


def test_times_keep_their_unit() -> None:
    assert parse(honest(dtype=np.dtype("<M8[25s]"))).dtype == np.dtype("<M8[25s]")


class Evil:
    def __init__(self, function: Any, *arguments: Any) -> None:
        self.call = function, arguments

    def __reduce__(self) -> Any:
        return self.call


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_nothing_in_a_pickle_is_called(protocol: int, tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    calls = [
        (os.system, f"touch {trace}"), (eval, f"open({str(trace)!r}, 'w')"),
        (exec, f"open({str(trace)!r}, 'w')"), (open, str(trace), "w"), (getattr, "", "join"),
        (os.mkdir, str(trace)), (__import__, "os"), (np.load, str(trace)), (bytearray, 5),
    ]  # fmt: skip
    for function, *arguments in calls:
        for member in ("fill_value", "dtype", "shape"):
            document = pickle.dumps({"clevel": 5, member: Evil(function, *arguments)}, protocol)
            message = "pickle: it names" if protocol == 0 else "instruction|invalid JSON"
            with pytest.raises(MetadataError, match=message):
                parse(document)
    assert not trace.exists()


def test_the_refusal_names_the_global() -> None:
    document = pickle.dumps({"shape": Evil(os.system, "true")}, 0)
    with pytest.raises(MetadataError, match=r"'(posix|nt)\.system', which does not belong"):
        parse(document)


@pytest.mark.parametrize("protocol", range(1, pickle.HIGHEST_PROTOCOL + 1))
def test_other_protocols_are_refused(protocol: int) -> None:
    with pytest.raises(MetadataError, match="found the instruction"):
        pickled_metadata.loads(pickle.dumps({**GOOD, "dtype": np.dtype("i4")}, protocol))


def test_every_other_instruction_is_refused() -> None:
    known = {code.decode() for code in pickled_metadata._STEPS} | {"."}
    others = [code.code for code in pickletools.opcodes if code.code not in known]
    assert len(others) > 40
    for code in others:
        with pytest.raises(MetadataError, match="pickle: found the instruction"):
            pickled_metadata.loads(b"(d" + code.encode("latin1") + b"1\n1\n.")


@pytest.mark.parametrize(
    ("program", "message"),
    [
        (b"", "end of the data"),
        (b".", "does not end with one value"),
        (b"NN.", "does not end with one value"),
        (b"(d.x", "does not end with one value"),
        (b"N.", "expected a dict, found nothing"),
        (b"(t.", "expected a dict, found a tuple"),
        (b"(d.", "'shape' is missing"),
        (b"d.", "lacks its mark"),
        (b"t.", "lacks its mark"),
        (b"(R.", "lacks its value"),
        (b"(p0\n.", "lacks its value"),
        (b"s.", "lacks its value"),
        (b"VxVy.", "ends inside an instruction"),
        (b"p0\n.", "lacks its value"),
        (b"Np-1\n.", "no index"),
        (b"Np99999999999\n.", "no index"),
        (b"g7\n.", "nothing was remembered as 7"),
        (b"L" + b"9" * 5000 + b"L\n.", "no integer"),
        (b"I1e5\n.", "no integer"),
        (b"I0x10\n.", "no integer"),
        (b"Fone\n.", "no number"),
        (b"V\\ud8\n.", "no text"),
        (b"(NNd.", "where a name belongs"),
        (b"(Nd.", "a name and no value"),
        (b"(dNNs.", "where a name belongs"),
        (b"NVx\nNs.", "not for a dict"),
        (b"Vx\n(tR.", "a str is called"),
        (b"(d(tR.", "a dict is called"),
        (b"cnumpy\ndtype\n(tR.", "numpy.dtype of what is not its"),
        (b"cnumpy\ndtype\nNR.", "numpy.dtype of what is not its"),
        (b"c_codecs\nencode\n(Vx\nVutf8\ntR.", "_codecs.encode of what is not its"),
        (b"c_codecs\nencode\n(V\\u1234\nVlatin1\ntR.", "are no bytes"),
        (b"cnumpy.core.multiarray\nscalar\n(Vx\nVx\ntR.", "scalar of what is not its"),
        (b"(dNb.", "not for a new dtype"),
        (b"cnumpy\ndtype\n(Vi4\nI0\nI1\ntR(NtbNb.", "not for a new dtype"),
        (b"cnumpy\nDtype\n.", "'numpy.Dtype'"),
        (b"cnumpy \ndtype\n.", "'numpy .dtype'"),
        (b"c\xff\n\xfe\n.", "does not belong"),
    ],
)  # fmt: skip
def test_broken_programs(program: bytes, message: str) -> None:
    with pytest.raises(MetadataError, match=message):
        pickled_metadata.loads(program)


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ({"shape": [20, 10]}, "found the instruction"),
        ({"shape": None}, "shape must be a tuple of integers"),
        ({"shape": (1.5,)}, "shape must be a tuple of integers"),
        ({"shape": ((1,),)}, "shape must be a tuple of integers"),
        ({"shape": (1,) * 65, "chunks": (1,) * 65}, "max_dimensions"),
        ({"dtype": "i4"}, "expected a numpy.dtype, found a str"),
        ({"dtype": np.dtype(object)}, "fixed size"),
        ({"dtype": np.dtype([("a", object)])}, "fixed size"),
        ({"dtype": np.dtype(("i4", (2,)))}, "none of NumPy's"),
        ({"cname": (1,)}, "cname: expected a number or text, found a tuple"),
        ({"cname": b"zstd"}, "cname must be one of"),
        ({"clevel": 11}, "clevel"),
        ({"fill_value": (1,)}, "fill_value: expected a number or text, found a tuple"),
        ({"fill_value": {}}, "fill_value: expected a number or text, found a dict"),
        ({"fill_value": b"ab"}, "fill_value does not fit"),
        ({"fill_value": 1 + 2j}, "it names"),
    ],
)
def test_pickled_members_that_do_not_belong(members: dict[str, Any], message: str) -> None:
    with pytest.raises(MetadataError, match=message):
        parse(honest(**members))


def test_a_value_inside_itself_is_refused() -> None:
    # The dict is its own fill value, its own shape and so on: memo 0 holds it.
    document = honest()
    assert document.startswith(b"(dp0\n")
    start = document.index(b"Vfill_value")
    with pytest.raises(MetadataError, match="fill_value: expected a number or text, found a dict"):
        parse(document[:start] + b"Vfill_value\np90\ng0\ns.")


def dtype_program(text: bytes, state: bytes) -> bytes:
    return b"cnumpy\ndtype\n(V" + text + b"\nI0\nI1\ntR(" + state + b"tb"


def test_shared_records_do_not_multiply() -> None:
    """Each level has ten fields of the level below, which is stored once: 10**12 in all."""
    levels = dtype_program(b"i4", b"I3\nV<\nNNNI-1\nI-1\nI0\n") + b"p0\n"
    names = b"(" + b"".join(b"V%d\n" % n for n in range(10)) + b"t"
    for level in range(12):
        size = 4 * 10**level
        fields = b"".join(b"V%d\n(g%d\nI%d\nt" % (n, level, n * size) for n in range(10))
        state = b"I3\nV|\nN%b(%bdI%d\nI1\nI0\n" % (names, fields, 10 * size)
        levels += dtype_program(b"V%d" % (10 * size), state) + b"p%d\n" % (level + 1)
    program = b"(Vextra\n(%btVdtype\ng12\nVshape\n(tVchunks\n(tVcname\nVlz4\n" % levels
    program += b"Vclevel\nI1\nVshuffle\nI1\nVfill_value\nNd."
    with pytest.raises(MetadataError, match="more than 4096 fields"):
        pickled_metadata.loads(program)


def test_deep_nesting_and_size_are_bounded() -> None:
    with pytest.raises(MetadataError, match="expected a dict, found a tuple"):
        pickled_metadata.loads(b"(" * 200_000 + b"t" * 200_000 + b".")
    with pytest.raises(MetadataError, match="no more than 1048576 are read"):
        pickled_metadata.loads(b"(d" + b"N" * (1 << 20) + b".")
    deep = np.dtype("i4")
    for _ in range(20):
        deep = np.dtype([("a", deep)])
    with pytest.raises(MetadataError, match="nested more than 16 deep"):
        parse(honest(dtype=deep))


def test_a_pickled_array_is_changed_into_the_json_of_the_document(tmp_path: Path) -> None:
    store = tmp_path / "old.zarr"
    store.mkdir()
    (store / "__zmeta__").write_bytes(honest(fill_value=7, shape=(20, 10)))
    array = omnizarr.open(str(store), mode="r+")
    assert isinstance(array, omnizarr.Array)
    array[2:4] = 1
    array.attrs["x"] = 1
    # Release 0.3 knows no attributes and still reads what it wrote.
    assert (store / "__zmeta__").read_bytes() == honest(fill_value=7, shape=(20, 10))
    array.resize((30, 10))
    assert json.loads((store / "__zmeta__").read_text()) == {
        "shape": [30, 10], "chunks": [6, 4], "dtype": "<i4", "cname": "blosclz", "clevel": 5,
        "shuffle": 1, "fill_value": 7,
    }  # fmt: skip
    again = omnizarr.open(str(store), mode="r")
    assert again.attrs["x"] == 1
    assert again[...].sum() == 20 + 280 * 7


def test_a_pickled_fill_value_that_json_cannot_hold_is_not_lost(tmp_path: Path) -> None:
    store = MemoryStore()
    store.set("__zmeta__", honest(dtype=np.dtype("S3"), fill_value=b"\xff\xfe"))
    array = omnizarr.open(store, mode="r+")
    assert array[0, 0] == b"\xff\xfe"
    with pytest.raises(UnsupportedError) as error:
        array.resize((30, 10))
    assert error.value.what == "fill_value"
    assert omnizarr.open(store, mode="r")[0, 0] == b"\xff\xfe"


# -- what cannot be expressed -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        ({"shape": (), "chunks": ()}, "dimensions"),
        ({"order": "F"}, "codecs"),
        ({"shards": (12, 8)}, "shards"),
        ({"compressor": None}, "codecs"),
        ({"compressor": "zlib"}, "codecs"),
        ({"compressor": {"id": "blosc", "cname": "zstd", "clevel": 1, "shuffle": 1}}, "codecs"),
        ({"cname": "zstd"}, "codecs"),
        ({"cname": "snappy"}, "codecs"),
        ({"compressor": {"id": "blosc", "blocksize": 1024}}, "codecs"),
        ({"compressor": {"id": "blosc", "typesize": 2}}, "codecs"),
        ({"compressors": ["gzip"]}, "codecs"),
        ({"filters": [{"id": "delta", "dtype": "<i4"}]}, "codecs"),
        (
            {"codecs": [{"name": "transpose", "configuration": {"order": [1, 0]}}, "bytes"]},
            "codecs",
        ),
        ({"codecs": ["bytes", "crc32c", "blosc"]}, "codecs"),
        ({"codecs": [{"name": "bytes", "configuration": {"endian": "big"}}]}, "codecs"),
        ({"dtype": str}, "data_type"),
        ({"dtype": object, "object_codec": "vlen-utf8"}, "data_type"),
        ({"dtype": "M8"}, "data_type"),
        ({"dtype": [("a", "<i4", (2,))]}, "data_type"),
        ({"dtype": np.dtype([("a", "u1"), ("b", "i4")], align=True)}, "data_type"),
        ({"dtype": "c8", "fill_value": 1j}, "fill_value"),
        ({"dtype": "S3", "fill_value": b"\xff"}, "fill_value"),
        ({"dtype": "V3", "fill_value": b"abc"}, "fill_value"),
        ({"dtype": [("a", "i4")], "fill_value": (1,)}, "fill_value"),
        ({"dtype": [("a", "S3")], "fill_value": (b"",)}, "fill_value"),
        ({"dimension_names": ("x", None)}, "dimension_names"),
        ({"chunk_key_encoding": "default"}, "chunks"),
        ({"chunks": ((5, 15), (10,))}, "chunks"),
    ],
)
def test_refusals_name_the_part(arguments: dict[str, Any], what: str) -> None:
    with pytest.raises(UnsupportedError) as error:
        new(**arguments)
    assert error.value.what == what


def test_there_are_no_groups() -> None:
    for make in (omnizarr.create_group, omnizarr.open_group, omnizarr.group):
        with pytest.raises(UnsupportedError, match="no groups") as error:
            make(MemoryStore(), zarr_format=0)
        assert error.value.what == "groups"
    with pytest.raises(UnsupportedError, match="no consolidated"):
        formats.consolidate(V0(), MemoryStore(), "")


# -- through the public surface ---------------------------------------------------------------


def test_an_array_and_its_keys() -> None:
    store = MemoryStore()
    array = omnizarr.create_array(
        store, shape=(20, 10), chunks=(6, 4), dtype="i4", fill_value=42, zarr_format=0,
        cname="lz4", clevel=3, shuffle=1,
    )  # fmt: skip
    assert list(store) == ["__zmeta__"]
    assert bytes(store["__zmeta__"]) == json.dumps(GOOD, indent=4, sort_keys=True).encode()
    array[2:9, 3:5] = 1
    assert list(store) == [
        *(f"__zdata__/{i}.{j}.blosc" for i in (0, 1) for j in (0, 1)),
        "__zmeta__",
    ]
    array.attrs["x"] = [1]
    assert bytes(store["__zattr__"]) == b'{\n    "x": [\n        1\n    ]\n}'
    expected = np.full((20, 10), 42, "i4")
    expected[2:9, 3:5] = 1
    again = omnizarr.open(store, mode="r")
    assert isinstance(again, omnizarr.Array)
    assert again.metadata.zarr_format == 0
    assert np.array_equal(again[...], expected)
    with pytest.raises(ReadOnlyError):
        again[0] = 1


def test_life_of_an_array(tmp_path: Path) -> None:
    path = str(tmp_path / "a.zarr")
    array = omnizarr.open(path, mode="w", shape=(4, 3), chunks=(3, 2), dtype="f8", zarr_format=0)
    expected = np.arange(12, dtype="f8").reshape(4, 3)
    array[...] = expected
    array.append(expected)
    array.append(np.ones((8, 2)), axis=1)
    expected = np.hstack([np.vstack([expected, expected]), np.ones((8, 2))])
    assert np.array_equal(omnizarr.open(path, mode="r")[...], expected)
    array.resize((5, 2))
    assert np.array_equal(omnizarr.open_array(path, mode="r+")[...], expected[:5, :2])
    array.resize((0, 2))
    assert omnizarr.open(path)[...].shape == (0, 2)
    array.attrs.update({"a": 1, "b": 2})
    del array.attrs["a"]
    assert omnizarr.open(path).attrs.asdict() == {"b": 2}
    with pytest.raises(ContainsArrayError):
        omnizarr.create_array(path, shape=3, dtype="i4", zarr_format=0)
    omnizarr.create_array(path, shape=3, dtype="i4", zarr_format=0, overwrite=True)
    assert sorted(os.listdir(path)) == ["__zdata__", "__zmeta__"]
    assert omnizarr.open(path)[...].tolist() == [0, 0, 0]
    # Another format takes its place, and nothing is left of it.
    omnizarr.create_array(path, shape=3, dtype="i4", zarr_format=2, overwrite=True)
    assert os.listdir(path) == [".zarray"]


def test_a_directory_of_arrays(tmp_path: Path) -> None:
    for name in ("a", "b/c"):
        array = omnizarr.create_array(
            str(tmp_path), name=name, shape=4, chunks=3, dtype="i2", zarr_format=0
        )
        array[...] = [1, 2, 3, 4]
    assert sorted(os.listdir(tmp_path)) == ["a", "b"]
    assert omnizarr.open(str(tmp_path / "b" / "c"))[...].tolist() == [1, 2, 3, 4]
    assert omnizarr.open(str(tmp_path), path="b/c")[...].tolist() == [1, 2, 3, 4]
    with pytest.raises(NodeNotFoundError, match="__zmeta__"):
        omnizarr.open(str(tmp_path), mode="r")
    with pytest.raises(ContainsArrayError):
        omnizarr.create_array(str(tmp_path), name="a/x", shape=1, dtype="i2", zarr_format=0)


def test_chunks_have_their_directory_from_the_start(tmp_path: Path) -> None:
    prefix = PrefixStore(LocalStore(tmp_path), "inside")
    omnizarr.create_array(prefix, name="x", shape=4, dtype="i2", zarr_format=0)
    assert os.listdir(tmp_path / "inside" / "x" / "__zdata__") == []
    with pytest.raises(ReadOnlyError):
        ReadOnlyStore(LocalStore(tmp_path)).make_prefix("a/")
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match="file"):
        LocalStore(tmp_path).make_prefix("file/")


def test_what_a_crash_leaves_is_no_chunk(tmp_path: Path) -> None:
    array = omnizarr.open(str(tmp_path), mode="w", shape=4, chunks=2, dtype="i2", zarr_format=0)
    array[...] = [1, 2, 3, 4]
    shutil.copy(tmp_path / "__zdata__" / "0.blosc", tmp_path / "__zdata__" / "0.blosc.x.partial")
    (tmp_path / "__zattr__.lock").write_text("")
    again = omnizarr.open(str(tmp_path))
    assert isinstance(again, omnizarr.Array)
    assert again[...].tolist() == [1, 2, 3, 4]
    assert again.nchunks_initialized == 2


def test_the_newer_document_wins() -> None:
    store = MemoryStore()
    omnizarr.create_array(store, shape=3, dtype="i4", zarr_format=0)
    store.set(".zgroup", b'{"zarr_format": 2}')
    found = find(store, "")
    assert found is not None
    assert found[0].name == 2
    assert omnizarr.open_array(store, mode="r", zarr_format=0).shape == (3,)


# -- the keywords of those days ---------------------------------------------------------------


@pytest.mark.parametrize("zarr_format", [0, 1, 2, 3])
def test_keywords_work_in_every_format(zarr_format: int) -> None:
    array = omnizarr.create(
        (100,), chunks=10, dtype="f8", cname="zlib", clevel=1, shuffle=2, zarr_format=zarr_format
    )
    array[...] = np.arange(100)
    [codec] = array.compressors
    assert (codec.cname, codec.clevel) == ("zlib", 1)
    assert np.array_equal(array[...], np.arange(100))


def test_keywords_left_out_have_their_old_defaults() -> None:
    assert json.loads(new(clevel=9).store["__zmeta__"]).items() >= {
        ("cname", "blosclz"), ("clevel", 9), ("shuffle", 1),
    }  # fmt: skip
    document = json.loads(new(cname=b"lz4hc", shuffle=None).store["__zmeta__"])
    assert (document["cname"], document["clevel"], document["shuffle"]) == ("lz4hc", 5, 1)
    document = json.loads(new().store["__zmeta__"])
    assert (document["cname"], document["clevel"], document["shuffle"]) == ("blosclz", 5, 1)


@pytest.mark.parametrize(
    "other",
    [
        {"compressor": None}, {"compressors": "auto"}, {"codecs": ["bytes"]},
        {"compression": "zlib"}, {"compression_opts": 1},
    ],
)  # fmt: skip
def test_one_way_to_name_a_compressor_at_a_time(other: dict[str, Any]) -> None:
    with pytest.raises(TypeError, match="in two ways"):
        new(cname="lz4", **other)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"compressor": {"id": "blosc", "shuffle": -1}}, ("lz4", 5, 1)),
        ({"compressor": {"id": "blosc", "shuffle": -1}, "dtype": "u1"}, ("lz4", 5, 2)),
        ({"compressors": [{"name": "blosc", "configuration": {
            "cname": "zlib", "clevel": 2, "shuffle": "bitshuffle", "typesize": 4, "blocksize": 0,
        }}]}, ("zlib", 2, 2)),
        ({"compression": "blosc"}, ("lz4", 5, 1)),
        ({"codecs": ["bytes", {"id": "blosc", "cname": "lz4", "shuffle": 0}]}, ("lz4", 5, 0)),
    ],
)  # fmt: skip
def test_blosc_in_other_words(arguments: dict[str, Any], expected: tuple[Any, ...]) -> None:
    document = json.loads(new(**arguments).store["__zmeta__"])
    assert (document["cname"], document["clevel"], document["shuffle"]) == expected


# -- fixtures ---------------------------------------------------------------------------------


def test_every_fixture_reads() -> None:
    rows = [row for row in fixtures.rows() if row.format.startswith("v0")]
    assert len(rows) == 84
    for row in rows:
        array = omnizarr.open(str(fixtures.unpacked(row.source) / row.store), mode="r")
        assert isinstance(array, omnizarr.Array)
        assert array.metadata.zarr_format == 0
        assert fixtures.difference(row, array[...]) is None, row.path
