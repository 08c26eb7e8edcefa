"""The API as a test asks it: in this process, without a socket."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from starlette.testclient import TestClient

import omnizarr as zarr
from omnizarr.server.browse import application

STORES = Path(__file__).with_name("stores.py")


@pytest.fixture(scope="session")
def stores() -> Any:
    """The module `stores.py`, which is no test."""
    import importlib.util

    spec = importlib.util.spec_from_file_location("browse_stores", STORES)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Asker:
    """Questions to the application, and its answers."""

    def __init__(self, node: Any, **more: Any) -> None:
        self.client = TestClient(application(node, **more), base_url="http://127.0.0.1")

    def json(self, name: str, status: int = 200, **query: Any) -> Any:
        def refuse(token: str) -> None:
            raise AssertionError(f"{token} is no JSON")

        response = self.client.get(f"/api/{name}", params=query)
        assert response.status_code == status, response.text
        return json.loads(response.content, parse_constant=refuse)

    def values(self, path: str, s: str = "", **query: Any) -> tuple[dict[str, Any], Any]:
        """The header, and the numbers in the shape that it tells."""
        response = self.client.get("/api/values", params={"path": path, "s": s, **query})
        assert response.status_code == 200, response.text
        length = struct.unpack("<I", response.content[:4])[0]
        assert (length + 4) % 8 == 0
        header = json.loads(response.content[4 : 4 + length])
        if "dtype" not in header:
            return header, None
        numbers = np.frombuffer(response.content[4 + length :], f"<{header['dtype']}")
        pairs = [2] if header["type"] == "complex" else []
        return header, numbers.reshape([*header["shape"], *pairs])


@pytest.fixture
def ask() -> Callable[..., Asker]:
    return Asker


@pytest.fixture(scope="module")
def sample(stores: Any) -> zarr.Group:
    root = stores.write({})
    stores.write_more(root)
    return root
