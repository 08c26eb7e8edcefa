"""Axes behind a transpose, and the chunks of a shard in the array's own axes."""

from __future__ import annotations

from typing import Any

import pytest

from omnizarr.errors import MetadataError
from omnizarr.model.axes import inner_chunks, permutation, rank_behind
from omnizarr.model.codec import CodecSpec


def transpose(order: Any) -> CodecSpec:
    return CodecSpec("transpose", {"order": order})


SHARD = CodecSpec("sharding_indexed", {"chunk_shape": [2, 3, 5]})


@pytest.mark.parametrize(
    "order",
    [None, 3, {}, "X", "", [0], [0, 0], [0, 2], [1, 0, 2], [-1, 0], [True, False], [0.0, 1.0],
     ["0", "1"], [[0], [1]], [0, None], [2**70, 0]],
)  # fmt: skip
def test_what_is_no_permutation_is_refused(order: Any) -> None:
    with pytest.raises(MetadataError, match="transpose"):
        permutation(order, 2)


def test_letters_are_permutations_too() -> None:
    assert permutation("C", 2) == (0, 1)
    assert permutation("F", 2) == permutation([1, 0], 2) == (1, 0)
    assert permutation([], 0) == permutation("F", 0) == ()


def test_inner_chunks_are_in_the_axes_of_the_array() -> None:
    assert inner_chunks([SHARD], 3) == (2, 3, 5)
    assert inner_chunks([transpose([2, 0, 1]), SHARD], 3) == (3, 5, 2)
    assert inner_chunks([transpose([2, 0, 1]), transpose("F"), SHARD], 3) == (3, 2, 5)


def test_a_chunk_with_other_axes_has_no_inner_chunks_of_the_array() -> None:
    reshape = CodecSpec("reshape", {"shape": [[0], [1], 1]})
    assert inner_chunks([reshape, SHARD], 2) is None
    assert inner_chunks([transpose([0, 1, 2]), SHARD], 2) is None
    assert rank_behind(reshape, 2) == 3
    assert rank_behind(transpose([1, 0]), 2) == 2
    assert rank_behind(CodecSpec("numcodecs.packbits"), 2) is None
