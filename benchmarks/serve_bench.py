"""Stored values over HTTP: `omnizarr.server` beside nginx, one process each.

    make bench-serve                 the table
    make bench-serve ARGS=--quick    short rounds: for a look, not for figures

Both serve one folder of values of 4 KiB, 256 KiB and 16 MiB, in the page cache, to 1, 64 and 1,000
clients that each keep a connection and ask again once they have an answer. The clients are one
process of asyncio, the same for both, and one processor of two is theirs: what nginx could do for
faster clients is more. Servers take turns, round by round, and the median of the rounds is shown.
The first answer of every client is compared with the file.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import resource
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path
from statistics import median

from machine import in_memory, machine

SIZES = {"4 KiB": 4 << 10, "256 KiB": 256 << 10, "16 MiB": 16 << 20}
CLIENTS = (1, 64, 1000)
ROUNDS = 3
BLOCK = 1 << 20
_CONFIGURATION = """\
daemon off;
{user}
error_log stderr crit;
pid {folder}/pid;
worker_processes 1;
worker_rlimit_nofile 8192;
events {{ worker_connections 4096; }}
http {{
    access_log off; sendfile on; tcp_nopush on; keepalive_requests 1000000000;
    open_file_cache max=100;
    default_type application/octet-stream;
    client_body_temp_path {folder}/a; proxy_temp_path {folder}/b; fastcgi_temp_path {folder}/c;
    uwsgi_temp_path {folder}/d; scgi_temp_path {folder}/e;
    server {{ listen 127.0.0.1:{port} backlog=2048; root {root}; }}
}}
"""


class Client(asyncio.BufferedProtocol):
    """Asks for one value again and again, and counts what it gets."""

    def __init__(self, request: bytes, digest: bytes, count: list[int]) -> None:
        self._request, self._digest, self._count = request, digest, count
        self._buffer = bytearray(BLOCK)
        self._left = -1
        self._head = b""
        self._hash = blake2b() if digest else None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def begin(self) -> None:
        """Ask for the first time: once all are connected, or their answers would delay the rest."""
        self._transport.write(self._request)

    def get_buffer(self, sizehint: int) -> bytearray:
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        self._count[0] += nbytes
        if self._left < 0:
            self._head += self._buffer[:nbytes]
            head, end, body = self._head.partition(b"\r\n\r\n")
            if not end:
                return
            assert head.startswith(b"HTTP/1.1 200"), head
            lines = head.lower().split(b"\r\n")
            found = next(line for line in lines if line.startswith(b"content-length:"))
            self._left, self._head = int(found[15:]), b""
            self._take(memoryview(body))
        else:
            self._take(memoryview(self._buffer)[:nbytes])

    def _take(self, body: memoryview) -> None:
        self._left -= len(body)
        if self._hash is not None:
            self._hash.update(body)
        if not self._left:
            self._left = -1
            self._count[1] += 1
            if self._hash is not None:
                assert self._hash.digest() == self._digest, "another value"
                self._hash = None
            self._transport.write(self._request)


async def load(port: int, name: str, digest: bytes, clients: int, seconds: float) -> float:
    """Bytes per second that all clients got together."""
    loop, count = asyncio.get_running_loop(), [0, 0]
    request = f"GET /{name} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode()
    made = []
    for number in range(clients):
        told = digest if number % 16 == 0 else b""
        made.append(
            await loop.create_connection(
                lambda told=told: Client(request, told, count), "127.0.0.1", port
            )
        )
    for _, client in made:
        client.begin()
    await asyncio.sleep(seconds / 3)
    before, begin = count[0], time.perf_counter()
    await asyncio.sleep(seconds)
    found = (count[0] - before) / (time.perf_counter() - begin)
    for transport, _ in made:
        transport.abort()
    await asyncio.sleep(0.1)
    return found


@contextmanager
def nginx(root: Path) -> Iterator[int]:
    command = shutil.which("nginx") or "/usr/sbin/nginx"
    port = free_port()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        configuration = folder / "nginx.conf"
        # Temporary folders are readable by their owner alone.
        user = "user root;" if os.geteuid() == 0 else ""
        configuration.write_text(
            _CONFIGURATION.format(user=user, folder=folder, root=root, port=port)
        )
        arguments = [command, "-p", name, "-c", str(configuration), "-e", "stderr"]
        with started(arguments, port):
            yield port


@contextmanager
def omnizarr(root: Path) -> Iterator[int]:
    port = free_port()
    arguments = [sys.executable, "-m", "omnizarr", "serve", str(root), "--port", str(port)]
    with started(arguments, port):
        yield port


@contextmanager
def started(arguments: list[str], port: int) -> Iterator[None]:
    process = subprocess.Popen(arguments, stdout=subprocess.DEVNULL)
    try:
        for _ in range(600):
            if process.poll() is not None:
                raise SystemExit(f"{arguments[0]} ended with status {process.returncode}")
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.1)
        yield
    finally:
        process.terminate()
        process.wait()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def main() -> None:
    parser = argparse.ArgumentParser(description="values over HTTP, beside nginx")
    parser.add_argument("--quick", action="store_true", help="short rounds")
    quick = parser.parse_args().quick
    rounds, seconds = (1, 0.5) if quick else (ROUNDS, 1.0)
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(8192, hard), hard))
    servers = {"omnizarr": omnizarr, "nginx": nginx}
    if shutil.which("nginx") is None and not Path("/usr/sbin/nginx").exists():
        print("nginx is missing: install the package nginx to measure it")
        del servers["nginx"]
    facts = machine()
    print(", ".join(f"{name}: {value}" for name, value in facts.items()))
    with tempfile.TemporaryDirectory(dir=in_memory()) as name:
        root = Path(name)
        digests = {}
        for label, size in SIZES.items():
            value = os.urandom(size)
            (root / label.replace(" ", "")).write_bytes(value)
            digests[label] = blake2b(value).digest()
        found: dict[tuple[str, int, str], list[float]] = {}
        for _ in range(rounds):
            for server, start in servers.items():
                with start(root) as port:
                    for label in SIZES:
                        for clients in CLIENTS:
                            path, digest = label.replace(" ", ""), digests[label]
                            rate = asyncio.run(load(port, path, digest, clients, seconds))
                            found.setdefault((label, clients, server), []).append(rate)
    print("| value | clients | server | requests/s | MB/s |\n|---|---|---|---|---|")
    for (label, clients, server), rates in sorted(
        found.items(), key=lambda item: (SIZES[item[0][0]], item[0][1])
    ):
        rate = median(rates)
        print(
            f"| {label} | {clients:,} | {server} | {rate / SIZES[label]:,.0f} | {rate / 1e6:,.0f} |"
        )


if __name__ == "__main__":
    main()
