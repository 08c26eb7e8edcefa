"""`omnizarr formats`: what can be read and written, in which stores, and what is missing for it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import omnizarr
from omnizarr.cli import titles
from omnizarr.cli.facts import Facts
from omnizarr.cli.installed import Need, extra
from omnizarr.cli.output import Output, bold, columns, dim, padded, yellow

EXAMPLES = """\
examples:
  omnizarr formats
  omnizarr formats --missing
  omnizarr formats --json
"""


class Kind(NamedTuple):
    """A format or a kind of store."""

    name: str
    title: str
    can: str = "read, write"
    need: Need = Need()


_TIFF = extra("virtual", "tifffile", "imagecodecs")
_FILES = {
    "hdf5": extra("virtual", "h5py"),
    "netcdf": extra("virtual", "h5py"),
    "tiff": _TIFF,
    "geotiff": _TIFF,
    "ometiff": _TIFF,
    "grib": extra("virtual", "eccodes", "kerchunk"),
    "parquet": extra("arrow", "pyarrow"),
    "arrow": extra("arrow", "pyarrow"),
    "csv": extra("arrow", "pyarrow"),
    "tsv": extra("arrow", "pyarrow"),
}
"""What files of other formats need."""
_FOREIGN = (
    Kind("kerchunk", "reference files: JSON"),
    Kind("kerchunk-parquet", "reference files: parquet", "read, write", extra("arrow", "pyarrow")),
    Kind("icechunk", "repositories of Icechunk, by its sessions", "read, write",
         extra("zarr", "zarr", "icechunk")),
)  # fmt: skip
_STORES = (
    Kind("folder", "data.zarr"),
    Kind("zip", "data.zip"),
    Kind("sqlite", "data.sqlite, sqlite:///…"),
    Kind("dbm", "data.dbm, dbm:///…"),
    Kind("lmdb", "data.lmdb, lmdb:///…", "read, write", extra("lmdb", "lmdb")),
    Kind("http", "http://…, https://…", "read", extra("http", "urllib3")),
    Kind("cloud", "s3://…, gs://…, az://…", "read, write", extra("cloud", "obstore")),
    Kind("redis", "redis://…, valkey://…", "read, write", extra("redis", "redis")),
    Kind("mongodb", "mongodb://…", "read, write", extra("mongodb", "pymongo")),
    Kind("fsspec", "any other URL: sftp://…, hf://…", "read, write", extra("fsspec", "fsspec")),
)


def add_arguments(parser: Any) -> None:
    parser.set_defaults(storage_option=[])
    parser.add_argument("--missing", action="store_true", help="only those that need a package")


def run(arguments: Any, out: Output) -> int:
    zarr = [Kind(str(name), titles.title(name)) for name in titles.every()]
    zarr.append(Kind("nczarr", "a dialect of format 2, as netCDF-C writes it"))
    parts = {"formats": zarr, "foreign": (*_files(), *_FOREIGN), "stores": _STORES}
    found = {
        part: [_row(kind) for kind in kinds if not arguments.missing or kind.need.missing]
        for part, kinds in parts.items()
    }
    if arguments.json:
        out.json(found)
        return 0
    for number, (part, rows) in enumerate(found.items()):
        if rows:
            if number and not arguments.missing:
                out.line()
            out.line(bold(_HEADS[part]))
            _show(rows, out)
    missing = sum(not row["available"] for rows in found.values() for row in rows)
    if arguments.missing:
        out.line("nothing is missing" if not missing else f"{missing} missing")
    return 0


def _files() -> Iterator[Kind]:
    """The files that `convert` reads and writes."""
    for name, each in omnizarr.file_formats().items():
        can = ", ".join(
            word for word, true in (("read", each.reads), ("write", each.writes)) if true
        )
        yield Kind(name, f"files: {', '.join(each.suffixes[:3])}", can, _FILES.get(name, Need()))


_HEADS = {
    "formats": "formats of Zarr",
    "foreign": "formats of others",
    "stores": "stores",
}


def _row(kind: Kind) -> Facts:
    return {
        "name": kind.name,
        "title": kind.title,
        "read": "read" in kind.can,
        "write": "write" in kind.can,
        "available": not kind.need.missing,
        "needs": list(kind.need.modules),
        "install": kind.need.hint,
    }


def _show(rows: list[Facts], out: Output) -> None:
    names = max(columns(row["name"]) for row in rows)
    titles_width = max(columns(row["title"]) for row in rows)
    for row in rows:
        text = f"{padded(row['name'], names)}  {padded(row['title'], titles_width)}  "
        can = ", ".join(word for word in ("read", "write") if row[word])
        if row["available"]:
            out.line(f"  ✓ {text}", dim(can))
        else:
            out.line(f"  ✗ {text}", yellow(row["install"]))
