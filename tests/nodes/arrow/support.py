"""What the tests of this folder share: words, and the arrays that they are written to."""

from __future__ import annotations

from typing import Any

import numpy as np

import omnizarr as zarr

WORDS = ["a", "", "Zürich", "東京", "four words of text", "x" * 70, "end\0", "🎈"]

TEXT = [
    (3, "arrow-string"),
    (3, "arrow-large-string"),
    (3, str),
    (2, str),
]
BINARY = [
    (3, "arrow-binary"),
    (3, "arrow-large-binary"),
    (3, bytes),
    (2, bytes),
]
"""Format and type of every array that holds text, and of every one that holds byte strings."""


def target(kind: tuple[int, Any], shape: Any, chunks: Any = None, **arguments: Any) -> zarr.Array:
    """An empty array in memory."""
    zarr_format, dtype = kind
    if chunks is not None:
        arguments["chunks"] = chunks
    return zarr.create_array({}, shape=shape, dtype=dtype, zarr_format=zarr_format, **arguments)


def words(shape: Any) -> np.ndarray:
    """Words of every kind, all different."""
    size = int(np.prod(shape))
    return np.array([f"{WORDS[i % len(WORDS)]}{i}" for i in range(size)], object).reshape(shape)
