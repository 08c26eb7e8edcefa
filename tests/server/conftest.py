"""Stores to serve, clients that ask, and sockets for what no client would say."""

from __future__ import annotations

import http.client
import socket
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import pytest
from starlette.testclient import TestClient

import omnizarr as zarr
import omnizarr.server
from omnizarr.server.running import running

Serve = Callable[..., TestClient]


@pytest.fixture
def serve() -> Serve:
    """`serve(store)` is a client of an application that is not on the network."""

    def call(source: Any, **arguments: Any) -> TestClient:
        application = omnizarr.server.app(source, **arguments)
        return TestClient(application, raise_server_exceptions=False, follow_redirects=False)

    return call


@pytest.fixture
def values() -> dict[str, bytes]:
    return {"a/c/0": bytes(range(200)), "a/zarr.json": b'{"note": "' + b"x" * 500 + b'"}'}


@pytest.fixture(params=["memory", "local", "sqlite", "zip"])
def any_store(
    request: pytest.FixtureRequest, tmp_path: Any, values: dict[str, bytes]
) -> Iterator[zarr.Store]:
    """The same values in stores of several kinds."""
    from omnizarr.stores import LocalStore, MemoryStore, SQLiteStore, ZipStore

    makers: dict[str, Callable[[], zarr.Store]] = {
        "memory": MemoryStore,
        "local": lambda: LocalStore(tmp_path / "folder"),
        "sqlite": lambda: SQLiteStore(tmp_path / "x.sqlite"),
        "zip": lambda: ZipStore(tmp_path / "x.zip", mode="w"),
    }
    with makers[request.param]() as store:
        for key, value in values.items():
            store.set(key, value)
        if request.param != "zip":
            yield store
            return
    with ZipStore(tmp_path / "x.zip", mode="r") as store:
        yield store


@dataclass(frozen=True)
class Place:
    """A server on the network of this machine."""

    url: str

    @property
    def address(self) -> tuple[str, int]:
        parts = urlsplit(self.url)
        assert parts.hostname is not None
        assert parts.port is not None
        return parts.hostname, parts.port

    def connect(self, seconds: float = 60) -> socket.socket:
        return socket.create_connection(self.address, timeout=seconds)

    def get(self, path: str, **headers: str) -> tuple[int, bytes]:
        connection = http.client.HTTPConnection(*self.address, timeout=60)
        try:
            connection.request("GET", path, headers=headers)
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()


@pytest.fixture
def listen() -> Iterator[Callable[..., Place]]:
    """`listen(store)` is a real server for this test."""
    from contextlib import ExitStack

    with ExitStack() as stack:

        def call(source: Any, **arguments: Any) -> Place:
            application = omnizarr.server.app(source, **arguments)
            return Place(stack.enter_context(running(application)))

        yield call
