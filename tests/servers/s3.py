"""An S3 server: moto, in a process of its own, which keeps everything in memory, and with writes
made atomic (`tests/servers/moto_server.py`).

with serve() as s3: open(s3.url("bucket/path"), storage_options=s3.options)
"""

from __future__ import annotations

import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.servers.process import Absent, free_port, running

BUCKET = "omnizarr"
PYTHON = Path(__file__).resolve().parents[2] / ".peers" / "moto" / "bin" / "python"


@dataclass(frozen=True)
class S3:
    endpoint: str
    bucket: str = BUCKET

    @property
    def options(self) -> dict[str, Any]:
        """For `storage_options`, in obstore's words."""
        return {
            "endpoint": self.endpoint,
            "access_key_id": "AKIAIOSFODNN7EXAMPLE",
            "secret_access_key": "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
            "region": "us-east-1",
        }

    def url(self, path: str) -> str:
        return f"s3://{self.bucket}/{path}"


@contextmanager
def serve() -> Iterator[S3]:
    if not PYTHON.exists():
        raise Absent("no moto in .peers/moto (`make peers` installs it)")
    port = free_port()
    launcher = Path(__file__).with_name("moto_server.py")
    with running([str(PYTHON), "-W", "ignore", str(launcher), str(port)], port):
        found = S3(f"http://127.0.0.1:{port}")
        request = urllib.request.Request(f"{found.endpoint}/{BUCKET}", method="PUT")
        with urllib.request.urlopen(request, timeout=30) as answer:
            assert answer.status == 200
        yield found
