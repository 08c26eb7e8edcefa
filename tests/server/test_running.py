"""Servers begin, end, and outlive slow clients."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import omnizarr as zarr
from omnizarr.errors import StoreError
from omnizarr.server import app, protocol
from omnizarr.server.running import listen as listen_at
from omnizarr.server.running import running
from omnizarr.stores import ByteRange
from tests.server.conftest import Place

PATIENCE = 60.0


@pytest.fixture(params=["httptools", "h11"])
def parser(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Each of the two that uvicorn has."""
    if request.param == "h11":
        monkeypatch.setattr(protocol, "find_spec", lambda name: None)
    protocol.guarded_protocol.cache_clear()
    yield request.param
    protocol.guarded_protocol.cache_clear()


def ends(client: socket.socket) -> bool:
    """Whether the server closes the connection."""
    client.settimeout(PATIENCE)
    try:
        while client.recv(65536):
            pass
    except ConnectionError:
        return True
    except TimeoutError:
        return False
    return True


@pytest.mark.parametrize("begin", [b"", b"GET /key HTTP/1.1\r\nhost: ", b"G"])
def test_a_request_that_does_not_come(
    parser: str, listen: Callable[..., Place], monkeypatch: pytest.MonkeyPatch, begin: bytes
) -> None:
    monkeypatch.setattr(protocol, "HEAD_SECONDS", 0.2)
    place = listen(zarr.MemoryStore({"key": b"value"}))
    with place.connect() as client:
        client.sendall(begin)
        assert place.get("/key") == (200, b"value")  # nobody else waits
        assert ends(client)


@pytest.mark.parametrize("head", [b"G\0T /key\r\n\r\n", b"GET /" + b"x" * 40_000])
def test_what_is_no_request_is_told_in_json(
    parser: str, listen: Callable[..., Place], head: bytes
) -> None:
    place = listen(zarr.MemoryStore({"key": b"value"}))
    with place.connect() as client:
        client.sendall(head)
        answer = client.recv(65536)
    found, _, body = answer.partition(b"\r\n\r\n")
    assert json.loads(body)["status"] == int(found[9:12]) and found[9:12] in (b"400", b"431")


def test_a_client_that_takes_nothing(
    parser: str, listen: Callable[..., Place], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(protocol, "STALL_SECONDS", 0.2)
    (tmp_path / "big").write_bytes(bytes(64 << 20))
    place = listen(tmp_path)
    with place.connect() as client:
        client.sendall(b"GET /big HTTP/1.1\r\nhost: x\r\n\r\n")
        assert place.get("/big", range="bytes=0-3") == (206, bytes(4))
        time.sleep(1)  # longer than the server waits
        received = 0
        client.settimeout(PATIENCE)
        try:
            while more := len(client.recv(1 << 20)):
                received += more
        except ConnectionError:
            pass
    assert received < 64 << 20


def test_clients_that_go_before_they_are_answered(
    parser: str, listen: Callable[..., Place], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "big").write_bytes(bytes(32 << 20))
    place = listen(tmp_path)
    for _ in range(20):
        with place.connect() as client:
            client.sendall(b"GET /big HTTP/1.1\r\nhost: x\r\n\r\n" * 3)
            client.recv(1000)
    assert place.get("/big", range="bytes=0-3") == (206, bytes(4))
    assert capfd.readouterr().err == ""


def test_the_end_while_a_client_takes_nothing(
    parser: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(protocol, "GRACE_SECONDS", 0.1)
    (tmp_path / "big").write_bytes(bytes(64 << 20))
    with running(app(tmp_path)) as url:
        client = Place(url).connect()
        client.sendall(b"GET /big HTTP/1.1\r\nhost: x\r\n\r\n")
        assert client.recv(100)
    with client:
        assert ends(client)
    assert capfd.readouterr().err == ""


def test_the_end_while_a_store_is_waited_for(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(protocol, "GRACE_SECONDS", 0.1)
    monkeypatch.setattr("omnizarr.server.running._END_SECONDS", 0.5)
    asked, go_on = threading.Event(), threading.Event()

    class Slow(zarr.MemoryStore):
        def get(self, key: str, byte_range: ByteRange | None = None) -> Any:
            if key == "slow":
                asked.set()
                go_on.wait(PATIENCE)
            return super().get(key, byte_range)

    with running(app(Slow())) as url:
        client = Place(url).connect()
        client.sendall(b"GET /slow HTTP/1.1\r\nhost: x\r\n\r\n")
        assert asked.wait(PATIENCE)
    go_on.set()
    client.close()
    assert "Traceback" not in capfd.readouterr().err


def test_a_connection_is_kept(parser: str, listen: Callable[..., Place]) -> None:
    place = listen(zarr.MemoryStore({"key": b"value"}))
    with place.connect() as client:
        for _ in range(3):
            client.sendall(b"GET /key HTTP/1.1\r\nhost: x\r\n\r\n")
            answer = b""
            while not answer.endswith(b"value"):
                answer += client.recv(65536)
            assert answer.startswith(b"HTTP/1.1 200 OK\r\n")
        client.sendall(b"GET /key HTTP/1.1\r\nhost: x\r\n\r\nGET /no HTTP/1.1\r\nhost: x\r\n\r\n")
        while b"404" not in answer:
            answer += client.recv(65536)


def test_who_sends_no_more_is_answered(parser: str, listen: Callable[..., Place]) -> None:
    place = listen(zarr.MemoryStore({"key": b"value"}))
    with place.connect() as client:
        client.sendall(b"GET /key HTTP/1.1\r\nhost: x\r\n\r\n")
        client.shutdown(socket.SHUT_WR)
        answer = b"".join(iter(lambda: client.recv(65536), b""))
    assert answer.startswith(b"HTTP/1.1 200") and answer.endswith(b"value")


def test_addresses() -> None:
    with listen_at("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(StoreError, match=f"port {port}"):
            listen_at("127.0.0.1", port)
    with pytest.raises(ValueError, match="65535"):
        listen_at("127.0.0.1", 70_000)
    with pytest.raises(StoreError, match="cannot listen"):
        listen_at("999.1.1.1", 0)
    with pytest.raises(StoreError, match="no address of this machine; host="):
        listen_at("192.0.2.1", 0)


@pytest.mark.skipif(sys.platform == "win32", reason="signals are others on Windows")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_command(tmp_path: Path, number: int) -> None:
    zarr.save(tmp_path / "x.zarr", [1, 2, 3])
    source = str(Path(zarr.__file__).parent.parent)
    process = subprocess.Popen(
        [sys.executable, "-m", "omnizarr", "serve", "x.zarr", "--quiet"],
        cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "PYTHONPATH": source},
    )  # fmt: skip
    try:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        assert urllib.request.urlopen(url + "zarr.json", timeout=PATIENCE).status == 200
        process.send_signal(number)
        out, err = process.communicate(timeout=PATIENCE)
        assert out == err == ""
        assert process.returncode == (0 if number == signal.SIGINT else -signal.SIGTERM)
    finally:
        process.kill()
        process.communicate()
