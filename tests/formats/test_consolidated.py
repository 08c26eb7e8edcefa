"""Consolidated metadata of every format that has it: taking a member out."""

from __future__ import annotations

import pytest

import omnizarr
from omnizarr import formats


@pytest.mark.parametrize("name", [2, 3, "3-draft2020-10"])
def test_a_member_is_taken_out_with_all_that_is_below_it(name: int | str) -> None:
    store = omnizarr.MemoryStore()
    root = omnizarr.create_group(store, zarr_format=name, attributes={"x": 1})
    for path in ("a/b", "ab", "a.array", "c"):
        root.create_array(path, shape=2, dtype="i4")
    omnizarr.consolidate_metadata(store)
    chosen = formats.get_format(name)
    assert formats.without_member(chosen, store, "", "d") == {}
    for member in ("a", "c"):
        for key, document in formats.without_member(chosen, store, "", member).items():
            store.set(key, document)
    group = omnizarr.open_consolidated(store)
    assert [path for path, _ in group.members(None)] == ["a.array", "ab"]
    assert dict(group.attrs) == {"x": 1}
    assert sorted(omnizarr.open_group(store)) == ["a", "a.array", "ab", "c"]


def test_without_consolidated_metadata_there_is_nothing_to_take_out() -> None:
    for name in (1, 2, 3, "n5"):
        store = omnizarr.MemoryStore()
        omnizarr.save_array(store, [1, 2], zarr_format=name)
        assert formats.without_member(formats.get_format(name), store, "", "a") == {}
