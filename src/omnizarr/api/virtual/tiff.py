"""TIFF, GeoTIFF and OME-TIFF files as facts, through tifffile.

The first image of the file is the array `data`, with the dimensions `band`, `y` and `x`; smaller
versions of it (overviews) are the groups `overviews/1`, …, each with its own `data`. Further images
of the file are in `images/1`, …. Several pages of one shape (a stack) are one array, with a
dimension `page` or the names of the software that wrote it.

Images of OME-TIFF and ImageJ are OME-NGFF: the arrays `0`, `1`, … are its levels. Where there are
several images, each is a group of its number.

This module knows TIFF. It must not know how facts are stored.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np

from omnizarr.api.virtual import gdal_metadata, markup, ome_tiff
from omnizarr.api.virtual.facts import Span, VirtualArray, VirtualFile, held, places
from omnizarr.api.virtual.files import Place
from omnizarr.api.virtual.geotiff import Placed, describe
from omnizarr.api.virtual.ome_tiff import ImageFacts
from omnizarr.api.virtual.tiff_messages import heard
from omnizarr.api.virtual.tiff_segments import MOST_SEGMENTS, codecs_of, segments
from omnizarr.conventions import multiscales
from omnizarr.conventions.multiscales import Axis, Level, Pyramid
from omnizarr.errors import MetadataError, UnsupportedError, ZarrError
from omnizarr.model.codec import Json
from omnizarr.model.grids import Shape
from omnizarr.runtime import optional_packages

_NAMES = {"S": "band", "I": "page", "Q": "page", "T": "time"}
"""Names of dimensions, for letters of tifffile; others are that letter: y, x, z, c."""
_MICROSCOPES = ("ome", "imagej")
_MOST_IMAGES = 1 << 12
_LEFT_OUT = "tiff_left_out"
"""The attribute that says which further images could not be read, and why."""


def scan(place: Place, wanted: frozenset[str], skip: frozenset[str]) -> VirtualFile:
    """The images of a file and their overviews. `skip`: names to leave out."""
    tifffile = optional_packages.package("tifffile", "virtual", "reading TIFF files")
    with place.open() as stream:
        try:
            # A file may name others beside it, which are not opened: there is no such folder.
            name = os.path.join(os.devnull, os.path.basename(place.shown))
            with heard(), tifffile.TiffFile(stream, name=name, _multifile=False) as tiff:
                if not tiff.pages:
                    raise MetadataError("there is no image in it")
                markup.check(tiff.pages.first.description, "the description of the image")
                return _Scan(tiff, place, skip).file()
        except ZarrError as error:
            raise error.at(f"{place.shown!r}") from error
        except MemoryError as error:
            raise MetadataError(f"{place.shown!r} is a damaged TIFF file: sizes") from error
        except Exception as error:  # foreign code, and whatever it made of damaged tags
            raise MetadataError(f"{place.shown!r} is a damaged TIFF file: {error}") from error


class _Scan:
    """The facts of one file, as they are found."""

    def __init__(self, tiff: Any, place: Place, skip: frozenset[str]) -> None:
        self.tiff, self.place, self.skip = tiff, place, skip
        self.groups: dict[str, dict[str, Json]] = {"": {}}
        self.arrays: dict[str, VirtualArray] = {}

    def file(self) -> VirtualFile:
        series = list(self.tiff.series)
        if not series:
            raise MetadataError("there is no image in it")
        if len(series) > _MOST_IMAGES:
            raise UnsupportedError(f"{len(series):,} images in one file")
        if series[0].kind in _MICROSCOPES:
            self._microscope(series)
        else:
            self._image(series[0], "")
            left: list[Json] = []
            for number, image in enumerate(series[1:], 1):
                path = f"images/{number}"
                if self.skip & {"images", path}:
                    continue
                try:
                    self._image(image, path)
                except ZarrError as error:
                    left.append(f"{path}: {error}")
            if any(path.startswith("images/") for path in self.groups):
                self.groups["images"] = {}
            if left:
                self.groups[""][_LEFT_OUT] = left
        return VirtualFile(self.place.shown, self.groups, self.arrays)

    def _image(self, series: Any, group: str) -> None:
        """An image, and its overviews below it."""
        found: dict[str, VirtualArray] = {}
        groups: dict[str, dict[str, Json]] = {group: {}}
        top, begin = series.levels[0], f"{group}/" if group else ""
        told = gdal_metadata.describe(top.keyframe)
        levels: dict[str, tuple[VirtualArray, Placed]] = {}
        for number, level in enumerate(series.levels):
            under = f"{begin}overviews/{number}" if number else group
            if number and self.skip & {"overviews", under}:
                continue
            inside = f"{under}/" if under else ""
            image = _level(level, self.place)
            scale = [a / b for a, b in zip(_size(top), _size(level), strict=True)]
            placed = describe(top.keyframe, scale, _size(level))
            image = replace(
                image, attributes={**told, **placed.attributes},
                fill_value=placed.fill(image.dtype),
            )  # fmt: skip
            if number:
                groups[f"{begin}overviews"] = {}
                groups[under] = {}
            for name, array in {"data": image, **_coordinates(placed)}.items():
                if name not in self.skip and inside + name not in self.skip:
                    found[inside + name] = array
                    if name == "data":
                        levels[(inside + name).removeprefix(begin)] = image, placed
        if len(levels) > 1:
            groups[group] = _pyramid(levels)
        self.groups |= groups
        self.arrays |= found

    def _microscope(self, series: Sequence[Any]) -> None:
        """The images of OME-TIFF or ImageJ."""
        told = self._told(series)
        several = len(series) > 1
        if several:
            self.groups[""]["bioformats2raw.layout"] = 3
        for number, image in enumerate(series):
            group = str(number) if several else ""
            begin = f"{group}/" if group else ""
            if group and group in self.skip:
                continue
            levels: dict[str, VirtualArray] = {}
            for position, level in enumerate(image.levels):
                found = _level(level, self.place)
                names = [{"time": "t", "band": "c"}.get(n, n) for n in found.dimensions]
                levels[str(position)] = _ordered(replace(found, dimensions=_distinct(names)))
            first = levels["0"]
            facts = told[number] if number < len(told) else ImageFacts(str(image.name))
            shapes = {path: array.shape for path, array in levels.items()}
            self.groups[group] = {
                **self.groups.get(group, {}),
                **ome_tiff.described(facts, shapes, first.dimensions, first.dtype),
            }
            for path, array in levels.items():
                if not self.skip & {path, begin + path} or path == "0":
                    self.arrays[begin + path] = array

    def _told(self, series: Sequence[Any]) -> list[ImageFacts]:
        if series[0].kind == "ome":
            images = ome_tiff.from_xml(self.tiff.ome_metadata)
            if len(images) == len(series):
                return images
            by_name = {image.name: image for image in images}
            return [by_name.get(one.name, ImageFacts(str(one.name))) for one in series]
        page = self.tiff.pages.first
        resolution = [_ratio(page.tags.valueof(code)) for code in (282, 283)]
        facts = ome_tiff.from_imagej(self.tiff.imagej_metadata or {}, resolution)
        return [facts] * len(series)


def _ratio(value: Any) -> float | None:
    if not isinstance(value, tuple) or len(value) != 2 or not value[1]:
        return None
    return float(value[0]) / float(value[1])


def _coordinates(placed: Placed) -> dict[str, VirtualArray]:
    found = {}
    for name, values in placed.coordinates.items():
        facts = VirtualArray(values.shape, values.shape, values.dtype, (name,))
        found[name] = replace(held(values, facts), attributes=placed.axis(name))
    return found


def _pyramid(levels: Mapping[str, tuple[VirtualArray, Placed]]) -> dict[str, Json]:
    """The attributes of the group that holds an image and its overviews."""
    first = next(iter(levels.values()))[0]
    found = []
    for path, (array, placed) in levels.items():
        factors = [a / b for a, b in zip(first.shape, array.shape, strict=True)]
        extra: dict[str, Json] = {}
        if "spatial:transform" in placed.attributes:
            sizes = dict(zip(array.dimensions, array.shape, strict=True))
            extra["spatial:shape"] = [sizes["y"], sizes["x"]]
            extra["spatial:transform"] = placed.attributes["spatial:transform"]
        moved = tuple((factor - 1) / 2 for factor in factors)
        found.append(Level(path, array.shape, tuple(factors), moved, extra))
    axes = tuple(Axis.named(name) for name in first.dimensions)
    pyramid = Pyramid(axes, tuple(found), convention="multiscales")
    return multiscales.attributes_for(pyramid, "multiscales", _shared(first))


def _shared(array: VirtualArray) -> dict[str, Json]:
    """What the group says of where its image is."""
    return {name: value for name, value in array.attributes.items()
            if name.startswith(("proj:", "spatial:dim")) or name == "zarr_conventions"}  # fmt: skip


def _size(level: Any) -> tuple[int, int]:
    frame = level.keyframe
    return int(frame.imagelength), int(frame.imagewidth)


def _level(level: Any, place: Place) -> VirtualArray:
    """One level: its pages stacked, if there are several."""
    frame = level.keyframe
    codecs = codecs_of(frame)
    stacked: Shape = tuple(level.shape[: len(level.shape) - len(frame.shape)])
    pages = list(level.pages)
    dtype = np.dtype(frame.dtype).newbyteorder(frame.parent.byteorder)
    names = _distinct([_NAMES.get(letter, letter.lower()) for letter in level.axes])
    shape = tuple(map(int, level.shape))
    if any(page is not None and page.parent is not frame.parent for page in pages):
        raise UnsupportedError("an image whose pages are in several files")
    if len(pages) == 1 and np.prod(stacked, dtype=int) > 1 and not codecs:
        if level.dataoffset is None:
            raise UnsupportedError(f"one page that does not hold an image of {level.shape}")
        return _contiguous(shape, len(stacked), dtype, names, place, int(level.dataoffset))
    if len(pages) != np.prod(stacked, dtype=int) or any(page is None for page in pages):
        raise UnsupportedError(f"pages {len(pages)} that do not make an image of {level.shape}")
    if tuple(level.shape) != (*stacked, *frame.shape):
        raise UnsupportedError(f"an image of {level.shape} in pages of {frame.shape}")
    chunks, pieces = segments(frame, pages, dtype, bool(codecs), place)
    leading = list(places(stacked))
    found = {(*leading[page], *rest): span for (page, *rest), span in pieces.items()}
    lengths = (*(1,) * len(stacked), *chunks)
    return VirtualArray(shape, lengths, dtype, names, found, codecs=codecs)


def _contiguous(
    shape: Shape, leading: int, dtype: np.dtype[Any], names: tuple[str, ...], place: Place,
    offset: int,
) -> VirtualArray:  # fmt: skip
    """Planes that lie one behind the other, of which only the first has a page."""
    size = prod(shape[leading:]) * dtype.itemsize
    count = prod(shape[:leading])
    if count > MOST_SEGMENTS:
        raise UnsupportedError(f"more than {MOST_SEGMENTS} planes")
    rest = (0,) * (len(shape) - leading)
    pieces = {(*at, *rest): Span(place.url, offset + number * size, size)
              for number, at in enumerate(places(shape[:leading]))}  # fmt: skip
    return VirtualArray(shape, (*(1,) * leading, *shape[leading:]), dtype, names, pieces)


def _ordered(array: VirtualArray) -> VirtualArray:
    """The array with its axes in the order of OME-NGFF, if its chunks stay as they are: those
    of the moved axes have the length 1."""
    names = array.dimensions
    single = [at for at, length in enumerate(array.chunks) if length == 1]
    leading = len(single) if single == [*range(len(single))] else 0
    order = [*sorted(range(leading), key=lambda at: ome_tiff.place(names[at]))]
    order += range(leading, len(names))
    return replace(
        array, shape=tuple(array.shape[at] for at in order),
        chunks=tuple(array.chunks[at] for at in order),
        dimensions=tuple(names[at] for at in order),
        pieces={tuple(at[axis] for axis in order): span for at, span in array.pieces.items()},
    )  # fmt: skip


def _distinct(names: list[str]) -> tuple[str, ...]:
    return tuple(f"{name}_{axis}" if names.count(name) > 1 else name
                 for axis, name in enumerate(names))  # fmt: skip
