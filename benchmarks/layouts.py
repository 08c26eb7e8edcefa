"""The arrays that are measured, as plain data: layout, metadata documents, values.

Knows what must be stored for a layout; knows no library, and reads and writes nothing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

UNITS = (("MiB", 1 << 20), ("KiB", 1 << 10), ("B", 1))


@dataclass(frozen=True)
class Layout:
    """One array as it is stored. Chunks (and shards) fill the shape without a rest."""

    shape: tuple[int, ...]
    chunks: tuple[int, ...]
    codec: str
    shards: tuple[int, ...] | None = None
    dtype: str = "float32"

    @property
    def itemsize(self) -> int:
        return np.dtype(self.dtype).itemsize

    @property
    def outer(self) -> tuple[int, ...]:
        """The shape of what one file holds."""
        return self.shards or self.chunks

    @property
    def chunk_bytes(self) -> int:
        return math.prod(self.chunks) * self.itemsize

    @property
    def title(self) -> str:
        """Such as ``16,384 × 4 KiB in 16 shards, zstd``."""
        unit, size = next(item for item in UNITS if self.chunk_bytes >= item[1])
        text = f"{self._count(self.chunks):,} × {self.chunk_bytes / size:.3g} {unit}"
        if self.shards is not None:
            text += f" in {self._count(self.shards):,} shards"
        text += f", {self.codec}"
        return text if self.dtype == "float32" else f"{text}, {self.dtype}"

    def _count(self, box: tuple[int, ...]) -> int:
        return math.prod(self.shape) // math.prod(box)

    @property
    def name(self) -> str:
        """Names the files of the array."""
        boxes = [self.shape, self.chunks, *([] if self.shards is None else [self.shards])]
        return "-".join(["x".join(map(str, box)) for box in boxes] + [self.codec, self.dtype])

    @property
    def compressor(self) -> dict[str, Any] | None:
        """As format 3 names it."""
        family, _, inner = self.codec.partition("-")
        configuration: dict[str, Any]
        if family == "raw":
            return None
        elif family == "zstd":
            configuration = {"level": 0, "checksum": False}
        elif family == "gzip":
            configuration = {"level": 5}
        else:
            configuration = {
                "cname": inner,
                "clevel": 5,
                "shuffle": "shuffle",
                "typesize": self.itemsize,
                "blocksize": 0,
            }
        return {"name": family, "configuration": configuration}

    @property
    def compressor_2(self) -> dict[str, Any] | None:
        """As format 2, and numcodecs, name it."""
        compressor = self.compressor
        if compressor is None:
            return None
        configuration = dict(compressor["configuration"])
        configuration.pop("checksum", None)
        if compressor["name"] == "blosc":
            configuration = {**configuration, "shuffle": 1}
            del configuration["typesize"]
        return {"id": compressor["name"], **configuration}

    @property
    def codecs(self) -> list[dict[str, Any]]:
        """The codecs member of the metadata document that every library must write."""
        endian: dict[str, Any] = {"name": "bytes"}
        if self.itemsize > 1:
            endian["configuration"] = {"endian": "little"}
        inner = [endian] if self.compressor is None else [endian, self.compressor]
        if self.shards is None:
            return inner
        little = {"name": "bytes", "configuration": {"endian": "little"}}
        configuration = {
            "chunk_shape": list(self.chunks),
            "codecs": inner,
            "index_codecs": [little, {"name": "crc32c"}],
            "index_location": "end",
        }
        return [{"name": "sharding_indexed", "configuration": configuration}]

    @property
    def document(self) -> dict[str, Any]:
        """``zarr.json``."""
        grid = {"chunk_shape": list(self.outer)}
        return {
            "zarr_format": 3,
            "node_type": "array",
            "shape": list(self.shape),
            "data_type": self.dtype,
            "chunk_grid": {"name": "regular", "configuration": grid},
            "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
            "fill_value": 0,
            "codecs": self.codecs,
            "attributes": {},
        }

    @property
    def document_2(self) -> dict[str, Any]:
        """``.zarray`` of the twin in format 2, which has no shards."""
        assert self.shards is None
        return {
            "zarr_format": 2,
            "shape": list(self.shape),
            "chunks": list(self.chunks),
            "dtype": np.dtype(self.dtype).newbyteorder("<").str,
            "compressor": self.compressor_2,
            "fill_value": 0,
            "order": "C",
            "filters": None,
            "dimension_separator": "/",
        }


def values(layout: Layout) -> np.ndarray:
    """The data of an array: codecs have work to do, and no chunk is all fill value."""
    shape = layout.shape
    rng = np.random.default_rng(7)
    if layout.dtype == "uint8":
        return rng.integers(1, 64, shape, dtype="uint8")
    if layout.dtype == "uint16":  # the field of the zarr_benchmarks that others publish
        z, y, x = np.ogrid[tuple(slice(length) for length in shape)]
        return ((x + y * y // 32 + z**3) & 0xFFFF).astype("uint16")
    # A smooth field with noise in its low digits.
    rows = np.linspace(0, 20, shape[0], dtype="float32")[:, None]
    columns = np.linspace(0, 9, shape[1], dtype="float32")
    field = 280 + 12 * np.sin(rows) + 7 * np.cos(columns)
    return np.round(field + rng.standard_normal(shape, dtype="float32"), 1).astype("float32")


def same_codecs(document: dict[str, Any], layout: Layout) -> bool:
    """Whether a library's metadata document, of either format, has the codecs of the layout."""
    if "compressor" in document:
        found = document["compressor"]
        if found is not None and not found.get("checksum"):
            found.pop("checksum", None)
        return bool(found == layout.compressor_2 and not document["filters"])
    return [_plain(codec) for codec in document["codecs"]] == [
        _plain(codec) for codec in layout.codecs
    ]


def _plain(codec: Any) -> dict[str, Any]:
    """A codec without the members that may be left out."""
    if isinstance(codec, str):
        codec = {"name": codec}
    configuration = dict(codec.get("configuration") or {})
    if codec["name"] == "sharding_indexed":
        configuration.setdefault("index_location", "end")
        for member in ("codecs", "index_codecs"):
            configuration[member] = [_plain(inner) for inner in configuration[member]]
    if codec["name"] == "bytes" and configuration.get("endian") is None:
        configuration.pop("endian", None)
    return {"name": codec["name"], "configuration": configuration}
