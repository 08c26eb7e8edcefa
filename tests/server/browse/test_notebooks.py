"""The page beside a notebook."""

from __future__ import annotations

from typing import Any
from urllib.request import urlopen

import omnizarr as zarr


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
