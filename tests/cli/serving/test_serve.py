"""`omnizarr serve`: what it prints, what it refuses."""

from __future__ import annotations

import json
import urllib.request
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import omnizarr as zarr
from omnizarr import server
from omnizarr.server import application
from tests.cli.conftest import Run


@pytest.fixture
def visited(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What `/v3/zarr.json` or `/zarr.json` was when the server had started; it then ends."""
    found: list[Any] = []

    def run(app: Any, *, host: str, port: int, root_path: str, announce: Any) -> None:
        with application.running(app, host=host, port=port) as url:
            announce(url)
            for path in ("v3/zarr.json", "zarr.json"):
                try:
                    found.append(json.load(urllib.request.urlopen(url + path)))
                except urllib.error.HTTPError as error:
                    found.append(error.code)

    monkeypatch.setattr(application, "run", run)
    return found


def test_a_store(run: Run, store: Path, visited: list[Any]) -> None:
    done = run("serve", store)
    assert done.status == 0 and done.err == ""
    assert done.out.startswith("http://127.0.0.1:") and str(store) in done.out
    assert "/v2/" in done.out and "Ctrl-C" in done.out
    assert visited[0]["attributes"] == visited[1]["attributes"] == {"title": "trial"}
    quiet = run("serve", store, "deep", "--quiet")
    assert quiet.out.count("\n") == 1
    assert list(visited[2]["consolidated_metadata"]["metadata"]) == ["z"]
    document = run("serve", store, "--json", "--as", "2").document
    assert set(document) == {"url", "store", "as"} and document["as"] == 2
    assert visited[4:] == [404, 404]


def test_other_places(run: Run, tmp_path: Path, visited: list[Any]) -> None:
    zarr.save_group(tmp_path / "folder" / "one.zarr", a=[1])
    done = run("serve", tmp_path / "folder")  # no node, with one inside
    assert done.status == 0 and "/v2/" not in done.out
    assert visited == [404, 404]
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "x.nc", "w") as file:
        file.create_dataset("rain", data=np.arange(6.0), chunks=(3,))
    assert run("serve", tmp_path / "x.nc").status == 0
    assert list(visited[2]["consolidated_metadata"]["metadata"]) == ["rain"]


def test_memory(run: Run, store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[Any] = []
    monkeypatch.setattr(server, "serve", lambda source, **options: given.append(options))
    assert run("serve", store, "--max-memory", "64MiB", "--cache-bytes", "1MB").status == 0
    assert (given[0]["max_memory"], given[0]["cache_bytes"]) == (64 << 20, 1_000_000)
    assert run("serve", store).status == 0
    assert not {"max_memory", "cache_bytes"} & given[1].keys()
    assert run("serve", store, "--max-memory", "much").status == 2


def test_refusals(run: Run, store: Path, tmp_path: Path) -> None:
    assert "no such" in run("serve", tmp_path / "nothing").err
    assert "65535" in run("serve", store, "--port", "70000").err
    assert run("serve", store, "--as", "7").status == 2
    (tmp_path / "text").write_text("text")
    assert run("serve", tmp_path / "text").status == 2
    assert "cannot listen" in run("serve", store, "--host", "999.1.1.1").err
    with server.background(store) as url:
        port = url.rstrip("/").rpartition(":")[2]
        assert port in run("serve", store, "--port", port).err
