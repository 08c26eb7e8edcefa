"""`omnizarr convert`: any format into any other, whole hierarchies; files of other formats too."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, redirect_stdout
from io import StringIO
from typing import Any

import omnizarr
from omnizarr.cli import codec_texts, places, spots, urls
from omnizarr.cli.arguments import add_work, lengths, work
from omnizarr.cli.changing import files, rm
from omnizarr.cli.output import Output, Unwritable, dim
from omnizarr.cli.places import (
    Given,
    Problem,
    Problems,
    StoredAt,
    find,
    near,
    open_store,
)
from omnizarr.cli.titles import names
from omnizarr.errors import MetadataError, ZarrError
from omnizarr.stores import Store, store_kind

EXAMPLES = f"""\
formats: {", ".join(names())}, nczarr; files of other formats: netcdf, hdf5, …

examples:
  omnizarr convert old.zarr new.zarr --to 3
  omnizarr convert old.zarr new.zip --to 3 --dry-run
  omnizarr convert data.zarr small.zarr --chunks 100,100 --shards 1000,1000 --compressors zstd:9
  omnizarr convert data.zarr/x x.zarr --to 0 --drop dimension_names --reencode
  omnizarr convert data.zarr --in-place --to 3 --remove-source
  omnizarr convert data.nc data.zarr
  omnizarr convert data.zarr data.nc --verify
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
    add(
        "--to", metavar="FORMAT",
        help="the format to write; see below (default: that of the group at the destination, else"
        " of the source; 3 in place)",
    )  # fmt: skip
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
    add("--shards", metavar="N,N", type=lengths, help="a shape of shards, such as 100,200")
    add("--no-shards", action="store_true", help="remove shards")
    add(
        "--compressors", metavar="CODECS", type=codec_texts.pipeline, action="append",
        help=codec_texts.HELP,
    )  # fmt: skip
    files.add_option(parser)
    urls.add_option(parser)
    urls.add_option(
        parser, "--destination-option", "the same for the destination alone, if it needs other ones"
    )
    add("--overwrite", action="store_true", help="replace what is at the destination")
    add("--in-place", action="store_true", help="write new metadata beside the old, copy nothing")
    add("--remove-source", action="store_true", help="with --in-place: remove the old metadata")
    add("--dry-run", action="store_true", help="show what would be done, and do nothing")
    add("--no-resume", action="store_true", help="begin anew instead of going on")
    add_work(parser)
    add("--quiet", action="store_true", help="print nothing when all goes well")


def run(arguments: Any, out: Output) -> int:
    if files.writes(arguments):
        return files.export(arguments, out)
    check(arguments)
    if files.is_file(arguments.source):
        return files.convert(arguments, out)
    source_given, destination_given = options_of(arguments)
    place, found_format = source_of(arguments, source_given)
    inner = "" if arguments.in_place else places.destination(arguments.destination)[1]
    with ExitStack() as stack:
        source, destination = stores(arguments, place, dict(destination_given))
        for store in (source, destination):
            if store is not None:
                stack.callback(store.close)
        there = "/".join(each for each in (inner, arguments.destination_path) if each)
        chosen, reason = format_to_write(arguments, found_format, destination, there)
        # A dry run prints its plan; here it is shown like every other result.
        stack.enter_context(redirect_stdout(StringIO()))
        done = omnizarr.convert(
            source,
            destination,
            zarr_format=chosen,
            path=place.path,
            destination_path=there,
            remove_source=arguments.remove_source,
            options=dict(arguments.option),
            **choices(arguments),
        )
    if reason and not (arguments.json or arguments.quiet):
        out.line(dim(reason))
    show(done, arguments, str(place), place.file if arguments.in_place else None, out)
    return 1 if done.damaged else 0


def choices(arguments: Any) -> dict[str, Any]:
    """The options that are the same whatever the source is."""
    options: dict[str, Any] = {}
    if arguments.chunks is not None:
        options["chunks"] = arguments.chunks
    if arguments.no_shards or arguments.shards is not None:
        options["shards"] = False if arguments.no_shards else arguments.shards
    if arguments.compressors:
        options["compressors"] = codec_texts.joined(arguments.compressors)
    if arguments.exclude:
        options["exclude"] = tuple(arguments.exclude)
    return options | {
        "drop": tuple(arguments.drop),
        "reencode": arguments.reencode,
        "verify": arguments.verify,
        "on_damage": arguments.on_damage,
        "fill_values": arguments.fill_values,
        "overwrite": arguments.overwrite,
        "resume": not arguments.no_resume,
        "dry_run": arguments.dry_run,
        "progress": not (arguments.quiet or arguments.json),
        **work(arguments),
    }


FormatName = int | str


def source_of(arguments: Any, given: Given) -> tuple[StoredAt, FormatName | None]:
    """Where the source is, and its format; None if its metadata cannot be read."""
    try:
        place, node = find(arguments.source, arguments.path, options=given)
    except MetadataError:
        return places.locate(arguments.source, arguments.path, given), None
    node.store.close()
    return place, node.zarr_format


def format_to_write(
    arguments: Any, source: FormatName | None, destination: Store | None, path: str
) -> tuple[FormatName, str]:
    """The format, and the reason for it where `--to` is not given."""
    if arguments.to is not None:
        return arguments.to, ""
    if destination is None:
        return 3, "format 3, the newest; --to chooses another one"
    above = there(destination, path, arguments.destination)
    if above is not None:
        return above, f"format {above}, which the destination has; --to chooses another one"
    if source is not None and str(source) in names():
        return source, f"format {source}, which the source has; --to chooses another one"
    return 3, "format 3; --to chooses another one"


def there(store: Store, path: str, typed: str) -> FormatName | None:
    """The format of the node at the destination, or of the group that it will be in."""
    steps = path.split("/") if path else []
    tries: list[tuple[Any, str]] = [
        (store, "/".join(steps[:count])) for count in range(len(steps), -1, -1)
    ]
    if not urls.is_url(typed) and store_kind(typed) is None:
        tries.append((os.path.dirname(os.path.abspath(typed)), ""))
    for place, inner in tries:
        try:
            node = omnizarr.open(place, mode="r", path=inner)
        except (ZarrError, OSError):
            continue
        if isinstance(place, str):
            node.store.close()
        found: FormatName = node.zarr_format
        return found
    return None


def show(done: Any, arguments: Any, source: str, in_place: str | None, out: Output) -> None:
    """Print what a conversion did, as JSON or as a table."""
    try:
        if arguments.json:
            there = arguments.destination if in_place is None else in_place
            there = urls.masked(there) if urls.is_url(there) else there
            out.json({**done.to_dict(), "source": source, "destination": there})
        elif done.damaged or not arguments.quiet:
            for line in str(done).splitlines():
                out.line(line)
        out.flush()
    except Unwritable as error:
        error.hint = None if arguments.dry_run else "the conversion itself is complete"
        raise


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
    file, inner = places.destination(arguments.destination)
    destination = open_store(file, options, "a")
    try:
        there = "/".join(each for each in (inner, arguments.destination_path) if each)
        spots.check_free(destination, there.strip("/"), str(StoredAt(file, there)))
        if arguments.overwrite and destination.capabilities.listable:
            rm.check_own(destination, StoredAt(file, there))
        return place.open(), destination
    except BaseException:
        destination.close()
        raise


def check(arguments: Any) -> None:
    """What the arguments must agree on, before anything is opened; all of it is told at once."""
    found = list(_problems(arguments))
    if found:
        raise found[0] if len(found) == 1 else Problems(found)


def _problems(arguments: Any) -> Iterator[Problem]:
    if arguments.in_place == (arguments.destination is not None):
        yield Problem(
            "convert takes either a DESTINATION or --in-place",
            "omnizarr convert old.zarr new.zarr --to 3",
        )
        return
    written = [*names(), "nczarr"]
    if arguments.to is not None and arguments.to not in written:
        formats = [*written, *omnizarr.file_formats(writes=True)]
        meant = near(arguments.to, formats)
        yield Problem(
            f"--to takes {', '.join(formats)}; found {arguments.to!r}",
            f"did you mean {meant}?" if meant else "omnizarr formats lists them",
        )
    elif arguments.to is None and arguments.destination is not None:
        yield from files.unwritable(arguments.destination)
    changes = {
        "--drop": arguments.drop,
        "--exclude": arguments.exclude,
        "--reencode": arguments.reencode,
        "--verify": arguments.verify,
        "--on-damage": arguments.on_damage,
        "--chunks": arguments.chunks,
        "--shards": arguments.shards,
        "--no-shards": arguments.no_shards,
        "--compressors": arguments.compressors,
    }
    for option in [name for name, given in changes.items() if given and arguments.in_place]:
        yield Problem(
            f"{option} goes with a DESTINATION: --in-place changes metadata alone",
            "omnizarr convert old.zarr new.zarr --to 3",
        )
    if arguments.shards is not None and arguments.no_shards:
        yield Problem("--shards and --no-shards exclude one another", "leave one of them out")
    if arguments.in_place and arguments.destination_path:
        yield Problem(
            "--destination-path goes with a DESTINATION, not with --in-place",
            "leave it out, or give a DESTINATION",
        )
    there = arguments.destination
    if arguments.destination_option and arguments.in_place:
        yield Problem(
            "--destination-option goes with a DESTINATION, not with --in-place",
            "--storage-option opens the store",
        )
    if there is not None and os.path.isfile(there) and not there.lower().endswith(".zip"):
        known = store_kind(there)
        if known is None or known.existing:
            yield Problem(f"{there}: it is a file", "name a new folder, or a .zip archive")
    if arguments.remove_source and not arguments.in_place:
        yield Problem(
            "--remove-source goes with --in-place, where old and new metadata share the chunks",
            "remove the source yourself once you have seen the result",
        )
