"""redis-server (or valkey-server), in memory, with a user that has a password."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.servers.process import Absent, free_port, program, running


@dataclass(frozen=True)
class Redis:
    name: str
    """Which server it is."""
    port: int
    user: str = "somebody"
    password: str = "open-sesame"

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    @property
    def url_of_user(self) -> str:
        """A user who may read only."""
        return f"redis://{self.user}:{self.password}@127.0.0.1:{self.port}/0"


@contextmanager
def serve() -> Iterator[Redis]:
    try:
        path = program("redis-server")
    except Absent:
        path = program("valkey-server")
    facts = Redis(Path(path).name, free_port())
    with tempfile.TemporaryDirectory() as folder:
        command = [
            *(path, "--port", str(facts.port), "--bind", "127.0.0.1", "--dir", folder),
            *("--save", "", "--appendonly", "no", "--user"),
            *(facts.user, "on", f">{facts.password}", "~*", "+@read", "+@connection"),
        ]
        with running(command, facts.port):
            yield facts
