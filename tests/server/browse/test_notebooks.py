"""The page beside a notebook."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest
from starlette.testclient import TestClient

import omnizarr as zarr
from omnizarr.server.browse import application


def test_a_server_runs_until_it_is_stopped() -> None:
    page: Any = zarr.zeros((3, 4)).browse(height=321)
    try:
        with urlopen(f"{page.url}api/node", timeout=60) as response:
            assert b'"shape":[3,4]' in response.read()
            assert "localhost" in response.headers["content-security-policy"]
        assert page.url in page._repr_html_() and 'height="321"' in page._repr_html_()
    finally:
        page.stop()
    try:
        urlopen(page.url, timeout=60)
    except OSError:
        return
    raise AssertionError("the server still answers")


@pytest.mark.parametrize("file", ["x.zarr", "x.zip", None])
def test_the_title_is_the_place(tmp_path: Path, file: str | None) -> None:
    root = zarr.create_group(tmp_path / file if file else zarr.MemoryStore())
    place = str(tmp_path / file) if file else "MemoryStore"
    array = root.create_array("air/temperature", data=[1])
    for node, title in ((root, place), (array, f"{place}/air/temperature")):
        client = TestClient(application(node), base_url="http://127.0.0.1")
        assert client.get("/api/store").json()["title"] == title
