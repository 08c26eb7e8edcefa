"""What the commands tell about a node: one mapping per node, the same for text and JSON.

Member names are stable: programs read them. What cannot be known of a damaged array is None, and
`problem` says why.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate
from math import prod
from typing import Any

import omnizarr
from omnizarr.cli.problems import told
from omnizarr.cli.titles import title
from omnizarr.errors import ZarrError

Facts = dict[str, Any]


def of_node(path: str, node: Any) -> Facts:
    """Path, kind and format; for an array also shape, data type, chunks and codecs."""
    if not isinstance(node, omnizarr.Array):
        return {"path": path, "kind": "group", "zarr_format": node.zarr_format}
    facts: Facts = {
        "path": path,
        "kind": "array",
        "zarr_format": node.zarr_format,
        "shape": node.shape,
        "dtype": str(node.data_type),
        "chunks": None,
        "shards": None,
        "codecs": None,
    }
    try:
        facts["codecs"] = [_codec(spec) for spec in _specs(node)]
        facts |= {"chunks": node.chunks, "shards": node.shards}
    except ZarrError as error:
        facts["problem"] = told(error)
    return facts


def format_of(node: Any) -> str:
    """What people call the format of a node."""
    names = (*node.metadata.to_dict(), *node.attrs)
    marked = any(name.lower().startswith("_nczarr_") for name in names)
    return title(node.zarr_format, nczarr=marked)


def of_broken(path: str, error: Exception) -> Facts:
    return {"path": path, "kind": "unreadable", "problem": told(error)}


def of_storage(array: Any, counted: bool = True) -> Facts:
    """How much of an array is stored. Counting lists the store."""
    facts: Facts = {"bytes": decoded_bytes(array), "bytes_stored": None}
    facts |= {"chunks_stored": None, "chunks_possible": None}
    facts |= {"shards_stored": None, "shards_possible": None}
    try:
        unit = "chunks" if array.shards is None else "shards"
        facts["chunks_possible"] = array.nchunks
        facts[f"{unit}_possible"] = prod(stored_grid(array))
        if counted and array.chunk_store.capabilities.listable:
            facts[f"{unit}_stored"] = len(array.stored_chunks())
            facts["bytes_stored"] = int(array.nbytes_stored)
    except ZarrError as error:
        facts["problem"] = told(error)
    return facts


def stored_grid(array: Any) -> tuple[int, ...]:
    """How many stored values (chunks, or shards) the array has along every dimension."""
    if array.shards is None:
        found: tuple[int, ...] = array.cdata_shape
        return found
    return tuple(
        sum(start < n for start in accumulate(s, initial=0)) if isinstance(s, tuple) else -(-n // s)
        for n, s in zip(array.shape, array.shards, strict=True)
    )


def decoded_bytes(array: Any) -> int | None:
    """Size in memory; None where the values are not of one length."""
    return None if array.dtype.kind in "OT" else int(array.nbytes)


def fill_value(array: Any) -> Any:
    """The fill value; as metadata has it where NumPy has no name for its type."""
    value = array.fill_value
    if value is None or array.dtype.names or str(array.data_type) == str(array.dtype):
        return value
    return array.data_type.fill_to_json(value)


# -- codecs ------------------------------------------------------------------------------------


def _specs(array: Any) -> Any:
    return array.metadata.model.codecs


def _codec(spec: Any) -> Facts:
    return {"name": spec.name, "configuration": spec.configuration}


def _inside(codec: Facts) -> list[Facts] | None:
    """The codecs that a codec holds: those of the chunks in a shard, or of an N5 block."""
    found = (codec.get("configuration") or {}).get("codecs")
    if not isinstance(found, list):
        return None
    return [inner if isinstance(inner, dict) else {"name": str(inner)} for inner in found]


def _flat(codecs: list[Facts]) -> Iterator[Facts]:
    for codec in codecs:
        inside = _inside(codec)
        yield from [codec] if inside is None else _flat(inside)


def _name(codec: Facts) -> str:
    return str(codec.get("name", "?")).removeprefix("numcodecs.")


def codecs_in_short(codecs: list[Facts] | None) -> str:
    """What is worth a word: neither the plain bytes nor transpositions that undo each other.

    >>> codecs_in_short([{"name": "bytes"}, {"name": "blosc", "configuration": {"cname": "lz4"}}])
    'blosc-lz4'
    """
    if codecs is None:
        return "?"
    words, axes = [], None
    for codec in _flat(codecs):
        name, settings = _name(codec), codec.get("configuration") or {}
        if name == "transpose":
            axes = _transposed(axes, settings.get("order"))
        elif name == "blosc" and settings.get("cname"):
            words.append(f"blosc-{settings['cname']}")
        elif name != "bytes":
            words.append(name)
    if axes is not None and axes != sorted(axes):
        words.insert(0, "transpose")
    return "+".join(words) or "raw"


def _transposed(axes: list[int] | None, order: Any) -> list[int] | None:
    """The order of the dimensions after one more transposition."""
    if not isinstance(order, list | tuple):
        return [1, 0] if order == "F" else axes
    try:
        return [(axes or range(len(order)))[axis] for axis in order]
    except (IndexError, TypeError):
        return [1, 0]  # nonsense, which is worth a word too


def codec_at_length(codec: Facts) -> str:
    """
    >>> codec_at_length({"name": "zstd", "configuration": {"level": 3, "checksum": True}})
    'zstd (level=3, checksum)'
    """
    inside = _inside(codec)
    if inside is not None:
        return f"{_name(codec)} [{codecs_at_length(inside)}]"
    words = []
    for name, value in (codec.get("configuration") or {}).items():
        if value is True:
            words.append(str(name))
        elif value is not None and value is not False and not isinstance(value, dict):
            shown = ",".join(map(str, value)) if isinstance(value, list) else value
            words.append(f"{name}={shown}")
    return f"{_name(codec)} ({', '.join(words)})" if words else _name(codec)


def codecs_at_length(codecs: list[Facts] | None) -> str:
    if codecs is None:
        return "?"
    return " → ".join(codec_at_length(codec) for codec in codecs) or "none"
