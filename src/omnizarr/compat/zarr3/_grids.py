"""What zarr-python refuses in the chunks and shards of a new array, and warns of in its codecs.

This module knows arguments. It must not know stores.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np

import omnizarr
from omnizarr.compat.zarr3.core.config import config
from omnizarr.errors import ZarrUserWarning

_FLAG = "array.rectilinear_chunks"


def check_grid(given: Mapping[str, Any]) -> None:
    """Refuse chunks of several lengths where they are switched off, and chunks that do not divide
    a shard; `given` are the arguments that create an array."""
    chunks: Any = given.get("chunks")
    shards: Any = given.get("shards")
    shards = shards.get("shape") if isinstance(shards, Mapping) else shards
    if _has_several(chunks) and _is_sequence(shards):
        raise ValueError(
            "Rectilinear chunks with sharding is not supported: give chunks of one shape, or no"
            " shards"
        )
    if (_has_several(chunks) or _has_several(shards)) and not config.get(_FLAG):
        raise ValueError(
            "Rectilinear chunk grids are experimental and disabled by default; enable them with"
            f" zarr.config.set({{{_FLAG!r}: True}})"
        )
    if _is_shape(chunks) and _is_shape(shards):
        if len(chunks) != len(shards):
            raise ValueError(
                f"Chunks {tuple(chunks)} and shards {tuple(shards)} must have the same number of"
                " dimensions"
            )
        for axis, (chunk, shard) in enumerate(zip(chunks, shards, strict=True)):
            if chunk > 0 and shard > 0 and shard % chunk:  # below 0: the whole axis
                raise ValueError(
                    f"Chunk edge length {shard} in dimension {axis} is not divisible by the shard's"
                    f" inner chunk size {chunk}."
                )


def check_compressors(given: Mapping[str, Any]) -> None:
    """Refuse two names of one argument."""
    named = [given.get(name, "auto") for name in ("compressor", "compressors")]
    if not any(isinstance(codec, str) and codec == "auto" for codec in named):
        raise ValueError("Cannot specify both `compressor` and `compressors`.")


def refuse_rectilinear(given: Mapping[str, Any]) -> None:
    """Refuse lists of lengths in format 2, also where all are the same."""
    if _has_several(given.get("chunks")):
        raise ValueError("Zarr format 2 does not support rectilinear chunk grids.")


def warn_of_outer_codecs(node: Any) -> None:
    """Warn of an array with codecs around its shards, which are then read and written whole."""
    if not isinstance(node, omnizarr.Array) or node.shards is None:
        return
    if len(node.metadata.to_dict().get("codecs", ())) > 1:
        warnings.warn(
            "Combining a `sharding_indexed` codec disables partial reads and writes, which may lead"
            " to inefficient performance.",
            ZarrUserWarning,
            stacklevel=3,
        )


def _is_sequence(value: Any) -> bool:
    return isinstance(value, list | tuple) or (isinstance(value, np.ndarray) and value.ndim > 0)


def _has_several(value: Any) -> bool:
    """Whether some axis has a list of lengths."""
    return _is_sequence(value) and any(map(_is_sequence, value))


def _is_shape(value: Any) -> bool:
    return _is_sequence(value) and all(isinstance(each, int | np.integer) for each in value)
