"""`omnizarr pyramid`: an array at several resolutions."""

from __future__ import annotations

from contextlib import ExitStack, redirect_stdout
from io import StringIO
from typing import Any

import omnizarr
from omnizarr.cli import places, spots, urls
from omnizarr.cli.arguments import add_work, lengths, positive, work
from omnizarr.cli.output import Output, Unwritable
from omnizarr.cli.places import StoredAt, in_group, open_store

METHODS = ("mean", "mode", "nearest", "max", "min", "gaussian")
CONVENTIONS = ("ome", "0.1", "multiscales", "ndpyramid")
EXAMPLES = """\
examples:
  omnizarr pyramid image.zarr image.ome.zarr --axes cyx --convention ome
  omnizarr pyramid scene.zarr/red scene-pyramid.zarr --levels 5 --dry-run
  omnizarr pyramid labels.zarr/0 --method mode --factors y=2,x=2

Without DESTINATION the levels are written beside the array. An interrupted run goes on when the
same command is run again.
"""
INTERRUPTED = "interrupted; run the same command again to go on"


def add_arguments(parser: Any) -> None:
    parser.add_argument("source", metavar="SOURCE", help="an array, or a group that holds one")
    parser.add_argument(
        "destination", metavar="DESTINATION", nargs="?",
        help="where the group of the pyramid is written, with a copy of the source",
    )  # fmt: skip
    add = parser.add_argument
    add("--path", metavar="P", default="", help="take this node of the source")
    add("--destination-path", metavar="P", default="", help="write to this path in the destination")
    add("--levels", metavar="N", type=positive, help="how many levels, the largest included")
    add("--method", choices=METHODS, default="mean", help="how a block becomes one element")
    add("--factors", metavar="F", type=factors, help="2, or by axis: y=2,x=2 (default: 2 in space)")
    add("--axes", metavar="NAMES", help="names of the axes, such as tczyx or time,y,x")
    add("--convention", choices=CONVENTIONS, help="how the pyramid is described")
    add("--nodata", metavar="VALUE", help="a value that stands for missing ones; 'none' for none")
    add("--chunks", metavar="N,N", type=lengths, help="another chunk shape, such as 512,512")
    add("--shards", metavar="N,N", type=lengths, help="a shape of shards, such as 4096,4096")
    urls.add_option(parser)
    add("--overwrite", action="store_true", help="replace levels that are there")
    add("--dry-run", action="store_true", help="show what would be done and its cost")
    add("--no-resume", action="store_true", help="begin anew instead of going on")
    add_work(parser)
    add("--quiet", action="store_true", help="print nothing when all goes well")


def factors(text: str) -> Any:
    """`2`, or `y=2,x=2`."""
    if "=" not in text:
        return positive(text)
    found: dict[str, int] = {}
    for part in text.split(","):
        name, _, number = part.partition("=")
        found[name.strip()] = positive(number.strip())
    return found


def nodata(text: str | None) -> Any:
    if text is None:
        return "auto"
    if text.lower() == "none":
        return None
    try:
        return int(text)
    except ValueError:
        pass
    try:
        return float(text)
    except ValueError:
        raise places.Problem(f"--nodata takes a number or 'none', found {text!r}") from None


def run(arguments: Any, out: Output) -> int:
    options = places_of(arguments)
    inside = arguments.destination is None
    place = in_group(arguments.source, arguments.path, options[0])  # whose map may be beside it
    given: dict[str, Any] = {
        name: value
        for name in ("levels", "factors", "convention", "chunks", "shards")
        if (value := getattr(arguments, name)) is not None
    }
    if arguments.axes is not None:
        given["axes"] = arguments.axes.split(",") if "," in arguments.axes else arguments.axes
    with ExitStack() as stack:
        source = place.open("r+" if inside and not arguments.dry_run else "r")
        stack.callback(source.close)
        destination, inner = None, ""
        if not inside:
            file, inner = places.destination(arguments.destination)
            destination = open_store(file, dict(options[1]), "a")
            stack.callback(destination.close)
            there = "/".join(filter(None, (inner, arguments.destination_path)))
            spots.check_free(destination, there.strip("/"), str(StoredAt(file, there)))
            given["destination_path"] = there
        # A dry run prints its plan; here it is shown like every other result.
        stack.enter_context(redirect_stdout(StringIO()))
        done = omnizarr.pyramid(
            source,
            destination,
            path=place.path,
            method=arguments.method,
            nodata=nodata(arguments.nodata),
            overwrite=arguments.overwrite,
            resume=not arguments.no_resume,
            dry_run=arguments.dry_run,
            progress=not (arguments.quiet or arguments.json),
            **work(arguments),
            **given,
        )
    try:
        if arguments.json:
            there = str(place) if inside else arguments.destination
            there = urls.masked(there) if urls.is_url(there) else there
            out.json({**done.to_dict(), "source": str(place), "destination": there})
        elif not arguments.quiet:
            for line in str(done).splitlines():
                out.line(line)
        out.flush()
    except Unwritable as error:
        error.hint = None if arguments.dry_run else "the pyramid itself is complete"
        raise
    return 0


def places_of(arguments: Any) -> tuple[places.Given, places.Given]:
    """The options that concern the source, and those for the destination."""
    given: places.Given = arguments.storage_option
    if not given or arguments.destination is None:
        return given, ()
    target = places.destination(arguments.destination)[0]
    if not urls.takes_options(target):
        return given, ()
    if not urls.takes_options(arguments.source):
        return (), given
    return places.shared(given, arguments.source, target)
