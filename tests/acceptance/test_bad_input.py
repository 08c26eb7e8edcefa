"""Bad input: a typed error that says what and where, and nothing changed on disk."""

from __future__ import annotations

import json
import os
import pickle
import random
import re
import time
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import omnizarr as zarr

from . import documents
from .documents import Bad
from .processes import snapshot

errors = zarr.errors
Summary = Callable[[str], None]


def refusal(function: Callable[[], Any], *kinds: type[BaseException]) -> str:
    """The text of the error that `function` raises; it must be of our tree."""
    started = time.monotonic()
    with pytest.raises(errors.ZarrError) as caught:
        function()
    assert time.monotonic() - started < 5, "too slow"
    for kind in kinds:
        assert isinstance(caught.value, kind), f"{caught.value!r} is no {kind.__name__}"
    return str(caught.value)


def mentions(text: str, *words: str) -> None:
    for word in words:
        assert re.search(word, text), f"{word!r} is not in {text!r}"


# -- metadata ---------------------------------------------------------------------------------------
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
    assert bad.key in text, f"the key is not named: {text!r}"
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
    assert f"bad/{bad.key}" in text, f"the key is not named: {text!r}"
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


# -- chunks -----------------------------------------------------------------------------------------
DEFAULTS: dict[str, dict[str, Any]] = {
    "v2": {"zarr_format": 2},
    "v3": {"zarr_format": 3},
    "shard": {"zarr_format": 3, "shards": (40, 40)},
}
DATA = np.random.default_rng(3).normal(size=(40, 40)).round(2)


def written(tmp_path: Path, layout: str, **more: Any) -> tuple[Path, Path]:
    """A store with one chunk (or shard) written by default, and that chunk's file."""
    root = tmp_path / "a.zarr"
    options = {"chunks": (20, 20) if layout == "shard" else (40, 40), **DEFAULTS[layout], **more}
    array = zarr.create_array(store=str(root), shape=(40, 40), dtype="f8", **options)
    array[...] = DATA
    known = {".zarray", ".zattrs", "zarr.json"}
    files = [path for path in root.rglob("*") if path.is_file() and path.name not in known]
    assert len(files) == 1, files
    return root, files[0]


def read_all(root: Path) -> Any:
    return zarr.open_array(str(root), mode="r")[...]


@pytest.mark.parametrize("layout", DEFAULTS)
def test_flipped_bits(layout: str, tmp_path: Path, summary: Summary) -> None:
    """300 single flipped bits in what is written by default: none gives wrong data."""
    root, chunk = written(tmp_path, layout)
    sound = chunk.read_bytes()
    drawn = random.Random(4).sample(range(len(sound) * 8), 300)
    detected = harmless = 0
    for bit in drawn:
        broken = bytearray(sound)
        broken[bit // 8] ^= 1 << bit % 8
        chunk.write_bytes(broken)
        try:
            values = read_all(root)
        except errors.ZarrError as error:
            detected += 1
            mentions(str(error), re.escape(chunk.relative_to(root).as_posix()))
        else:
            assert values.tobytes() == DATA.tobytes(), f"bit {bit} gives wrong data silently"
            harmless += 1
    chunk.write_bytes(sound)
    assert (read_all(root) == DATA).all()
    summary(f"bad input: {layout}: of 300 flipped bits {detected} detected, {harmless} harmless")
    assert harmless <= 3


@pytest.mark.parametrize("layout", DEFAULTS)
def test_truncated_chunk(layout: str, tmp_path: Path) -> None:
    root, chunk = written(tmp_path, layout)
    sound = chunk.read_bytes()
    drawn = sorted({0, 1, 4, 15, 16, 17, len(sound) - 1, *random.Random(5).sample(range(len(sound)), 40)})
    for length in drawn:
        chunk.write_bytes(sound[:length])
        before = snapshot(tmp_path)
        text = refusal(lambda: read_all(root), errors.DecodeError)
        mentions(text, re.escape(chunk.relative_to(root).as_posix()), "a.zarr")
        assert snapshot(tmp_path) == before


@pytest.mark.parametrize("layout", DEFAULTS)
def test_extended_chunk(layout: str, tmp_path: Path) -> None:
    root, chunk = written(tmp_path, layout)
    sound = chunk.read_bytes()
    for extra in (b"\0", b"x" * 16, sound):
        chunk.write_bytes(sound + extra)
        if layout == "shard" and extra == sound:
            continue  # a whole shard behind another is a sound shard with unused bytes before it
        text = refusal(lambda: read_all(root), errors.DecodeError)
        mentions(text, re.escape(chunk.relative_to(root).as_posix()))


CODECS = {
    "raw": None,
    "zlib": {"id": "zlib", "level": 1},
    "gzip": {"id": "gzip", "level": 1},
    "bz2": {"id": "bz2", "level": 1},
    "lzma": {"id": "lzma", "format": 1, "check": -1, "preset": None, "filters": None},
    "lz4": {"id": "lz4", "acceleration": 1},
    "zstd": {"id": "zstd", "level": 1},
    "blosc": {"id": "blosc", "cname": "lz4", "clevel": 5, "shuffle": 1, "blocksize": 0},
}


@pytest.mark.parametrize("name", CODECS)
def test_mutated_chunk_of_any_codec(name: str, tmp_path: Path) -> None:
    """Without a checksum a flip may go unseen; it must never crash, hang or change the shape."""
    root = tmp_path / "a.zarr"
    document = documents.v2(shape=[40, 40], chunks=[40, 40], dtype="<f8", compressor=CODECS[name])
    root.mkdir()
    (root / ".zarray").write_text(json.dumps(document))
    zarr.open_array(str(root), mode="r+")[...] = DATA
    chunk = root / "0.0"
    sound = chunk.read_bytes()
    rolls = random.Random(6)
    refused = 0
    for number in range(150):
        broken = bytearray(sound)
        kind = number % 5
        if kind == 0:
            broken[rolls.randrange(len(broken))] ^= 1 << rolls.randrange(8)
        elif kind == 1:
            for place in range(min(20, len(broken))):
                if rolls.random() < 0.3:
                    broken[place] = rolls.randrange(256)
        elif kind == 2:
            del broken[rolls.randrange(len(broken)) :]
        elif kind == 3:
            broken += b"\x07" * rolls.randrange(1, 50)
        else:
            broken = bytearray(rolls.randbytes(rolls.randrange(1, 200)))
        chunk.write_bytes(broken)
        started = time.monotonic()
        try:
            values = read_all(root)
        except errors.ZarrError as error:
            refused += 1
            mentions(str(error), r"0\.0")
            if name != "raw":
                mentions(str(error), name)
        else:
            assert values.shape == (40, 40)
            assert values.dtype == np.dtype("f8")
            # z5py wrote blosc chunks with unused bytes behind them: those must read.
            allowed = (0, 1, 3) if name == "blosc" else (0, 1)
            changed = ("flipped", "new header", "truncated", "extended", "random")[kind]
            assert kind in allowed, f"{changed} data was read"
        assert time.monotonic() - started < 2
    assert refused >= (60 if name == "blosc" else 90)


def test_raw_chunk_of_another_size_names_both_sizes(tmp_path: Path) -> None:
    root = tmp_path / "a.zarr"
    root.mkdir()
    (root / ".zarray").write_text(json.dumps(documents.v2()))
    for size in (0, 99, 101, 400):
        (root / "0.0").write_bytes(bytes(size))
        text = refusal(lambda: zarr.open(str(root), mode="r")[:5, :5], errors.DecodeError)
        mentions(text, "100", str(size), r"0\.0", "a.zarr")


@pytest.mark.parametrize("where", ["end", "start"])
def test_shard_index_lies(where: str, tmp_path: Path) -> None:
    """Offsets and lengths that point outside, or overlap the index, or are half missing."""
    root = tmp_path / "a.zarr"
    (root / "c" / "0").mkdir(parents=True)
    codecs = [documents.sharded([5, 5], index_codecs=[documents.LITTLE], index_location=where)]
    document = documents.v3(chunk_grid=documents.grid(10, 10), codecs=codecs)
    (root / "zarr.json").write_text(json.dumps(document))
    body = np.arange(100, dtype="<i4").tobytes()
    base = 64 if where == "start" else 0
    missing = (1 << 64) - 1
    sound = [(base + 100 * number, 100) for number in range(4)]
    for name, first in {
        "far away": (1 << 60, 100),
        "overflow": (missing - 50, 100),
        "too long": (base, 1 << 50),
        "beyond the end": (base + 350, 100),
        "wrong length": (base, 99),
        "empty": (base, 0),
        "half missing": (missing, 100),
        "half missing too": (base, missing),
    }.items():
        index = np.array([first, *sound[1:]], dtype="<u8").tobytes()
        (root / "c/0/0").write_bytes(index + body if where == "start" else body + index)
        text = refusal(lambda: zarr.open(str(root), mode="r")[:5, :5])
        mentions(text, "c/0/0")
        try:
            neighbour = zarr.open(str(root), mode="r")[5:, 5:]
        except errors.DecodeError:
            continue
        assert neighbour.tobytes() == body[300:], f"{name}: its neighbour reads wrong"


def test_partial_write_into_a_broken_chunk_changes_nothing(tmp_path: Path) -> None:
    """A chunk that cannot be read cannot be updated; replacing it whole repairs it."""
    for layout in DEFAULTS:
        folder = tmp_path / layout
        root, chunk = written(folder, layout)
        chunk.write_bytes(chunk.read_bytes()[:-3])
        before = snapshot(folder)
        array = zarr.open_array(str(root), mode="r+")
        with pytest.raises(errors.ZarrError):
            array[1:3, 1:3] = 0
        assert snapshot(folder) == before
        array[...] = DATA
        assert (read_all(root) == DATA).all()


def test_a_store_that_fails_is_not_an_empty_one() -> None:
    """Missing means missing; every other failure raises and never reads as fill values."""

    class Failing(dict[str, bytes]):
        def __getitem__(self, key: str) -> bytes:
            if "0" in key:
                raise OSError(5, "input/output error")
            return super().__getitem__(key)

        def get(self, key: str, default: Any = None) -> Any:
            try:
                return self[key]
            except KeyError:
                return default

    for version in (2, 3):
        store = Failing()
        array = zarr.create_array(store=store, shape=(4,), dtype="i4", fill_value=9, zarr_format=version)
        with pytest.raises(OSError, match="input/output error"):
            array[...]


# -- code in the data -------------------------------------------------------------------------------
class Trap:
    """Unpickling this creates a file."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self) -> Any:
        return os.mkdir, (str(self.marker),)


PICKLES: dict[str, tuple[str, dict[str, Any]]] = {
    "filter": (".zarray", {"dtype": "|O", "filters": [{"id": "pickle"}]}),
    "filter with protocol": (".zarray", {"dtype": "|O", "filters": [{"id": "pickle", "protocol": 5}]}),
    "behind a text codec": (".zarray", {"dtype": "|O", "filters": [{"id": "vlen-utf8"}, {"id": "pickle"}]}),
    "before a text codec": (".zarray", {"dtype": "|O", "filters": [{"id": "pickle"}, {"id": "vlen-utf8"}]}),
    "compressor": (".zarray", {"dtype": "|O", "filters": [{"id": "vlen-utf8"}], "compressor": {"id": "pickle"}}),
    "of numbers": (".zarray", {"dtype": "<i4", "filters": [{"id": "pickle"}]}),
    "compressor of numbers": (".zarray", {"dtype": "<i4", "compressor": {"id": "pickle"}}),
    "numcodecs name": ("zarr.json", {"codecs": [documents.LITTLE, {"name": "numcodecs.pickle"}]}),
    "short name": ("zarr.json", {"codecs": [documents.LITTLE, {"name": "pickle"}]}),
    "alone": ("zarr.json", {"codecs": ["numcodecs.pickle"]}),
    "inside a shard": (
        "zarr.json",
        {"codecs": [documents.sharded([5, 5], codecs=[documents.LITTLE, {"name": "numcodecs.pickle"}])]},
    ),
    "in the index of a shard": (
        "zarr.json",
        {"codecs": [documents.sharded([5, 5], index_codecs=[documents.LITTLE, {"name": "numcodecs.pickle"}])]},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", PICKLES)
@pytest.mark.parametrize("consolidated", [False, True])
def test_pickle_is_refused(name: str, consolidated: bool, tmp_path: Path) -> None:
    marker = tmp_path / "marker"
    key, changes = PICKLES[name]
    document = documents.v2(fill_value=None, **changes) if key == ".zarray" else documents.v3(**changes)
    payload = pickle.dumps(Trap(marker))
    text = json.dumps(document)
    store = {f"a/{key}": text.encode()}
    store |= {f"a/{chunk}": payload for chunk in ("0.0", "c/0/0", "0.1", "c/0/1")}
    if key == ".zarray":
        group = {"zarr_format": 2}
        store[".zgroup"] = json.dumps(group).encode()
        whole = {"zarr_consolidated_format": 1, "metadata": {".zgroup": group, "a/.zarray": document}}
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


# -- leaving the store ------------------------------------------------------------------------------
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
    try:
        zarr.copy_store(source, zarr.DirectoryStore(str(target)))
    except errors.ZarrError:
        pass
    source.close()
    assert not Path("/tmp/omnizarr-evil").exists()
    inside = {path for path in tmp_path.rglob("*") if "evil" in path.name}
    assert inside == {archive}


def test_broken_zip(tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    with zarr.ZipStore(str(path), mode="w") as store:
        zarr.create_array(store=store, shape=(40, 40), dtype="f8")[...] = DATA
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


# -- arguments --------------------------------------------------------------------------------------
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
