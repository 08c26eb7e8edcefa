"""zarr-python, tensorstore and zarrs read what the native core encodes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import omnizarr
from tests.acceptance.fixtures import REPOSITORY
from tests.acceptance.test_default_codecs import HERE, read
from tests.codecs.support import LITTLE, v3
from tests.native.chunks import encode
from tests.native.installed import needed

pytestmark = pytest.mark.peers

needed()

COMPRESSORS: dict[str, list[Any]] = {
    "crc32c": ["crc32c"],
    "gzip": [v3("gzip", level=6)],
    "zstd": [v3("zstd", level=5, checksum=True), "crc32c"],
    **{
        f"{cname}-{clevel}-{shuffle}": [
            v3("blosc", cname=cname, clevel=clevel, shuffle=shuffle, typesize=size, blocksize=block)
        ]
        for cname in ("lz4", "lz4hc", "zlib", "zstd")
        for clevel, size, block in ((0, 8, 0), (3, 8, 512), (9, 3, 0))
        for shuffle in ("noshuffle", "shuffle", "bitshuffle")
    },
}


def write(folder: Path, chunks: tuple[int, int], compressors: list[Any]) -> None:
    """An array whose chunks the core has encoded."""
    values = (np.arange(64 * 48) % 251).reshape(64, 48).astype("f8")
    array = omnizarr.create_array(
        folder, data=values, chunks=chunks, filters=None, serializer=LITTLE, compressors=compressors
    )
    layout = array._source.regular_chain.layout
    for row in range(64 // chunks[0]):
        for column in range(48 // chunks[1]):
            place = np.s_[row * chunks[0] :, column * chunks[1] :]
            memory = np.ascontiguousarray(values[place][: chunks[0], : chunks[1]])
            encoded = encode(memory, layout)
            assert encoded is not None
            array.store.set(f"c/{row}/{column}", encoded)


def test_others_read_it(tmp_path: Path) -> None:
    for name, compressors in COMPRESSORS.items():
        write(tmp_path / name, (16, 16), compressors)
        write(tmp_path / f"{name}-whole", (64, 48), compressors)
    peer = REPOSITORY / ".peers" / "zarr3" / "bin" / "python"
    if not peer.exists():
        pytest.fail(f"{peer} does not exist: run `make peers`")
    found = read([peer, HERE / "default_peer.py", tmp_path])
    assert {"zarr_python", "tensorstore", "zarrs"} <= set(found)
    for library in ("zarr_python", "tensorstore", "zarrs"):
        assert len(found[library]) == 2 * len(COMPRESSORS)
        assert {name: told for name, told in found[library].items() if told is not None} == {}
