"""`omnizarr diff`: in what two arrays, groups or stores differ."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

import omnizarr
from omnizarr.cli import urls
from omnizarr.cli.arguments import integer, number, positive
from omnizarr.cli.changing.convert import options_of
from omnizarr.cli.changing.files import is_file
from omnizarr.cli.output import Output, bold
from omnizarr.cli.places import locate

EXAMPLES = """\
examples:
  omnizarr diff data.zarr copy.zarr
  omnizarr diff data.zarr/height new.zarr/height --no-storage --atol 1e-6
  omnizarr diff sea.nc sea.zarr --no-storage
  omnizarr diff data.zarr s3://bucket/data.zarr --metadata --storage-option region=eu-west-1

The exit status is 1 if they differ, 0 if not. NaN equals NaN.
"""
INTERRUPTED = "interrupted; nothing was changed"


def add_arguments(parser: Any) -> None:
    parser.set_defaults(in_place=False)
    parser.add_argument(
        "source", metavar="A", help="an array, a group or a store, or a file that convert takes"
    )
    parser.add_argument("destination", metavar="B", help="what it is compared with")
    add = parser.add_argument
    add("--metadata", action="store_true", help="compare no values")
    add(
        "--no-storage", action="store_true",
        help="how values are stored does not count: format, chunks, shards, codecs",
    )  # fmt: skip
    add("--rtol", metavar="R", type=number, default=0.0, help="relative tolerance of numbers")
    add("--atol", metavar="R", type=number, default=0.0, help="absolute tolerance of numbers")
    add(
        "--examples", metavar="N", type=lambda text: integer(text, least=0), default=5,
        help="how many values to show of each array (default: 5)",
    )  # fmt: skip
    urls.add_option(parser)
    urls.add_option(parser, "--destination-option", "the same for B alone, if it needs other ones")
    add("--workers", metavar="N", type=positive, help="threads at once")
    add("--quiet", action="store_true", help="print nothing; the exit status tells")


def run(arguments: Any, out: Output) -> int:
    given, other_given = options_of(arguments)
    with ExitStack() as stack:
        first = _Side(stack, arguments.source, given)
        second = _Side(stack, arguments.destination, other_given)
        found = omnizarr.diff(
            first.place,
            second.place,
            path=first.path,
            second_path=second.path,
            storage_options=first.options,
            second_options=second.options,
            metadata_only=arguments.metadata,
            storage=not arguments.no_storage,
            rtol=arguments.rtol,
            atol=arguments.atol,
            examples=arguments.examples,
            progress=not (arguments.quiet or arguments.json),
            workers=arguments.workers,
        )
    if arguments.json:
        facts = {**found.to_dict(), "equal": not found}
        out.json({**facts, "first": first.shown, "second": second.shown})
    elif not arguments.quiet:
        show(found, out)
    return 1 if found else 0


class _Side:
    """What is compared: a store that is closed at the end, or a file of another format."""

    def __init__(self, stack: ExitStack, given: str, options: Any) -> None:
        self.shown, self.path = given, ""
        self.place: Any = given
        self.options = dict(options) or None
        if not is_file(given):
            found = locate(given, options=options)
            self.shown, self.path, self.options = str(found), found.path, None
            self.place = stack.enter_context(found.open())


def show(found: Any, out: Output) -> None:
    before: str | None = None
    for one in found.differences:
        if one.path != before:
            out.line(bold(f"/{one.path}"))
            before = one.path
        for line in one.lines:
            out.line("  ", line)
    if found:
        out.line()
    out.line(found.summary)
