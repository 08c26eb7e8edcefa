"""Changing the format in place: documents beside documents, chunks where they are."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import omnizarr as zarr
from omnizarr.errors import NodeExistsError, NodeNotFoundError, UnsupportedError
from omnizarr.jobs.conversion.plan import JOURNAL
from omnizarr.testing import CountingStore, FaultStore
from tests.jobs.conversion.support import described, facts, hierarchy, values_of

OLD = (".zarray", ".zgroup", ".zattrs", ".zmetadata")


def chunks_of(store: zarr.Store) -> dict[str, bytes]:
    documents = (*OLD, "zarr.json", "meta", "attrs", JOURNAL)
    found = values_of(store).items()
    return {key: value for key, value in found if key.rpartition("/")[2] not in documents}


def test_from_2_to_3() -> None:
    store = CountingStore(zarr.MemoryStore())
    before = hierarchy(store)
    kept = values_of(store)
    store.reset()
    done = zarr.convert(store, zarr_format=3)
    assert {row.action for row in done.nodes} == {"group", "metadata"}
    assert all(key.endswith(("zarr.json", JOURNAL)) for key in store.asked["set"])
    assert {key: value for key, value in values_of(store).items() if key in kept} == kept
    assert zarr.open_group(store, mode="r").zarr_format == 3
    assert described(store) == before
    assert described(store, zarr_format=2) == before
    assert JOURNAL not in store


@pytest.mark.parametrize("dry_run", [True, False])
def test_the_report_says_that_no_chunk_was_read(dry_run: bool) -> None:
    store = zarr.MemoryStore()
    zarr.create_array(store, name="a", data=[1, 2], zarr_format=2, compressor={"id": "gzip"})
    done = zarr.convert(store, zarr_format=3, dry_run=dry_run)
    assert [any("verify" in note for note in row.notes) for row in done.nodes] == [False, True]
    assert "no chunk was read" in str(done) and "verify" in done.to_dict()["nodes"][1]["notes"][-1]


def test_removing_the_old_documents() -> None:
    store = zarr.MemoryStore()
    before = hierarchy(store)
    zarr.consolidate_metadata(store)
    kept = chunks_of(store)
    zarr.convert(store, zarr_format=3, remove_source=True)
    assert not any(key.endswith(OLD) for key in store)
    assert chunks_of(store) == kept
    assert described(store) == before
    assert zarr.open_consolidated(store).zarr_format == 3


def test_removing_them_later() -> None:
    store = zarr.MemoryStore()
    before = hierarchy(store)
    zarr.convert(store, zarr_format=3)
    zarr.convert(store, zarr_format=3, remove_source=True)
    assert not any(key.endswith(OLD) for key in store)
    assert described(store) == before
    # Once more there is nothing left to do.
    assert zarr.convert(store, zarr_format=3, remove_source=True).nodes == ()


def test_from_3_to_2_where_keys_allow_it() -> None:
    store = zarr.MemoryStore()
    root = zarr.open_group(store, mode="w", attributes={"a": 1})
    data = np.arange(12, dtype="<i4").reshape(3, 4)
    root.create_array(
        "x", data=data, chunks=(2, 2), chunk_key_encoding=("v2", "."), compressors="zstd"
    )
    before = described(store)
    zarr.convert(store, zarr_format=2)
    assert zarr.open_group(store, mode="r").zarr_format == 3  # the newer one is what opens
    zarr.convert(store, zarr_format=2, remove_source=True)
    assert zarr.open_group(store, mode="r").zarr_format == 2
    assert described(store) == before
    assert sorted(store) == [
        ".zattrs",
        ".zgroup",
        "x/.zarray",
        *(f"x/{i}.{j}" for i in (0, 1) for j in (0, 1)),
    ]


@pytest.mark.parametrize("target", [2, 3])
@pytest.mark.parametrize("order", "CF")
@pytest.mark.parametrize("compressor", [zarr.Blosc("lz4"), zarr.Zlib(1), None])
def test_from_1(target: int, order: Any, compressor: Any) -> None:
    store = zarr.MemoryStore()
    data = np.arange(30, dtype="<f4").reshape(5, 6)
    options = {"compressor": compressor, "order": order, "fill_value": np.nan}
    array = zarr.create_array(
        store, shape=(5, 6), dtype="<f4", chunks=(2, 4), zarr_format=1, **options
    )
    array[:3] = data[:3]
    array.attrs["units"] = "m"
    before = facts(array)
    zarr.convert(store, zarr_format=target, remove_source=True)
    migrated = zarr.open_array(store, mode="r")
    assert migrated.zarr_format == target
    assert facts(migrated) == before
    assert "meta" not in store
    assert "attrs" not in store


def test_nested_keys_without_a_marker() -> None:
    """Without the member, format 2 may be nested or not; format 3 must say which."""
    store = zarr.MemoryStore()
    data = np.arange(16).reshape(4, 4)
    zarr.create_array(store, data=data, chunks=(2, 2), zarr_format=2)
    for i in range(2):
        for j in range(2):
            store.set(f"{i}/{j}", store[f"{i}.{j}"])
            store.delete(f"{i}.{j}")
    zarr.convert(store, zarr_format=3, remove_source=True)
    assert json.loads(store["zarr.json"])["chunk_key_encoding"]["configuration"]["separator"] == "/"
    assert np.array_equal(zarr.open_array(store)[...], data)
    mixed = zarr.MemoryStore()
    zarr.create_array(mixed, data=data, chunks=(2, 2), zarr_format=2)
    mixed.set("0/1", mixed["0.1"])
    mixed.delete("0.1")
    with pytest.raises(UnsupportedError, match="spelled in two ways"):
        zarr.convert(mixed, zarr_format=3)


@pytest.mark.parametrize(
    ("source", "target", "options", "message"),
    [
        (3, 2, {}, "under other keys"),
        (3, 2, {"shards": (8,), "chunk_key_encoding": ("v2", ".")}, "shards"),
        (2, 1, {}, "format 1"),
        (2, "3-draft2019", {}, "under other keys"),
        (2, 3, {"filters": [zarr.Categorize(["a"], "U1")]}, "categorize"),
        (2, "n5", {}, "not what format n5 would store"),
    ],
)
def test_what_cannot_stay_is_refused(source: Any, target: Any, options: Any, message: str) -> None:
    store = zarr.MemoryStore()
    data = np.array(["a"] * 8) if "filters" in options else np.arange(8)
    arguments = {"compressors": "gzip" if source == 2 else "zstd", **options}
    zarr.create_array(store, data=data, chunks=4, zarr_format=source, **arguments)
    before = values_of(store)
    with pytest.raises(UnsupportedError, match=message):
        zarr.convert(store, zarr_format=target)
    assert values_of(store) == before


def test_options_that_need_a_destination() -> None:
    store = zarr.MemoryStore()
    hierarchy(store)
    for options in ({"reencode": True}, {"drop": "groups"}, {"chunks": 4}, {"compressors": None}):
        with pytest.raises(UnsupportedError, match="need a destination"):
            zarr.convert(store, zarr_format=3, **options)


def test_documents_that_say_something_else_are_not_replaced() -> None:
    store = zarr.MemoryStore()
    hierarchy(store)
    zarr.convert(store, zarr_format=3)
    zarr.open_group(store).attrs["title"] = "changed in format 3"
    before = values_of(store)
    for options in ({}, {"remove_source": True}, {"dry_run": True}):
        with pytest.raises(NodeExistsError, match="in attributes"):
            zarr.convert(store, zarr_format=3, **options)
        assert values_of(store) == before
    zarr.convert(store, zarr_format=3, overwrite=True)
    assert zarr.open_group(store, mode="r").attrs["title"] == "all"


def test_a_part_of_a_hierarchy_and_a_dry_run(capsys: pytest.CaptureFixture[str]) -> None:
    store = zarr.MemoryStore()
    hierarchy(store)
    before = values_of(store)
    planned = zarr.convert(store, path="inner", zarr_format=3, dry_run=True)
    assert "metadata" in capsys.readouterr().out
    assert values_of(store) == before
    done = zarr.convert(zarr.open_group(store)["inner"], zarr_format=3)
    assert [row.path for row in done.nodes] == [row.path for row in planned.nodes] == ["", "sparse"]
    assert set(store) - set(before) == {"inner/zarr.json", "inner/sparse/zarr.json"}


def test_nothing_to_migrate(tmp_path: Path) -> None:
    with pytest.raises(NodeNotFoundError):
        zarr.convert(tmp_path / "none", zarr_format=3)
    store = zarr.MemoryStore()
    hierarchy(store, 3)
    before = values_of(store)
    assert zarr.convert(store, zarr_format=3).nodes == ()
    assert values_of(store) == before


@pytest.mark.slow
@pytest.mark.parametrize(("source", "target"), [(2, 3), (3, 2)])
def test_a_fault_at_every_call(source: int, target: int) -> None:
    """Whatever fails, one of the two hierarchies is whole, and the same call goes on."""
    original = zarr.MemoryStore()
    root = zarr.open_group(original, mode="w", zarr_format=source, attributes={"a": 1})
    keys = {"chunk_key_encoding": ("v2", ".")} if source == 3 else {}
    for path in ("x", "y/z"):
        root.create_array(
            path, data=np.arange(6, dtype="<i4"), chunks=4, compressors="zstd",
            attributes={"k": path}, **keys,
        )  # fmt: skip
    zarr.consolidate_metadata(original)
    before = described(original)
    expected = zarr.MemoryStore(dict(values_of(original)))
    zarr.convert(expected, zarr_format=target, remove_source=True)
    assert described(expected) == before
    stops = 0
    for at in range(1, 1000):
        inside = zarr.MemoryStore(dict(values_of(original)))
        store = FaultStore(inside)
        store.fail("*", OSError("stop"), at=at)
        try:
            zarr.convert(store, zarr_format=target, remove_source=True)
        except OSError:
            stops += 1
        else:
            break
        assert described(inside) == before, f"stopped at call {at}"
        zarr.convert(inside, zarr_format=target, remove_source=True)
        assert values_of(inside) == values_of(expected), f"stopped at call {at}"
    assert stops > 60


def test_a_journal_cannot_have_other_values_removed() -> None:
    store = zarr.MemoryStore()
    hierarchy(store, 3)
    before = values_of(store)
    pending = {"target": 3, "keys": ["big/c/0/0", "zarr.json", "../x", "inner/sparse/zarr.json"]}
    document = {
        "omnizarr_journal": 1, "job": "migrate", "fingerprint": "", "done": {},
        "facts": {"remove": pending},
    }  # fmt: skip
    store.set(JOURNAL, json.dumps(document).encode())
    zarr.convert(store, zarr_format=3, remove_source=True)
    assert values_of(store) == before


def test_an_unfinished_conversion_is_not_migrated() -> None:
    store, out = zarr.MemoryStore(), zarr.MemoryStore()
    hierarchy(store)
    zarr.convert(store, out, zarr_format=2)
    out.set(JOURNAL, b"{}")
    with pytest.raises(NodeExistsError, match="finish it first"):
        zarr.convert(out, zarr_format=3)
