"""HDF5 and NetCDF-4 files as facts, through h5py alone.

    contiguous data   one span, cut into equal parts
    chunks            a span each; filters are codecs: deflate, shuffle, Fletcher's checksum,
                      bzip2, Zstandard, Blosc
    compact data, text of any length, small coordinates    held as values

Dimensions are those of HDF5's dimension scales, with the names that NetCDF gives them, or their
labels; others are called `phony_dim_0`, …, by their length, as the netCDF library does. Only hard
links are followed: a file names no other file here.

This module knows HDF5. It must not know how facts are stored. h5py and the HDF5 library read the
file's own structures: what a hostile file does to them is beyond this module.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np

from omnizarr.api.virtual.coordinates import same
from omnizarr.api.virtual.facts import (
    HELD_BYTES,
    WANTED_BYTES,
    Codec,
    Span,
    VirtualArray,
    VirtualFile,
    as_json,
    contiguous,
    held,
    is_coordinate,
)
from omnizarr.api.virtual.files import Excluded, Place, leave_out, leaves_out
from omnizarr.errors import MetadataError, ObstaclesError, UnsupportedError, ZarrError
from omnizarr.model.codec import Json
from omnizarr.model.grids import NDArray, Shape
from omnizarr.runtime import optional_packages

MOST_TEXT = 1 << 20
"""How many elements a dataset of text may have: its bytes are scattered over the file, so that it
is copied."""
_HIDDEN = frozenset({
    "CLASS", "NAME", "DIMENSION_LIST", "DIMENSION_LABELS", "REFERENCE_LIST", "_FillValue",
    "_NCProperties", "_Netcdf4Coordinates", "_Netcdf4Dimid", "_nc3_strict",
})  # fmt: skip
"""Attributes that are HDF5's or netCDF's own, or stand elsewhere in Zarr."""
_NO_VARIABLE = b"This is a netCDF dimension but not a netCDF variable"
_NON_COORDINATE = "_nc4_non_coord_"
_COMPACT, _CONTIGUOUS, _CHUNKED, _VIRTUAL = range(4)
_SPACES = 2  # H5T_STR_SPACEPAD, as Fortran writes text
_BLOSC = ("blosclz", "lz4", "lz4hc", "snappy", "zlib", "zstd")


def scan(place: Place, wanted: frozenset[str], skip: frozenset[str]) -> VirtualFile:
    """All groups and datasets of a file. `wanted`: paths of arrays whose values are wanted, if
    they are small; `skip`: names and paths to leave out."""
    h5py = optional_packages.package("h5py", "virtual", "reading HDF5 and NetCDF-4 files")
    try:
        with _opened(h5py, place) as file:
            return _Scan(h5py, file, place, wanted, skip).run()
    except ZarrError:
        raise
    except Exception as error:  # what h5py makes of damaged structures
        raise MetadataError(f"{place.shown!r} is a damaged HDF5 file: {error}") from error


@contextmanager
def _opened(h5py: Any, place: Place) -> Iterator[Any]:
    stream = place.open()  # of a local file: tells early and clearly if there is none
    try:
        try:
            if place.local:
                file = h5py.File(place.url, "r", locking="best-effort")
            else:
                file = h5py.File(stream, "r")
        except OSError as error:
            if isinstance(error, ZarrError):
                raise
            raise MetadataError(f"{place.shown!r} cannot be opened as HDF5: {error}") from error
        with file:
            yield file
    finally:
        stream.close()


class _Scan:
    def __init__(
        self, h5py: Any, file: Any, place: Place,
        wanted: frozenset[str], skip: frozenset[str],
    ) -> None:  # fmt: skip
        self._h5py, self._file, self._place = h5py, file, place
        self._wanted, self._skip = wanted, skip
        self._phony: dict[tuple[int, int], str] = {}
        self._ids: dict[int, str] = {}
        self._lengths: dict[str, int] = {}
        self._notes: dict[str, tuple[str, ...]] = {}

    def run(self) -> VirtualFile:
        datasets: dict[str, Any] = {}
        groups = {"": self._attributes("", self._file)}

        def visit(path: str, node: Any) -> None:
            parent, _, name = path.rpartition("/")
            name = name.removeprefix(_NON_COORDINATE)
            path = f"{parent}/{name}" if parent else name
            if leaves_out(self._skip, path) or (parent and self._is_skipped(parent)):
                return
            if isinstance(node, self._h5py.Group):
                groups[path] = self._attributes(path, node)
            elif isinstance(node, self._h5py.Dataset):
                if "_Netcdf4Dimid" in node.attrs and "CLASS" in node.attrs:
                    self._ids[int(node.attrs["_Netcdf4Dimid"])] = name
                if not _is_dimension_only(node):
                    datasets[path] = node

        self._file.visititems(visit)
        self._grow(datasets.values())
        arrays: dict[str, VirtualArray] = {}
        refused: list[ZarrError] = []
        for path, dataset in datasets.items():
            try:
                arrays[path] = self._array(path, dataset)
            except ZarrError as error:
                told = error.at(f"{self._place.shown!r}, dataset {path!r}")
                refused.append(leave_out(told, self._skip, path))
        if len(refused) == 1:
            raise refused[0]
        if refused:
            raise ObstaclesError.of(refused)
        growing = sorted({scale.rpartition("/")[2] for scale in self._lengths})
        if growing:
            note = f"unlimited dimensions: {', '.join(growing)}"
            self._notes[""] = (*self._notes.get("", ()), note)
        return VirtualFile(self._place.shown, groups, arrays, self._notes)

    def _attributes(self, path: str, node: Any) -> dict[str, Json]:
        found, lost = _attributes(node)
        if lost:
            listed = ", ".join(map(repr, lost))
            self._notes[path] = (f"attributes left out, which JSON cannot hold: {listed}",)
        return found

    def _grow(self, datasets: Iterable[Any]) -> None:
        """Find the lengths of unlimited dimensions of NetCDF: that of the longest variable. In HDF5
        the others are shorter, and netCDF-C reads fill values behind their end."""
        for dataset in datasets:
            if dataset.shape and None in dataset.maxshape:
                for scale, length in zip(self._scales(dataset), dataset.shape, strict=True):
                    if scale:
                        self._lengths[scale] = max(length, self._lengths.get(scale, 0))

    def _scales(self, dataset: Any) -> list[str]:
        """The names of the scales along which a variable of NetCDF can grow; others are empty."""
        if _text_of(dataset, "CLASS") == b"DIMENSION_SCALE":
            own = dataset.name if "_Netcdf4Dimid" in dataset.attrs and dataset.ndim == 1 else ""
            return [own, *[""] * (dataset.ndim - 1)]
        lists: Any = dataset.attrs.get("DIMENSION_LIST", ())
        found = [""] * dataset.ndim
        for axis, references in enumerate(lists if len(lists) == dataset.ndim else ()):
            if dataset.maxshape[axis] is None and len(references):
                scale = self._file[references[0]]
                found[axis] = scale.name if "_Netcdf4Dimid" in scale.attrs else ""
        return found

    def _shape(self, dataset: Any) -> Shape:
        if dataset.shape is None:
            return (0,)
        if not dataset.shape or None not in dataset.maxshape:
            return tuple(dataset.shape)
        lengths = zip(self._scales(dataset), dataset.shape, strict=True)
        return tuple(max(length, self._lengths.get(scale, 0)) for scale, length in lengths)

    def _is_skipped(self, path: str) -> bool:
        """Whether a group above, or this one, is left out; what is below it goes with it."""
        parts = path.split("/")
        return any(leaves_out(self._skip, "/".join(parts[:n])) for n in range(1, len(parts) + 1))

    # -- one dataset --------------------------------------------------------------------------
    def _array(self, path: str, dataset: Any) -> VirtualArray:
        try:
            dtype = dataset.dtype
        except TypeError as error:
            raise UnsupportedError(f"its data type has no equal in NumPy: {error}") from error
        shape = self._shape(dataset)
        dimensions = self._dimensions(path, dataset, shape)
        attributes = self._attributes(path, dataset)
        text = self._h5py.check_string_dtype(dtype)
        if text is not None and text.length is None:
            plain = VirtualArray(shape, shape, np.dtype(object), dimensions, attributes=attributes)
            return held(_padded(_text(dataset), shape, ""), plain)
        dtype = _plain(dtype)
        fill = dataset.attrs.get("_FillValue")
        if fill is not None:
            fill = np.asarray(fill).astype(dtype).reshape(-1)[0]
        array = VirtualArray(
            shape, tuple(max(1, n) for n in shape), dtype, dimensions,
            fill_value=fill, attributes=attributes,
        )  # fmt: skip
        if dataset.shape is None or not prod(shape):
            return held(np.zeros(shape, dtype), array)
        limit = WANTED_BYTES if path in self._wanted else 0
        if not shape or is_coordinate(path, dimensions):
            limit = HELD_BYTES
        if text is not None and dataset.id.get_type().get_strpad() == _SPACES:
            _check_text(dataset)
            limit = prod(shape) * dtype.itemsize  # the bytes have spaces that are no part of it
        plist = dataset.id.get_create_plist()
        if prod(shape) * dtype.itemsize <= limit or plist.get_layout() == _COMPACT:
            values = np.asarray(dataset[...]).astype(dtype, copy=False)
            return held(_padded(values, shape, dataset.fillvalue), array)
        return self._located(dataset, plist, array)

    def _located(self, dataset: Any, plist: Any, array: VirtualArray) -> VirtualArray:
        """The array with the places of its chunks."""
        layout = plist.get_layout()
        both = isinstance(self._skip, Excluded)  # converted, not referred to
        if layout == _VIRTUAL:
            raise UnsupportedError(
                "a virtual dataset, whose data is in other files; open these with a list of their"
                " names, or copy it with h5repack"
            )
        if plist.get_external_count():
            raise UnsupportedError(
                "its data is in another file that HDF5 calls external storage; h5repack copies it"
                " into this one"
            )
        url = self._place.url
        if layout == _CONTIGUOUS:
            # `get_offset` does not tell: of a file with a user block it gives some number.
            if dataset.id.get_storage_size() == 0:
                return _filled(array, dataset, {}, both)
            offset = dataset.id.get_offset()
            chunks, pieces = contiguous(array.shape, array.dtype.itemsize, url, offset)
            return _filled(array, dataset, pieces, both, chunks=chunks, cut=True)
        codecs = [_codec(plist.get_filter(i), array.dtype) for i in range(plist.get_nfilters())]
        chunks = dataset.chunks
        found: dict[Shape, Span] = {}
        masked: list[Shape] = []

        def visit(chunk: Any) -> None:
            place = tuple(n // size for n, size in zip(chunk.chunk_offset, chunks, strict=True))
            found[place] = Span(url, chunk.byte_offset, chunk.size)
            if chunk.filter_mask:
                masked.append(place)

        dataset.id.chunk_iter(visit)
        if masked:
            raise UnsupportedError(
                f"a filter was left out of {len(masked)} chunks, of {masked[0]} for one; in Zarr"
                " all chunks have the same codecs"
            )
        return _filled(array, dataset, found, both, chunks=chunks, codecs=tuple(codecs))

    def _dimensions(self, path: str, dataset: Any, shape: Shape) -> tuple[str, ...]:
        """The names of the dimension scales. They are found by their attributes: the functions of
        HDF5 for them (H5DS) crash on damaged ones."""
        own = path.rpartition("/")[2]
        if _text_of(dataset, "CLASS") == b"DIMENSION_SCALE":
            if len(shape) == 1:
                return (own,)
            ids = [int(n) for n in np.atleast_1d(dataset.attrs.get("_Netcdf4Coordinates", ()))]
            if len(ids) == len(shape) and all(n in self._ids for n in ids):
                return tuple(self._ids[n] for n in ids)
        scales: Any = dataset.attrs.get("DIMENSION_LIST", ())
        labels: Any = dataset.attrs.get("DIMENSION_LABELS", ())
        names: list[str] = []
        for axis, length in enumerate(shape):
            found: Any = scales[axis] if len(scales) == len(shape) else ()
            label = labels[axis] if len(labels) == len(shape) else ""
            if len(found):
                names.append(self._file[found[0]].name.rpartition("/")[2])
            elif isinstance(label, str) and label and label not in names:
                names.append(label)
            else:
                names.append(self._unnamed(length, list(shape[:axis]).count(length)))
        return tuple(names)

    def _unnamed(self, length: int, occurrence: int) -> str:
        return self._phony.setdefault((length, occurrence), f"phony_dim_{len(self._phony)}")


def _filled(
    array: VirtualArray, dataset: Any, pieces: dict[Shape, Span], both: bool, **changes: Any
) -> VirtualArray:
    """The array with its pieces; chunks that were never written have the fill value of HDF5.
    `both`: it may be another one than `_FillValue`, which format 3 can say."""
    found = replace(array, pieces=pieces, **changes)
    if len(pieces) == prod(found.counts()):
        return found
    unwritten = np.asarray(dataset.fillvalue).astype(array.dtype)[()]
    if found.fill_value is None:
        return replace(found, unwritten=unwritten)
    if both:
        return replace(found, unwritten=unwritten)
    if not same(found.fill_value, unwritten):
        raise UnsupportedError(
            f"chunks that were never written hold {unwritten}, but _FillValue is"
            f" {found.fill_value}; in Zarr they are one"
        )
    return found


def _padded(values: NDArray, shape: Shape, fill: Any) -> NDArray:
    """Values with fill values behind their end."""
    if values.shape == shape:
        return values
    found = np.full(shape, fill, values.dtype)
    found[tuple(map(slice, values.shape))] = values
    return found


def _is_dimension_only(dataset: Any) -> bool:
    return "CLASS" in dataset.attrs and _text_of(dataset, "NAME").startswith(_NO_VARIABLE)


def _text_of(dataset: Any, name: str) -> bytes:
    """An attribute of HDF5's own, without the NUL at its end."""
    value = dataset.attrs.get(name, b"")
    return bytes(value).rstrip(b"\0") if isinstance(value, bytes | np.bytes_) else b""


def _plain(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """A data type without h5py's remarks (of enumerations, of text)."""
    if dtype.names is not None:
        fields = [(name, _plain(dtype[name])) for name in dtype.names]
        packed = np.dtype(fields)
        if packed.itemsize != dtype.itemsize:
            raise UnsupportedError("a compound type with gaps between its fields")
        return packed
    if dtype.kind == "O":
        raise UnsupportedError(
            "elements of variable length, or references: their bytes are scattered over the file"
        )
    if dtype.subdtype is not None:
        raise UnsupportedError("elements that are arrays themselves")
    return np.dtype(dtype.str) if dtype.kind != "b" else np.dtype(bool)


def _check_text(dataset: Any) -> None:
    if dataset.size and dataset.size > MOST_TEXT:
        raise UnsupportedError(
            f"{dataset.size} elements of text of any length, or padded with spaces, which would be"
            f" copied; at most {MOST_TEXT} are"
        )


def _text(dataset: Any) -> NDArray:
    _check_text(dataset)
    if dataset.shape is None:
        return np.zeros(0, np.dtypes.StringDType())
    try:
        return np.asarray(dataset.asstr()[...], np.dtypes.StringDType())
    except UnicodeDecodeError as error:
        raise UnsupportedError(f"text that is not UTF-8: {error}") from error


def _codec(found: tuple[int, int, tuple[int, ...], bytes], dtype: np.dtype[Any]) -> Codec:
    """The codec that undoes an HDF5 filter."""
    code, _, values, name = found
    if code == 1:
        return {"id": "zlib", "level": values[0] if values else 1}
    if code == 2:
        return {"id": "shuffle", "elementsize": values[0] if values else dtype.itemsize}
    if code == 3:
        return {"id": "fletcher32"}
    if code == 307:
        return {"id": "bz2", "level": values[0] if values else 9}
    if code == 32015:
        return {"id": "zstd", "level": values[0] if values else 3}
    if code == 32001 and len(values) >= 4:
        level, shuffle, compressor = (*values[4:7], *(5, 1, 0)[len(values[4:7]) :])
        if compressor < len(_BLOSC):
            return {"id": "blosc", "cname": _BLOSC[compressor], "clevel": level, "shuffle": shuffle,
                    "blocksize": 0}  # fmt: skip
    shown = name.decode(errors="replace")
    raise UnsupportedError(
        f"the HDF5 filter {shown!r} ({code}), for which there is no codec; h5repack -f GZIP=4"
        " writes a file that has another one"
    )


# -- attributes -----------------------------------------------------------------------------------


def _attributes(node: Any) -> tuple[dict[str, Json], list[str]]:
    """All attributes that JSON can hold, but those that are HDF5's own; and the names of others."""
    found: dict[str, Json] = {}
    lost: list[str] = []
    for name in node.attrs:
        if name in _HIDDEN:
            continue
        try:
            value = node.attrs[name]
        except (OSError, TypeError):  # of a type that h5py does not read
            lost.append(name)
            continue
        if hasattr(value, "shape") and value.shape is None:  # an empty one, as netCDF has them
            plain: Json = "" if value.dtype.kind in "SO" else []
        else:
            plain = as_json(value)
        if plain is None:
            lost.append(name)
        else:
            found[name] = plain
    return found, lost
