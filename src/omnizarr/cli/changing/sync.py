"""`omnizarr sync`: make one store equal to another one, and touch only what differs."""

from __future__ import annotations

from typing import Any

import omnizarr
from omnizarr.cli import places, spots, urls
from omnizarr.cli.arguments import positive
from omnizarr.cli.changing.convert import options_of
from omnizarr.cli.changing.cp import check_format, check_listable
from omnizarr.cli.output import Output, dim, red
from omnizarr.cli.places import Problem
from omnizarr.errors import NodeNotFoundError, ZarrError

EXAMPLES = """\
examples:
  omnizarr sync data.zarr backup.zarr
  omnizarr sync data.zarr s3://bucket/data.zarr --delete --storage-option region=eu-west-1
  omnizarr sync data.zarr/stations backup.zarr/stations --checksum --dry-run

Sizes and times of files, or ETags, tell what differs; --checksum compares all bytes. Metadata are
copied last. An interrupted run goes on when the same command is run again.
"""
INTERRUPTED = "interrupted; run the same command again to go on"
_SHOWN = 20


def add_arguments(parser: Any) -> None:
    parser.set_defaults(in_place=False)
    parser.add_argument("source", metavar="SOURCE", help="a store, a group or an array")
    parser.add_argument("destination", metavar="DESTINATION", help="what becomes equal to it")
    add = parser.add_argument
    add("--delete", action="store_true", help="delete what the source does not have")
    add("--checksum", action="store_true", help="compare all bytes, whatever times and ETags say")
    urls.add_option(parser)
    urls.add_option(
        parser, "--destination-option", "the same for the destination alone, if it needs other ones"
    )
    add("--dry-run", action="store_true", help="show what would be done, and do nothing")
    add("--workers", metavar="N", type=positive, help="how many portions are worked on at once")
    add("--quiet", action="store_true", help="print nothing when all goes well")


def run(arguments: Any, out: Output) -> int:
    given, destination_given = options_of(arguments)
    source, zarr_format = spots.at(arguments.source, given)
    target = spots.target(arguments.destination, destination_given)
    with source.open() as here:
        check_listable(here, source)
        there = places.open_store(
            target.file, target.options, "a"
        ) if not arguments.dry_run else _readable(target)  # fmt: skip
        with there:
            check_format(there, target, zarr_format)
            ours = f"{source.path}/" if source.path else ""
            spots.check_free(there, target.path, str(target), lambda key: here.exists(ours + key))
            _check_same(there, target, zarr_format, arguments.delete)
            done = omnizarr.sync(
                here, there, source.path, target.path, delete=arguments.delete,
                checksum=arguments.checksum, dry_run=arguments.dry_run,
                progress=not (arguments.quiet or arguments.json), workers=arguments.workers,
            )  # fmt: skip
    if arguments.json:
        out.json({**done.to_dict(), "source": str(source), "destination": str(target)})
    elif not arguments.quiet:
        if arguments.dry_run:
            _list(done, out)
        out.line(str(done))
    return 0


def _check_same(store: Any, target: Any, zarr_format: Any, delete: bool) -> None:
    """Refuse to leave documents of two formats side by side."""
    if delete or spots.node_at(store, target.path) is None:
        return
    try:
        omnizarr.open(store, mode="r", path=target.path, zarr_format=zarr_format)
    except NodeNotFoundError as error:
        raise Problem(
            f"{target}: the node there is not of format {zarr_format}, as the source is",
            f"--delete replaces it; or: omnizarr convert SOURCE {target}",
        ) from error


def _readable(target: Any) -> Any:
    """The destination for a dry run, which must not make it."""
    try:
        return target.open()
    except (ZarrError, OSError):
        return omnizarr.MemoryStore()


def _list(done: Any, out: Output) -> None:
    for sign, keys in (("copy  ", done.copied), ("delete", done.deleted)):
        for key in keys[:_SHOWN]:
            out.line(red(sign) if sign == "delete" else dim(sign), f"  {key}")
        if len(keys) > _SHOWN:
            out.line(dim(f"        … and {len(keys) - _SHOWN:,} more"))
