"""Finding a node whatever its format, in few batches of reads, and saying what is not there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from omnizarr.errors import MetadataError
from omnizarr.formats import every_format, explain_missing, find, get_format, read
from omnizarr.formats.base import ArrayRequest, Format
from omnizarr.model.array import GroupModel
from omnizarr.model.dtypes import from_numpy
from omnizarr.model.store import Buffer, ByteRange
from omnizarr.stores import MemoryStore
from omnizarr.testing import CountingStore


class Counting(MemoryStore):
    batches = 0

    def get_many(self, requests: Sequence[tuple[str, ByteRange | None]]) -> list[Buffer | None]:
        self.batches += 1
        return super().get_many(requests)


def group_of(name: int, path: str, **attributes: Any) -> dict[str, bytes]:
    chosen = get_format(name)
    return chosen.documents(path, chosen.new_group(attributes))


def store_with(*documents: dict[str, bytes]) -> Counting:
    store = Counting()
    for group in documents:
        for key, data in group.items():
            store.set(key, data)
    return store


@pytest.mark.parametrize("name", [2, 3])
@pytest.mark.parametrize("path", ["", "a/b"])
def test_found_in_a_batch_or_two(name: int, path: str) -> None:
    store = store_with(group_of(name, path, x=1))
    found = find(store, path)
    assert found is not None
    assert found[0].name == name
    assert isinstance(found[1], GroupModel)
    assert found[1].attributes == {"x": 1}
    assert store.batches == (1 if name == 3 else 2)


def test_the_newer_format_is_preferred() -> None:
    store = store_with(group_of(2, "", which=2), group_of(3, "", which=3))
    found = find(store, "")
    assert found is not None
    assert found[1].attributes == {"which": 3}
    older = read(get_format(2), store, "")
    assert older is not None
    assert older.attributes == {"which": 2}


def test_nothing_found() -> None:
    assert find(store_with(), "") is None
    assert find(store_with({".zattrs": b"{}"}), "") is None
    assert read(get_format(3), store_with(group_of(2, "")), "") is None


def test_errors_say_where() -> None:
    store = store_with({"a/zarr.json": b'{"zarr_format": 3}'})
    with pytest.raises(MetadataError) as caught:
        find(store, "a")
    assert str(caught.value) == f"{store!r}, key 'a/zarr.json': the member 'node_type' is missing"


@pytest.mark.parametrize("name", [2, "2", "v2"])
def test_names(name: Any) -> None:
    assert get_format(name).name == 2


@pytest.mark.parametrize("name", [4, "x", None, True, 2.0, "vv3", ""])
def test_unknown_names(name: Any) -> None:
    with pytest.raises(MetadataError, match="known are 0, 1, 2, 3, '3-draft2019'"):
        get_format(name)


def test_formats_are_ordered() -> None:
    drafts = ["3-draft2019", "3-draft2020-09", "3-draft2020-10"]
    assert [known.name for known in every_format()] == [3, 2, 0, 1, *drafts, "n5"]


@pytest.mark.parametrize("chosen", every_format(), ids=lambda chosen: str(chosen.name))
@pytest.mark.parametrize("path", ["", "a/b"])
def test_detection_is_cheap(chosen: Format, path: str) -> None:
    """A handful of look-ups, and no listing, for an array of any format."""
    store = CountingStore(MemoryStore())
    request = ArrayRequest((4,), from_numpy(np.dtype("i4")), (2,))
    documents = chosen.documents(path, chosen.new_array(request))
    for key, data in (chosen.parent_documents("") | documents).items():
        store.set(key, data)
    store.reset()
    found = find(store, path)
    assert found is not None
    assert found[0].name == chosen.name
    assert set(store.asked) == {"get"}
    assert len(store.asked["get"]) <= 11


def test_what_is_missing_is_explained() -> None:
    empty = explain_missing(store_with(), "a")
    assert "'a/zarr.json'" in empty
    assert "'a/.zarray'" in empty
    assert "no such key" in empty
    other = explain_missing(store_with({"a/data.txt": b"", "a/b/c": b""}), "a")
    assert "found a/b/, a/data.txt" in other
    stray = explain_missing(store_with({".zattrs": b"{}"}), "")
    assert "found .zattrs" in stray
    many = explain_missing(store_with({f"k{i}": b"" for i in range(20)}), "")
    assert "and 12 more" in many
