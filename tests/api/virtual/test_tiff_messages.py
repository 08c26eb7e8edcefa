"""What tifffile logs, on the thread that reads."""

from __future__ import annotations

import logging
import threading
from typing import Any

import pytest

from omnizarr.api.virtual.tiff_messages import heard
from omnizarr.errors import MetadataError

LOG = logging.getLogger("tifffile")


def test_lost_pages_are_errors_and_others_are_not(caplog: Any) -> None:
    with heard():
        LOG.warning("<tifffile.TiffPage 0 @8> something odd")
    with pytest.raises(MetadataError, match="read: invalid page offset 9"), heard():
        LOG.error("<tifffile.TiffPages @8> invalid page offset 9")
    assert not caplog.records and not LOG.filters


def test_other_threads_are_not_heard(caplog: Any) -> None:
    with heard():
        other = threading.Thread(target=LOG.error, args=["<x> invalid page offset 9"])
        other.start()
        other.join()
    assert len(caplog.records) == 1
