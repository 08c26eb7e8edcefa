"""Text between chunk bytes and NumPy, many chunks at once, files. All arguments are positional."""

from collections.abc import Buffer, Callable, Sequence
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

Bytes: TypeAlias = npt.NDArray[np.uint8]
Offsets: TypeAlias = npt.NDArray[np.int32] | npt.NDArray[np.int64]
Column: TypeAlias = tuple[npt.NDArray[np.int64], Bytes]

API: Final[int]
__version__: Final[str]

def frame_split(frame: Buffer, count: int, /) -> Column: ...
def frame_join(offsets: Offsets, data: Bytes, /) -> bytes: ...
def frame_text(frame: Buffer, out: npt.NDArray[Any], /) -> None: ...
def text_fill(offsets: Offsets, data: Bytes, out: npt.NDArray[Any], /) -> None: ...
def text_column(array: npt.NDArray[Any], /) -> Column: ...
def objects_column(array: npt.NDArray[np.object_], text: bool, /) -> Column: ...
def column_objects(
    offsets: Offsets, data: Bytes, text: bool, out: npt.NDArray[np.object_], /
) -> None: ...
def check_text(offsets: Offsets, data: Bytes, /) -> None: ...
def column_take(offsets: Offsets, data: Bytes, indices: npt.NDArray[np.int64], /) -> Column: ...
def file_open(path: bytes, flags: int, /) -> int: ...
def file_read(
    path: bytes, flags: int, start: int, stop: int | None, most: int, /
) -> bytes | int: ...
def file_read_many(
    root: bytes,
    names: Sequence[str],
    flags: int,
    stop: int,
    most: int,
    threads: int | None,
    check: Callable[[], None],
    /,
) -> list[bytes | int]: ...

class Selection:
    """Made by `Chunks.select`."""

class Serialized:
    """Absent where the system has no `openat2`."""

    def __new__(
        cls,
        codecs: tuple[tuple[Any, ...], ...],
        keys: tuple[bytes, int, bytes],
        sizes: tuple[int, int, int],
        /,
    ) -> Serialized: ...
    def read(
        self,
        root: bytes,
        follow_links: bool,
        coordinates: Sequence[Sequence[int]],
        threads: int | None,
        scratch: int,
        check: Callable[[], object],
        /,
    ) -> tuple[list[bytes | None], list[int]]: ...
    def write(
        self,
        root: bytes,
        coordinates: Sequence[Sequence[int]],
        values: Sequence[Buffer],
        threads: int | None,
        scratch: int,
        check: Callable[[], object],
        /,
    ) -> list[int]: ...

class Chunks:
    """`read` and `write` are absent where the system has no `openat2`."""

    def __new__(
        cls,
        chunk: tuple[
            tuple[int, ...], tuple[int, ...], int, tuple[tuple[Any, ...], ...], int, int
        ],
        shard: tuple[tuple[int, ...], bool, bool] | None,
        keys: tuple[bytes, int, bytes],
        fill: bytes | None,
        leaves_missing: bool = False,
        /,
    ) -> Chunks: ...
    def read(
        self,
        root: bytes,
        follow_links: bool,
        runs: Sequence[tuple[int, ...]] | tuple[int, ...],
        points: Sequence[tuple[Any, ...]],
        out: npt.NDArray[Any],
        threads: int | None,
        scratch: int,
        check: Callable[[], object],
        /,
    ) -> tuple[list[list[int]], int, int] | None: ...
    def read_single(
        self,
        root: bytes,
        follow_links: bool,
        key: object,
        shape: tuple[int, ...],
        dtype: np.dtype[Any],
        fortran: bool,
        check: Callable[[], object],
        /,
    ) -> Any: ...
    def write(
        self,
        root: bytes,
        runs: Sequence[tuple[int, ...]] | tuple[int, ...],
        points: Sequence[tuple[Any, ...]],
        array: npt.NDArray[Any],
        elided: bytes | None,
        absent: bool,
        threads: int | None,
        scratch: int,
        check: Callable[[], object],
        /,
    ) -> tuple[list[list[int]], int] | None: ...
    def select(
        self,
        shape: Sequence[int],
        runs: Sequence[tuple[int, ...]] | tuple[int, ...],
        points: Sequence[tuple[Any, ...]],
        /,
    ) -> Selection | None: ...
    def place(
        self,
        selection: Selection,
        out: npt.NDArray[Any],
        coordinates: Sequence[Sequence[int]],
        values: Sequence[Buffer | tuple[Buffer, Sequence[tuple[int, Buffer]]] | None],
        threads: int | None,
        scratch: int,
        check: Callable[[], object],
        /,
    ) -> list[int]: ...
    def encode(
        self,
        selection: Selection,
        array: npt.NDArray[Any],
        coordinates: Sequence[Sequence[int]],
        old: Sequence[Buffer | None],
        elided: bytes | None,
        threads: int | None,
        scratch: int,
        check: Callable[[], object],
        /,
    ) -> tuple[list[bytes | None], list[int]]: ...
