"""zarr-python 2's names: its defaults, its classes, its functions on stores."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import omnizarr
from omnizarr.compat import zarr2 as zarr
from omnizarr.compat.zarr2 import meta, storage, util
from omnizarr.compat.zarr2.attrs import Attributes
from omnizarr.compat.zarr2.indexing import oindex, oindex_set, replace_ellipsis


@pytest.mark.parametrize(
    "make",
    [
        lambda: zarr.zeros(10),
        lambda: zarr.create(10),
        lambda: zarr.array([1, 2]),
        lambda: zarr.zeros_like(np.zeros(10)),
        lambda: zarr.open({}, shape=10),
        lambda: zarr.open_array({}, "w", shape=10),
        lambda: zarr.group().create_dataset("x", shape=10),
        lambda: zarr.open_group({}).zeros("x", shape=10),
    ],
)
def test_new_arrays_have_the_defaults_of_zarr_python_2(make: Any) -> None:
    array = make()
    assert isinstance(array, zarr.Array) and isinstance(array, omnizarr.Array)
    assert array.zarr_format == 2
    assert array.compressor == zarr.Blosc()
    assert array.write_empty_chunks


def test_an_existing_node_keeps_its_format() -> None:
    store: dict[str, bytes] = {}
    omnizarr.create_group(store, zarr_format=3)
    root = zarr.open_group(store)
    assert root.zarr_format == 3
    assert zarr.open(store, "r").zarr_format == 3
    assert isinstance(root.create_group("a"), zarr.Group)
    assert root["a"].zarr_format == 3


def test_members_of_groups_are_of_the_same_classes() -> None:
    root = zarr.group()
    root["a/b"] = [1, 2, 3]
    assert type(root["a"]) is zarr.Group and type(root["a/b"]) is zarr.Array
    assert [type(node) for _, node in root["a"].arrays()] == [zarr.Array]
    again = pickle.loads(pickle.dumps(root["a/b"]))
    assert type(again) is zarr.Array and again.write_empty_chunks


def test_an_array_at_the_root_has_no_name() -> None:
    array = zarr.zeros(3)
    assert array.name is None and array.basename is None
    assert zarr.zeros((), compressor=zarr.Zlib()).cdata_shape == (1,)
    assert zarr.zeros(()).compressor is None


def test_text_reads_as_objects() -> None:
    assert zarr.array(["a", "b"], dtype=str)[:].dtype == object


def test_overwriting_replaces_an_array_above() -> None:
    root = zarr.group()
    root.zeros("a", shape=3)
    with pytest.raises(ValueError, match="below the array"):
        root.zeros("a/b", shape=3)
    root.zeros("a/b", shape=3, overwrite=True)
    assert isinstance(root["a"], zarr.Group)


def test_h5py_keywords_of_a_dataset() -> None:
    root = zarr.group()
    assert root.create_dataset("a", shape=3, fillvalue=7).fill_value == 7
    with pytest.warns(UserWarning, match="ignoring keyword argument 'shuffle'"):
        root.create_dataset("b", shape=3, shuffle=True)
    assert root.create_dataset("c", shape=3, compression=zarr.Zlib(3)).compressor.level == 3
    with pytest.raises(TypeError, match="same argument"):
        root.create_dataset("d", shape=3, fillvalue=7, fill_value=8)


def test_n5_by_its_suffix_and_by_its_store(tmp_path: Path) -> None:
    assert zarr.open(str(tmp_path / "a.n5"), shape=4, chunks=2).zarr_format == "n5"
    made = zarr.zeros((4, 6), chunks=2, store=zarr.N5Store(tmp_path / "b"))
    assert made.zarr_format == "n5"
    assert json.loads((tmp_path / "b" / "attributes.json").read_bytes())["dimensions"] == [6, 4]


def test_a_store_of_n5_shows_the_keys_of_format_2(tmp_path: Path) -> None:
    store = zarr.N5Store(tmp_path / "a")
    root = zarr.group(store)
    array = root.create_dataset("x", data=np.arange(12).reshape(3, 4), chunks=2)
    assert store.listdir() == [".zgroup", "x"]
    assert store.listdir("x") == [".zarray", "0.0", "0.1", "1.0", "1.1"]
    assert ".zattrs" not in store
    document = json.loads(store["x/.zarray"])
    assert (document["shape"], document["chunks"], document["dtype"]) == ([3, 4], [2, 2], "<i8")
    assert array.compressor.get_config() == document["compressor"]
    assert array.compressor.decode(store["x/0.1"]).tolist() == [[2, 3], [6, 7]]
    assert store["x/0.1"] == store["x/1/0"]
    store["x/.zattrs"] = b'{"units": "m"}'
    assert root["x"].attrs["units"] == "m" and root["x"][:].tolist() == array[:].tolist()
    store["y/.zarray"] = store["x/.zarray"]
    assert root["y"].shape == (3, 4)
    del store["y/.zarray"]
    assert "y" not in root
    with pytest.raises(KeyError):
        store["y/.zarray"]


def test_a_value_has_the_shape_of_integers_and_slices() -> None:
    array = zarr.zeros((4, 3))
    row = np.arange(3)
    array[0] = row
    array[1:2] = row[None]
    array[...] = 7
    for write in (
        lambda: array.__setitem__(slice(2, 3), row),
        lambda: array.set_basic_selection(slice(0, 2), np.ones((1, 3))),
    ):
        with pytest.raises(ValueError, match="shape"):
            write()
    assert (array[:] == 7).all()


def test_pickles_are_read_where_numcodecs_may_read_them(monkeypatch: pytest.MonkeyPatch) -> None:
    store: dict[str, bytes] = {}
    monkeypatch.setattr("numcodecs.pickles.ALLOW_UNSAFE_PICKLE_DECODE", False)
    with pytest.raises(omnizarr.errors.PickleCodecDisabledError):
        storage.init_array(store, shape=2, dtype=object, object_codec=zarr.Pickle())
    monkeypatch.setattr("numcodecs.pickles.ALLOW_UNSAFE_PICKLE_DECODE", True)
    storage.init_array(store, shape=2, dtype=object, object_codec=zarr.Pickle())
    array = zarr.Array(store)
    array[:] = [{"a": 1}, {"b": 2}]
    assert zarr.open(store)[:].tolist() == [{"a": 1}, {"b": 2}]
    with pytest.raises(omnizarr.errors.PickleCodecDisabledError):
        omnizarr.open(store)[:]


def test_arguments_that_zarr_python_2_warns_of() -> None:
    with pytest.warns(FutureWarning, match="object_codec"):
        zarr.create(3, dtype=object, filters=[zarr.JSON()])
    with pytest.warns(UserWarning, match="replaces compression"):
        assert zarr.create(3, compressor=zarr.Zlib(9), compression="bz2").compressor.level == 9
    with pytest.warns(UserWarning, match="integers"):
        assert zarr.create((3.0,), chunks=(2.0,)).chunks == (2,)
    with pytest.warns(DeprecationWarning, match="string"):
        Attributes({})[1] = "a"  # type: ignore[index]  # what is warned of
    with pytest.raises(ValueError, match="unit"):
        zarr.create(3, dtype="M8")
    with pytest.raises(ValueError, match="takes a str"):
        zarr.full(3, fill_value=b"a", dtype="U1")


def test_stores_have_the_arguments_and_attributes_of_zarr_python_2(tmp_path: Path) -> None:
    assert type(zarr.open(str(tmp_path / "a"), shape=3).store) is zarr.DirectoryStore
    assert isinstance(zarr.NestedDirectoryStore(path=str(tmp_path)), zarr.DirectoryStore)
    file = tmp_path / "file"
    file.write_bytes(b"x")
    with pytest.raises(ValueError, match="not a directory"):
        zarr.DirectoryStore(str(file))
    with pytest.raises(ValueError, match="storage_options"):
        zarr.open_group(str(tmp_path / "b"), mode="w", storage_options={"a": 1})
    mapper = pytest.importorskip("fsspec").get_mapper(str(tmp_path / "c"))
    store = zarr.group(mapper).store
    assert type(store) is storage.FSStore
    assert store.path == str(tmp_path / "c") and dict(store.map) == dict(mapper)


def test_an_array_like_another_has_no_fill_value() -> None:
    root = zarr.group()
    assert root.empty_like("a", zarr.ones(3)).fill_value is None


def test_filters_are_those_of_the_document() -> None:
    array = zarr.create(10, filters=[zarr.codecs.Adler32()], compressor=zarr.Zlib(1))
    assert array.filters == [zarr.codecs.Adler32()] and array.compressor == zarr.Zlib(1)
    assert zarr.create(10).filters is None
    assert omnizarr.create(10).as_type(zarr.Array).filters is None


def test_values_are_read_as_the_kind_of_meta_array() -> None:
    class Marked(np.ndarray):  # type: ignore[type-arg]  # NumPy's own subclasses have none
        pass

    root = zarr.group(meta_array=np.zeros(()).view(Marked))
    root["a"] = [1, 2, 3]
    assert type(root["a"][:]) is Marked and type(root.meta_array) is Marked
    assert type(root["a"].oindex[[0, 2]]) is Marked and type(root["a"][0]) is np.int64
    assert type(zarr.open(root.store)["a"][:]) is np.ndarray


def test_reports_of_arrays_and_groups() -> None:
    root = zarr.group(store={}, chunk_store={}, synchronizer=zarr.ThreadSynchronizer())
    array = root.create_group("foo").zeros("bar", shape=10, filters=[zarr.codecs.Adler32()])
    rows = dict(array.info_items())
    assert rows["Filter [0]"] == "Adler32()" and rows["Chunks initialized"] == "0/1"
    assert list(rows)[:2] == ["Name", "Type"] and "Storage ratio" in rows
    assert dict(root.info_items())["Groups"] == "foo" and "Chunk store type" in rows
    assert "No. bytes" in repr(array.info) and "<td>" in array.info._repr_html_()
    assert str(root.tree()) == "/\n └── foo\n     └── bar (10,) float64"
    assert bytes(zarr.tree(root["foo"], level=1)) == b"foo\n +-- bar (10,) float64"
    assert "bar" in root.tree()._repr_html_()


def test_a_store_of_version_3_makes_nodes_of_the_draft() -> None:
    store = zarr.hierarchy.MemoryStoreV3()
    zarr.group(store, path="a", zarr_version=3)
    assert "meta/root/a.group.json" in store


def test_a_dimension_separator_that_the_store_does_not_have(tmp_path: Path) -> None:
    store = zarr.NestedDirectoryStore(str(tmp_path))
    with pytest.raises(ValueError, match="dimension_separator"):
        zarr.create(3, store=store, dimension_separator=".")


def test_the_digest_of_an_array_of_n5_is_that_of_zarr_python_2(tmp_path: Path) -> None:
    store = zarr.N5Store(tmp_path / "a")
    array = zarr.create(1050, chunks=100, dtype="<i4", compressor=zarr.Zlib(1), store=store)
    array.attrs["foo"] = "bar"
    assert array.hexdigest() == "4fdf4475d786d6694110db5619acd30c80dfc372"


def test_a_group_loads_its_arrays_when_they_are_asked_for() -> None:
    store = zarr.KVStore({})
    zarr.save(store, foo=np.arange(3), bar=np.arange(2))
    loaded = zarr.load(store)
    assert sorted(loaded) == ["bar", "foo"] and len(loaded) == 2 and "baz" not in loaded
    assert loaded["foo"].tolist() == [0, 1, 2] and loaded["foo"] is loaded["foo"]
    assert repr(loaded) == "<LazyLoader: bar, foo>"
    assert zarr.load(store, "bar").tolist() == [0, 1]


def test_a_mapping_gives_its_values_as_they_are() -> None:
    given: dict[str, Any] = {"a": 1, "b/c": 2}
    store = zarr.KVStore(given)
    store["d"] = value = object()
    assert store["d"] is value and store["a"] == 1
    assert storage.getsize(store) == -1
    storage.rename(given, "b", "e/f")
    assert set(given) == {"a", "d", "e/f/c"}
    assert type(zarr.group({}).store) is zarr.KVStore
    with pytest.warns(DeprecationWarning, match="MemoryStore"):
        pickle.loads(pickle.dumps(zarr.DictStore()))
    with pytest.warns(UserWarning, match="listdir"):
        assert storage.listdir(given) == ["a", "d", "e"]


def test_functions_on_stores() -> None:
    store = storage.KVStore({})
    storage.init_group(store)
    storage.init_array(store, shape=10, chunks=5, path="a/b", compressor="none")
    assert storage.contains_group(store) and storage.contains_group(store, "a")
    assert storage.contains_array(store, "a/b") and not storage.contains_array(store, "a")
    assert zarr.Array(store, "a/b").compressor is None
    assert storage.listdir(store) == [".zgroup", "a"]
    assert storage.getsize(store, "a/b/.zarray") == len(store["a/b/.zarray"])
    assert storage.getsize(object()) == -1  # type: ignore[arg-type]
    storage.rename(store, "a", "c")
    assert storage.contains_array(store, "c/b")
    storage.rmdir(store, "c")
    assert list(store) == [".zgroup"]
    with pytest.raises(zarr.errors.ContainsGroupError):
        storage.init_group(store)


def test_a_format_1_array_becomes_one_of_format_2() -> None:
    store: dict[str, bytes] = {}
    omnizarr.create(4, chunks=2, store=store, zarr_format=1)[:] = 5
    storage.migrate_1to2(store)
    assert "meta" not in store and ".zattrs" in store
    assert zarr.open_array(store, "r").zarr_format == 2
    assert zarr.open_array(store, "r")[:].tolist() == [5, 5, 5, 5]


def test_attributes_of_a_key() -> None:
    store: dict[str, bytes] = {}
    attributes = Attributes(store, key=".zattrs")
    attributes.update(a=1, b=2)
    del attributes["a"]
    attributes["c"] = [3]
    assert attributes.asdict() == {"b": 2, "c": [3]} == json.loads(store[".zattrs"])
    attributes.put({"d": 4})
    assert Attributes(store).asdict() == {"d": 4}
    with pytest.raises(PermissionError):
        Attributes(store, read_only=True)["a"] = 1
    assert isinstance(zarr.group().attrs, Attributes)


@pytest.mark.parametrize(
    "dtype", ["f8", "c16", "i4", "?", "S3", "M8[s]", [("a", "f4"), ("b", "S2")]]
)
def test_documents_come_back(dtype: Any) -> None:
    kind = np.dtype(dtype)
    given = {
        "shape": (4,), "chunks": (2,), "dtype": kind, "compressor": None, "order": "C",
        "fill_value": np.zeros((), kind)[()], "filters": None,
    }  # fmt: skip
    document = meta.encode_array_metadata(given)
    assert meta.decode_array_metadata(document) == {**given, "zarr_format": 2}
    assert omnizarr.open_array({".zarray": document}, "r").dtype == kind
    with pytest.raises(zarr.MetadataError):
        meta.decode_array_metadata(document.replace(b'"zarr_format": 2', b'"zarr_format": 1'))


def test_arguments_mean_what_they_mean_to_zarr_python_2() -> None:
    assert util.normalize_chunks((30, -1), (100, 20, 10), 1) == (30, 20, 10)
    assert util.normalize_resize_args((100, 100), (200, None)) == (200, 100)
    assert util.human_readable_size(1 << 20) == "1.0M"
    assert util.is_total_slice((slice(0, 10), 0), (10, 1))
    assert not util.is_total_slice(slice(0, 9), (10,))
    assert util.normalize_fill_value(0, "U3") == ""
    with pytest.raises(ValueError, match="unit"):
        util.normalize_dtype("M8", None)
    chunks = util.guess_chunks((10_000, 10_000), 8)
    assert 128 * 1024 <= 8 * np.prod(chunks) <= 64 * 1024 * 1024


def test_orthogonal_selections_of_numpy() -> None:
    values = np.arange(24).reshape(4, 6)
    array = zarr.array(values)
    for selection in [([0, 2], slice(1, 4)), (1, [0, 5]), (..., [True] + [False] * 5)]:
        assert np.array_equal(oindex(values, selection), array.oindex[selection])
    oindex_set(values, ([0, 2], [1, 3]), 7)
    array.oindex[[0, 2], [1, 3]] = 7
    assert np.array_equal(values, array[:])
    assert replace_ellipsis((..., 1), (4, 6)) == (slice(None), 1)


def test_no_bytes_are_the_record_of_zeros() -> None:
    array = zarr.zeros(2, dtype=[("a", "S3"), ("b", "i4")], fill_value=b"")
    assert array[0].tolist() == (b"", 0)


def test_missing_consolidated_metadata_is_a_key_error(tmp_path: Path) -> None:
    zarr.group(str(tmp_path))
    with pytest.raises(KeyError, match=r"\.zmetadata"):
        zarr.open_consolidated(str(tmp_path))
    zarr.consolidate_metadata(str(tmp_path))
    assert list(zarr.open_consolidated(str(tmp_path))) == []
