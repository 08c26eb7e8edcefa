"""Making a plan: everything is decided, and refused, before anything is written."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np

from omnizarr.conventions.multiscales import (
    Axis,
    Convention,
    Level,
    Pyramid,
    attributes_for,
    read_all,
)
from omnizarr.errors import ArrayNotFoundError, UnsupportedError
from omnizarr.jobs.conversion.chunks import Listed
from omnizarr.jobs.conversion.plan import ConversionPlan
from omnizarr.jobs.conversion.plan import Wanted as Conversion
from omnizarr.jobs.conversion.planning import make_plan as plan_copy
from omnizarr.jobs.pyramids.geometry import (
    Geometry,
    axes_of,
    geometry_of,
    shrinking,
)
from omnizarr.jobs.pyramids.georeference import level_attributes, placed_by_transform
from omnizarr.jobs.pyramids.kernels import Method, Reduction, as_kind, check_method
from omnizarr.jobs.pyramids.nodata import marks_of, meant_type
from omnizarr.jobs.pyramids.placing import (
    Placed,
    Wanted,
    attributes_alone,
    attributes_of,
    convention_for,
    placed_array,
)
from omnizarr.jobs.pyramids.plan import (
    SCRATCH,
    LevelGroup,
    PyramidPlan,
    Stored,
    VariablePlan,
)
from omnizarr.jobs.pyramids.stages import Costs, Stage, stages_of
from omnizarr.jobs.pyramids.work import UNKNOWN
from omnizarr.model import json, paths
from omnizarr.model.array import ArrayModel
from omnizarr.model.grids import Shape
from omnizarr.nodes.array import Array
from omnizarr.nodes.creation.arguments import request_from
from omnizarr.nodes.creation.arrays import like
from omnizarr.nodes.creation.chunk_shapes import normalize_chunks, normalize_shards
from omnizarr.nodes.group import Group
from omnizarr.nodes.node import NodeAddress, Options
from omnizarr.runtime.progress import size
from omnizarr.runtime.sizes import as_bytes

_TILES = 4
"""Raised whenever tiles of the same name are cut or computed in another way, so that no old journal
is misread."""
_WORDS = {"mean": "average"}
"""What the convention of 2026 calls a method, as GDAL does."""


def plan_beside(array: Array, wanted: Wanted) -> PyramidPlan:
    """Levels in the group that holds the array."""
    place = array._place
    if not place.path:
        raise UnsupportedError(
            f"{place}: the array is the root of its store, so no group can hold it and its levels;"
            " give a destination"
        )
    group = place._replace(path=paths.parent(place.path))
    attributes = attributes_of(group)
    if len(read_all(attributes)) > 1:
        raise UnsupportedError(
            f"{group}: the group describes several images, of which one would be left; give a"
            " destination"
        )
    convention = convention_for(wanted.convention, place.format, array, attributes, groups=False)
    placed = placed_array(array, attributes, wanted, convention)
    alone = attributes_alone(array)
    mapped = placed_by_transform([alone], placed.names)
    placed = replace(placed, attributes=alone, mapped=mapped)
    stored = Stored(place, array._stored)
    names = _names(paths.name_of(place.path))
    variable = _variable("", stored, stored, placed, wanted, group, names)
    missing = array.dims is None and placed.named and place.format.names_dimensions
    dims = placed.names if missing and convention.startswith("ome-") else None
    return _finished(
        group, (variable,), (), (), placed, wanted, convention, names, attributes, dims
    )


def plan_array(array: Array, group: NodeAddress, wanted: Wanted) -> PyramidPlan:
    """The array and its levels in a new group."""
    place = array._place
    around = attributes_of(place._replace(path=paths.parent(place.path))) if place.path else {}
    convention = convention_for(wanted.convention, group.format, array, around, groups=False)
    placed = placed_array(array, around, wanted, convention)
    name = paths.name_of(place.path) or "data"
    inner = name if convention == "ndpyramid" else ""
    changes: dict[str, Any] = {"attributes": attributes_alone(array)}
    mapped = placed_by_transform([changes["attributes"]], placed.names)
    placed = replace(placed, mapped=mapped)
    if array.dims is None and placed.named and group.format.names_dimensions:
        changes["dimension_names"] = placed.names
    zero = group.child(paths.join("0", inner))
    copy = _copy(array, zero, wanted, changes)
    model = copy.nodes[0].target_model
    assert isinstance(model, ArrayModel)
    source = Stored(place, array._stored)
    # What the caller wants for chunks and codecs is in the model of the copy.
    variable = _variable(
        inner, source, Stored(zero, model), placed, _as_copied(wanted), group, _number
    )
    count = range(1, len(variable.levels)) if inner else ()
    groups = tuple(LevelGroup(group.child(_number(level)), {}) for level in count)
    return _finished(group, (variable,), (copy,), groups, placed, wanted, convention, _number, {})


def plan_group(source: Group, group: NodeAddress, wanted: Wanted) -> PyramidPlan:
    """Every array of a group at every level: levels are groups."""
    arrays = dict(source.arrays())
    main = arrays[_main(source, arrays)]
    convention = convention_for(wanted.convention, group.format, main, {}, groups=True)
    if convention.startswith("ome-"):
        raise UnsupportedError(
            f"{source._place}: a level of an OME-NGFF image is one array, and the group holds"
            " several; name one of them in path, or leave convention out"
        )
    placed = placed_array(main, {}, wanted, convention, source)
    factors = dict(zip(placed.names, shrinking(placed.axes, wanted.factors), strict=True))
    geometry = _geometry(main, placed.axes, wanted)
    wanted = replace(
        wanted,
        chunks=_for_images(wanted.chunks, arrays, main.ndim),
        shards=_for_images(wanted.shards, arrays, main.ndim),
    )
    copies = [_copy(source, group.child("0"), wanted)]
    named = [array.attrs.get("bounds") for name, array in arrays.items() if array.dims == (name,)]
    bounds = {each for each in named if isinstance(each, str)}
    models = {node.path: node.target_model for node in copies[0].nodes}
    documents = (source._stored.attributes, *(one._stored.attributes for one in arrays.values()))
    placed = replace(placed, mapped=placed_by_transform(documents, placed.names))
    variables: list[VariablePlan] = []
    same: list[str] = []
    for name, array in arrays.items():
        axes = axes_of(None, array.dims, array.ndim)
        own = {axis.name: factors.get(axis.name, 1) for axis in axes}
        if all(factor == 1 for factor in own.values()):
            same.append(name)
            continue
        model = models[name]
        assert isinstance(model, ArrayModel)
        method = _coordinate_method(name, array, wanted.method, placed.mapped)
        choices = replace(
            _as_copied(wanted), factors=own, levels=len(geometry.shapes), method=method,
            nodata=None if array.dims == (name,) or name in bounds else wanted.nodata,
        )  # fmt: skip
        here = replace(placed, array=array, axes=axes)
        zero = Stored(group.child(f"0/{name}"), model)
        variable = _variable(
            name, Stored(array._place, array._stored), zero, here, choices, group, _number, True
        )
        variables.append(replace(variable, is_bounds=name in bounds and array.shape[1:] == (2,)))
    groups = []
    for level in range(1, len(geometry.shapes)):
        facts = placed.names, geometry.total(level), geometry.shapes[level]
        place = group.child(_number(level))
        groups.append(LevelGroup(place, level_attributes(source._stored.attributes, *facts)))
        for name in same:
            attributes = level_attributes(arrays[name]._stored.attributes, *facts)
            changes = {"attributes": attributes}
            copies.append(_copy(arrays[name], place.child(name), _as_copied(wanted), changes))
    return _finished(
        group, tuple(variables), tuple(copies), tuple(groups), placed, wanted, convention, _number,
        source._stored.attributes,
    )  # fmt: skip


def _for_images(given: Any, arrays: Mapping[str, Array], ndim: int) -> Any:
    """Lengths of chunks for arrays of as many dimensions as the image; coordinates have fewer."""
    if given is None or given is False or isinstance(given, Mapping):
        return given
    return {name: given for name, array in arrays.items() if array.ndim == ndim}


def _as_copied(wanted: Wanted) -> Wanted:
    return replace(wanted, chunks=None, shards=None, compressors="keep")


def _number(level: int) -> str:
    return str(level)


def _names(name: str) -> Callable[[int], str]:
    """The names of levels beside an array: 0, 1, 2; s0, s1, s2; image, image_1, image_2."""
    stem = name[:-1] if name.endswith("0") and not name[:-1].endswith(tuple("0123456789")) else None

    def named(level: int) -> str:
        if level == 0:
            return name
        return f"{name}_{level}" if stem is None else f"{stem}{level}"

    return named


def _main(source: Group, arrays: Mapping[str, Array]) -> str:
    """The array that decides about levels: the largest."""
    if not arrays:
        raise ArrayNotFoundError(f"{source._place}: the group holds no array to make a pyramid of")
    return max(arrays, key=lambda name: (arrays[name].ndim, arrays[name].size))


def _coordinate_method(name: str, array: Array, method: Method, mapped: frozenset[str]) -> Method:
    """Coordinates lie in the middle of a block, whatever becomes of the data. What "nearest" takes
    stays where it was, unless a transform places whole blocks on a map."""
    if array.dims != (name,) or (method == "nearest" and name not in mapped):
        return method
    return "mean" if array.dtype.kind in "buifc" else "nearest"


# -- levels -------------------------------------------------------------------------------------


def _geometry(array: Array, axes: Sequence[Axis], wanted: Wanted, padded: bool = False) -> Geometry:
    factors, chunks = shrinking(axes, wanted.factors), _lengths(array.chunks)
    return geometry_of(array.shape, factors, wanted.levels, chunks, padded=padded)


def _lengths(chunks: Any) -> Shape:
    return tuple(max(one) if isinstance(one, tuple) else int(one) for one in chunks)


def _variable(
    name: str,
    source: Stored,
    zero: Stored,
    placed: Placed,
    wanted: Wanted,
    group: NodeAddress,
    names: Callable[[int], str],
    padded: bool = False,
) -> VariablePlan:
    """The levels of one array. `zero` is its largest level, the source or a copy of it."""
    array = placed.array
    check_method(wanted.method, array.dtype)
    marks = marks_of(wanted.nodata, array, fill_marks=not placed.is_image)
    # The fill value first, if it is among them: what is not stored becomes the same then.
    marks = tuple(sorted(marks, key=lambda mark: bool(mark != array.fill_value)))
    reduction = Reduction(wanted.method, array.dtype)
    if wanted.method != "nearest":  # which takes elements as they are
        dtype = meant_type(array)
        nodata = [as_kind(np.asarray(one), dtype.kind)[()] for one in marks]
        reduction = Reduction(wanted.method, dtype, next(iter(nodata), None), tuple(nodata[1:]))
    geometry = _geometry(zero.array(), placed.axes, wanted, padded)
    levels = [zero]
    for level in range(1, len(geometry.shapes)):
        place = group.child(paths.join(names(level), name))
        levels.append(Stored(place, _level_model(zero, placed, geometry, level, wanted)))
    units = tuple(one.model.grid.chunk_shape for one in levels)
    stages = stages_of(
        geometry, units, _lengths(array.chunks), _costs(reduction, geometry), wanted.budget,
        single=wanted.method == "gaussian",
    )  # fmt: skip
    largest = max((stage.nbytes for stage in stages), default=0)
    if wanted.max_memory is not None and largest > as_bytes(wanted.max_memory):
        raise ValueError(
            f"max_memory: {size(as_bytes(wanted.max_memory))} are not enough for the levels of"
            f" {'/' + array.path!r}, whose write units are {units[1]}: {size(largest)} are"
            " needed. Give more, or smaller chunks or shards"
        )
    between = stages[:-1] if reduction.sums else ()
    return VariablePlan(
        name, source, array._options.changed(read_only=True), tuple(levels), geometry, reduction,
        tuple(stages),
        {stage.last: _sums(group, name, reduction, geometry, stage) for stage in between},
    )  # fmt: skip


def _costs(reduction: Reduction, geometry: Geometry) -> Costs:
    itemsize = reduction.dtype.itemsize
    if reduction.method == "gaussian":  # values as floats, and their weights
        return Costs(max(itemsize, 8), 16)
    if not reduction.sums:
        return Costs(itemsize, itemsize)
    elements = prod(geometry.total(len(geometry.shapes) - 1))
    parts = range(reduction.part_count)
    return Costs(itemsize, 4 + sum(reduction.sum_type(part, elements).itemsize for part in parts))


def _level_model(
    zero: Stored, placed: Placed, geometry: Geometry, level: int, wanted: Wanted
) -> ArrayModel:
    """An array like the largest, with chunks and shards that are no longer than itself."""
    array, shape = zero.array(), geometry.shapes[level]
    chunks = array.chunks if wanted.chunks is None else None
    if chunks is None:
        chunks = normalize_chunks(wanted.chunks, array.shape, array.itemsize)
    cut = tuple(min(one, max(1, n)) for one, n in zip(_lengths(chunks), shape, strict=True))
    shards: Any = array.shards
    if wanted.shards is not None:
        shards = wanted.shards and normalize_shards(wanted.shards, array.shape, chunks)
    if shards:
        shards = tuple(
            max(chunk, min(shard, -(-length // chunk) * chunk) // chunk * chunk)
            for shard, chunk, length in zip(_lengths(shards), cut, shape, strict=True)
        )
    changes: dict[str, Any] = {"shape": shape, "chunks": cut, "shards": shards or None}
    if wanted.compressors != "keep":
        changes["compressors"] = wanted.compressors
    if array.dims is None and placed.named and zero.place.format.names_dimensions:
        changes["dimension_names"] = placed.names
    arguments = {**like(array, changes, filled=True), **changes}
    total = geometry.total(level)
    own = zero.model.attributes if placed.attributes is None else placed.attributes
    attributes = level_attributes(own, placed.names, total, shape)
    request = replace(
        request_from({**arguments, "attributes": attributes}), separator=zero.model.keys.separator
    )
    if zero.model.keys.name in ("default", "v2"):
        request = replace(request, key_encoding=zero.model.keys.name)
    model = zero.place.format.new_array(request)
    Array._of(zero.place, model, Options())._source.regular_chain  # noqa: B018 - codecs that do not fit fail here
    return model


def _sums(
    group: NodeAddress, name: str, reduction: Reduction, geometry: Geometry, stage: Stage
) -> tuple[Stored, ...]:
    """Arrays for the sums of a level, one chunk for each tile, and for its counts."""
    shape, elements = geometry.shapes[stage.last], prod(geometry.total(stage.last))
    types = [reduction.sum_type(part, elements) for part in range(reduction.part_count)]
    found = []
    for part, dtype in enumerate([*types, np.dtype(np.uint32)]):
        arguments = {
            "shape": shape,
            "dtype": dtype,
            "chunks": stage.pieces[-1],
            "compressors": None,
            "fill_value": int(UNKNOWN) if part == len(types) else 0,
        }
        place = group.child(paths.join(SCRATCH, name, f"{stage.last}.{part}"))
        found.append(Stored(place, group.format.new_array(request_from(arguments))))
    return tuple(found)


def _copy(
    node: Array | Group,
    target: NodeAddress,
    wanted: Wanted,
    changes: Mapping[str, Any] | None = None,
) -> ConversionPlan:
    """A copy of a node, with some of its facts changed."""
    conversion = Conversion(
        # Codecs that the other format does not have become its defaults.
        reencode=target.format is not node._place.format,
        chunks=wanted.chunks,
        shards=wanted.shards,
        compressors=wanted.compressors,
        max_memory=None if wanted.max_memory is None else as_bytes(wanted.max_memory),
    )
    options = node._options.changed(read_only=True)
    model: Any = replace(node._stored, **(changes or {}))
    return plan_copy(node._place, model, target, conversion, options)


# -- the whole ----------------------------------------------------------------------------------


def _finished(
    group: NodeAddress,
    variables: tuple[VariablePlan, ...],
    copies: tuple[ConversionPlan, ...],
    level_groups: tuple[LevelGroup, ...],
    placed: Placed,
    wanted: Wanted,
    convention: Convention,
    names: Callable[[int], str],
    attributes: Mapping[str, Any],
    dims: tuple[str, ...] | None = None,
) -> PyramidPlan:
    main = next(one for one in variables if one.source.place == placed.array._place)
    mapped = [at for at, name in enumerate(placed.names) if name in placed.mapped]
    levels = []
    for level, shape in enumerate(main.geometry.shapes):
        scale, translation = main.geometry.placement(
            level, wanted.method, placed.scale, placed.translation, mapped
        )
        extra = _extra(main, level, placed) if convention == "multiscales" else {}
        levels.append(Level(names(level), shape, scale, translation, extra))
    known = placed.known
    pyramid = Pyramid(
        placed.axes,
        tuple(levels),
        known.name if known is not None else "",
        _WORDS.get(wanted.method, wanted.method) if convention == "multiscales" else wanted.method,
        {"method": "omnizarr.pyramid"},
        convention,
        known.extra if known is not None and known.convention == convention else {},
    )
    attributes_for(pyramid, convention, attributes)  # refuses what the convention cannot say
    plan = PyramidPlan(
        group, variables, copies, level_groups, pyramid, convention, attributes,
        main.source.model.attributes, dims, "",
    )  # fmt: skip
    return replace(plan, fingerprint=_fingerprint(plan))


def _extra(main: VariablePlan, level: int, placed: Placed) -> dict[str, Any]:
    """What the convention of 2026 says of a level on a map. The largest may say it in another
    convention, and is left as it is where levels are written beside it."""
    attributes = main.levels[level].model.attributes
    if level == 0 and placed.attributes is not None:
        attributes = placed.attributes
    return {
        name: attributes[name]
        for name in ("spatial:shape", "spatial:transform")
        if isinstance(attributes.get(name), list)
    }


def _fingerprint(plan: PyramidPlan) -> str:
    """What tells this pyramid from every other: of what, and into what."""
    summary = hashlib.sha256()

    def add(*facts: Any) -> None:
        summary.update(repr(facts).encode("utf-8", "backslashreplace") + b"\n")

    add(_TILES, plan.group.format.name, plan.group.path, plan.convention)
    for copy in plan.copies:
        add(copy.fingerprint)
    for one in plan.variables:
        source = one.source
        reduction = one.reduction
        add(one.name, source.place.store.identity, source.place.path)
        marks = (reduction.nodata, *reduction.others)
        add(reduction.method, str(reduction.dtype), repr(marks), one.geometry)
        add(json.dumps(source.model.document), json.dumps(source.model.attributes))
        if not plan.copies and source.place.store.capabilities.listable:
            add(Listed(one.source.array(one.options)._source).digest)
        for level in one.levels[1:]:
            add(sorted(level.place.format.documents(level.place.path, level.model).items()))
    return summary.hexdigest()
