"""Reading several values with as few opened files and directories as possible.

This module knows keys and descriptors. It must not know how a file is opened safely.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from itertools import groupby

from omnizarr.model.paths import check_key
from omnizarr.model.store import Buffer, ByteRange
from omnizarr.stores.local.files import read_part
from omnizarr.stores.local.folder import Folder

_SHARING = 16  # so many values of one directory are read through a descriptor of it


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
