"""`omnizarr codecs`: which codecs are known, and which package is missing for the others."""

from __future__ import annotations

from typing import Any

import omnizarr
from omnizarr.cli.facts import Facts
from omnizarr.cli.installed import Need, extra
from omnizarr.cli.output import Output, columns, count, dim, padded, yellow
from omnizarr.cli.places import Problem, near

EXAMPLES = """\
examples:
  omnizarr codecs
  omnizarr codecs --missing
  omnizarr codecs zstd numcodecs.zfpy --json

Names are those of format 3; what format 2 calls lz4 is numcodecs.lz4. The exit status is 1 if a
codec that is named is not available, 0 otherwise.
"""
_NEEDS = {
    "zfp": extra("zfpy", "zfpy"),
    "numcodecs.zfpy": extra("zfpy", "zfpy"),
    "numcodecs.pcodec": extra("pcodec", "pcodec"),
    "numcodecs.msgpack": extra("msgpack", "msgpack"),
    "numcodecs.msgpack2": extra("msgpack", "msgpack"),
}
"""Codecs of omnizarr that need an optional package."""
_ELSEWHERE = {
    "imagecodecs_…": Need(("imagecodecs",), "imagecodecs-numcodecs"),
    "numcodecs.wavpack": Need(("wavpack_numcodecs",), "wavpack-numcodecs"),
    "numcodecs.flac": Need(("flac_numcodecs",), "flac-numcodecs"),
    "numcodecs.grib": extra("virtual", "kerchunk", "eccodes"),
    "numcodecs.fits": Need(("kerchunk", "astropy"), "kerchunk astropy"),
}
"""Codecs that other packages bring, as far as data are known that name them."""
_KINDS = {
    "array": "array to array",
    "serializer": "array to bytes",
    "bytes": "bytes to bytes",
}


def add_arguments(parser: Any) -> None:
    parser.set_defaults(storage_option=[])
    parser.add_argument("names", metavar="NAME", nargs="*", help="only these")
    parser.add_argument("--missing", action="store_true", help="only those that need a package")


def run(arguments: Any, out: Output) -> int:
    rows = _rows()
    known = {row["name"]: row for row in rows}
    for name in arguments.names:
        if name not in known:
            raise Problem(f"no codec {name!r} is known", _hint(name, list(known)))
    rows = [
        row
        for row in rows
        if (not arguments.names or row["name"] in arguments.names)
        and not (arguments.missing and row["available"])
    ]
    if arguments.json:
        out.json({"codecs": rows})
    else:
        _show(rows, out)
    return 1 if arguments.names and not all(row["available"] for row in rows) else 0


def _hint(name: str, known: list[str]) -> str | None:
    if f"numcodecs.{name}" in known:
        return f"did you mean numcodecs.{name}?"
    beside = near(name, known)
    return f"did you mean {beside}?" if beside else "omnizarr codecs lists all"


def _rows() -> list[Facts]:
    names = set(omnizarr.codecs.codec_names())
    own = set(omnizarr.codecs.codec_names(plugins=False))
    brought = any("imagecodecs_" in name for name in names)
    more = set(_ELSEWHERE) - ({"imagecodecs_…"} if brought else set())
    return [_row(name, name in own) for name in sorted(names | more)]


def _row(name: str, own: bool) -> Facts:
    need = _NEEDS.get(name) or _ELSEWHERE.get(name) or Need()
    available = not need.missing
    return {
        "name": name,
        # Asked of omnizarr's own codecs alone: the others would be imported.
        "kind": _kind(name) if own and available else None,
        "available": available,
        "needs": list(need.modules),
        "install": need.hint,
    }


def _kind(name: str) -> str:
    return _KINDS[omnizarr.codecs.kind_of(omnizarr.codecs.codec_spec({"name": name}))]


def _show(rows: list[Facts], out: Output) -> None:
    width = max((columns(row["name"]) for row in rows), default=0)
    for row in rows:
        name = padded(row["name"], width)
        if row["available"]:
            out.line(f"✓ {name}  ", dim(row["kind"] or ""))
        else:
            out.line(f"✗ {name}  ", yellow(row["install"]))
    missing = sum(not row["available"] for row in rows)
    out.line()
    out.line(f"{count(len(rows) - missing, 'codec')} available, {missing} missing")
