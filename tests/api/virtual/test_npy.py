"""npy files as groups: what NumPy writes, in parts of the file, and damaged or hostile headers."""

from __future__ import annotations

import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import omnizarr
from omnizarr.api.virtual import npy
from omnizarr.api.virtual.npy_header import MOST_HEADER, read_header
from omnizarr.errors import MetadataError, UnsupportedError, ZarrError

DTYPES = st.one_of(
    hnp.scalar_dtypes().filter(lambda dtype: dtype.itemsize <= 16 and dtype.char not in "gG"),
    st.sampled_from(["U3", ">U2", "S5", "V4", "M8[25us]", "m8[D]", ">f4", ">c16", "f2"]).map(
        np.dtype
    ),
    st.sampled_from(
        [
            np.dtype([("a", "<i4"), ("b", "<f8"), ("t", "<M8[ns]")]),
            np.dtype([("a", "u1"), ("b", "<f8")]),
            np.dtype([("a", [("x", "<i2"), ("y", "S3")]), ("b", "<f4", (2, 2))]),
        ]
    ),
)


def write(path: Path, values: np.ndarray[Any, Any], version: tuple[int, int] | None) -> None:
    with path.open("wb") as file:
        np.lib.format.write_array(file, values, version, allow_pickle=False)


def same(found: np.ndarray[Any, Any], values: np.ndarray[Any, Any]) -> bool:
    return found.dtype == values.dtype and found.tobytes() == values.tobytes()


@settings(max_examples=40, deadline=None)
@given(data=st.data(), dtype=DTYPES, fortran=st.booleans())
def test_what_numpy_writes(
    data: st.DataObject, dtype: np.dtype[Any], fortran: bool, tmp_path_factory: Any
) -> None:
    if not dtype.itemsize:
        return
    shape = data.draw(hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=6))
    size = int(np.prod(shape)) * dtype.itemsize
    octets = data.draw(st.binary(min_size=size, max_size=size))
    # Bits of another kind are no text, nor truths.
    if dtype.kind in "bU":
        octets = bytes(size)
    values = np.frombuffer(octets, dtype).reshape(shape)
    values = np.asfortranarray(values) if fortran and shape else values
    path = tmp_path_factory.mktemp("npy") / "x.npy"
    write(path, values, data.draw(st.sampled_from([None, (1, 0), (2, 0), (3, 0)])))
    root = omnizarr.virtualize(path)
    assert list(root) == ["data"]
    assert root["data"].shape == shape
    assert same(np.asarray(root["data"][...]), values)


@pytest.mark.parametrize("fortran", [False, True])
@pytest.mark.parametrize(
    "shape", [(10007,), (2, 997), (31, 37, 5), (3, 1009), (1009, 3), (2, 3, 4)]
)
def test_parts_of_a_file(
    shape: tuple[int, ...], fortran: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(npy, "CHUNK_BYTES", 400)
    monkeypatch.setattr(npy, "_MOST_REST", 100)
    values = np.arange(np.prod(shape)).reshape(shape)
    values = np.asfortranarray(values) if fortran else values
    np.save(tmp_path / "x.npy", values)
    array = omnizarr.virtualize(tmp_path / "x.npy")["data"]
    assert np.prod(array.chunks) * 8 <= 400
    assert array.order == ("F" if fortran and len(shape) > 1 else "C")
    assert same(np.asarray(array[...]), np.ascontiguousarray(values))
    done = omnizarr.convert(array, tmp_path / "x.zarr")
    assert done.nodes[0].action == "copy chunks"
    copy = omnizarr.open_array(tmp_path / "x.zarr", mode="r")
    assert same(np.asarray(copy[...]), np.ascontiguousarray(values))


@pytest.mark.slow
def test_memory_is_bounded(tmp_path: Path) -> None:
    values = np.memmap(tmp_path / "x.raw", "f8", "w+", shape=(997, 32 << 10))
    np.save(tmp_path / "x.npy", values)  # 249 MiB, mostly a hole
    root = omnizarr.virtualize(tmp_path / "x.npy")
    tracemalloc.start()
    try:
        omnizarr.convert(root, tmp_path / "x.zarr", workers=1, max_memory="32 MiB")
        assert tracemalloc.get_traced_memory()[1] < 64 << 20
    finally:
        tracemalloc.stop()
    assert omnizarr.open_array(tmp_path / "x.zarr" / "data")[996, 5] == 0


def test_several_files(tmp_path: Path) -> None:
    for number in range(3):
        np.save(tmp_path / f"{number}.npy", np.full((4, 2), number))
    root = omnizarr.virtualize(str(tmp_path / "*.npy"), join=0, output=tmp_path / "refs.json")
    assert root["data"][:, 0].tolist() == [0] * 4 + [1] * 4 + [2] * 4
    assert omnizarr.open(tmp_path / "refs.json", mode="r")["data"].shape == (12, 2)
    stacked = omnizarr.virtualize(str(tmp_path / "*.npy"), new_dim="time")
    assert stacked["data"].dimension_names == ("time", "dim_0", "dim_1")
    np.save(tmp_path / "3.npy", np.asfortranarray(np.full((4, 2), 3)))
    with pytest.raises(MetadataError, match="order of the elements"):
        omnizarr.virtualize(str(tmp_path / "*.npy"), join=0)


def test_parts_that_are_held_are_joined(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(npy, "CHUNK_BYTES", 80)
    monkeypatch.setattr(npy, "_MOST_REST", 24)
    values = np.arange(50).reshape(10, 5), np.arange(35).reshape(7, 5)
    for number, each in enumerate(values):
        np.save(tmp_path / f"{number}.npy", each)
    root = omnizarr.virtualize(str(tmp_path / "*.npy"), join=0)
    assert same(np.asarray(root["data"][...]), np.concatenate(values))


# -- what is refused ------------------------------------------------------------------------------


def header(text: str | bytes, version: int = 1, length: int | None = None) -> bytes:
    encoded = text if isinstance(text, bytes) else text.encode("latin-1")
    size = len(encoded) if length is None else length
    return (
        b"\x93NUMPY"
        + bytes([version, 0])
        + size.to_bytes(2 if version == 1 else 4, "little")
        + encoded
    )


def described(descr: str = "'<f8'", fortran: str = "False", shape: str = "(2,)") -> bytes:
    return header(f"{{'descr': {descr}, 'fortran_order': {fortran}, 'shape': {shape}, }}\n")


HOSTILE = {
    "no header": b"\x93NUMPY",
    "unknown version": header("", 9),
    "too long": header("", 2, 1 << 31),
    "truncated": header("{'descr'", 1, 100),
    "no dictionary": header("(1, 2)\n"),
    "members": header("{'descr': '<f8'}\n"),
    "a call": header("{'descr': __import__('os'), 'fortran_order': False, 'shape': ()}\n"),
    "operators": header("-" * 60_000 + "1"),
    "brackets": header("(" * 5000 + ")" * 5000),
    "large numbers": described(shape="(" + "9" * 60_000 + ",)"),
    "not UTF-8": header(b"\xff{}", 3),
    "negative": described(shape="(-1,)"),
    "a bool": described(shape="(True,)"),
    "no tuple": described(shape="5"),
    "too large": described(shape=f"({1 << 62}, {1 << 62})"),
    "too large though empty": described(shape=f"(0, {1 << 62}, {1 << 62})"),
    "dimensions": described(shape="(" + "1, " * 100 + ")"),
    "more than there is": described(shape="(1000000000,)") + bytes(16),
    "less than there is": described() + bytes(24),
    "order": described(fortran="1"),
    "no type": described("'<q9'"),
    "a type of numbers": described("5"),
    "a long type": described("'<U4000000000'"),
    "nothing": described("'S0'"),
    "a tuple": described("('<f8', (3,))"),
    "lists": described("[" * 30 + "'a'" + "]" * 30),
    "objects": described("'|O'") + bytes(16),
    "objects in records": described("[('a', '<i4'), ('b', '|O')]") + bytes(24),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_hostile_headers(case: str, tmp_path: Path) -> None:
    (tmp_path / "x.npy").write_bytes(HOSTILE[case])
    with pytest.raises((MetadataError, UnsupportedError), match=r"x\.npy"):
        omnizarr.virtualize(tmp_path / "x.npy", kind="npy")


def test_pickles_are_refused_by_name(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.array([{}, None], object), allow_pickle=True)
    with pytest.raises(UnsupportedError, match=r"Python objects.*does not load pickles"):
        omnizarr.virtualize(tmp_path / "x.npy")


def test_headers_of_python_2(tmp_path: Path) -> None:
    text = "{'descr': '<f8', 'fortran_order': False, 'shape': (2L,), }\n"
    (tmp_path / "x.npy").write_bytes(header(text) + np.array([1.0, 2.0]).tobytes())
    assert omnizarr.virtualize(tmp_path / "x.npy")["data"][:].tolist() == [1, 2]


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_mutated_headers(data: st.DataObject, tmp_path_factory: Any) -> None:
    """A header that was changed anywhere means what NumPy says, or is refused."""
    whole = bytearray(described("[('a', '<i4'), ('b', '<f4', (2,))]", shape="(2, 1)") + bytes(24))
    for _ in range(data.draw(st.integers(1, 3))):
        whole[data.draw(st.integers(0, 90))] = data.draw(st.integers(0, 255))
    path = tmp_path_factory.mktemp("npy") / "x.npy"
    path.write_bytes(whole)
    try:
        found = omnizarr.virtualize(path, kind="npy")["data"][...]
    except ZarrError:
        return
    expected = np.load(path, allow_pickle=False)
    assert found.shape == expected.shape and found.dtype == expected.dtype


def test_a_long_header_is_read(tmp_path: Path) -> None:
    values = np.zeros(2, [(f"field{number}", "<i4") for number in range(1000)])
    np.save(tmp_path / "x.npy", values)
    with (tmp_path / "x.npy").open("rb") as file:
        assert 10_000 < read_header(file).size < MOST_HEADER
    assert omnizarr.virtualize(tmp_path / "x.npy")["data"].dtype == values.dtype
