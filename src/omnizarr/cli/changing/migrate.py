"""`omnizarr migrate`: from format 2 to format 3 in place; no chunk is touched."""

from __future__ import annotations

from contextlib import redirect_stdout
from io import StringIO
from typing import Any

import omnizarr
from omnizarr.cli import places
from omnizarr.cli.output import Output, dim
from omnizarr.cli.places import Problem, locate
from omnizarr.cli.problems import explain_all
from omnizarr.errors import ObstaclesError, UnsupportedError

EXAMPLES = """\
examples:
  omnizarr migrate data.zarr --dry-run
  omnizarr migrate data.zarr
  omnizarr migrate data.zarr --remove-source

It is `omnizarr convert --in-place --to 3`: both sets of metadata remain, and the newer opens,
until --remove-source. Where chunks would have to change, it says what to run instead.
"""
INTERRUPTED = "interrupted; run the same command again to go on"


def add_arguments(parser: Any) -> None:
    places.add_arguments(parser)
    add = parser.add_argument
    add("--remove-source", action="store_true", help="remove the metadata of format 2")
    add("--overwrite", action="store_true", help="replace metadata of format 3 that disagree")
    add("--dry-run", action="store_true", help="show what would be done, and do nothing")
    add("--quiet", action="store_true", help="print nothing when all goes well")


def run(arguments: Any, out: Output) -> int:
    place = locate(arguments.path, arguments.node, arguments.storage_option)
    try:
        with place.open("r" if arguments.dry_run else "r+") as store, redirect_stdout(StringIO()):
            done = omnizarr.convert(
                store,
                zarr_format=3,
                path=place.path,
                remove_source=arguments.remove_source,
                overwrite=arguments.overwrite,
                dry_run=arguments.dry_run,
                progress=not (arguments.quiet or arguments.json),
            )
    except (UnsupportedError, ObstaclesError) as error:
        found = explain_all(error)[1]
        more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
        raise Problem(
            f"it cannot be done in place: {found[0][0]}{more}",
            f"omnizarr convert {place} NEW --to 3",
        ) from error
    if arguments.json:
        out.json({**done.to_dict(), "source": str(place), "destination": str(place)})
    elif not arguments.quiet:
        for line in str(done).splitlines():
            out.line(line)
        if not arguments.dry_run and not arguments.remove_source and done.nodes:
            out.line(dim("the metadata of format 2 are still there; --remove-source removes them"))
    return 0
