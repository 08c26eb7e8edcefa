"""The libraries that are measured, each behind the same few calls.

Every call does what that library's own documentation shows. Imports happen inside, so that a
missing peer is named and not a crash. A library has a process to itself (`worker.py`), so it may
set what is global in it.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from layouts import Layout

Timed = Callable[[], object]


class Library:
    """What the rows ask for. `array` is whatever the library's `open` and `create` return."""

    title: str
    version: str
    module: str | None = None
    """What `import` is timed for; None if another entry stands for it."""
    first_read: str | None = None
    """A program that imports the library and reads the first element of the array at `path`."""
    format = 3
    """The format of the files that it is given."""

    def supports(self, layout: Layout) -> bool:
        return True

    def open(self, path: Path, *, write: bool = False) -> Any:
        raise NotImplementedError

    def create(self, path: Path, layout: Layout) -> Any:
        raise NotImplementedError

    def read(self, array: Any, selection: Any) -> np.ndarray:
        """Integers, and slices of step 1."""
        return np.asarray(array[selection])

    def strided(self, array: Any, selection: Any) -> np.ndarray:
        """Slices of any step."""
        return self.read(array, selection)

    def oindex(self, array: Any, rows: np.ndarray) -> np.ndarray:
        return np.asarray(array.oindex[rows, :])

    def vindex(self, array: Any, points: tuple[np.ndarray, ...]) -> np.ndarray:
        return np.asarray(array.vindex[points])

    def assign(self, array: Any, selection: Any, values: np.ndarray) -> None:
        array[selection] = values

    def list_arrays(self, path: Path) -> list[tuple[str, tuple[int, ...]]] | None:
        """Names and shapes of a group's arrays; None if the library has no groups."""
        return None

    def write(self, path: Path, layout: Layout, values: np.ndarray) -> None:
        self.assign(self.create(path, layout), ..., values)

    def whole_read(self, path: Path, layout: Layout) -> Timed:
        return lambda: self.read(self.open(path), ...)

    def whole_write(self, path: Path, layout: Layout, values: np.ndarray) -> Timed:
        return lambda: self.write(path, layout, values)


class ZarrLike(Library):
    """omnizarr and zarr-python 3 share names and arguments, so they share this."""

    def __init__(self, module: str, title: str, pipeline: str | None = None) -> None:
        self.api = importlib.import_module(module)
        self.title = title
        self.version = str(self.api.__version__)
        self.module = module if pipeline is None else None
        if pipeline is None:
            self.first_read = f"import {module}; value = {module}.open_array(path, mode='r')[0, 0]"
        if module == "zarr" and int(self.version.partition(".")[0]) < 3:
            raise ImportError(f"zarr {self.version} is not of generation 3")
        if module == "omnizarr" or pipeline == OURS:
            core = importlib.import_module("omnizarr.runtime.native_core").core()
            self.version += " without native core" if core is None else " with native core"
        if pipeline is not None:
            package, _, name = pipeline.rpartition(".")
            if not hasattr(importlib.import_module(package), name):
                raise ImportError(f"zarr {self.version} has no {name}")
            if package == "zarrs":
                self.version = version("zarrs")
            self.api.config.set({"codec_pipeline.path": pipeline})

    def open(self, path: Path, *, write: bool = False) -> Any:
        return self.api.open_array(path, mode="r+" if write else "r")

    def create(self, path: Path, layout: Layout) -> Any:
        return self.api.create_array(
            path,
            shape=layout.shape,
            dtype=layout.dtype,
            chunks=layout.chunks,
            shards=layout.shards,
            compressors=None if layout.compressor is None else [layout.compressor],
            filters=None,
            fill_value=0,
            zarr_format=3,
        )

    def list_arrays(self, path: Path) -> list[tuple[str, tuple[int, ...]]] | None:
        group = self.api.open_group(path, mode="r")
        return sorted((name, array.shape) for name, array in group.arrays())


class Zarr2(Library):
    """zarr-python 2, which cannot read format 3: it gets the same data in format 2."""

    title = "zarr-python 2"
    module = "zarr"
    first_read = "import zarr; value = zarr.open_array(path, mode='r')[0, 0]"
    format = 2

    def __init__(self) -> None:
        self.api = importlib.import_module("zarr")
        self.codecs = importlib.import_module("numcodecs")
        self.version = str(self.api.__version__)
        if not self.version.startswith("2."):
            raise ImportError(f"zarr {self.version} is not of generation 2")

    def supports(self, layout: Layout) -> bool:
        return layout.shards is None

    def open(self, path: Path, *, write: bool = False) -> Any:
        return self.api.open_array(str(path), mode="r+" if write else "r")

    def create(self, path: Path, layout: Layout) -> Any:
        compressor = layout.compressor_2
        return self.api.create(
            store=self.api.DirectoryStore(str(path), dimension_separator="/"),
            shape=layout.shape,
            dtype=layout.dtype,
            chunks=layout.chunks,
            compressor=None if compressor is None else self.codecs.get_codec(compressor),
            fill_value=0,
        )


class TensorStore(Library):
    """tensorstore, with or without the fsync after each file, which no other library does."""

    module = "tensorstore"
    first_read = """
import tensorstore
kvstore = {"driver": "file", "path": path}
value = tensorstore.open({"driver": "zarr3", "kvstore": kvstore}).result()[0, 0].read().result()
"""

    def __init__(self, title: str, *, sync: bool) -> None:
        self.api = importlib.import_module("tensorstore")
        self.title = title
        self.version = version("tensorstore")
        self.sync = sync

    def _spec(self, path: Path) -> dict[str, Any]:
        kvstore = {"driver": "file", "path": f"{path}/", "file_io_sync": self.sync}
        return {"driver": "zarr3", "kvstore": kvstore}

    def open(self, path: Path, *, write: bool = False) -> Any:
        context = self.api.Context()
        return self.api.open(self._spec(path), context=context, read=True, write=write).result()

    def create(self, path: Path, layout: Layout) -> Any:
        members = ("shape", "data_type", "fill_value", "chunk_grid", "codecs")
        metadata = {name: layout.document[name] for name in members}
        spec = {**self._spec(path), "metadata": metadata, "create": True}
        return self.api.open(spec, context=self.api.Context()).result()

    def read(self, array: Any, selection: Any) -> np.ndarray:
        return np.asarray(array[selection].read().result())

    def oindex(self, array: Any, rows: np.ndarray) -> np.ndarray:
        return np.asarray(array.oindex[rows, :].read().result())

    def vindex(self, array: Any, points: tuple[np.ndarray, ...]) -> np.ndarray:
        return np.asarray(array.vindex[points].read().result())

    def assign(self, array: Any, selection: Any, values: np.ndarray) -> None:
        array[selection].write(values).result()


class Zarrista(Library):
    """zarrista selects boxes alone: of anything else it reads the array, and NumPy selects."""

    title = "zarrista"
    module = "zarrista"
    first_read = """
import zarrista
value = zarrista.Array.open(zarrista.store.FilesystemStore(path))[0, 0].to_numpy()[0, 0]
"""

    def __init__(self) -> None:
        self.api = importlib.import_module("zarrista")
        self.version = version("zarrista")

    def _store(self, path: Path) -> Any:
        return self.api.store.FilesystemStore(path)

    def open(self, path: Path, *, write: bool = False) -> Any:
        return self.api.Array.open(self._store(path))

    def create(self, path: Path, layout: Layout) -> Any:
        array = self.api.Array.from_metadata(layout.document, self._store(path))
        array.store_metadata()
        return array

    def read(self, array: Any, selection: Any) -> np.ndarray:
        found: np.ndarray = array[selection].to_numpy()
        if isinstance(selection, tuple) and isinstance(selection[0], int):
            return found[(0,) * len(selection)]  # it keeps the axes of integers
        return found

    def strided(self, array: Any, selection: Any) -> np.ndarray:
        return self.read(array, ...)[selection].copy()

    def oindex(self, array: Any, rows: np.ndarray) -> np.ndarray:
        return self.read(array, ...)[rows]

    def vindex(self, array: Any, points: tuple[np.ndarray, ...]) -> np.ndarray:
        return self.read(array, ...)[points]

    def list_arrays(self, path: Path) -> list[tuple[str, tuple[int, ...]]] | None:
        arrays = self.api.Group.open(self._store(path)).child_arrays()
        return sorted((array.path.rpartition("/")[2], tuple(array.shape)) for array in arrays)


def _floor() -> Library:
    return importlib.import_module("floor").Floor()  # type: ignore[no-any-return]


@dataclass(frozen=True)
class Choice:
    """An entry of `--libraries`."""

    make: Callable[[], Library]
    peer: bool = True
    """Whether it takes part in "best peer"."""
    default: bool = True
    environment: dict[str, str] = field(default_factory=dict)


FUSED = "zarr.core.codec_pipeline.FusedCodecPipeline"
OURS = "omnizarr.integrations.zarr_python.CodecPipeline"
CHOICES: dict[str, Choice] = {
    "omnizarr": Choice(lambda: ZarrLike("omnizarr", "omnizarr"), peer=False),
    "floor": Choice(_floor, peer=False),
    "tensorstore": Choice(lambda: TensorStore("tensorstore", sync=False)),
    "tensorstore-fsync": Choice(lambda: TensorStore("tensorstore, fsync", sync=True)),
    "zarrista": Choice(Zarrista),
    "zarrs": Choice(lambda: ZarrLike("zarr", "zarrs pipeline", "zarrs.ZarrsCodecPipeline")),
    "fused": Choice(lambda: ZarrLike("zarr", "fused", FUSED)),
    "zarr": Choice(lambda: ZarrLike("zarr", "zarr-python 3")),
    "zarr2": Choice(Zarr2),
    "omnizarr-pure": Choice(
        lambda: ZarrLike("omnizarr", "no native core"),
        peer=False,
        default=False,
        environment={"OMNIZARR_NATIVE": "0"},
    ),
    "pipeline": Choice(
        lambda: ZarrLike("zarr", "omnizarr pipeline", OURS), peer=False, default=False
    ),
}
