"""`compat.zarr3`'s `Array` and `Group`: omnizarr's nodes, with zarr-python's texts and refusals."""

from __future__ import annotations

import pickle
import warnings
from typing import Any

import numpy as np
import pytest

import omnizarr
from omnizarr.compat import zarr3
from omnizarr.compat.zarr3 import codecs
from omnizarr.compat.zarr3.core.group import GroupMetadata
from omnizarr.compat.zarr3.errors import ZarrUserWarning
from omnizarr.compat.zarr3.storage import MemoryStore

RECTILINEAR: Any = [[10, 20]]


def _hierarchy() -> Any:
    root = zarr3.group(path="root")
    a = root.create_group("a")
    a.create_array("x", shape=(2,), dtype="f8")
    a.create_group("b").create_array("y", shape=(), dtype="i1")
    root.create_array("c", shape=(3, 4), dtype="u2")
    return root


def test_nodes_are_of_these_classes_whatever_gives_them() -> None:
    root = _hierarchy()
    assert type(root) is zarr3.Group
    assert type(root["a"]) is type(root.create_group("d")) is zarr3.Group
    assert type(root["c"]) is type(root.require_array("c", shape=(3, 4))) is zarr3.Array
    assert {type(node) for _, node in root.members(max_depth=None)} == {zarr3.Array, zarr3.Group}
    assert type(zarr3.open_like(root["c"], {})) is zarr3.Array
    nodes: dict[str, Any] = {"n": {"shape": (2,), "dtype": "i4"}}
    assert zarr3.Array in {type(node) for _, node in root.create_hierarchy(nodes)}
    made = dict(zarr3.create_hierarchy(store=MemoryStore(), nodes=nodes))
    assert type(made["n"]) is zarr3.Array


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_a_hierarchy_is_made_of_documents(zarr_format: int) -> None:
    array = zarr3.create_array(
        {}, shape=(3,), dtype="i2", fill_value=7, attributes={"x": 1}, zarr_format=zarr_format
    )
    group = GroupMetadata(attributes={"y": 2}, zarr_format=zarr_format)
    nodes: dict[str, Any] = {"g": group, "g/a": array.metadata}
    store = MemoryStore()
    made = dict(zarr3.create_hierarchy(store=store, nodes=nodes))
    assert made["g"].zarr_format == made["g/a"].zarr_format == zarr_format
    found: Any = zarr3.open_group(store, path="g", mode="r+")
    assert dict(found.attrs) == {"y": 2}
    assert dict(found["a"].attrs) == {"x": 1}
    assert found["a"][:].tolist() == [7, 7, 7]
    below = dict(found.create_hierarchy({"b": array.metadata}))
    assert below["b"].shape == found["b"].shape == (3,)


def test_nodes_of_omnizarr_count_too() -> None:
    array, group = omnizarr.zeros(3), omnizarr.group()
    assert isinstance(array, zarr3.Array)
    assert isinstance(group, zarr3.Group)
    assert not isinstance(array, zarr3.Group)

    class Mine(zarr3.Array):
        """A user's class."""

    assert not isinstance(array, Mine)
    assert type(array.as_type(Mine)) is Mine


def test_a_pickle_gives_the_class_back(tmp_path: Any) -> None:
    array = zarr3.create_array(tmp_path / "a", shape=(2,), dtype="i4")
    again = pickle.loads(pickle.dumps(array))
    assert type(again) is zarr3.Array
    assert again == array


def test_reprs_name_the_place() -> None:
    root = _hierarchy()
    assert repr(root) == f"<Group {root.store}/root>"
    assert repr(root["c"]) == f"<Array {root.store}/root/c shape=(3, 4) dtype=uint16>"


def test_a_tree(monkeypatch: pytest.MonkeyPatch) -> None:
    root = _hierarchy()
    drawn = (
        "/root\n"
        "├── a\n"
        "│   ├── b\n"
        "│   │   └── y () int8\n"
        "│   └── x (2,) float64\n"
        "└── c (3, 4) uint16\n"
    )
    assert repr(root.tree(plain=True)) == drawn
    assert repr(root.tree(level=0, plain=True)) == "/root\n├── a\n└── c (3, 4) uint16\n"
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    bold = repr(root.tree(level=0))
    assert bold.splitlines()[0] == "\x1b[1m/root\x1b[0m"
    assert bold.splitlines()[2] == "└── \x1b[1mc\x1b[0m (3, 4) uint16"
    with pytest.raises(NotImplementedError):
        root.tree(expand=True)


def test_a_tree_of_many_nodes_ends() -> None:
    root = _hierarchy()
    drawn = repr(root.tree(max_nodes=3, plain=True))
    assert drawn.startswith("Truncated at max_nodes=3")
    assert drawn.count("──") == 3
    assert "Truncated" not in repr(root.tree(max_nodes=5))


def test_a_tree_in_a_notebook_is_escaped() -> None:
    root = zarr3.group()
    root.create_group("<i>&")
    bundle = root.tree()._repr_mimebundle_()
    assert "<b>&lt;i&gt;&amp;</b>" in bundle["text/html"]
    assert "<i>&" in bundle["text/plain"]


def test_reports() -> None:
    array = zarr3.create_array(
        MemoryStore(), shape=(400,), chunks=(100,), shards=(200,), dtype="f8", compressors=None
    )
    shown = dict(array.info.items())
    assert shown["Type"] == "Array"
    assert shown["Data type"] == "Float64(endianness='little')"
    assert (shown["Shard shape"], shown["Chunk shape"]) == ("(200,)", "(100,)")
    assert (shown["Store type"], shown["No. bytes"]) == ("MemoryStore", "3200 (3.1K)")
    assert "Shards Initialized" not in shown
    array[:100] = 1
    counted = dict(array.info_complete().items())
    assert counted["Shards Initialized"] == "1"
    assert float(counted["Storage ratio"]) > 1
    lines = repr(array.info).splitlines()
    assert lines[0] == "Type               : Array"
    assert {line.index(" : ") for line in lines} == {18}

    group = _hierarchy()
    assert dict(group.info.items())["Name"] == "/root"
    listed = dict(group.info_complete().items())
    assert [listed[f"No. {kind}"] for kind in ("members", "arrays", "groups")] == ["5", "3", "2"]


def test_chunks_of_several_lengths_are_switched_on() -> None:
    with pytest.raises(ValueError, match="experimental and disabled by default"):
        zarr3.create_array({}, shape=(30,), chunks=RECTILINEAR, dtype="i4")
    with pytest.raises(ValueError, match="experimental and disabled by default"):
        zarr3.group().create_array("a", shape=(30,), chunks=RECTILINEAR, dtype="i4")
    store = MemoryStore()
    with zarr3.config.set({"array.rectilinear_chunks": True}):
        array = zarr3.create_array(store, shape=(30,), chunks=RECTILINEAR, dtype="i4")
        assert dict(array.info.items())["Chunk shape"] == "<variable>"
        with pytest.raises(ValueError, match="Rectilinear chunks with sharding"):
            zarr3.create_array({}, shape=(30,), chunks=RECTILINEAR, shards=(30,), dtype="i4")
    assert zarr3.open_array(store, mode="r").shape == (30,)  # what is stored is read
    uniform: Any = [[15, 15]]
    for create in (zarr3.create_array, zarr3.create):
        with pytest.raises(ValueError, match="Zarr format 2 does not support rectilinear"):
            create(store={}, shape=(30,), chunks=uniform, dtype="i4", zarr_format=2)


def test_damaged_data_are_a_value_error() -> None:
    store: dict[str, Any] = {}
    array = zarr3.create_array(store, shape=(8,), chunks=(2,), shards=(8,), dtype="i4")
    array[:] = 1
    whole = store["c/0"].to_bytes()
    inner = omnizarr.open_array({"zarr.json": store["zarr.json"].to_bytes(), "c/0": whole[:3]})
    with pytest.raises(omnizarr.errors.DecodeError) as plain:
        inner[:]
    assert not isinstance(plain.value, ValueError)
    for stored, expected in ((whole[:3], "too short to hold its index"), (whole[:-1], "checksum")):
        store["c/0"] = zarr3.buffer.cpu.Buffer.from_bytes(stored)
        for read in (array.__getitem__, array.oindex.__getitem__, array.get_basic_selection):
            with pytest.raises(ValueError, match=expected) as caught:
                read(slice(0, 8))
            assert isinstance(caught.value, omnizarr.errors.DecodeError)
            assert caught.value.location.key == "c/0"
            assert type(pickle.loads(pickle.dumps(caught.value))) is type(caught.value)
        with pytest.raises(ValueError, match=expected):
            array[:1] = 2


def test_chunks_divide_shards() -> None:
    one: Any = np.array(4)
    assert zarr3.create_array({}, shape=(8,), chunks=one, dtype="u1").chunks == (4,)
    assert zarr3.create_array({}, shape=(8,), chunks=(4,), shards=(-1,), dtype="u1").shards == (8,)
    with pytest.raises(ValueError, match="Chunk edge length 16 in dimension 1 is not divisible"):
        zarr3.create_array({}, shape=(16, 16), shards=(16, 16), chunks=(8, 9), dtype="u1")
    with pytest.raises(ValueError, match="same number of dimensions"):
        zarr3.create_array({}, shape=(16, 16), shards=(16, 16), chunks=(8,), dtype="u1")


def test_codecs_around_shards_are_warned_of() -> None:
    store = MemoryStore()
    sharding = codecs.ShardingCodec(chunk_shape=(8,))
    with pytest.warns(ZarrUserWarning, match="disables partial reads and writes"):
        zarr3.create_array(
            store,
            shape=(16,),
            chunks=(16,),
            dtype="u1",
            serializer=sharding,
            compressors=[codecs.GzipCodec()],
        )
    with pytest.warns(ZarrUserWarning) as caught:
        zarr3.open_array(store, mode="r")
    assert len(caught) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        zarr3.create_array({}, shape=(16,), chunks=(8,), shards=(16,), dtype="u1")
