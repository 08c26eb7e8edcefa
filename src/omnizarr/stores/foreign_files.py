"""Recognise files that are not stores, and say how to read them.

This module knows how files begin. It must not know any store.
"""

from __future__ import annotations

import os
from contextlib import suppress

_DOCUMENTS = frozenset(
    {"zarr.json", ".zarray", ".zgroup", ".zattrs", ".zmetadata", "attributes.json"}
)
_KINDS: tuple[tuple[tuple[bytes, ...], str], ...] = (
    (
        (b"PK\x03\x04", b"PK\x05\x06"),
        "a zip archive whose name does not end with .zip; open it with"
        " omnizarr.ZipStore(path, mode='r')",
    ),
    (
        (b"\x89HDF\r\n\x1a\n",),
        "an HDF5 (or NetCDF-4) file; open it with omnizarr.virtualize(path), or copy what is in it"
        " with omnizarr.copy_all(h5py.File(path), group)",
    ),
    (
        (b"CDF\x01", b"CDF\x02", b"CDF\x05"),
        "a NetCDF-3 file; open it with omnizarr.virtualize(path)",
    ),
    (
        (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+"),
        "a TIFF image; open it with omnizarr.virtualize(path)",
    ),
    ((b"\x1f\x8b", b"BZh", b"\xfd7zXZ", b"\x28\xb5\x2f\xfd"), "a compressed file; unpack it"),
    ((b"GRIB",), "a GRIB file; open it with omnizarr.virtualize(path)"),
    ((b"PAR1",), "a Parquet table; read it with omnizarr.convert"),
    ((b"ARROW1",), "an Arrow table; read it with omnizarr.convert"),
    ((b"\x93NUMPY",), "an array of NumPy; read it with numpy.load"),
)


def file_above(path: str) -> str | None:
    """The regular file at a path or above it; None if there is none."""
    while path and not os.path.lexists(path):
        shorter = os.path.dirname(path)
        if shorter == path:
            return None
        path = shorter
    return path if os.path.isfile(path) else None


def is_document(file: str) -> bool:
    """Whether a file has the name of a metadata document."""
    return os.path.basename(file) in _DOCUMENTS and os.path.isfile(file)


def described(file: str) -> str:
    """The kind of a regular file, and how to read it."""
    if is_document(file):
        return "a metadata document; open the folder that it is in"
    begin = b""
    with suppress(OSError), open(file, "rb") as stream:
        begin = stream.read(16)
        if not begin:
            return "an empty file"
    known = next((text for magics, text in _KINDS if begin.startswith(magics)), None)
    return known or "a regular file; a store is a folder, a zip archive, a database or a URL"
