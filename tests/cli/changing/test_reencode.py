"""`omnizarr reencode`: other codecs; `--try` measures and writes nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

import omnizarr as zarr
from tests.cli.conftest import Run


def test_other_codecs(run: Run, store: Path, tmp_path: Path) -> None:
    done = run("reencode", store, tmp_path / "o.zarr", "--compressors", "gzip:9", "--exclude", "x")
    assert done.status == 2  # no such option
    done = run("reencode", store, tmp_path / "o.zarr", "--compressors", "gzip:9")
    assert done.status == 0, done.err
    [codec] = zarr.open_array(tmp_path / "o.zarr", path="sparse").compressors
    assert codec.level == 9 and run("diff", store, tmp_path / "o.zarr", "--no-storage").status == 0
    assert run("reencode", store).status == 2


def test_trying(run: Run, store: Path, tmp_path: Path) -> None:
    before = zarr.checksum(store).digest
    done = run(
        "reencode", store, "--try", "--json", "--compressors", "zstd:1", "--compressors", "none"
    )
    trials = done.document["trials"]
    assert [trial["codecs"] for trial in trials if trial["path"] == "sparse"] == [
        "now: zstd", "zstd:1", "none",
    ]  # fmt: skip
    [plain] = [one for one in trials if (one["path"], one["codecs"]) == ("sparse", "none")]
    assert plain["bytes"] == plain["bytes_stored"] == 2 * 400 and plain["ratio"] == 1
    stored = sum(
        file.stat().st_size for file in (store / "sparse" / "c").rglob("*") if file.is_file()
    )
    assert plain["saved"] == stored - 2 * 400  # the two chunks that are stored, and no document
    assert plain["encode_rate"] > 0
    shown = run("reencode", store, "--try").out
    assert "encode MB/s" in shown and "blosc:lz4:5" in shown and "/deep/z" in shown
    assert zarr.checksum(store).digest == before
    assert run("reencode", store, tmp_path / "x", "--try").status == 2


def test_a_codec_that_does_not_fit_is_told(run: Run, store: Path) -> None:
    done = run("reencode", store / "deep" / "z", "--try", "--compressors", "zstd:1000")
    assert done.status == 0 and "zstd:1000: " in done.out


def test_the_function_takes_the_keywords_of_convert(store: Path) -> None:
    target = zarr.MemoryStore()
    for _ in range(2):
        done = zarr.reencode(store, target, overwrite=True, destination_path="a", workers=1)
    assert len(done.nodes) == 5
    with pytest.raises(TypeError, match="did you mean 'overwrite'"):
        zarr.reencode(store, target, overwrit=True)  # type: ignore[call-arg]
