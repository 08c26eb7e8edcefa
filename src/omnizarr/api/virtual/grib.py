"""GRIB files (editions 1 and 2) as facts, through eccodes.

Each message is a chunk, which kerchunk's codec `grib` decodes with eccodes. Messages of one
parameter are one array, in a group that is named after the type of level and of step:
`isobaricInhPa_instant/t`. Messages on other grids than the first of a group are in groups of their
own (`isobaricInhPa_instant_grid2`). The dimensions of an array are, as far as there are several
values, `number` (of the ensemble's member), `time` (always), `step`, the type of level, and those
of the grid. Combinations without a message are NaN. Where arrays of a group differ in the values of
a dimension, the second one has a name of its own (`step_1`).

This module knows messages. It must not know how facts are stored. What is in a message is read
by eccodes.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import IO, Any, NamedTuple

import numpy as np

from omnizarr.api.virtual.facts import Span, VirtualArray, VirtualFile, held
from omnizarr.api.virtual.files import Place
from omnizarr.errors import MetadataError, UnsupportedError, ZarrError
from omnizarr.model.codec import Json
from omnizarr.model.grids import NDArray, Shape
from omnizarr.runtime import forks, optional_packages

_MOST_MESSAGES = 1 << 22
_BLOCK = 1 << 16
_STRAIGHT = ("regular_ll", "regular_gg")
"""Grids whose rows have one latitude, and whose columns one longitude."""
_NO_TYPE = "unknown"

# eccodes is not safe to call from two threads.
_guard = threading.RLock()
forks.wait_for(sys.modules[__name__], "_guard")


class _Message(NamedTuple):
    span: Span
    path: str
    number: int
    time: int
    step: float
    interval: float
    """Hours from the beginning of what a value is about to `step`, its end."""
    level: float
    level_type: str
    grid: str
    attributes: dict[str, Json]

    @property
    def at(self) -> tuple[int, int, float, float]:
        """Which of the messages of its array it is."""
        return self.number, self.time, self.step, self.level


class _Grid(NamedTuple):
    """The dimensions of a grid, and its coordinates; those without values are in the message."""

    dimensions: tuple[str, ...]
    shape: Shape
    straight: dict[str, NDArray]
    example: Span


def scan(place: Place, wanted: frozenset[str], skip: frozenset[str]) -> VirtualFile:
    """All messages of a file. `skip`: names and paths of arrays, and groups, to leave out."""
    eccodes = optional_packages.package("eccodes", "virtual", "reading GRIB files")
    optional_packages.package("kerchunk.codecs", "virtual", "reading GRIB files")
    messages: list[_Message] = []
    grids: dict[str, _Grid] = {}
    with place.open() as file, _guard:
        try:
            for offset, data in _split(file):
                if len(messages) == _MOST_MESSAGES:
                    raise UnsupportedError(f"more than {_MOST_MESSAGES} messages")
                found = _at(eccodes, data, Span(place.url, offset, len(data)), grids)
                if not skip & {found.path, *found.path.split("/")}:
                    messages.append(found)
        except ZarrError as error:
            raise error.at(f"{place.shown!r}") from error
        except Exception as error:  # what eccodes makes of damaged messages
            raise MetadataError(f"{place.shown!r} is a damaged GRIB file: {error}") from error
    try:
        return _assembled(place, messages, grids)
    except ZarrError as error:
        raise error.at(f"{place.shown!r}") from error


# -- messages -------------------------------------------------------------------------------------


def _split(file: IO[bytes]) -> Iterator[tuple[int, bytes]]:
    """Each message and its position. Other bytes between messages are passed over."""
    position = 0
    while True:
        file.seek(position)
        block = file.read(_BLOCK)
        begin = block.find(b"GRIB")
        if begin < 0:
            if len(block) < _BLOCK:
                return
            position += _BLOCK - 3
            continue
        position += begin
        file.seek(position)
        header = file.read(16)
        if len(header) < 16:
            raise MetadataError(f"the message at {position} is truncated")
        edition = header[7]
        if edition not in (1, 2):
            raise MetadataError(f"the message at {position} has the edition {edition}, not 1 or 2")
        size = int.from_bytes(header[4:7] if edition == 1 else header[8:16], "big")
        if edition == 1 and size & 0x800000:
            raise UnsupportedError(f"the message at {position} is longer than GRIB 1 can say")
        file.seek(position)
        data = _exactly(file, size, position)
        if edition == 2 and _fields(data) != 1:
            raise UnsupportedError(f"the message at {position} holds several fields")
        yield position, data
        position += size


def _exactly(file: IO[bytes], size: int, position: int) -> bytes:
    """That many bytes, read in parts: a damaged length must not take memory."""
    parts: list[bytes] = []
    left = size
    while left > 0:
        part = file.read(min(left, 1 << 24))
        if not part:
            break
        parts.append(part)
        left -= len(part)
    data = b"".join(parts)
    if left or not data.endswith(b"7777"):
        raise MetadataError(f"the message at {position} is truncated, or its length is wrong")
    return data


def _fields(data: bytes) -> int:
    """How many fields a message of edition 2 holds: sections 7."""
    position, count = 16, 0
    while position + 5 <= len(data) - 4:
        size = int.from_bytes(data[position : position + 4], "big")
        count += data[position + 4] == 7
        if size < 5:
            return 0
        position += size
    return count


def _at(eccodes: Any, data: bytes, span: Span, grids: dict[str, _Grid]) -> _Message:
    """What a message says; errors name its position."""
    try:
        return _read(eccodes, data, span, grids)
    except ZarrError as error:
        raise error.at(f"the message at {span.offset}") from error
    except Exception as error:  # what eccodes makes of damaged messages
        raise MetadataError(f"the message at {span.offset} is damaged: {error}") from error


def _read(eccodes: Any, data: bytes, span: Span, grids: dict[str, _Grid]) -> _Message:
    handle = eccodes.codes_new_from_message(data)
    try:

        def text(key: str) -> str:
            return str(eccodes.codes_get_string(handle, key))

        def number(key: str, default: int) -> int:
            known = eccodes.codes_is_defined(handle, key)
            return int(eccodes.codes_get_long(handle, key)) if known else default

        level_type, step_type = text("typeOfLevel"), text("stepType")
        name = next((found for found in (text("cfVarName"), text("shortName"))
                     if found not in (_NO_TYPE, "~")), f"param{text('paramId')}")  # fmt: skip
        eccodes.codes_set_long(handle, "stepUnits", 1)  # hours
        grid = _grid_of(eccodes, handle, span, grids)
        end = float(eccodes.codes_get_double(handle, "endStep"))
        return _Message(
            span, f"{level_type}_{step_type}/{name.replace('/', '_')}", number("number", 0),
            _moment(number("dataDate", 0), number("dataTime", 0)),
            end, end - float(eccodes.codes_get_double(handle, "startStep")),
            float(eccodes.codes_get_double(handle, "level")), level_type, grid,
            {"long_name": text("name"), "units": text("units"),
             "GRIB_paramId": number("paramId", 0), "GRIB_shortName": text("shortName"),
             "GRIB_typeOfLevel": level_type,
             "GRIB_stepType": step_type, "GRIB_gridType": text("gridType")},
        )  # fmt: skip
    finally:
        eccodes.codes_release(handle)


def _moment(date: int, time: int) -> int:
    """Seconds since 1970."""
    try:
        day = datetime(date // 10000, date // 100 % 100, date % 100, tzinfo=UTC)
    except ValueError as error:
        raise MetadataError(f"the date {date}: {error}") from error
    return int(day.timestamp()) + time // 100 * 3600 + time % 100 * 60


def _grid_of(eccodes: Any, handle: Any, span: Span, grids: dict[str, _Grid]) -> str:
    """The name of the message's grid, which is looked at when it is first met."""
    newer = eccodes.codes_is_defined(handle, "md5GridSection")
    key = "md5GridSection" if newer else "md5Section2"
    identity = str(eccodes.codes_get_string(handle, key))
    if identity in grids:
        return identity
    kind = str(eccodes.codes_get_string(handle, "gridType"))
    count = int(eccodes.codes_get_long(handle, "numberOfPoints"))
    sizes: list[int] = []
    for key in ("Nj", "Ni"):
        missing = not eccodes.codes_is_defined(handle, key) or eccodes.codes_is_missing(handle, key)
        sizes.append(0 if missing else int(eccodes.codes_get_long(handle, key)))
    if kind in ("sh", _NO_TYPE):
        raise UnsupportedError(f"a grid of type {kind!r}, whose values are no points")
    if sizes[0] * sizes[1] != count:
        grids[identity] = _Grid(("values",), (count,), {}, span)
        return identity
    if eccodes.codes_get_long(handle, "alternativeRowScanning"):
        raise UnsupportedError("rows that run in alternating directions")
    names = ["latitude", "longitude"] if kind in _STRAIGHT else ["y", "x"]
    if eccodes.codes_get_long(handle, "jPointsAreConsecutive"):
        names, sizes = names[::-1], sizes[::-1]
    straight: dict[str, NDArray] = {}
    if kind in _STRAIGHT:
        for axis, name in enumerate(names):
            points = eccodes.codes_get_array(handle, f"{name}s").reshape(sizes)
            straight[name] = np.array(points[:, 0] if axis == 0 else points[0])
    grids[identity] = _Grid(tuple(names), (sizes[0], sizes[1]), straight, span)
    return identity


# -- arrays ---------------------------------------------------------------------------------------


class _Dimensions:
    """The dimensions of a group, with a name for each set of values."""

    def __init__(self) -> None:
        self.values: dict[str, tuple[str, tuple[Any, ...]]] = {}

    def name(self, base: str, values: Sequence[Any]) -> str:
        key = tuple(values)
        for name, found in self.values.items():
            if found == (base, key):
                return name
        count = sum(found[0] == base for found in self.values.values())
        name = f"{base}_{count}" if count else base
        self.values[name] = (base, key)
        return name


def _assembled(place: Place, messages: list[_Message], grids: dict[str, _Grid]) -> VirtualFile:
    by_path = _cubes(messages)
    groups: dict[str, dict[str, Json]] = {"": {}}
    arrays: dict[str, VirtualArray] = {}
    known: dict[str, _Dimensions] = {}
    for path, own in by_path.items():
        group = path.partition("/")[0]
        groups.setdefault(group, {})
        dimensions = known.setdefault(group, _Dimensions())
        try:
            arrays[path] = _array(own, grids, dimensions)
        except ZarrError as error:
            told = error.at(f"array {path!r}")
            raise told.advise(f"leave it out with skip=[{path!r}]") from error
        for name, facts in _located(grids[own[0].grid]):
            arrays.setdefault(f"{group}/{name}", facts)
    for group, dimensions in known.items():
        for name, (base, values) in dimensions.values.items():
            arrays.setdefault(f"{group}/{name}", _coordinate(name, base, values))
    return VirtualFile(place.shown, groups, arrays)


def _cubes(messages: list[_Message]) -> dict[str, list[_Message]]:
    """Messages that make one array, by its path.

    Where a group has several grids, those after the first have groups of their own. Where a
    parameter is accumulated over intervals of several lengths that end at the same time, there is
    an array for each length.
    """
    grids: dict[str, list[str]] = {}
    found: dict[str, list[_Message]] = {}
    for message in messages:
        group, _, name = message.path.partition("/")
        known = grids.setdefault(group, [])
        if message.grid not in known:
            known.append(message.grid)
        number = known.index(message.grid)
        path = f"{group}_grid{number + 1}/{name}" if number else message.path
        found.setdefault(path, []).append(message)
    cubes: dict[str, list[_Message]] = {}
    for path, own in found.items():
        several = len({message.at for message in own}) < len(own)
        for message in own:
            name = f"{path}_{message.interval:g}h" if several and message.interval else path
            cubes.setdefault(name, []).append(message)
    return cubes


def _array(messages: list[_Message], grids: dict[str, _Grid], known: _Dimensions) -> VirtualArray:
    first = messages[0]
    grid = grids[first.grid]
    axes: list[tuple[str, list[Any]]] = [
        ("number", [message.number for message in messages]),
        ("time", [message.time for message in messages]),
        ("step", [message.step for message in messages]),
        (first.level_type, [message.level for message in messages]),
    ]
    kept = [(base, sorted(set(found))) for base, found in axes]
    used = [axis for axis, (base, found) in enumerate(kept) if base == "time" or len(found) > 1]
    attributes = dict(first.attributes)
    if 3 not in used:
        attributes["GRIB_level"] = first.level
    if 2 not in used:
        attributes["GRIB_step"] = first.step
    places = [{value: index for index, value in enumerate(found)} for _, found in kept]
    pieces: dict[Shape, Span] = {}
    rest = (0,) * len(grid.shape)
    for message in messages:
        at = (*(places[axis][message.at[axis]] for axis in used), *rest)
        if at in pieces:
            raise UnsupportedError(
                f"two messages for the same time and level, at {pieces[at].offset} and"
                f" {message.span.offset}"
            )
        pieces[at] = message.span
    leading = tuple(len(kept[axis][1]) for axis in used)
    names = tuple(known.name(*kept[axis]) for axis in used)
    inner = tuple(known.name(name, grid.straight[name].tolist()) if name in grid.straight else name
                  for name in grid.dimensions)  # fmt: skip
    if not grid.straight:
        attributes["coordinates"] = "latitude longitude"
    return VirtualArray(
        (*leading, *grid.shape), (*(1,) * len(leading), *grid.shape), np.dtype("f8"),
        (*names, *inner), pieces,
        codecs=({"id": "grib", "var": first.path.rpartition("/")[2], "dtype": "float64"},),
        fill_value=np.float64("nan"), attributes=attributes,
    )  # fmt: skip


def _located(grid: _Grid) -> Iterator[tuple[str, VirtualArray]]:
    """Latitudes and longitudes of a grid that is not straight, which its messages hold."""
    if not grid.straight:
        for name, units in (("latitude", "degrees_north"), ("longitude", "degrees_east")):
            yield name, VirtualArray(
                grid.shape, grid.shape, np.dtype("f8"), grid.dimensions,
                {(0,) * len(grid.shape): grid.example},
                codecs=({"id": "grib", "var": name, "dtype": "float64"},),
                attributes={"standard_name": name, "units": units},
            )  # fmt: skip


_COORDINATES: dict[str, dict[str, Json]] = {
    "time": {"standard_name": "forecast_reference_time", "units": "seconds since 1970-01-01",
             "calendar": "proleptic_gregorian"},
    "step": {"standard_name": "forecast_period", "units": "hours"},
    "number": {"standard_name": "realization", "units": "1"},
    "latitude": {"standard_name": "latitude", "units": "degrees_north"},
    "longitude": {"standard_name": "longitude", "units": "degrees_east"},
    "isobaricInhPa": {"standard_name": "air_pressure", "units": "hPa", "positive": "down"},
    "isobaricInPa": {"standard_name": "air_pressure", "units": "Pa", "positive": "down"},
    "heightAboveGround": {"standard_name": "height", "units": "m", "positive": "up"},
}  # fmt: skip


def _coordinate(name: str, base: str, values: tuple[Any, ...]) -> VirtualArray:
    dtype = np.dtype("i8" if base in ("time", "number") else "f8")
    found = np.array(values, dtype)
    attributes = _COORDINATES.get(base, {})
    return held(
        found, VirtualArray(found.shape, found.shape, dtype, (name,), attributes=attributes)
    )
