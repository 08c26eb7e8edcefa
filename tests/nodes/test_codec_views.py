"""An array's codecs are shown as the stored document names them."""

from __future__ import annotations

import json
from typing import Any

import numcodecs
import numpy as np
import pytest

import omnizarr


@pytest.mark.parametrize("named", [{}, {"checksum": True}, {"checksum": False}])
def test_the_checksum_of_zstd_is_shown_if_it_is_named(named: dict[str, Any]) -> None:
    store: dict[str, bytes] = {}
    omnizarr.create_array(store, shape=3, dtype="i4", zarr_format=2)
    document = json.loads(store[".zarray"])
    document["compressor"] = {"id": "zstd", "level": 3, **named}
    store[".zarray"] = json.dumps(document).encode()
    array = omnizarr.open_array(store)
    expected = numcodecs.get_codec(document["compressor"])
    assert array.compressor == array.compressors[0] == array.codecs[-1] == expected


def test_the_default_is_shown_as_it_is_stored() -> None:
    store: dict[str, bytes] = {}
    array = omnizarr.create_array(store, shape=3, dtype="i4", zarr_format=2)
    stored = json.loads(store[".zarray"])["compressor"]
    for shown in (array.compressor, omnizarr.open_array(store).compressor):
        assert shown == numcodecs.get_codec(stored)
    array[:] = np.arange(3)
    chunk = bytearray(store["0"])
    chunk[-1] ^= 1  # the checksum is there all the same
    store["0"] = bytes(chunk)
    with pytest.raises(omnizarr.errors.DecodeError):
        array[:]


@pytest.mark.parametrize(("version", "expected"), [(2, None), (3, ()), (1, ()), ("n5", ())])
def test_an_array_without_filters(version: Any, expected: tuple[()] | None) -> None:
    store: dict[str, bytes] = {}
    array = omnizarr.create_array(store, shape=3, dtype="i4", zarr_format=version)
    assert array.filters == expected
    assert omnizarr.open_array(store).filters == expected
