from __future__ import annotations

from typing import Any

import pytest

from omnizarr.runtime.sizes import as_bytes


@pytest.mark.parametrize(
    ("text", "nbytes"),
    [
        ("512 MiB", 512 << 20),
        ("1GB", 10**9),
        ("2 kB", 2000),
        ("1.5gib", 3 << 29),
        ("7", 7),
        ("9 B", 9),
    ],
)
def test_text(text: str, nbytes: int) -> None:
    assert as_bytes(text) == nbytes


@pytest.mark.parametrize(
    "wrong", ["", "MiB", "-1", "1 XB", "1e9", 0, -5, 1.5, True, None, "0 GB", "nan"]
)
def test_what_is_no_size(wrong: Any) -> None:
    with pytest.raises(ValueError, match="max_memory must be a number of bytes, or text such as"):
        as_bytes(wrong)
