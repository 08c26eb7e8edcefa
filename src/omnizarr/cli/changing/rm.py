"""`omnizarr rm`: a node and everything below it."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import Any

import omnizarr
from omnizarr.cli import places, spots
from omnizarr.cli.asking import agreed
from omnizarr.cli.output import Output, count, dim
from omnizarr.cli.places import Problem, StoredAt
from omnizarr.errors import NodeNotFoundError
from omnizarr.stores import Store

EXAMPLES = """\
examples:
  omnizarr rm data.zarr/stations
  omnizarr rm data.zarr stations/number --yes
  omnizarr rm data.zarr --yes
  omnizarr rm s3://bucket/data.zarr/old --dry-run --storage-option region=eu-west-1

On a terminal it asks first. A whole store goes with --yes alone. It refuses where there are files
that belong to no array or group.
"""
INTERRUPTED = (
    "interrupted; no node has lost chunks: run the same command again for the rest, or omnizarr"
    " sweep --apply if the node is gone"
)

SHOWN = 5


def add_arguments(parser: Any) -> None:
    places.add_arguments(parser)
    add = parser.add_argument
    add("--yes", action="store_true", help="do not ask; needed for a whole store")
    add("--dry-run", action="store_true", help="show what would be deleted, and do nothing")
    add("--quiet", action="store_true", help="print nothing when all goes well")


def run(arguments: Any, out: Output) -> int:
    place = _place(arguments)
    with place.open() as store:
        node = spots.node_at(store, place.path)
        what = spots.describe(node) if node is not None else "what a deletion has left"
        check_own(store, place)
    if not arguments.dry_run and not arguments.yes:
        if not place.path:
            raise Problem(f"{place}: it is a whole store ({what})", "--yes deletes it")
        agreed(f"delete {place} ({what}) and everything below it?", out)
    keys, stale = remove(
        place, dry_run=arguments.dry_run, progress=not (arguments.quiet or arguments.json)
    )
    if arguments.json:
        out.json({
            "store": place.shown, "path": place.path, "keys": keys, "dry_run": arguments.dry_run,
            "stale_consolidated": stale,
        })  # fmt: skip
    elif not arguments.quiet:
        done = "would be deleted" if arguments.dry_run else "deleted"
        out.line(f"{place} ({what}): {count(keys, 'value')} {done}")
        for note in spots.renewal(place, stale):
            out.line(dim(f"the consolidated metadata there are out of date: {note}"))
    return 0


def _place(arguments: Any) -> StoredAt:
    """The node; or what an interrupted deletion has left of it."""
    try:
        return spots.existing(arguments.path, arguments.node, arguments.storage_option)
    except Problem:
        path = f"{arguments.path}/{arguments.node}" if arguments.node else arguments.path
        place = spots.target(path, arguments.storage_option)
        with place.open() as store:
            mark = f"{place.path}/{places.DELETING}" if place.path else places.DELETING
            if not store.exists(mark) and not (place.path and _count(store, place)):
                raise
        return place


def check_own(store: Store, place: StoredAt) -> None:
    """Refuse to delete files that belong to no node."""
    try:
        others = omnizarr.delete(store, place.path, dry_run=True).foreign
    except NodeNotFoundError:
        return
    if others:
        more = f" and {len(others) - SHOWN:,} more" if len(others) > SHOWN else ""
        raise Problem(
            f"{place}: files there belong to no array or group, and would be deleted with it:"
            f" {', '.join(map(repr, others[:SHOWN]))}{more}",
            f"move them out of {place.shown} first",
        )


def remove(place: StoredAt, *, dry_run: bool, progress: bool) -> tuple[int, list[str]]:
    """Delete a node; how many values, and the groups with consolidated metadata above."""
    if dry_run:
        with place.open() as store:
            return _count(store, place), spots.stale(store, place.path)
    with spots.writing(place) as store:
        stale = spots.stale(store, place.path)
        keys = omnizarr.delete(store, place.path, progress=progress).keys
    if not place.path:
        _remove_container(place)
    return keys, stale


def _count(store: Store, place: StoredAt) -> int:
    prefix = f"{place.path}/" if place.path else ""
    return sum(1 for _ in store.list_prefix(prefix))


def _remove_container(place: StoredAt) -> None:
    """The empty folder or archive that a store leaves."""
    with suppress(OSError):
        if place.archive:
            os.remove(place.file)
        elif place.kind == "folder":
            os.rmdir(place.file)
