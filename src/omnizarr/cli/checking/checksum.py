"""`omnizarr checksum`: a digest of every stored value, kept in a file and compared later."""

from __future__ import annotations

import os
from typing import Any

import omnizarr
from omnizarr.cli import places
from omnizarr.cli.arguments import add_work, work
from omnizarr.cli.output import Output, count, red, size, yellow
from omnizarr.cli.places import Problem, locate

EXAMPLES = """\
examples:
  omnizarr checksum data.zarr
  omnizarr checksum data.zarr --save data.manifest
  omnizarr checksum copy.zarr --against data.manifest
  omnizarr checksum data.zarr --algorithm crc32c --json

Two copies with the same digest are the same, byte for byte. The exit status is 1 if --against
finds a difference.
"""
ALGORITHMS = ("sha256", "sha512", "sha1", "md5", "blake2b", "sha3_256", "crc32c")
_SHOWN = 20


def add_arguments(parser: Any) -> None:
    places.add_arguments(parser)
    add = parser.add_argument
    add("--save", metavar="FILE", help="write the manifest: key, size and digest of every value")
    add("--against", metavar="FILE", help="compare with a manifest that was saved")
    add("--overwrite", action="store_true", help="replace the file of --save")
    add("--algorithm", choices=ALGORITHMS, help="default: sha256, or that of --against")
    add_work(parser)
    add("--quiet", action="store_true", help="print nothing when all goes well")


def run(arguments: Any, out: Output) -> int:
    if arguments.save and os.path.lexists(arguments.save) and not arguments.overwrite:
        raise Problem(f"{arguments.save}: it is there already", "--overwrite replaces it")
    manifest = type(omnizarr.checksum(omnizarr.MemoryStore({"a": b""})))
    before = None
    if arguments.against:
        before = manifest.load(arguments.against)
    algorithm: Any = arguments.algorithm or (before.algorithm if before else "sha256")
    place = locate(arguments.path, arguments.node, arguments.storage_option)
    with place.open() as store:
        now = omnizarr.checksum(
            store,
            place.path,
            algorithm=algorithm,
            progress=not (arguments.quiet or arguments.json),
            **work(arguments),
        )
    difference = before.compare(now) if before else None
    if arguments.save:
        now.save(arguments.save)
    if arguments.json:
        document = {
            "store": place.shown, "path": place.path, "digest": now.digest,
            "algorithm": now.algorithm, "keys": len(now.entries), "bytes": now.nbytes,
        }  # fmt: skip
        if difference is not None:
            document["difference"] = difference.to_dict()
        out.json(document)
    elif difference or not arguments.quiet:
        amount = f"{count(len(now.entries), 'value')}, {size(now.nbytes)}, {now.algorithm}"
        if difference is None:
            out.line(f"{now.digest}  {place}  ({amount})")
        else:
            show(difference, out)
    return 1 if difference else 0


def show(difference: Any, out: Output) -> None:
    rows = (
        ("changed", difference.changed, red),
        ("missing", difference.missing, red),
        ("new", difference.new, yellow),
    )
    for word, keys, style in rows:
        for key in keys[:_SHOWN]:
            out.line(style(word.ljust(8)), f" {key}")
        if len(keys) > _SHOWN:
            out.line(f"         … and {len(keys) - _SHOWN:,} more")
    out.line(
        ", ".join(f"{len(keys):,} {word}" for word, keys, _ in rows)
        if difference
        else "no difference"
    )
