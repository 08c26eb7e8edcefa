"""A thousand clients at once, ten thousand requests that no client would make."""

from __future__ import annotations

import asyncio
import random
import resource
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import omnizarr as zarr
from omnizarr.server import protocol
from tests.server.conftest import Place

pytestmark = pytest.mark.slow
CLIENTS = 1000
REQUESTS = 10_000
AT_ONCE = 50
SEED = 20260
SECRET = b"what is outside of the store"


@pytest.fixture
def many_files() -> None:
    """Both ends of a thousand connections are in this process."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < 4 * CLIENTS:
        if hard != resource.RLIM_INFINITY and hard < 4 * CLIENTS:
            pytest.skip(f"a process may open {hard} files at most here")
        resource.setrlimit(resource.RLIMIT_NOFILE, (4 * CLIENTS, hard))


async def ask(place: Place, path: str, times: int) -> list[tuple[int, bytes]]:
    reader, writer = await asyncio.open_connection(*place.address)
    found = []
    for _ in range(times):
        writer.write(f"GET {path} HTTP/1.1\r\nhost: x\r\n\r\n".encode())
        head = await reader.readuntil(b"\r\n\r\n")
        lines = head.decode().lower().split("\r\n")
        length = next(line.split(":")[1] for line in lines if line.startswith("content-length:"))
        found.append((int(lines[0].split()[1]), await reader.readexactly(int(length))))
    writer.close()
    return found


def test_a_thousand_clients(listen: Callable[..., Place], tmp_path: Path, many_files: None) -> None:
    values = np.random.default_rng(1).random((64, 4096))
    zarr.create_array(tmp_path / "a.zarr", data=values, chunks=(1, 4096), zarr_format=2)
    store = zarr.stores.LocalStore(tmp_path / "a.zarr")
    (tmp_path / "a.zarr" / "big").write_bytes(values.tobytes())
    expected = {f"/{n}.0": bytes(store.get(f"{n}.0") or b"") for n in range(64)}
    shown = zarr.as_format(store, 3)
    expected |= {f"/v3/c.{n}.0": bytes(shown.get(f"c.{n}.0") or b"") for n in range(64)}
    expected["/big"] = values.tobytes()
    paths = [*expected] * (1 + CLIENTS // len(expected))
    place = listen(tmp_path / "a.zarr")

    async def everybody() -> None:
        asked = [ask(place, path, 3) for path in paths[: CLIENTS - 1]]
        found = await asyncio.gather(*asked, ask(place, "/missing", 3))
        for path, answers in zip(paths, found[:-1], strict=False):
            assert answers == [(200, expected[path])] * 3, path
        assert {status for status, _ in found[-1]} == {404}

    asyncio.run(asyncio.wait_for(everybody(), 300))


def test_slow_clients_block_nobody(listen: Callable[..., Place], tmp_path: Path) -> None:
    (tmp_path / "big").write_bytes(bytes(32 << 20))
    (tmp_path / "small").write_bytes(b"small")
    place = listen(tmp_path)
    clients = [place.connect() for _ in range(100)]
    try:
        for client in clients:
            client.sendall(b"GET /big HTTP/1.1\r\nhost: x\r\n\r\n")
        begin = time.monotonic()
        for _ in range(50):
            assert place.get("/small") == (200, b"small")
        assert time.monotonic() - begin < 60
    finally:
        for client in clients:
            client.close()


# -- requests that no client would make -----------------------------------------------------------

SEEDS = (
    b"GET /a/c/0 HTTP/1.1\r\nhost: x\r\nrange: bytes=0-9\r\n\r\n",
    b"GET /a/zarr.json HTTP/1.1\r\nhost: x\r\naccept-encoding: gzip\r\nif-none-match: *\r\n\r\n",
    b"HEAD /v2/a/.zarray HTTP/1.1\r\nhost: x\r\n\r\n",
    b"GET /v2/a/0 HTTP/1.1\r\nhost: x\r\nif-range: \"x\"\r\nrange: bytes=1-2,4-5\r\n\r\n",
    b"GET /v3/a/c/0 HTTP/1.0\r\nif-match: *\r\n\r\n",
    b"OPTIONS /a/c/0 HTTP/1.1\r\nhost: x\r\norigin: http://a\r\n\r\n",
    b"POST /a/c/0 HTTP/1.1\r\nhost: x\r\ncontent-length: 4\r\n\r\nabcd",
    b"PUT /a/c/0 HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n4\r\nabcd\r\n0\r\n\r\n",
    b"GET /../secret HTTP/1.1\r\nhost: x\r\n\r\n",
    b"GET /link HTTP/1.1\r\nhost: x\r\n\r\n",
)  # fmt: skip
PIECES = (
    b"..", b"/", b"//", b"%2f", b"%2e%2e%2f", b"%00", b"\0", b"\\", b"\r\n", b"\n", b"\r", b" ",
    b"..%5c", b"bytes=", b"-", b"99999999999999999999", b",", b"0-", b"\xff", b"%ff", b"HTTP/9.9",
    b"secret", b"../secret", b"link", b"up/secret", b".git/config", b"?", b"#", b"%", b"a/c/0",
    b"content-length: 99\r\n", b"transfer-encoding: chunked\r\n", b"range: bytes=-1\r\n",
    b"connection: upgrade\r\nupgrade: websocket\r\n", b"expect: 100-continue\r\n", b"x" * 5000,
    b"if-none-match: \"", b"GET ", b"CONNECT ", b"http://x/", b";", b"*", b"~",
)  # fmt: skip


def mutated(chance: random.Random) -> bytes:
    request = bytearray(chance.choice(SEEDS))
    for _ in range(chance.randint(1, 6)):
        at = chance.randrange(len(request) + 1)
        match chance.randrange(5):
            case 0:
                request[at:at] = chance.choice(PIECES)
            case 1:
                del request[at : at + chance.randint(1, 12)]
            case 2:
                request[at : at + 1] = bytes([chance.randrange(256)])
            case 3:
                request[at : at + chance.randint(0, 8)] = chance.choice(PIECES)
            case _:
                part = request[at : at + chance.randint(1, 40)]
                request[at:at] = part * chance.randint(1, 3)
        if not request:
            request += b"\r\n"
    return bytes(request)


def test_mutated_requests(
    listen: Callable[..., Place],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    (tmp_path / "secret").write_bytes(SECRET)
    root = tmp_path / "x.zarr"
    zarr.save_group(root, a=np.arange(100))
    (root / "link").symlink_to(tmp_path / "secret")
    (root / "up").symlink_to(tmp_path)
    (root / ".git").mkdir()
    (root / ".git" / "config").write_bytes(SECRET)
    expected = bytes(zarr.stores.LocalStore(root).get("a/c/0") or b"")
    monkeypatch.setattr(protocol, "HEAD_SECONDS", 1.0)
    place, chance = listen(root), random.Random(SEED)
    requests = [mutated(chance) for _ in range(REQUESTS)]
    statuses = set[bytes]()

    async def client() -> None:
        while requests:
            request = requests.pop()
            answer = await exchange(place, request)
            assert SECRET not in answer and str(tmp_path).encode() not in answer, request
            assert not answer or answer.startswith(b"HTTP/1.1 "), (request, answer)
            statuses.add(answer[9:12])
            assert answer[9:12] not in (b"500", b"501", b"502"), (request, answer)

    async def everybody() -> None:
        await asyncio.gather(*(client() for _ in range(AT_ONCE)))

    asyncio.run(asyncio.wait_for(everybody(), 300))
    assert place.get("/a/c/0") == (200, expected)
    assert {b"200", b"206", b"400", b"404", b"405"} <= statuses
    assert SECRET.decode() not in caplog.text and "Traceback" not in caplog.text


async def exchange(place: Place, request: bytes) -> bytes:
    """All that the server says, until it waits for more or closes the connection."""
    reader, writer = await asyncio.open_connection(*place.address)
    try:
        writer.write(request)
        writer.write_eof()
        return await reader.read(-1)
    except ConnectionError:
        return b""
    finally:
        writer.close()
