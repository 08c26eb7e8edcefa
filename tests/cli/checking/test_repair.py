"""`omnizarr repair`: shown first, mended with --apply, and what remains is told."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import omnizarr as zarr
from tests.cli.conftest import Run, write


def damaged(path: Path) -> Path:
    store = write(path)
    (store / "deep" / "z" / "c" / "0" / "0").write_bytes(b"cut off")
    return store


def test_nothing_to_mend(run: Run, store: Path) -> None:
    zarr.consolidate_metadata(store)
    done = run("repair", store)
    assert (done.status, done.out) == (0, f"{store}: nothing to mend\n")
    assert run("repair", store, "--json").document["ok"] is True


def test_a_damaged_chunk(run: Run, store: Path, tmp_path: Path) -> None:
    bad = damaged(tmp_path / "bad.zarr")
    done = run("repair", bad)
    assert done.status == 1 and "remains  /deep/z: damaged chunk (0, 0)" in done.out
    assert "--from COPY" in done.out and "--on-damage fill" in done.out
    done = run("repair", bad, "--from", store)
    assert "can mend /deep/z" in done.out and not zarr.verify(bad).ok
    assert run("repair", bad, "--from", store, "--apply").status == 0
    assert zarr.verify(bad).ok and zarr.open(bad)["deep/z"][0].tolist() == [0, 1, 2]


def test_one_chunk_of_a_shard(run: Run, tmp_path: Path) -> None:
    """What is sound in the shard stays as it is, also where it is newer than the copy."""
    for name in ("bad", "copy"):
        zarr.create_array(
            tmp_path / f"{name}.zarr", data=np.arange(8), chunks=(2,), shards=(8,),
            compressors=[{"name": "zstd", "configuration": {"level": 1, "checksum": True}}],
        )  # fmt: skip
    array = zarr.open_array(tmp_path / "bad.zarr")
    array[6:] = 77
    shard = tmp_path / "bad.zarr" / "c" / "0"
    raw = bytearray(shard.read_bytes())
    raw[6] ^= 0xFF
    shard.write_bytes(raw)
    [bad_chunk] = zarr.verify(tmp_path / "bad.zarr").bad_chunks
    assert bad_chunk.inner is not None
    done = run("repair", tmp_path / "bad.zarr", "--from", tmp_path / "copy.zarr", "--apply")
    assert done.status == 0, done.out
    found = zarr.open_array(tmp_path / "bad.zarr")[:].tolist()
    assert found == [0, 1, 2, 3, 4, 5, 77, 77]


def test_consolidated_metadata(run: Run, store: Path) -> None:
    zarr.consolidate_metadata(store)
    zarr.open_group(store, use_consolidated=False).create_array("new", data=[1, 2])
    done = run("repair", store, "--no-decode")
    assert done.status == 1 and "consolidated metadata are out of date" in done.out
    assert "1 thing can be mended: --apply does it" in done.out
    assert "mended" in run("repair", store, "--apply").out
    assert "new" in zarr.open_consolidated(store)


def test_a_broken_document_remains(run: Run, store: Path) -> None:
    file = store / "deep" / "z" / "zarr.json"
    file.write_text(file.read_text().replace('"regular"', '"irregular"'))
    document = run("repair", store, "--json").document
    assert not document["ok"] and not any(step["can_be_done"] for step in document["steps"])
