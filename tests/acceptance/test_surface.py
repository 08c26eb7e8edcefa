"""The public surface: names, keywords and spellings of both generations of zarr-python."""

from __future__ import annotations

import importlib
import inspect
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import omnizarr as zarr
from tests.acceptance import surface_names as names
from tests.acceptance.processes import environment

VERSIONS = pytest.mark.parametrize("version", [2, 3])


# -- names ----------------------------------------------------------------------------------------
def test_module_names() -> None:
    wanted = {*names.DESIGN_MODULE.split(), *names.FUNCTIONS}
    missing = sorted(name for name in wanted if not hasattr(zarr, name))
    assert not missing, f"missing: {missing}"
    assert importlib.import_module("omnizarr.testing").__doc__


def test_storage_codec_and_error_names() -> None:
    assert [name for name in names.CODECS.split() if not hasattr(zarr.codecs, name)] == []
    assert [name for name in names.ERRORS.split() if not hasattr(zarr.errors, name)] == []
    stores = ["LocalStore", "MemoryStore", "ZipStore", "DirectoryStore", "NestedDirectoryStore"]
    assert [name for name in stores if not hasattr(zarr.storage, name)] == []


@pytest.mark.parametrize(
    ("kind", "published", "design"),
    [("Array", names.ARRAY, names.DESIGN_ARRAY), ("Group", names.GROUP, names.DESIGN_GROUP)],
)
def test_member_names(kind: str, published: dict[str, str], design: str) -> None:
    cls = getattr(zarr, kind)
    wanted = {*published, *design.split()}
    left_out = {name.partition(".")[2] for name in names.LEFT_OUT if name.startswith(kind)}
    missing = sorted(name for name in wanted - left_out if not hasattr(cls, name))
    assert not missing, f"missing: {missing}"


def accepts(function: Callable[..., Any], keyword: str) -> bool:
    parameters = inspect.signature(function).parameters.values()
    return any(
        parameter.kind is parameter.VAR_KEYWORD
        or (parameter.name == keyword and parameter.kind is not parameter.POSITIONAL_ONLY)
        for parameter in parameters
    )


def test_functions_take_the_keywords_of_both_generations() -> None:
    refused = [
        f"{name}({keyword}=…)"
        for name, keywords in names.FUNCTIONS.items()
        for keyword in keywords.split()
        if not accepts(getattr(zarr, name), keyword)
    ]
    assert not refused, f"refused: {refused}"


def test_methods_take_the_keywords_of_both_generations() -> None:
    refused = [
        f"{kind}.{name}({keyword}=…)"
        for kind, published in (("Array", names.ARRAY), ("Group", names.GROUP))
        for name, keywords in published.items()
        for keyword in keywords.split()
        if f"{kind}.{name}" not in names.LEFT_OUT
        and hasattr(getattr(zarr, kind), name)  # a missing name is another test's affair
        and callable(getattr(getattr(zarr, kind), name))
        and not accepts(getattr(getattr(zarr, kind), name), keyword)
        # The generations give its first argument different names; either will do.
        and not ((kind, name) == ("Group", "get") and keyword in ("key", "path"))
    ]
    assert not refused, f"refused: {refused}"


def samples(version: int) -> dict[str, Any]:
    """A value for every keyword of creation, all of which must really be taken."""
    common: dict[str, Any] = {
        "chunks": (2,),
        "dtype": "i4",
        "fill_value": 7,
        "order": "C",
        "synchronizer": zarr.ThreadSynchronizer(),
        "overwrite": True,
        "path": "inner",
        "chunk_store": {},
        "filters": None,
        "cache_metadata": False,
        "cache_attrs": False,
        "read_only": False,
        "object_codec": None,
        "write_empty_chunks": True,
        "meta_array": None,
        "storage_options": None,
        "config": {"write_empty_chunks": True},
        "attributes": {"a": 1},
        "mode": "w",
        "data": None,
        "zarr_format": version,
        "zarr_version": version,
    }
    if version == 2:
        return common | {
            "compressor": zarr.Zlib(1),
            "dimension_separator": "/",
            "storage_transformers": [],
            "filters": [zarr.Delta(dtype="i4")],
        }
    return common | {
        "chunk_shape": (3,),
        "chunk_key_encoding": {"name": "default", "separator": "."},
        "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
        "dimension_names": ["x"],
    }


@VERSIONS
def test_every_keyword_of_create_works(version: int) -> None:
    published = names.FUNCTIONS["create"].split()
    for keyword, value in samples(version).items():
        assert keyword in published, keyword
        arguments: dict[str, Any] = {"shape": (5,), "store": {}, "zarr_format": version}
        if keyword == "zarr_version":
            del arguments["zarr_format"]
        array = zarr.create(**{**arguments, keyword: value})
        array[...] = np.arange(5)
        assert array[...].tolist() == [0, 1, 2, 3, 4], keyword
        assert array.zarr_format == version
        for opener in (zarr.open_array, zarr.open):
            if keyword in ("mode", "overwrite"):
                continue
            again = opener(**{**arguments, "store": {}, "mode": "w", keyword: value})
            assert again.shape == (5,), keyword


@VERSIONS
def test_every_keyword_of_create_array_works(version: int) -> None:
    values: dict[str, Any] = {
        "name": "inner/a",
        "chunks": (2,),
        "filters": None,
        "compressors": None,
        "serializer": "auto",
        "fill_value": 3,
        "order": "C",
        "zarr_format": version,
        "attributes": {"a": 1},
        "storage_options": None,
        "overwrite": True,
        "config": {"order": "C"},
        "write_data": True,
    }
    if version == 3:
        values |= {
            "shards": (4,),
            "dimension_names": ["x"],
            "chunk_key_encoding": {"name": "v2", "separator": "."},
            "compressors": [zarr.codecs.GzipCodec(level=1)],
            "serializer": zarr.codecs.BytesCodec(endian="big"),
        }
    for keyword, value in values.items():
        chunks = {"chunks": (2,)} if keyword == "shards" else {}
        array = zarr.create_array(
            **{
                "store": {},
                "shape": (5,),
                "dtype": "i4",
                "zarr_format": version,
                **chunks,
                keyword: value,
            }
        )
        array[...] = np.arange(5)
        assert array[...].tolist() == [0, 1, 2, 3, 4], keyword
    filled = zarr.create_array(store={}, data=np.arange(5), zarr_format=version)
    assert filled[...].tolist() == [0, 1, 2, 3, 4]


def test_an_unknown_keyword_is_refused() -> None:
    for function in (zarr.create, zarr.create_array, zarr.open_array, zarr.zeros):
        with pytest.raises(TypeError, match="colour"):
            function(store={}, shape=(3,), colour="red")


# -- both spellings -------------------------------------------------------------------------------
def test_both_spellings_of_codecs() -> None:
    """`compressor=` and `filters=` of numcodecs beside `compressors=`, `codecs=` and `shards=`."""
    old = zarr.create(
        shape=(100,), chunks=(10,), dtype="i4", compressor=zarr.Blosc(cname="zstd"), filters=[
            zarr.Delta(dtype="i4")
        ], store={}, zarr_format=2,
    )  # fmt: skip
    old[:] = np.arange(100)
    assert old[:].tolist() == list(range(100))
    assert old.compressor.codec_id == "blosc"
    assert old.filters[0].codec_id == "delta"
    new = zarr.create_array(
        store={}, shape=(100,), chunks=(10,), shards=(50,), dtype="i4",
        compressors=zarr.codecs.BloscCodec(cname="zstd"),
    )  # fmt: skip
    new[:] = np.arange(100)
    assert new[:].tolist() == list(range(100))
    assert new.chunks == (10,)
    assert new.shards == (50,)
    none = zarr.create(shape=(4,), dtype="i4", compressor=None, store={}, zarr_format=2)
    assert none.compressor is None
    assert zarr.zeros(10, chunks=5, dtype="i2", store={}).shape == (10,)
    assert zarr.zeros((10,), chunks=True, store={}).nchunks >= 1
    assert zarr.create(10, store={}, chunks=False).chunks == (10,)


@VERSIONS
def test_creation_functions(version: int) -> None:
    with zarr.config.set({"default_zarr_format": version}):
        assert zarr.zeros((2, 3))[...].tolist() == [[0] * 3] * 2
        assert zarr.ones((2, 3), dtype="i4")[...].tolist() == [[1] * 3] * 2
        assert zarr.full((2,), 7.5)[...].tolist() == [7.5, 7.5]
        assert zarr.full((2,), fill_value="ab", dtype="U2")[...].tolist() == ["ab", "ab"]
        assert zarr.empty((2, 3)).shape == (2, 3)
        source = zarr.array(np.arange(6).reshape(2, 3), chunks=(1, 2))
        assert source.zarr_format == version
        assert source[...].tolist() == [[0, 1, 2], [3, 4, 5]]
        for make, value in ((zarr.zeros_like, 0), (zarr.ones_like, 1)):
            like = make(source)
            assert (like.shape, like.chunks, like.dtype) == ((2, 3), (1, 2), source.dtype)
            assert (like[...] == value).all()
        assert zarr.full_like(source, fill_value=4)[1, 1] == 4
        assert zarr.empty_like(source).shape == (2, 3)
        assert zarr.open_like(source, path={}, mode="w").shape == (2, 3)
        assert zarr.zeros_like(np.zeros((3, 3), "f4")).dtype == np.dtype("f4")


def test_nothing_starts_at_import() -> None:
    code = (
        "import sys, threading, numpy; before = set(sys.modules); import omnizarr; "
        "assert threading.active_count() == 1; "
        "heavy = {'numcodecs', 'asyncio', 'concurrent.futures', 'zipfile', 'google_crc32c'}; "
        "print(sorted(heavy & (set(sys.modules) - before)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment(), check=True
    )
    assert done.stdout.strip() == "[]"


def test_doctest_text_of_help() -> None:
    """Every public function says in a docstring what it does."""
    silent = [
        name
        for name in names.DESIGN_MODULE.split()
        if callable(getattr(zarr, name)) and not inspect.getdoc(getattr(zarr, name))
    ]
    assert silent == []
