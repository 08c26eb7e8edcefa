"""zarr-python 2's `zarr.meta_v1`: documents of format 1 as dicts, and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from omnizarr.compat.zarr2.meta import decode_dtype, encode_dtype
from omnizarr.compat.zarr2.util import json_dumps, json_loads
from omnizarr.errors import MetadataError

__all__ = ["decode_metadata", "encode_metadata"]

_MEMBERS = ("compression", "compression_opts", "fill_value", "order")
_VERSION = 1


def decode_metadata(b: bytes | str) -> dict[str, Any]:
    """Read a `meta` document.

    Parameters
    ----------
    b
        The document.

    Raises
    ------
    MetadataError
        If it is of another format, or a member is missing.
    """
    document = json_loads(b)
    try:
        if document.get("zarr_format", _VERSION) != _VERSION:
            raise MetadataError(f"expected zarr_format {_VERSION}")
        found = {name: document[name] for name in _MEMBERS}
        return found | {
            "zarr_format": _VERSION,
            "shape": tuple(document["shape"]),
            "chunks": tuple(document["chunks"]),
            "dtype": decode_dtype(document["dtype"]),
        }
    except KeyError as error:
        raise MetadataError(f"the metadata of an array lack the member {error}") from error


def encode_metadata(meta: Mapping[str, Any]) -> bytes:
    """Write a `meta` document.

    Parameters
    ----------
    meta
        Its members, with a NumPy dtype.
    """
    found = {name: meta[name] for name in _MEMBERS}
    found |= {
        "zarr_format": _VERSION,
        "shape": list(meta["shape"]),
        "chunks": list(meta["chunks"]),
        "dtype": encode_dtype(np.dtype(meta["dtype"])),
    }
    return json_dumps(found)
