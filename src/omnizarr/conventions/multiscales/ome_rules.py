"""Rules of OME-NGFF 0.4 and 0.5 for images: the version, axes, transformations and levels.

Metadata of 0.4 belong into format 2, those of 0.5 into format 3 and below `ome`. Everything that is
wrong is named, not the first alone, so members are looked at one by one here and not read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Iterator, Mapping
from typing import TYPE_CHECKING

from omnizarr.conventions.multiscales import level_rules, members, ome, ome_collections
from omnizarr.errors import MetadataError
from omnizarr.model import paths
from omnizarr.model.codec import Json
from omnizarr.model.finding import At, Finding
from omnizarr.model.json import show

if TYPE_CHECKING:
    from omnizarr.conventions.rules import NodeFacts, Nodes

_IMAGE = "multiscales metadata"
_OLD, _NEW = "0.4", "0.5"


def check(node: NodeFacts, nodes: Nodes) -> Iterator[Finding]:
    """Findings about everything of OME-NGFF in the attributes of a group."""
    inside = node.attributes.get(ome.KEY)
    if inside is not None:
        yield from _nested(node, nodes, inside)
    listed = node.attributes.get("multiscales")
    if _is_old(listed) or ome_collections.found(node.attributes, node.path):
        at = node.at(f"OME-NGFF {_OLD}")
        if node.ome_version != _OLD:
            yield at.error(
                "storage format",
                "metadata of OME-NGFF 0.4, which is for Zarr format 2, in another format, where"
                " readers do not look for them; omnizarr.convert moves them",
            )
        if _is_old(listed):
            yield from _images(node, nodes, at, listed, _OLD)
        yield from ome_collections.check(node, nodes, at, node.attributes, _OLD)


def is_plain(entry: Json) -> bool:
    """Whether an entry of `multiscales` is one of Multiscale Arrays 0.1, or of ndpyramid."""
    if not isinstance(entry, Mapping) or "axes" in entry:
        return False
    return bool(entry.get("version", "0.1") == "0.1")


def _is_old(value: Json) -> bool:
    """Whether `multiscales` beside other attributes is OME's; what is neither that nor anything
    else known is counted as OME's, so that it is not passed over."""
    if value is None or isinstance(value, Mapping):
        return False
    return not isinstance(value, list) or not any(map(is_plain, value))


def _nested(node: NodeFacts, nodes: Nodes, inside: Json) -> Iterator[Finding]:
    at = node.at(f"OME-NGFF {_NEW}")
    if not isinstance(inside, Mapping):
        yield at.error("metadata", f"ome: expected an object, found {show(inside)}")
        return
    version = inside.get("version")
    if ome.version_of({}, inside) != _NEW:
        yield at.warning("metadata", _unknown(f"ome.version {show(version)}"))
        return
    if version is None and "labels" in inside:
        yield at.dialect("metadata", "ome.version is missing; ome-zarr-py lists labels so")
    elif version != _NEW:
        yield at.error("metadata", f"ome.version: expected '0.5', found {show(version)}")
    if node.ome_version != _NEW:
        yield at.error(
            "storage format",
            "metadata of OME-NGFF 0.5, which is for Zarr format 3, in another format, where readers"
            " do not look for them; omnizarr.convert moves them",
        )
    if "multiscales" in inside:
        yield from _images(node, nodes, at, inside["multiscales"], _NEW)
    yield from ome_collections.check(node, nodes, at, inside, _NEW)


def _images(node: NodeFacts, nodes: Nodes, at: At, value: Json, version: str) -> Iterator[Finding]:
    try:
        entries = members.objects(value, "multiscales")
    except MetadataError as error:
        yield at.error(_IMAGE, str(error))
        return
    for position, entry in enumerate(entries):
        where = f"multiscales[{position}]"
        if version == _OLD and entry.get("version") in ("0.2", "0.3"):
            yield at.warning(_IMAGE, _unknown(f"{where}.version {show(entry['version'])}"))
            continue
        yield from _version(at, where, entry, version)
        axes = yield from _axes(at, f"{where}.axes", entry.get("axes"))
        yield from _datasets(node, nodes, at, where, entry, axes, version)
        if ome.TRANSFORMATIONS in entry:
            here = f"{where}.{ome.TRANSFORMATIONS}"
            yield from _transformations(at, here, entry[ome.TRANSFORMATIONS], len(axes))


def _version(at: At, where: str, entry: Mapping[str, Json], version: str) -> Iterator[Finding]:
    stated = entry.get("version")
    if version == _OLD and stated is None:
        yield at.warning(_IMAGE, f"{where} should have a version")
    elif version == _OLD and stated != _OLD:
        yield at.error(_IMAGE, f"{where}.version: expected '0.4', found {show(stated)}")
    elif version == _NEW and stated is not None:
        yield at.warning(
            _IMAGE, f"{where}.version {show(stated)}: 0.5 has the version under 'ome' alone"
        )


def _unknown(stated: str) -> str:
    return f"{stated}: only the rules of OME-NGFF 0.4 and 0.5 are known here"


# -- axes -----------------------------------------------------------------------------------------
def _axes(at: At, where: str, value: Json) -> Generator[Finding, None, tuple[Json, ...]]:
    """Findings about the axes; returns their names."""
    if not isinstance(value, list) or not all(isinstance(axis, Mapping) for axis in value):
        yield at.error("axes", f"{where}: expected a list of objects, found {show(value)}")
        return ()
    names = [axis.get("name") for axis in value]
    types = [axis.get("type") for axis in value]
    for position, name in enumerate(names):
        if not isinstance(name, str):
            yield at.error("axes", f"{where}[{position}].name: expected a text, found {show(name)}")
    for position, kind in enumerate(types):
        if kind is not None and not isinstance(kind, str):
            yield at.error("axes", f"{where}[{position}].type: expected a text, found {show(kind)}")
            types[position] = None
    if len({name for name in names if isinstance(name, str)}) < len(names):
        yield at.error("axes", f"{where}: the names must be different, found {show(names)}")
    if not 2 <= len(value) <= 5:
        yield at.error("axes", f"{where}: expected 2 to 5 axes, found {len(value)}")
    counts = Counter(kind if kind in _ORDER else "custom" for kind in types)
    for kind, most in (("time", 1), ("channel", 1), ("custom", 1)):
        if counts[kind] > most:
            yield at.error(
                "axes", f"{where}: expected {most} {kind} axis at most, found {counts[kind]}"
            )
    if not 2 <= counts["space"] <= 3:
        yield at.error("axes", f"{where}: expected 2 or 3 space axes, found {counts['space']}")
    ranks = [_ORDER.get(kind, 1) for kind in types]
    if ranks != sorted(ranks):
        yield at.error(
            "axes", f"{where}: time comes first and space last, found the order {show(types)}"
        )
    return tuple(names)


_ORDER: dict[Json, int] = {"time": 0, "channel": 1, "space": 2}


# -- datasets -------------------------------------------------------------------------------------
def _datasets(
    node: NodeFacts,
    nodes: Nodes,
    at: At,
    where: str,
    entry: Mapping[str, Json],
    axes: tuple[Json, ...],
    version: str,
) -> Iterator[Finding]:
    try:
        datasets = members.objects(entry.get("datasets"), f"{where}.datasets")
    except MetadataError as error:
        yield at.error(_IMAGE, str(error))
        return
    named: list[str] = []
    before: tuple[float, ...] | None = None
    for position, dataset in enumerate(datasets):
        here = f"{where}.datasets[{position}]"
        try:
            path = members.path(dataset.get("path"), f"{here}.path")
        except MetadataError as error:
            yield at.error(_IMAGE, str(error))
        else:
            named.append(path)
            array = nodes.get(paths.join(node.path, path))
            if array is not None and array.shape is not None:
                yield from _array(at, path, array, axes, version)
        scale = yield from _transformations(
            at, f"{here}.{ome.TRANSFORMATIONS}", dataset.get(ome.TRANSFORMATIONS), len(axes)
        )
        if (
            before
            and scale
            and any(abs(one) > abs(two) for one, two in zip(before, scale, strict=False))
        ):
            yield at.error(
                _IMAGE,
                f"{here}: the scale {list(scale)} is finer than {list(before)} before it: the"
                " highest resolution is first",
            )
        before = scale or before
    yield from level_rules.check(node, nodes, at, _IMAGE, named)


def _array(
    at: At, path: str, array: NodeFacts, axes: tuple[Json, ...], version: str
) -> Iterator[Finding]:
    ndim = len(array.shape or ())
    if axes and ndim != len(axes):
        yield at.error("axes", f"the level {path!r} has {ndim} dimensions for {len(axes)} axes")
    elif axes and version == _NEW and array.dimension_names != axes:
        yield at.error(
            "axes",
            f"the level {path!r} must have the names of the axes, {list(axes)}, as dimension names;"
            f" found {array.dimension_names}",
        )


def _transformations(
    at: At, where: str, value: Json, count: int
) -> Generator[Finding, None, tuple[float, ...] | None]:
    """Findings about a scale, perhaps with a translation after it; returns the scale."""
    if not isinstance(value, list) or not all(isinstance(item, Mapping) for item in value):
        yield at.error(
            ome.TRANSFORMATIONS, f"{where}: expected a list of objects, found {show(value)}"
        )
        return None
    kinds = [item.get("type") for item in value]
    if kinds not in (["scale"], ["scale", "translation"]):
        yield at.error(
            ome.TRANSFORMATIONS,
            f"{where}: expected one scale, and after it at most one translation, found"
            f" {show(kinds)}",
        )
        return None
    scale = None
    for item, kind in zip(value, ("scale", "translation"), strict=False):
        if kind not in item and "path" in item:
            continue  # numbers in an array of their own
        try:
            numbers = members.numbers(item.get(kind), f"{where}: {kind}", count or None)
        except MetadataError as error:
            yield at.error(ome.TRANSFORMATIONS, str(error))
        else:
            scale = numbers if kind == "scale" else scale
    return scale
