"""Several threads decode at once, and a forked child goes on where its parent stood."""

from __future__ import annotations

import os
import threading
from typing import Any

import numpy as np
import pytest

from tests.codecs.support import LITTLE, make

PIPELINES: list[list[Any]] = [
    [LITTLE, "blosc"],
    [LITTLE, "zstd"],
    [{"id": "lz4"}],
    [LITTLE, "gzip"],
]


@pytest.mark.parametrize("codecs", PIPELINES, ids=str)
def test_threads(codecs: list[Any]) -> None:
    made = make(codecs, (300, 100), "<i4")
    arrays = [np.full((300, 100), n, "<i4") + np.arange(100, dtype="<i4") for n in range(8)]
    failures: list[int] = []

    def work(number: int) -> None:
        out = np.empty((300, 100), "<i4")
        for _ in range(15):
            data = made.encode(arrays[number])
            made.decode_into(data, out)
            if not np.array_equal(out, arrays[number]):
                failures.append(number)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this platform has no fork")
@pytest.mark.parametrize("codecs", PIPELINES, ids=str)
def test_after_fork(codecs: list[Any]) -> None:
    made = make(codecs, (300, 100), "<i4")
    array = np.arange(30000, dtype="<i4").reshape(300, 100)
    data = bytes(made.encode(array))
    with pytest.raises(Exception, match="codec"):
        made.decode(data[:-7])  # an error before the fork must not leave a lock behind
    child = os.fork()
    if child == 0:
        good = np.array_equal(made.decode(data), array) and bytes(made.encode(array)) == data
        os._exit(0 if good else 1)
    _, status = os.waitpid(child, 0)
    assert status == 0
    assert np.array_equal(made.decode(data), array)
