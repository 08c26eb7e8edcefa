"""What keeps other pages out: a check of the Host header, and headers for every answer.

A page of another site cannot read answers, since no header allows it. One whose name is pointed at
this machine (DNS rebinding) could, so that names are refused that were not given.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from starlette.responses import JSONResponse

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

POLICY = (
    "default-src 'self'; img-src 'self' blob: data:; object-src 'none'; base-uri 'none';"
    " form-action 'none'; frame-ancestors {framed}"
)
_HOST = re.compile(r"(?:\[(?P<six>[0-9a-f:.]+)\]|(?P<name>[^:\[\]]+))(?::(?P<port>[0-9]{0,5}))?")
_NOTEBOOKS = "'self' http://localhost:* http://127.0.0.1:* https://localhost:*"


def is_known(host: str, names: Iterable[str]) -> bool:
    """Whether a Host header names this server: an address, localhost, or a name that was given.

    >>> is_known("127.0.0.1:8000", []), is_known("[::1]", []), is_known("evil.example", [])
    (True, True, False)
    >>> is_known("[::1].evil.example", []), is_known("127.0.0.1:evil", [])
    (False, False)
    """
    found = _HOST.fullmatch(host.strip().lower())
    if found is None or int(found["port"] or 0) > 65535:
        return False
    try:
        if found["six"] is not None:
            ipaddress.IPv6Address(found["six"])
            return True
        if found["name"] in {"localhost", *(each.lower() for each in names)}:
            return True
        ipaddress.IPv4Address(found["name"])
    except ValueError:
        return False
    return True


class Guard:
    """An application behind the check, whose answers carry the headers."""

    def __init__(self, app: ASGIApp, names: Iterable[str] = (), framed: bool = False) -> None:
        self.app = app
        self.names = tuple(names)
        policy = POLICY.format(framed=_NOTEBOOKS if framed else "'none'")
        self.headers = [
            (b"content-security-policy", policy.encode()),
            (b"x-content-type-options", b"nosniff"),
            (b"referrer-policy", b"no-referrer"),
            (b"cross-origin-resource-policy", b"same-origin"),
            (b"cross-origin-opener-policy", b"same-origin"),
        ]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
            return
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", ()), *self.headers]
            await send(message)

        hosts = [value.decode("latin-1") for key, value in scope["headers"] if key == b"host"]
        if len(hosts) == 1 and is_known(hosts[0], self.names):
            await self.app(scope, receive, guarded)
            return
        message = "this server is not known by that name; --host NAME tells it one"
        refused = JSONResponse({"error": message, "hint": None}, status_code=403)
        await refused(scope, receive, guarded)
