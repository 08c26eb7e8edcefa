"""What tifffile says about a file in its log, on the thread that reads it.

tifffile reads what it can of a damaged file, and logs what it could not read. Messages about lost
pages become errors here; others are kept from the log, because they are about strangers' files.

This module knows messages. It must not know what is in a file.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from omnizarr.errors import MetadataError

_LOST = (
    "circular reference", "invalid page offset", "invalid SubIFDs", "missing data offset",
    "contains no pages", "suspicious number of tags", "corrupted tag list",
)  # fmt: skip
_MOST = 1000


class _Kept(logging.Filter):
    """Keeps what one thread logs."""

    def __init__(self) -> None:
        super().__init__()
        self.thread = threading.get_ident()
        self.messages: list[str] = []

    def filter(self, record: logging.LogRecord) -> bool:
        if record.thread != self.thread:
            return True
        if len(self.messages) < _MOST:
            self.messages.append(record.getMessage())
        return False


@contextmanager
def heard() -> Iterator[None]:
    """Raise at the end if a part of the file was passed over."""
    kept, log = _Kept(), logging.getLogger("tifffile")
    log.addFilter(kept)
    try:
        yield
    finally:
        log.removeFilter(kept)
    for message in kept.messages:
        if any(lost in message for lost in _LOST):
            told = message.partition(">")[2].strip() or message
            raise MetadataError(f"a part of the file cannot be read: {told}")
