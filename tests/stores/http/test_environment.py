"""Proxies and certificates that the environment names."""

from __future__ import annotations

import logging
import pickle
import select
import socket
import ssl
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import omnizarr
from omnizarr.errors import MissingPackageError, StoreAccessError, StoreError, StoreTimeoutError
from omnizarr.stores import HTTPStore, as_store
from omnizarr.stores.http.environment import proxy_for
from omnizarr.stores.http.url import Origin
from omnizarr.testing.store_cases import some
from tests.servers.nginx import certificate
from tests.stores.http.test_answers import Request, Scripted, answer, scripted, well
from tests.stores.http.test_batch_reader import EXPECTED, SecureScripted, serve, values

pytestmark = pytest.mark.slow

__all__ = ["scripted", "values"]

LOGIN = "Basic bWU6cGFzcy13b3Jk"  # me:pass-word
PROXIES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")
CERTIFICATES = ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "SSL_CERT_FILE", "SSL_CERT_DIR")


@pytest.fixture(autouse=True)
def _clean(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (*PROXIES, *map(str.upper, PROXIES), *CERTIFICATES):
        monkeypatch.delenv(name, raising=False)


class ForwardProxy:
    """A proxy that forwards requests with whole URLs, and opens tunnels for CONNECT."""

    def __init__(self, context: ssl.SSLContext | None = None) -> None:
        self.context = context
        """For TLS to the proxy itself."""
        self.login: str | None = None
        """What Proxy-Authorization must say."""
        self.slow = False
        """Whether it answers one byte at a time."""
        self.asked: list[Request] = []
        self._socket = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.host = f"127.0.0.1:{self._socket.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._socket.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with suppress(OSError):
            if self.context is not None:
                client = self.context.wrap_socket(client, server_side=True)
            with client:
                head = b""
                while not head.endswith(b"\r\n\r\n"):
                    data = client.recv(1)
                    if not data:
                        return
                    head += data
                request = Request(head[:-4])
                self.asked.append(request)
                self._answer(client, request, head)

    def _answer(self, client: socket.socket, request: Request, head: bytes) -> None:
        if self.slow:
            while True:
                client.sendall(b"H")
                time.sleep(0.05)
        if self.login not in (None, request.headers.get("proxy-authorization")):
            client.sendall(answer("407 Proxy Authentication Required"))
            return
        if request.method == "CONNECT":
            host, _, port = request.target.rpartition(":")
            with socket.create_connection((host, int(port))) as server:
                client.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
                relay(server, client)
            return
        place, _, path = request.target.removeprefix("http://").partition("/")
        host, _, port = place.rpartition(":")
        lines = head.replace(request.target.encode(), b"/" + path.encode()).split(b"\r\n")
        lines = [line for line in lines if not line.lower().startswith(b"proxy-")]
        with socket.create_connection((host, int(port))) as server:
            server.sendall(b"\r\n".join([lines[0], b"Connection: close", *lines[1:]]))
            server.shutdown(socket.SHUT_WR)
            while data := server.recv(65536):
                client.sendall(data)

    def close(self) -> None:
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()


def relay(server: socket.socket, client: socket.socket) -> None:
    """Copy both ways until the server ends the connection, or the client does."""
    while True:
        if not (isinstance(client, ssl.SSLSocket) and client.pending()):
            ready, _, _ = select.select([server, client], [], [])
        else:
            ready = [client]
        for source, target in ((server, client), (client, server)):
            if source in ready:
                data = source.recv(65536)
                if not data:
                    return
                target.sendall(data)


@pytest.fixture
def proxy() -> Iterator[ForwardProxy]:
    running = ForwardProxy()
    yield running
    running.close()


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = certificate(tmp_path_factory.mktemp("certificates"))
    if found is None:
        pytest.skip("server with TLS is absent: no program 'openssl'")
    return found


@pytest.fixture
def secure(authority: Path) -> Iterator[SecureScripted]:
    server = SecureScripted(authority, authority.parent / "key.pem")
    yield server
    server.close()


# -- proxies ----------------------------------------------------------------------------------
@pytest.mark.parametrize("name", ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"])
@pytest.mark.parametrize("scheme", ["http://", ""])
def test_requests_are_forwarded(
    scripted: Scripted, proxy: ForwardProxy, monkeypatch: pytest.MonkeyPatch, name: str, scheme: str
) -> None:
    monkeypatch.setenv(name, scheme + proxy.host)
    scripted.script = well
    with HTTPStore(scripted.origin + "/data?sig=abc") as store:
        assert len(some(store.get("k"))) == 256 * 1024
        assert store.size("k") == 256 * 1024
    assert [request.method for request in proxy.asked] == ["GET", "HEAD"]
    for request in proxy.asked:
        assert request.target == f"{scripted.origin}/data/k?sig=abc"
        assert request.headers["host"] == scripted.origin.removeprefix("http://")
    assert [request.target for request in scripted.asked] == ["/data/k?sig=abc"] * 2


def test_requests_are_tunnelled(
    secure: SecureScripted, authority: Path, proxy: ForwardProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    proxy.login = LOGIN
    monkeypatch.setenv("HTTPS_PROXY", f"http://me:pass-word@{proxy.host}")
    seen: list[Request] = []

    def script(request: Request) -> bytes:
        seen.append(request)
        return well(request)

    secure.script = script
    options = {"verify": str(authority), "headers": {"X-Token": "hidden"}}
    with HTTPStore(secure.origin + "/data", **options) as store:
        for _ in range(3):
            assert len(some(store.get("k"))) == 256 * 1024
        assert len(some(pickle.loads(pickle.dumps(store)).get("k"))) == 256 * 1024
    assert {request.method for request in proxy.asked} == {"CONNECT"}
    assert {request.target for request in proxy.asked} == {secure.origin.removeprefix("https://")}
    assert len(proxy.asked) == 2  # the connection is reused, but not by the copy
    assert all("x-token" not in request.headers for request in proxy.asked)
    assert all("proxy-authorization" not in request.headers for request in seen)
    assert [request.headers["x-token"] for request in seen] == ["hidden"] * 4


def test_a_proxy_with_tls(
    scripted: Scripted, secure: SecureScripted, authority: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(authority, authority.parent / "key.pem")
    proxy = ForwardProxy(context)
    monkeypatch.setenv("ALL_PROXY", f"https://{proxy.host.replace('127.0.0.1', 'localhost')}")
    scripted.script = secure.script = well
    for server in (scripted, secure):
        with HTTPStore(server.origin + "/", verify=str(authority)) as store:
            for _ in range(2):
                assert len(some(store.get("k"))) == 256 * 1024
        unknown = HTTPStore(server.origin + "/", retries=0)
        with unknown, pytest.raises(StoreError, match="certificate is not trusted"):
            unknown.get("k")
    assert {request.method for request in proxy.asked} == {"GET", "CONNECT"}
    proxy.close()


@pytest.mark.parametrize("tls", [False, True])
@pytest.mark.parametrize("login", ["", "me:other-word@"])
def test_a_proxy_that_wants_other_credentials(
    scripted: Scripted,
    proxy: ForwardProxy,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    tls: bool,
    login: str,
) -> None:
    caplog.set_level(logging.DEBUG)
    proxy.login = LOGIN
    monkeypatch.setenv("all_proxy", f"http://{login}{proxy.host}")
    origin = "https://localhost:1" if tls else scripted.origin
    with HTTPStore(f"{origin}/d?sig=sig-nature") as store:
        with pytest.raises(StoreAccessError, match=r"proxy.*credentials") as caught:
            store.get("k")
        assert len(proxy.asked) == 1  # not repeated
    shown = "".join(traceback.format_exception(caught.value)) + caplog.text + repr(store)
    for secret in ("other-word", "bWU6", "sig-nature"):
        assert secret not in shown
    assert scripted.asked == []


def test_the_password_of_a_proxy_is_not_shown(
    scripted: Scripted,
    proxy: ForwardProxy,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    proxy.login = LOGIN
    monkeypatch.setenv("http_proxy", f"http://me:pass%2Dword@{proxy.host}")
    scripted.script = lambda request: answer("500 No")
    with HTTPStore(scripted.origin, retries=1, deadline=10) as store:
        with pytest.raises(StoreError) as caught:
            store.get("k")
        found = proxy_for(store._root.origin)
        shown = f"{found} {found!r} {store!r} {caplog.text}"
        shown += "".join(traceback.format_exception(caught.value))
    assert "pass-word" not in shown and LOGIN.split()[1] not in shown
    assert all(request.headers["proxy-authorization"] == LOGIN for request in proxy.asked)


@pytest.mark.parametrize(
    "exempt", ["127.0.0.1", "other.example, 127.0.0.1", "127.0.0.0/8", "*", "127.0.0.1:{port}"]
)
@pytest.mark.parametrize("name", ["NO_PROXY", "no_proxy"])
def test_hosts_without_a_proxy(
    scripted: Scripted, proxy: ForwardProxy, monkeypatch: pytest.MonkeyPatch, exempt: str, name: str
) -> None:
    monkeypatch.setenv("HTTP_PROXY", f"http://{proxy.host}")
    monkeypatch.setenv(name, exempt.format(port=scripted.origin.rpartition(":")[2]))
    scripted.script = well
    with HTTPStore(scripted.origin) as store:
        assert len(some(store.get("k"))) == 256 * 1024
    assert proxy.asked == [] and len(scripted.asked) == 1


@pytest.mark.parametrize(
    ("host", "exempt", "direct"),
    [
        ("data.example.org", "example.org", True),
        ("data.example.org", ".example.org", True),
        ("example.org", ".example.org", True),
        ("badexample.org", "example.org", False),
        ("data.example.org", "10.0.0.0/8", False),
        ("10.1.2.3", "10.0.0.0/8", True),
        ("11.1.2.3", "10.0.0.0/8, example.org", False),
        ("::1", "::1", True),
        ("::1", "[::1]", True),
        ("fd00::1", "fd00::/8", True),
        ("::2", "::1", False),
        ("::2", "*", True),
    ],
)
def test_which_hosts_are_exempt(
    monkeypatch: pytest.MonkeyPatch, host: str, exempt: str, direct: bool
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "proxy.example:3128")
    monkeypatch.setenv("NO_PROXY", exempt)
    found = proxy_for(Origin("https", host, 443))
    assert (found is None) is direct
    assert found is None or str(found) == "http://proxy.example:3128"
    assert proxy_for(Origin("http", host, 80)) is None


def test_small_values_through_a_proxy(
    scripted: Scripted,
    proxy: ForwardProxy,
    values: dict[str, bytes],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The batch reader has connections of its own, so it is not used."""
    monkeypatch.setenv("HTTP_PROXY", proxy.host)
    serve(scripted, values)
    with HTTPStore(scripted.origin, requests=4) as store:
        found = omnizarr.open_array(store, mode="r")[...]
        np.testing.assert_array_equal(found, EXPECTED)
        assert store._feeder is None
    assert len(proxy.asked) == len(scripted.asked) > len(EXPECTED)


def test_proxies_that_cannot_be_used(
    scripted: Scripted, proxy: ForwardProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failure(url: str, **options: Any) -> str:
        monkeypatch.setenv("ALL_PROXY", url)
        with (
            HTTPStore(scripted.origin, retries=1, **options) as store,
            pytest.raises(StoreError) as caught,
        ):
            assert store.feeder(omnizarr.ByteRange(0, 10), 4) is None
            store.get("k")
        assert "pass-word" not in "".join(traceback.format_exception(caught.value))
        assert caught.value.location is not None and caught.value.location.key == "k"
        return caught.value.reason

    assert "'socks5'" in failure("socks5://me:pass-word@127.0.0.1:1080")
    assert "cannot be read" in failure("http://me:pass-word@:80")
    assert "cannot be read" in failure("http://me:pass-word@[::1")
    refused = failure("me:pass-word@127.0.0.1:1")
    assert "Connection refused" in refused and "proxy http://127.0.0.1:1)" in refused
    assert "untrusted=True cannot be" in failure(f"http://{proxy.host}", untrusted=True)
    assert proxy.asked == scripted.asked == []


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        (b"HTTP/1.1 502 \x1b[31m" + LOGIN.encode() + b"\r\n\r\n", "the proxy answered 502"),
        (b"SSH-2.0-OpenSSH\r\n", "BadStatusLine"),
    ],
)
def test_a_proxy_that_opens_no_tunnel(
    monkeypatch: pytest.MonkeyPatch, said: bytes, shown: str
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        place = f"127.0.0.1:{server.getsockname()[1]}"
        monkeypatch.setenv("HTTPS_PROXY", f"http://me:pass-word@{place}")

        def answer_once() -> None:
            connection, _ = server.accept()
            with connection:
                connection.recv(65536)
                connection.sendall(said)

        thread = threading.Thread(target=answer_once)
        thread.start()
        with (
            HTTPStore("https://localhost:1/", retries=0) as store,
            pytest.raises(StoreError, match=shown) as caught,
        ):
            store.get("k")
        thread.join()
    assert f"proxy http://{place})" in caught.value.reason
    assert LOGIN not in "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_slow_proxy_and_the_deadline(
    proxy: ForwardProxy, monkeypatch: pytest.MonkeyPatch, scheme: str
) -> None:
    proxy.slow = True
    monkeypatch.setenv("ALL_PROXY", proxy.host)
    begun = time.monotonic()
    with HTTPStore(f"{scheme}://localhost:1/", deadline=1) as store:
        with pytest.raises(StoreTimeoutError, match=f"proxy http://{proxy.host}"):
            store.get("k")
        assert time.monotonic() - begun < 6


def test_the_option_of_fsspec_for_the_environment() -> None:
    store = as_store("http://host/x", storage_options={"client_kwargs": {"trust_env": True}})
    assert isinstance(store, HTTPStore)
    with pytest.raises(TypeError, match="trust_env"):
        as_store("http://host/x", storage_options={"client_kwargs": {"trust_env": False}})


# -- certificates -----------------------------------------------------------------------------
@pytest.mark.parametrize("name", CERTIFICATES)
def test_authorities_of_the_environment(
    secure: SecureScripted,
    authority: Path,
    values: dict[str, bytes],
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    tmp_path: Path,
) -> None:
    serve(secure, values)
    with (
        HTTPStore(secure.origin + "/") as store,
        pytest.raises(StoreError, match=r"certificate is not trusted.*SSL_CERT_FILE"),
    ):
        store.get("zarr.json")
    path = authority
    if name == "SSL_CERT_DIR":
        path = tmp_path
        command = ["openssl", "x509", "-hash", "-noout", "-in", str(authority)]
        hashed = subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
        (tmp_path / f"{hashed}.0").write_bytes(authority.read_bytes())
    monkeypatch.setenv(name, str(path))
    with HTTPStore(secure.origin + "/") as store:
        assert some(store.get("zarr.json")) == values["zarr.json"]
        found = omnizarr.open_array(store, mode="r")[...]
        np.testing.assert_array_equal(found, EXPECTED)
        assert store._feeder is not None and store._feeder._batch._usual > 0


def test_authorities_that_are_missing(
    secure: SecureScripted, authority: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secure.script = well
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", "/no/such/file")
    with (
        HTTPStore(secure.origin + "/") as store,
        pytest.raises(StoreError, match="certificates of REQUESTS_CA_BUNDLE"),
    ):
        store.get("k")
    with HTTPStore(secure.origin + "/", verify=str(authority)) as store:
        assert some(store.get("k"))


def test_client_certificates(secure: SecureScripted, authority: Path) -> None:
    secure.script = well
    secure._context.verify_mode = ssl.CERT_REQUIRED
    secure._context.load_verify_locations(authority)
    files = (str(authority), str(authority.parent / "key.pem"))
    with HTTPStore(secure.origin + "/", verify=str(authority), cert=files) as store:
        assert some(store.get("k"))
    with (
        HTTPStore(secure.origin + "/", verify=str(authority), retries=0, deadline=10) as store,
        pytest.raises(StoreError),
    ):
        store.get("k")


def test_a_handshake_that_never_ends() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        url = f"https://127.0.0.1:{server.getsockname()[1]}/"
        begun = time.monotonic()
        with HTTPStore(url, deadline=1) as store, pytest.raises(StoreTimeoutError):
            store.get("k")
        assert time.monotonic() - begun < 6


# -- the package ------------------------------------------------------------------------------
def test_without_urllib3(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "urllib3", None)
    with pytest.raises(MissingPackageError, match=r"omnizarr\[http\]"):
        HTTPStore("http://127.0.0.1:1/")


def test_urllib3_is_not_imported_before_it_is_needed() -> None:
    code = (
        "import sys, omnizarr; from omnizarr.stores import HTTPStore;"
        " assert not [name for name in sys.modules if name.startswith('urllib3')]"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_errors_have_fields(scripted: Scripted) -> None:
    scripted.script = lambda request: answer("410 Gone")
    with HTTPStore(scripted.origin + "/d?sig=hidden") as store:
        with pytest.raises(StoreError) as caught:
            store.get("a/b")
        assert caught.value.reason == "the server answered 410 Gone"
        where = caught.value.location
        assert where is not None and (where.name, where.key) == (store.url, "a/b")
        scripted.script = lambda request: answer("500 No")
        with pytest.raises(StoreError) as caught:
            store.list_dir("a/")
        where = caught.value.location
        assert where is not None and (where.name, where.key) == (store.url, "a/")
        assert "HTTPStore" not in caught.value.reason
