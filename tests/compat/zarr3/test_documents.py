"""What is written through `compat.zarr3`: documents as zarr-python writes them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import omnizarr
from omnizarr.compat import zarr3


def test_new_nodes_of_format_2_have_attributes_and_a_separator(tmp_path: Path) -> None:
    zarr3.create(shape=(2, 2), store=tmp_path, path="a/b", zarr_format=2)
    found = sorted(path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob(".z*"))
    assert found == [".zattrs", ".zgroup", "a/.zattrs", "a/.zgroup", "a/b/.zarray", "a/b/.zattrs"]
    assert json.loads((tmp_path / "a/b/.zarray").read_text())["dimension_separator"] == "."
    assert zarr3.open_array(tmp_path, path="a/b").attrs == {}


def test_new_arrays_of_format_3_name_storage_transformers(tmp_path: Path) -> None:
    a = zarr3.create_array(tmp_path, shape=3, dtype="i4", attributes={"x": [1.5, "é"]})
    document = json.loads((tmp_path / "zarr.json").read_text())
    assert document["storage_transformers"] == []
    assert dict(omnizarr.open_array(tmp_path).attrs) == dict(a.attrs) == {"x": [1.5, "é"]}


def test_attributes_that_are_there_already_stay(tmp_path: Path) -> None:
    zarr3.create_group(tmp_path, zarr_format=2, attributes={"x": 1})
    zarr3.create(shape=1, store=tmp_path, path="a", zarr_format=2)
    assert zarr3.open_group(tmp_path).attrs == {"x": 1}


@pytest.mark.parametrize(
    ("stored", "written"),
    [(">i1", "|i1"), ("<b1", "|b1"), (">i2", ">i2"), ([["a", "<u1"], ["b", "<f4"]],
      [["a", "|u1"], ["b", "<f4"]])],
)  # fmt: skip
def test_a_change_writes_no_byte_order_without_a_meaning(
    tmp_path: Path, stored: Any, written: Any
) -> None:
    document = {
        "zarr_format": 2, "shape": [2, 2], "chunks": [2, 2], "dtype": stored, "compressor": None,
        "fill_value": None, "order": "C", "filters": None, "unknown": 1,
    }  # fmt: skip
    (tmp_path / ".zarray").write_text(json.dumps(document))
    zarr3.open_array(tmp_path, mode="r+").update_attributes({"x": 1})
    found = json.loads((tmp_path / ".zarray").read_text())
    # Without a separator chunks of both kinds are found, so that none is added.
    assert found == {**document, "dtype": written}


def test_omnizarr_itself_writes_what_it_did(tmp_path: Path) -> None:
    omnizarr.create(shape=2, store=tmp_path, zarr_format=2)
    assert not (tmp_path / ".zattrs").exists()
    assert "dimension_separator" not in json.loads((tmp_path / ".zarray").read_text())


def test_nan_is_stored_without_its_bits() -> None:
    for fill, stored in (
        (np.inf * 1j, ("NaN", "Infinity")),
        (-np.complex64(np.nan), ("NaN", 0.0)),
    ):
        a = zarr3.create_array({}, shape=1, dtype="c8", fill_value=fill)
        assert a.metadata.to_dict()["fill_value"] == stored
    a = zarr3.create_array({}, shape=1, dtype="f4", fill_value=-np.float32(np.nan))
    assert a.metadata.to_dict()["fill_value"] == "NaN"


def test_a_zstandard_checksum_that_is_off_is_not_named() -> None:
    compressor = {"id": "zstd", "level": 5, "checksum": False}
    a = zarr3.create_array({}, shape=1, dtype="i4", compressors=compressor, zarr_format=2)
    assert "checksum" not in a.metadata.to_dict()["compressor"]
