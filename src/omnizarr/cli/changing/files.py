"""`omnizarr convert` from and to files of other formats: NetCDF, HDF5, GeoTIFF, …"""

from __future__ import annotations

import json
import os
from argparse import ArgumentTypeError
from collections.abc import Iterator
from contextlib import ExitStack, redirect_stdout
from io import StringIO
from typing import Any

import omnizarr
from omnizarr.cli import places, spots, urls
from omnizarr.cli.output import Output, dim
from omnizarr.cli.places import Problem, StoredAt, open_store
from omnizarr.stores import store_kind

_FOR_ZARR = {
    "--drop": "drop", "--exclude": "exclude", "--reencode": "reencode", "--in-place": "in_place",
    "--on-damage": "on_damage", "--fill-values": "fill_values", "--chunks": "chunks",
    "--shards": "shards", "--no-shards": "no_shards", "--compressors": "compressors",
    "--destination-path": "destination_path", "--no-resume": "no_resume",
    "--workers": "workers", "--executor": "executor", "--remove-source": "remove_source",
    "--destination-option": "destination_option",
}  # fmt: skip
"""Options that have a meaning for Zarr alone."""


def add_option(parser: Any) -> None:
    parser.add_argument(
        "--option", metavar="KEY=VALUE", action="append", default=[], type=_option,
        help="of a file that is written, such as unlimited='[\"time\"]', or of a table that is"
        " read, such as delimiter=';'; may be repeated",
    )  # fmt: skip


def _option(text: str) -> tuple[str, object]:
    name, mark, value = text.partition("=")
    if not mark or not name:
        raise ArgumentTypeError(f"expected KEY=VALUE, found {text!r}")
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value


def is_file(path: str) -> bool:
    """Whether the source is a file of another format: no store, but a regular file or the URL of
    one."""
    if urls.is_url(path):
        plain = path.partition("?")[0].partition("#")[0].lower()
        known = omnizarr.file_formats(reads=True).values()
        return any(plain.endswith(each.suffixes) for each in known)
    if not os.path.isfile(path):
        return False
    with open(path, "rb") as file:
        begin = file.read(4)
    if begin == b"PAR1":  # a table; references in Parquet are a folder
        return True
    return store_kind(path) is None and (
        not begin.startswith(b"PK") or path.lower().endswith(".npz")
    )


def writes(arguments: Any) -> bool:
    """Whether the destination is a file of another format."""
    known = omnizarr.file_formats(writes=True)
    if arguments.to is not None:
        return arguments.to in known
    there = arguments.destination
    return there is not None and any(
        there.lower().endswith(each.suffixes) for each in known.values()
    )


def unwritable(destination: str) -> Iterator[Problem]:
    """What speaks against a new folder of that name: it ends as a file of another format does,
    which is not written."""
    if os.path.lexists(destination):
        return
    plain, end = os.path.splitext(destination.lower())
    packed = end in (".gz", ".bz2", ".zst")
    known = omnizarr.file_formats()
    for name, suffixes in ((each.name, each.suffixes) for each in known.values()):
        if packed and plain.endswith(suffixes):
            hint = f"write {os.path.splitext(destination)[0]}, and compress it"
            yield Problem(f"{destination}: files are written without compression around them", hint)
            return
        if destination.lower().endswith(suffixes) and not known[name].writes:
            hint = "omnizarr formats lists those that are; --to 3 makes it a folder of that name"
            yield Problem(f"{destination}: files of the format {name} are read, not written", hint)


def convert(arguments: Any, out: Output) -> int:
    """From a file to Zarr."""
    from omnizarr.cli.changing import convert as command

    if arguments.destination is None:
        raise Problem("convert takes a DESTINATION", "omnizarr convert data.nc data.zarr")
    target, inner = places.destination(arguments.destination)
    given = arguments.storage_option
    with ExitStack() as stack:
        options = arguments.destination_option or (given if urls.is_url(target) else ())
        store = open_store(target, dict(options), "a")
        stack.callback(store.close)
        there = "/".join(each for each in (inner, arguments.destination_path) if each)
        spots.check_free(store, there.strip("/"), str(StoredAt(target, there)))
        chosen, reason = command.format_to_write(arguments, None, store, there)
        stack.enter_context(redirect_stdout(StringIO()))
        done = omnizarr.convert(
            arguments.source,
            store,
            zarr_format=chosen,
            path=arguments.path,
            destination_path=there,
            storage_options=dict(given) if given and urls.is_url(arguments.source) else None,
            options=dict(arguments.option),
            **command.choices(arguments),
        )
    if reason and not (arguments.json or arguments.quiet):
        out.line(dim(reason))
    command.show(done, arguments, arguments.source, None, out)
    return 1 if done.damaged else 0


def export(arguments: Any, out: Output) -> int:
    """From Zarr, or from another file, to a file."""
    for option, name in _FOR_ZARR.items():
        if getattr(arguments, name):
            raise Problem(f"{option} has no meaning for a file of another format")
    if arguments.destination is None:
        raise Problem("convert takes a DESTINATION", "omnizarr convert data.zarr data.nc")
    with ExitStack() as stack:
        source: Any = arguments.source
        path = arguments.path
        more: dict[str, Any] = {}
        if is_file(source):
            if arguments.storage_option:
                more["storage_options"] = dict(arguments.storage_option)
        else:
            place = places.locate(source, path, arguments.storage_option)
            source, path = place.open(), place.path
            stack.callback(source.close)
        stack.enter_context(redirect_stdout(StringIO()))
        more |= {
            "path": path,
            "to": arguments.to,
            "overwrite": arguments.overwrite,
            "verify": arguments.verify,
            "progress": not (arguments.quiet or arguments.json),
            "dry_run": arguments.dry_run,
        }
        if arguments.max_memory is not None:
            more["max_memory"] = arguments.max_memory
        try:
            done = omnizarr.export(source, arguments.destination, **more, **dict(arguments.option))
        except TypeError as error:
            if not arguments.option:
                raise
            raise Problem(f"--option: {error}") from error
    if arguments.json:
        out.json(done.to_dict())
    elif not arguments.quiet:
        for line in str(done).splitlines():
            out.line(line)
    out.flush()
    return 0
