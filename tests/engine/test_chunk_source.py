"""What a chunk takes in memory is bounded, and too little memory is an error of ours."""

from __future__ import annotations

import pytest

import omnizarr
from omnizarr.errors import LimitError


def test_a_chunk_that_memory_does_not_hold() -> None:
    array = omnizarr.create_array({}, shape=4, chunks=4, dtype="i1")
    with pytest.raises(LimitError, match="max_chunk_bytes"):
        array._source.new_chunk((2**55,))
    with (
        omnizarr.limits.override(max_chunk_bytes=2**60),
        pytest.raises(LimitError, match="more than there is"),
    ):
        array._source.new_chunk((2**55,))
