"""Buffers that numcodecs wrote over the years decode to the arrays that they were made of."""

from __future__ import annotations

import csv
import io
import json
import os
import zipfile
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from omnizarr.codecs import codec_spec
from tests.codecs.support import make

SHARED = Path(os.environ.get("ZARR_SHARED", Path(__file__).resolve().parents[2].parent / "shared"))
MANIFEST = SHARED / "fixtures" / "MANIFEST.tsv"
LOSSY = {"quantize", "fixedscaleoffset", "astype"}
ROWS = 1049


@cache
def rows() -> list[dict[str, str]]:
    with open(MANIFEST, newline="", encoding="utf-8") as file:
        found = csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        return [row for row in found if row["format"].startswith("raw codec buffer")]


def names() -> list[str]:
    if not MANIFEST.is_file():
        return []
    return sorted({json.loads(row["codecs"])["id"] for row in rows()})


def test_the_buffers_are_here() -> None:
    if not MANIFEST.is_file():
        pytest.skip(
            f"NO GOLDEN BUFFER WAS DECODED: {MANIFEST} does not exist; set ZARR_SHARED to the"
            " folder that holds fixtures/"
        )
    assert len(rows()) == ROWS


@pytest.mark.parametrize("name", names())
def test_codec(name: str) -> None:
    count: Counter[str] = Counter()
    with zipfile.ZipFile(SHARED / "fixtures" / "numcodecs.zip") as archive:
        for row in rows():
            config = json.loads(row["codecs"])
            if config["id"] != name:
                continue
            saved = io.BytesIO(archive.read(row["expected_sidecar"]))
            expected = np.load(saved, allow_pickle=True)
            check(config, archive.read(row["path"]), expected, row["path"])
            count["rows"] += 1
    assert count["rows"] > 0


def check(config: dict[str, Any], data: bytes, expected: np.ndarray, path: str) -> None:
    chain = make([codec_spec(config)], expected.shape, expected.dtype)
    if config["id"] == "shuffle" and config["elementsize"] == 0:
        # numcodecs takes 0 for "do nothing"; netCDF-C, whose data are in the wild, does not.
        assert data == expected.tobytes(order="A")
        return
    found = chain.decode(data)
    assert found.shape == expected.shape, path
    assert found.dtype == expected.dtype, path
    # numcodecs flattened what it got in memory order.
    flat = expected.reshape(-1, order="A")
    if config["id"] in LOSSY:
        import numcodecs

        flat = np.asarray(numcodecs.get_codec(config).decode(data)).reshape(-1)
    if expected.dtype.hasobject:
        if config["id"].startswith(("json", "msgpack")):
            flat = expected.reshape(-1)  # they keep the shape
        for one, other in zip(found.reshape(-1), flat, strict=True):
            assert np.array_equal(one, other) or (one != one and other != other), path
        return
    assert found.tobytes() == flat.tobytes(), path
    out = np.empty_like(found)
    chain.decode_into(data, out)
    assert out.tobytes() == flat.tobytes(), path
