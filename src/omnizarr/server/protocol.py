"""Connections that neither wait for ever nor take much: uvicorn's protocol with a watch on clients.

A request must arrive in time and in bounded size. A client that does not take what is sent is
disconnected: a slow one holds a connection and one block of a value, and delays no other client.

This module knows uvicorn's protocol classes. It must not know what is served.
"""

from __future__ import annotations

import asyncio
import json
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any

HEAD_SECONDS = 20.0
"""A request must be complete after so long, however slowly it arrives."""
STALL_SECONDS = 60.0
"""What waits to be sent, some 64 KiB, must be on its way after so long."""
GRACE_SECONDS = 5.0
"""What is being sent when the server ends may take so long."""
MOST_HEAD = 32 * 1024
"""The longest request, with all of its headers."""


class Connection:
    """A transport to which nothing is written once it is closed: a client may go at any time, and
    uvloop's transport raises then."""

    def __init__(self, transport: Any) -> None:
        self._transport = transport

    def write(self, data: bytes) -> None:
        if not self._transport.is_closing():
            self._transport.write(data)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)


@cache
def guarded_protocol() -> type[Any]:
    """The protocol class for `uvicorn.Config(http=…)`."""
    if find_spec("httptools") is not None:
        base: Any = import_module("uvicorn.protocols.http.httptools_impl").HttpToolsProtocol
    else:
        base = import_module("uvicorn.protocols.http.h11_impl").H11Protocol

    class GuardedProtocol(base):  # type: ignore[misc]  # one of two
        _timer: asyncio.TimerHandle | None = None
        _stall: asyncio.TimerHandle | None = None
        _head = 0
        _ended = False

        def connection_made(self, transport: asyncio.Transport) -> None:
            super().connection_made(Connection(transport))
            self._await_head()

        def connection_lost(self, exc: Exception | None) -> None:
            self._head_arrived()
            self._sending_goes_on()
            super().connection_lost(exc)

        def data_received(self, data: bytes) -> None:
            waited = not self._busy()
            self._head += len(data)
            super().data_received(data)
            if self._busy():
                if waited:
                    self._head_arrived()
                elif self._head > MOST_HEAD:  # larger than any request that is answered
                    self.flow.pause_reading()
            elif not self.transport.is_closing() and self.timeout_keep_alive_task is None:
                if self._head > MOST_HEAD:
                    self._refuse(
                        "431 Request Header Fields Too Large",
                        "the request and its headers are too long",
                    )
                else:
                    self._await_head()

        def eof_received(self) -> bool:
            """Whether the connection stays open: who asks for nothing more still wants the
            answer."""
            self._ended = True
            return self._busy()

        def on_response_complete(self) -> None:
            self._head = 0
            super().on_response_complete()
            if self._ended and not self._busy():
                self.transport.close()

        def shutdown(self) -> None:
            super().shutdown()
            self.loop.call_later(GRACE_SECONDS, self.transport.abort)

        def pause_writing(self) -> None:
            super().pause_writing()
            self._sending_goes_on()
            self._stall = self.loop.call_later(STALL_SECONDS, self.transport.abort)

        def resume_writing(self) -> None:
            self._sending_goes_on()
            super().resume_writing()

        def _busy(self) -> bool:
            """Whether a request is being answered."""
            return self.cycle is not None and not self.cycle.response_complete

        def _await_head(self) -> None:
            if self._timer is None:
                self._timer = self.loop.call_later(HEAD_SECONDS, self.transport.abort)

        def _head_arrived(self) -> None:
            self._head = 0
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None

        def _sending_goes_on(self) -> None:
            if self._stall is not None:
                self._stall.cancel()
                self._stall = None

        def send_400_response(self, msg: str) -> None:
            self._refuse("400 Bad Request", "this is no valid HTTP request")

        def _refuse(self, status: str, error: str) -> None:
            body = json.dumps({"status": int(status[:3]), "error": error})
            head = (
                f"HTTP/1.1 {status}\r\ncontent-type: application/json\r\n"
                f"content-length: {len(body)}\r\nconnection: close\r\n\r\n"
            )
            self.transport.write(f"{head}{body}".encode())
            self.transport.close()

    return GuardedProtocol
