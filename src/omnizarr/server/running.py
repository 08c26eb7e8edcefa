"""Run an ASGI application: where it listens, what is printed, how it ends.

This module knows sockets, uvicorn and Ctrl-C. It must not know what the application serves.
"""

from __future__ import annotations

import asyncio
import errno
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from omnizarr.errors import StoreError
from omnizarr.runtime.optional_packages import package

LOOPBACK = "127.0.0.1"
MOST_CONNECTIONS = 4096
"""Connections beyond these get the answer 503."""
BACKLOG = 2048
_START_SECONDS = 60.0
_END_SECONDS = 7
"""Requests that wait for a store so long after the server is stopped are given up. Connections are
cut before that."""


class ListenError(StoreError):
    """The address cannot be listened at."""


def run(
    app: Any,
    *,
    host: str = LOOPBACK,
    port: int = 0,
    open_browser: bool = False,
    root_path: str = "",
    announce: Callable[[str], object] | None = None,
) -> None:
    """Serve an ASGI application until Ctrl-C or a signal to end.

    Parameters
    ----------
    app
        The application.
    host
        The address to listen at: by default of this machine alone. ``"0.0.0.0"`` or ``"::"`` lets
        everybody in who can reach this machine.
    port
        0 takes a free one.
    open_browser
        Show the page in the browser once the server answers.
    root_path
        What a proxy strips from the beginning of paths, such as ``"/data"``.
    announce
        Is called with the URL once the server answers; by default it is printed.
    """
    listening = listen(host, port)
    server = _server(app, root_path)
    url = url_of(listening)

    def started() -> None:
        (announce or _print)(url)
        if open_browser:
            import webbrowser

            webbrowser.open(url)

    server.when_started = started
    _allow_open_files()
    try:
        server.run(sockets=[listening])
    except KeyboardInterrupt:
        pass  # uvicorn raises it again once everything has ended well
    finally:
        listening.close()


@contextmanager
def running(app: Any, *, host: str = LOOPBACK, port: int = 0, root_path: str = "") -> Iterator[str]:
    """Serve an ASGI application in a thread, as long as the block takes; gives the URL."""
    listening = listen(host, port)
    server = _server(app, root_path)
    started = threading.Event()
    server.when_started = started.set
    thread = threading.Thread(
        target=server.run, kwargs={"sockets": [listening]}, name="omnizarr-server", daemon=True
    )
    thread.start()
    try:
        if not started.wait(_START_SECONDS):
            raise ListenError("the server did not start")
        yield url_of(listening)
    finally:
        server.should_exit = True
        thread.join(_END_SECONDS + _START_SECONDS)
        listening.close()


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens."""
    if not 0 <= port <= 65535:
        raise ValueError(f"port must be from 0 (any free one) to 65535, found {port}")
    try:
        family, _, _, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        # Named, or asyncio would not turn off the delay of small packets.
        listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    except OSError as error:
        raise ListenError(f"cannot listen at {host!r}: {error.strerror}") from error
    try:
        if sys.platform != "win32":  # where it would share the port with another server
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen(BACKLOG)
    except OSError as error:
        listening.close()
        failure = ListenError(f"cannot listen at {host!r}, port {port}: {error.strerror}")
        if error.errno == errno.EADDRNOTAVAIL:
            advice = "it is no address of this machine; {} lets everybody in who can reach it"
            raise failure.advise(advice, ("host", "0.0.0.0")) from error
        raise failure.advise("{} takes a free one", ("port", 0)) from error
    return listening


def url_of(listening: socket.socket) -> str:
    """Where a browser on this machine finds the server."""
    host, port = listening.getsockname()[:2]
    if host in ("0.0.0.0", "::"):
        host = LOOPBACK if host == "0.0.0.0" else "::1"
    return f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/"


def _allow_open_files() -> None:
    """Every connection is an open file, and what it sends may be one, too."""
    if sys.platform == "win32":  # where there is no such limit
        return
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 2 * MOST_CONNECTIONS + 256
    if hard != resource.RLIM_INFINITY:
        wanted = min(wanted, hard)
    if soft < wanted and soft != resource.RLIM_INFINITY:
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def _print(url: str) -> None:
    sys.stdout.write(f"{url}\n")
    sys.stdout.flush()


def _server(app: Any, root_path: str) -> Any:
    uvicorn = package("uvicorn", "serve", "a server")
    from omnizarr.server.protocol import MOST_HEAD, guarded_protocol

    class Server(uvicorn.Server):  # type: ignore[name-defined,misc]  # imported when needed
        when_started: Callable[[], object] = staticmethod(lambda: None)

        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets=sockets)
            if self.started:
                self.when_started()

    async def quiet(scope: Any, receive: Any, send: Any) -> None:
        with suppress(asyncio.CancelledError):  # given up, its connection cut: nothing to report
            await app(scope, receive, send)

    return Server(
        uvicorn.Config(
            quiet,
            http=guarded_protocol(),
            ws="none",
            lifespan="auto",
            log_level="error",
            access_log=False,
            server_header=False,
            root_path=root_path,
            backlog=BACKLOG,
            limit_concurrency=MOST_CONNECTIONS,
            timeout_keep_alive=30,
            timeout_graceful_shutdown=_END_SECONDS,
            h11_max_incomplete_event_size=MOST_HEAD,
            proxy_headers=False,
        )
    )
