"""A way to a server on which the answer to a request can be lost, or the request itself."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress


class Way:
    """Passes requests on to a port, and answers back; one request at a time per connection.

    A request must come in few pieces, so it is small.
    """

    def __init__(self, behind: int) -> None:
        self._behind = behind
        self._lost: bytes | None = None
        self._times = 0
        self._done = True
        self._before: Callable[[], object] | None = None
        self.seen: list[bytes] = []
        self._open: list[socket.socket] = []
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listening.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def lose(
        self,
        part: bytes,
        *,
        times: int = 1,
        done: bool = True,
        before: Callable[[], object] | None = None,
    ) -> None:
        """Hang up on requests in which `part` is found. `done`: when the server has answered; else
        it never sees them. `before`: called just before the first of them."""
        self._lost, self._times, self._done, self._before = part, times, done, before
        self.seen.clear()

    def count(self, part: bytes) -> int:
        """How many requests had this in them since `lose`."""
        return sum(part in request for request in self.seen)

    @property
    def left(self) -> int:
        """How many are still to be lost."""
        return self._times

    def _accept(self) -> None:
        while True:
            try:
                here = self._listening.accept()[0]
            except OSError:
                return
            self._open.append(here)
            threading.Thread(target=self._serve, args=(here,), daemon=True).start()

    def _serve(self, here: socket.socket) -> None:
        behind = ("127.0.0.1", self._behind)
        with suppress(OSError), here, socket.create_connection(behind) as there:
            self._open.append(there)
            while request := here.recv(1 << 20):
                self.seen.append(request)
                lost = self._lost is not None and self._lost in request and self._times > 0
                if lost:
                    self._times -= 1
                    before, self._before = self._before, None
                    if before is not None:
                        before()
                    if not self._done:
                        return
                there.sendall(request)
                answer = there.recv(1 << 20)
                if lost:
                    return
                here.sendall(answer)

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
