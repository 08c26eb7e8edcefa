"""A conversion within one format writes its specification, whatever dialect the source is in."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import omnizarr as zarr
from tests.acceptance import fixtures
from tests.acceptance.fixtures import Row
from tests.acceptance.known_differences import KNOWN

peer = pytest.importorskip("zarr")

FORMATS: dict[str, int | str] = {"v0": 0, "v1": 1, "v2": 2, "v3": 3, "n5": "n5"}
STEPS = {"v2": 12}
INEXPRESSIBLE = (
    "Python objects are no type of the document",
    "bare NaN or Infinity tokens in",
    "fill_value is null, no scalar",
    "fill_value is the bare token",
    "dtype is a list of fields",
    "compression_opts is null",
    "is a bare name that TensorStore writes",
    "over the fixed-size dtype",
    "lz4 blocks without the LZ4Block frames",
    "is none of N5",
)
"""Dialects for which the documents have no other words: in attributes, which are the user's, or of
formats that cannot say the same at all."""
UNKNOWN_TO_PEER = ("Unknown codec", "No Zarr data type", "Unknown chunk grid", "Expected a string")

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*[Nn]umcodecs.*"),
    pytest.mark.filterwarnings("ignore:.*does not have a Zarr V3.*"),
]


def is_dialect(found: Any) -> bool:
    return found.level != "warning" and not any(known in found.message for known in INEXPRESSIBLE)


def rows(family: str) -> list[tuple[Row, str]]:
    """Those about whose own documents `check` has something to say."""
    chosen = []
    known = [row for row in fixtures.rows() if row.family == family and row.path not in KNOWN]
    for row in known[:: STEPS.get(family, 1)]:
        store = str(fixtures.unpacked(row.source) / row.store)
        if not row.pickled and any(map(is_dialect, zarr.check(store, row.node, standard="000"))):
            chosen.append((row, store))
    return chosen


@pytest.mark.slow
@pytest.mark.parametrize("family", list(FORMATS))
def test_dialects_do_not_survive(family: str) -> None:
    wrong, read = [], 0
    chosen = rows(family)
    for row, store in chosen:
        out = zarr.MemoryStore()
        zarr.convert(store, out, path=row.node, zarr_format=FORMATS[family])
        left = [found for found in zarr.check(out, standard="000") if is_dialect(found)]
        values = np.asarray(zarr.open_array(out)[...])
        if left or (problem := fixtures.difference(row, values)):
            wrong.append(f"{row.path}: {left or problem}")
        if family != "v3":
            continue
        buffer = peer.core.buffer.cpu.Buffer
        documents = {key: buffer.from_bytes(bytes(out.get(key))) for key in out.list()}
        try:
            found = peer.open_array(peer.storage.MemoryStore(documents), mode="r")[...]
        except Exception as error:
            if not any(known in str(error) for known in UNKNOWN_TO_PEER):
                wrong.append(f"{row.path}: zarr-python: {error!r}")
            continue
        read += 1
        if np.asarray(found).tolist() != values.tolist() and not np.array_equal(
            found, values, equal_nan=True
        ):
            wrong.append(f"{row.path}: zarr-python reads other values")
    assert not wrong, "\n".join(line[:260] for line in wrong)
    assert family != "v3" or read >= (60 if fixtures.third_party() else 45)
