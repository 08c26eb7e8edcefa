"""Where the tiles or strips of a TIFF page are, and which codecs decode them.

A tile or a strip is a chunk. Where the last strip is shorter than the others, strips without
compression are cut anew, and compressed ones make a grid whose chunks differ in their length.

This module knows pages, as tifffile has them. It must not know what images mean.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from omnizarr.api.virtual.facts import Codec, Lengths, Span, contiguous
from omnizarr.api.virtual.files import Place
from omnizarr.errors import MetadataError, UnsupportedError
from omnizarr.model.codec import Json
from omnizarr.model.grids import Shape
from omnizarr.runtime import optional_packages

_CODECS: dict[int, str | None] = {
    1: None, 5: "imagecodecs_lzw", 8: "zlib", 32773: "imagecodecs_packbits", 32946: "zlib",
    34925: "lzma", 50000: "zstd",
}  # fmt: skip
"""Codecs by the number of TIFF's compression."""
_PICTURES = {
    7: "imagecodecs_jpeg", 33003: "imagecodecs_jpeg2k", 33005: "imagecodecs_jpeg2k",
    34712: "imagecodecs_jpeg2k", 34887: "imagecodecs_lerc", 50001: "imagecodecs_webp",
    50002: "imagecodecs_jpegxl", 52546: "imagecodecs_jpegxl",
}  # fmt: skip
"""Codecs that make a whole picture of a tile."""
MOST_SEGMENTS = 1 << 22
_YCBCR = 6


def segments(
    frame: Any, pages: Sequence[Any], dtype: np.dtype[Any], encoded: bool, place: Place
) -> tuple[tuple[Lengths, ...], dict[Shape, Span]]:
    """Chunk lengths of a page, and the spans of all pages; the first coordinate is the page."""
    height, width, samples = map(int, (frame.imagelength, frame.imagewidth, frame.samplesperpixel))
    separate = int(frame.planarconfig) == 2 and samples > 1
    rows, columns = (
        (int(frame.tilelength), int(frame.tilewidth))
        if frame.is_tiled
        else (min(int(frame.rowsperstrip), height), width)
    )
    if min(height, width, samples, rows, columns) < 1:
        raise MetadataError(f"an image of {height} x {width} pixels in tiles of {rows} x {columns}")
    down, across = -(-height // rows), -(-width // columns)
    planes = samples if separate else 1
    if planes * down * across * len(pages) > MOST_SEGMENTS:
        raise UnsupportedError(f"more than {MOST_SEGMENTS} tiles")
    trailing: tuple[int, ...] = (samples,) if samples > 1 and not separate else ()
    leading: tuple[int, ...] = (1,) if separate else ()
    last = height - (down - 1) * rows
    lengths: Lengths = rows
    pieces: dict[Shape, Span] = {}
    for number, page in enumerate(pages):
        offsets, counts = page.dataoffsets, page.databytecounts
        if len(offsets) != planes * down * across or len(counts) != len(offsets):
            raise MetadataError(
                f"{len(offsets)} tiles or strips, expected {planes * down * across}"
            )
        for index, (offset, count) in enumerate(zip(offsets, counts, strict=True)):
            if not count:
                continue  # never written: the fill value
            plane, rest = divmod(index, down * across)
            row, column = divmod(rest, across)
            at = (number, *((plane,) if separate else ()), row, column, *(0,) * len(trailing))
            pieces[at] = Span(place.url, int(offset), int(count))
    if not frame.is_tiled and last != rows:
        whole = (*leading, height, width, *trailing)
        merged = None if encoded else _merged(pieces, len(pages), planes, whole, dtype, place)
        if merged is not None:
            return merged
        lengths = (*(rows,) * (down - 1), last)
    return (*leading, lengths, columns, *trailing), pieces


def _merged(
    pieces: dict[Shape, Span], pages: int, planes: int, whole: Shape, dtype: np.dtype[Any],
    place: Place,
) -> tuple[tuple[Lengths, ...], dict[Shape, Span]] | None:  # fmt: skip
    """Uncompressed strips that lie one behind the other, cut anew into equal ones."""
    if pages * planes > 1:
        return None
    spans = list(pieces.values())
    if any(one.offset + one.size != other.offset for one, other in pairwise(spans)) or not spans:
        return None
    chunks, found = contiguous(whole, dtype.itemsize, place.url, spans[0].offset)
    if sum(span.size for span in spans) != sum(span.size for span in found.values()):
        return None
    return chunks, {(0, *at): span for at, span in found.items()}


def codecs_of(frame: Any) -> tuple[Codec, ...]:
    """The codecs of a page: its predictor, and its compression."""
    compression, predictor = int(frame.compression), int(frame.predictor)
    if compression in _PICTURES:
        return (_picture(frame, _PICTURES[compression]),)
    if compression not in _CODECS:
        raise UnsupportedError(
            f"the TIFF compression {getattr(frame.compression, 'name', compression)!r}, which is"
            " not read"
        )
    if int(frame.fillorder) != 1 or frame.dtype is None:
        raise UnsupportedError("bits in reverse order, or a data type that NumPy does not have")
    if frame.dtype.itemsize * 8 != frame.bitspersample:
        raise UnsupportedError(f"{frame.bitspersample} bits for each sample, which are packed")
    name = _CODECS[compression]
    found: list[Codec] = []
    if predictor in (2, 3) and name is not None:
        contig = int(frame.planarconfig) == 1 and frame.samplesperpixel > 1
        dtype = np.dtype(frame.dtype).newbyteorder(frame.parent.byteorder)
        found.append({
            "id": "imagecodecs_delta" if predictor == 2 else "imagecodecs_floatpred",
            "shape": _segment_shape(frame), "dtype": dtype.str, "axis": -2 if contig else -1,
        })  # fmt: skip
    elif predictor != 1 and name is not None:
        raise UnsupportedError(f"the TIFF predictor {predictor}")
    if name is not None:
        found.append({"id": name})
    return tuple(found)


def _picture(frame: Any, name: str) -> Codec:
    """The codec of tiles that are pictures: JPEG and its kin."""
    found: dict[str, Json] = {"id": name}
    if frame.dtype is None or int(frame.fillorder) != 1:
        raise UnsupportedError("bits in reverse order, or a data type that NumPy does not have")
    if frame.dtype.itemsize * 8 != frame.bitspersample:
        raise UnsupportedError(f"pictures of {frame.bitspersample} bits for each sample")
    if name == "imagecodecs_jpeg":
        tifffile = optional_packages.package("tifffile.tifffile", "virtual", "reading TIFF files")
        if frame.jpegheader is not None:
            raise UnsupportedError("JPEG without headers, as some scanners write it")
        stored, wanted = tifffile.jpeg_decode_colorspace(
            frame.photometric, frame.planarconfig, frame.extrasamples, frame.is_jfif
        )
        if frame.jpegtables is not None:
            found["tables"] = b64encode(frame.jpegtables).decode()
        found["colorspace_jpeg"] = None if stored is None else int(stored)
        found["colorspace_data"] = None if wanted is None else int(wanted)
    elif int(frame.photometric) == _YCBCR:
        raise UnsupportedError("luminance and colour differences, which are not JPEG's")
    elif name == "imagecodecs_webp" and frame.samplesperpixel == 4:
        found["hasalpha"] = True
    return found


def _segment_shape(frame: Any) -> list[Json]:
    contig = int(frame.planarconfig) == 1 and frame.samplesperpixel > 1
    if frame.is_tiled:
        size = [int(frame.tilelength), int(frame.tilewidth)]
    else:
        rows = int(min(frame.rowsperstrip, frame.imagelength))
        shorter = frame.imagelength % rows if rows else 0
        size = [-1 if shorter else rows, int(frame.imagewidth)]  # -1: as many rows as there are
    return [*size, *([int(frame.samplesperpixel)] if contig else [])]
