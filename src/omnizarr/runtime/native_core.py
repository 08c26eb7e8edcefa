"""The seam to the native core: `omnizarr_native`, a distribution of its own, if it is installed.

Callers ask `core()` and do the same work in Python when it gives None; results
and errors are the same. `OMNIZARR_NATIVE=0` in the environment switches the core off.

This module knows the core's name, version and functions. It must not know what they are used for,
and it loads nothing until it is asked.
"""

from __future__ import annotations

import os
from functools import cache
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, cast

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy as np
    import numpy.typing as npt

    Array: TypeAlias = npt.NDArray[Any]
    Column: TypeAlias = tuple[npt.NDArray[np.int64], npt.NDArray[np.uint8]]

API = 10
"""The version of the functions below that this release of omnizarr calls."""
NAME = "omnizarr_native"
SWITCH = "OMNIZARR_NATIVE"


class Core(Protocol):
    """What the core can do; its README says what a frame and a column are. Arguments that are not
    as they must be raise ValueError, TypeError or IndexError; `out` is then as it was."""

    @property
    def API(self) -> int: ...  # noqa: N802, the module's own name for it

    def frame_split(self, frame: Any, count: int, /) -> Column: ...

    def frame_join(self, offsets: Array, data: Array, /) -> bytes: ...

    def frame_text(self, frame: Any, out: Array, /) -> None: ...

    def text_fill(self, offsets: Array, data: Array, out: Array, /) -> None: ...

    def text_column(self, array: Array, /) -> Column: ...

    def objects_column(self, array: Array, text: bool, /) -> Column: ...

    def column_objects(self, offsets: Array, data: Array, text: bool, out: Array, /) -> None: ...

    def check_text(self, offsets: Array, data: Array, /) -> None: ...

    def column_take(self, offsets: Array, data: Array, indices: Array, /) -> Column: ...

    @property
    def Chunks(self) -> Callable[..., Chunks]: ...  # noqa: N802

    @property
    def Serialized(self) -> Callable[..., Serialized]: ...  # noqa: N802

    # A negative number is that of the system's error: ENOSYS where the system is not Linux.
    def file_open(self, path: bytes, flags: int, /) -> int: ...

    def file_read(
        self, path: bytes, flags: int, start: int, stop: int | None, most: int, /
    ) -> bytes | int: ...

    def file_read_many(
        self,
        root: bytes,
        names: Sequence[str],
        flags: int,
        stop: int,
        most: int,
        threads: int | None,
        check: Callable[[], None],
        /,
    ) -> list[bytes | int]: ...


class Chunks(Protocol):
    """Reads and writes the chunks of an array, many in one call; see the core's README. `read` and
    `write` are for files, and only on Linux."""

    def read(
        self,
        root: bytes,
        follow_links: bool,
        runs: Sequence[tuple[int, ...]] | tuple[int, ...],
        points: Sequence[tuple[Any, ...]],
        out: Array,
        threads: int | None,
        scratch: int,
        check: Callable[[], None],
        /,
    ) -> tuple[list[list[int]], int, int] | None: ...

    def read_single(
        self,
        root: bytes,
        follow_links: bool,
        key: Any,
        shape: tuple[int, ...],
        dtype: np.dtype[Any],
        fortran: bool,
        check: Callable[[], None],
        /,
    ) -> Any: ...

    def write(
        self,
        root: bytes,
        runs: Sequence[tuple[int, ...]] | tuple[int, ...],
        points: Sequence[tuple[Any, ...]],
        array: Array,
        elided: bytes | None,
        absent: bool,
        threads: int | None,
        scratch: int,
        check: Callable[[], None],
        /,
    ) -> tuple[list[list[int]], int] | None: ...

    def select(
        self,
        shape: tuple[int, ...],
        runs: Sequence[tuple[int, ...]] | tuple[int, ...],
        points: Sequence[tuple[Any, ...]],
        /,
    ) -> Selection | None: ...

    def place(
        self,
        selection: Selection,
        out: Array,
        coordinates: Sequence[tuple[int, ...]],
        values: Sequence[Any],
        threads: int | None,
        scratch: int,
        check: Callable[[], None],
        /,
    ) -> list[int]: ...

    def encode(
        self,
        selection: Selection,
        array: Array,
        coordinates: Sequence[tuple[int, ...]],
        old: Sequence[Any],
        elided: bytes | None,
        threads: int | None,
        scratch: int,
        check: Callable[[], None],
        /,
    ) -> tuple[list[bytes | None], list[int]]: ...


class Serialized(Protocol):
    """Moves chunks between files and their serializer, many in one call; see the core's README.
    Only on Linux."""

    def read(
        self,
        root: bytes,
        follow_links: bool,
        coordinates: Sequence[tuple[int, ...]],
        threads: int | None,
        scratch: int,
        check: Callable[[], None],
        /,
    ) -> tuple[list[bytes | None], list[int]]: ...

    def write(
        self,
        root: bytes,
        coordinates: Sequence[tuple[int, ...]],
        values: Sequence[Any],
        threads: int | None,
        scratch: int,
        check: Callable[[], None],
        /,
    ) -> list[int]: ...


class Selection(Protocol):
    """What a selection takes from each chunk; only `Chunks` knows more."""


@cache
def core() -> Core | None:
    """The native core; None if it is not installed, switched off, or of another version."""
    if os.environ.get(SWITCH, "").strip() == "0":
        return None
    from importlib import import_module

    try:
        found = import_module(NAME)
    except ImportError as error:
        if not (isinstance(error, ModuleNotFoundError) and error.name == NAME):
            _warn(f"{NAME} is installed but cannot be loaded ({error})")
        return None
    version = getattr(found, "API", None)
    if version != API:
        _warn(f"{NAME} has API version {version}, but this omnizarr needs version {API}")
        return None
    return cast(Core, found)


def _warn(what: str) -> None:
    from warnings import warn

    warn(
        f"{what}: it is ignored, and omnizarr works without it, more slowly."
        f" Install the {NAME} that belongs to this omnizarr, or set {SWITCH}=0.",
        RuntimeWarning,
        stacklevel=3,
    )
