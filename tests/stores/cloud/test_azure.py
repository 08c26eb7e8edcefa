"""`ObjectStore` against a server that speaks Azure Blob Storage, which has no suffix ranges."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from omnizarr.stores import ObjectStore, Store, as_store
from omnizarr.testing import StoreSuite

_numbers = itertools.count()


class TestAzure(StoreSuite):
    many_keys = 2_000  # more would take the emulator minutes

    @pytest.fixture(autouse=True)
    def _serve(self, server: Callable[[str], Any]) -> None:
        self.azure = server("azurite")

    def make_store(self, folder: Path) -> Store:
        url = self.azure.url(f"suite/{next(_numbers)}")
        return as_store(url, storage_options=self.azure.options)

    def reopen(self, store: Store) -> Store:
        assert isinstance(store, ObjectStore)
        store.close()
        return as_store(self.azure.url(store.prefix), storage_options=self.azure.options)
