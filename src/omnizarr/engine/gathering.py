"""Text and byte strings gathered as columns: what reading without NumPy's arrays collects.

A `Gathered` stands where reading expects the working array: the engine assigns to its places. It
keeps the columns as they come, each with the places that it belongs to, and puts them in order at
the end. A flat, gapless selection stays in pieces, one for a chunk, none of them copied.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from omnizarr.errors import LimitError
from omnizarr.model.column import Column, concatenated

NDArray = npt.NDArray[Any]


class Gathered:
    def __init__(self, shape: tuple[int, ...], text: bool) -> None:
        self.shape = shape
        self.text = text
        self._parts: list[tuple[Any, Column | tuple[int, ...]]] = []
        """Places and their column; only its shape, where it is the fill value."""
        self._fill: Any = ""
        try:
            np.empty(prod(shape) + 1, np.int64)  # the least that the result takes
        except (ValueError, MemoryError) as error:
            raise self._too_much() from error

    def __setitem__(self, places: Any, values: Any) -> None:
        """A column for these places of the working array, or one value (the fill) for all."""
        # Threads share it; appending to a list is one step.
        if not isinstance(values, Column):
            self._fill = values[()]
            values = _shape_of(places, self.shape)
        self._parts.append((places, values))

    def columns(self, result: Callable[[NDArray], NDArray]) -> list[Column]:
        """The selected elements in C order. `result` makes of a working array what the caller
        asked for (`Plan.result`): here, of the places in it."""
        wanted = result(np.arange(prod(self.shape)).reshape(self.shape))
        if self._flat() and _is_whole(wanted):
            self._parts.sort(key=lambda part: part[0][0].start)
            return [column for column in self._merged() if column.size] or [self._nothing()]
        if not self._parts:
            return [self._nothing().reshape(wanted.shape)]
        # For each position of the working array, the index of its element.
        together = concatenated(self._merged(), self.text)
        places = np.empty(self.shape, np.int64)
        begin = 0
        for where, part in self._parts:
            shape = part.shape if isinstance(part, Column) else part
            places[where] = np.arange(begin, begin + prod(shape)).reshape(shape)
            begin += prod(shape)
        return [together.chosen(places.reshape(-1)[wanted])]

    def _merged(self) -> list[Column]:
        """The columns in the order of the parts, fill values side by side in one."""
        found: list[Column] = []
        missing = 0
        for _, part in [*self._parts, (None, self._nothing())]:
            if not isinstance(part, Column):
                missing += prod(part)
                continue
            if missing:
                found.append(self._repeated(missing))
                missing = 0
            found.append(part)
        return found[:-1]

    def _repeated(self, count: int) -> Column:
        try:
            return Column.repeated(self._fill, (count,), self.text)
        except (MemoryError, OverflowError) as error:
            raise self._too_much() from error

    def _flat(self) -> bool:
        """Whether every part is one gapless piece of a flat array."""
        return len(self.shape) == 1 and all(
            len(places) == 1 and isinstance(places[0], slice) for places, _ in self._parts
        )

    def _too_much(self) -> LimitError:
        return LimitError(
            f"a selection of shape {self.shape} does not fit into memory; select less"
        )

    def _nothing(self) -> Column:
        return Column(np.zeros(1, np.int64), np.zeros(0, np.uint8), (0,), self.text)


def _is_whole(wanted: NDArray) -> bool:
    """Whether a caller wants every place of a flat working array, in order."""
    return wanted.ndim == 1 and bool((wanted == np.arange(wanted.size)).all())


def _shape_of(places: Any, shape: tuple[int, ...]) -> tuple[int, ...]:
    probe: NDArray = np.broadcast_to(np.empty((), np.bool_), shape)[places]
    return probe.shape
