"""What a request asks for, from the facts that ASGI gives.

This module knows headers. It must not know stores.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from omnizarr.server.protocol import MOST_HEAD

METHODS = ("GET", "HEAD", "OPTIONS")
_ETAG = re.compile(r'(?:W/)?"[^"]*"')
_TAKEN = (
    "accept-encoding", "if-match", "if-none-match", "if-range", "origin", "range",
)  # fmt: skip


class RequestError(Exception):
    """A request that is not answered with a value."""

    def __init__(self, status: int, error: str, **headers: str) -> None:
        super().__init__(error)
        self.status, self.error = status, error
        self.headers = {name.replace("_", "-"): value for name, value in headers.items()}


@dataclass(frozen=True)
class Request:
    """A request for a value."""

    method: str
    path: str
    """Decoded, without a slash in front, from where the application is mounted."""
    headers: dict[str, str]
    """Those that count here; several of one name are joined."""

    @classmethod
    def of(cls, scope: Any) -> Request:
        """RequestError if the request is too long or malformed."""
        if sum(len(name) + len(value) for name, value in scope["headers"]) > MOST_HEAD:
            raise RequestError(431, "the headers of the request are too long", connection="close")
        path, root = scope["path"], scope.get("root_path", "").rstrip("/")
        if root and (path == root or path.startswith(root + "/")):
            path = path[len(root) :]
        headers: dict[str, str] = {}
        for name, value in scope["headers"]:
            known = name.decode("latin-1").lower()
            if known in _TAKEN:
                text = value.decode("latin-1")
                headers[known] = f"{headers[known]}, {text}" if known in headers else text
        return cls(scope["method"], path[1:] if path.startswith("/") else path, headers)

    @property
    def takes_gzip(self) -> bool:
        """Whether the client takes compressed answers."""
        for part in self.headers.get("accept-encoding", "").lower().split(","):
            name, _, parameters = part.partition(";")
            if name.strip() in ("gzip", "*"):
                return re.fullmatch(r"\s*q\s*=\s*0(\.0*)?\s*", parameters) is None
        return False

    def fails_match(self, etag: str | None) -> bool:
        """Whether `If-Match` forbids an answer with this ETag."""
        given = self.headers.get("if-match")
        return given is not None and given.strip() != "*" and etag not in _etags(given)

    def has_already(self, etag: str | None) -> bool:
        """Whether `If-None-Match` says that the client has what has this ETag."""
        given = self.headers.get("if-none-match")
        if given is None:
            return False
        if given.strip() == "*":
            return True
        return etag is not None and _weak(etag) in map(_weak, filter(None, _etags(given)))

    def range_for(self, etag: str | None) -> str | None:
        """The header `Range`, if it counts for a value with this ETag."""
        given = self.headers.get("range")
        if given is None or self.method != "GET":
            return None
        condition = self.headers.get("if-range")
        if condition is not None and (condition.strip() != etag or etag.startswith("W/")):
            return None
        return given


def _etags(header: str) -> list[str | None]:
    return [*_ETAG.findall(header)]


def _weak(etag: str) -> str:
    return etag.removeprefix("W/")
