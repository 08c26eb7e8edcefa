"""Reading several values with as few opened files and directories as possible.

This module knows keys and descriptors. It must not know how a file is opened safely.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable, Sequence
from itertools import groupby, pairwise

from omnizarr import limits
from omnizarr.model.paths import check_key
from omnizarr.model.store import Buffer, ByteRange
from omnizarr.stores.local.files import read_part
from omnizarr.stores.local.folder import Folder

_SHARING = 16  # so many values of one directory are read through a descriptor of it
_FEW = 16  # fewer are read one by one
_MOST = 1024
_SMALL_BYTES = 16 * 1024  # twice so many times `_MOST` are taken meanwhile


def read_many(
    store: object,
    requests: Sequence[tuple[str, ByteRange | None]],
    open_file: Callable[[str, Folder | None], int],
    open_folder: Callable[[str], Folder | None],
) -> list[Buffer | None]:
    """The answers, in order. Adjacent ranges of one value are read from one open file."""
    answers: list[Buffer | None] = []
    for directory, group in groupby(requests, lambda request: request[0].rpartition("/")[0]):
        together = list(group)
        parent, file, last = None, -1, None
        if len(together) >= _SHARING and together[0][0] != together[-1][0]:
            check_key(together[0][0])
            parent = open_folder(directory)
        try:
            for key, byte_range in together:
                if key != last:
                    if file >= 0:
                        file, closing = -1, file
                        os.close(closing)
                    file = open_file(key, parent)
                    last = key
                answers.append(None if file < 0 else read_part(store, key, file, byte_range))
        finally:
            if file >= 0:
                os.close(file)
            if parent is not None:
                parent.close()
    return answers


def are_apart(requests: Sequence[tuple[str, ByteRange | None]]) -> bool:
    """Whether each can be read by itself: adjacent ranges of one value need one open file."""
    return all(one[0] != two[0] for one, two in pairwise(requests))


def read_small(
    requests: Sequence[tuple[str, ByteRange | None]],
    get: Callable[[str, ByteRange | None], Buffer | None],
    admit: Callable[[str], None],
    read_files: Callable[[list[str], int, int], list[bytes | int]] | None,
) -> list[Buffer | None]:
    """The answers, in order. Where the beginnings of many values are asked for, or all of each, as
    of documents, those that are small are read by few calls: `read_files(keys, stop, most bytes)`.
    `get` reads the others; all of them without `read_files`."""
    answers: list[Buffer | None] = []
    for first in range(0, len(requests), _MOST):
        together = requests[first : first + _MOST]
        part = together[0][1]
        start, stop = part or (0, None)
        stop = sys.maxsize if stop is None else stop
        alike = len(together) >= _FEW and all(request[1] == part for request in together)
        if read_files is None or not alike or start != 0 or not 0 <= stop <= sys.maxsize:
            answers += [get(*request) for request in together]
            continue
        keys = [key for key, _ in together]
        for key in keys:
            admit(key)
        most = min(_SMALL_BYTES, limits.current.max_chunk_bytes)
        for request, data in zip(together, read_files(keys, stop, most), strict=True):
            if type(data) is bytes:
                answers.append(data)
            else:
                answers.append(None if data == -errno.ENOENT else get(*request))
    return answers
