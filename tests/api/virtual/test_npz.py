"""npz files as groups: what NumPy writes, with and without compression, and hostile archives."""

from __future__ import annotations

import io
import tracemalloc
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import omnizarr
from omnizarr.api.virtual import npz
from omnizarr.errors import LimitError, MetadataError, StoreError, UnsupportedError, ZarrError

RANDOM = np.random.default_rng(3)
ARRAYS: dict[str, Any] = {
    "x": np.arange(5),
    "y": np.asfortranarray(RANDOM.random((40, 30))),
    "group/inner": np.array([["a", "bb"]]),
    "group/deeper/scalar": np.array(2.5),
    "empty": np.zeros((0, 3), "i2"),
    "Zürich": np.array([1, 2], ">u2"),
}


def npy(values: Any) -> bytes:
    stream = io.BytesIO()
    np.save(stream, values)
    return stream.getvalue()


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_what_numpy_writes(save: Any, tmp_path: Path) -> None:
    save(tmp_path / "x.npz", **ARRAYS)
    root = omnizarr.virtualize(tmp_path / "x.npz")
    assert sorted(dict(root.members(None))) == sorted([*ARRAYS, "group", "group/deeper"])
    for name, values in ARRAYS.items():
        found = np.asarray(root[name][...])
        assert found.dtype == values.dtype and found.shape == values.shape
        np.testing.assert_array_equal(found, values)
    inner = omnizarr.virtualize(tmp_path / "x.npz", group="group", skip=["scalar"])
    assert list(inner) == ["inner"] or sorted(inner) == ["deeper", "inner"]
    done = omnizarr.convert(root, tmp_path / "x.zarr")
    assert len(done.nodes) == len(ARRAYS) + 3
    np.testing.assert_array_equal(omnizarr.open(tmp_path / "x.zarr")["y"][...], ARRAYS["y"])


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_other_methods(method: int, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "x.npz", "w", method) as archive:
        archive.writestr("a.npy", npy(ARRAYS["y"]))
    np.testing.assert_array_equal(omnizarr.virtualize(tmp_path / "x.npz")["a"][...], ARRAYS["y"])


def test_no_arrays(tmp_path: Path) -> None:
    np.savez(tmp_path / "x.npz")
    assert list(omnizarr.virtualize(tmp_path / "x.npz")) == []


def test_large_compressed_arrays_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(npz, "HELD_TOGETHER", 4000)
    np.savez_compressed(tmp_path / "x.npz", a=np.zeros(400), b=np.zeros(400))
    with pytest.raises(LimitError, match=r"array 'b'.*savez"):
        omnizarr.virtualize(tmp_path / "x.npz")
    assert omnizarr.virtualize(tmp_path / "x.npz", skip=["b"])["a"].shape == (400,)


@pytest.mark.slow
def test_a_bomb_takes_no_memory(tmp_path: Path) -> None:
    """A member that inflates to more than the directory, or its header, declares."""
    path = tmp_path / "x.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.npy", npy(np.zeros(2))[:-16] + bytes(200 << 20))
    tracemalloc.start()
    try:
        with pytest.raises(MetadataError, match="takes"):
            omnizarr.virtualize(path)
        # The directory lies about the size too.
        data = path.read_bytes().replace((200 << 20).to_bytes(4, "little"), b"\x90\0\0\0")
        size = (len(npy(np.zeros(2))) - 16 + (200 << 20)).to_bytes(4, "little")
        path.write_bytes(data.replace(size, len(npy(np.zeros(2))).to_bytes(4, "little")))
        with pytest.raises(StoreError, match=r"inflates to more than|differ"):
            omnizarr.virtualize(path)
        assert tracemalloc.get_traced_memory()[1] < 32 << 20
    finally:
        tracemalloc.stop()


def test_damage_in_a_compressed_member_is_found(tmp_path: Path) -> None:
    path = tmp_path / "x.npz"
    np.savez_compressed(path, a=np.arange(10_000))
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 16
    path.write_bytes(data)
    with pytest.raises(ZarrError, match="array 'a'"):
        omnizarr.virtualize(path)


NAMES = ["../a.npy", "/a.npy", "a//b.npy", ".npy", "a/../b.npy", "c:/a.npy"]


@pytest.mark.parametrize("name", NAMES)
def test_names_that_name_no_array(name: str, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "x.npz", "w") as archive:
        archive.writestr(zipfile.ZipInfo(name), npy(np.zeros(2)))
    with pytest.raises(MetadataError, match="names no array"):
        omnizarr.virtualize(tmp_path / "x.npz")


def test_what_is_no_archive_of_numpy(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as archive:
        archive.writestr("zarr.json", "{}")
    with pytest.raises(UnsupportedError, match=r"no npy file.*omnizarr\.open"):
        omnizarr.virtualize(tmp_path / "x.zip", kind="npz")
    with pytest.raises(UnsupportedError, match="neither HDF5"):  # for all that is known, a Zarr
        omnizarr.virtualize(tmp_path / "x.zip")
    with zipfile.ZipFile(tmp_path / "y.npz", "w") as archive:
        archive.writestr("a.npy", npy(np.zeros(2)))
        archive.writestr("a/b.npy", npy(np.zeros(2)))
    with pytest.raises(UnsupportedError, match="below it"):
        omnizarr.virtualize(tmp_path / "y.npz")
    np.savez(tmp_path / "z.npz", a=np.array([{}], object))
    with pytest.raises(UnsupportedError, match="pickle"):
        omnizarr.virtualize(tmp_path / "z.npz")


@settings(max_examples=80, deadline=None)
@given(data=st.data())
def test_mutated_archives(data: st.DataObject, tmp_path_factory: Any) -> None:
    """Damage is an error, or in the values of a stored array, whose checksum is not read."""
    folder = tmp_path_factory.mktemp("npz")
    save = data.draw(st.sampled_from([np.savez, np.savez_compressed]))
    save(folder / "x.npz", a=np.arange(6), b=np.ones((2, 2)))
    whole = bytearray((folder / "x.npz").read_bytes())
    for _ in range(data.draw(st.integers(1, 3))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    if data.draw(st.booleans()):
        del whole[data.draw(st.integers(0, len(whole) - 1)) :]
    (folder / "x.npz").write_bytes(whole)
    try:
        root = omnizarr.virtualize(folder / "x.npz", kind="npz")
        for _, array in root.arrays():
            array[...]
    except ZarrError:
        pass
