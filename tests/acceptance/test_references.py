"""Reference files that kerchunk made of an HDF5 file: read here, by h5py, and by zarr-python
through fsspec; three times the same values. The targets lie in the same folder, behind a web
server, or in S3."""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import omnizarr
from omnizarr.errors import StoreError
from omnizarr.stores import ReferenceStore, as_store
from omnizarr.testing import CountingStore

pytestmark = pytest.mark.peers

REPOSITORY = Path(__file__).resolve().parents[2]
PYTHON = REPOSITORY / ".peers" / "zarr3" / "bin" / "python"
SCRIPT = Path(__file__).parent / "reference_peer.py"
KINDS = ("version0.json", "version1.json", "templates.json", "packed.json.zst", "refs.parq")
NAMES = ("temperature", "contiguous", "small", "group/deep", "point", "sparse", "text")
THEIR_FAULTS = {("refs.parq", "sparse")}
"""fsspec takes the row of a missing chunk for a file, and fails."""


def peer(*arguments: object) -> None:
    if not PYTHON.exists():
        pytest.fail(f"{PYTHON} does not exist: run `make peers`")
    command = [str(PYTHON), str(SCRIPT), *map(str, arguments)]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr[-4000:]


@pytest.fixture(scope="module")
def made() -> Iterator[Path]:
    """A folder with data.h5, its values as h5py reads them, and references; and what zarr-python
    reads through the references, in `read`."""
    folder = Path(tempfile.mkdtemp(prefix="references-"))
    try:
        peer("make", folder)
        (folder / "read").mkdir()
        peer("read", folder, folder / "read")
        yield folder
    finally:
        shutil.rmtree(folder)


def expected(folder: Path, name: str) -> Any:
    return np.load(folder / f"{name.replace('/', '-')}.npy")


@pytest.mark.parametrize("kind", KINDS)
def test_reading_what_kerchunk_made(made: Path, kind: str, summary: Callable[[str], None]) -> None:
    root = omnizarr.open(str(made / kind), mode="r")
    assert isinstance(root.store, ReferenceStore)
    assert sorted(root) == sorted({name.partition("/")[0] for name in NAMES})
    assert root["temperature"].attrs["units"] == "K"
    compared = 0
    for name in NAMES:
        values = expected(made, name)
        np.testing.assert_array_equal(root[name][...], values, err_msg=name)
        theirs = made / "read" / f"{kind}-{name.replace('/', '-')}.npy"
        if (kind, name) in THEIR_FAULTS:
            assert theirs.with_suffix(".error").exists(), "it works: take it from the list"
        elif not kind.endswith(".zst"):
            np.testing.assert_array_equal(root[name][...], np.load(theirs), err_msg=name)
            compared += 1
    wanted = 0 if kind.endswith(".zst") else len(NAMES) - sum(kind == k for k, _ in THEIR_FAULTS)
    assert compared == wanted
    summary(
        f"references: kerchunk's {kind}: {len(NAMES)} arrays equal h5py's, {compared} compared with"
        " zarr-python's too"
    )


@pytest.mark.parametrize("kind", ["version1.json", "refs.parq"])
def test_our_listing_is_theirs(made: Path, kind: str) -> None:
    refs = json.loads((made / "version0.json").read_text())
    store = ReferenceStore(made / kind)
    assert set(store.list()) - {".zmetadata"} == set(refs) - {".zmetadata"}


def test_targets_behind_a_web_server(
    made: Path, server: Callable[[str], Any], tmp_path: Path, summary: Callable[[str], None]
) -> None:
    nginx = server("nginx")
    shutil.copy(made / "data.h5", nginx.root / "data.h5")
    url = nginx.urls["plain"]
    text = (made / "version1.json").read_text().replace(str(made), url)
    assert url in text
    (tmp_path / "refs.json").write_text(text)
    (nginx.root / "relative.json").write_text(
        (made / "version0.json").read_text().replace(f"{made}/", "")
    )
    here = omnizarr.open(tmp_path / "refs.json", mode="r")
    there = omnizarr.open(f"reference://{url}/relative.json", mode="r")
    options = {"fo": f"{url}/relative.json", "remote_options": {"deadline": 20}}
    third = omnizarr.open("reference://", storage_options=options, mode="r")
    for root in (here, there, third):
        for name in NAMES:
            np.testing.assert_array_equal(root[name][...], expected(made, name), err_msg=name)
    store = ReferenceStore(tmp_path / "refs.json")
    target = store._targets.find(f"{url}/data.h5")
    counted = CountingStore(target.store)
    store._targets._known[f"{url}/data.h5"] = target._replace(store=counted)
    deep = omnizarr.open_array(store, path="group/deep", mode="r")
    np.testing.assert_array_equal(deep[...], expected(made, "group/deep"))
    assert deep.nchunks == 16 and counted.counts["get"] <= 3, "neighbours are read as one"
    summary(
        f"references: targets behind nginx: {deep.nchunks} chunks in {counted.counts['get']}"
        " requests"
    )
    with open(nginx.root / "data.h5", "r+b") as file:
        file.truncate(20_000)
    with pytest.raises(StoreError):
        omnizarr.open_array(tmp_path / "refs.json", path="group/deep", mode="r")[...]
    (nginx.root / "data.h5").unlink()
    with pytest.raises(StoreError):
        here["group/deep"][...]


def test_targets_in_an_object_store(
    made: Path, server: Callable[[str], Any], summary: Callable[[str], None]
) -> None:
    s3 = server("s3")
    bucket = f"s3://{s3.bucket}/references"
    with as_store(bucket, storage_options=s3.options) as store:
        store.set("data.h5", (made / "data.h5").read_bytes())
        refs = (made / "version0.json").read_text().replace(str(made), bucket)
        store.set("refs.json", refs.encode())
        for path in (made / "refs.parq").rglob("*"):
            if path.is_file():
                store.set(path.relative_to(made).as_posix(), path.read_bytes())
    options = {"target_options": s3.options, "remote_options": s3.options}
    for place in (f"{bucket}/refs.json", f"{bucket}/refs.parq"):
        if place.endswith(".parq"):
            options["allow"] = [str(made)]  # its rows name the file where it was made
        root = omnizarr.open(f"reference://{place}", storage_options=options, mode="r")
        for name in NAMES:
            np.testing.assert_array_equal(root[name][...], expected(made, name), err_msg=name)
        assert "wJalr" not in repr(root.store)
    summary("references: reference files and targets in S3: equal")
