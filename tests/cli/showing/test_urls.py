"""The commands that show, on a web server."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from tests.cli.conftest import Run, write


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass

    def list_directory(self, path: object) -> None:
        """Nothing can be listed."""
        self.send_error(404)


@pytest.fixture
def url(tmp_path: Path) -> Iterator[str]:
    write(tmp_path / "data.zarr")
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(tmp_path)))
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/data.zarr"
    server.shutdown()
    server.server_close()
    thread.join(60)


@pytest.mark.parametrize(
    ("words", "node", "expected"),
    [
        (["ls", "-l"], "sparse", "40×60"),
        (["meta"], "sparse", '"shape"'),
        (["attrs", "get"], "sparse", 'units = "K"'),
        (["head"], "sparse", "1.0"),
        (["dump", "--header"], "sparse", "float sparse(y, x) ;"),
        (["stats"], "sparse", "2,400"),
        (["plot"], "deep/z", "█"),
    ],
)
def test_one_that_cannot_be_listed(
    run: Run, url: str, words: list[str], node: str, expected: str
) -> None:
    done = run(*words, f"{url}/{node}")
    assert done.status == 0 and expected in done.out, done.err


@pytest.mark.parametrize("words", [["chunks"], ["ls", "--keys"]])
def test_what_needs_a_listing(run: Run, url: str, words: list[str]) -> None:
    done = run(*words, f"{url}/sparse")
    assert done.status == 2 and "list" in done.err and len(done.err.splitlines()) <= 2


def test_nothing_is_written(run: Run, url: str) -> None:
    done = run("attrs", "set", f"{url}/sparse", "a=1")
    assert done.status == 2 and "can only be read" in done.err
