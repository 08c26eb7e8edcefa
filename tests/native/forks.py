"""Fork while other threads are inside the core, and use the core in every child: `forks.py COUNT`.

A child that finds a lock taken would wait for ever: its alarm ends it, and the program says so."""

from __future__ import annotations

import os
import signal
import sys
from threading import Event, Thread

import numpy as np
import omnizarr_native as core

TEXT = np.dtypes.StringDType()
ITEMS = 20_000


def use(frame: bytes, out: np.ndarray) -> None:  # type: ignore[type-arg]
    core.frame_text(frame, out)
    offsets, data = core.text_column(out)
    core.check_text(offsets, data)
    assert core.frame_join(offsets, data) == frame


def main(count: int) -> None:
    data = np.frombuffer(b"some text of medium length, " * ITEMS, np.uint8)
    frame = core.frame_join(np.arange(ITEMS + 1) * 28, data)
    shared = [np.empty(ITEMS, TEXT) for _ in range(3)]
    stop = Event()

    def work(out: np.ndarray) -> None:  # type: ignore[type-arg]
        while not stop.is_set():
            use(frame, out)

    threads = [Thread(target=work, args=(out,)) for out in shared]
    for thread in threads:
        thread.start()
    try:
        for _ in range(count):
            child = os.fork()
            if child == 0:
                signal.alarm(30)
                # The very arrays that the threads of the parent were filling.
                for out in shared:
                    use(frame, out)
                os._exit(0)
            _, status = os.waitpid(child, 0)
            assert status == 0, f"a child ended with status {status}"
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    print(f"{count} forks")


if __name__ == "__main__":
    main(int(sys.argv[1]))
