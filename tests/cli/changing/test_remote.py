"""Commands that copy and delete, on object storage and web servers; secrets stay secret."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import omnizarr as zarr
from omnizarr.cli import spots
from omnizarr.cli.places import StoredAt
from tests.cli.conftest import Done, Run


def words(options: dict[str, Any]) -> list[str]:
    return [
        word
        for name, value in options.items()
        for word in ("--storage-option", f"{name}={json.dumps(value)}")
    ]


@pytest.mark.slow
def test_object_storage(
    run: Run, store: Path, tmp_path: Path, server: Callable[[str], Any]
) -> None:
    s3 = server("s3")
    url, options = s3.url("commands/data.zarr"), words(s3.options)
    secrets = [str(value) for name, value in s3.options.items() if "secret" in name.lower()]

    def told(*arguments: object) -> Done:
        done = run(*arguments, *options)
        assert not any(secret in done.out + done.err for secret in secrets if len(secret) > 3)
        return done

    zarr.consolidate_metadata(store)
    assert told("cp", store, url).status == 0
    assert told("diff", store, url).status == 0
    again = told("sync", store, url, "--json").document
    assert again["copied"] == []
    zarr.open_array(store / "deep" / "z", mode="r+")[0] = 9
    assert told("sync", store, url, "--json").document["copied"] == ["deep/z/c/0/0"]
    done = told("mv", f"{url}/sparse", f"{url}/deep/sparse")
    assert done.status == 0 and f"out of date: omnizarr consolidate {url}" in done.out, done.err
    assert told("consolidate", url).status == 0
    assert told("cp", f"{url}/deep", tmp_path / "deep.zarr").status == 0
    assert zarr.open(tmp_path / "deep.zarr")["sparse"].shape == (40, 60)
    assert told("zip", f"{url}/deep", tmp_path / "deep.zip").status == 0
    assert told("rm", f"{url}/deep/z", "--json").document["path"] == "deep/z"
    assert told("rm", url).status == 2
    assert told("rm", url, "--yes").status == 0
    assert told("tree", url).status == 2


def test_a_server_that_does_not_list(run: Run, store: Path, tmp_path: Path) -> None:
    import functools
    import threading
    from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

    handler = functools.partial(Quiet, directory=str(store))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as web:
        threading.Thread(target=web.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{web.server_port}"
        assert run("diff", url, store).status == 0
        for command in ("cp", "sync", "zip"):
            done = run(command, url, tmp_path / "new.zip")
            assert done.status == 2 and "does not tell which values there are" in done.err
            assert not (tmp_path / "new.zip").exists()
        web.shutdown()


def test_passwords_are_masked() -> None:
    place = StoredAt("redis://:hunter22@127.0.0.1:6379", "a")
    assert not any("hunter22" in line for line in spots.renewal(place, ["", "a"]))
    assert "hunter22" not in str(place)
