"""`omnizarr convert`: any format into any other, whole hierarchies."""

from __future__ import annotations

import os
from contextlib import ExitStack, redirect_stdout
from io import StringIO
from typing import Any

import omnizarr
from omnizarr.cli import places, urls
from omnizarr.cli.arguments import integer, lengths
from omnizarr.cli.output import Output, Unwritable
from omnizarr.cli.places import Given, Problem, StoredAt, locate, open_store
from omnizarr.cli.titles import names
from omnizarr.stores import Store, store_kind

HELP = "convert a store from any format into any other"
EXAMPLES = f"""\
formats: {", ".join(names())}

examples:
  omnizarr convert old.zarr new.zarr --to 3
  omnizarr convert old.zarr new.zip --to 3 --dry-run
  omnizarr convert data.zarr/x x.zarr --to 0 --drop dimension_names --reencode
  omnizarr convert data.zarr --in-place --to 3 --remove-source
  omnizarr convert data.zarr s3://bucket/data.zarr --to 3 --storage-option region=eu-west-1

An interrupted conversion goes on when the same command is run again. The exit status is 1 if
damaged chunks were skipped or filled.
"""
INTERRUPTED = "interrupted; run the same command again to go on"
PARTS = ("groups", "attributes", "dimension_names", "fill_value")


def add_arguments(parser: Any) -> None:
    parser.add_argument("source", metavar="SOURCE", help="what to convert, in any format")
    parser.add_argument(
        "destination", metavar="DESTINATION", nargs="?",
        help="a folder, .zip archive, database or URL to write",
    )  # fmt: skip
    add = parser.add_argument
    add("--to", metavar="FORMAT", required=True, help="the format to write; see below")
    add("--path", metavar="P", default="", help="convert this node of the source alone")
    add("--destination-path", metavar="P", default="", help="write to this path in the destination")
    add(
        "--drop", metavar="PART", action="append", default=[], choices=PARTS,
        help=f"leave out what the format cannot express: {', '.join(PARTS)}; may be repeated",
    )  # fmt: skip
    add(
        "--exclude", metavar="PATTERN", action="append", default=[],
        help="leave out the nodes whose path matches, such as 'raw/*'; may be repeated",
    )  # fmt: skip
    add("--reencode", action="store_true", help="other codecs where the format lacks the stored")
    add("--verify", action="store_true", help="decode every chunk before it is copied")
    add(
        "--on-damage", choices=("raise", "skip", "fill"),
        help="decode every chunk; one that cannot be decoded ends the conversion (raise), is left"
        " out with every chunk that would need it (skip), or becomes the fill value (fill)",
    )  # fmt: skip
    add(
        "--fill-values", choices=("xarray", "zarr"),
        help="between formats 2 and 3: keep what xarray masks, or the plain fill value (default:"
        " xarray for arrays with dimension names)",
    )  # fmt: skip
    add("--chunks", metavar="N,N", type=lengths, help="another chunk shape, such as 10,20")
    urls.add_option(parser)
    urls.add_option(
        parser, "--destination-option", "the same for the destination alone, if it needs other ones"
    )
    add("--overwrite", action="store_true", help="replace what is at the destination")
    add("--in-place", action="store_true", help="write new metadata beside the old, copy nothing")
    add("--remove-source", action="store_true", help="with --in-place: remove the old metadata")
    add("--dry-run", action="store_true", help="show what would be done, and do nothing")
    add("--no-resume", action="store_true", help="begin anew instead of going on")
    add("--workers", metavar="N", type=positive, help="how many threads work at once")
    add("--quiet", action="store_true", help="print nothing when all goes well")


def positive(text: str) -> int:
    return integer(text, least=1)


def run(arguments: Any, out: Output) -> int:
    check(arguments)
    source_given, destination_given = options_of(arguments)
    place = locate(arguments.source, arguments.path, source_given)
    inner = "" if arguments.in_place else places.destination(arguments.destination)[1]
    options: dict[str, Any] = {}
    if arguments.chunks is not None:
        options["chunks"] = arguments.chunks
    if arguments.exclude:
        options["exclude"] = tuple(arguments.exclude)
    with ExitStack() as stack:
        source, destination = stores(arguments, place, dict(destination_given))
        for store in (source, destination):
            if store is not None:
                stack.callback(store.close)
        # A dry run prints its plan; here it is shown like every other result.
        stack.enter_context(redirect_stdout(StringIO()))
        done = omnizarr.convert(
            source,
            destination,
            zarr_format=arguments.to,
            path=place.path,
            destination_path="/".join(each for each in (inner, arguments.destination_path) if each),
            drop=tuple(arguments.drop),
            reencode=arguments.reencode,
            verify=arguments.verify,
            on_damage=arguments.on_damage,
            fill_values=arguments.fill_values,
            overwrite=arguments.overwrite,
            remove_source=arguments.remove_source,
            resume=not arguments.no_resume,
            dry_run=arguments.dry_run,
            progress=not (arguments.quiet or arguments.json),
            workers=arguments.workers,
            **options,
        )
    try:
        if arguments.json:
            there = place.file if arguments.in_place else arguments.destination
            there = urls.masked(there) if urls.is_url(there) else there
            out.json({**done.to_dict(), "source": str(place), "destination": there})
        elif done.damaged or not arguments.quiet:
            for line in str(done).splitlines():
                out.line(line)
        out.flush()
    except Unwritable as error:
        error.hint = None if arguments.dry_run else "the conversion itself is complete"
        raise
    return 1 if done.damaged else 0


def options_of(arguments: Any) -> tuple[Given, Given]:
    """The options that concern the source, and those for the destination."""
    given: Given = arguments.storage_option
    special: Given = arguments.destination_option
    if arguments.in_place or special or not given:
        return given, special
    source = _file(arguments.source)
    target = places.destination(arguments.destination)[0]
    if not urls.takes_options(target):
        return given, ()
    if not urls.takes_options(source):
        return (), given
    return places.shared(given, source, target)


def _file(path: str) -> str:
    """The part of a path that exists, which may lead on into a database."""
    while not urls.is_url(path) and path and not urls.exists(path):
        path = os.path.dirname(path)
    return path


def stores(arguments: Any, place: StoredAt, options: dict[str, Any]) -> tuple[Store, Store | None]:
    """Where is read and where is written."""
    if arguments.in_place:
        return place.open("r" if arguments.dry_run else "r+"), None
    destination = open_store(places.destination(arguments.destination)[0], options, "a")
    try:
        return place.open(), destination
    except BaseException:
        destination.close()
        raise


def check(arguments: Any) -> None:
    """What the arguments must agree on, before anything is opened."""
    if arguments.in_place == (arguments.destination is not None):
        raise Problem(
            "convert takes either a DESTINATION or --in-place",
            "omnizarr convert old.zarr new.zarr --to 3",
        )
    changes = {
        "--drop": arguments.drop,
        "--exclude": arguments.exclude,
        "--reencode": arguments.reencode,
        "--verify": arguments.verify,
        "--on-damage": arguments.on_damage,
        "--chunks": arguments.chunks,
    }
    for option in [name for name, given in changes.items() if given and arguments.in_place]:
        raise Problem(
            f"{option} goes with a DESTINATION: --in-place changes metadata alone",
            "omnizarr convert old.zarr new.zarr --to 3",
        )
    if arguments.in_place and arguments.destination_path:
        raise Problem("--destination-path goes with a DESTINATION, not with --in-place")
    there = arguments.destination
    if arguments.destination_option and arguments.in_place:
        raise Problem("--destination-option goes with a DESTINATION, not with --in-place")
    if there is not None and os.path.isfile(there) and not there.lower().endswith(".zip"):
        known = store_kind(there)
        if known is None or known.existing:
            raise Problem(f"{there}: it is a file", "name a new folder, or a .zip archive")
    if arguments.remove_source and not arguments.in_place:
        raise Problem(
            "--remove-source goes with --in-place, where old and new metadata share the chunks",
            "remove the source yourself once you have seen the result",
        )
