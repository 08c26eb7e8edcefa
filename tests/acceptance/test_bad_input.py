"""Bad metadata and bad arguments: an error that says what and where; nothing changed on disk."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import omnizarr as zarr
from omnizarr import errors
from tests.acceptance import documents
from tests.acceptance.documents import Bad
from tests.acceptance.processes import snapshot
from tests.acceptance.refusals import mentions, refusal


# -- metadata -------------------------------------------------------------------------------------
@pytest.mark.parametrize("bad", documents.every_bad_document(), ids=lambda bad: bad.name)
def test_bad_document(bad: Bad, tmp_path: Path) -> None:
    root = tmp_path / "bad.zarr"
    root.mkdir()
    (root / bad.key).write_bytes(bad.text)
    before = snapshot(tmp_path)
    kind = getattr(errors, bad.error)
    for mode in ("r", "r+", "a"):
        text = refusal(lambda mode=mode: zarr.open(str(root), mode=mode)[...], kind)
    if issubclass(kind, errors.UnknownExtensionError):
        refusal(lambda: zarr.open(str(root), mode="r"), kind)  # the open itself must fail
    mentions(text, *bad.words)
    assert "bad.zarr" in text, f"the store is not named: {text!r}"
    assert bad.key in text or "path '/'" in text, f"neither key nor node is named: {text!r}"
    assert snapshot(tmp_path) == before


@pytest.mark.parametrize("bad", documents.every_bad_document(), ids=lambda bad: bad.name)
def test_bad_document_inside_a_group(bad: Bad) -> None:
    """Its neighbours stay readable, and listing the group does not break silently."""
    version = 2 if bad.key == ".zarray" else 3
    store: dict[str, Any] = {}
    root = zarr.group(store, zarr_format=version)
    root.create_array("good", shape=(3,), dtype="i4")[:] = 5
    store[f"bad/{bad.key}"] = bad.text
    before = dict(store)
    root = zarr.open_group(store, mode="r")
    assert root["good"][:].tolist() == [5, 5, 5]
    text = refusal(lambda: root["bad"][...], getattr(errors, bad.error))
    named = f"bad/{bad.key}" in text or "path '/bad'" in text
    assert named, f"neither key nor node is named: {text!r}"
    assert store == before


def test_optional_members_are_kept_and_ignored(tmp_path: Path) -> None:
    document = documents.v3(
        flavour={"must_understand": False, "name": "x", "deep": [1, {"y": None}]},
        codecs=[documents.LITTLE, {"name": "nosuch", "must_understand": False}],
    )
    (tmp_path / "zarr.json").write_text(json.dumps(document))
    array = zarr.open_array(str(tmp_path), mode="r+")
    array.attrs["new"] = 1
    array.resize((20, 10))
    stored = json.loads((tmp_path / "zarr.json").read_text())
    assert stored["flavour"] == document["flavour"]
    assert stored["attributes"] == {"new": 1}
    assert stored["shape"] == [20, 10]


@pytest.mark.parametrize("what", ["data_type", "chunk_grid", "chunk_key_encoding"])
def test_some_extensions_must_be_understood(what: str) -> None:
    """`must_understand: false` does not help a data type, a grid or a key encoding."""
    document = documents.v3(**{what: {"name": "nosuch", "must_understand": False}})
    store = {"zarr.json": json.dumps(document).encode()}
    mentions(refusal(lambda: zarr.open(store, mode="r"), errors.MetadataError), "nosuch")


@pytest.mark.parametrize("version", [2, 3])
def test_missing_metadata(version: int, tmp_path: Path) -> None:
    (tmp_path / "plain").mkdir()
    (tmp_path / "plain" / "notes.txt").write_text("mine")
    before = snapshot(tmp_path)
    for opener in (zarr.open, zarr.open_array, zarr.open_group):
        for name in ("plain", "absent", "absent/deeper"):
            for mode in ("r", "r+"):
                text = refusal(
                    lambda opener=opener, name=name, mode=mode: opener(
                        str(tmp_path / name), mode=mode, zarr_format=version
                    ),
                    errors.NodeNotFoundError,
                    FileNotFoundError,
                )
                mentions(text, name)
    refusal(lambda: zarr.open_consolidated(str(tmp_path / "plain")))
    assert snapshot(tmp_path) == before


@pytest.mark.parametrize("version", [2, 3])
def test_missing_consolidated_metadata(version: int, tmp_path: Path) -> None:
    """xarray tells "not consolidated" by the ValueError."""
    zarr.create_group(store=str(tmp_path / "plain"), zarr_format=version)
    text = refusal(lambda: zarr.open_consolidated(str(tmp_path / "plain")), ValueError)
    mentions(text, "consolidated", "plain")


@pytest.mark.parametrize("version", [2, 3])
def test_wrong_node_kind(version: int, tmp_path: Path) -> None:
    store = str(tmp_path / "tree.zarr")
    root = zarr.open_group(store, mode="w", zarr_format=version)
    root.create_array("a", shape=(3,), dtype="i4")[:] = 1
    root.create_group("g")
    before = snapshot(tmp_path)
    for mode in ("r", "r+", "a"):
        text = refusal(
            lambda mode=mode: zarr.open_array(store, path="g", mode=mode, shape=(3,)),
            (errors.NodeTypeError, errors.NodeExistsError),  # type: ignore[arg-type]
        )
        mentions(text, "g", "group")
        text = refusal(lambda mode=mode: zarr.open_group(store, path="a", mode=mode))
        mentions(text, "a", "array")
    refusal(lambda: root.create_array("g", shape=(3,), dtype="i4"), errors.ContainsGroupError)
    refusal(lambda: root.create_array("a", shape=(3,), dtype="i4"), errors.ContainsArrayError)
    refusal(lambda: root.create_group("a"), errors.ContainsArrayError)
    refusal(lambda: root.create_group("g"), errors.ContainsGroupError)
    refusal(lambda: zarr.create_array(store=store, name="a", shape=(3,), dtype="i4"))
    refusal(lambda: zarr.open_array(store, path="a", mode="w-", shape=(3,)), errors.NodeExistsError)
    refusal(lambda: zarr.open_group(store, path="g", mode="w-"), errors.NodeExistsError)
    with pytest.raises(TypeError, match=r"\(3,\)"):
        root.require_array("a", shape=(4,), dtype="i4")
    refusal(lambda: root.require_group("a"))
    refusal(lambda: root["a/b"], KeyError)
    refusal(lambda: root["nosuch"], KeyError)
    assert snapshot(tmp_path) == before


# -- arguments ------------------------------------------------------------------------------------
BAD_ARGUMENTS: dict[str, dict[str, Any]] = {
    "negative shape": {"shape": (-1,)},
    "chunk of 0": {"chunks": (0,)},
    "negative chunk": {"chunks": (-2,)},
    "too many chunks": {"chunks": (2, 2)},
    "unknown type": {"dtype": "q99"},
    "unknown format": {"zarr_format": 99},
    "fill beyond the type": {"dtype": "u1", "fill_value": 300},
    "fill of another kind": {"fill_value": "abc"},
    "shard does not fit": {"chunks": (4,), "shards": (6,)},
    "unknown argument": {"colour": "red"},
    "dimension names": {"dimension_names": ["x", "y"]},
    "attributes not JSON": {"attributes": {"a": object()}},
    "object without codec": {"dtype": object, "zarr_format": 2},
}


@pytest.mark.parametrize("name", BAD_ARGUMENTS)
def test_bad_arguments_change_nothing(name: str, tmp_path: Path) -> None:
    """Also with `overwrite=True` and mode "w": arguments are checked before anything is deleted."""
    store = str(tmp_path / "a.zarr")
    zarr.create_array(store=store, shape=(8,), dtype="i4")[:] = 5
    before = snapshot(tmp_path)
    arguments = {"shape": (8,), "chunks": (4,), "dtype": "i4", **BAD_ARGUMENTS[name]}
    for action in (
        lambda: zarr.create_array(store=store, overwrite=True, **arguments),
        lambda: zarr.create(store=store, overwrite=True, **arguments),
        lambda: zarr.open_array(store, mode="w", **arguments),
        lambda: zarr.open(store, mode="w", **arguments),
        lambda: zarr.create_array(store=str(tmp_path / "new.zarr"), **arguments),
    ):
        with pytest.raises((errors.ZarrError, TypeError, ValueError)):
            action()
        assert snapshot(tmp_path) == before


def test_values_that_do_not_fit(tmp_path: Path) -> None:
    array = zarr.create_array(store=str(tmp_path / "a.zarr"), shape=(4, 4), dtype="i4")
    array[...] = 1
    before = snapshot(tmp_path)
    for value in (np.zeros((3, 3)), np.zeros(5), "text", object(), [[1, 2], [3]]):
        with pytest.raises((errors.ZarrError, ValueError, TypeError)):
            array[...] = value
    for index in (4, -5, (0, 0, 0), "field", 1.5, np.array([True, False])):
        with pytest.raises(IndexError):
            array[index]
        with pytest.raises(IndexError):
            array[index] = 0
    for action in (
        lambda: array.resize((4,)),
        lambda: array.resize((-1, 4)),
        lambda: array.append(np.zeros((3, 3))),
        lambda: array.append(np.zeros((3, 4)), axis=7),
        lambda: array.attrs.update({"a": object()}),
        lambda: array.attrs.put({"a": {1, 2}}),
    ):
        with pytest.raises((errors.ZarrError, TypeError, ValueError, IndexError)):
            action()
    assert snapshot(tmp_path) == before


def test_read_only_changes_nothing(tmp_path: Path) -> None:
    store = str(tmp_path / "a.zarr")
    root = zarr.open_group(store, mode="w")
    root.create_array("a", shape=(4,), dtype="i4")[:] = 1
    before = snapshot(tmp_path)
    group = zarr.open_group(store, mode="r")
    array = group["a"]
    for action in (
        lambda: array.__setitem__(slice(None), 2),
        lambda: array.resize((5,)),
        lambda: array.append(np.zeros(3)),
        lambda: array.attrs.__setitem__("a", 1),
        lambda: group.attrs.__setitem__("a", 1),
        lambda: group.create_group("g"),
        lambda: group.create_array("b", shape=(3,), dtype="i4"),
        lambda: group.__delitem__("a"),
        lambda: group.move("a", "b"),
        lambda: array.lazy[1:].write(0),
    ):
        refusal(action, errors.ReadOnlyError, PermissionError)
    assert snapshot(tmp_path) == before
