"""`omnizarr verify`, and what `convert` does about damage: output and exit status."""

from __future__ import annotations

import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import omnizarr as zarr
from tests.cli.conftest import Run, write


def damage(store: Path) -> Path:
    """Cut one chunk off; its path."""
    chunk = sorted((store / "deep" / "z" / "c").rglob("0"))[-1]
    chunk.write_bytes(chunk.read_bytes()[:-1])
    return chunk


def test_a_sound_store(run: Run, tmp_path: Path) -> None:
    store = write(tmp_path / "x.zarr")
    done = run("verify", store)
    assert done.status == 0 and done.err == "" and "no bad chunk" in done.out
    assert run("verify", store, "--quiet").out == ""
    assert run("verify", tmp_path / "nothing").status == 2
    assert run("verify").status == 2


def test_damage_is_listed(run: Run, tmp_path: Path) -> None:
    store = write(tmp_path / "x.zarr")
    key = damage(store).relative_to(store).as_posix()
    done = run("verify", store, "--workers", "2")
    assert done.status == 1 and "/deep/z\n" in done.out and repr(key) in done.out
    assert run("verify", store, "--quiet").out == done.out
    document = run("verify", store, "--json").document
    assert document["ok"] is False and [bad["key"] for bad in document["bad_chunks"]] == [key]
    assert run("verify", store, "sparse").status == 0
    assert "omnizarr verify" in run("check", store).out


def test_convert_says_what_became_of_damage(run: Run, tmp_path: Path) -> None:
    store = write(tmp_path / "x.zarr")
    damage(store)
    done = run("convert", store, tmp_path / "raise", "--to", "3", "--verify")
    assert done.status == 2 and "omnizarr verify lists every bad chunk" in done.err
    for choice in ("skip", "fill"):
        done = run("convert", store, tmp_path / choice, "--to", "3", "--on-damage", choice)
        assert done.status == 1 and "damaged: /deep/z, chunk" in done.out
        assert zarr.verify(tmp_path / choice).ok
    done = run("convert", store, tmp_path / "x", "--to", "3", "--on-damage", "ignore")
    assert done.status == 2
    done = run("convert", store, "--in-place", "--to", "2", "--on-damage", "skip")
    assert done.status == 2 and "--on-damage goes with a DESTINATION" in done.err


def test_fill_values(run: Run, tmp_path: Path) -> None:
    root = zarr.open_group(tmp_path / "two", mode="w", zarr_format=2)
    root.create_array("a", data=[0, 1], chunks=2, fill_value=0)
    run("convert", tmp_path / "two", tmp_path / "plain", "--to", "3")
    done = run("convert", tmp_path / "two", tmp_path / "x", "--to", "3", "--fill-values", "xarray")
    assert done.status == 0 and "_FillValue 0 added" in done.out
    assert "_FillValue" not in zarr.open_group(tmp_path / "plain")["a"].attrs
    assert zarr.open_group(tmp_path / "x")["a"].attrs["_FillValue"] == 0


class _Unlisted(SimpleHTTPRequestHandler):
    def list_directory(self, path: Any) -> None:
        self.send_error(404)

    def log_message(self, format: str, *args: Any) -> None:
        pass


def test_what_cannot_be_listed_could_not_be_done(run: Run, tmp_path: Path) -> None:
    write(tmp_path / "x.zarr")
    zarr.create_array(tmp_path / "big", shape=10**18, chunks=1, dtype="u1")
    zarr.create_array(tmp_path / "x.zarr", name="deep/more/v", data=[1, 2, 3])
    handler = partial(_Unlisted, directory=str(tmp_path))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}"
        done = run("verify", f"{url}/x.zarr")
        assert done.status == 2 and "skipped" in done.out and "cannot be listed" in done.out
        assert "damaged" not in done.out and "1 node not verified" in done.out
        document = run("verify", f"{url}/x.zarr", "--json").document
        assert document["ok"] is False and len(document["not_verified"]) == 1
        assert run("verify", f"{url}/x.zarr/deep/z").status == 0
        done = run("verify", f"{url}/big")
        assert done.status == 2 and "limits.max_requested_chunks" in done.out
        zarr.consolidate_metadata(tmp_path / "x.zarr")
        assert run("verify", f"{url}/x.zarr").status == 0
        damage(tmp_path / "x.zarr")
        assert run("verify", f"{url}/x.zarr").status == 1
        server.shutdown()
