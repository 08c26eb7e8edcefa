"""`ObjectStore` against a server that speaks S3."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from omnizarr.runtime import parallel
from omnizarr.stores import ObjectStore, Store, as_store
from omnizarr.testing import StoreSuite

_numbers = itertools.count()


class TestS3(StoreSuite):
    many_keys = 2_000  # the server needs 80 s for 10,000; `test_ten_thousand_keys` has them

    @pytest.fixture(autouse=True)
    def _serve(self, server: Callable[[str], Any]) -> None:
        self.s3 = server("s3")

    def make_store(self, folder: Path) -> Store:
        url = self.s3.url(f"suite/{next(_numbers)}")
        return as_store(url, storage_options=self.s3.options)

    def reopen(self, store: Store) -> Store:
        assert isinstance(store, ObjectStore)
        store.close()
        return as_store(self.s3.url(store.prefix), storage_options=self.s3.options)


@pytest.mark.long
@pytest.mark.parametrize("name", ["s3", "azurite"])
def test_ten_thousand_keys(name: str, server: Callable[[str], Any]) -> None:
    """On servers for tests, which need minutes for it."""
    facts = server(name)
    options = {**facts.options, "deadline": 300}
    store = as_store(facts.url(f"many/{next(_numbers)}"), storage_options=options)
    keys = [f"c/{i % 10}/{i}" for i in range(10_000)]
    parallel.each(lambda key: store.set(key, key.encode()), keys, 8)
    assert store.get_many([(key, None) for key in keys]) == [key.encode() for key in keys]
    assert list(store.list()) == sorted(keys)
    assert len(store.list_dir("c/3/").keys) == 1000
    store.delete_prefix("c/")
    assert list(store.list()) == []
