"""Nothing but keys of the store is shown, whatever is asked for."""

from __future__ import annotations

import http.client
import os
import socket
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

import pytest

import omnizarr as zarr
from tests.server.conftest import Place, Serve

SECRET = b"what is outside"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A store with a secret beside it, and links to it."""
    (tmp_path / "secret").write_bytes(SECRET)
    root = tmp_path / "data.zarr"
    zarr.save_group(root, a=[1, 2, 3])
    (root / "link").symlink_to(tmp_path / "secret")
    (root / "up").symlink_to(tmp_path)
    (root / "absolute").symlink_to("/etc")
    os.mkfifo(root / "pipe")
    return root


ESCAPES = [
    "../secret", "a/../../secret", "..%2fsecret", "..%2Fsecret", "%2e%2e/secret", "%2e%2e%2fsecret",
    "..\\secret", "..%5csecret", "a/..%5c..%5csecret", "/etc/passwd", "//etc/passwd",
    "%2fetc%2fpasswd", "a%00", "a/c/0%00.json", "%00", "link", "up/secret", "absolute/passwd",
    "C:/secret", "c:%5csecret", "./secret", "a/./c/0/../../../../secret", "pipe", "%ff%fe",
    "..%c0%afsecret", "%252e%252e%252fsecret", "a//c/0", "....//secret", "~/secret", "a/c/0/",
    "file:///etc/passwd", "..;/secret", "\u2025/secret", "%c0%ae%c0%ae/secret",
]  # fmt: skip


@pytest.mark.parametrize("prefix", ["/", "/v2/", "/v3/"])
def test_nothing_outside(
    listen: Callable[..., Place], folder: Path, prefix: str, tmp_path: Path
) -> None:
    place = listen(folder)
    for path in (*ESCAPES, str(tmp_path / "secret"), quote(str(tmp_path / "secret"), safe="")):
        with place.connect() as client:
            client.sendall(
                f"GET {prefix}{path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n".encode()
            )
            answer = b"".join(iter(lambda: client.recv(65536), b""))
        assert answer.startswith(b"HTTP/1.1 4"), (path, answer)
        assert SECRET not in answer and b"root:" not in answer
        assert str(tmp_path).encode() not in answer.partition(b'"key"')[0]
    document = ".zmetadata" if prefix == "/v2/" else "zarr.json"
    assert place.get(f"{prefix}{document}")[0] == 200  # in spite of the links


def test_hidden_files(serve: Serve, tmp_path: Path) -> None:
    root = tmp_path / "data.zarr"
    zarr.save_group(root, a=[1, 2, 3])
    hidden = [
        ".git/config", ".env", "a/.env", ".omnizarr-convert.json", ".~a.lock", "a/c/.~0.lock",
        ".omnizarr-rechunk-1/zarr.json", "a/.hidden/x", ".zarr/x",
    ]  # fmt: skip
    for name in hidden:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(SECRET)
    zarr.open_group(root)["a"].attrs["x"] = 1
    zarr.create_group(root, path=".shown").create_array("b", data=[1])
    client = serve(root)
    for name in hidden:
        assert client.get(f"/{name}").status_code == 404, name
    assert client.get("/.shown/zarr.json").status_code == 200
    assert client.get("/.shown/b/c/0").status_code == 200
    page = client.get("/").text
    assert 'href="a/"' in page and 'href=".shown/"' in page and ".git" not in page
    assert ".env" not in client.get("/a/").text


def test_no_path_of_the_machine(serve: Serve, folder: Path) -> None:
    client = serve(folder)
    (folder / "a" / "zarr.json").write_text("{damaged")
    for path in ("/v2/a/.zarray", "/v3/a/c/0", "/missing", "/link"):
        answer = client.get(path)
        assert answer.status_code >= 400 and str(folder) not in answer.text
        assert answer.json()["key"] and answer.json()["error"]
    assert client.get("/v2/a/.zarray").status_code == 500


def test_headers_are_bounded(listen: Callable[..., Place], folder: Path) -> None:
    place = listen(folder)
    for head in (
        b"GET /zarr.json HTTP/1.1\r\nhost: x\r\nlong: " + b"x" * 100_000 + b"\r\n\r\n",
        b"GET /zarr.json HTTP/1.1\r\nhost: x\r\n" + b"a: b\r\n" * 20_000 + b"\r\n",
        b"GET /" + b"x" * 200_000 + b" HTTP/1.1\r\nhost: x\r\n\r\n",
        b"x" * 200_000,
    ):
        with place.connect() as client:
            answer = exchange(client, head)
        assert b" 200 " not in answer[:20]
    assert place.get("/zarr.json")[0] == 200


def exchange(client: socket.socket, head: bytes) -> bytes:
    """What the server says, if it has not closed the connection before."""
    try:
        client.sendall(head)
        client.shutdown(socket.SHUT_WR)
        return b"".join(iter(lambda: client.recv(65536), b""))
    except OSError:  # also ENOTCONN, when the server's reset is seen before the shutdown
        return b""


def test_bodies_are_not_read(listen: Callable[..., Place], folder: Path) -> None:
    place = listen(folder)
    connection = http.client.HTTPConnection(*place.address, timeout=60)
    connection.putrequest("PUT", "/a/c/0")
    connection.putheader("content-length", str(10**12))
    connection.endheaders()
    assert connection.getresponse().status == 405
    connection.close()
    assert place.get("/zarr.json")[0] == 200


def test_links_to_themselves(serve: Serve, folder: Path) -> None:
    (folder / "loop").symlink_to("loop")
    (folder / "one").symlink_to("two")
    (folder / "two").symlink_to("one")
    client = serve(folder)
    for page in ("/", "/v2/", "/v3/"):
        answer = client.get(page)
        assert answer.status_code == 200 and "a/" in answer.text
    assert client.get("/v2/.zmetadata").status_code == 200
    for key in ("loop", "loop/zarr.json", "one/c/0"):
        assert client.get(f"/{key}").status_code in (403, 404)


@pytest.mark.parametrize("document", [b"{}", b"not JSON", b'{"zarr_format": 3}'])
def test_hidden_folders_with_bad_documents(serve: Serve, folder: Path, document: bytes) -> None:
    (folder / ".git").mkdir()
    (folder / ".git/zarr.json").write_bytes(document)
    (folder / ".git/config").write_bytes(SECRET)
    client = serve(folder)
    page = client.get("/")
    assert page.status_code == 200 and ".git" not in page.text
    for prefix in ("", "/v2", "/v3"):
        for key in (".git/config", ".git/zarr.json", ".git/"):
            answer = client.get(f"{prefix}/{key}")
            assert answer.status_code == 404 and SECRET not in answer.content
