"""Data that wants to run code, or to reach beyond its store: refused, and nothing happened."""

from __future__ import annotations

import json
import os
import pickle
import zipfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import omnizarr as zarr
from omnizarr import errors
from tests.acceptance import documents
from tests.acceptance.processes import snapshot
from tests.acceptance.refusals import mentions, refusal


# -- code in the data -----------------------------------------------------------------------------
class Trap:
    """Unpickling this creates a file."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self) -> Any:
        return os.mkdir, (str(self.marker),)


PICKLES: dict[str, tuple[str, dict[str, Any]]] = {
    "filter": (".zarray", {"dtype": "|O", "filters": [{"id": "pickle"}]}),
    "filter with protocol": (
        ".zarray",
        {"dtype": "|O", "filters": [{"id": "pickle", "protocol": 5}]},
    ),
    "behind a text codec": (
        ".zarray",
        {"dtype": "|O", "filters": [{"id": "vlen-utf8"}, {"id": "pickle"}]},
    ),
    "before a text codec": (
        ".zarray",
        {"dtype": "|O", "filters": [{"id": "pickle"}, {"id": "vlen-utf8"}]},
    ),
    "compressor": (
        ".zarray",
        {"dtype": "|O", "filters": [{"id": "vlen-utf8"}], "compressor": {"id": "pickle"}},
    ),
    "of numbers": (".zarray", {"dtype": "<i4", "filters": [{"id": "pickle"}]}),
    "compressor of numbers": (".zarray", {"dtype": "<i4", "compressor": {"id": "pickle"}}),
    "numcodecs name": ("zarr.json", {"codecs": [documents.LITTLE, {"name": "numcodecs.pickle"}]}),
    "short name": ("zarr.json", {"codecs": [documents.LITTLE, {"name": "pickle"}]}),
    "alone": ("zarr.json", {"codecs": ["numcodecs.pickle"]}),
    "inside a shard": (
        "zarr.json",
        {
            "codecs": [
                documents.sharded([5, 5], codecs=[documents.LITTLE, {"name": "numcodecs.pickle"}])
            ]
        },
    ),
    "in the index of a shard": (
        "zarr.json",
        {
            "codecs": [
                documents.sharded(
                    [5, 5], index_codecs=[documents.LITTLE, {"name": "numcodecs.pickle"}]
                )
            ]
        },
    ),
}


@pytest.mark.parametrize("name", PICKLES)
@pytest.mark.parametrize("consolidated", [False, True])
def test_pickle_is_refused(name: str, consolidated: bool, tmp_path: Path) -> None:
    marker = tmp_path / "marker"
    key, changes = PICKLES[name]
    document = (
        documents.v2(fill_value=None, **changes) if key == ".zarray" else documents.v3(**changes)
    )
    payload = pickle.dumps(Trap(marker))
    text = json.dumps(document)
    store = {f"a/{key}": text.encode()}
    store |= {f"a/{chunk}": payload for chunk in ("0.0", "c/0/0", "0.1", "c/0/1")}
    if key == ".zarray":
        group = {"zarr_format": 2}
        store[".zgroup"] = json.dumps(group).encode()
        whole = {
            "zarr_consolidated_format": 1,
            "metadata": {".zgroup": group, "a/.zarray": document},
        }
        store[".zmetadata"] = json.dumps(whole).encode()
    else:
        inline = {"kind": "inline", "must_understand": False, "metadata": {"a": document}}
        root = {"zarr_format": 3, "node_type": "group", "consolidated_metadata": inline}
        store["zarr.json"] = json.dumps(root).encode()
    opener = zarr.open_consolidated if consolidated else zarr.open_group
    with pytest.raises(errors.ZarrError) as caught:
        opener(store, mode="r")["a"][:5, :5]
    assert not marker.exists(), "code from the data ran"
    if name not in ("in the index of a shard", "short name", "alone"):
        assert isinstance(caught.value, errors.PickleCodecDisabledError), repr(caught.value)
        mentions(str(caught.value), "pickle", "allow_pickle")
    with pytest.raises(errors.ZarrError):
        zarr.open_group(store, mode="r+")["a"][:2, :2] = 1
    assert not marker.exists(), "code from the data ran"


def test_pickle_is_read_on_request_for_one_call_only() -> None:
    store: dict[str, Any] = {}
    array = zarr.create(
        shape=3, chunks=3, dtype=object, object_codec=zarr.Pickle(), store=store, zarr_format=2,
        allow_pickle=True,
    )  # fmt: skip
    array[:] = np.array([1, "x", None], dtype=object)
    assert zarr.open(store, mode="r", allow_pickle=True)[:].tolist() == [1, "x", None]
    with pytest.raises(errors.PickleCodecDisabledError):
        zarr.open(store, mode="r")[:]


# -- leaving the store ----------------------------------------------------------------------------
EVIL_KEYS = [
    "../secret", "..", "a/../../secret", "/etc/passwd", "//x", "a//b", "./a", "a/./b", "a/..", "",
    "a\0b", "a/", "..\\secret",
]  # fmt: skip


@pytest.mark.parametrize("key", EVIL_KEYS, ids=repr)
@pytest.mark.parametrize("kind", ["local", "memory", "mapping", "zip"])
def test_keys_stay_inside(key: str, kind: str, tmp_path: Path) -> None:
    (tmp_path / "secret").write_bytes(b"secret")
    root = tmp_path / "root"
    root.mkdir()
    store: Any = {
        "local": lambda: zarr.storage.LocalStore(str(root)),
        "memory": lambda: zarr.storage.MemoryStore(),
        "mapping": lambda: zarr.KVStore({}),
        "zip": lambda: zarr.ZipStore(str(tmp_path / "a.zip"), mode="w"),
    }[kind]()
    before = {name: text for name, text in snapshot(tmp_path).items() if name != "a.zip"}
    for action in (
        lambda: store.get(key),
        lambda: store.set(key, b"evil"),
        lambda: store.delete(key),
        lambda: store.size(key),
        lambda: store.set_if_absent(key, b"evil"),
    ):
        refusal(action, errors.InvalidKeyError)
    after = {name: text for name, text in snapshot(tmp_path).items() if name != "a.zip"}
    assert after == before
    store.close()


@pytest.mark.parametrize("path", ["..", "../x", "a/../../x", "a/./b", "\0"])
def test_node_paths_stay_inside(path: str, tmp_path: Path) -> None:
    root = zarr.open_group(str(tmp_path / "root"), mode="w")
    before = snapshot(tmp_path)
    for action in (
        lambda: root[path],
        lambda: root.create_group(path),
        lambda: root.create_array(path, shape=(3,), dtype="i4"),
        lambda: root.require_group(path),
        lambda: root.move("a", path),
        lambda: zarr.open(str(tmp_path / "root"), path=path, mode="r"),
        lambda: zarr.save_array(str(tmp_path / "root"), np.zeros(3), path=path),
    ):
        refusal(action, errors.InvalidKeyError)
    assert snapshot(tmp_path) == before


def test_links_are_not_followed(tmp_path: Path) -> None:
    """A chunk, a document or a folder that is a link to the outside is refused, not read."""
    outside = tmp_path / "outside"
    outside.mkdir()
    secret = np.arange(25, dtype="<i4").tobytes()
    (outside / "0.0").write_bytes(secret)
    (outside / ".zarray").write_text(json.dumps(documents.v2()))
    root = tmp_path / "root"
    (root / "chunk").mkdir(parents=True)
    (root / ".zgroup").write_text('{"zarr_format": 2}')
    (root / "chunk" / ".zarray").write_text(json.dumps(documents.v2()))
    (root / "chunk" / "0.0").symlink_to(outside / "0.0")
    (root / "document").mkdir()
    (root / "document" / ".zarray").symlink_to(outside / ".zarray")
    (root / "folder").symlink_to(outside)
    before = snapshot(outside)
    group = zarr.open_group(str(root), mode="r+")
    text = refusal(lambda: group["chunk"][:5, :5])
    mentions(text, r"0\.0")
    with pytest.raises(errors.ZarrError):
        group["chunk"][:2, :2] = 9
    refusal(lambda: group["document"][...])
    refusal(lambda: group["folder"][...])
    assert snapshot(outside) == before


def test_replacing_a_linked_chunk_replaces_the_link(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.write_bytes(b"precious")
    root = tmp_path / "root"
    root.mkdir()
    (root / ".zarray").write_text(json.dumps(documents.v2()))
    (root / "0.0").symlink_to(outside)
    array = zarr.open_array(str(root), mode="r+")
    try:
        array[:5, :5] = 7
    except errors.ZarrError:
        pass
    else:
        assert (array[:5, :5] == 7).all()
    assert outside.read_bytes() == b"precious"


def test_deleting_does_not_reach_through_a_link(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "precious").write_bytes(b"precious")
    root = zarr.open_group(str(tmp_path / "root"), mode="w", zarr_format=2)
    root.create_array("a", shape=(3,), dtype="i4")
    (tmp_path / "root" / "a" / "link").symlink_to(outside)
    del root["a"]
    assert (outside / "precious").read_bytes() == b"precious"


def test_zip_entries_stay_inside(tmp_path: Path) -> None:
    """An archive with entries that climb out: nothing outside is written when it is copied."""
    archive = tmp_path / "evil.zip"
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr(".zgroup", '{"zarr_format": 2}')
        file.writestr("a/.zarray", json.dumps(documents.v2()))
        file.writestr("../evil", "evil")
        file.writestr("../../evil", "evil")
        file.writestr("/tmp/omnizarr-evil", "evil")
        file.writestr("a/../../evil", "evil")
    target = tmp_path / "deep" / "target"
    source = zarr.ZipStore(str(archive), mode="r")
    assert zarr.open(source, mode="r")["a"].shape == (10, 10)
    with suppress(errors.ZarrError):
        zarr.copy_store(source, zarr.DirectoryStore(str(target)))
    source.close()
    assert not Path("/tmp/omnizarr-evil").exists()
    inside = {path for path in tmp_path.rglob("*") if "evil" in path.name}
    assert inside == {archive}


def test_broken_zip(tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    with zarr.ZipStore(str(path), mode="w") as store:
        zarr.create_array(store=store, shape=(40, 40), dtype="f8")[...] = 1.5
    sound = path.read_bytes()
    for name, broken in {
        "cut": sound[: len(sound) // 2],
        "no archive": b"hello",
        "empty": b"",
    }.items():
        path.write_bytes(broken)
        text = refusal(lambda: zarr.open(str(path), mode="r")[...])
        mentions(text, "a.zip")
        assert path.read_bytes() == broken, name
