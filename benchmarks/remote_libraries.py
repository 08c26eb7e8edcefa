"""The libraries that are measured over a network, each behind the same few calls.

Each keeps one client for all its calls, as a program would. The peers are measured as they are
and tuned: with as many requests under way as omnizarr has by itself.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from importlib.metadata import version
from typing import Any, Protocol

import numpy as np
from layouts import Layout

BUCKET = "bucket"
TUNED = 128
"""Requests at once for those that must be told."""


class Remote(Protocol):
    name: str
    version: str
    own: bool
    """Whether it is what the others are compared with."""

    def active(self) -> AbstractContextManager[object]:
        """Entered around each timed call, not timed itself."""
        ...

    def open(self, path: str) -> Any: ...
    def open_group(self, path: str) -> Any | None:
        """None if the library has no groups."""
        ...

    def read(self, array: Any, selection: Any) -> np.ndarray: ...
    def create(self, path: str, layout: Layout) -> Any | None:
        """A new array; None if the library cannot write there."""
        ...

    def write(self, array: Any, values: np.ndarray) -> None: ...


def client(url: str) -> Any:
    """obstore's client of the S3 service."""
    stores = importlib.import_module("obstore.store")
    return stores.S3Store(
        BUCKET,
        endpoint=url,
        region="us-east-1",
        skip_signature=True,  # as tensorstore does without credentials
        client_options={"allow_http": True},
        virtual_hosted_style_request=False,
    )


class Omnizarr:
    own = True

    def __init__(self, url: str, *, s3: bool, concurrency: int | None = None) -> None:
        self.api = importlib.import_module("omnizarr")
        self.name = ("omnizarr S3" if s3 else "omnizarr HTTP") + _told(concurrency)
        self.version = str(self.api.__version__)
        self.s3 = s3
        options = {} if concurrency is None else {"requests": concurrency}
        place = client(url) if s3 else f"{url}/{BUCKET}"
        self.store = self.api.stores.as_store(place, storage_options=options or None)

    def active(self) -> AbstractContextManager[object]:
        return nullcontext()

    def open(self, path: str) -> Any:
        return self.api.open_array(self.store, mode="r", path=path)

    def open_group(self, path: str) -> Any | None:
        return self.api.open_group(self.store, mode="r", path=path)

    def read(self, array: Any, selection: Any) -> np.ndarray:
        return np.asarray(array[selection])

    def create(self, path: str, layout: Layout) -> Any | None:
        if not self.s3:
            return None
        return self.api.create_array(self.store, name=path, **_arguments(layout))

    def write(self, array: Any, values: np.ndarray) -> None:
        array[...] = values


class ZarrPython:
    own = False

    def __init__(self, url: str, concurrency: int | None = None) -> None:
        self.api = importlib.import_module("zarr")
        self.name = "zarr-python" + _told(concurrency)
        self.version = f"{self.api.__version__} with obstore {version('obstore')}"
        self.concurrency = concurrency
        self.store = self.api.storage.ObjectStore(client(url))

    def active(self) -> AbstractContextManager[object]:
        if self.concurrency is None:
            return nullcontext()
        setting: AbstractContextManager[object] = self.api.config.set(
            {"async.concurrency": self.concurrency}
        )
        return setting

    def open(self, path: str) -> Any:
        return self.api.open_array(self.store, mode="r", path=path, zarr_format=3)

    def open_group(self, path: str) -> Any | None:
        return self.api.open_group(self.store, mode="r", path=path, zarr_format=3)

    def read(self, array: Any, selection: Any) -> np.ndarray:
        return np.asarray(array[selection])

    def create(self, path: str, layout: Layout) -> Any | None:
        return self.api.create_array(self.store, name=path, **_arguments(layout))

    def write(self, array: Any, values: np.ndarray) -> None:
        array[...] = values


class TensorStore:
    own = False

    def __init__(self, url: str, *, s3: bool = True, concurrency: int | None = None) -> None:
        self.api = importlib.import_module("tensorstore")
        way = "S3" if s3 else "HTTP"
        self.name = f"tensorstore {way}" + _told(concurrency)
        self.version = version("tensorstore")
        self.url = url
        self.s3 = s3
        limit = {} if concurrency is None else {"limit": concurrency}
        resources = ("s3_request_concurrency", "http_request_concurrency")
        self.context = self.api.Context({name: limit for name in resources if limit})

    def active(self) -> AbstractContextManager[object]:
        return nullcontext()

    def _spec(self, path: str) -> dict[str, Any]:
        kvstore: dict[str, Any]
        if self.s3:
            kvstore = {
                "driver": "s3",
                "bucket": BUCKET,
                "path": f"{path}/",
                "endpoint": self.url,
                "aws_region": "us-east-1",
                "aws_credentials": {"type": "anonymous"},
            }
        else:
            kvstore = {"driver": "http", "base_url": self.url, "path": f"/{BUCKET}/{path}/"}
        return {"driver": "zarr3", "kvstore": kvstore}

    def open(self, path: str) -> Any:
        return self.api.open(self._spec(path), context=self.context, read=True).result()

    def open_group(self, path: str) -> Any | None:
        return None

    def read(self, array: Any, selection: Any) -> np.ndarray:
        return np.asarray(array[selection].read().result())

    def create(self, path: str, layout: Layout) -> Any | None:
        if not self.s3:
            return None
        grid = {"chunk_shape": list(layout.shards or layout.chunks)}
        metadata = {
            "shape": list(layout.shape),
            "data_type": "float32",
            "fill_value": 0.0,
            "chunk_grid": {"name": "regular", "configuration": grid},
            "codecs": layout.codecs,
        }
        spec = {**self._spec(path), "metadata": metadata, "create": True}
        return self.api.open(spec, context=self.context).result()

    def write(self, array: Any, values: np.ndarray) -> None:
        array[...].write(values).result()


def _told(concurrency: int | None) -> str:
    return "" if concurrency is None else f", {concurrency}"


def _arguments(layout: Layout) -> dict[str, Any]:
    """omnizarr and zarr-python share names and arguments."""
    compressor = layout.compressor
    return {
        "shape": layout.shape,
        "dtype": "float32",
        "chunks": layout.chunks,
        "shards": layout.shards,
        "compressors": None if compressor is None else [compressor],
        "filters": None,
        "fill_value": 0,
        "zarr_format": 3,
    }


MAKERS: dict[str, Callable[[str], Remote]] = {
    "omnizarr": lambda url: Omnizarr(url, s3=True),
    "omnizarr-http": lambda url: Omnizarr(url, s3=False),
    "omnizarr-http-tuned": lambda url: Omnizarr(url, s3=False, concurrency=TUNED),
    "zarr": ZarrPython,
    "zarr-tuned": lambda url: ZarrPython(url, TUNED),
    "tensorstore": TensorStore,
    "tensorstore-tuned": lambda url: TensorStore(url, concurrency=TUNED),
    "tensorstore-http": lambda url: TensorStore(url, s3=False, concurrency=TUNED),
}
