"""LZMA containers that other software wrote, with options that must not reach the decoder."""

from __future__ import annotations

import lzma
from typing import Any

import numpy as np
import pytest

from tests.codecs.support import make

DELTA = [{"id": lzma.FILTER_DELTA, "dist": 4}, {"id": lzma.FILTER_LZMA2, "preset": 1}]
ALONE = [{"id": lzma.FILTER_LZMA1, "preset": 1}]


@pytest.mark.parametrize(
    ("container", "check", "preset", "filters"),
    [
        (lzma.FORMAT_XZ, lzma.CHECK_NONE, None, DELTA),
        (lzma.FORMAT_XZ, lzma.CHECK_CRC64, 6, DELTA),
        (lzma.FORMAT_XZ, lzma.CHECK_SHA256, None, DELTA),
        (lzma.FORMAT_XZ, -1, 1, None),
        (lzma.FORMAT_XZ, -1, None, []),
        (lzma.FORMAT_ALONE, -1, None, ALONE),
        (lzma.FORMAT_RAW, -1, None, DELTA),
    ],
)
@pytest.mark.parametrize("more", [{}, {"delta": 1}])
def test_filters(container: int, check: int, preset: int | None, filters: Any, more: Any) -> None:
    """Only raw streams are decoded with the filters of the metadata; xz has its own."""
    array = np.arange(1000, dtype="<i4")
    level = None if filters else preset
    data = lzma.compress(array.tobytes(), container, check, level, filters or None)
    options = {"format": container, "check": check, "preset": preset, "filters": filters}
    made = make([{"id": "lzma", **options, **more}], (1000,), "<i4")
    assert np.array_equal(made.decode(data), array)
    assert np.array_equal(made.decode(bytes(made.encode(array))), array)
