"""What went wrong once, or could: unrelated files, vanishing sources, overlapping places, hints."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import omnizarr as zarr
from omnizarr import limits
from omnizarr.errors import (
    MetadataError,
    NodeExistsError,
    NodeNotFoundError,
    StoreError,
    UnsupportedError,
)
from omnizarr.jobs import Progress, journal
from omnizarr.jobs.conversion.plan import JOURNAL
from omnizarr.testing import CountingStore, FaultStore
from tests.jobs.conversion.support import described, hierarchy, values_of

pytestmark = pytest.mark.slow


def interrupt(source: Any, out: zarr.Store, at: int = 6, **options: Any) -> None:
    faulty = FaultStore(out)
    faulty.fail("set", OSError("stop"), at=at)
    with pytest.raises(OSError, match="stop"):
        zarr.convert(source, faulty, workers=1, **options)


def sample(store: Any, zarr_format: int | str = 2) -> dict[str, Any]:
    """Two arrays of several chunks, one of them in a group."""
    root = zarr.open_group(store, mode="w", zarr_format=zarr_format, attributes={"t": 1})
    for path in ("a", "g/b"):
        root.create_array(path, data=np.arange(30), chunks=4)
    return described(store)


# -- what is not the conversion's own stays -------------------------------------------------------

UNRELATED = {
    "thesis.txt": b"years",
    "photos/p.jpg": b"faces",
    "other.zarr/x/0": b"foreign",
    "a/notes": b"beside chunks",
    "g/b/c/readme": b"among chunks",
}


@pytest.mark.parametrize("at", range(2, 22, 3))
@pytest.mark.parametrize("options", [{}, {"drop": "groups"}], ids=["groups", "arrays"])
def test_beginning_anew_leaves_what_is_not_its_own(at: int, options: dict[str, Any]) -> None:
    source, out, clean = zarr.MemoryStore(), zarr.MemoryStore(dict(UNRELATED)), zarr.MemoryStore()
    sample(source, 3)
    target = 1 if options else 3
    options = {"zarr_format": target, "compressors": [zarr.Zlib(1)], **options}
    zarr.convert(source, clean, **options)
    interrupt(source, out, at, **options)
    zarr.convert(source, out, resume=False, **options)
    assert values_of(out) == {**UNRELATED, **values_of(clean)}


@pytest.mark.parametrize("again", [{"resume": False}, {"overwrite": True}])
def test_another_conversion_leaves_what_is_not_the_first_ones(again: dict[str, Any]) -> None:
    source, other, clean = zarr.MemoryStore(), zarr.MemoryStore(), zarr.MemoryStore()
    sample(source)
    zarr.open_group(other, mode="w").create_array("only", data=np.arange(4))
    zarr.convert(other, clean, zarr_format=2)
    for at in range(2, 22, 2):
        out = zarr.MemoryStore(dict(UNRELATED))
        interrupt(source, out, at, zarr_format=3)
        zarr.convert(other, out, zarr_format=2, **again)
        assert values_of(out) == {**UNRELATED, **values_of(clean)}, f"stopped at {at}"


def test_beginning_anew_can_be_interrupted_too() -> None:
    source, clean = zarr.MemoryStore(), zarr.MemoryStore()
    sample(source)
    zarr.convert(source, clean, zarr_format=3)
    for at in range(1, 400):
        out = zarr.MemoryStore(dict(UNRELATED))
        interrupt(source, out, 8, zarr_format=3)
        faulty = FaultStore(out)
        faulty.fail("*", OSError("again"), at=at)
        try:
            zarr.convert(source, faulty, zarr_format=3, resume=False, workers=1)
        except OSError:
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(journal, "SECONDS", 0.0)
                zarr.convert(source, out, zarr_format=3, resume=False)
        else:
            assert at > 30
            break
        assert values_of(out) == {**UNRELATED, **values_of(clean)}, f"stopped at call {at}"


@pytest.mark.parametrize("text", [b"garbage", b"{}", b'{"omnizarr_journal": 1, "job": "other"}'])
def test_a_journal_that_is_none_is_no_licence(text: bytes) -> None:
    source = zarr.MemoryStore()
    sample(source)
    before = {**UNRELATED, JOURNAL: text}
    out = zarr.MemoryStore(dict(before))
    for options in ({}, {"resume": False}, {"dry_run": True}):
        with pytest.raises(NodeExistsError, match="overwrite=True"):
            zarr.convert(source, out, zarr_format=3, **options)
        assert values_of(out) == before
    zarr.convert(source, out, zarr_format=3, overwrite=True)
    assert UNRELATED.items() <= values_of(out).items()
    assert JOURNAL not in out


def test_documents_that_would_become_the_new_nodes() -> None:
    source = zarr.MemoryStore()
    sample(source)
    for key in (".zattrs", "g/.zattrs", ".zmetadata", "a/.zattrs"):
        out = zarr.MemoryStore({key: b'{"stray": 1}'})
        with pytest.raises(NodeExistsError, match="overwrite=True"):
            zarr.convert(source, out, zarr_format=2)
        zarr.convert(source, out, zarr_format=2, overwrite=True)
        assert described(out) == described(source)
        assert key not in out or b"stray" not in out[key]


DAMAGES: list[Callable[[dict[str, Any]], Any]] = [
    lambda document: document.update(done={"/a": [[0, 10**30]]}),
    lambda document: document.update(done=[1]),
    lambda document: document.update(facts=[1]),
    lambda document: document["facts"].update(writes=5),
    lambda document: document["facts"].update(writes=[["3", "../x"]]),
    lambda document: document["facts"].update(writes=[[3, "a", 1, "v2", "x", None]]),
    lambda document: document["facts"].update(writes=[[3, "a", 0, "v2", ".", "thesis.txt"]]),
    lambda document: document["facts"].update(writes=[[3, "a", 10**9, "v2", ".", None]]),
    lambda document: document["facts"].update(replaces=["x"]),
    lambda document: document["facts"].update(replaces=[[5, 3]]),
    lambda document: document["facts"].update(replaces=[["x", 5]]),
    lambda document: document["facts"].update(replaces=[["../x", 3]]),
]


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_journal_is_an_error(damage: Callable[[dict[str, Any]], Any]) -> None:
    source, out = zarr.MemoryStore(), zarr.MemoryStore(dict(UNRELATED))
    sample(source)
    interrupt(source, out, zarr_format=3)
    document = json.loads(out[JOURNAL])
    damage(document)
    out.set(JOURNAL, json.dumps(document).encode())
    before = values_of(out)
    with pytest.raises(MetadataError, match=r"journal is damaged.*overwrite=True"):
        zarr.convert(source, out, zarr_format=3)
    assert values_of(out) == before
    zarr.convert(source, out, zarr_format=3, overwrite=True)
    assert described(out) == described(source)
    assert UNRELATED.items() <= values_of(out).items()


# -- a source that changes meanwhile --------------------------------------------------------------


class Vanishing(zarr.stores.WrapperStore):
    """A store some of whose values are gone after a number of reads."""

    left = 1 << 30
    gone = ""

    def _is_gone(self, key: str) -> bool:
        return self.left <= 0 and key.startswith(self.gone)

    def get(self, key: str, byte_range: Any = None) -> Any:
        self.left -= 1
        return None if self._is_gone(key) else super().get(key, byte_range)

    def get_many(self, requests: Any) -> list[Any]:
        return [self.get(key, byte_range) for key, byte_range in requests]

    def snapshot(self, key: str) -> Any:
        return zarr.Store.snapshot(self, key)

    def list_prefix(self, prefix: str) -> Iterator[str]:
        return (key for key in super().list_prefix(prefix) if not self._is_gone(key))


MANNERS: list[dict[str, Any]] = [
    {},
    {"compressors": "gzip"},
    {"chunks": 7},
    {"shards": 8},
    {"drop": "fill_value", "zarr_format": "n5"},
]


@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize("manner", MANNERS, ids=["copy", "same", "chunks", "shards", "everything"])
def test_chunks_that_vanish(manner: dict[str, Any], workers: int) -> None:
    """Whenever it happens, fill values do not take their place, and a resumed run mends it."""
    inside, expected = zarr.MemoryStore(), zarr.MemoryStore()
    options = {"zarr_format": 3, "workers": workers, **manner}
    root = zarr.open_group(inside, mode="w", zarr_format=2)
    codec = zarr.GZip(1)
    array = root.create_array("x", shape=400, dtype="i4", chunks=4, fill_value=9, compressor=codec)
    array[:200] = np.arange(200) + 10
    zarr.convert(inside, expected, **options)
    stops = 0
    for left in range(2, 60, 5):
        for gone in ("x/", "x/3"):
            store, out = Vanishing(inside), zarr.MemoryStore()
            store.gone = gone
            # Planning reads, too: what is gone before anything was planned is not there at all.
            heard: list[Progress] = []

            def count(progress: Progress, store: Vanishing = store, heard: Any = heard) -> None:
                heard.append(progress)
                store.left = min(store.left, left)  # noqa: B023 - it is called at once

            store.left = 1 << 30
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(journal, "SECONDS", 0.0)
                patch.setattr("omnizarr.jobs.conversion.chunks.TASK_BYTES", 64)
                patch.setattr("omnizarr.jobs.rechunking.planner.TASK", 0)
                try:
                    zarr.convert(store, out, progress=count, **options)
                except (StoreError, NodeNotFoundError) as error:
                    assert "source changed" in str(error)
                    stops += 1
                    zarr.convert(inside, out, **options)
            assert described(out) == described(expected)
    assert stops > 2


@pytest.mark.parametrize("manner", MANNERS[:3], ids=["copy", "same", "chunks"])
@pytest.mark.parametrize("what", ["chunk", "folder"])
def test_chunks_that_vanish_between_planning_and_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, manner: dict[str, Any], what: str
) -> None:
    module = sys.modules["omnizarr.jobs.conversion.execution"]
    sample(tmp_path / "in")
    began = module.start

    def start(*arguments: Any) -> Any:
        if what == "chunk":
            (tmp_path / "in" / "a" / "3").unlink()
        else:
            shutil.rmtree(tmp_path / "in")
        return began(*arguments)

    monkeypatch.setattr(module, "start", start)
    with pytest.raises(StoreError, match="source changed"):
        zarr.convert(tmp_path / "in", tmp_path / "out", zarr_format=3, **manner)
    with pytest.raises(NodeNotFoundError):
        zarr.open(tmp_path / "out", mode="r")


def test_chunks_of_another_size_are_another_source(tmp_path: Path) -> None:
    for store in (zarr.MemoryStore(), zarr.LocalStore(tmp_path / "in")):
        sample(store)
        out = zarr.MemoryStore()
        interrupt(store, out, zarr_format=3)
        store.set("g/b/1", b"longer than any chunk was" * 9)
        with pytest.raises(NodeExistsError, match="its source has changed"):
            zarr.convert(store, out, zarr_format=3)


# -- source and destination in each other's way ---------------------------------------------------


def refused(source: Any, destination: Any, **options: Any) -> None:
    with pytest.raises(StoreError, match="overlap"):
        zarr.convert(source, destination, zarr_format=3, overwrite=True, **options)


def test_links_into_the_destination(tmp_path: Path) -> None:
    before = sample(tmp_path / "s" / "a")
    sample(tmp_path / "d")
    (tmp_path / "d" / "link").symlink_to("../s/a")
    (tmp_path / "more").symlink_to("d/link")
    (tmp_path / "whole").symlink_to(tmp_path / "d")
    for source in ("d/link", "more", "whole/link"):
        for destination in ("d", "whole"):
            refused(tmp_path / source, tmp_path / destination)
    refused(tmp_path / "s/a", tmp_path / "d/link")
    refused(tmp_path / "s/a", tmp_path / "more" / "new")
    assert described(tmp_path / "d" / "link") == before
    zarr.convert(tmp_path / "more", tmp_path / "s" / "other", zarr_format=3)
    assert described(tmp_path / "s" / "other") == before


def test_a_store_of_chunks_alone(tmp_path: Path) -> None:
    chunks = zarr.LocalStore(tmp_path / "chunks")
    root = zarr.open_group(tmp_path / "meta", mode="w", zarr_format=2, chunk_store=chunks)
    root.create_array("a", data=np.arange(9), chunks=4)
    refused(root, tmp_path / "chunks")
    refused(root, chunks)
    refused(root["a"], tmp_path / "chunks" / "a")
    refused(root, tmp_path / "chunks" / "below")
    refused(root, tmp_path / "meta")
    assert np.array_equal(root["a"][...], np.arange(9))
    zarr.convert(root, tmp_path / "out", zarr_format=3)
    assert np.array_equal(zarr.open_array(tmp_path / "out", path="a")[...], np.arange(9))


def test_archives(tmp_path: Path) -> None:
    folder = tmp_path / "d"
    folder.mkdir()
    with zarr.ZipStore(folder / "s.zip", mode="w") as archive:
        before = sample(archive)
    os.link(folder / "s.zip", tmp_path / "hard.zip")
    (tmp_path / "soft.zip").symlink_to(folder / "s.zip")
    for source, destination in (
        ("d/s.zip", "hard.zip"),
        ("d/s.zip", "soft.zip"),
        ("d/s.zip", "d"),
        ("soft.zip", "d"),
    ):
        refused(str(tmp_path / source), str(tmp_path / destination))
    sample(tmp_path / "f")
    refused(str(tmp_path / "f"), str(tmp_path / "f" / "new.zip"))
    assert not (tmp_path / "f" / "new.zip").exists()
    zarr.convert(str(tmp_path / "d/s.zip"), str(tmp_path / "out.zip"), zarr_format=3)
    assert described(str(tmp_path / "out.zip")) == described(str(tmp_path / "d/s.zip")) == before


# -- documents that others take -------------------------------------------------------------------


def no_errors(store: Any) -> bool:
    return [found for found in zarr.check(store) if found.level == "error"] == []


@pytest.mark.parametrize("source", [2, "n5", "3-draft2020-10"])
@pytest.mark.parametrize("target", [2, 3, "3-draft2019", "3-draft2020-10"])
@pytest.mark.parametrize("codec", ["gzip", "zlib"])
def test_the_level_that_zlib_calls_minus_one(source: Any, target: Any, codec: str) -> None:
    store, out = zarr.MemoryStore(), zarr.MemoryStore()
    if source == "n5":
        compression = {"type": "gzip", "level": -1, "useZlib": codec == "zlib"}
        zarr.create_array(store, data=np.arange(9), chunks=4, zarr_format="n5", compressors="gzip")
        document = json.loads(store["attributes.json"])
        store.set("attributes.json", json.dumps({**document, "compression": compression}).encode())
        if codec == "zlib":
            for key in [key for key in store if key != "attributes.json"]:
                store.delete(key)
    else:
        compressor = zarr.GZip(1) if codec == "gzip" else zarr.Zlib(1)
        array = zarr.create_array(
            store, data=np.arange(9), chunks=4, zarr_format=source, compressors=[compressor]
        )
        key = ".zarray" if source == 2 else next(key for key in store if "array" in key)
        text = store[key].decode()
        assert '"level": 1' in text
        store.set(key, text.replace('"level": 1', '"level": -1').encode())
        assert np.array_equal(array[...], np.arange(9))
    if source == target:
        return
    done = zarr.convert(store, out, zarr_format=target)
    assert "-1" not in "".join(out[key].decode() for key in out if "zarr" in key or "array" in key)
    assert no_errors(out)
    if source != "n5":
        assert done.nodes[0].action == "copy chunks"
        assert np.array_equal(zarr.open_array(out)[...], np.arange(9))


def test_frames_are_not_said_to_have_a_checksum() -> None:
    for told in (None, False, True):
        store, out = zarr.MemoryStore(), zarr.MemoryStore()
        zarr.create_array(store, data=np.arange(9), chunks=4, zarr_format=2, compressor=zarr.Zstd())
        document = json.loads(store[".zarray"])
        document["compressor"] = {"id": "zstd", "level": 1}
        if told is not None:
            document["compressor"]["checksum"] = told
        store.set(".zarray", json.dumps(document).encode())
        done = zarr.convert(store, out, zarr_format=3)
        assert done.nodes[0].action == "copy chunks"
        codec = json.loads(out["zarr.json"])["codecs"][-1]
        assert codec["configuration"]["checksum"] is (told is True)


@pytest.mark.parametrize("kind", ["u2", "i4", "f8"])
def test_big_endian_data_behind_filters_that_name_types(kind: str, tmp_path: Path) -> None:
    import zarr as peer  # of the test environment

    data = (np.arange(40) ** 2).astype(f">{kind}")
    filters = [zarr.Delta(dtype=f">{kind}")]
    zarr.create_array(
        tmp_path / "in", data=data, chunks=9, zarr_format=2, filters=filters, compressor=zarr.GZip()
    )
    done = zarr.convert(tmp_path / "in", tmp_path / "out", zarr_format=3)
    assert done.nodes[0].action == "re-encode"
    assert np.array_equal(zarr.open_array(tmp_path / "out")[...], data)
    with pytest.warns(UserWarning, match="Numcodecs"):
        found = peer.open_array(tmp_path / "out", mode="r")[...]
    assert np.array_equal(found, data)


# -- nothing is lost without a word ---------------------------------------------------------------


def test_names_that_an_attribute_contradicts() -> None:
    store, out = zarr.MemoryStore(), zarr.MemoryStore()
    attributes = {"_ARRAY_DIMENSIONS": ["p"]}
    zarr.create_array(store, shape=3, dtype="i4", dimension_names=("x",), attributes=attributes)
    with pytest.raises(UnsupportedError, match="says something else"):
        zarr.convert(store, out, zarr_format=2)
    done = zarr.convert(store, out, zarr_format=2, drop="dimension_names")
    assert done.dropped == ("dimension_names",)
    assert "_ARRAY_DIMENSIONS" in done.nodes[0].notes[0]


def test_members_not_known_here_are_named() -> None:
    store = zarr.MemoryStore()
    root = zarr.open_group(store, mode="w")
    root.create_array("x", data=np.arange(4))
    zarr.consolidate_metadata(store)
    for key, name in (("zarr.json", "of_group"), ("x/zarr.json", "of_array")):
        document = {**json.loads(store[key]), name: {"must_understand": False}}
        store.set(key, json.dumps(document).encode())
    done = zarr.convert(store, {}, zarr_format=2, reencode=True)
    assert [row.notes[0] for row in done.nodes] == [
        "members not known here are left out: of_group",
        "members not known here are left out: of_array",
    ]
    assert "of_array" in zarr.convert(store, {}, zarr_format=3, chunks=3).nodes[1].notes[0]
    assert zarr.convert(store, {}, zarr_format=3).nodes[1].notes == ()


def test_an_attribute_that_repeats_the_names_stays_in_format_3() -> None:
    store = zarr.MemoryStore()
    attributes = {"_ARRAY_DIMENSIONS": ["x"], "u": 1}
    zarr.create_array(store, data=np.arange(4), dimension_names=("x",), attributes=attributes)
    for options in ({}, {"chunks": 3}):
        out = zarr.MemoryStore()
        zarr.convert(store, out, zarr_format=3, **options)
        assert json.loads(out["zarr.json"])["attributes"] == attributes
        assert zarr.open_array(out).dims == ("x",)


@pytest.mark.parametrize("zarr_format", [1, 2, 3, "3-draft2020-10", "n5"])
def test_names_stay_in_their_own_format_with_other_chunks(zarr_format: int | str) -> None:
    store, out = zarr.MemoryStore(), zarr.MemoryStore()
    zarr.create_array(store, data=np.arange(4), zarr_format=zarr_format, dimension_names=("x",))
    zarr.convert(store, out, zarr_format=zarr_format, chunks=3)
    assert zarr.open_array(out).dims == ("x",)


def test_no_fill_value_becomes_one() -> None:
    store = zarr.MemoryStore()
    zarr.create_array(store, shape=4, dtype="i4", fill_value=None, zarr_format=2)
    done = zarr.convert(store, {}, zarr_format=3)
    assert done.nodes[0].notes == ("no fill value: format 3 says 0",)
    assert zarr.convert(store, {}, zarr_format=2).nodes[0].notes == ()


# -- leaving nodes out ----------------------------------------------------------------------------


def stations(store: Any, zarr_format: int | str) -> None:
    root = zarr.open_group(store, mode="w", zarr_format=zarr_format)
    for path in ("stations/name", "stations/where.array", "stations/deep/x", "top"):
        root.create_array(path, data=np.arange(4), chunks=2, compressors="gzip")


@pytest.mark.parametrize("source", [2, 3, "3-draft2019", "3-draft2020-10", "n5"])
def test_exclude(source: int | str) -> None:
    store = zarr.MemoryStore()
    stations(store, source)
    for patterns, left in (
        ("stations", {"stations"}),
        (["/stations/name/"], {"stations/name"}),
        (["stations/*"], {"stations/name", "stations/where.array", "stations/deep"}),
        (["*/name", "top"], {"stations/name", "top"}),
        (["stations/where.array"], {"stations/where.array"}),
        (["*"], {"stations", "top"}),
    ):
        out = zarr.MemoryStore()
        done = zarr.convert(store, out, zarr_format=2, exclude=patterns, reencode=True)
        rows = {row.path: row for row in done.nodes if row.action == "left out"}
        assert set(rows) == left
        assert all(row.notes == ("excluded",) for row in rows.values())
        everything = {path for path, _ in zarr.open_group(store).members(max_depth=None)}
        gone = {path for path in everything if any(f"{path}/".startswith(f"{x}/") for x in left)}
        found = {path for path, _ in zarr.open_group(out).members(max_depth=None)}
        assert found == everything - gone


@pytest.mark.parametrize("source", [2, 3, "3-draft2019", "3-draft2020-10", "n5"])
def test_a_node_that_cannot_be_opened_and_is_excluded(source: int | str) -> None:
    store, out = zarr.MemoryStore(), zarr.MemoryStore()
    stations(store, source)
    ending = {2: "/.zarray", 3: "/zarr.json", "n5": "/attributes.json"}.get(source, ".array")
    key = next(key for key in store if f"stations/name{ending}" in key)
    store.set(key, store[key].replace(b'"', b"'") + b"broken")
    with pytest.raises(MetadataError):
        zarr.convert(store, {}, zarr_format=2, reencode=True)
    done = zarr.convert(store, out, zarr_format=2, exclude="stations/name", reencode=True)
    assert {row.path: row.kind for row in done.nodes}["stations/name"] == "unknown"
    assert "4 arrays" not in str(done)
    assert sorted(zarr.open_group(out)["stations"]) == ["deep", "where.array"]


def test_what_no_option_changes_can_be_excluded() -> None:
    store, out = zarr.MemoryStore(), zarr.MemoryStore()
    root = zarr.open_group(store, mode="w", zarr_format=2)
    root.create_array("ok", data=np.arange(4), compressor=zarr.GZip())
    root.create_array("stations/name", data=["a", "b"], dtype=str)
    with pytest.raises(UnsupportedError, match=r"exclude=\('stations/name',\) leaves it out"):
        zarr.convert(store, out, zarr_format="n5")
    zarr.convert(store, out, zarr_format="n5", exclude="stations/name")
    assert list(zarr.open_group(out)) == ["ok", "stations"]


def test_what_matches_nothing_is_misspelled() -> None:
    store = zarr.MemoryStore()
    sample(store)
    store.set("folder/thing", b"no node")
    for exclude in ("typo", ["a", "g/typo*"], "folder", "g/b/x", "a/0"):
        with pytest.raises(NodeNotFoundError, match="no node matches"):
            zarr.convert(store, {}, zarr_format=3, exclude=exclude)
    for options in ({"chunks": {"typo": 3}}, {"shards": {"g": 8}}, {"chunks": {"a": 2, "b": 2}}):
        with pytest.raises(NodeNotFoundError, match=r"(chunks|shards): no array is converted at"):
            zarr.convert(store, {}, zarr_format=3, **options)
    out = zarr.MemoryStore()
    zarr.convert(store, out, zarr_format=3, chunks={"g/b": 3})
    assert zarr.open_array(out, path="g/b").chunks == (3,)


def test_a_node_with_the_name_of_the_journal() -> None:
    store, out = zarr.MemoryStore(), zarr.MemoryStore()
    root = zarr.open_group(store, mode="w", zarr_format=2)
    root.create_array(JOURNAL, data=np.arange(4))
    root.create_array("x", data=np.arange(4))
    for destination in (out, None):
        with pytest.raises(UnsupportedError, match="as the journal of a conversion is") as refusal:
            zarr.convert(store, destination, zarr_format=3)
        assert refusal.value.what == "name"
    assert len(out) == 0
    zarr.convert(store, out, zarr_format=3, exclude=JOURNAL)
    assert list(zarr.open_group(out)) == ["x"]


# -- unpacking shards -----------------------------------------------------------------------------


@pytest.mark.parametrize("memory", [64 << 20, 100_000])
def test_shards_are_read_in_time_that_grows_with_them(
    memory: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "current", replace(limits.current, worker_bytes=memory))
    store, out = zarr.MemoryStore(), zarr.MemoryStore()
    data = np.arange(40_000, dtype="i4")
    zarr.create_array(store, data=data, chunks=10, shards=20_000, compressors=None)
    size = sum(len(value) for value in values_of(store).values())
    counting = CountingStore(store)
    done = zarr.convert(counting, out, zarr_format=2, reencode=True)
    # With little memory the index, here half as large as the data, is read for every region.
    assert done.nodes[0].bytes_read < 8 * size
    assert counting.counts["get"] < 100
    assert np.array_equal(zarr.open_array(out)[...], data)


# -- in place -------------------------------------------------------------------------------------


def test_in_place_the_way_out_is_a_destination() -> None:
    store = zarr.MemoryStore()
    root = zarr.open_group(store, mode="w")
    root.create_array("x", data=np.arange(8), chunks=2, shards=4, chunk_key_encoding=("v2", "."))
    with pytest.raises(UnsupportedError, match="give a destination, where reencode=True"):
        zarr.convert(store, zarr_format=2)
    with pytest.raises(UnsupportedError, match="need a destination"):
        zarr.convert(store, zarr_format=2, exclude="x")


def test_the_source_of_a_member_is_not_removed() -> None:
    store = zarr.MemoryStore()
    sample(store)
    before = values_of(store)
    for path in ("g", "g/b"):
        for options in ({}, {"dry_run": True}):
            with pytest.raises(UnsupportedError, match="remove_source would hide"):
                zarr.convert(store, path=path, zarr_format=3, remove_source=True, **options)
    assert values_of(store) == before
    zarr.convert(store, path="g", zarr_format=3)
    below = zarr.PrefixStore(store, "g")
    zarr.convert(below, zarr_format=3, remove_source=True)
    assert "g/.zgroup" not in store


def test_a_removal_that_was_interrupted_is_finished_without_being_asked_for_again() -> None:
    expected = zarr.MemoryStore()
    hierarchy(expected)
    original = values_of(expected)
    zarr.convert(expected, zarr_format=3, remove_source=True)
    for at in range(1, 8):
        store = zarr.MemoryStore(dict(original))
        faulty = FaultStore(store)
        faulty.fail("delete", OSError("stop"), at=at)
        with pytest.raises(OSError, match="stop"):
            zarr.convert(faulty, zarr_format=3, remove_source=True)
        before = values_of(store)
        planned = zarr.convert(store, zarr_format=3, dry_run=True)
        assert values_of(store) == before
        done = zarr.convert(store, zarr_format=3)
        assert done.resumed
        assert done.nodes == planned.nodes
        assert "removal" in done.nodes[0].notes[0]
        assert values_of(store) == values_of(expected)


@pytest.mark.parametrize("keys", [5, True, [["x"]], [7], {"a": 1}, None])
def test_a_damaged_journal_of_a_migration(keys: Any) -> None:
    store = zarr.MemoryStore()
    hierarchy(store, 3)
    document = {
        "omnizarr_journal": 1, "job": "migrate", "fingerprint": "", "done": {},
        "facts": {"remove": {"target": 3, "keys": keys}},
    }  # fmt: skip
    store.set(JOURNAL, json.dumps(document).encode())
    before = values_of(store)
    with pytest.raises(MetadataError, match="journal is damaged"):
        zarr.convert(store, zarr_format=3, remove_source=True)
    assert values_of(store) == before


def test_nodes_below_an_array_do_not_vanish_unsaid() -> None:
    store = zarr.MemoryStore()
    root = zarr.create_group(store, zarr_format="3-draft2020-10")
    root.create_array("x", data=np.arange(3))
    store["meta/root.array.json"] = store["meta/root/x.array.json"]  # as GDAL left it
    with pytest.raises(UnsupportedError, match=r"exclude=\('x',\)"):
        zarr.convert(store, zarr.MemoryStore(), zarr_format=3)
    done = zarr.convert(store, zarr.MemoryStore(), zarr_format=3, exclude=("x",))
    assert [row.action for row in done.nodes] == ["copy chunks", "left out"]
    assert zarr.convert(store, zarr.MemoryStore(), path="x", zarr_format=3).nodes[0].chunks == 1


@pytest.mark.parametrize("compressor", ["gzip", "zstd", "blosc"])
def test_a_codec_by_its_name_alone_has_the_options_that_are_asked_for(compressor: str) -> None:
    array = zarr.create_array({}, shape=4, dtype="i4", compressors=[compressor])
    assert not list(zarr.check(array.store))


def _interrupted(source: zarr.MemoryStore, **options: Any) -> zarr.MemoryStore:
    """A destination whose conversion stopped after some chunks, and says so in its journal."""
    there = zarr.MemoryStore()
    faulty = FaultStore(there)
    faulty.fail("set", OSError("full"), at=150)
    with pytest.raises(OSError, match="full"):
        zarr.convert(source, faulty, zarr_format=3, workers=1, **options)
    assert JOURNAL in there
    return there


def _many_chunks() -> zarr.MemoryStore:
    store = zarr.MemoryStore()
    root = zarr.create_group(store, zarr_format=2)
    root.create_array("a", data=np.arange(1, 1_200_001), chunks=(4_000,))
    return store


@pytest.mark.parametrize("options", [{}, {"chunks": 5_000}])
@pytest.mark.parametrize("lost", ["one", "all"])
def test_what_vanished_from_the_destination_is_written_again(
    options: dict[str, Any], lost: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal, "SECONDS", 0.0)
    source = _many_chunks()
    there = _interrupted(source, **options)
    assert json.loads(there[JOURNAL])["done"]["/a"]
    keys = [key for key in there if key != JOURNAL]
    for key in keys[:1] if lost == "one" else keys:
        del there[key]
    done = zarr.convert(source, there, zarr_format=3, **options)
    assert done.resumed
    assert np.array_equal(zarr.open_group(there)["a"][:], np.arange(1, 1_200_001))


def test_a_node_made_meanwhile_is_not_replaced() -> None:
    source = _many_chunks()
    there = _interrupted(source)
    zarr.create_group(there, zarr_format=3, attributes={"mine": 1})
    with pytest.raises(NodeExistsError, match="did not write"):
        zarr.convert(source, there, zarr_format=3)
    assert zarr.open_group(there).attrs["mine"] == 1


@pytest.mark.parametrize("codec", ["gzip", "zstd"])
def test_a_level_of_null_is_the_default(codec: str) -> None:
    store = zarr.MemoryStore()
    array = zarr.create_array(
        store, data=np.arange(5), zarr_format=2, compressor={"id": codec, "level": 1}
    )
    document = json.loads(store[".zarray"])
    document["compressor"]["level"] = None
    store[".zarray"] = json.dumps(document).encode()
    there = zarr.MemoryStore()
    zarr.convert(store, there, zarr_format=3)
    assert zarr.check(there).ok
    assert np.array_equal(zarr.open_array(there)[:], array[:])


@pytest.mark.parametrize("linked", ["source", "destination"])
def test_a_link_inside_a_hierarchy_leads_to_the_other(tmp_path: Path, linked: str) -> None:
    for name in ("s", "d"):
        zarr.create_group(tmp_path / name, zarr_format=2).create_array("a", data=np.arange(9))
    here, there = ("s", "d") if linked == "source" else ("d", "s")
    shutil.rmtree(tmp_path / here / "a")
    os.symlink(f"../{there}/a", tmp_path / here / "a")
    source = zarr.LocalStore(tmp_path / "s", follow_symlinks=True)
    target = zarr.LocalStore(tmp_path / "d", follow_symlinks=True)
    with pytest.raises(StoreError, match="overlap"):
        zarr.convert(source, target, zarr_format=3, overwrite=True)
    assert zarr.open_group(tmp_path / there)["a"][:].tolist() == list(range(9))
