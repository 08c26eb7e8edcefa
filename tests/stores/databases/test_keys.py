"""Listing an ordered index by jumps."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator

from hypothesis import given
from hypothesis import strategies as st

from omnizarr.model.paths import is_key
from omnizarr.model.store import listing_of
from omnizarr.stores.databases.keys import beyond, listing_by_jumps

NAMES = st.text(alphabet="ab-./0", min_size=1, max_size=6)


class Index:
    def __init__(self, keys: set[str]) -> None:
        self.keys = sorted(keys)
        self.read = 0

    def seek(self, start: str) -> Iterator[str]:
        for key in self.keys[bisect_left(self.keys, start) :]:
            self.read += 1
            yield key


@given(st.sets(NAMES, max_size=20))
def test_jumps_find_what_a_walk_finds(keys: set[str]) -> None:
    valid = [key for key in keys if is_key(key)]
    prefixes = {key[: at + 1] for key in valid for at in range(len(key)) if key[at] == "/"}
    for prefix in {"", "a/", *prefixes}:
        assert listing_by_jumps(Index(keys).seek, prefix) == listing_of(valid, prefix)


def test_what_lies_below_is_not_read() -> None:
    index = Index({f"{a}/c/{i}" for a in "xyz" for i in range(1000)} | {"zarr.json"})
    assert listing_by_jumps(index.seek, "") == (["zarr.json"], ["x/", "y/", "z/"])
    assert index.read < 10


def test_beyond() -> None:
    assert "a/" < "a/\U0010ffff" < beyond("a/") < "a1"
