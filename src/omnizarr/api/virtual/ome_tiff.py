"""Microscope images in TIFF: what OME-XML and ImageJ say, as OME-NGFF says it.

Axes, physical sizes and units become `multiscales`; names, colours and contrast of the channels
`omero`. Both are written as OME-NGFF 0.4 has them; who stores them in another version's format
respells them.

This module knows OME-XML, and ImageJ's metadata. It must not know tags, tiles nor files.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from omnizarr.api.virtual import markup
from omnizarr.conventions import multiscales
from omnizarr.conventions.multiscales import Axis, Level, Pyramid
from omnizarr.model.codec import Json
from omnizarr.model.grids import Shape

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

UNITS = {
    "µm": "micrometer", "μm": "micrometer", "um": "micrometer", "micron": "micrometer",
    "microns": "micrometer", "nm": "nanometer", "mm": "millimeter", "cm": "centimeter",
    "m": "meter", "km": "kilometer", "pm": "picometer", "Å": "angstrom", "dm": "decimeter",
    "in": "inch", "inch": "inch", "ft": "foot", "yd": "yard", "mi": "mile",
    "s": "second", "sec": "second", "ms": "millisecond", "µs": "microsecond",
    "μs": "microsecond", "us": "microsecond", "ns": "nanosecond", "min": "minute", "h": "hour",
    "d": "day",
}  # fmt: skip
"""UDUNITS' names, which OME-NGFF takes, by the symbols of OME-XML and ImageJ."""
_ORDER = "tczyx"
_MOST_CHANNELS = 1 << 12
_COLOURS = ("FF0000", "00FF00", "0000FF", "FFFF00", "FF00FF", "00FFFF")


@dataclass(frozen=True)
class Channel:
    name: str = ""
    color: str | None = None
    """Red, green and blue in hexadecimal digits."""
    window: tuple[float, float] | None = None


@dataclass(frozen=True)
class ImageFacts:
    """What is said of one image; all may be missing."""

    name: str = ""
    scale: Mapping[str, float] = field(default_factory=dict)
    """Distance between elements, by the name of the axis."""
    units: Mapping[str, str] = field(default_factory=dict)
    channels: Sequence[Channel] = ()


# -- reading --------------------------------------------------------------------------------------
def from_xml(text: str) -> list[ImageFacts]:
    """The images of an OME-XML document, in their order."""
    root = markup.parsed(text, "the OME-XML")
    return [_image(image) for image in markup.named(root, "Image")]


def _image(image: Element) -> ImageFacts:
    pixels = next(markup.named(image, "Pixels"), None)
    name = image.get("Name", "")
    if pixels is None:
        return ImageFacts(name)
    scale: dict[str, float] = {}
    units: dict[str, str] = {}
    for axis in "xyz":
        size = markup.number(pixels, f"PhysicalSize{axis.upper()}")
        if size is not None:
            scale[axis] = size
            _unit(units, axis, pixels.get(f"PhysicalSize{axis.upper()}Unit", "µm"))
    step = markup.number(pixels, "TimeIncrement")
    if step is not None:
        scale["t"] = step
        _unit(units, "t", pixels.get("TimeIncrementUnit", "s"))
    channels: list[Channel] = []
    for channel in markup.named(pixels, "Channel"):
        if len(channels) == _MOST_CHANNELS:
            break
        color = _color(channel.get("Color"))
        channels.append(Channel(channel.get("Name", ""), color))
    return ImageFacts(name, scale, units, channels)


def _unit(units: dict[str, str], axis: str, symbol: str) -> None:
    if symbol in UNITS:  # not: "pixel", "reference frame"
        units[axis] = UNITS[symbol]


def _color(text: str | None) -> str | None:
    """OME's signed number of red, green, blue and alpha."""
    try:
        number = int(text or "")
    except ValueError:
        return None
    return f"{(number >> 8) & 0xFFFFFF:06X}" if -(1 << 31) <= number < 1 << 32 else None


def from_imagej(metadata: Mapping[str, Any], resolution: Sequence[float | None]) -> ImageFacts:
    """An image of ImageJ.

    Parameters
    ----------
    metadata
        As tifffile reads it.
    resolution
        Pixels in a unit, along x and y; None if it is not known.
    """
    scale: dict[str, float] = {}
    units: dict[str, str] = {}
    unit = str(metadata.get("unit", "")).encode().decode("unicode_escape", "replace")
    for axis, pixels in zip("xy", resolution, strict=True):
        if pixels is not None and 0 < pixels < math.inf and unit:
            scale[axis] = 1 / pixels
            _unit(units, axis, unit)
    spacing = _positive(metadata.get("spacing"))
    if spacing is not None:
        scale["z"] = spacing
        _unit(units, "z", unit)
    step = _positive(metadata.get("finterval"))
    if step is not None:
        scale["t"] = step
        _unit(units, "t", str(metadata.get("tunit", "s")))
    tables, ranges = metadata.get("LUTs") or (), metadata.get("Ranges") or ()
    labels = metadata.get("Labels") or ()
    count = min(max(len(tables), len(ranges) // 2), _MOST_CHANNELS)
    names = [str(label) for label in labels] if len(labels) == count else [""] * count
    channels = []
    for at in range(count):
        window = ranges[2 * at : 2 * at + 2]
        channels.append(Channel(
            names[at], _brightest(tables[at]) if at < len(tables) else None,
            (float(window[0]), float(window[1])) if len(window) == 2 else None,
        ))  # fmt: skip
    return ImageFacts("", scale, units, channels)


def _positive(value: Any) -> float | None:
    known = isinstance(value, int | float) and 0 < value < math.inf
    return float(value) if known else None


def _brightest(table: Any) -> str | None:
    """The last colour of a lookup table."""
    found = np.asarray(table)
    if found.ndim != 2 or found.shape[0] != 3 or not found.shape[1]:
        return None
    return "".join(f"{int(value) & 255:02X}" for value in found[:, -1])


# -- writing --------------------------------------------------------------------------------------
def described(
    facts: ImageFacts, levels: Mapping[str, Shape], names: Sequence[str], dtype: np.dtype[Any]
) -> dict[str, Json]:
    """The attributes of the group of an image, whose levels are arrays with these names of
    dimensions.

    Axes that OME-NGFF does not have, and samples behind x, are described by the convention
    `multiscales`.
    """
    ngff = is_ngff(names)
    axes = tuple(Axis.named(name, facts.units.get(name)) for name in names)
    largest = next(iter(levels.values()))
    steps = [facts.scale.get(name, 1.0) for name in names]
    found = []
    for path, shape in levels.items():
        factors = [whole / max(part, 1) for whole, part in zip(largest, shape, strict=True)]
        found.append(Level(
            path, shape, tuple(f * step for f, step in zip(factors, steps, strict=True)),
            tuple((f - 1) / 2 * step for f, step in zip(factors, steps, strict=True)),
        ))  # fmt: skip
    convention = "ome-0.4" if ngff else "multiscales"
    pyramid = Pyramid(axes, tuple(found), facts.name, convention=convention)
    attributes = multiscales.attributes_for(pyramid, convention)
    if ngff and facts.channels:
        attributes["omero"] = _omero(facts, dict(zip(names, largest, strict=True)), dtype)
    elif facts.units and not ngff:
        attributes["units"] = dict(facts.units)
    return attributes


def place(name: str) -> int:
    """Where an axis stands among those of OME-NGFF; others come first."""
    return _ORDER.find(name)


def is_ngff(names: Sequence[str]) -> bool:
    """Whether OME-NGFF allows these axes: some of t, c, z, and y and x, in this order."""
    return tuple(names) == tuple(n for n in _ORDER if n in names) and {"y", "x"} <= {*names}


def _omero(facts: ImageFacts, lengths: Mapping[str, int], dtype: np.dtype[Any]) -> Json:
    whole = np.iinfo(dtype) if dtype.kind in "iu" else None
    low, high = (float(whole.min), float(whole.max)) if whole else (0.0, 1.0)
    count = min(lengths.get("c", 1), len(facts.channels))
    channels: list[Json] = []
    for at, channel in enumerate(facts.channels[:count]):
        start, end = channel.window or (low, high)
        color = channel.color or ("FFFFFF" if count == 1 else _COLOURS[at % len(_COLOURS)])
        channels.append({
            "label": channel.name, "color": color, "active": True,
            "window": {"start": start, "end": end, "min": min(low, start), "max": max(high, end)},
        })  # fmt: skip
    return {"version": "0.4", "name": facts.name, "channels": channels}
