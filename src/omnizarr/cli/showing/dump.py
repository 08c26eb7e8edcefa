"""`omnizarr dump`: a group as ncdump prints it, or as JSON."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from typing import Any

import omnizarr
from omnizarr.cli import cdl, places, urls
from omnizarr.cli.facts import Facts
from omnizarr.cli.output import Output, plain
from omnizarr.cli.places import Problem, StoredAt, opened
from omnizarr.errors import ZarrError
from omnizarr.stores import store_kind

EXAMPLES = """\
examples:
  omnizarr dump data.zarr --header
  omnizarr dump data.zarr/stations
  omnizarr dump data.zarr/stations/height --json
  omnizarr dump s3://bucket/data.zarr --header --storage-option anon=true

Groups, dimensions and attributes are shown as NetCDF sees them, in CDL. Values go out as they are
read, so that no array need fit into memory. In JSON the values of a variable are one list, in the
order of C; with --header there is none.
"""


def add_arguments(parser: Any) -> None:
    places.add_arguments(parser, zarr_format=True)
    shown = parser.add_argument
    shown("--header", action="store_true", help="no values")
    shown("--cdl", action="store_true", help="CDL, as ncdump writes it (this is the default)")


def run(arguments: Any, out: Output) -> int:
    if arguments.cdl and arguments.json:
        raise Problem("--cdl and --json exclude each other")
    found = opened(arguments.path, arguments.node, arguments.zarr_format, arguments.storage_option)
    with found as (place, node), ExitStack() as stack:
        alone = isinstance(node, omnizarr.Array)
        group = _above(node, place, stack) if alone else node
        only = (node.basename or _last(place.file)) if alone else None
        if arguments.json:
            where = {"store": place.shown, "path": place.path}
            for piece in _pieces(group.netcdf, where, arguments.header, only):
                out.own(piece)
            out.own("\n")
            return 0
        data = None if arguments.header else cdl.lines
        for line in group.netcdf.cdl_lines(data, variable=only):
            out.line(line)
    return 0


def _above(array: Any, place: StoredAt, stack: ExitStack) -> Any:
    """The group that an array is in, which may declare its dimensions."""
    with suppress(Problem, ZarrError, OSError):
        if array.path:
            parent = array.path.rpartition("/")[0]
            return omnizarr.open_group(array.store, path=parent, mode="r")
        if urls.is_url(place.file) or (not place.archive and store_kind(place.file) is None):
            # A folder in another store.
            options = tuple(place.options.items())
            _, found = stack.enter_context(opened(_parent(place.file), options=options))
            if isinstance(found.get(_last(place.file)), omnizarr.Array):
                return found
    raise Problem(
        f"{place}: the array is in no group, and CDL describes groups",
        "omnizarr head shows its values; omnizarr info describes it",
    )


def _parent(file: str) -> str:
    if urls.is_url(file):
        return file.rstrip("/").rpartition("/")[0]
    return os.path.dirname(os.path.abspath(file))


def _last(file: str) -> str:
    if urls.is_url(file):
        return file.rstrip("/").rpartition("/")[2]
    return os.path.basename(os.path.abspath(file))


# -- JSON --------------------------------------------------------------------------------------


def _pieces(nc: Any, where: Facts, header: bool, only: str | None = None) -> Iterator[str]:
    """The JSON document of a group, piece by piece."""
    found = {name: each for name, each in nc.variables.items() if only is None or name == only}
    used = {name for each in found.values() for name in each.dimensions}
    dimensions = {
        name: {"size": each.size, "unlimited": each.unlimited}
        for name, each in nc.dimensions.items()
        if (name in used if only is not None else each.group == nc.group.name)
    }
    facts = where | {"dimensions": dimensions}
    yield f'{_json(facts)[:-1]}, "variables": {{'
    for number, (name, each) in enumerate(found.items()):
        yield f"{', ' if number else ''}{_json(name)}: "
        yield from _variable(each, header)
    attributes = nc.attributes if only is None else {}
    yield f'}}, "attributes": {_json(attributes)}, "groups": {{'
    for number, (name, group) in enumerate(nc.groups.items() if only is None else ()):
        yield f"{', ' if number else ''}{_json(name)}: "
        yield from _pieces(group, {}, header)
    yield "}}"


def _variable(variable: Any, header: bool) -> Iterator[str]:
    facts = {
        "type": str(variable.array.data_type),
        "dimensions": variable.dimensions,
        "shape": variable.shape,
        "attributes": variable.attributes,
    }
    if header:
        yield _json(facts)
        return
    yield f'{_json(facts)[:-1]}, "data": ['
    comma = ""
    for batch in cdl.batches(variable.array) if 0 not in variable.shape else ():
        yield f"{comma}{_json(batch)[1:-1]}"
        comma = ", "
    yield "]}"


def _json(value: Any) -> str:
    return json.dumps(plain(value), allow_nan=False)
