"""`omnizarr verify`: decode every stored chunk, list those that cannot be decoded."""

from __future__ import annotations

from typing import Any

import omnizarr
from omnizarr.cli import places
from omnizarr.cli.arguments import add_work, work
from omnizarr.cli.output import Output, bold, red, yellow
from omnizarr.cli.places import locate

EXAMPLES = """\
examples:
  omnizarr verify data.zarr
  omnizarr verify data.zarr/group --json
  omnizarr verify s3://bucket/data.zarr --storage-option region=eu-west-1

The exit status is 1 if a chunk or a node is damaged, 2 if a node could not be verified
because the store cannot be listed, 0 otherwise.
"""
_STYLE = {"damaged": red, "unusual": yellow, "skipped": yellow}


def add_arguments(parser: Any) -> None:
    places.add_arguments(parser)
    add_work(parser)
    parser.add_argument("--quiet", action="store_true", help="print nothing when all is well")


def run(arguments: Any, out: Output) -> int:
    place = locate(arguments.path, arguments.node, arguments.storage_option)
    with place.open() as store:
        report = omnizarr.verify(
            store,
            place.path,
            progress=not (arguments.quiet or arguments.json),
            **work(arguments),
        )
    if arguments.json:
        out.json({**report.to_dict(), "store": place.shown})
    elif not (arguments.quiet and report.ok):
        show(report, out)
    return 1 if report.damaged else 0 if report.ok else 2


def show(report: Any, out: Output) -> None:
    """As `str(report)` has it, in colours."""
    before: str | None = None
    for path, level, text in report.lines:
        if path != before:
            out.line(bold(f"/{path}"))
            before = path
        out.line("  ", _STYLE[level](level.ljust(8)), f" {' '.join(text.split())}")
    if report.lines:
        out.line()
    out.line(report.summary)
