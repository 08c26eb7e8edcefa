"""`omnizarr rechunk`: other chunks and shards, in bounded memory."""

from __future__ import annotations

from contextlib import ExitStack, redirect_stdout
from io import StringIO
from typing import Any

import omnizarr
from omnizarr.cli import places, urls
from omnizarr.cli.arguments import add_work, cuts, work
from omnizarr.cli.changing import convert
from omnizarr.cli.output import Output
from omnizarr.cli.places import locate

EXAMPLES = """\
examples:
  omnizarr rechunk maps.zarr series.zarr --chunks time=-1,lat=10,lon=10 --max-memory 1GB --dry-run
  omnizarr rechunk data.zarr/t t.zarr --chunks 100,100 --shards 1000,1000
  omnizarr rechunk data.zarr new.zarr --chunks time=auto,stations/height=50x20 --to 3

Lengths go by position (10,20) or by the names of dimensions and the paths of arrays; -1 means all
of a dimension. An interrupted command goes on when it is run again.
"""
INTERRUPTED = convert.INTERRUPTED


def add_arguments(parser: Any) -> None:
    parser.set_defaults(in_place=False)
    parser.add_argument("source", metavar="SOURCE", help="what to rechunk, in any format")
    parser.add_argument(
        "destination",
        metavar="DESTINATION",
        help="a folder, .zip archive, database or URL to write",
    )
    add = parser.add_argument
    add("--chunks", metavar="LENGTHS", type=cuts, help="10,20, or time=1,lat=-1, auto or 10MB")
    add("--shards", metavar="LENGTHS", type=cuts, help="the same for shards")
    add("--no-shards", action="store_true", help="remove shards")
    add("--temporary", metavar="FOLDER", help="where intermediate data go; beside the destination")
    add("--to", metavar="FORMAT", help="the format to write (default: that of the source)")
    add("--path", metavar="P", default="", help="rechunk this node of the source alone")
    add("--destination-path", metavar="P", default="", help="write to this path in the destination")
    add(
        "--exclude", metavar="PATTERN", action="append", default=[],
        help="leave out the nodes whose path matches, such as 'raw/*'; may be repeated",
    )  # fmt: skip
    add("--reencode", action="store_true", help="other codecs where the format lacks the stored")
    urls.add_option(parser)
    urls.add_option(
        parser, "--destination-option", "the same for the destination alone, if it needs other ones"
    )
    add("--overwrite", action="store_true", help="replace what is at the destination")
    add("--dry-run", action="store_true", help="show the plan and what it costs, and do nothing")
    add("--no-resume", action="store_true", help="begin anew instead of going on")
    add_work(parser)
    add("--quiet", action="store_true", help="print nothing when all goes well")


def run(arguments: Any, out: Output) -> int:
    source_given, destination_given = convert.options_of(arguments)
    place = locate(arguments.source, arguments.path, source_given)
    inner = places.destination(arguments.destination)[1]
    with ExitStack() as stack:
        source, destination = convert.stores(arguments, place, dict(destination_given))
        for store in (source, destination):
            assert store is not None
            stack.callback(store.close)
        # A dry run prints its plan; here it is shown like every other result.
        stack.enter_context(redirect_stdout(StringIO()))
        done = omnizarr.rechunk(
            source,
            destination,
            chunks=arguments.chunks,
            shards=False if arguments.no_shards else arguments.shards,
            zarr_format=arguments.to,
            temporary=arguments.temporary,
            path=place.path,
            destination_path="/".join(each for each in (inner, arguments.destination_path) if each),
            exclude=tuple(arguments.exclude),
            reencode=arguments.reencode,
            overwrite=arguments.overwrite,
            resume=not arguments.no_resume,
            dry_run=arguments.dry_run,
            progress=not (arguments.quiet or arguments.json),
            **work(arguments),
        )
    convert.show(done, arguments, str(place), None, out)
    return 0
