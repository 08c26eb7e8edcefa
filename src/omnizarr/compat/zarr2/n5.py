"""zarr-python 2's `zarr.n5`: stores whose nodes are N5, shown with the keys of format 2.

As a mapping such a store translates: ``store[".zarray"]`` is made from `attributes.json`, and chunk
`1.2` is the file `2/1`. `keys`, and the methods that omnizarr itself uses (`get`, `set`,
`list_prefix`), have N5's own keys and values.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import re
import struct
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from numcodecs.abc import Codec
from numcodecs.registry import get_codec, register_codec

import omnizarr
from omnizarr import stores
from omnizarr.compat.zarr2._stores import FSStore, NestedDirectoryStore
from omnizarr.compat.zarr2.util import json_dumps

__all__ = [
    "N5_FORMAT",
    "N5ChunkWrapper",
    "N5FSStore",
    "N5Store",
    "n5_attrs_key",
    "n5_keywords",
]

N5_FORMAT = "2.0.0"
n5_attrs_key = "attributes.json"
n5_keywords = ["n5", "dataType", "dimensions", "blockSize", "compression"]
_DOCUMENT = re.compile(r"(^|.*/)\.z(array|group|attrs)$")
_CHUNK = re.compile(r"(^|.*/)(\d+(?:\.\d+)+)$")

if TYPE_CHECKING:
    _Base = stores.Store
else:
    _Base = object


class _KeysOfFormat2(_Base):
    """The mapping of a store of N5, with the keys of format 2."""

    def _attributes(self, folder: str) -> dict[str, Any]:
        value = self.get(folder + n5_attrs_key)
        found: dict[str, Any] = {} if value is None else json.loads(bytes(value))
        return found

    def _document(self, folder: str, kind: str) -> dict[str, Any] | None:
        """A document of format 2, as the node's attributes.json says it; None if it has none."""
        attributes = self._attributes(folder)
        own = {name: value for name, value in attributes.items() if name not in n5_keywords}
        is_array = "dimensions" in attributes
        if kind == "attrs":
            return own or None
        if kind == "group":
            return {"zarr_format": 2} if attributes and not is_array else None
        if not is_array:
            return None
        return {**own, **_array_document(omnizarr.open_array(self, "r", path=folder))}

    def __getitem__(self, key: str) -> bytes:
        match = _DOCUMENT.match(key)
        if match is None:
            return super().__getitem__(_stored(key))
        document = self._document(*match.groups())
        if document is None:
            raise KeyError(key)
        return json_dumps(document)

    def __contains__(self, key: object) -> bool:
        match = _DOCUMENT.match(key) if isinstance(key, str) else None
        if match is None:
            return super().__contains__(_stored(key) if isinstance(key, str) else key)
        return self._document(*match.groups()) is not None

    def __setitem__(self, key: str, value: Any) -> None:
        match = _DOCUMENT.match(key)
        if match is None:
            super().__setitem__(_stored(key), value)
            return
        folder, kind = match.groups()
        given = json.loads(bytes(value))
        before = self._attributes(folder)
        own = {name: before[name] for name in before if name not in n5_keywords}
        known = {name: before[name] for name in before if name in n5_keywords}
        if kind == "attrs":
            _warn_of_keywords(given)
            after = {**known, **given}
        elif kind == "group":
            after = {**own, "n5": N5_FORMAT}
        else:
            after = {**own, **_attributes_of_array(bytes(value))}
        super().__setitem__(folder + n5_attrs_key, json_dumps(after))

    def __delitem__(self, key: str) -> None:
        match = _DOCUMENT.match(key)
        super().__delitem__(_stored(key) if match is None else match[1] + n5_attrs_key)

    def listdir(self, path: str = "") -> list[str]:
        """List the names directly below a path, as format 2 has them.

        Parameters
        ----------
        path
            A path, with or without slashes at its ends.
        """
        folder = f"{path.strip('/')}/" if path and path.strip("/") else ""
        names = super().listdir(path or "")
        if n5_attrs_key not in names:
            return names
        names.remove(n5_attrs_key)
        kinds = [kind for kind in ("array", "group", "attrs") if self._document(folder, kind)]
        if "array" in kinds:
            below = [key[len(folder) :] for key in self.list_prefix(folder)]
            chunks = [".".join(reversed(key.split("/"))) for key in below if _is_chunk(key)]
            names = [name for name in names if not name.isdecimal()] + chunks
        return sorted([*names, *(f".z{kind}" for kind in kinds)])

    def digest(self, array: omnizarr.Array, hashname: str = "sha1") -> bytes:
        """Hash an array here: chunks in grid order, then its documents of format 2.

        Parameters
        ----------
        array
            The array.
        hashname
            Any name that `hashlib.new` takes.
        """
        folder = f"{array.path}/" if array.path else ""
        chunks = itertools.product(*map(range, array.cdata_shape))
        names = [*(".".join(map(str, chunk)) for chunk in chunks), ".zarray", ".zattrs"]
        found = hashlib.new(hashname)
        for key in (folder + name for name in names):
            if key in self:
                found.update(self[key])
        return found.digest()

    def wrapped(self, array: omnizarr.Array, compressor: Any) -> N5ChunkWrapper:
        """Give the compressor of an array here as zarr-python 2 shows it.

        Parameters
        ----------
        array
            The array.
        compressor
            What compresses the part of a chunk behind N5's header; None: nothing does.
        """
        return _wrapper(array, compressor)


class N5Store(_KeysOfFormat2, NestedDirectoryStore):
    """A directory whose nodes are N5.

    The parameters are those of `NestedDirectoryStore`.

    Examples
    --------
    >>> from omnizarr.compat import zarr2 as zarr
    >>> store = zarr.N5Store("data.n5")
    >>> array = zarr.zeros((4, 6), chunks=(2, 3), store=store)
    >>> ".zarray" in store, "attributes.json" in store
    (True, True)
    """

    preferred_format = "n5"


class N5FSStore(_KeysOfFormat2, FSStore):
    """Files of any filesystem of fsspec, whose nodes are N5.

    Parameters
    ----------
    *args, **kwargs
        As of `omnizarr.stores.FSStore`, without `dimension_separator`, which N5 fixes.
    """

    preferred_format = "n5"
    dimension_separator = "/"

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if "dimension_separator" in kwargs:
            warnings.warn("N5 fixes the dimension_separator: it is ignored", stacklevel=2)
            del kwargs["dimension_separator"]
        super().__init__(*args, **kwargs)


class N5ChunkWrapper(Codec):  # type: ignore[misc]  # numcodecs has no types
    """The codec of N5's chunks: a header with the shape, then values in big-endian order.

    Parameters
    ----------
    dtype
        Type of the values.
    chunk_shape
        Shape of a whole chunk; a smaller one is padded with zeros.
    compressor_config
        What compresses the values, as a configuration of numcodecs.
    compressor
        The same as a codec.

    Raises
    ------
    ValueError
        If both are given.

    Examples
    --------
    >>> wrapper = N5ChunkWrapper("u1", (4,))
    >>> wrapper.decode(wrapper.encode(np.ones(2, "u1")))
    array([1, 1, 0, 0], dtype=uint8)
    """

    codec_id = "n5_wrapper"

    def __init__(
        self, dtype: Any, chunk_shape: Any, compressor_config: Any = None, compressor: Any = None
    ) -> None:
        if compressor is not None and compressor_config is not None:
            raise ValueError("give compressor or compressor_config, not both")
        config = compressor_config if compressor is None else compressor.get_config()
        self.dtype = np.dtype(dtype)
        self.chunk_shape = tuple(chunk_shape)
        self._compressor = None if config is None or config["id"] == "raw" else get_codec(config)
        self.compressor_config = None if self._compressor is None else self._compressor.get_config()

    def get_config(self) -> dict[str, Any]:
        """Give the configuration that `numcodecs.get_codec` takes."""
        return {
            "id": self.codec_id,
            "dtype": self.dtype.str,
            "chunk_shape": list(self.chunk_shape),
            "compressor_config": self.compressor_config,
        }

    def encode(self, buf: Any) -> bytes:
        """Write a chunk.

        Parameters
        ----------
        buf
            The values.
        """
        chunk = np.asarray(buf)
        header = struct.pack(f">HH{chunk.ndim}I", 0, chunk.ndim, *chunk.shape[::-1])
        values = np.ascontiguousarray(chunk, self.dtype.newbyteorder(">"))
        packed = values.tobytes() if self._compressor is None else self._compressor.encode(values)
        return header + bytes(packed)

    def decode(self, buf: Any, out: Any = None) -> npt.NDArray[Any]:
        """Read a chunk.

        Parameters
        ----------
        buf
            The bytes.
        out
            An array to put the values into.
        """
        data = bytes(buf)
        (ndim,) = struct.unpack_from(">H", data, 2)
        shape = struct.unpack_from(f">{ndim}I", data, 4)[::-1]
        packed = data[4 + 4 * ndim :]
        values = packed if self._compressor is None else self._compressor.decode(packed)
        stored = np.frombuffer(values, self.dtype.newbyteorder(">")).reshape(shape)
        whole = np.zeros(self.chunk_shape, self.dtype)
        whole[tuple(map(slice, shape))] = stored
        if out is None:
            return whole
        np.copyto(out.view(self.dtype).reshape(self.chunk_shape), whole)
        found: npt.NDArray[Any] = out
        return found


register_codec(N5ChunkWrapper)


def _is_chunk(key: str) -> bool:
    return all(part.isdecimal() for part in key.split("/"))


def _stored(key: str) -> str:
    """The key of N5 for the one of a chunk of format 2; every other key as it is."""
    match = _CHUNK.match(key)
    return key if match is None else match[1] + "/".join(reversed(match[2].split(".")))


def _warn_of_keywords(attributes: dict[str, Any]) -> None:
    for name in n5_keywords:
        if name in attributes:
            warnings.warn(f"attribute {name} is a keyword of N5", UserWarning, stacklevel=4)


def _wrapper(array: omnizarr.Array, compressor: Any) -> N5ChunkWrapper:
    """The codec of an array's chunks. Format 2 knows every compressor by the name of numcodecs."""
    if compressor is not None:
        compressor = omnizarr.create(1, compressor=compressor, zarr_format=2).compressor
    dtype = array.dtype.newbyteorder("=")
    return N5ChunkWrapper(dtype, array.chunks, compressor=compressor)


def _array_document(array: omnizarr.Array) -> dict[str, Any]:
    """The members of `.zarray` for an array of N5."""
    return {
        "zarr_format": 2,
        "shape": list(array.shape),
        "chunks": list(array.chunks),
        "dtype": array.dtype.newbyteorder("=").str,
        "compressor": _wrapper(array, array.compressor).get_config(),
        "fill_value": 0,
        "order": "C",
        "filters": [],
        "dimension_separator": ".",
    }


def _attributes_of_array(document: bytes) -> dict[str, Any]:
    """The members of attributes.json for a `.zarray`."""
    array = omnizarr.open_array({".zarray": document}, "r")
    compressor = array.compressor
    if isinstance(compressor, N5ChunkWrapper):
        compressor = compressor._compressor
    made = omnizarr.MemoryStore()
    omnizarr.create(
        array.shape, chunks=array.chunks, dtype=array.dtype, compressor=compressor, store=made,
        order=array.order, fill_value=array.fill_value, filters=array.filters, zarr_format="n5",
    )  # fmt: skip
    found: dict[str, Any] = json.loads(made[n5_attrs_key])
    return found
