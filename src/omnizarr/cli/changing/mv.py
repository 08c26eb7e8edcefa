"""`omnizarr mv`: another name or place for a node or a store."""

from __future__ import annotations

import errno
import os
from typing import Any

import omnizarr
from omnizarr.cli import spots, urls
from omnizarr.cli.arguments import positive
from omnizarr.cli.changing import cp, rm
from omnizarr.cli.changing.convert import options_of
from omnizarr.cli.output import Output, dim
from omnizarr.cli.places import Problem, StoredAt

EXAMPLES = """\
examples:
  omnizarr mv data.zarr/stations data.zarr/sites
  omnizarr mv data.zarr old.zarr
  omnizarr mv data.zarr/stations other.zarr/stations
  omnizarr mv data.zarr/stations other.zarr/ --dry-run

Within one store a node is renamed; to another store it is copied and then deleted.
"""
INTERRUPTED = "interrupted; the source is complete, or the destination is: run the command again"


def add_arguments(parser: Any) -> None:
    parser.set_defaults(in_place=False)
    parser.add_argument("source", metavar="SOURCE", help="an array, a group or a whole store")
    parser.add_argument("destination", metavar="DESTINATION", help="its new path")
    add = parser.add_argument
    urls.add_option(parser)
    urls.add_option(
        parser, "--destination-option", "the same for the destination alone, if it needs other ones"
    )
    add("--dry-run", action="store_true", help="show what would be moved, and do nothing")
    add("--workers", metavar="N", type=positive, help="how many portions are copied at once")
    add("--quiet", action="store_true", help="print nothing when all goes well")


def run(arguments: Any, out: Output) -> int:
    given, destination_given = options_of(arguments)
    nearest, zarr_format = spots.at(arguments.source, given)
    source = spots.enclosing(nearest)
    target = cp.destination(arguments.destination, source, destination_given or given)
    manner = _manner(source, target)
    stale: list[tuple[StoredAt, list[str]]] = []
    if not arguments.dry_run:
        stale = _move(manner, source, target, zarr_format, arguments)
    if arguments.json:
        out.json({
            "source": str(source), "destination": str(target), "how": manner,
            "dry_run": arguments.dry_run,
            "stale_consolidated": [f"{place.shown}/{path}".rstrip("/") for place, paths in stale
                                   for path in paths],
        })  # fmt: skip
    elif not arguments.quiet:
        would = "would be " if arguments.dry_run else ""
        how = "copied and deleted" if manner == "copy" else "renamed"
        out.line(f"{source} → {target}: {would}{how}")
        for place, above in stale:
            for note in spots.renewal(place, above):
                out.line(dim(f"the consolidated metadata there are out of date: {note}"))
    return 0


def _manner(source: StoredAt, target: StoredAt) -> str:
    """`node` within a store, `file` for a folder or archive of its own, else `copy`."""
    same = source.kind == target.kind and _name(source) == _name(target)
    if same and source.path == target.path:
        raise Problem(f"{source}: it is there already")
    if same and source.path and target.path:
        return "node"
    if same:
        raise Problem(f"{source}: a store cannot be moved into itself", "name another destination")
    local = not urls.is_url(source.file) and not urls.is_url(target.file)
    if local and not source.path and not target.path:
        archives = [place.file.lower().endswith(".zip") for place in (source, target)]
        if archives[0] == archives[1] and (source.archive or source.kind == "folder"):
            return "file"
    return "copy"


def _name(place: StoredAt) -> str:
    return place.file if urls.is_url(place.file) else os.path.realpath(place.file)


def _move(
    manner: str, source: StoredAt, target: StoredAt, zarr_format: Any, arguments: Any
) -> list[tuple[StoredAt, list[str]]]:
    """Move it; the groups whose consolidated metadata are out of date then."""
    if manner == "node":
        with spots.writing(source) as store:
            _check_new(spots.node_at(store, target.path), target)
            root = omnizarr.open_group(store, mode="r+", zarr_format=zarr_format)
            root.move(source.path, target.path)
            found = {*spots.stale(store, source.path), *spots.stale(store, target.path)}
        return [(source, sorted(found))]
    if manner == "file":
        if os.path.lexists(target.file):
            raise Problem(f"{target}: it is there already", f"omnizarr rm {target} --yes")
        try:
            os.rename(source.file, target.file)
            return []
        except OSError as error:
            if error.errno != errno.EXDEV:
                raise
    with source.open() as store:
        rm.check_own(store, source)
    done = cp.copy(
        source, target, zarr_format, overwrite=False, dry_run=False,
        progress=not (arguments.quiet or arguments.json), workers=arguments.workers,
    )  # fmt: skip
    _, stale = rm.remove(source, dry_run=False, progress=False)
    return [(target, done["stale_consolidated"]), (source, stale)]


def _check_new(node: Any, target: StoredAt) -> None:
    if node is not None:
        raise Problem(f"{target}: there is a node already", f"omnizarr rm {target}")
