"""`omnizarr serve`: a store over HTTP, until Ctrl-C."""

from __future__ import annotations

import os
from typing import Any

from omnizarr import server
from omnizarr.cli import places
from omnizarr.cli.arguments import integer, size
from omnizarr.cli.output import Output, bold, dim
from omnizarr.cli.places import Problem, StoredAt, locate, open_store
from omnizarr.errors import NodeNotFoundError
from omnizarr.stores import store_kind

EXAMPLES = """\
examples:
  omnizarr serve data.zarr
  omnizarr serve data.zarr --port 8000 --as 3
  omnizarr serve forecast.nc
  omnizarr serve s3://bucket/data.zarr --cors https://example.org

Values are served as they are stored; below /v2/ and /v3/ the same hierarchy is served as format 2
and 3. Nothing can be written. Ctrl-C ends it.
"""


def add_arguments(parser: Any) -> None:
    places.add_arguments(parser)
    parser.add_argument(
        "--host", metavar="ADDRESS", default="127.0.0.1",
        help="where to listen (127.0.0.1: this machine alone); 0.0.0.0 lets everybody in",
    )  # fmt: skip
    parser.add_argument(
        "--port", metavar="N", type=_port, default=0, help="the port; any free one without it"
    )
    parser.add_argument(
        "--as", dest="as_format", type=int, choices=(2, 3), help="serve this format alone, at /"
    )
    parser.add_argument(
        "--cors", metavar="ORIGIN", default="*",
        help="the origin whose pages may read (* for all, none for no other)",
    )  # fmt: skip
    parser.add_argument(
        "--root-path", metavar="PATH", default="", help="what a proxy strips from paths"
    )
    parser.add_argument(
        "--max-memory", metavar="SIZE", type=size,
        help="memory for all answers together, such as 512MB (default: 1GiB)",
    )  # fmt: skip
    parser.add_argument(
        "--cache-bytes", metavar="SIZE", type=size,
        help="memory for chunks that were encoded again (default: 256MiB)",
    )  # fmt: skip
    parser.add_argument("--quiet", action="store_true", help="print the URL alone")


def run(arguments: Any, out: Output) -> int:
    source, path, shown, is_node = _source(arguments)
    memory = {name: getattr(arguments, name) for name in ("cache_bytes", "max_memory")}

    def announce(url: str) -> None:
        if arguments.json:
            out.json({"url": url, "store": shown, "as": arguments.as_format})
        elif arguments.quiet:
            out.line(url)
        else:
            out.line(bold(url), f"  {shown}")
            if arguments.as_format is None and is_node:
                out.line(dim(f"as format 2: {url}v2/   as format 3: {url}v3/"))
            out.line(dim("Ctrl-C ends it"))
        out.flush()

    try:
        server.serve(
            source,
            path=path,
            host=arguments.host,
            port=arguments.port,
            root_path=arguments.root_path,
            announce=announce,
            as_format=arguments.as_format,
            cors=None if arguments.cors == "none" else arguments.cors,
            **{name: value for name, value in memory.items() if value is not None},
        )
    except ValueError as error:
        if isinstance(error, NodeNotFoundError) or not str(error).startswith("port"):
            raise
        raise Problem(str(error)) from error
    finally:
        if hasattr(source, "close"):
            source.close()
    return 0


def _port(text: str) -> int:
    return integer(text, least=0)


def _source(arguments: Any) -> tuple[Any, str, str, bool]:
    """What is served: a store or the path of a foreign file, a path inside, its name, and whether
    there is a node, and not a folder of other things."""
    given, inside = arguments.path, (arguments.node or "").strip("/")
    if _is_plain_file(given):
        return given, inside, given, True
    try:
        place = locate(given, arguments.node, arguments.storage_option)
    except (NodeNotFoundError, Problem):
        if not os.path.isdir(os.path.expanduser(given)):
            raise
        # A folder that is no node may hold some.
        place = StoredAt(os.path.expanduser(given), inside)
        return open_store(place.file, {}, "r"), inside, str(place), False
    return place.open(), place.path, str(place), True


def _is_plain_file(path: str) -> bool:
    """Whether a path is a file that is no store: HDF5, NetCDF, TIFF, GRIB."""
    if "://" in path or not os.path.isfile(path) or path.lower().endswith(".zip"):
        return False
    with open(path, "rb") as file:
        begin = file.read(2)
    return begin != b"PK" and store_kind(path) is None
