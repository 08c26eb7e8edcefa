"""`omnizarr reencode`: the same store with other codecs; `--try` measures some of them first."""

from __future__ import annotations

from contextlib import ExitStack, redirect_stdout
from io import StringIO
from typing import Any

import omnizarr
from omnizarr.cli import codec_texts, places, urls
from omnizarr.cli.arguments import add_work, lengths, positive, work
from omnizarr.cli.changing import convert, trying
from omnizarr.cli.output import Output
from omnizarr.cli.places import Problem, locate

EXAMPLES = """\
examples:
  omnizarr reencode data.zarr --try
  omnizarr reencode data.zarr/height --try --compressors zstd:3 --compressors blosc:lz4:5
  omnizarr reencode data.zarr small.zarr --compressors zstd:12
  omnizarr reencode data.zarr sharded.zarr --shards 1000,1000 --dry-run

--try encodes a sample of real chunks with each codec (every --compressors is one of them), and
writes nothing. An interrupted run goes on when the same command is run again.
"""
INTERRUPTED = convert.INTERRUPTED


def add_arguments(parser: Any) -> None:
    parser.set_defaults(in_place=False)
    parser.add_argument("source", metavar="SOURCE", help="an array, a group or a store")
    parser.add_argument(
        "destination", metavar="DESTINATION", nargs="?", help="the store to write; none with --try"
    )
    add = parser.add_argument
    add(
        "--compressors", metavar="CODECS", type=codec_texts.pipeline, action="append",
        help=codec_texts.HELP,
    )  # fmt: skip
    add("--try", dest="trying", action="store_true", help="measure codecs on a sample of chunks")
    add(
        "--sample", metavar="MIB", type=positive, default=16,
        help="with --try: how much to decode of each array (default: 16 MiB)",
    )  # fmt: skip
    add("--chunks", metavar="N,N", type=lengths, help="another chunk shape, such as 10,20")
    add("--shards", metavar="N,N", type=lengths, help="a shape of shards, such as 100,200")
    add("--path", metavar="P", default="", help="take this node of the source alone")
    add("--destination-path", metavar="P", default="", help="write to this path in the destination")
    urls.add_option(parser)
    urls.add_option(
        parser, "--destination-option", "the same for the destination alone, if it needs other ones"
    )
    add("--overwrite", action="store_true", help="replace what is at the destination")
    add("--dry-run", action="store_true", help="show what would be done, and do nothing")
    add("--no-resume", action="store_true", help="begin anew instead of going on")
    add_work(parser)
    add("--quiet", action="store_true", help="print nothing when all goes well")


def run(arguments: Any, out: Output) -> int:
    if arguments.trying:
        return _try(arguments, out)
    if arguments.destination is None:
        raise Problem(
            "reencode takes a DESTINATION, or --try", f"omnizarr reencode {arguments.source} NEW"
        )
    given, destination_given = convert.options_of(arguments)
    place = locate(arguments.source, arguments.path, given)
    inner = places.destination(arguments.destination)[1]
    with ExitStack() as stack:
        source, destination = convert.stores(arguments, place, dict(destination_given))
        for store in (source, destination):
            assert store is not None
            stack.callback(store.close)
        # A dry run prints its plan; here it is shown like every other result.
        stack.enter_context(redirect_stdout(StringIO()))
        chosen = codec_texts.joined(arguments.compressors)
        if not arguments.compressors and not (arguments.chunks or arguments.shards):
            chosen = "auto"
        done = omnizarr.reencode(
            source,
            destination,
            compressors=chosen,
            chunks=arguments.chunks,
            shards=arguments.shards,
            path=place.path,
            destination_path="/".join(each for each in (inner, arguments.destination_path) if each),
            overwrite=arguments.overwrite,
            resume=not arguments.no_resume,
            dry_run=arguments.dry_run,
            progress=not (arguments.quiet or arguments.json),
            **work(arguments),
        )
    convert.show(done, arguments, str(place), None, out)
    return 0


def _try(arguments: Any, out: Output) -> int:
    if arguments.destination is not None:
        raise Problem("--try writes nothing", "leave DESTINATION out, or --try")
    with places.opened(arguments.source, arguments.path, options=arguments.storage_option) as found:
        place, node = found
        trials = trying.trials(node, arguments.compressors, arguments.sample << 20)
    if not trials:
        raise Problem(f"{place}: there is no stored chunk to try codecs on")
    if arguments.json:
        out.json({"source": str(place), "trials": [trial.to_dict() for trial in trials]})
    else:
        trying.show(trials, out)
    return 0
