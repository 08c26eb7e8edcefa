"""Through servers of S3, Google Cloud Storage and Azure: what omnizarr wrote is read by zarr-python
through its own clients of the same server, and what it wrote is read by omnizarr."""

from __future__ import annotations

import json
import os
import subprocess
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import omnizarr
from tests.acceptance import cloud_peer

pytestmark = pytest.mark.peers

HERE = Path(__file__).parent
PYTHON = HERE.parent.parent / ".peers" / "zarr3" / "bin" / "python"
Summary = Callable[[str], None]

CLIENTS = {"s3": ("obstore", "s3fs"), "gcs": ("obstore", "gcsfs"), "azurite": ("obstore",)}
"""adlfs is not among them: it reads shards with suffix ranges, which Azure does not have."""
NAMES = {"s3": "S3 (moto)", "gcs": "GCS (fake-gcs-server)", "azurite": "Azure (Azurite)"}
PAIRS = [(service, client) for service, clients in CLIENTS.items() for client in clients]


def peer(
    service: str, client: str, facts: Any, read: list[str], write: dict[str, int]
) -> dict[str, Any]:
    if not PYTHON.exists():
        pytest.fail(f"{PYTHON} does not exist: run `make peers`")
    job = {
        "client": client,
        "service": service,
        "endpoint": facts.endpoint,
        "container": getattr(facts, "bucket", "") or facts.container,
        "credentials": facts.options,
        "read": read,
        "write": write,
    }
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    done = subprocess.run(
        [str(PYTHON), "-W", "ignore", str(HERE / "cloud_peer.py"), json.dumps(job)],
        capture_output=True,
        text=True,
        env=environment,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def write_ours(url: str, options: dict[str, Any], zarr_format: int) -> None:
    root = omnizarr.create_group(url, zarr_format=zarr_format, storage_options=options)
    root.attrs["title"] = "grüße"
    inner = root.create_group("a").create_group("b")
    inner.attrs["n"] = [1, 2, 3]
    plain = root.create_array("plain", shape=(30, 20), chunks=(7, 6), dtype="f4", fill_value=1.5)
    plain[:20] = cloud_peer.data((20, 20), "f4")
    shards = {"shards": (16, 16)} if zarr_format == 3 else {}
    array = inner.create_array("x", shape=(40, 40), chunks=(4, 4), dtype="i4", **shards)
    array[:] = cloud_peer.data((40, 40), "i4")
    array.attrs["units"] = "K"


def read_ours(url: str, options: dict[str, Any]) -> dict[str, Any]:
    root = omnizarr.open_group(url, mode="r", storage_options=options)
    array: Any = root["a/b/x"]
    plain: Any = root["plain"]
    return {
        "title": root.attrs["title"],
        "n": root["a/b"].attrs["n"],
        "units": array.attrs["units"],
        "groups": sorted(name for name, _ in root.groups()),
        "arrays": sorted(name for name, _ in root.arrays()),
        "plain": np.asarray(plain[:]).tolist(),
        "x": np.asarray(array[:]).tolist(),
        "part": np.asarray(array[3:5, 35:]).tolist(),
    }


def expected() -> dict[str, Any]:
    plain = np.full((30, 20), 1.5, "f4")
    plain[:20] = cloud_peer.data((20, 20), "f4")
    whole = cloud_peer.data((40, 40), "i4")
    return {
        "title": "grüße",
        "n": [1, 2, 3],
        "units": "K",
        "groups": ["a"],
        "arrays": ["plain"],
        "plain": plain.tolist(),
        "x": whole.tolist(),
        "part": whole[3:5, 35:].tolist(),
    }


@pytest.mark.parametrize(("service", "client"), PAIRS)
def test_hierarchies_in_both_directions(
    service: str, client: str, server: Callable[[str], Any], summary: Summary
) -> None:
    facts = server(service)
    place = f"interop/{uuid.uuid4().hex}"
    ours = {f"{place}/ours/{zarr_format}": zarr_format for zarr_format in (2, 3)}
    theirs = {f"{place}/theirs/{zarr_format}": zarr_format for zarr_format in (2, 3)}
    for path, zarr_format in ours.items():
        write_ours(facts.url(path), facts.options, zarr_format)
    answer = peer(service, client, facts, list(ours), theirs)
    assert answer["found"] == {path: expected() for path in ours}
    for path in theirs:
        assert read_ours(facts.url(path), facts.options) == expected()
    summary(
        f"{NAMES[service]}: hierarchies of format 2 and of format 3 with shards, both directions"
        f" with zarr-python {answer['version']} through {client}: equal"
    )
