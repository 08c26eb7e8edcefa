"""Names of `zarr.core`: the configuration, and documents of arrays."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import omnizarr
from omnizarr.compat import zarr3
from omnizarr.compat.zarr3.core.metadata import ArrayV2Metadata, ArrayV3Metadata
from omnizarr.errors import ConfigError


def test_settings_of_both_libraries_are_one() -> None:
    config = zarr3.config
    assert config.config["array"]["order"] == "C"
    assert config.get("async.concurrency") == 10
    with config.set({"default_zarr_format": 2, "codec_pipeline.path": "some.Pipeline"}):
        assert omnizarr.config.get("default_zarr_format") == 2
        assert config.get("codec_pipeline")["path"] == "some.Pipeline"
    assert config.get("default_zarr_format") == 3
    assert config.get("codec_pipeline.path").startswith("zarr.")
    assert config.get("no.such", "nothing") == "nothing"
    with pytest.raises(KeyError):
        config.get("no.such")
    with pytest.raises(ConfigError, match=r"did you mean 'array\.order'"):
        config.set({"array.ordre": "F"})


def test_an_array_shows_its_document_as_zarr_python_does() -> None:
    array = zarr3.create_array(
        {}, shape=(5, 6), chunks=(2, 3), shards=(4, 6), dtype=">f4", fill_value=np.nan,
        dimension_names=("a", None), attributes={"x": 1},
    )  # fmt: skip
    found = array.metadata
    assert isinstance(found, ArrayV3Metadata)
    assert (found.chunks, found.shards) == ((2, 3), (4, 6))
    assert found.encode_chunk_key((1, 0)) == "c/1/0"
    assert found.dimension_names == ("a", None)
    assert ArrayV3Metadata.from_dict(found.to_dict()) == found
    older = zarr3.create_array({}, shape=3, chunks=2, dtype="|S2", zarr_format=2).metadata
    assert isinstance(older, ArrayV2Metadata)
    assert ArrayV2Metadata.from_dict(older.to_dict()) == older
    assert not hasattr(older, "dimension_names")


def test_a_type_that_zarr_python_lacks_shows_omnizarrs_document() -> None:
    array = zarr3.create_array({}, shape=3, chunks=2, dtype="r24")
    assert array.metadata.data_type == "r24"


def test_modules_are_there_after_the_first_import() -> None:
    script = """
from omnizarr.compat import install
install()
import zarr
assert zarr.api.asynchronous.open_group and zarr.core.sync.sync and zarr.abc.codec.Codec
assert not hasattr(zarr.core, "nothing") and not hasattr(zarr.api, "_private")
"""
    subprocess.run([sys.executable, "-c", script], check=True)
