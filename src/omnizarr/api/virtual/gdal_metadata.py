"""What the tags of GDAL and of TIFF say of the bands of an image, as attributes.

`GDAL_METADATA` is XML, with items for the image and for single bands, some of which have a role:
`description`, `scale`, `offset`, `unittype` and `colorinterp`. As attributes these are `bands`, a
list with an object for each band; CF's `long_name`, `units`, `scale_factor` and `add_offset` where
all bands agree; and `gdal_metadata`, further items by their domain ("" is the default).

This module knows tags. It must not know tiles, nor files.
"""

from __future__ import annotations

import math
from typing import Any

from omnizarr.api.virtual import markup
from omnizarr.errors import MetadataError, ZarrError
from omnizarr.model.codec import Json

METADATA = 42112
ROLES = {
    "description": "description", "scale": "scale", "offset": "offset", "unittype": "unit",
    "colorinterp": "color_interpretation",
}  # fmt: skip
"""Members of a band by the role of an item."""
_NUMBERS = ("scale", "offset")
_MOST_BANDS = 1 << 16
_MOST_COLOURS = 1 << 12
_PHOTOMETRIC = {2: ("red", "green", "blue"), 3: ("palette",), 6: ("red", "green", "blue")}
_ALPHA = (1, 2)
_STORAGE = "IMAGE_STRUCTURE"
"""The domain about compression and layout of the file."""


def describe(page: Any) -> dict[str, Json]:
    """The attributes of an image, from the tags of its first page."""
    count = int(page.samplesperpixel)
    if count > _MOST_BANDS:
        raise MetadataError(f"{count:,} bands, more than {_MOST_BANDS:,}")
    bands: list[dict[str, Json]] = [{} for _ in range(count)]
    domains: dict[str, Json] = {}
    text = page.tags.valueof(METADATA)
    if isinstance(text, str) and text.strip("\0 "):
        _read(text, bands, domains)
    _interpret(page, bands)
    attributes: dict[str, Json] = {}
    if any(bands):
        attributes["bands"] = [*bands]
    for member, name, usual in (("scale", "scale_factor", 1.0), ("offset", "add_offset", 0.0)):
        found = {band.get(member, usual) for band in bands}
        if len(found) == 1 and found != {usual} and _agree(bands):
            attributes[name] = found.pop()
    for member, name in (("unit", "units"), ("description", "long_name")):
        told = [band.get(member) for band in bands]
        if told[0] is not None and all(one == told[0] for one in told):
            attributes[name] = told[0]
    if domains:
        attributes["gdal_metadata"] = domains
    return attributes | _palette(page)


def _agree(bands: list[dict[str, Json]]) -> bool:
    """Whether one scale and one offset hold for all bands: CF knows no others."""
    return len({(band.get("scale", 1.0), band.get("offset", 0.0)) for band in bands}) == 1


def _read(text: str, bands: list[dict[str, Json]], domains: dict[str, Json]) -> None:
    try:
        root = markup.parsed(text, "the tag GDAL_METADATA")
    except ZarrError:
        domains["damaged"] = {"GDAL_METADATA": text[:1024]}  # the pixels can be read all the same
        return
    for item in markup.named(root, "Item"):
        name, value, role = item.get("name", ""), item.text or "", item.get("role", "")
        sample = item.get("sample", "")
        domain = item.get("domain", "")
        if domain == _STORAGE:
            continue
        if not sample.isdecimal():
            _into(domains, domain)[name] = value
            continue
        if len(sample) > 6 or int(sample) >= len(bands):
            continue
        band = bands[int(sample)]
        if role not in ROLES:
            _into(_into(band, "metadata"), domain)[name] = value
        elif ROLES[role] not in _NUMBERS:
            found = value.lower() if role == "colorinterp" else value
            band[ROLES[role]] = found
        elif (number := _number(value)) is not None:
            band[ROLES[role]] = number


def _into(parent: dict[str, Json], name: str) -> dict[str, Json]:
    inside = parent.setdefault(name, {})
    assert isinstance(inside, dict)
    return inside


def _number(text: str) -> float | None:
    try:
        found = float(text)
    except ValueError:
        return None
    return found if math.isfinite(found) else None


def _interpret(page: Any, bands: list[dict[str, Json]]) -> None:
    """What each band means, where TIFF says so and GDAL does not."""
    names = _PHOTOMETRIC.get(int(page.photometric), ())
    for band, name in zip(bands, names, strict=False):
        band.setdefault("color_interpretation", name)
    extra = [int(one) for one in page.extrasamples or ()]
    for at, kind in enumerate(extra):
        place = len(bands) - len(extra) + at
        if kind in _ALPHA and 0 <= place < len(bands):
            bands[place].setdefault("color_interpretation", "alpha")


def _palette(page: Any) -> dict[str, Json]:
    """The colours of a palette: red, green and blue from 0 to 255, by value."""
    if int(page.photometric) != 3 or page.colormap is None:
        return {}
    colours = page.colormap
    if colours.ndim != 2 or colours.shape[0] != 3 or colours.shape[1] > _MOST_COLOURS:
        return {}
    return {"colormap": (colours // 256).T.tolist()}
