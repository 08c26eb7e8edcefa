"""The libraries that are measured, each behind the same few calls.

Every call does what that library's own documentation shows; handles are opened fresh where a user
would open them fresh. Imports happen inside, so that a missing peer is named and not a crash.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np

CODECS: dict[str, dict[str, Any] | None] = {
    "raw": None,
    "zstd": {"name": "zstd", "configuration": {"level": 0, "checksum": False}},
    "blosc-lz4": {
        "name": "blosc",
        "configuration": {
            "cname": "lz4",
            "clevel": 5,
            "shuffle": "shuffle",
            "typesize": 4,
            "blocksize": 0,
        },
    },
}


@dataclass(frozen=True)
class Layout:
    """One array as it is stored: format 3, little-endian float32."""

    shape: tuple[int, int]
    chunks: tuple[int, int]
    codec: str
    shards: tuple[int, int] | None = None

    @property
    def codecs(self) -> list[dict[str, Any]]:
        """The codecs member of the metadata document that every library must write."""
        endian = {"name": "bytes", "configuration": {"endian": "little"}}
        compressor = CODECS[self.codec]
        inner = [endian] if compressor is None else [endian, compressor]
        if self.shards is None:
            return inner
        return [
            {
                "name": "sharding_indexed",
                "configuration": {
                    "chunk_shape": list(self.chunks),
                    "codecs": inner,
                    "index_codecs": [endian, {"name": "crc32c"}],
                    "index_location": "end",
                },
            }
        ]


class Library(Protocol):
    name: str
    version: str
    module: str | None
    """What `import` is timed for; None if another entry stands for it."""

    def active(self) -> AbstractContextManager[object]:
        """Entered around each timed call, not timed itself."""
        ...

    def open(self, path: Path) -> Any: ...
    def read(self, array: Any, selection: Any) -> np.ndarray: ...
    def write(self, path: Path, layout: Layout, values: np.ndarray) -> None: ...
    def list_arrays(self, path: Path) -> list[tuple[str, tuple[int, ...]]] | None:
        """Names and shapes of a group's arrays; None if the library has no groups."""
        ...


class ZarrLike:
    """omnizarr and zarr-python share names and arguments, so they share this."""

    def __init__(self, module: str, name: str) -> None:
        self.module: str | None = module
        self.api = importlib.import_module(module)
        self.name = name
        self.version = str(self.api.__version__)

    def active(self) -> AbstractContextManager[object]:
        return nullcontext()

    def open(self, path: Path) -> Any:
        return self.api.open_array(path, mode="r")

    def read(self, array: Any, selection: Any) -> np.ndarray:
        return np.asarray(array[selection])

    def write(self, path: Path, layout: Layout, values: np.ndarray) -> None:
        compressor = CODECS[layout.codec]
        array = self.api.create_array(
            path,
            shape=layout.shape,
            dtype="float32",
            chunks=layout.chunks,
            shards=layout.shards,
            compressors=None if compressor is None else [compressor],
            filters=None,
            fill_value=0,
            zarr_format=3,
        )
        array[...] = values

    def list_arrays(self, path: Path) -> list[tuple[str, tuple[int, ...]]] | None:
        group = self.api.open_group(path, mode="r")
        return sorted((name, array.shape) for name, array in group.arrays())


class ZarrFused(ZarrLike):
    """zarr-python 3 with its other codec pipeline, which is not its default."""

    PATH = "zarr.core.codec_pipeline.FusedCodecPipeline"

    def __init__(self, module: str, name: str) -> None:
        super().__init__(module, name)
        self.module = None
        pipelines = importlib.import_module("zarr.core.codec_pipeline")
        if not hasattr(pipelines, "FusedCodecPipeline"):
            raise ImportError(f"zarr {self.version} has no FusedCodecPipeline")

    @contextmanager
    def active(self) -> Iterator[object]:
        with self.api.config.set({"codec_pipeline.path": self.PATH}):
            yield


class TensorStore:
    """tensorstore, by default without the fsync after each file, which no other library does."""

    module: str | None = "tensorstore"

    def __init__(self, name: str, *, sync: bool = False) -> None:
        self.api = importlib.import_module("tensorstore")
        metadata = importlib.import_module("importlib.metadata")
        self.name = name
        self.version = metadata.version("tensorstore")
        self.sync = sync

    def active(self) -> AbstractContextManager[object]:
        return nullcontext()

    def _spec(self, path: Path) -> dict[str, Any]:
        kvstore = {"driver": "file", "path": f"{path}/", "file_io_sync": self.sync}
        return {"driver": "zarr3", "kvstore": kvstore}

    def open(self, path: Path) -> Any:
        context = self.api.Context()
        return self.api.open(self._spec(path), context=context, read=True).result()

    def read(self, array: Any, selection: Any) -> np.ndarray:
        return np.asarray(array[selection].read().result())

    def write(self, path: Path, layout: Layout, values: np.ndarray) -> None:
        grid = {"chunk_shape": list(layout.shards or layout.chunks)}
        metadata = {
            "shape": list(layout.shape),
            "data_type": "float32",
            "fill_value": 0.0,
            "chunk_grid": {"name": "regular", "configuration": grid},
            "codecs": layout.codecs,
        }
        spec = {**self._spec(path), "metadata": metadata, "create": True}
        array = self.api.open(spec, context=self.api.Context()).result()
        array[...].write(values).result()

    def list_arrays(self, path: Path) -> list[tuple[str, tuple[int, ...]]] | None:
        return None


MAKERS: dict[str, Callable[[], Library]] = {
    "omnizarr": lambda: ZarrLike("omnizarr", "omnizarr"),
    "zarr": lambda: ZarrLike("zarr", "zarr-python 3"),
    "fused": lambda: ZarrFused("zarr", "zarr fused"),
    "tensorstore": lambda: TensorStore("tensorstore"),
}


def stored_codecs(path: Path) -> Any:
    """The codecs that a library really wrote, without the members that may be left out."""
    document = json.loads((path / "zarr.json").read_text(encoding="utf-8"))
    return [_plain(codec) for codec in document["codecs"]]


def _plain(codec: Any) -> Any:
    if isinstance(codec, str):
        codec = {"name": codec}
    configuration = dict(codec.get("configuration") or {})
    if codec["name"] == "sharding_indexed":
        configuration.setdefault("index_location", "end")
        for member in ("codecs", "index_codecs"):
            configuration[member] = [_plain(inner) for inner in configuration[member]]
    return {"name": codec["name"], "configuration": configuration}


def same_codecs(path: Path, layout: Layout) -> bool:
    return bool(stored_codecs(path) == [_plain(codec) for codec in layout.codecs])
