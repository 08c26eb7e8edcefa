"""`omnizarr consolidate`: all metadata of a group in one document."""

from __future__ import annotations

from typing import Any

import omnizarr
from omnizarr.cli import places
from omnizarr.cli.output import Output, count
from omnizarr.cli.places import Problem, locate
from omnizarr.errors import MetadataError, ZarrError

EXAMPLES = """\
examples:
  omnizarr consolidate data.zarr
  omnizarr consolidate data.zarr/stations
  omnizarr consolidate data.zarr --remove

Readers then need one request for all metadata. Run it again after nodes were added or changed.
"""
INTERRUPTED = "interrupted; the document is the old one or the new one: run the command again"


def add_arguments(parser: Any) -> None:
    places.add_arguments(parser, zarr_format=True)
    add = parser.add_argument
    add("--remove", action="store_true", help="remove the consolidated metadata of the group")
    add("--dry-run", action="store_true", help="show what would be done, and do nothing")
    add("--quiet", action="store_true", help="print nothing when all goes well")


def run(arguments: Any, out: Output) -> int:
    place = locate(arguments.path, arguments.node, arguments.storage_option)
    progress = not (arguments.quiet or arguments.json)
    with place.open("r" if arguments.dry_run else "r+") as store:
        node = omnizarr.open(store, mode="r", path=place.path, zarr_format=arguments.zarr_format)
        if isinstance(node, omnizarr.Array):
            raise Problem(
                f"{place}: it is an array, and consolidated metadata are those of a group",
                "name the group that it is in",
            )
        before = _listed(store, place.path)
        if arguments.remove:
            changed = before is not None
            if not arguments.dry_run:
                changed = omnizarr.unconsolidate_metadata(
                    store, place.path, arguments.zarr_format
                )  # fmt: skip
            nodes = 0
        else:
            group = omnizarr.open_group(
                store, mode="r", path=place.path, zarr_format=arguments.zarr_format,
                use_consolidated=False,
            )  # fmt: skip
            if not arguments.dry_run:
                group = omnizarr.consolidate_metadata(
                    store, place.path, arguments.zarr_format, progress=progress
                )
            nodes = len(dict(group.members(max_depth=None)))
            changed = True
    if arguments.json:
        out.json({
            "store": place.shown, "path": place.path, "nodes": nodes, "changed": changed,
            "consolidated_before": before is not None, "removed": arguments.remove,
            "dry_run": arguments.dry_run,
        })  # fmt: skip
    elif not arguments.quiet:
        would = "would be " if arguments.dry_run else ""
        if arguments.remove:
            done = f"consolidated metadata {would}removed"
            out.line(f"{place}: {done if changed else 'no consolidated metadata'}")
        else:
            out.line(f"{place}: metadata of {count(nodes, 'node')} {would}consolidated")
    return 0


def _listed(store: Any, path: str) -> int | None:
    """How many nodes the consolidated metadata list; None if there are none."""
    try:
        group = omnizarr.open_group(store, mode="r", path=path, use_consolidated=True)
        return len(dict(group.members(max_depth=None)))
    except (MetadataError, ZarrError, ValueError):
        return None
