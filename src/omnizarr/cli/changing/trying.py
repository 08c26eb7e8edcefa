"""Codecs on a sample of the real chunks of arrays: how small, how fast.

This module knows clocks and the public API. It must not know how codecs work.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from math import prod
from typing import Any

import numpy as np

import omnizarr
from omnizarr.cli import codec_texts, facts
from omnizarr.cli.output import Output, bold, count, padded, size
from omnizarr.cli.problems import told
from omnizarr.errors import ZarrError

CANDIDATES = ("none", "zstd:1", "zstd:5", "zstd:12", "blosc:lz4:5", "blosc:zstd:5", "gzip:6")
"""What is tried where nothing is named."""
MOST_ARRAYS = 8
"""Of a group, the largest ones count."""
_MOST_CHUNKS = 16
_LEAST_SECONDS = 0.05
_MOST_ROUNDS = 20


@dataclass(frozen=True)
class Trial:
    """One codec on the sample of one array."""

    path: str
    codecs: str
    chunks: int
    bytes: int
    """Decoded bytes of the sample."""
    bytes_stored: int | None
    ratio: float | None
    encode_rate: float | None
    """Decoded bytes per second."""
    decode_rate: float | None
    saved: int | None
    """Stored bytes that the whole array would take less; None if it is not known."""
    current: bool = False
    problem: str | None = None

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def trials(node: Any, wanted: list[Any] | None, most: int) -> list[Trial]:
    """Every codec on the largest arrays below a node."""
    pipelines = wanted or [codec_texts.pipeline(text) for text in CANDIDATES]
    found: list[Trial] = []
    largest = sorted(arrays(node), key=lambda one: -int(one[1].nbytes))[:MOST_ARRAYS]
    for path, array in largest:
        blocks = sample(array, most)
        if blocks:
            found += _of_array(path, array, blocks, pipelines)
    return found


def arrays(node: Any) -> list[tuple[str, Any]]:
    if isinstance(node, omnizarr.Array):
        return [("", node)]
    members = node.members(max_depth=None)
    return [(path, one) for path, one in members if isinstance(one, omnizarr.Array)]


def sample(array: Any, most: int) -> list[np.ndarray[Any, Any]]:
    """Decoded chunks from all over the array, `most` bytes at the most, but one at the least."""
    if array.dtype.kind == "O" or not array.size or not array.shape:
        return []
    if array.chunk_store.capabilities.listable:
        stored = sorted(array.stored_chunks())
        places = [region_of(array, place) for place in stored]
    else:
        places = list(_everywhere(array))
    blocks: list[np.ndarray[Any, Any]] = []
    taken = 0
    for place in spread(places, _MOST_CHUNKS):
        block = np.asarray(array[place])
        blocks.append(block)
        taken += block.nbytes
        if taken >= most:
            break
    return blocks


def region_of(array: Any, place: tuple[int, ...]) -> tuple[slice, ...]:
    """The first chunk of a stored value (chunk or shard)."""
    lengths = array.shards or array.chunks
    inner = array.chunks
    found = []
    for at, length, own, total in zip(place, lengths, inner, array.shape, strict=True):
        start = sum(length[:at]) if isinstance(length, tuple) else at * length
        width = own if isinstance(own, int) else own[min(at, len(own) - 1)]
        found.append(slice(start, min(start + width, total)))
    return tuple(found)


def _everywhere(array: Any) -> Iterator[tuple[slice, ...]]:
    grid = facts.stored_grid(array)
    total = prod(grid)
    for number in spread(range(total), _MOST_CHUNKS):
        place = tuple(int(at) for at in np.unravel_index(number, grid))
        yield region_of(array, place)


def spread(items: Any, most: int) -> list[Any]:
    """Items from all over a sequence, those in the middle first."""
    if len(items) <= most:
        return list(items)
    step = len(items) / most
    return [items[int((number + 0.5) * step)] for number in range(most)]


def _of_array(path: str, array: Any, blocks: list[Any], pipelines: list[Any]) -> list[Trial]:
    nbytes = sum(block.nbytes for block in blocks)
    stored = _stored(array)
    now = _measured(array, blocks, "keep")
    share = now.stored / nbytes if isinstance(now, _Measured) else None
    found = [_trial(path, "now: " + _shown(array), array, blocks, now, stored, share, current=True)]
    for pipeline in pipelines:
        measured = _measured(array, blocks, pipeline)
        shown = codec_texts.spelled(pipeline)
        found.append(_trial(path, shown, array, blocks, measured, stored, share))
    return found


def _stored(array: Any) -> int | None:
    """Bytes of all stored chunks, without documents; None where the store cannot tell."""
    try:
        return sum(int(nbytes) for _, nbytes in array.stored_chunk_sizes())
    except ZarrError:
        return None


def _shown(array: Any) -> str:
    return facts.codecs_in_short([facts._codec(spec) for spec in array.metadata.model.codecs])


@dataclass(frozen=True)
class _Measured:
    stored: int
    encode: float
    decode: float


def _trial(
    path: str, shown: str, array: Any, blocks: list[Any], measured: _Measured | str,
    stored: int | None, share: float | None, *, current: bool = False,
) -> Trial:  # fmt: skip
    nbytes = sum(block.nbytes for block in blocks)
    if isinstance(measured, str):
        return Trial(
            path, shown, len(blocks), nbytes, None, None, None, None, None, current, measured
        )
    saved = None
    if stored is not None and share:
        saved = round(stored * (1 - measured.stored / nbytes / share))
    return Trial(
        path, shown, len(blocks), nbytes, measured.stored, nbytes / max(1, measured.stored),
        nbytes / measured.encode, nbytes / measured.decode, saved, current,
    )  # fmt: skip


def _measured(array: Any, blocks: list[Any], pipeline: Any) -> _Measured | str:
    """Encode and decode every block in memory; or why that is not possible."""
    stored = 0
    encode = decode = 0.0
    for block in blocks:
        try:
            one = _made(array, block, pipeline)
            documents = int(one.nbytes_stored)
            encode += _seconds(lambda one=one, block=block: one.__setitem__(..., block))
            decode += _seconds(lambda one=one: one[...])
        except (ZarrError, ValueError, TypeError, RuntimeError) as error:
            return told(error)
        if one[...].tobytes() != block.tobytes():
            return "it does not keep the values"
        stored += int(one.nbytes_stored) - documents
    return _Measured(stored, max(encode, 1e-9), max(decode, 1e-9))


def _made(array: Any, block: Any, pipeline: Any) -> Any:
    """An array of one chunk in memory, like the real one but for its codecs."""
    options: dict[str, Any] = {} if pipeline == "keep" else {"compressors": pipeline}
    if pipeline == "keep":
        options["compressors"] = list(array.compressors) or None
        if array.filters:
            options["filters"] = list(array.filters)
    return omnizarr.create_array(
        omnizarr.MemoryStore(), shape=block.shape, chunks=block.shape, dtype=array.dtype,
        zarr_format=array.zarr_format, fill_value=array.fill_value,
        config={"write_empty_chunks": True}, **options,
    )  # fmt: skip


def _seconds(work: Any) -> float:
    """The shortest time of some rounds."""
    best = float("inf")
    begin = time.perf_counter()
    for _ in range(_MOST_ROUNDS):
        start = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - start)
        if time.perf_counter() - begin > _LEAST_SECONDS:
            break
    return best


def show(found: list[Trial], out: Output) -> None:
    """A table for each array, the smallest first."""
    head = ("codecs", "ratio", "encode MB/s", "decode MB/s", "saves")
    for path in dict.fromkeys(trial.path for trial in found):
        rows = [trial for trial in found if trial.path == path]
        first = rows[0]
        out.line(bold(f"/{path}"), f"  {count(first.chunks, 'chunk')}, {size(first.bytes)} decoded")
        rows.sort(key=lambda trial: -(trial.ratio or 0))
        cells = [head, *(_cells(trial) for trial in rows)]
        widths = [max(len(row[place]) for row in cells) for place in range(len(head))]
        for row in cells:
            aligned = [padded(row[0], widths[0])]
            aligned += [cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)]
            out.line("  ", "  ".join(aligned).rstrip())
        for trial in rows:
            if trial.problem:
                out.line(f"  {trial.codecs}: {trial.problem}")


def _cells(trial: Trial) -> tuple[str, ...]:
    if trial.ratio is None or trial.encode_rate is None or trial.decode_rate is None:
        return (trial.codecs, "-", "-", "-", "-")
    saved = "?" if trial.saved is None else _signed(trial.saved)
    return (
        trial.codecs,
        f"{trial.ratio:.2f}",
        f"{trial.encode_rate / 1e6:,.0f}",
        f"{trial.decode_rate / 1e6:,.0f}",
        "" if trial.current else saved,
    )


def _signed(nbytes: int) -> str:
    return f"-{size(-nbytes)}" if nbytes < 0 else size(nbytes)
