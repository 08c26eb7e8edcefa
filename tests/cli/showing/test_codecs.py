"""`omnizarr codecs`: what is known, and what is missing."""

from __future__ import annotations

import sys

import pytest

import omnizarr as zarr
from omnizarr.cli import installed
from tests.cli.conftest import Run


def test_every_codec_is_listed(run: Run) -> None:
    rows = {row["name"]: row for row in run("codecs", "--json").document["codecs"]}
    assert set(zarr.codecs.codec_names()) <= set(rows)
    assert rows["zstd"] == {"name": "zstd", "kind": "bytes to bytes", "available": True,
                            "needs": [], "install": None}  # fmt: skip
    assert rows["bytes"]["kind"] == "array to bytes"
    assert rows["numcodecs.delta"]["kind"] == "array to array"
    shown = run("codecs").out
    assert "✓ zstd " in shown and f"{sum(r['available'] for r in rows.values())} codecs" in shown


def test_what_is_missing(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    there = installed.is_there
    monkeypatch.setattr(installed, "is_there", lambda name: name != "zfpy" and there(name))
    rows = {row["name"]: row for row in run("codecs", "--missing", "--json").document["codecs"]}
    assert rows["zfp"]["install"] == "pip install 'omnizarr[zfpy]'"
    assert rows["zfp"]["needs"] == ["zfpy"] and "zstd" not in rows
    done = run("codecs", "zfp")
    assert done.status == 1 and "✗ zfp  pip install 'omnizarr[zfpy]'" in done.out
    assert run("codecs", "zstd").status == 0


@pytest.mark.parametrize(("name", "near"), [("zstdd", "zstd"), ("lz4", "numcodecs.lz4")])
def test_unknown_names(run: Run, name: str, near: str) -> None:
    done = run("codecs", name)
    assert done.status == 2 and f"hint: did you mean {near}?" in done.err


def test_nothing_foreign_is_imported(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("imagecodecs", "kerchunk", "zfpy"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    assert run("codecs").status == 0
    assert not {"imagecodecs", "kerchunk", "zfpy"} & set(sys.modules)


def test_registered_codecs_are_known() -> None:
    zarr.codecs.register_codec("example.shown", zarr.codecs.GzipCodec)
    assert "example.shown" in zarr.codecs.codec_names()
