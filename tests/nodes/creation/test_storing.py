"""Storing a new node: how often its documents are built, and what is asked at the same time."""

from __future__ import annotations

from dataclasses import replace
from threading import Barrier
from typing import Any

import pytest

import omnizarr
from omnizarr import MemoryStore, formats
from omnizarr.errors import StoreError
from omnizarr.model.array import ArrayModel


@pytest.mark.parametrize("attributes", [{}, {"a": 1}], ids=["bare", "attributes"])
@pytest.mark.parametrize("version", [0, 1, 2, 3, "3-draft2019", "3-draft2020-10", "n5"])
def test_documents_of_a_new_array_are_built_once(
    version: Any, attributes: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    kind = type(formats.get_format(version))
    build, calls = kind.documents, []

    def counted(
        self: Any, path: str, node: Any, *, attributes_only: bool = False
    ) -> dict[str, bytes]:
        if isinstance(node, ArrayModel) and not attributes_only:
            calls.append(path)
        return build(self, path, node, attributes_only=attributes_only)

    monkeypatch.setattr(kind, "documents", counted)
    array = omnizarr.create_array(
        {}, name="a", shape=3, dtype="i4", attributes=attributes, zarr_format=version
    )
    assert calls == ["a"]
    assert omnizarr.open_array(array.store, path="a").attrs == attributes


class Together(MemoryStore):
    """Every key is a request. Documents and the listing wait for each other."""

    capabilities = replace(MemoryStore.capabilities, requests=8)

    def __init__(self) -> None:
        super().__init__()
        self.meeting = Barrier(2)
        self.met = 0

    def _meet(self) -> None:
        if self.met == 0:
            self.meeting.wait(timeout=20)
            self.met = 1

    def get_many(self, requests: Any) -> Any:
        self._meet()
        return super().get_many(requests)

    def list_prefix(self, prefix: str) -> Any:
        self._meet()
        return super().list_prefix(prefix)


def test_leftovers_are_listed_while_documents_are_read() -> None:
    store = Together()
    omnizarr.create_array(store, shape=3, dtype="i4")
    assert store.met


class Unlistable(MemoryStore):
    """Every key is a request, and listings fail."""

    capabilities = replace(MemoryStore.capabilities, requests=8)

    def list_prefix(self, prefix: str) -> Any:
        raise StoreError("access denied")


def test_a_failed_listing_of_leftovers_is_raised_after_other_refusals() -> None:
    store = Unlistable()
    with pytest.raises(StoreError, match="access denied"):
        omnizarr.create_array(store, shape=3, dtype="i4")
    assert store.get("zarr.json") is None
    omnizarr.create_group(store)
    with pytest.raises(omnizarr.errors.ContainsGroupError):
        omnizarr.create_array(store, shape=3, dtype="i4")
