"""`omnizarr sweep`: what killed writers and unfinished jobs left."""

from __future__ import annotations

from typing import Any

import omnizarr
from omnizarr.cli import places, spots, urls
from omnizarr.cli.output import Output
from omnizarr.cli.places import Problem, StoredAt

EXAMPLES = """\
examples:
  omnizarr sweep data.zarr
  omnizarr sweep data.zarr --apply
  omnizarr sweep data.zarr --unfinished --apply

Without --apply nothing is removed. What a living process of this machine owns always stays, and
what comes from another machine for --older-than hours. Unfinished jobs are shown with the place
that they write to: run the same command again to finish one.
"""


def add_arguments(parser: Any) -> None:
    places.add_arguments(parser)
    add = parser.add_argument
    add("--apply", action="store_true", help="remove what was found")
    add(
        "--unfinished", action="store_true",
        help="journals of unfinished jobs, too, which then cannot go on; none may be running",
    )  # fmt: skip
    add(
        "--older-than", metavar="HOURS", type=_hours, default=24.0,
        help="age of files of other machines (default: 24)",
    )  # fmt: skip
    add("--quiet", action="store_true", help="print nothing when all goes well")


def _hours(text: str) -> float:
    from omnizarr.cli.arguments import number

    return number(text)


def run(arguments: Any, out: Output) -> int:
    place = _place(arguments)
    with place.open("r+" if arguments.apply else "r") as store:
        done = omnizarr.sweep(
            store,
            apply=arguments.apply,
            older_than=arguments.older_than * 3600,
            unfinished=arguments.unfinished,
        )
    if arguments.json:
        out.json({**done.to_dict(), "store": place.shown})
    elif not arguments.quiet:
        for line in str(done).splitlines():
            out.line(line)
        if done.dry_run and (done.leftovers or done.journals):
            out.line("--apply removes them")
    return 0


def _place(arguments: Any) -> StoredAt:
    """The store, whole. It need not open: an unfinished conversion leaves one that does not."""
    try:
        found = spots.existing(arguments.path, arguments.node, arguments.storage_option)
    except Problem:
        path = arguments.path
        if urls.is_url(path) or not urls.exists(path):
            raise
        found = StoredAt(path, "", options=dict(arguments.storage_option))
    return StoredAt(found.file, "", found.archive, found.options)
