"""The remote benchmark: its server answers as S3 and the web do, and a small run ends well."""

from __future__ import annotations

import http.client
import importlib.util
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import omnizarr
from omnizarr.model.store import ByteRange

pytestmark = pytest.mark.peers

ROOT = Path(__file__).resolve().parent.parent
BENCHMARKS = ROOT / "benchmarks"


@pytest.fixture(scope="module")
def module() -> ModuleType:
    spec = importlib.util.spec_from_file_location(
        "latency_server", BENCHMARKS / "latency_server.py"
    )
    assert spec is not None and spec.loader is not None
    found = importlib.util.module_from_spec(spec)
    sys.modules["latency_server"] = found
    spec.loader.exec_module(found)
    return found


@pytest.fixture
def server(module: ModuleType, tmp_path: Path) -> Iterator[Any]:
    (tmp_path / "bucket" / "a").mkdir(parents=True)
    (tmp_path / "bucket" / "a" / "x y").write_bytes(b"0123456789")
    with module.Server(tmp_path) as running:
        yield running


def ask(
    server: Any, method: str, path: str, body: bytes | None = None, **headers: str
) -> tuple[int, bytes, dict[str, str]]:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    connection.request(method, path, body, names)
    answer = connection.getresponse()
    found = answer.status, answer.read(), {k.lower(): v for k, v in answer.getheaders()}
    connection.close()
    return found


@pytest.mark.parametrize(
    ("wanted", "status", "body"),
    [
        ("bytes=2-4", 206, b"234"),
        ("bytes=7-", 206, b"789"),
        ("bytes=-3", 206, b"789"),
        ("bytes=-30", 206, b"0123456789"),
        ("bytes=8-100", 206, b"89"),
        ("bytes=10-", 416, b""),
    ],
)
def test_ranges(server: Any, wanted: str, status: int, body: bytes) -> None:
    assert ask(server, "GET", "/bucket/a/x%20y", Range=wanted)[:2] == (status, body)


def test_conditions(server: Any) -> None:
    status, _, headers = ask(server, "HEAD", "/bucket/a/x%20y")
    assert (status, headers["content-length"]) == (200, "10")
    tag = headers["etag"]
    assert ask(server, "GET", "/bucket/a/x%20y", If_None_Match=tag)[0] == 304
    assert ask(server, "GET", "/bucket/a/x%20y", If_Match='"other"')[0] == 412
    assert ask(server, "PUT", "/bucket/a/x%20y", b"new", If_Match=tag)[0] == 200
    assert ask(server, "PUT", "/bucket/a/x%20y", b"lost", If_Match=tag)[0] == 412
    assert ask(server, "PUT", "/bucket/b", b"1", If_None_Match="*")[0] == 200
    assert ask(server, "PUT", "/bucket/b", b"2", If_None_Match="*")[0] == 412
    assert ask(server, "GET", "/bucket/b")[:2] == (200, b"1")
    assert ask(server, "DELETE", "/bucket/b")[0] == 204
    assert ask(server, "GET", "/bucket/b")[0] == 404


def test_requests_are_counted_and_delayed(server: Any) -> None:
    server.latency(50)
    with server.counting() as counts:
        start = time.monotonic()
        ask(server, "GET", "/bucket/a/x%20y")
        assert time.monotonic() - start >= 0.05
        ask(server, "GET", "/bucket/missing")
        ask(server, "HEAD", "/bucket/missing")
    assert counts == {"GET": 2, "HEAD": 1, "bytes": 10}


def test_our_own_store_reads_writes_and_lists_there(server: Any) -> None:
    store = omnizarr.stores.as_store(
        "s3://bucket/deep",
        storage_options={
            "endpoint": server.url, "region": "us-east-1", "skip_signature": True,
        },
    )  # fmt: skip
    for number in range(3):
        store.set(f"k/{number}", b"abc")
    store.set("top", b"")
    assert list(store.list()) == ["k/0", "k/1", "k/2", "top"]
    assert store.list_dir("") == (["top"], ["k/"])
    assert store.get("k/1", ByteRange(-2)) == b"bc"
    assert store.get("nothing") is None
    store.close()


def test_a_small_run(tmp_path: Path) -> None:
    figures = tmp_path / "figures.json"
    command = [
        sys.executable, str(BENCHMARKS / "remote.py"), "--quick", "--latency", "2",
        "--libraries", "omnizarr", "omnizarr-http", "--json", str(figures),
    ]  # fmt: skip
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "PYTHONIOENCODING": "utf-8"}
    done = subprocess.run(
        command, capture_output=True, encoding="utf-8", env=environment, timeout=90, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "QUICK" in done.stdout
    rows = {
        row["label"]: row["libraries"] for row in json.loads(figures.read_text())["latencies"]["2"]
    }
    requests = {
        label: {name: item["requests"] for name, item in row.items()} for label, row in rows.items()
    }
    both = {"omnizarr S3", "omnizarr HTTP"}
    assert requests["read 70 chunks of 64 KiB"] == dict.fromkeys(both, 71)
    assert requests["read 1,024 inner chunks in 16 shards"] == dict.fromkeys(both, 17)
    assert requests["read a thin slice through 16 shards"] == dict.fromkeys(both, 33)
    # The row before has read all indexes; over HTTP those of values that were old enough are kept.
    inner = requests["read 10 inner chunks, one by one"]
    assert inner["omnizarr S3"] == 10 and 10 <= inner["omnizarr HTTP"] <= 20
    assert requests["open an array"] == dict.fromkeys(both, 1)
    assert set(requests["write 70 chunks of 64 KiB"]) == {"omnizarr S3"}
