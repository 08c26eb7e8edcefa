"""`omnizarr meta`: documents as they are stored, and as they are understood."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import omnizarr as zarr
from tests.cli.conftest import Run, write
from tests.cli.showing.support import EVERY, one_array


def test_one_document_is_as_stored(run: Run, store: Path) -> None:
    text = (store / "sparse" / "zarr.json").read_text()
    shown = run("meta", store / "sparse").out
    assert json.loads(shown) == json.loads(text)
    (store / "zarr.json").write_text('{\n\t"zarr_format": 3, "node_type":"group"}\n')
    assert run("meta", store).out == '{\\t"zarr_format": 3, "node_type":"group"}\n'.replace(
        "{", "{\n"
    )


def test_documents_of_format_2(run: Run, tmp_path: Path) -> None:
    store = write(tmp_path / "data.zarr", 2)
    shown = run("meta", store, "sparse").out
    assert shown.startswith("// sparse/.zarray\n{") and "\n\n// sparse/.zattrs\n{" in shown
    found = run("meta", store, "sparse", "--json").document
    assert list(found["documents"]) == ["sparse/.zarray", "sparse/.zattrs"]
    assert found["documents"]["sparse/.zattrs"]["bad"] == "NaN"
    assert found["zarr_format"] == 2 and found["texts"] == {}
    one = run("meta", store, "sparse", "--key", ".zattrs").out
    assert not one.startswith("//") and json.loads(one)["units"] == "K"
    assert one == run("meta", store, "sparse", "--key", "sparse/.zattrs").out


@EVERY
def test_every_format(run: Run, tmp_path: Path, zarr_format: Any) -> None:
    one_array(tmp_path / "a.zarr", zarr_format)
    found = run("meta", tmp_path / "a.zarr", "--json").document
    assert found["zarr_format"] == zarr_format and found["documents"]
    understood = run("meta", tmp_path / "a.zarr", "--normalised").document
    assert understood["shape"] == [6, 4] and understood["chunks"] == [2, 2]
    assert understood["dtype"] == "int32" and len(understood["chunk_keys"]) == 2
    again = run("meta", tmp_path / "a.zarr", "--normalized", "--json").document
    assert again == understood


def test_an_unknown_key_has_a_hint(run: Run, tmp_path: Path) -> None:
    store = write(tmp_path / "data.zarr", 2)
    done = run("meta", store, "--key", ".zattr")
    assert done.status == 2 and "hint: did you mean .zattrs?" in done.err


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ('{"zarr_format": 2, "shape": [1', '{"zarr_format": 2, "shape": [1'),
        ("\x1b[2J\x00", "\\x1b[2J\\x00"),
        ("[" * 5000, "[" * 5000),
    ],
)
def test_broken_documents_are_shown(run: Run, tmp_path: Path, text: str, shown: str) -> None:
    store = write(tmp_path / "data.zarr", 2)
    (store / "sparse" / ".zarray").write_text(text)
    done = run("meta", store / "sparse")
    assert done.status == 1 and shown in done.out and "no JSON" in done.err
    assert "\x1b" not in done.out + done.err
    found = run("meta", store / "sparse", "--json")
    assert found.status == 1 and list(found.document["texts"].values()) == [text]


def test_an_understood_document_that_is_refused(run: Run, store: Path) -> None:
    document = store / "text" / "zarr.json"
    document.write_text(document.read_text().replace('"shape"', '"shapes"'))
    assert run("meta", store / "text").status == 0
    done = run("meta", store / "text", "--normalised")
    assert done.status == 2 and "shape" in done.err


def test_a_document_that_is_too_long(run: Run, store: Path) -> None:
    with zarr.limits.override(max_document_bytes=10):
        done = run("meta", store, "--key", "zarr.json")
    assert done.status == 2 and done.out == ""


def test_sharded_and_scalar(run: Run, tmp_path: Path) -> None:
    zarr.create_array(tmp_path / "s.zarr", shape=(8,), chunks=(2,), shards=(4,), dtype="u1")
    found = run("meta", tmp_path / "s.zarr", "--normalised").document
    assert found["shards"] == [4] and found["chunk_keys"] == ["c/0", "c/1"]
    zarr.create_array(tmp_path / "0.zarr", data=np.float64(1))
    assert run("meta", tmp_path / "0.zarr", "--normalised").document["chunk_keys"] == ["c", "c"]
    zarr.create_array(tmp_path / "e.zarr", shape=(0,), chunks=(2,), dtype="u1")
    assert run("meta", tmp_path / "e.zarr", "--normalised").document["chunk_keys"] is None
