"""A database whose package is missing says what to install; its module is loaded when needed."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from omnizarr.errors import MissingPackageError
from omnizarr.stores import LMDBStore, MongoDBStore, RedisStore, as_store


@pytest.mark.parametrize(
    ("package", "extra", "url", "store"),
    [
        ("lmdb", "lmdb", "x.lmdb", lambda: LMDBStore("x")),
        ("redis", "redis", "redis://localhost", RedisStore),
        ("pymongo", "mongodb", "mongodb://localhost", MongoDBStore),
    ],
)
def test_a_missing_package(
    package: str, extra: str, url: str, store: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    for call in (store, lambda: as_store(url)):
        with pytest.raises(MissingPackageError, match=rf"pip install 'omnizarr\[{extra}\]'"):
            call()


def test_nothing_is_loaded_before_it_is_needed() -> None:
    program = (
        "import sys, omnizarr; print([name for name in"
        " ('sqlite3', 'lmdb', 'dbm', 'redis', 'pymongo') if name in sys.modules])"
    )
    path = ":".join(filter(None, sys.path))
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, env={"PYTHONPATH": path}
    )
    assert (done.stdout, done.stderr) == ("[]\n", "")
