"""Small chunks that other implementations encoded, byte for byte, for every codec there is.

`scripts/make_golden.py` made `data/golden.json` with numcodecs, zarr-python and zarrs, or by hand
after the registry's text where no implementation exists; each record says who made it.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from omnizarr.codecs import ArrayStage, Chain, Context, codec_spec, registry
from omnizarr.codecs.chains import build
from omnizarr.model.dtypes import from_json

DATA = Path(__file__).parent / "data" / "golden.json"
RECORDS: list[dict[str, Any]] = json.loads(DATA.read_text(encoding="utf-8"))
IDS = [f"{place}-{record['codec']}" for place, record in enumerate(RECORDS)]


def objects(record: dict[str, Any]) -> np.ndarray | None:
    """The elements of a record whose elements have no fixed size."""
    if "octets" in record:
        values: list[Any] = [bytes.fromhex(item) for item in record["octets"]]
    elif "objects" in record:
        values = list(record["objects"])
    else:
        return None
    array = np.empty(len(values), object)
    for place, value in enumerate(values):
        ragged = record["codec"] == "numcodecs.vlen-array"
        array[place] = np.array(value, "<i4") if ragged else value
    return array


def prepared(record: dict[str, Any]) -> tuple[Chain, np.ndarray]:
    array = objects(record)
    if array is None:
        data_type = from_json(record["data_type"])
        raw = np.frombuffer(bytes.fromhex(record["values"]), data_type.numpy)
        array = raw.reshape(record["shape"])
        stage = ArrayStage(array.shape, array.dtype, data_type.zero, data_type.name)
    else:
        stage = ArrayStage(array.shape, array.dtype)
    specs = [codec_spec(codec) for codec in record["codecs"]]
    return build(specs, stage, Context(allow_pickle=True)), array


def same_objects(found: np.ndarray, expected: np.ndarray) -> bool:
    return found.shape == expected.shape and all(
        np.array_equal(one, other) if isinstance(other, np.ndarray) else one == other
        for one, other in zip(found, expected, strict=True)
    )


def test_no_codec_is_left_out() -> None:
    assert {record["codec"] for record in RECORDS} == set(registry.BUILT_IN)


def test_who_made_them() -> None:
    makers = {record["made_by"].partition(" ")[0] for record in RECORDS}
    assert {"numcodecs", "zarr", "zarrs"} <= makers
    assert not any("omnizarr" in record["made_by"] for record in RECORDS)


@pytest.mark.parametrize("record", RECORDS, ids=IDS)
def test_decodes_what_others_wrote(record: dict[str, Any]) -> None:
    chain, array = prepared(record)
    encoded = bytes.fromhex(record["encoded"])
    found = np.asarray(chain.decode(encoded))
    if array.dtype.hasobject:
        assert same_objects(found, array)
        return
    expected = bytes.fromhex(record.get("decoded", record["values"]))
    assert found.shape == array.shape
    assert found.tobytes() == expected
    out = np.empty(array.shape, array.dtype, order="F")
    chain.decode_into(encoded, out)
    assert out.tobytes() == expected


@pytest.mark.parametrize("record", RECORDS, ids=IDS)
def test_writes_what_others_read(record: dict[str, Any]) -> None:
    """The same bytes, or (a compressor may choose) bytes that decode to the same."""
    chain, array = prepared(record)
    encoded = bytes(chain.encode(array))
    if record["same"]:
        assert encoded.hex() == record["encoded"]
        return
    found = np.asarray(chain.decode(encoded))
    if array.dtype.hasobject:
        assert same_objects(found, array)
    else:
        assert found.tobytes() == array.tobytes()
