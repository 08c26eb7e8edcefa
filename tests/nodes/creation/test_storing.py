"""Storing a new node: how often its documents are built."""

from __future__ import annotations

from typing import Any

import pytest

import omnizarr
from omnizarr import formats
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
