"""A server that speaks Redis' protocol and answers what a test wants, right or wrong."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

HELLO = b"*2\r\n$5\r\nproto\r\n:2\r\n"


@dataclass
class Fake:
    answer: Callable[[list[bytes]], bytes]
    """The bytes to send for a command and its arguments."""
    port: int = 0
    commands: list[list[bytes]] = field(default_factory=list)


@contextmanager
def fake_redis(answer: Callable[[list[bytes]], bytes] | bytes) -> Iterator[Fake]:
    """A server on loopback; every connection has a thread, and all end with the block."""
    fake = Fake((lambda command: answer) if isinstance(answer, bytes) else answer)
    connections: list[socket.socket] = []
    threads: list[threading.Thread] = []

    def serve(connection: socket.socket) -> None:
        try:
            with connection, connection.makefile("rb") as file:
                while head := file.readline():
                    command = []
                    for _ in range(int(head[1:])):
                        command.append(file.read(int(file.readline()[1:]) + 2)[:-2])
                    fake.commands.append(command)
                    greeting = command[0] in (b"CLIENT", b"SELECT", b"AUTH")
                    hello = HELLO if command[0] == b"HELLO" else None
                    connection.sendall(hello or (b"+OK\r\n" if greeting else fake.answer(command)))
        except (OSError, ValueError):
            return

    def accept(listening: socket.socket) -> None:
        while True:
            try:
                connection, _ = listening.accept()
            except OSError:
                return
            connections.append(connection)
            threads.append(threading.Thread(target=serve, args=(connection,)))
            threads[-1].start()

    with socket.create_server(("127.0.0.1", 0)) as listening:
        fake.port = listening.getsockname()[1]
        accepting = threading.Thread(target=accept, args=(listening,))
        accepting.start()
        try:
            yield fake
        finally:
            listening.shutdown(socket.SHUT_RDWR)
            accepting.join(5)
            for connection in connections:
                try:
                    connection.shutdown(socket.SHUT_RDWR)
                except OSError:
                    continue  # it was closed already
            for thread in threads:
                thread.join(5)
