"""Every server as a fixture of the session, and the summary's word on those that are absent.

    def test_x(server): facts = server("redis")

Servers are started by the first test that asks, and stopped with the test process.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from tests.servers.process import Absent

_ABSENT: dict[str, str] = {}


@pytest.fixture(scope="session")
def server() -> Iterator[Callable[[str], Any]]:
    """`server("nginx")`: what `serve()` of `tests/servers/nginx.py` yields."""
    with ExitStack() as stack:
        running: dict[str, Any] = {}

        def start(name: str) -> Any:
            if name not in running and name not in _ABSENT:
                module = importlib.import_module(f"tests.servers.{name}")
                try:
                    running[name] = stack.enter_context(module.serve())
                except Absent as reason:
                    _ABSENT[name] = str(reason)
            if name in _ABSENT:
                pytest.skip(f"server {name} is absent: {_ABSENT[name]}")
            return running[name]

        yield start
