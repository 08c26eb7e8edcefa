"""The drafts of v3 through the public interface: every layout, what they share and where they
differ."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import omnizarr as zarr
from omnizarr import formats
from omnizarr.errors import (
    ContainsArrayError,
    ContainsGroupError,
    MetadataError,
    NodeExistsError,
    NodeNotFoundError,
    UnknownExtensionError,
    UnsupportedError,
)
from omnizarr.formats.v3_drafts.document import DRAFTS
from omnizarr.model.store import Capabilities, Store
from omnizarr.stores import LocalStore, MemoryStore

A, B, C = NAMES = [str(draft.name) for draft in DRAFTS]
CORE = "https://purl.org/zarr/spec/protocol/core/3.0"
BOOTSTRAPS: dict[str, dict[str, Any]] = {
    A: {"zarr_format": CORE, "metadata_encoding": "application/json", "extensions": []},
    B: {"zarr_format": CORE, "metadata_encoding": CORE, "extensions": []},
    C: {
        "zarr_format": CORE,
        "metadata_encoding": CORE,
        "metadata_key_suffix": ".json",
        "extensions": [],
    },
}
SUFFIX = {A: "", B: "", C: ".json"}
DATA = {A: "data", B: "data/root", C: "data/root"}
every = pytest.mark.parametrize("name", NAMES)


def array_document(**members: Any) -> dict[str, Any]:
    return {
        "shape": [4],
        "data_type": "<i4",
        "chunk_grid": {"type": "regular", "chunk_shape": [2], "separator": "/"},
        "chunk_memory_layout": "C",
        "compressor": None,
        "fill_value": 0,
        "extensions": [],
        "attributes": {},
        **members,
    }


def stored(name: str, documents: dict[str, Any], bootstrap: dict[str, Any] | None = None) -> Store:
    """A store with the given documents, by their keys below `meta/root` without suffix."""
    store = MemoryStore()
    store["zarr.json"] = json.dumps(bootstrap or BOOTSTRAPS[name]).encode()
    for path, document in documents.items():
        store[f"meta/root{path}{SUFFIX[name]}"] = json.dumps(document).encode()
    return store


def opened(name: str, **members: Any) -> zarr.Array:
    return zarr.open_array(stored(name, {"/a.array": array_document(**members)}), path="a")


def document(store: Store, name: str, path: str) -> Any:
    return json.loads(store[f"meta/root{path}{SUFFIX[name]}"])


# -- detection ------------------------------------------------------------------------------------
@every
def test_a_layout_is_known_by_its_bootstrap(name: str) -> None:
    found = formats.find(stored(name, {}), "")
    assert found is not None
    assert found[0].name == name


@every
def test_one_layout_asked_for_by_name(name: str) -> None:
    store = stored(name, {})
    for other in NAMES:
        if other == name:
            assert zarr.open_group(store, zarr_format=other, mode="r").metadata.zarr_format == name
        else:
            with pytest.raises(NodeNotFoundError):
                zarr.open_group(store, zarr_format=other, mode="r")


@every
def test_a_document_of_another_kind_is_no_bootstrap(name: str) -> None:
    store = stored(name, {}, {**BOOTSTRAPS[name], "zarr_format": "three"})
    with pytest.raises(NodeNotFoundError, match=r"found zarr\.json, which describe no node"):
        zarr.open(store, mode="r")
    with pytest.raises(NodeExistsError, match="describes no node of a format known here"):
        zarr.open_group(dict(store.items()), mode="a")


@pytest.mark.parametrize(
    ("member", "value", "error", "text"),
    [
        ("zarr_format", "https://purl.org/zarr/spec/protocol/core/4.0", MetadataError, "version 4"),
        ("metadata_encoding", "application/cbor", UnsupportedError, "JSON only"),
        ("metadata_encoding", {"type": "json"}, UnsupportedError, "JSON only"),
        ("metadata_encoding", None, UnsupportedError, "JSON only"),
        ("extensions", {}, MetadataError, "must be a list"),
        ("extensions", ["x"], MetadataError, "'extension' URI"),
        ("extensions", [{"extension": "u:x"}], UnknownExtensionError, "u:x"),
        (
            "extensions",
            [{"extension": "u:x", "must_understand": 0}],
            MetadataError,
            "must_understand",
        ),
    ],
)
@every
def test_a_bootstrap_that_cannot_be_honoured(
    name: str, member: str, value: Any, error: type[Exception], text: str
) -> None:
    store = stored(name, {}, {**BOOTSTRAPS[name], member: value})
    for path in ("", "a/b"):
        with pytest.raises(error, match=f"key 'zarr.json'.*{text}"):
            zarr.open(store, path=path, mode="r")


@pytest.mark.parametrize("suffix", ["/x", "../x", "\\x", "\0", None, 5, "x" * 33, "é"])
def test_a_suffix_that_could_escape(suffix: Any) -> None:
    store = stored(C, {}, {**BOOTSTRAPS[C], "metadata_key_suffix": suffix})
    with pytest.raises(MetadataError, match="metadata_key_suffix"):
        zarr.open(store, mode="r")


@pytest.mark.parametrize("suffix", ["", ".meta", ".."])
def test_another_suffix_is_honoured(suffix: str) -> None:
    store = stored(C, {}, {**BOOTSTRAPS[C], "metadata_key_suffix": suffix})
    store[f"meta/root/g/a.array{suffix}"] = json.dumps(array_document()).encode()
    store[f"meta/root/b.array{suffix}x"] = b"another one's"
    group = zarr.open_group(store, mode="r+")
    assert list(group) == ["g"]
    group["g/a"].attrs["x"] = 1
    group["g"].attrs["y"] = 2
    assert json.loads(store[f"meta/root/g/a.array{suffix}"])["attributes"] == {"x": 1}
    assert json.loads(store[f"meta/root/g.group{suffix}"])["attributes"] == {"y": 2}
    with pytest.raises(UnsupportedError, match="metadata_key_suffix"):
        group.create_group("new")
    del group["g"]
    assert list(store) == [f"meta/root/b.array{suffix}x", "zarr.json"]


def test_later_minor_versions_are_read() -> None:
    store = stored(A, {}, {**BOOTSTRAPS[A], "zarr_format": CORE.replace("3.0", "3.7"), "new": 1})
    assert zarr.open(store, mode="r").metadata.zarr_format == A


def test_a_final_v3_root_hides_no_draft() -> None:
    store = MemoryStore()
    zarr.create_group(store, zarr_format=3, attributes={"zarr_format": CORE})
    assert zarr.open(store, mode="r").metadata.zarr_format == 3
    assert formats.find(store, "missing") is None


@every
def test_finding_takes_few_reads_and_no_listing(name: str) -> None:
    class Counting(MemoryStore):
        asked: list[str] = []
        listed: list[str] = []

        def get(self, key: str, *rest: Any) -> Any:
            self.asked.append(key)
            return super().get(key, *rest)

        def list_dir(self, prefix: str) -> Any:
            self.listed.append(prefix)
            return super().list_dir(prefix)

    store = Counting()
    Counting.asked, Counting.listed = [], []
    zarr.create_array(store, name="g/a", shape=3, dtype="i4", zarr_format=name)
    Counting.asked, Counting.listed = [], []
    draft = formats.get_format(name)
    assert formats.read(draft, store, "g/a") is not None
    assert len(Counting.asked) == 3
    assert not Counting.listed
    assert formats.read(draft, store, "g") is not None  # implied: only a listing can tell
    assert Counting.listed == ["meta/root/g/"]


# -- nodes ----------------------------------------------------------------------------------------
@every
def test_a_hierarchy(name: str, tmp_path: Path) -> None:
    for store in (MemoryStore(), LocalStore(tmp_path / "x.zr3")):
        root = zarr.create_group(store, zarr_format=name, attributes={"title": "root"})
        values = np.arange(12).reshape(3, 4)
        root.create_array("deep/er/a", data=values, chunks=(2, 2), attributes={"k": [1, None]})
        root.create_group("empty")
        again = zarr.open_group(store, mode="r")
        assert again.metadata.zarr_format == name
        assert [path for path, _ in again.members(max_depth=None)] == [
            "deep",
            "deep/er",
            "deep/er/a",
            "empty",
        ]
        assert again.attrs.asdict() == {"title": "root"}
        assert again["deep/er/a"].attrs.asdict() == {"k": [1, None]}
        np.testing.assert_array_equal(again["deep"]["er"]["a"][...], values)
        assert "deep/er/b" not in again
        chunk = "0.0" if name == A else "c0/0"
        assert f"{DATA[name]}/deep/er/a/{chunk}" in store


@every
def test_attributes(name: str) -> None:
    store = MemoryStore()
    zarr.create_array(store, name="g/a", shape=3, dtype="i4", zarr_format=name)
    before = document(store, name, "/g/a.array")
    group = zarr.open_group(store, path="g", mode="a")
    group.attrs["implied"] = "no more"
    group["a"].attrs.update(x=1, y=float("inf"))
    assert document(store, name, "/g.group") == {
        "extensions": [],
        "attributes": {"implied": "no more"},
    }
    assert document(store, name, "/g/a.array") == {
        **before,
        "attributes": {"x": 1, "y": float("inf")},
    }
    assert zarr.open(store, path="g", mode="r").attrs.asdict() == {"implied": "no more"}


@every
def test_unknown_members_are_kept(name: str) -> None:
    extension = {"extension": "u:x", "must_understand": False, "configuration": {"k": 1}}
    given = array_document(later={"k": 1}, extensions=[extension])
    group = {"extensions": [extension], "attributes": {"a": 1}, "later": 5}
    store = stored(name, {"/g.group": group, "/g/a.array": given})
    array = zarr.open_array(store, path="g/a", mode="r+")
    array.attrs["x"] = 1
    array.resize((9,))
    assert document(store, name, "/g/a.array") == {**given, "shape": [9], "attributes": {"x": 1}}
    zarr.open_group(store, path="g", mode="r+").attrs["x"] = 1
    assert document(store, name, "/g.group") == {**group, "attributes": {"a": 1, "x": 1}}


@every
def test_null_attributes_and_missing_members(name: str) -> None:
    given = array_document(attributes=None)
    for member in ("extensions", "compressor", "chunk_memory_layout", "fill_value"):
        del given[member]
    array = zarr.open_array(stored(name, {"/a.array": given, "/g.group": {}}), path="a", mode="r")
    assert array.attrs.asdict() == {}
    assert array.fill_value is None
    np.testing.assert_array_equal(array[...], [0, 0, 0, 0])


@every
def test_a_root_that_is_both_is_the_array(name: str) -> None:
    store = stored(
        name,
        {
            ".array": array_document(attributes={"array": 1}),
            ".group": {"extensions": [], "attributes": {"group": 1}},
            "/a.array": array_document(shape=[7]),
        },
    )
    root = zarr.open(store, mode="r")
    assert isinstance(root, zarr.Array)
    assert root.attrs.asdict() == {"array": 1}
    assert zarr.open_array(store, path="a", mode="r").shape == (7,)


@every
def test_resize_and_append(name: str) -> None:
    store = MemoryStore()
    array = zarr.create_array(
        store, name="a", data=np.arange(10), chunks=(3,), zarr_format=name, fill_value=-1
    )
    array.resize((5,))
    array.resize((7,))
    np.testing.assert_array_equal(array[...], [0, 1, 2, 3, 4, -1, -1])
    array.append(np.arange(4))
    again = zarr.open_array(store, path="a", mode="r")
    np.testing.assert_array_equal(again[...], [0, 1, 2, 3, 4, -1, -1, 0, 1, 2, 3])


@every
def test_delete_touches_nothing_beside(name: str, tmp_path: Path) -> None:
    for store in (MemoryStore(), LocalStore(tmp_path / "x.zr3")):
        root = zarr.create_group(store, zarr_format=name)
        for path in ("foo/a", "foobar/a", "fo", "foo.array", "foo-"):
            root.create_array(path, data=np.arange(3))
        root.create_array("foo/scalar", data=np.float64(1.5))
        del root["foo"]
        assert list(root) == ["fo", "foo-", "foo.array", "foobar"]
        assert not [key for key in store if "/foo/" in key or key.endswith(".group")][1:]
        for path in ("foobar/a", "fo", "foo.array", "foo-"):
            np.testing.assert_array_equal(root[path][...], np.arange(3))
        with pytest.raises(NodeNotFoundError):
            del root["foo"]


@every
def test_move(name: str, tmp_path: Path) -> None:
    for store in (MemoryStore(), LocalStore(tmp_path / "x.zr3")):
        root = zarr.create_group(store, zarr_format=name)
        root.create_array("a/b/x", data=np.arange(3), attributes={"k": 1})
        root.create_array("a/b/scalar", data=np.float64(1.5))
        root.create_array("ab/x", data=np.arange(5))
        root["a/b"].attrs["k"] = 2
        root.move("a/b", "c/d")
        assert [path for path, _ in root.members(max_depth=None)] == [
            "ab",
            "ab/x",
            "c",
            "c/d",
            "c/d/scalar",
            "c/d/x",
        ]
        np.testing.assert_array_equal(root["c/d/x"][...], np.arange(3))
        assert root["c/d/scalar"][()] == 1.5
        assert root["c/d/x"].attrs["k"] == 1
        assert root["c/d"].attrs["k"] == 2
        root.move("c/d/scalar", "c/d/Scalar")  # no sibling of itself
        assert root["c/d/Scalar"][()] == 1.5
        root.move("c/d/x", "y")
        np.testing.assert_array_equal(root["y"][...], np.arange(3))
        with pytest.raises(ContainsGroupError):
            root.move("y", "ab")
        with pytest.raises(UnsupportedError, match="more than case"):
            root.move("y", "AB")
        with pytest.raises(UnsupportedError, match="names"):
            root.move("y", "what?")
        np.testing.assert_array_equal(root["y"][...], np.arange(3))


@every
def test_a_move_that_was_interrupted_is_finished_by_another(name: str) -> None:
    class Failing(MemoryStore):
        fail = False

        def set(self, key: str, value: Any) -> None:
            if self.fail and key.startswith("meta/"):
                raise OSError("no more")
            super().set(key, value)

    store = Failing()
    root = zarr.create_group(store, zarr_format=name)
    root.create_array("a", data=np.arange(30), chunks=(2,))
    store.fail = True
    with pytest.raises(OSError, match="no more"):
        root.move("a", "b")
    np.testing.assert_array_equal(root["a"][...], np.arange(30))  # nothing reads as fill values
    store.fail = False
    root.move("a", "b")
    assert list(root) == ["b"]
    np.testing.assert_array_equal(root["b"][...], np.arange(30))
    assert not [key for key in store if f"{DATA[name]}/a/" in key]


@every
def test_overwrite(name: str, tmp_path: Path) -> None:
    for store in (MemoryStore(), LocalStore(tmp_path / "x.zr3")):
        root = zarr.create_group(store, zarr_format=name)
        root.create_array("a", data=np.arange(30), chunks=(2,))
        root.create_array("b/c", data=np.arange(30))
        with pytest.raises(ContainsArrayError):
            root.create_array("a", shape=3, dtype="i4")
        with pytest.raises(ContainsGroupError):
            root.create_array("b", shape=3, dtype="i4")
        with pytest.raises(ContainsArrayError):
            root.create_array("a/x", shape=3, dtype="i4")
        root.create_array("a", shape=30, chunks=(2,), dtype="i4", overwrite=True)
        assert not root["a"][...].any()
        root.create_array("b", shape=3, dtype="i4", overwrite=True)
        assert sorted(key for key in store if "b" in key.split(".")[0]) == [
            f"meta/root/b.array{SUFFIX[name]}"
        ]
        zarr.open_group(store, mode="w", zarr_format=name)
        assert list(store) == [f"meta/root.group{SUFFIX[name]}", "zarr.json"]
        zarr.create_array(store, shape=(), dtype="i4", overwrite=True, zarr_format=name)[()] = 5
        assert zarr.open(store, mode="r")[()] == 5


@every
def test_copy(name: str) -> None:
    source = zarr.create_group(MemoryStore(), zarr_format=name)
    source.create_array("g/a", data=np.arange(12.0).reshape(3, 4), chunks=(2, 3), order="F")
    source["g"].attrs["k"] = 1
    for other in (*NAMES, 2, 3):
        target = zarr.create_group(MemoryStore(), zarr_format=other)
        zarr.copy(source["g"], target)
        assert target["g"].attrs["k"] == 1
        np.testing.assert_array_equal(target["g/a"][...], source["g/a"][...])
        assert target["g/a"].chunks == (2, 3)


# -- stores that others have already --------------------------------------------------------------
@every
@pytest.mark.parametrize("other", [2, 3, *NAMES])
def test_a_store_of_another_format_is_refused(name: str, other: Any) -> None:
    if other == name:
        return
    store = MemoryStore()
    zarr.create_group(store, zarr_format=other)
    before = dict(store.items())
    with pytest.raises(UnsupportedError, match=r"root is a node of format|holds a hierarchy of"):
        zarr.create_array(store, name="a", shape=3, dtype="i4", zarr_format=name)
    with pytest.raises((ContainsGroupError, UnsupportedError)):
        zarr.create_group(store, zarr_format=name)
    assert dict(store.items()) == before
    zarr.create_group(store, zarr_format=name, overwrite=True)
    assert zarr.open(store, mode="r").metadata.zarr_format == name


@every
def test_members_follow_their_hierarchy(name: str) -> None:
    store = MemoryStore()
    zarr.create_group(store, zarr_format=name)
    zarr.create_array(store, name="x/y", shape=3, dtype="i4")
    assert zarr.open(store, path="x/y", mode="r").metadata.zarr_format == name


@every
def test_without_listing(name: str) -> None:
    class Bare(MemoryStore):
        capabilities = Capabilities(listable=False)

        def list_prefix(self, prefix: str) -> Any:
            raise AssertionError("listed")

        list_dir = list_prefix

    store = Bare()
    zarr.create_array(store, name="x/y", shape=3, dtype="i4", zarr_format=name)[...] = 5
    assert zarr.open(store, path="x/y", mode="r")[0] == 5
    assert isinstance(zarr.open(store, mode="r"), zarr.Group)
    assert formats.find(store, "x") is None
