"""Runs inside a peer's environment: makes reference files with kerchunk, and reads them through
fsspec and zarr-python.

    python reference_peer.py make FOLDER        data.h5, its values as .npy, and references of it
    python reference_peer.py read FOLDER OUT    what zarr-python reads of each, as .npy

This script knows the peers. It must not import the library under test.
"""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np

NAMES = ("temperature", "contiguous", "small", "group/deep", "point", "sparse", "text")
KINDS = ("version0.json", "version1.json", "templates.json", "packed.json.zst", "refs.parq")


def make(folder: Path) -> None:
    import h5py
    import kerchunk.df
    from kerchunk.hdf import SingleHdf5ToZarr

    rng = np.random.default_rng(1)
    with h5py.File(folder / "data.h5", "w") as file:
        wave = rng.normal(size=(90, 70)).astype("f4")
        options: dict[str, Any] = {"compression": "gzip", "shuffle": True, "fletcher32": False}
        temperature = file.create_dataset("temperature", data=wave, chunks=(20, 30), **options)
        temperature.attrs["units"] = "K"
        file.create_dataset("contiguous", data=np.arange(5000, dtype=">i4"))
        file.create_dataset("small", data=np.arange(5, dtype="i2"))
        file.create_dataset("group/deep", data=rng.integers(0, 9, (20, 20, 5)), chunks=(5, 5, 5))
        file.create_dataset("point", data=3.5)
        sparse = file.create_dataset("sparse", (100,), "f8", chunks=(10,), fillvalue=-1)
        sparse[25:27] = 2
        file.create_dataset("text", data=np.array([b"one", b"three", b"seven"], "S5"))
        for name in NAMES:
            np.save(folder / f"{name.replace('/', '-')}.npy", np.asarray(file[name][...]))
    made = SingleHdf5ToZarr(str(folder / "data.h5"), inline_threshold=100).translate()
    (folder / "version1.json").write_text(json.dumps(made))
    (folder / "version0.json").write_text(json.dumps(made["refs"]))
    refs = json.loads(json.dumps(made["refs"]).replace(str(folder), "{{u}}"))
    templated = {"version": 1, "templates": {"u": str(folder)}, "refs": refs}
    (folder / "templates.json").write_text(json.dumps(templated))
    from numcodecs.zstd import Zstd

    (folder / "packed.json.zst").write_bytes(Zstd().encode(json.dumps(made).encode()))
    kerchunk.df.refs_to_dataframe(made, str(folder / "refs.parq"), record_size=7)


def read(folder: Path, out: Path) -> None:
    import fsspec
    import zarr

    for kind in KINDS:
        if kind.endswith(".zst"):
            continue  # fsspec needs one more package for it
        options = {"fo": str(folder / kind), "remote_protocol": "file", "asynchronous": True}
        fs = fsspec.filesystem("reference", **options)
        root = zarr.open_group(
            zarr.storage.FsspecStore(fs, read_only=True), mode="r", zarr_format=2
        )
        for name in NAMES:
            try:
                values = np.asarray(root[name][...])
            except TypeError as error:
                (out / f"{kind}-{name}.error").write_text(repr(error))
            else:
                np.save(out / f"{kind}-{name.replace('/', '-')}.npy", values)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    if sys.argv[1] == "make":
        make(Path(sys.argv[2]))
    else:
        read(Path(sys.argv[2]), Path(sys.argv[3]))
