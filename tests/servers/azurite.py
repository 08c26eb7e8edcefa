"""A server of Azure Blob Storage: Azurite, from npm, which keeps everything in memory."""

from __future__ import annotations

import base64
import hashlib
import hmac
import importlib.util
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from email.utils import formatdate
from typing import Any

from tests.servers.process import PEERS, Absent, free_port, program, running

CONTAINER = "omnizarr"
ACCOUNT = "devstoreaccount1"
# The account of every emulator, published with it.
KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
VERSION = "2023-11-03"


@dataclass(frozen=True)
class Azurite:
    endpoint: str
    container: str = CONTAINER

    @property
    def options(self) -> dict[str, Any]:
        """For `storage_options`, in obstore's words."""
        return {"endpoint": self.endpoint, "account_name": ACCOUNT, "account_key": KEY}

    @property
    def connection_string(self) -> str:
        return f"AccountName={ACCOUNT};AccountKey={KEY};BlobEndpoint={self.endpoint};"

    def url(self, path: str) -> str:
        return f"az://{self.container}/{path}"

    def make_container(self) -> None:
        """Every request to it is signed, this one by hand."""
        date = formatdate(usegmt=True)
        signed = "PUT" + "\n" * 12 + f"x-ms-date:{date}\nx-ms-version:{VERSION}\n"
        signed += f"/{ACCOUNT}/{ACCOUNT}/{self.container}\nrestype:container"
        digest = hmac.new(base64.b64decode(KEY), signed.encode(), hashlib.sha256).digest()
        request = urllib.request.Request(
            f"{self.endpoint}/{self.container}?restype=container",
            method="PUT",
            headers={
                "x-ms-date": date,
                "x-ms-version": VERSION,
                "Authorization": f"SharedKey {ACCOUNT}:{base64.b64encode(digest).decode()}",
            },
        )
        with urllib.request.urlopen(request, timeout=30) as answer:
            assert answer.status == 201


@contextmanager
def serve() -> Iterator[Azurite]:
    if importlib.util.find_spec("obstore") is None:
        raise Absent("no package 'obstore'")
    azurite = program("azurite-blob", PEERS / "azurite" / "node_modules" / ".bin")
    port = free_port()
    command = [azurite, "--skipApiVersionCheck", "--inMemoryPersistence", "--silent"]
    command += ["--disableTelemetry", "--blobHost", "127.0.0.1", "--blobPort", str(port)]
    with running(command, port):
        found = Azurite(f"http://127.0.0.1:{port}/{ACCOUNT}")
        found.make_container()
        yield found
