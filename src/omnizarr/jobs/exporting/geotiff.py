"""An image, or a pyramid of it, as a GeoTIFF, through tifffile.

Two dimensions are rows and columns; a third one is bands, stored band by band, or pixel by pixel
where it is the last one. Levels of a pyramid become overviews. Options:

compression   "deflate" (the default), "zstd", "lzw" or None
level         of the compression
predictor     whether values are stored as differences; by default where that helps
tile          rows and columns of a tile, 512
cog           whether the file is laid out as a Cloud Optimized GeoTIFF
bigtiff       whether offsets have 64 bits; by default where the file may pass 4 GiB
crs           whether the reference system is written
nodata        the value that means "no data"; by default `_FillValue`, or in format 2 the fill value
max_memory    bytes that are read at once
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Any

import numpy as np

from omnizarr.errors import MetadataError, UnsupportedError, ZarrError
from omnizarr.jobs.exporting import gdal_tags
from omnizarr.jobs.exporting.cog_layout import arrange
from omnizarr.jobs.exporting.raster_tiles import Image, crew, part_count, tiles, unequal
from omnizarr.nodes.array import Array
from omnizarr.nodes.group import Group
from omnizarr.nodes.multiscale import Multiscale
from omnizarr.runtime import optional_packages

NAME = "geotiff"
SUFFIXES = (".tif", ".tiff")
COMPRESSIONS = ("deflate", "zstd", "lzw", None)
TILE = 512
_BANDS = {"band", "bands", "c", "channel", "s", "sample", "samples", "rgb"}
_TYPES = {"b1", "u1", "u2", "u4", "u8", "i1", "i2", "i4", "i8", "f2", "f4", "f8", "c8", "c16"}
_CLASSIC = (1 << 32) - (1 << 25)
_REDUCED = 1
_MOST_NAMES = 6


def tifffile() -> Any:
    return optional_packages.package("tifffile", "virtual", "writing TIFF files")


def levels_of(node: Array | Group) -> list[Array]:
    """The arrays to write: an image, and smaller versions of it."""
    if isinstance(node, Array):
        return [node]
    try:
        return list(Multiscale(node).levels)
    except MetadataError:
        wide = [array for _, array in node.arrays() if array.ndim > 1]
        if len(wide) == 1:
            return wide
    raise UnsupportedError(f"the group is no pyramid; {choice(node)}")


def choice(group: Group) -> str:
    """Which arrays of a group could be written, as advice."""
    arrays = (member for member in group.members(max_depth=None) if isinstance(member[1], Array))
    names = sorted(name for name, array in arrays if array.ndim > 1)
    if not names:
        return "it holds nothing that has rows and columns"
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    listed = ", ".join(map(repr, names[:_MOST_NAMES]))
    return f"choose an array of it with path=: {listed}{more}"


def image_of(array: Array) -> Image:
    """Which axes of an array are rows, columns and samples."""
    names = [str(name or "").lower() for name in array.dims or ("",) * array.ndim]
    if array.ndim == 3 and names[2] in _BANDS:
        return Image(array, 0, 1, 2 if array.shape[2] > 1 else None)
    rows, columns = array.ndim - 2, array.ndim - 1
    with suppress(ZarrError):
        dims = array.geo.dims
        known = list(array.dims or ())
        if None not in dims and {*dims} <= {*known}:
            rows, columns = known.index(dims[0]), known.index(dims[1])
    return Image(array, rows, columns)


def obstacles(node: Array | Group, options: Mapping[str, Any]) -> list[str]:
    """What a GeoTIFF cannot express."""
    try:
        levels = levels_of(node)
    except ZarrError as error:
        return [str(error)]
    first, found = levels[0], _wrong(options)
    if first.ndim not in (2, 3):
        found.append(
            f"an array of {first.ndim} dimensions; a GeoTIFF has rows, columns and bands: write"
            " one step of the others, as an array of its own"
        )
    if first.dtype.str[1:] not in _TYPES:
        found.append(f"values of type {first.dtype}; a GeoTIFF holds numbers")
    if 0 in first.shape:
        found.append(f"an image without pixels, of shape {first.shape}")
    for level in levels[1:]:
        if level.ndim != first.ndim or level.dtype != first.dtype:
            found.append(
                f"the level {level.path!r} has shape {level.shape} and type {level.dtype}, the"
                f" largest {first.shape} and {first.dtype}; write that one alone with path="
            )
    try:
        gdal_tags.nodata_tags(first, options.get("nodata", "auto"))
    except ZarrError as error:
        found.append(str(error))
    if first.ndim in (2, 3) and options.get("crs", True):
        found += gdal_tags.obstacles(first)
    return found


def _wrong(options: Mapping[str, Any]) -> list[str]:
    compression, tile = options.get("compression", "deflate"), options.get("tile", TILE)
    found = []
    if compression not in COMPRESSIONS:
        known = ", ".join(map(repr, COMPRESSIONS))
        found.append(f"the compression {compression!r}; there are {known}")
    if not isinstance(tile, int) or tile < 16 or tile % 16:
        found.append(f"tiles of {tile!r} rows; give a multiple of 16")
    return found


def units(node: Array | Group, options: Mapping[str, Any]) -> int:
    """How many steps `write` has."""
    tile, memory = options.get("tile", TILE), options.get("max_memory")
    return sum(part_count(image_of(level), tile, memory) for level in levels_of(node))


def write(
    node: Array | Group,
    file: str,
    advance: Callable[[int, int, str], object],
    *,
    compression: str | None = "deflate",
    level: int | None = None,
    predictor: bool | None = None,
    tile: int = TILE,
    cog: bool = False,
    bigtiff: bool | None = None,
    crs: bool = True,
    nodata: Any = "auto",
    max_memory: int | None = None,
) -> None:
    """Write a new file."""
    levels = levels_of(node)
    first = levels[0]
    if bigtiff is None:
        bigtiff = sum(array.nbytes for array in levels) * 9 // 8 >= _CLASSIC
    target = f"{file}.parts" if cog else file
    try:
        with tifffile().TiffWriter(target, bigtiff=bigtiff, byteorder="<") as tiff:
            for number, array in enumerate(levels):
                image = image_of(array)
                dtype = _stored(array.dtype)
                arguments = _layout(image, dtype, compression, level, predictor, first)
                if number == 0:
                    arguments["extratags"] = _tags(array, image, crs, nodata)
                else:
                    arguments["subfiletype"] = _REDUCED
                    arguments["extratags"] = gdal_tags.nodata_tags(first, nodata)
                shape: tuple[int, ...] = image.size
                if "planarconfig" in arguments:
                    planes = () if image.samples is not None else (image.plane_count,)
                    shape = (*planes, *shape, *(() if planes else (image.depth,)))
                tiff.write(
                    tiles(image, tile, dtype, advance, array.path, max_memory), shape=shape,
                    dtype=dtype, tile=(tile, tile), metadata=None, software=False, **arguments,
                    **crew(compression),
                )  # fmt: skip
        if cog:
            arrange(target, file)
    finally:
        if cog:
            with suppress(OSError):
                os.remove(target)


def _stored(dtype: np.dtype[Any]) -> np.dtype[Any]:
    return np.dtype("u1") if dtype.kind == "b" else dtype.newbyteorder("<")


def _layout(
    image: Image, dtype: np.dtype[Any], compression: str | None, level: int | None,
    predictor: bool | None, first: Array,
) -> dict[str, Any]:  # fmt: skip
    """How tifffile is to store an image."""
    found: dict[str, Any] = {"photometric": "minisblack"}
    count = image.depth * image.plane_count
    if count > 1:
        found["planarconfig"] = "separate" if image.samples is None else "contig"
        colours = gdal_tags.colours(gdal_tags.bands_of(first, count))
        if colours[:3] == ["red", "green", "blue"] and dtype.kind == "u":
            found["photometric"] = "rgb"
            extra = ["unassalpha" if name == "alpha" else "unspecified" for name in colours[3:]]
        else:
            extra = ["unassalpha" if name == "alpha" else "unspecified" for name in colours[1:]]
        if extra:
            found["extrasamples"] = extra
    elif (map_of := _colormap(first, dtype)) is not None:
        found |= {"photometric": "palette", "colormap": map_of}
    if compression is not None:
        found["compression"] = {"deflate": "adobe_deflate"}.get(compression, compression)
        if level is not None:
            found["compressionargs"] = {"level": level}
        usual = (dtype.kind in "iu" and dtype.itemsize <= 4) or dtype.str[1:] in ("f4", "f8")
        helps = usual and found["photometric"] != "palette"
        if predictor or (predictor is None and helps):
            found["predictor"] = True
    return found


def _colormap(array: Array, dtype: np.dtype[Any]) -> Any:
    """The colours of a palette, as TIFF has them."""
    listed = array.attrs.get("colormap")
    if dtype.str[1:] not in ("u1", "u2") or not isinstance(listed, list):
        return None
    count = 1 << 8 * dtype.itemsize
    try:
        colours = np.array([colour[:3] for colour in listed[:count]], "u2").T * 257
        found = np.zeros((3, count), "u2")
        found[:, : colours.shape[1]] = colours
    except (TypeError, ValueError, IndexError, OverflowError):
        return None
    return found


def _tags(array: Array, image: Image, crs: bool, nodata: Any) -> list[gdal_tags.Tag]:
    bands = gdal_tags.bands_of(array, image.depth * image.plane_count)
    return [
        *gdal_tags.place_tags(array, crs), *gdal_tags.metadata_tags(array, bands),
        *gdal_tags.nodata_tags(array, nodata),
    ]  # fmt: skip


def differences(
    node: Array | Group,
    file: str,
    advance: Callable[[int, int, str], object],
    **options: Any,
) -> Iterator[str]:
    """What reads back as something else."""
    tile, memory = options.get("tile", TILE), options.get("max_memory")
    with tifffile().TiffFile(file) as tiff:
        for number, array in enumerate(levels_of(node)):
            pages = [tiff.pages[number]] if number < len(tiff.pages) else []
            yield from unequal(pages, image_of(array), tile, advance, memory)
