"""A library in a process of its own: one row, asked for again and again by `bench.py`."""

from __future__ import annotations

import gc
import shutil
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from layouts import Layout
from libraries import CHOICES, Library, Timed
from machine import peak, resident
from rows import Row, Workspace, all_rows, scaling_rows
from workers import serve


class Bench:
    """Answers in turn: who it is; whether it can do a row; how long each round took."""

    def __init__(self, name: str, folder: Path) -> None:
        self._name = name
        self._space = Workspace(folder)
        self._library: Library | None = None
        self._row: Row | None = None
        self._timed: Timed | None = None

    def answer(self, question: dict[str, Any]) -> dict[str, Any]:
        try:
            return getattr(self, question.pop("do"))(**question)  # type: ignore[no-any-return]
        except Exception as error:
            return {"error": f"{type(error).__name__}: {error}".partition("\n")[0][:300]}

    def hello(self) -> dict[str, Any]:
        self._library = CHOICES[self._name].make()
        library = self._library
        return {"title": library.title, "version": library.version, "format": library.format}

    def prepare(self, label: str, quick: bool, scaling: int | None) -> dict[str, Any]:
        assert self._library is not None
        rows = all_rows(quick=quick) if scaling is None else scaling_rows(scaling)
        self._row = row = next(row for row in rows if row.label == label)
        if self._name == "floor" and not row.bulk:
            return {"can": False}
        if row.layout is not None and not self._library.supports(row.layout):
            return {"can": False}
        if self._name != "floor" and row.layout is not None:
            self._warm_up(row.layout)
        self._timed = row.prepare(self._library, self._space)
        return {"can": self._timed is not None}

    def _warm_up(self, layout: Layout) -> None:
        """Write and read a few elements, so that code is loaded and threads are started."""
        assert self._library is not None
        small = Layout((4,) * len(layout.shape), (2,) * len(layout.shape), layout.codec)
        path = self._space.target(self._library)
        self._library.write(path, small, np.ones(small.shape, small.dtype))
        self._library.read(self._library.open(path), ...)
        shutil.rmtree(path)

    def turn(self, cpu: bool) -> dict[str, Any]:
        """Seconds for one operation; bytes of memory beyond the result, at the peak."""
        assert self._library is not None and self._row is not None and self._timed is not None
        clock = time.process_time if cpu else time.perf_counter
        gc.collect()
        before = resident()
        start = clock()
        result = self._timed()
        seconds = clock() - start
        memory = None if before is None else max(0, peak() - before - size_of(result))
        # A row that measures itself in another process returns its own figure.
        if isinstance(result, float):
            seconds, memory = result, None
        self._row.check(self._library, self._space, result)
        if self._name == "floor":
            memory = None  # some of it is in other processes
        return {"seconds": seconds / self._row.operations, "memory": memory}


def size_of(result: Any) -> int:
    if isinstance(result, list):
        return sum(map(size_of, result))
    return result.nbytes if isinstance(result, np.ndarray) else 0


if __name__ == "__main__":
    serve(Bench(sys.argv[1], Path(sys.argv[2])).answer)
