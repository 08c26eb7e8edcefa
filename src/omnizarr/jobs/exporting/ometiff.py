"""Microscope images as an OME-TIFF, through tifffile.

Rows and columns are tiles; each time, channel and z is a page of its own. Smaller levels of a
pyramid are sub-resolutions (SubIFDs). Axes, physical sizes, units, and names and colours of the
channels are written as OME-XML. A group of several images (`bioformats2raw.layout`) is a file with
several images. Options:

compression   "zlib" (the default), "zstd" or None
level         of the compression
predictor     whether values are stored as differences; by default they are, if compressed
tile          rows and columns of a tile, 512
pyramid       whether smaller levels are written
bigtiff       whether offsets have 64 bits; by default where the file may pass 4 GiB
max_memory    bytes that are read at once
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from omnizarr.api.virtual.ome_tiff import UNITS
from omnizarr.conventions.multiscales import Axis
from omnizarr.errors import MetadataError, UnsupportedError, ZarrError
from omnizarr.jobs.exporting.geotiff import choice
from omnizarr.jobs.exporting.raster_tiles import Image, crew, part_count, tiles, unequal
from omnizarr.model.json import show
from omnizarr.nodes.array import Array
from omnizarr.nodes.group import Group
from omnizarr.nodes.multiscale import Multiscale
from omnizarr.runtime import optional_packages

NAME = "ometiff"
SUFFIXES = (".ome.tif", ".ome.tiff", ".ome.tf2", ".ome.btf")
COMPRESSIONS = ("zlib", "zstd", None)
TILE = 512
_LETTERS = {
    "t": "T", "time": "T", "c": "C", "channel": "C", "band": "C", "z": "Z", "y": "Y", "x": "X",
}  # fmt: skip
_TYPES = {"b1", "u1", "u2", "u4", "i1", "i2", "i4", "f4", "f8", "c8", "c16"}
_SYMBOLS = {name: symbol for symbol, name in reversed(UNITS.items())}
_CLASSIC = (1 << 32) - (1 << 25)
_REDUCED = 1


class _Picture(NamedTuple):
    """One image: its levels, and what is said of it."""

    levels: tuple[Array, ...]
    letters: str
    """An upper-case letter for each axis."""
    axes: tuple[Axis, ...]
    scale: tuple[float, ...]
    name: str
    omero: Mapping[str, Any]


# -- what is written ------------------------------------------------------------------------------


def _pictures(node: Array | Group, pyramid: bool) -> list[_Picture]:
    if isinstance(node, Array):
        axes = tuple(Axis.named(str(name)) for name in node.dims or _usual(node.ndim))
        return [_picture((node,), axes, (), node.path.rpartition("/")[2], {})]
    attributes = node.attrs.asdict()
    inside = attributes.get("ome")
    said = inside if isinstance(inside, Mapping) else attributes
    try:
        found = Multiscale(node)
    except MetadataError as error:
        members = sorted((each for each in node.groups()), key=lambda item: _natural(item[0]))
        several = [group for name, group in members if name.isdecimal()]
        if "bioformats2raw.layout" in said and several:
            return [picture for group in several for picture in _pictures(group, pyramid)]
        wide = [array for _, array in node.arrays() if array.ndim > 1]
        if len(wide) == 1:
            return _pictures(wide[0], pyramid)
        raise UnsupportedError(f"the group is no image; {choice(node)}") from error
    omero = said.get("omero")
    levels = found.levels if pyramid else found.levels[:1]
    facts = omero if isinstance(omero, Mapping) else {}
    return [_picture(levels, found.axes, found.scales[0], found.name, facts)]


def _picture(
    levels: tuple[Array, ...], axes: tuple[Axis, ...], scale: tuple[float, ...], name: str,
    omero: Mapping[str, Any],
) -> _Picture:  # fmt: skip
    letters = "".join(_LETTERS.get(axis.name.lower(), "?") for axis in axes)
    return _Picture(levels, letters, axes, scale, name, omero)


def _usual(ndim: int) -> tuple[str, ...]:
    return tuple("tczyx"[-ndim:]) if 2 <= ndim <= 5 else ("?",) * ndim


def _natural(name: str) -> tuple[int, str]:
    return (int(name) if name.isdecimal() and len(name) < 10 else 1 << 40, name)


def _image(array: Array, letters: str) -> Image:
    return Image(array, letters.index("Y"), letters.index("X"))


def _tile(image: Image, tile: int) -> int:
    """Tiles of small images are smaller."""
    return min(tile, -(-max(image.size) // 16) * 16)


def obstacles(node: Array | Group, options: Mapping[str, Any]) -> list[str]:
    """What an OME-TIFF cannot express."""
    try:
        pictures = _pictures(node, bool(options.get("pyramid", True)))
    except ZarrError as error:
        return [str(error)]
    compression, tile = options.get("compression", "zlib"), options.get("tile", TILE)
    found = []
    if compression not in COMPRESSIONS:
        known = ", ".join(map(repr, COMPRESSIONS))
        found.append(f"the compression {compression!r}; there are {known}")
    if not isinstance(tile, int) or tile < 16 or tile % 16:
        found.append(f"tiles of {tile!r} rows; give a multiple of 16")
    for picture in pictures:
        found += _inexpressible(picture)
    return found


def _inexpressible(picture: _Picture) -> Iterator[str]:
    first, letters = picture.levels[0], picture.letters
    if "?" in letters or len({*letters}) != len(letters) or not {*"YX"} <= {*letters}:
        names = [axis.name for axis in picture.axes]
        yield f"axes {show(names)}; OME-TIFF has y and x, and t, c and z, each once"
        return
    if first.dtype.str[1:] not in _TYPES:
        yield f"values of type {first.dtype}; OME-TIFF has integers up to 32 bits and floats"
    if 0 in first.shape:
        yield f"an image without pixels, of shape {first.shape}"
    for axis in picture.axes:
        if axis.unit is not None and axis.unit not in _SYMBOLS:
            yield f"the unit {axis.unit!r} of axis {axis.name!r}, for which OME has no symbol"
    rest = _rest(first, letters)
    for level in picture.levels[1:]:
        if level.dtype != first.dtype or _rest(level, letters) != rest:
            yield (
                f"the level {level.path!r} has shape {level.shape} and type {level.dtype}; levels"
                " must have all times, channels and z of the largest: write that one alone with"
                " pyramid=False"
            )


def _rest(array: Array, letters: str) -> list[int]:
    lengths = zip(array.shape, letters, strict=True)
    return [length for length, letter in lengths if letter not in "YX"]


# -- writing --------------------------------------------------------------------------------------


def units(node: Array | Group, options: Mapping[str, Any]) -> int:
    """How many steps `write` has."""
    tile, memory = options.get("tile", TILE), options.get("max_memory")
    images = [_image(level, picture.letters)
              for picture in _pictures(node, bool(options.get("pyramid", True)))
              for level in picture.levels]  # fmt: skip
    return sum(part_count(image, _tile(image, tile), memory) for image in images)


def write(
    node: Array | Group,
    file: str,
    advance: Callable[[int, int, str], object],
    *,
    compression: str | None = "zlib",
    level: int | None = None,
    predictor: bool | None = None,
    tile: int = TILE,
    pyramid: bool = True,
    bigtiff: bool | None = None,
    max_memory: int | None = None,
) -> None:
    """Write a new file."""
    tifffile = optional_packages.package("tifffile", "virtual", "writing TIFF files")
    pictures = _pictures(node, pyramid)
    if bigtiff is None:
        total = sum(array.nbytes for picture in pictures for array in picture.levels)
        bigtiff = total * 9 // 8 >= _CLASSIC
    with tifffile.TiffWriter(file, bigtiff=bigtiff, byteorder="<", ome=True) as tiff:
        for picture in pictures:
            for number, array in enumerate(picture.levels):
                image = _image(array, picture.letters)
                dtype = np.dtype("u1") if array.dtype.kind == "b" else array.dtype.newbyteorder("<")
                side = _tile(image, tile)
                more = _options(dtype, compression, level, predictor)
                if number == 0:
                    more |= {"subifds": len(picture.levels) - 1, "metadata": _metadata(picture)}
                else:
                    more |= {"subfiletype": _REDUCED, "metadata": None}
                leading = (array.shape[axis] for axis in image.leading)
                tiff.write(
                    tiles(image, side, dtype, advance, array.path, max_memory),
                    shape=(*leading, *image.size), dtype=dtype, tile=(side, side),
                    photometric="minisblack", **more, **crew(compression),
                )  # fmt: skip


def _options(
    dtype: np.dtype[Any], compression: str | None, level: int | None, predictor: bool | None
) -> dict[str, Any]:
    if compression is None:
        return {}
    found: dict[str, Any] = {"compression": compression}
    if level is not None:
        found["compressionargs"] = {"level": level}
    if predictor or (predictor is None and dtype.kind in "iuf"):
        found["predictor"] = True
    return found


def _metadata(picture: _Picture) -> dict[str, Any]:
    """What tifffile makes OME-XML of."""
    image = _image(picture.levels[0], picture.letters)
    found: dict[str, Any] = {
        "axes": "".join(picture.letters[axis] for axis in image.leading) + "YX"
    }
    if picture.name:
        found["Name"] = _printable(picture.name)
    for letter, axis, scale in zip(picture.letters, picture.axes, picture.scale, strict=False):
        if letter in "XYZ" and scale > 0 and (axis.unit is not None or scale != 1):
            found[f"PhysicalSize{letter}"] = scale
            found[f"PhysicalSize{letter}Unit"] = _SYMBOLS.get(axis.unit or "", "reference frame")
        elif letter == "T" and scale > 0 and axis.unit is not None:
            found["TimeIncrement"] = scale
            found["TimeIncrementUnit"] = _SYMBOLS[axis.unit]
    listed = picture.omero.get("channels")
    at = picture.letters.find("C")
    count = picture.levels[0].shape[at] if at >= 0 else 1
    if isinstance(listed, list) and len(listed) == count:
        channels = [one if isinstance(one, Mapping) else {} for one in listed]
        found["Channel"] = {
            "Name": [
                _printable(one.get("label") or f"Channel {at}") for at, one in enumerate(channels)
            ],
            "Color": [_color(one.get("color")) for one in channels],
        }
    return found


def _printable(text: object) -> str:
    """Text without the characters that XML does not have."""
    return "".join(c for c in str(text) if c.isprintable() or c == " ")


def _color(text: object) -> int:
    """A colour of OME-NGFF as OME's signed number; white if it is none."""
    try:
        number = int(str(text), 16) if len(str(text)) == 6 else 0xFFFFFF
    except ValueError:
        number = 0xFFFFFF
    number = number << 8 | 0xFF
    return number - (1 << 32) if number >= 1 << 31 else number


def differences(
    node: Array | Group,
    file: str,
    advance: Callable[[int, int, str], object],
    **options: Any,
) -> Iterator[str]:
    """What reads back as something else."""
    tifffile = optional_packages.package("tifffile", "virtual", "reading TIFF files")
    tile, memory = options.get("tile", TILE), options.get("max_memory")
    pictures = _pictures(node, bool(options.get("pyramid", True)))
    with tifffile.TiffFile(file) as tiff:
        if len(tiff.series) != len(pictures):
            yield f"{len(tiff.series)} images, {len(pictures)} were written"
            return
        for picture, series in zip(pictures, tiff.series, strict=True):
            for number, array in enumerate(picture.levels):
                image = _image(array, picture.letters)
                pages = series.levels[number].pages if number < len(series.levels) else []
                yield from unequal(pages, image, _tile(image, tile), advance, memory)
