"""Manifests: every byte counts, in whatever order and wherever it is read."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import google_crc32c
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import omnizarr
from omnizarr.errors import MetadataError, NodeNotFoundError
from omnizarr.jobs import checksums
from omnizarr.jobs.manifest import Entry, Manifest


def test_digests_are_those_of_the_stored_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checksums, "PIECE", 7)
    store = omnizarr.MemoryStore({"a/x": b"1234567", "a/y": bytes(range(50)), "b": b"", "c": b"!"})
    manifest = omnizarr.checksum(store)
    assert manifest.entries == tuple(
        Entry(key, len(value), hashlib.sha256(value).hexdigest())
        for key, value in [("a/x", b"1234567"), ("a/y", bytes(range(50))), ("b", b""), ("c", b"!")]
    )
    (entry,) = omnizarr.checksum(store, "a", algorithm="crc32c").entries[1:]
    assert entry == ("y", 50, f"{google_crc32c.value(bytes(range(50))):08x}")


@given(st.data())
def test_compare_says_what_changed(data: Any) -> None:
    values = st.dictionaries(st.sampled_from("abcdefgh"), st.binary(max_size=3), min_size=1)
    old, new = data.draw(values), data.draw(values)
    before, after = (omnizarr.checksum(omnizarr.MemoryStore(dict(each))) for each in (old, new))
    found = before.compare(after)
    assert set(found.changed) == {key for key in old if key in new and old[key] != new[key]}
    assert set(found.missing) == old.keys() - new.keys()
    assert set(found.new) == new.keys() - old.keys()
    assert bool(found) == (old != new) == (before.digest != after.digest)
    assert str(found)


@pytest.mark.parametrize("executor", ["threads", "processes"])
def test_the_same_by_every_executor(executor: str, tmp_path: Path) -> None:
    root = omnizarr.open_group(tmp_path / "a.zarr", mode="w")
    root.create_array("v", data=np.arange(1000), chunks=3)
    (tmp_path / "a.zarr" / ".omnizarr-append.json").write_text("{}")
    alone = omnizarr.checksum(root, workers=1)
    heard: list[int] = []
    found = omnizarr.checksum(
        tmp_path / "a.zarr", executor=executor, workers=2, progress=lambda p: heard.append(p.done)
    )
    assert found.digest == alone.digest
    assert len(found.entries) == heard[-1] == 334 + 2
    assert found.bytes_read == found.nbytes > 1000
    assert omnizarr.checksum(root["v"]).digest == omnizarr.checksum(root, "v").digest


def test_files(tmp_path: Path) -> None:
    manifest = omnizarr.checksum(omnizarr.MemoryStore({"é/x": b"1", "b": b"2"}))
    manifest.save(tmp_path / "m.jsonl")
    again = Manifest.load(tmp_path / "m.jsonl")
    assert again.entries == manifest.entries
    assert again.digest == manifest.digest
    lines = (tmp_path / "m.jsonl").read_text().splitlines(keepends=True)
    assert len(lines) == 3
    for damage in (lines[:-1], lines[1:], [], ["[]\n"], [*lines, "x\n"], [*lines, lines[1]]):
        (tmp_path / "bad.jsonl").write_text("".join(damage))
        with pytest.raises(MetadataError, match="no manifest, or not the whole of one"):
            Manifest.load(tmp_path / "bad.jsonl")


def test_refusals() -> None:
    store = omnizarr.MemoryStore({"a": b""})
    for wrong in ("sha", "shake_128", "adler32"):
        with pytest.raises(ValueError, match="algorithm takes"):
            omnizarr.checksum(store, algorithm=wrong)  # type: ignore[arg-type]
    with pytest.raises(NodeNotFoundError):
        omnizarr.checksum(store, "b")
    with pytest.raises(MetadataError, match="same algorithm"):
        omnizarr.checksum(store).compare(omnizarr.checksum(store, algorithm="md5"))
