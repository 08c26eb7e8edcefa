"""Documents of format 3 whose chunk lengths break the specification, in valid form.

What zarr-python wrote is read: 0 and true as chunk lengths (`formats.chunk_lengths`); true as an
inner chunk length; true and integral floats such as 4.0 as lengths of a rectilinear grid; and,
written by 3.2, a "regular" grid in which some dimensions list the lengths of their chunks. All else
stays as it is, for the parsers to refuse.
"""

from __future__ import annotations

from collections.abc import Mapping

from omnizarr.formats.chunk_lengths import ADVICE, Reading, chunk_shape, each, true_as_one
from omnizarr.model.array import Repair
from omnizarr.model.axes import SHARDING
from omnizarr.model.codec import Json
from omnizarr.model.grids import Shape
from omnizarr.model.json import show


def repaired(document: Mapping[str, Json], shape: Shape) -> Reading:
    """The document of an array of this shape; the same object if it needs no repair."""
    stored, grid = document.get("codecs"), document.get("chunk_grid")
    codecs = each(_codec, stored)
    found = _grid(grid, shape, codecs)
    if codecs is stored and found.value is grid:
        return Reading(document)
    departures, sound = found.departures, {**document, "chunk_grid": found.value}
    if codecs is not stored:
        sound["codecs"] = codecs
        text = "codecs: a chunk_shape holds true; zarr-python 3.0 and 3.2 wrote it and meant 1"
        departures = (*departures, text)
    return Reading(sound, departures, found.repair)


def _codec(value: Json) -> Json:
    """A codec with the lengths of inner chunks as integers, also in shards inside of it."""
    configuration = _sharding(value)
    if configuration is None:
        return value
    inner, codecs = configuration.get("chunk_shape"), configuration.get("codecs")
    found = {"chunk_shape": each(true_as_one, inner), "codecs": each(_codec, codecs)}
    changed = {name: new for name, new in found.items() if new is not configuration.get(name)}
    return {**value, "configuration": {**configuration, **changed}} if changed else value


def _sharding(value: Json) -> dict[str, Json] | None:
    """The configuration of a codec that makes shards; None of any other."""
    if not isinstance(value, dict) or value.get("name") != SHARDING:
        return None
    configuration = value.get("configuration")
    return configuration if isinstance(configuration, dict) else None


def _shortest(codecs: Json, ndim: int) -> Shape | None:
    """The shortest chunks that the codecs allow; None if that is not known: where inner chunks have
    no valid shape, or another codec precedes sharding."""
    known = codecs if isinstance(codecs, list) else []
    for position, configuration in enumerate(map(_sharding, known)):
        if configuration is not None:
            inner: Json = configuration.get("chunk_shape")
            valid = position == 0 and isinstance(inner, list) and len(inner) == ndim
            return tuple(inner) if valid and _are_lengths(inner) else None
    return (1,) * ndim


def _are_lengths(values: list[Json]) -> bool:
    return all(type(length) is int and length > 0 for length in values)


def _grid(grid: Json, shape: Shape, codecs: Json) -> Reading:
    match grid:
        case {"name": "regular", "configuration": {"chunk_shape": list() as stored}}:
            return Reading(grid) if _are_lengths(stored) else _regular(grid, stored, shape, codecs)
        case {"name": "rectilinear", "configuration": {"chunk_shapes": list() as stored}}:
            found = each(_axis, stored)
            if found is stored:
                return Reading(grid)
            departure = (
                f"chunk_shapes hold true or a float in {show(stored)}; zarr-python 3.2 wrote such"
                " lengths and meant the integers"
            )
            configuration = {**grid["configuration"], "chunk_shapes": found}
            return Reading({**grid, "configuration": configuration}, (departure,))
    return Reading(grid)


def _regular(grid: Json, stored: list[Json], shape: Shape, codecs: Json) -> Reading:
    shortest = _shortest(codecs, len(shape))
    unknown = shortest is None and any(type(n) in (int, bool) and not n for n in stored)
    lists = [dimension for dimension, length in enumerate(stored) if isinstance(length, list)]
    mixed = 0 < len(lists) < len(stored) == len(shape)
    if unknown or (lists and not mixed) or any(_has_runs(stored[number]) for number in lists):
        return Reading(grid)  # no known software wrote it
    found = chunk_shape(stored, "chunk_shape", shape, shortest)
    if not lists:
        if found.value is stored:
            return Reading(grid)
        configuration = {**grid["configuration"], "chunk_shape": found.value}
        return found._replace(value={**grid, "configuration": configuration})
    shapes = [each(_edge, length) for length in found.value]
    where = f"chunk_shape lists the lengths of chunks in the dimensions {lists}"
    departure = f"chunk_grid is called regular, but {where}; zarr-python 3.2 wrote it"
    warning = (
        f"the stored chunk grid is called regular, but its {where}. It is read as that rectilinear"
        f" chunk grid. {ADVICE}"
    )
    if found.repair is not None and found.repair.warning:
        warning = f"{found.repair.warning.removesuffix(ADVICE)}{warning[:1].upper()}{warning[1:]}"
    return Reading(
        {"name": "rectilinear", "configuration": {"kind": "inline", "chunk_shapes": shapes}},
        (*found.departures, departure),
        Repair(warning),
    )


def _has_runs(lengths: list[Json]) -> bool:
    return any(isinstance(length, list) for length in lengths)


def _axis(value: Json) -> Json:
    """The chunk lengths of one dimension of a rectilinear grid. No known software stored counts of
    repetitions, or the length of equal chunks, as floats."""
    if not isinstance(value, list):
        return true_as_one(value)
    return value if set(map(type, value)) <= {int} else each(_edge_or_run, value)


def _edge_or_run(value: Json) -> Json:
    if not isinstance(value, list) or len(value) != 2:
        return _edge(value)
    length = _edge(value[0])
    return value if length is value[0] else [length, value[1]]


def _edge(value: Json) -> Json:
    if type(value) is float and value.is_integer() and value >= 1:
        return int(value)
    return true_as_one(value)
