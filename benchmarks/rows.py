"""What is measured: one `Row` each, as plain data and two small functions.

A row prepares what all libraries read (written once, outside the measured time), then gives for
each library a function to time, and says how many operations one call of it holds.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from libraries import Layout, Library, same_codecs

Timed = Callable[[], object]
LISTED_ARRAYS = 1000


@dataclass(frozen=True)
class Row:
    label: str
    prepare: Callable[[Library], Timed | None]
    """The function to time for this library; None if the library cannot do it."""
    finish: Callable[[Library, object], None]
    """Check what the timed function returned or left, and clean up. Not timed."""
    operations: int = 1


class Workspace:
    """The folder of a run: data, arrays that all read, and scratch for writing."""

    def __init__(self, folder: Path, referee: Library, scale: int) -> None:
        self.folder = folder
        self.referee = referee
        self.scale = scale
        self._data: dict[tuple[int, int], np.ndarray] = {}
        self._arrays: dict[Layout, Path] = {}

    def data(self, shape: tuple[int, int]) -> np.ndarray:
        """A smooth field with noise in its low digits, so that codecs have work to do."""
        if shape not in self._data:
            rng = np.random.default_rng(7)
            rows = np.linspace(0, 20, shape[0], dtype="float32")[:, None]
            columns = np.linspace(0, 9, shape[1], dtype="float32")
            noise = rng.standard_normal(shape, dtype="float32")
            values = 280 + 12 * np.sin(rows) + 7 * np.cos(columns) + noise
            self._data[shape] = np.round(values, 1).astype("float32")
        return self._data[shape]

    def array(self, layout: Layout) -> Path:
        """An array of this layout that every library reads."""
        if layout not in self._arrays:
            path = self.folder / f"array{len(self._arrays)}.zarr"
            self.referee.write(path, layout, self.data(layout.shape))
            self._arrays[layout] = path
        return self._arrays[layout]


def whole_read(label: str, layout: Layout, space: Workspace) -> Row:
    """Open the array and read all of it."""

    def prepare(library: Library) -> Timed:
        path = space.array(layout)
        return lambda: library.read(library.open(path), ...)

    def finish(library: Library, result: object) -> None:
        if not np.array_equal(np.asarray(result), space.data(layout.shape)):
            raise AssertionError(f"{library.name} read other values than were written: {label}")

    return Row(f"read {label}", prepare, finish)


def whole_write(label: str, layout: Layout, space: Workspace) -> Row:
    """Create an array in a new folder and write all of it."""
    target = space.folder / "written.zarr"

    def prepare(library: Library) -> Timed:
        values = space.data(layout.shape)
        return lambda: library.write(target, layout, values)

    def finish(library: Library, result: object) -> None:
        found = space.referee.read(space.referee.open(target), ...)
        if not np.array_equal(found, space.data(layout.shape)):
            raise AssertionError(f"{library.name} wrote other values than were given: {label}")
        if not same_codecs(target, layout):
            raise AssertionError(f"{library.name} wrote other codecs than were asked for: {label}")
        shutil.rmtree(target)

    return Row(f"write {label}", prepare, finish)


def small_reads(
    label: str, layout: Layout, space: Workspace, count: int, *, size: tuple[int, int]
) -> Row:
    """Read `count` boxes of `size` from an array that stays open, at scattered places."""
    rng = np.random.default_rng(3)
    steps = [np.arange(0, length, step) for length, step in zip(layout.shape, size, strict=True)]
    starts = list(zip(*(rng.choice(axis, count).tolist() for axis in steps), strict=True))
    selections: list[tuple[int | slice, ...]] = [
        start if size == (1, 1) else tuple(
            slice(first, first + length) for first, length in zip(start, size, strict=True)
        )
        for start in starts
    ]  # fmt: skip

    def prepare(library: Library) -> Timed:
        array = library.open(space.array(layout))
        return lambda: [library.read(array, selection) for selection in selections]

    def finish(library: Library, result: object) -> None:
        data = space.data(layout.shape)
        assert isinstance(result, list)
        for found, selection in zip(result, selections, strict=True):
            if not np.array_equal(found, data[selection]):
                raise AssertionError(f"{library.name} read other values at {selection}: {label}")

    return Row(label, prepare, finish, count)


def opening(layout: Layout, space: Workspace, count: int) -> Row:
    def prepare(library: Library) -> Timed:
        path = space.array(layout)
        return lambda: [library.open(path) for _ in range(count)]

    def finish(library: Library, result: object) -> None:
        assert isinstance(result, list)
        if any(tuple(array.shape) != layout.shape for array in result):
            raise AssertionError(f"{library.name} opened an array of another shape")

    return Row("open an array", prepare, finish, count)


def listing(space: Workspace) -> Row:
    """Names and shapes of 1,000 arrays in one group that is not consolidated."""
    path = space.folder / "group.zarr"
    expected = [(f"a{index:04}", (index + 1, 4)) for index in range(LISTED_ARRAYS)]

    def prepare(library: Library) -> Timed | None:
        if not path.exists():
            path.mkdir()
            (path / "zarr.json").write_text('{"zarr_format": 3, "node_type": "group"}')
            for name, shape in expected:
                (path / name).mkdir()
                (path / name / "zarr.json").write_text(array_document(shape))
        if library.list_arrays(path) is None:
            return None
        return lambda: library.list_arrays(path)

    def finish(library: Library, result: object) -> None:
        if result != expected:
            raise AssertionError(f"{library.name} listed other arrays than there are")

    return Row(f"list {LISTED_ARRAYS:,} arrays", prepare, finish)


def array_document(shape: tuple[int, ...]) -> str:
    grid = {"name": "regular", "configuration": {"chunk_shape": shape}}
    document = {
        "zarr_format": 3,
        "node_type": "array",
        "shape": shape,
        "data_type": "float32",
        "chunk_grid": grid,
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
        "fill_value": 0.0,
        "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
        "attributes": {"units": "K"},
    }
    return json.dumps(document)


def importing(space: Workspace) -> Row:
    """What importing the library adds to importing NumPy, in a fresh interpreter.

    All are compiled once into the run's own folder, so that an installed library has no
    advantage over a checkout.
    """
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": str(space.folder / "bytecode")}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)

    def prepare(library: Library) -> Timed | None:
        if library.module is None:
            return None
        program = (
            "import numpy, time; start = time.perf_counter();"
            f"import {library.module}; print(time.perf_counter() - start)"
        )

        def run() -> float:
            command = [sys.executable, "-c", program]
            done = subprocess.run(
                command, capture_output=True, text=True, check=True, env=environment
            )
            return float(done.stdout)

        run()
        return run

    def finish(library: Library, result: object) -> None:
        pass

    return Row("import, beyond NumPy", prepare, finish)


def layouts(scale: int) -> dict[str, Layout]:
    """The arrays by label. `scale` divides the number of chunks, for a quick look."""
    side = {1: 1, 4: 2, 16: 4}[scale]
    return {
        "16 MiB chunks, zstd": Layout((8192 // side, 4096), (2048, 2048), "zstd"),
        "256 KiB chunks, zstd": Layout((8192 // side, 4096 // side), (256, 256), "zstd"),
        "10,000 × 16 KiB, blosc-lz4": Layout((6400 // side, 6400 // side), (64, 64), "blosc-lz4"),
        "10,000 × 400 B, raw": Layout((1000 // side, 1000 // side), (10, 10), "raw"),
        "16,384 × 4 KiB in 16 shards, zstd": Layout(
            (4096 // side, 4096 // side), (32, 32), "zstd", (1024 // side, 1024 // side)
        ),
    }


def all_rows(space: Workspace) -> list[Row]:
    arrays = layouts(space.scale)
    medium = arrays["256 KiB chunks, zstd"]
    small = arrays["10,000 × 16 KiB, blosc-lz4"]
    sharded = arrays["16,384 × 4 KiB in 16 shards, zstd"]
    calls = 200 // space.scale
    rows = [whole_read(label, layout, space) for label, layout in arrays.items()]
    rows += [whole_write(label, layout, space) for label, layout in arrays.items()]
    rows += [
        small_reads("one element, 16 KiB chunks", small, space, calls, size=(1, 1)),
        small_reads("one element, sharded", sharded, space, calls, size=(1, 1)),
        small_reads("one chunk of 16 KiB", small, space, calls, size=small.chunks),
        small_reads("one chunk of 256 KiB", medium, space, calls, size=medium.chunks),
        small_reads("one inner chunk of a shard", sharded, space, calls, size=sharded.chunks),
        opening(small, space, 50),
        listing(space),
        importing(space),
    ]
    return rows
