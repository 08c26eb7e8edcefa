"""What is measured: one `Row` each, as plain data and two small functions.

The driver makes the arrays of a row before its workers start. In a worker a row gives a function to
time for the library, checks what that returned or left, and says how many operations a call holds.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import count as counting
from pathlib import Path
from typing import Any

import floor
import numpy as np
from layouts import Layout, same_codecs, values
from libraries import Library, Timed

LISTED_ARRAYS = 1000
LISTED_GROUPS = 8


class Workspace:
    """The folder of a run: data, arrays that all read, and room for writing."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def make(self, layout: Layout, formats: set[int]) -> None:
        """The data, and an array of it in each format that has such a layout."""
        if not self._file(layout).exists():
            np.save(self._file(layout), values(layout))
        for format_ in formats if layout.shards is None else {3}:
            path = self.array(layout, format_)
            if not path.exists():
                floor.write_array(path, layout, self.data(layout), format_)

    def forget(self, layout: Layout) -> None:
        self._file(layout).unlink()
        for format_ in (2, 3):
            shutil.rmtree(self.array(layout, format_), ignore_errors=True)

    def clear(self) -> None:
        """Delete what libraries wrote."""
        for path in self.folder.glob("written by *"):
            shutil.rmtree(path)

    def data(self, layout: Layout) -> np.ndarray:
        """Mapped, so that the workers share it, and in memory, so that no later peak counts it."""
        found: np.ndarray = np.load(self._file(layout), mmap_mode="c").view(np.ndarray)
        found.reshape(-1).view("u1")[::4096].max()
        return found

    def array(self, layout: Layout, format_: int) -> Path:
        return self.folder / f"{layout.name}.v{format_}"

    def target(self, library: Library) -> Path:
        return self.folder / f"written by {library.title}"

    def _file(self, layout: Layout) -> Path:
        return self.folder / f"{layout.name}.npy"


@dataclass(frozen=True)
class Row:
    label: str
    layout: Layout | None
    prepare: Callable[[Library, Workspace], Timed | None]
    """The function to time for this library; None if the library cannot do it."""
    check: Callable[[Library, Workspace, Any], None]
    """Compare what the timed function returned or left with the data. Not timed."""
    operations: int = 1
    bulk: bool = False
    """Everything is read or written: there is a floor."""
    family: str = ""
    """Rows that differ only in size: who takes too long at one size is not asked for the next."""


def _must_equal(found: Any, expected: Any, library: Library, what: str) -> None:
    if not np.array_equal(np.asarray(found), expected):
        raise AssertionError(f"{library.title} has other values than the data: {what}")


# -- everything -----------------------------------------------------------------------------------


def whole_read(layout: Layout, family: str = "") -> Row:
    """Open the array and read all of it."""
    label = f"read {layout.title}"

    def prepare(library: Library, space: Workspace) -> Timed | None:
        return library.whole_read(space.array(layout, library.format), layout)

    def check(library: Library, space: Workspace, result: Any) -> None:
        _must_equal(result, space.data(layout), library, label)

    return Row(label, layout, prepare, check, bulk=True, family=family)


def whole_write(layout: Layout, family: str = "") -> Row:
    """Create an array in a new folder and write all of it."""
    label = f"write {layout.title}"

    def prepare(library: Library, space: Workspace) -> Timed | None:
        return library.whole_write(space.target(library), layout, space.data(layout))

    return Row(label, layout, prepare, _written(layout, label), bulk=True, family=family)


def round_trip(layout: Layout) -> Row:
    """Read all of an array and write it again, with the same codecs."""
    label = f"round trip, {layout.title}"

    def prepare(library: Library, space: Workspace) -> Timed | None:
        source, target = space.array(layout, library.format), space.target(library)
        return lambda: library.write(target, layout, library.read(library.open(source), ...))

    return Row(label, layout, prepare, _written(layout, label))


def _written(layout: Layout, label: str) -> Callable[[Library, Workspace, Any], None]:
    def check(library: Library, space: Workspace, result: Any) -> None:
        target = space.target(library)
        document = target / ("zarr.json" if library.format == 3 else ".zarray")
        if not same_codecs(json.loads(document.read_text(encoding="utf-8")), layout):
            raise AssertionError(f"{library.title} wrote other codecs than were asked for: {label}")
        found = floor.read_array(target, layout, library.format)
        _must_equal(found, space.data(layout), library, label)
        shutil.rmtree(target)

    return check


# -- parts ----------------------------------------------------------------------------------------


def boxes(layout: Layout, size: tuple[int, ...], count: int) -> list[tuple[Any, ...]]:
    """Selections of `size` at scattered places; integers where that is one element."""
    rng = np.random.default_rng(3)
    axes = zip(layout.shape, size, strict=True)
    starts = np.stack([rng.integers(0, n // k, count) * k for n, k in axes], axis=1).tolist()
    if set(size) == {1}:
        return [tuple(start) for start in starts]
    return [tuple(slice(i, i + k) for i, k in zip(start, size, strict=True)) for start in starts]


def reads(
    label: str, layout: Layout, selections: list[Any], *, threads: int = 1, family: str = ""
) -> Row:
    """Read boxes of an array that stays open, one after the other, or from several threads."""

    def prepare(library: Library, space: Workspace) -> Timed | None:
        array = library.open(space.array(layout, library.format))
        if threads == 1:
            return lambda: [library.read(array, selection) for selection in selections]
        pool = ThreadPoolExecutor(threads)
        return lambda: list(pool.map(lambda selection: library.read(array, selection), selections))

    def check(library: Library, space: Workspace, result: Any) -> None:
        data = space.data(layout)
        for found, selection in zip(result, selections, strict=True):
            _must_equal(found, data[selection], library, f"{label}, {selection}")

    operations = len(selections) if threads == 1 else 1
    return Row(label, layout, prepare, check, operations, family=family)


def picks(label: str, layout: Layout, way: str, selection: Any) -> Row:
    """Read a selection that is no box: `way` is `strided`, `oindex` or `vindex`."""

    def prepare(library: Library, space: Workspace) -> Timed | None:
        array = library.open(space.array(layout, library.format))
        return lambda: getattr(library, way)(array, selection)

    def check(library: Library, space: Workspace, result: Any) -> None:
        _must_equal(result, space.data(layout)[selection], library, label)

    return Row(label, layout, prepare, check)


def partial_writes(layout: Layout, size: tuple[int, ...], count: int) -> Row:
    """Write boxes that cover no chunk into a copy of the array that stays open."""
    label = f"write a box of {' × '.join(map(str, size))}, {layout.title}"
    selections = boxes(layout, size, count)
    rounds = counting(1)

    def prepare(library: Library, space: Workspace) -> Timed | None:
        target = space.target(library)
        shutil.copytree(space.array(layout, library.format), target)
        array = library.open(target, write=True)
        data = space.data(layout)
        parts = [np.ascontiguousarray(data[selection]) for selection in selections]

        def write() -> int:
            round_ = next(rounds)
            for selection, part in zip(selections, parts, strict=True):
                library.assign(array, selection, part + round_)
            return round_

        return write

    def check(library: Library, space: Workspace, result: Any) -> None:
        expected = np.array(space.data(layout))
        for selection in selections:
            expected[selection] = space.data(layout)[selection] + result
        found = floor.read_array(space.target(library), layout, library.format)
        _must_equal(found, expected, library, label)

    return Row(label, layout, prepare, check, count)


# -- metadata -------------------------------------------------------------------------------------


def opening(label: str, layout: Layout, count: int, family: str = "") -> Row:
    def prepare(library: Library, space: Workspace) -> Timed | None:
        path = space.array(layout, library.format)
        return lambda: [library.open(path) for _ in range(count)]

    def check(library: Library, space: Workspace, result: Any) -> None:
        if any(tuple(array.shape) != layout.shape for array in result):
            raise AssertionError(f"{library.title} opened an array of another shape")

    return Row(label, layout, prepare, check, count, family=family)


def listing() -> Row:
    """Names and shapes of 1,000 arrays in one group that is not consolidated. Each call lists
    another group, so that none finds documents that it has parsed before."""

    def expected(number: int) -> list[tuple[str, tuple[int, ...]]]:
        return [(f"a{index:04}", (index + 1, number + 1)) for index in range(LISTED_ARRAYS)]

    def make(path: Path, arrays: list[tuple[str, tuple[int, ...]]]) -> None:
        path.mkdir()
        (path / "zarr.json").write_text('{"zarr_format": 3, "node_type": "group"}')
        for name, shape in arrays:
            (path / name).mkdir()
            document = json.dumps(Layout(shape, shape, "raw").document)
            (path / name / "zarr.json").write_text(document)

    def prepare(library: Library, space: Workspace) -> Timed | None:
        folder = space.folder / "groups"
        if not folder.exists():
            folder.mkdir()
            make(folder / "empty", [])
            for number in range(LISTED_GROUPS):
                make(folder / str(number), expected(number))
        if library.format != 3 or library.list_arrays(folder / "empty") is None:
            return None
        numbers = counting()

        def list_next() -> tuple[int, Any]:
            number = next(numbers) % LISTED_GROUPS
            return number, library.list_arrays(folder / str(number))

        return list_next

    def check(library: Library, space: Workspace, result: Any) -> None:
        if result[1] != expected(result[0]):
            raise AssertionError(f"{library.title} listed other arrays than there are")

    return Row(f"list {LISTED_ARRAYS:,} arrays", None, prepare, check)


def importing() -> Row:
    """What importing the library adds to importing NumPy."""

    def prepare(library: Library, space: Workspace) -> Timed | None:
        if library.module is None:
            return None
        return lambda: _fresh(f"import {library.module}", space)[0]

    def check(library: Library, space: Workspace, result: Any) -> None:
        pass

    return Row("import, beyond NumPy", None, _once_before(prepare), check)


def first_read(layout: Layout) -> Row:
    """Import the library, open an array and read one element: what is imported later counts too."""
    label = "import, open, read one element"

    def prepare(library: Library, space: Workspace) -> Timed | None:
        if library.first_read is None:
            return None
        program, path = library.first_read, space.array(layout, library.format)
        expected = space.data(layout)[0, 0]

        def run() -> float:
            seconds, value = _fresh(program, space, path)
            _must_equal(value, expected, library, label)
            return seconds

        return run

    def check(library: Library, space: Workspace, result: Any) -> None:
        pass

    return Row(label, layout, _once_before(prepare), check)


def _once_before(
    prepare: Callable[[Library, Workspace], Timed | None],
) -> Callable[[Library, Workspace], Timed | None]:
    """Run it once untimed, so that everything is compiled."""

    def prepared(library: Library, space: Workspace) -> Timed | None:
        run = prepare(library, space)
        if run is not None:
            run()
        return run

    return prepared


def _fresh(program: str, space: Workspace, path: Path | None = None) -> tuple[float, float]:
    """Seconds that a program takes in a fresh interpreter that has imported NumPy, and its `value`.

    All is compiled into the run's own folder, so that an installed library has no advantage over
    a checkout.
    """
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": str(space.folder / "bytecode")}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    timed = (
        f"import numpy, time; path, value = {str(path)!r}, 0; start = time.perf_counter()\n"
        f"{program}\n"
        "print(time.perf_counter() - start, float(value))"
    )
    command = [sys.executable, "-c", timed]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    seconds, value = map(float, done.stdout.split())
    return seconds, value


# -- the table ------------------------------------------------------------------------------------


def all_rows(*, quick: bool) -> list[Row]:
    """Rows of one array stand together, so that its files need not stay for the whole run."""
    side, edge = (4, 128) if quick else (1, 512)
    few = 16 if quick else 1
    large = Layout((8192 // side, 8192 // side), (2048, 2048), "blosc-lz4")
    medium = Layout((8192 // side, 4096 // side), (256, 256), "zstd")
    small = Layout((6400 // side, 6400 // side), (64, 64), "blosc-lz4")
    tiny = Layout((1000 // side, 1000 // side), (10, 10), "raw")
    gzip = Layout((4096 // side, 2048 // side), (256, 256), "gzip")
    shards = Layout((4096 // side,) * 2, (32, 32), "zstd", (1024 // side,) * 2)
    cube, half, eighth = (edge,) * 3, (edge // 2,) * 3, (edge // 8,) * 3
    cubes = Layout(cube, half, "raw", dtype="uint16")
    zstd_cubes = Layout(cube, half, "zstd", dtype="uint16")
    cube_shards = Layout(cube, eighth, "zstd", half, "uint16")
    length = 10**7 if quick else 10**8
    bytes_ = Layout((length,), (10**5,), "zstd", dtype="uint8")
    byte_shards = Layout((length,), (10**5,), "zstd", (length // 10,), "uint8")
    rng = np.random.default_rng(5)
    lines = np.sort(rng.choice(medium.shape[0], 500 // side, replace=False))
    points = tuple(rng.integers(0, length, 10**5 // few) for length in medium.shape)
    whole_rows = [(slice(i, i + 1), slice(None)) for i in range(200 // few)]
    each = [floor.region(at, medium.chunks) for at in floor.all_of(medium)]
    return [
        whole_read(large),
        whole_write(large),
        whole_read(medium),
        whole_write(medium),
        reads(f"read {medium.title}, chunk by chunk, 4 threads", medium, each, threads=4),
        reads("one element of a 256 KiB chunk", medium, boxes(medium, (1, 1), 200 // few)),
        reads("one chunk of 256 KiB", medium, boxes(medium, medium.chunks, 200 // few)),
        picks("[::7, ::7] of 256 KiB chunks", medium, "strided", np.s_[::7, ::7]),
        picks(f"oindex, {len(lines)} scattered rows", medium, "oindex", lines),
        picks(f"vindex, {len(points[0]):,} points", medium, "vindex", points),
        partial_writes(medium, (100, 100), 100 // few),
        whole_read(small),
        whole_write(small),
        reads("one element of a 16 KiB chunk", small, boxes(small, (1, 1), 200 // few)),
        reads("one chunk of 16 KiB", small, boxes(small, small.chunks, 200 // few)),
        reads("one row of 16 KiB chunks", small, whole_rows),
        opening("open an array", small, 100),
        whole_read(tiny),
        whole_write(tiny),
        whole_read(gzip),
        whole_write(gzip),
        whole_read(shards),
        whole_write(shards),
        reads("one element of a shard", shards, boxes(shards, (1, 1), 200 // few)),
        reads("one inner chunk of a shard", shards, boxes(shards, shards.chunks, 300 // few)),
        whole_read(cubes),
        whole_write(cubes),
        whole_read(zstd_cubes),
        whole_write(zstd_cubes),
        whole_read(cube_shards),
        whole_write(cube_shards),
        round_trip(cube_shards),
        whole_read(bytes_),
        whole_write(bytes_),
        whole_read(byte_shards),
        whole_write(byte_shards),
        listing(),
        importing(),
        first_read(Layout((64, 64), (64, 64), "blosc-lz4")),
    ]


def scaling_rows(most: int) -> list[Row]:
    """From 1,000 chunks to `most`, in steps of ten: what should stay the same, what should grow
    with them. Chunks of 100 bytes, as files, and as inner chunks of shards of 1,000."""
    rows = []
    for count in (10**power for power in range(3, len(str(most)))):
        shape, chunks = (10 * count // 1000, 10 * 1000), (10, 10)
        for shards, kind in ((None, "files"), ((10, 10 * 1000), "shards")):
            layout = Layout(shape, chunks, "raw", shards, "uint8")
            corner = [floor.region((0, 0), chunks)] * 100
            rows += [
                opening(f"open {layout.title}", layout, 100, f"open {kind}"),
                reads(f"one chunk of {layout.title}", layout, corner, family=f"corner {kind}"),
                whole_read(layout, f"read {kind}"),
                whole_write(layout, f"write {kind}"),
            ]
    return rows
