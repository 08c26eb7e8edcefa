"""mongo-java-server: speaks MongoDB's wire protocol and keeps documents in memory. It is not
MongoDB itself, which no registry offers."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from tests.servers.process import PEERS, Absent, free_port, program, running

NAME = "mongo-java-server"


@dataclass(frozen=True)
class MongoDB:
    name: str
    port: int

    @property
    def url(self) -> str:
        return f"mongodb://127.0.0.1:{self.port}/"


@contextmanager
def serve() -> Iterator[MongoDB]:
    folder = PEERS / "mongodb"
    if not (folder / "Launcher.class").exists():
        raise Absent(f"no {NAME} in .peers/mongodb (scripts/make_servers.py fetches it)")
    port = free_port()
    path = f"{folder}{os.pathsep}{folder / 'jars'}/*"
    command = [program("java"), "-Xmx512m", "-XX:TieredStopAtLevel=1", "-cp", path, "Launcher"]
    with running([*command, str(port)], port):
        yield MongoDB(NAME, port)
