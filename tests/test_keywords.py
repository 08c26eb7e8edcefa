"""No public callable swallows a keyword: each is honoured, or refused with the nearest name."""

from __future__ import annotations

import asyncio
import inspect
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import omnizarr as zarr
import omnizarr.testing
from omnizarr import aio
from omnizarr.errors import IgnoredArgumentWarning
from omnizarr.keywords import nearest


def _array() -> zarr.Array:
    array = zarr.create_array({}, shape=(4, 4), chunks=2, dtype="i4")
    array[...] = np.arange(16).reshape(4, 4)
    return array


def _group() -> zarr.Group:
    group = zarr.group()
    group.create_array("a", shape=3, dtype="i4")
    return group


MASK = np.eye(4, dtype=bool)
WRONG: dict[str, tuple[Callable[[], Any], str]] = {
    "ProcessSynchronizer": (lambda: zarr.ProcessSynchronizer(pth="x"), "path"),
    "create_array, the beginning of a name": (
        lambda: zarr.create_array({}, shape=3, fill=1),  # type: ignore[call-arg]
        "fill_value",
    ),
    "get_basic_selection": (lambda: _array().get_basic_selection(0, feilds="x"), "fields"),
    "get_orthogonal_selection": (lambda: _array().get_orthogonal_selection(0, ot=1), "out"),
    "get_coordinate_selection": (
        lambda: _array().get_coordinate_selection((0, 0), prototyp=1), "prototype",
    ),
    "get_mask_selection": (lambda: _array().get_mask_selection(MASK, feilds=1), "fields"),
    "get_block_selection": (lambda: _array().get_block_selection(0, feilds=1), "fields"),
    "set_basic_selection": (lambda: _array().set_basic_selection(0, 1, feilds=1), "fields"),
    "set_orthogonal_selection": (
        lambda: _array().set_orthogonal_selection(0, 1, feilds=1), "fields",
    ),
    "set_coordinate_selection": (
        lambda: _array().set_coordinate_selection((0, 0), 1, feilds=1), "fields",
    ),
    "set_mask_selection": (lambda: _array().set_mask_selection(MASK, 1, feilds=1), "fields"),
    "set_block_selection": (lambda: _array().set_block_selection(0, 1, feilds=1), "fields"),
    "read": (lambda: _array().read(selektion=0), "selection"),
    "resize": (lambda: _array().resize(new_shap=3), "new_shape"),
    "append": (lambda: _array().append([1], axes=0), "axis"),
    "astype": (lambda: _array().astype(dtyp="f4"), "dtype"),
    "islice": (lambda: _array().islice(star=1), "start"),
    "lazy": (lambda: _array().lazy[0].read(selektion=0), "selection"),
    "update_attributes": (lambda: _array().update_attributes(new_atributes={}), "new_attributes"),
    "attrs.put": (lambda: _array().attrs.put(atributes={}), "attributes"),
    "Array of a setting": (lambda: zarr.Array(_array().store, txt="bytes"), "text"),
    "Group of a setting": (lambda: zarr.Group(_group().store, txt="bytes"), "text"),
    "get": (lambda: _group().get("x", defalt=1), "default"),
    "arrays": (lambda: _group().arrays(recurs=True), "recurse"),
    "visit": (lambda: _group().visit(fun=print), "func"),
    "move": (lambda: _group().move("a", dst="b"), "dest"),
    "require_group": (lambda: _group().require_group("x", overwrit=True), "overwrite"),
    "create_dataset": (lambda: _group().create_dataset("x", shpe=3), "shape"),
    "Group.array": (lambda: _group().array("x", [1], cunks=3), "chunks"),
    "Group.zeros": (lambda: _group().zeros("x", shape=3, cunks=3), "chunks"),
    "Group.full": (lambda: _group().full("x", shape=3, fill_value=1, cunks=3), "chunks"),
    "Group.full_like": (lambda: _group().full_like("x", [1], 2, cunks=3), "chunks"),
    "members": (lambda: _group().members(max_dept=1), "max_depth"),
    "Group.tree": (lambda: _group().tree(max_node=1), "max_nodes"),
    "tree": (lambda: zarr.tree(_group(), levl=1), "level"),
    "create_groups": (lambda: _group().create_groups("x", overwrit=True), "overwrite"),
    "create_group": (lambda: _group().create_group("x", overwrit=True), "overwrite"),
    "create_array": (lambda: _group().create_array("x", shpe=3), "shape"),
    "require_array": (lambda: _group().require_array("x", shape=3, cunks=3), "chunks"),
    "copy": (
        lambda: zarr.copy(_array(), zarr.group(), "x", dry_run=True, cunks=2), "chunks",
    ),
    "copy_all": (
        lambda: zarr.copy_all(zarr.group(), zarr.group(), cunks=2), "chunks",
    ),
    "open_group": (lambda: zarr.open_group({}, synchroniser=1), "synchronizer"),
    "open_group of an array's": (lambda: zarr.open_group({}, chunks=(3,)), ""),
    "Array": (lambda: zarr.Array(_array().store, chunks=(3,)), ""),
    "Group": (lambda: zarr.Group(_group().store, shape=(3,)), ""),
    "load": (lambda: zarr.load(_array().store, cunks=1), "chunks"),
    "save_array": (lambda: zarr.save_array({}, np.ones(3), cunks=1), "chunks"),
    "save with settings": (lambda: zarr.save({}, np.ones(3), chunks=(2,)), ""),
    "save_group with settings": (lambda: zarr.save_group({}, a=np.ones(3), order="F"), ""),
    "from_array": (lambda: zarr.from_array({}, data=np.ones(3), shape=(4,)), ""),
    "config": (lambda: zarr.create_array({}, shape=3, config={"ordr": "F"}), "order"),
    "with_config": (lambda: _array().with_config({"ordr": "F"}), "order"),
    "meta_array": (lambda: zarr.create_array({}, shape=3, meta_array="cupy"), ""),
    "prototype": (lambda: _array().get_basic_selection(0, prototype="gpu"), ""),
    "storage_options": (
        lambda: _group().create_array("x", shape=3, storage_options={"key": "x"}), "",
    ),
    "create_hierarchy": (
        lambda: zarr.create_hierarchy(store={}, nodes={"g": {"atributes": {}}}), "attributes",
    ),
    "aio.create_array": (lambda: asyncio.run(aio.create_array({}, shape=3, cunks=2)), "chunks"),
    "aio.open_group": (lambda: asyncio.run(aio.open_group({}, synchroniser=2)), "synchronizer"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_an_unknown_keyword_is_a_type_error(name: str) -> None:
    call, near = WRONG[name]
    with pytest.raises(TypeError, match=f"did you mean '{near}'" if near else None):
        call()


FUNCTIONS = [
    getattr(zarr, name) for name in zarr.__all__ if inspect.isfunction(getattr(zarr, name))
]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_every_public_function_names_the_nearest_keyword(function: Callable[..., Any]) -> None:
    options = [
        each.name
        for each in inspect.signature(function).parameters.values()
        if each.kind is each.KEYWORD_ONLY or each.default is not each.empty
    ]
    assert options
    for option in options:
        with pytest.raises(TypeError, match=rf"{function.__name__}\(\).*{option}_.*did you mean"):
            function(**{f"{option}_": 2}, **({"store": {}} if "save" in function.__name__ else {}))


@pytest.mark.parametrize(
    "function",
    [zarr.create_array, zarr.create, zarr.open, zarr.open_array, zarr.array, zarr.from_array,
     zarr.zeros, zarr.full, zarr.ones_like, zarr.full_like, zarr.save_array, zarr.copy],
    ids=lambda function: function.__name__,
)  # fmt: skip
def test_signatures_spell_the_keywords_out(function: Callable[..., Any]) -> None:
    parameters = inspect.signature(function).parameters
    assert {"chunks", "shards", "compressors", "fill_value", "attributes"} <= set(parameters)
    assert all(each.kind is not each.VAR_KEYWORD for each in parameters.values())


def test_create_array_documents_every_keyword() -> None:
    heads = re.findall(r"^    ([\w*, ]+)$", zarr.create_array.__doc__ or "", re.MULTILINE)
    documented = {name for head in heads for name in head.split(", ")}
    assert set(inspect.signature(zarr.create_array).parameters) <= documented


def _constructors() -> list[type]:
    """The stores and codecs whose constructor passes no keyword on to another library."""
    modules = (zarr.stores, zarr.codecs, zarr.testing)
    found = {getattr(each, name) for each in modules for name in each.__all__}
    return sorted(
        (
            each
            for each in found
            if inspect.isclass(each)
            and (issubclass(each, zarr.Store) or each.__name__.endswith("Codec"))
            and each not in (zarr.Store, zarr.codecs.Codec)
            and "VAR_KEYWORD" not in {p.kind.name for p in _parameters(each)}
        ),
        key=lambda each: each.__name__,
    )


def _parameters(each: type) -> list[inspect.Parameter]:
    return list(inspect.signature(each).parameters.values())


@pytest.mark.parametrize("kind", _constructors(), ids=lambda kind: kind.__name__)
def test_every_constructor_names_the_nearest_keyword(kind: type) -> None:
    name = _parameters(kind)[-1].name
    with pytest.raises(TypeError, match=f"did you mean '{name}'"):
        kind(**{name + "x": 1})


def test_other_functions_name_the_nearest_keyword() -> None:
    for call in (
        lambda: zarr.stores.as_store({}, mod="r"),
        lambda: zarr.limits.set(max_dimension=3),
        lambda: zarr.stores.DBMStore("unused", timeuot=3),
        lambda: aio.list_keys({}, storage_option={}),
    ):
        with pytest.raises(TypeError, match="did you mean"):
            call()


def test_a_misspelt_data_type_names_the_nearest_one() -> None:
    with pytest.raises(zarr.errors.UnknownDataTypeError, match="did you mean 'float32'"):
        zarr.create_array(None, shape=3, dtype="flot32")


def test_convert_says_how_to_convert_in_place() -> None:
    with pytest.raises(TypeError, match="leave destination out"):
        zarr.convert({}, in_place=True)  # type: ignore[call-arg]


def test_an_array_of_a_misspelt_name_is_saved() -> None:
    zarr.save(store := {}, np.ones(2), paths=[1, 2], zarr_formats=np.ones(1))
    assert sorted(zarr.load(store)) == ["arr_0", "paths", "zarr_formats"]


@pytest.mark.parametrize(
    "call",
    [
        lambda store: zarr.open(store, shape=9),
        lambda store: zarr.open_array(store, "a", 9),
        lambda store: zarr.open_like(np.ones(9), store),
        lambda store: zarr.load(store, shape=9),
        lambda _: zarr.zeros(9, object_codec="json2", dtype="i4"),
        lambda _: zarr.create_array(shape=9, object_codec="json2", dtype="i4"),
    ],
)
def test_a_warning_names_the_line_of_the_caller(call: Callable[[Any], Any]) -> None:
    store = zarr.array([1, 2]).store
    with pytest.warns() as caught:
        call(store)
    assert {each.filename for each in caught} == {__file__}


def test_keywords_of_zarr_python_that_choose_nothing() -> None:
    root = zarr.consolidate_metadata(_group().store, metadata_key=".zmetadata")
    assert list(zarr.open_consolidated(root.store, use_consolidated=True)) == ["a"]
    with pytest.raises(ValueError, match="use_consolidated"):
        zarr.open_consolidated(root.store, use_consolidated=False)
    with pytest.raises(zarr.errors.MetadataError, match="metadata_key"):
        zarr.open_consolidated(root.store, metadata_key="meta")
    assert zarr.open_array(_array().store, partial_decompress=True).shape == (4, 4)


@pytest.mark.parametrize(
    "arguments",
    [{"on_missing": "error"}, {"text": "utf8"}, {"write_empty_chunks": "no"}, {"order": "A"}],
    ids=str,
)
def test_a_wrong_value_is_refused(arguments: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=f"{next(iter(arguments))} must be"):
        zarr.create_array({}, shape=3, dtype=str, **arguments)


def test_no_public_callable_takes_names_that_it_forgets() -> None:
    found = [
        f"{kind.__name__}.{name}"
        for kind in (zarr.Array, zarr.Group, aio.AsyncArray, aio.AsyncGroup)
        for name, method in inspect.getmembers(kind, callable)
        if not name.startswith("__")
        for each in inspect.signature(method).parameters.values()
        if each.kind is each.VAR_KEYWORD and each.name == "_"
    ]
    assert found == []


def test_keywords_of_both_generations_mean_something() -> None:
    array = _array()
    assert array.get_mask_selection(selection=MASK).tolist() == [0, 5, 10, 15]
    assert array.get_mask_selection(mask=MASK).tolist() == [0, 5, 10, 15]
    array.set_mask_selection(selection=MASK, value=-1)
    assert array[0, 0] == -1
    for call in (
        lambda: array.get_mask_selection(),
        lambda: array.get_mask_selection(MASK, selection=MASK),
        lambda: array.set_mask_selection(MASK),
    ):
        with pytest.raises(TypeError, match=r"mask|value"):
            call()
    group = _group()
    group.create_group("g/h")
    assert [name for name, _ in group.members(None, use_consolidated_for_children=False)] == [
        "a", "g", "g/h",
    ]  # fmt: skip
    with pytest.raises(ValueError, match="max_depth"):
        group.members(-1)
    assert str(group.tree(max_nodes=2)).splitlines() == [
        "/", " ├── a (3,) int32", " └── g", "     └── …",
    ]  # fmt: skip
    assert "<details>" in group.tree(expand=False)._repr_html_()
    assert "<details open>" in zarr.tree(group, expand=True, plain=True)._repr_html_()


def test_the_prototype_of_zarr_python_is_taken_where_it_names_numpy() -> None:
    buffers = pytest.importorskip("zarr.core.buffer", reason="zarr-python 3 is not installed")
    prototype = buffers.default_buffer_prototype()
    assert _array().get_basic_selection((0, 1), prototype=prototype) == 1


def test_read_missing_chunks_of_zarr_python() -> None:
    array = zarr.create_array({}, shape=3, dtype="i4", config={"read_missing_chunks": False})
    with pytest.raises(zarr.errors.ChunkNotFoundError):
        array[:]


def test_nearest() -> None:
    assert nearest("cunks", ["chunks"]) == "; did you mean 'chunks'?"
    assert nearest("x" * 1000, ["chunks"]) == ""


# -- an array that is there already ---------------------------------------------------------------
@pytest.mark.parametrize("mode", ["r", "r+", "a"])
@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"shape": (9,)}, r"shape \(6,\), not \(9,\)"),
        ({"shape": 6, "dtype": "f8"}, "dtype int32, not float64"),
        ({"shape": 6, "chunks": 2}, r"chunks \(3,\), not \(2,\)"),
        ({"shape": 6, "fill_value": 1}, "fill_value 7, not 1"),
        ({"data": np.ones(2)}, r"shape \(6,\), not \(2,\).*data was not written"),
        ({"data": np.arange(6, dtype="i4")}, "data was not written"),
        ({"data": [1, 2]}, "data was not written"),
        ({"attributes": {"a": 1}}, "attributes {}, not {'a': 1}"),
        ({"dimension_names": "x"}, r"dimension_names None, not \('x',\)"),
        ({"compressors": "gzip"}, "codecs .*Zstd.*, not .*Gzip.*compressors="),
        ({"compressor": None}, "codecs .*Zstd.*, not .*compressor="),
        ({"compression": "gzip", "compression_opts": 3}, "codecs .*Zstd.*, not"),
        ({"codecs": ["bytes"]}, "codecs .*Zstd.*, not .*codecs="),
        ({"filters": [{"name": "numcodecs.delta", "configuration": {"dtype": "<i4"}}]}, "filters="),
        ({"compressors": "nonsense"}, "compressors="),
        ({"shards": 6}, r"shards None, not \(6,\)"),
        ({"dimension_separator": "."}, "chunk keys"),
        ({"shards": 6, "fill_value": 1, "data": [1]}, "shards None.*; fill_value 7.*; data was"),
    ],
)
def test_an_array_that_differs_is_opened_with_a_warning(
    mode: str, arguments: dict[str, Any], told: str
) -> None:
    store = zarr.create_array({}, shape=6, chunks=3, dtype="i4", fill_value=7).store
    for function in (zarr.open, zarr.open_array):
        with pytest.warns(IgnoredArgumentWarning, match=told) as caught:
            assert function(store, mode=mode, **arguments).shape == (6,)
        assert Path(caught[0].filename) == Path(__file__)


@pytest.mark.parametrize(
    "arguments",
    [
        {"shape": 6, "dtype": "int32", "chunks": (3,)},
        {"shape": (6,), "dtype": np.dtype(">i4"), "chunks": "auto", "fill_value": np.int8(7)},
        {"shape": (6,), "dtype": None, "chunks": True, "compressor": "default"},
        {},
    ],
    ids=str,
)
def test_no_warning_where_nothing_differs(arguments: dict[str, Any]) -> None:
    store = zarr.create_array({}, shape=6, chunks=3, dtype="i4", fill_value=7).store
    assert zarr.open(store, mode="a", **arguments).dtype == np.int32


def test_an_order_that_differs_is_told_where_there_are_two_axes() -> None:
    store = zarr.create_array({}, shape=(2, 2), dtype="i4").store
    with pytest.warns(IgnoredArgumentWarning, match="order C, not F"):
        zarr.open_array(store, mode="a", order="F")


def test_a_byte_order_that_differs_is_told_where_the_format_keeps_it() -> None:
    store = zarr.create_array({}, shape=6, dtype=">i4", zarr_format=2).store
    zarr.open(store, mode="a", shape=6, dtype=">i4")
    with pytest.warns(IgnoredArgumentWarning, match="dtype >i4, not int32"):
        zarr.open(store, mode="a", shape=6, dtype="<i4")


def test_a_group_that_exists_keeps_its_attributes_with_a_warning() -> None:
    store = zarr.open_group({}, mode="a", attributes={"a": (1, 2), "b": np.nan}).store
    for function in (zarr.open_group, zarr.open):
        function(store, mode="a", attributes={"a": [1, 2], "b": np.nan})
        with pytest.warns(
            IgnoredArgumentWarning, match=r"\{'a': \[1, 2\]\}, not \{'a': 3\}"
        ) as told:
            function(store, mode="a", attributes={"a": 3})
        assert Path(told[0].filename) == Path(__file__)


CREATED: list[dict[str, Any]] = [
    {},
    {"compressors": None},
    {"compressors": "zstd"},
    {"compressors": "blosc"},
    {"compressor": "gzip"},
    {"compression": "gzip", "compression_opts": 9},
    {"cname": "lz4", "clevel": 3},
    {"filters": None},
    {"filters": "auto", "compressors": "auto"},
    {"filters": [{"name": "numcodecs.delta", "configuration": {"dtype": "<i4"}}]},
    {"order": "F", "shape": (4, 6), "chunks": (2, 3)},
    {"dimension_names": ("x",), "attributes": {"a": (1, np.int8(2))}},
    {"dtype": ">i4", "filters": ["numcodecs.shuffle"]},
    {"dtype": str},
    {"dtype": "U4", "compressors": "zstd"},
    {"dtype": bytes, "compressors": None, "fill_value": b""},
    {"dimension_separator": "/"},
]
SHARDED: list[dict[str, Any]] = [
    {"shards": 6},
    {"shards": (6,), "order": "F", "compressors": ["blosc"]},
    {"codecs": ["bytes", "zstd"]},
    {"codecs": [{"name": "bytes", "configuration": {"endian": "big"}}]},
    {"serializer": {"name": "bytes", "configuration": {"endian": "big"}}},
    {"chunk_key_encoding": "v2"},
]


@pytest.mark.parametrize("version", [1, 2, 3, "n5"])
@pytest.mark.parametrize("arguments", [*CREATED, *SHARDED], ids=str)
def test_no_warning_for_what_the_array_was_created_with(
    arguments: dict[str, Any], version: Any
) -> None:
    arguments = {"shape": 6, "chunks": 3, "dtype": "i4", **arguments}
    try:
        store = zarr.create_array({}, zarr_format=version, **arguments).store
    except (zarr.errors.ZarrError, TypeError):
        assert version != 3
        return
    zarr.open_array(store, mode="a", **arguments)
    zarr.open(store, mode="r", **arguments)


def test_no_warning_for_nan_text_and_records() -> None:
    for dtype, fill in (("f4", np.nan), (str, "x"), ([("a", "i4")], (1,)), ("M8[s]", None)):
        array = zarr.create_array({}, shape=6, dtype=dtype, fill_value=fill)
        zarr.open_array(array.store, mode="a", shape=6, dtype=dtype, fill_value=fill)


def test_an_array_is_not_taken_for_a_group() -> None:
    store = _group().store
    with pytest.raises(zarr.errors.ContainsGroupError, match="expected an array"):
        zarr.open(store, mode="a", shape=(3,), dtype="i4")


def test_out_must_be_a_numpy_array() -> None:
    array = zarr.array([1, 2])
    junk: Any = "junk"
    for read in (array.get_basic_selection, array.get_orthogonal_selection):
        with pytest.raises(TypeError, match="out must be a NumPy array, found str"):
            read(0, out=junk)
