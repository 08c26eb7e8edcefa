"""A way to a server that can be told to swallow everything, as a network that fails does."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress


class Way:
    """Passes bytes on to a port, and back, until `stalled` is set."""

    def __init__(self, behind: int) -> None:
        self._behind = behind
        self.stalled = False
        self._open: list[socket.socket] = []
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listening.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                here = self._listening.accept()[0]
            except OSError:
                return
            self._open.append(here)
            if self.stalled:
                continue
            there = socket.create_connection(("127.0.0.1", self._behind))
            self._open.append(there)
            for pair in ((here, there), (there, here)):
                threading.Thread(target=self._pass, args=pair, daemon=True).start()

    def _pass(self, source: socket.socket, target: socket.socket) -> None:
        try:
            while data := source.recv(65536):
                if not self.stalled:
                    target.sendall(data)
        except OSError:
            return

    def close(self) -> None:
        for each in (self._listening, *self._open):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()


@contextmanager
def way_to(port: int) -> Iterator[Way]:
    way = Way(port)
    try:
        yield way
    finally:
        way.close()
