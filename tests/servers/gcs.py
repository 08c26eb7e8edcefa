"""A server of Google Cloud Storage: fake-gcs-server, with a gateway for what it lacks.

The emulator holds objects, generations and conditions in memory. It does not take the XML
interface's writes, in which obstore speaks: `tests/servers/gcs_gateway.py` translates them. Clients
of the JSON interface, as gcsfs, talk to it through the same port, unchanged.
"""

from __future__ import annotations

import importlib.util
import json
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.servers.process import Absent, free_port, program, running

BUCKET = "omnizarr"


@dataclass(frozen=True)
class GCS:
    endpoint: str
    bucket: str = BUCKET

    @property
    def options(self) -> dict[str, Any]:
        """For `storage_options`, in obstore's words."""
        return {"base_url": self.endpoint, "bearer_token": "ya29.a-token-that-is-secret"}

    def url(self, path: str) -> str:
        return f"gs://{self.bucket}/{path}"


@contextmanager
def serve() -> Iterator[GCS]:
    if importlib.util.find_spec("obstore") is None:
        raise Absent("no package 'obstore'")
    emulator = program("fake-gcs-server")
    port, behind = free_port(), free_port()
    command = [emulator, "-scheme", "http", "-backend", "memory", "-log-level", "error"]
    command += ["-host", "127.0.0.1", "-port", str(behind), "-public-host", f"127.0.0.1:{port}"]
    command += ["-external-url", f"http://127.0.0.1:{port}"]
    gateway = [sys.executable, str(Path(__file__).with_name("gcs_gateway.py"))]
    with running(command, behind), running([*gateway, str(port), str(behind)], port):
        found = GCS(f"http://127.0.0.1:{port}")
        request = urllib.request.Request(
            f"{found.endpoint}/storage/v1/b?project=test",
            data=json.dumps({"name": BUCKET}).encode(),
            headers={"Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=30) as answer:
            assert answer.status == 200
        yield found
