"""The floor: the same files and the same codec calls without any library, on all cores.

`os`, NumPy and numcodecs alone: no metadata is parsed, nothing is locked, no value is checked. The
work per chunk of at least 64 KiB is done without the interpreter's lock, so threads do it; smaller
chunks are divided among processes, which write into shared memory. A chunk is written to a
temporary name and renamed, as a writer must that replaces it whole.

The arrays that all libraries read are made here too, and what they write is compared from here.
"""

from __future__ import annotations

import itertools
import json
import math
import mmap
import multiprocessing
import os
import zlib
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numcodecs
import numcodecs.blosc
import numpy as np
from layouts import Layout
from libraries import Library, Timed
from machine import cores

numcodecs.blosc.use_threads = False
SMALL = 64 << 10
Position = tuple[int, ...]
Share = Callable[[int, "np.ndarray | None"], None]


# -- one chunk ------------------------------------------------------------------------------------


def positions(shape: tuple[int, ...], box: tuple[int, ...]) -> list[Position]:
    return list(itertools.product(*map(range, (n // k for n, k in zip(shape, box, strict=True)))))


def region(position: Position, box: tuple[int, ...]) -> tuple[slice, ...]:
    return tuple(slice(i * k, (i + 1) * k) for i, k in zip(position, box, strict=True))


def file_of(path: Path, position: Position, format_: int) -> str:
    names = [str(index) for index in position]
    return "/".join([str(path), *([] if format_ == 2 else ["c"]), *names])


def coder(layout: Layout) -> tuple[Callable[[Any], Any], Callable[[Any, np.ndarray], None]]:
    """Encode contiguous memory; decode into contiguous memory."""
    compressor = layout.compressor_2
    if compressor is None:
        return memoryview, _copy
    if compressor["id"] == "gzip":
        return _gzip, _gunzip
    module = getattr(numcodecs, compressor["id"])
    return numcodecs.get_codec(compressor).encode, module.decompress


def _copy(data: Any, out: np.ndarray) -> None:
    out.reshape(-1).view("u1")[:] = np.frombuffer(data, "u1")


def _gzip(data: np.ndarray) -> bytes:
    stream = zlib.compressobj(5, wbits=31)
    return stream.compress(data.reshape(-1).view("u1")) + stream.flush()


def _gunzip(data: Any, out: np.ndarray) -> None:
    _copy(zlib.decompress(data, 31, out.nbytes), out)


def store(file: str, parts: list[Any]) -> None:
    temporary = f"{file}.{os.getpid()}"
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
    try:
        for start in range(0, len(parts), 1000):  # the most that writev takes is 1024
            os.writev(descriptor, parts[start : start + 1000])
    finally:
        os.close(descriptor)
    os.rename(temporary, file)


# -- many chunks ----------------------------------------------------------------------------------


def read_chunks(
    path: Path, layout: Layout, chosen: Iterable[Position], out: np.ndarray, format_: int = 3
) -> None:
    decode = coder(layout)[1]
    scratch = np.empty(layout.chunks, layout.dtype)
    room = memoryview(bytearray(1 << 16))

    def load(position: Position) -> memoryview:
        """The bytes of a file, until the next one is loaded."""
        nonlocal room
        descriptor = os.open(file_of(path, position, format_), os.O_RDONLY)
        try:
            size = os.fstat(descriptor).st_size
            if size > len(room):
                room = memoryview(bytearray(size))
            return room[: os.readv(descriptor, [room[:size]])]
        finally:
            os.close(descriptor)

    def scatter(data: Any, target: np.ndarray) -> None:
        if target.flags.c_contiguous:
            decode(data, target)
        else:
            decode(data, scratch)
            target[...] = scratch

    if layout.shards is None:
        for position in chosen:
            scatter(load(position), out[region(position, layout.chunks)])
        return
    inner = [region(place, layout.chunks) for place in positions(layout.shards, layout.chunks)]
    for position in chosen:
        shard = load(position)
        target = out[region(position, layout.shards)]
        index = np.frombuffer(shard[-16 * len(inner) - 4 : -4], "<u8").reshape(-1, 2).tolist()
        for (offset, length), place in zip(index, inner, strict=True):
            scatter(shard[offset : offset + length], target[place])


def write_chunks(
    path: Path, layout: Layout, chosen: Iterable[Position], values: np.ndarray, format_: int = 3
) -> None:
    encode = coder(layout)[0]
    if layout.shards is None:
        for position in chosen:
            block = np.ascontiguousarray(values[region(position, layout.chunks)])
            store(file_of(path, position, format_), [encode(block)])
        return
    import google_crc32c

    inner = [region(place, layout.chunks) for place in positions(layout.shards, layout.chunks)]
    for position in chosen:
        source = values[region(position, layout.shards)]
        parts = [encode(np.ascontiguousarray(source[place])) for place in inner]
        lengths = np.array([memoryview(part).nbytes for part in parts], "<u8")
        index = np.stack([np.cumsum(lengths) - lengths, lengths], axis=1).tobytes()
        check = google_crc32c.value(index).to_bytes(4, "little")
        store(file_of(path, position, format_), [*parts, index, check])


def prepare(path: Path, layout: Layout, format_: int) -> None:
    """The folders and the metadata document."""
    folders = {os.path.dirname(file_of(path, at, format_)) for at in all_of(layout)}
    for folder in folders:
        os.makedirs(folder, exist_ok=True)
    name, document = "zarr.json", layout.document if format_ == 3 else {}
    if format_ == 2:
        name, document = ".zarray", layout.document_2
    (path / name).write_text(json.dumps(document), encoding="utf-8")


def all_of(layout: Layout) -> list[Position]:
    return positions(layout.shape, layout.outer)


def write_array(path: Path, layout: Layout, values: np.ndarray, format_: int) -> None:
    prepare(path, layout, format_)
    write_chunks(path, layout, all_of(layout), values, format_)


def read_array(path: Path, layout: Layout, format_: int) -> np.ndarray:
    out = np.empty(layout.shape, layout.dtype)
    read_chunks(path, layout, all_of(layout), out, format_)
    return out


# -- on all cores ---------------------------------------------------------------------------------


class Floor(Library):
    title = "floor"

    def __init__(self) -> None:
        self.version = f"numcodecs {numcodecs.__version__}"

    def whole_read(self, path: Path, layout: Layout) -> Timed:
        count, chosen = len(cores()), all_of(layout)

        def share(number: int, out: np.ndarray | None) -> None:
            assert out is not None
            read_chunks(path, layout, chosen[number::count], out)

        if in_processes(layout):
            crew = Crew(share, count, layout)
            return lambda: crew.run(shared=True)

        def read() -> np.ndarray:
            out = np.empty(layout.shape, layout.dtype)
            in_threads(share, count, out)
            return out

        return read

    def whole_write(self, path: Path, layout: Layout, values: np.ndarray) -> Timed:
        count, chosen = len(cores()), all_of(layout)

        def share(number: int, out: np.ndarray | None) -> None:
            write_chunks(path, layout, chosen[number::count], values)

        crew = Crew(share, count, layout) if in_processes(layout) else None

        def write() -> None:
            prepare(path, layout, 3)
            if crew is not None:
                crew.run(shared=False)
            else:
                in_threads(share, count, None)

        return write


def in_processes(layout: Layout) -> bool:
    return layout.chunk_bytes < SMALL and hasattr(os, "memfd_create")


def in_threads(share: Share, count: int, out: np.ndarray | None) -> None:
    with ThreadPoolExecutor(count) as pool:
        list(pool.map(lambda number: share(number, out), range(count)))


class Crew:
    """Forked processes that wait for work; what is read goes into memory that all of them map."""

    def __init__(self, share: Share, count: int, layout: Layout) -> None:
        self._layout = layout
        context = multiprocessing.get_context("fork")
        self._pipes = []
        for number in range(count):
            ours, theirs = context.Pipe()
            arguments = (theirs, share, number, layout)
            context.Process(target=_labour, args=arguments, daemon=True).start()
            theirs.close()
            self._pipes.append(ours)

    def run(self, *, shared: bool) -> np.ndarray | None:
        descriptor, name, out = -1, None, None
        if shared:
            descriptor = os.memfd_create("floor")
            os.ftruncate(descriptor, math.prod(self._layout.shape) * self._layout.itemsize)
            name = f"/proc/{os.getpid()}/fd/{descriptor}"
            out = _mapped(descriptor, self._layout)
        for pipe in self._pipes:
            pipe.send(name)
        for pipe in self._pipes:
            pipe.recv()  # EOFError if the process ended: its message stands on stderr
        if shared:
            os.close(descriptor)
        return out


def _mapped(descriptor: int, layout: Layout) -> np.ndarray:
    memory = mmap.mmap(descriptor, 0)
    return np.frombuffer(memory, layout.dtype).reshape(layout.shape)


def _labour(pipe: Any, share: Share, number: int, layout: Layout) -> None:
    while True:
        name = pipe.recv()
        out = None
        if name is not None:
            descriptor = os.open(name, os.O_RDWR)
            out = _mapped(descriptor, layout)
            os.close(descriptor)
        share(number, out)
        del out
        pipe.send(None)
