"""`append` returns where its own data are while other processes append."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import omnizarr
from omnizarr.nodes import node


def test_the_shape_right_after_the_own_append(monkeypatch: pytest.MonkeyPatch) -> None:
    store: dict[str, bytes] = {}
    array = omnizarr.create_array(store, shape=(2, 3), chunks=(2, 3), dtype="i4")
    other = omnizarr.open_array(store)
    change = node.change

    def interrupted(place: Any, *arguments: Any, **options: Any) -> Any:
        change(place, *arguments, **options)
        monkeypatch.setattr(node, "change", change)
        assert other.append(np.full((4, 3), 2)) == (7, 3)
        return node.reread(place)

    monkeypatch.setattr(node, "change", interrupted)
    assert array.append(np.full((1, 3), 1)) == (3, 3)
    assert array.shape == (7, 3)
    assert array[:, 0].tolist() == [0, 0, 1, 2, 2, 2, 2]


def test_along_another_axis() -> None:
    array = omnizarr.create_array({}, shape=(2, 3), chunks=(2, 2), dtype="i4")
    assert array.append(np.ones((2, 2)), axis=-1) == (2, 5)
    assert array[:].tolist() == [[0, 0, 0, 1, 1]] * 2
