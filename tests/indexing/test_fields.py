"""Field names are taken out of keys."""

from __future__ import annotations

from typing import Any

import pytest

from omnizarr.indexing import pop_fields


@pytest.mark.parametrize(
    ("key", "fields", "rest"),
    [
        ("f", "f", ()),
        (["f"], ["f"], ()),
        (["f", "g"], ["f", "g"], ()),
        (("f", slice(0, 3)), "f", slice(0, 3)),
        ((slice(0, 3), "f"), "f", slice(0, 3)),
        (("f", 1, 2), "f", (1, 2)),
        (("f", "g", 1), ["f", "g"], 1),
        ((["f", "g"], 1), ["f", "g"], 1),
        (("f",), "f", ()),
        (3, None, 3),
        ((3,), None, (3,)),
        ((), None, ()),
        ([], None, []),
        ([0, 1], None, [0, 1]),
        (..., None, ...),
    ],
)
def test_pop_fields(key: Any, fields: Any, rest: Any) -> None:
    assert pop_fields(key) == (fields, rest)
