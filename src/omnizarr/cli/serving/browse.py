"""`omnizarr browse`: a page that shows a store in the browser."""

from __future__ import annotations

from argparse import ArgumentTypeError
from contextlib import ExitStack
from typing import Any

from omnizarr.cli import places
from omnizarr.cli.arguments import integer
from omnizarr.cli.output import Output, bold, dim
from omnizarr.cli.places import opened

EXAMPLES = """\
examples:
  omnizarr browse data.zarr
  omnizarr browse archive.zip group/array
  omnizarr browse s3://bucket/data.zarr --storage-option anon=true
  omnizarr browse measurements.nc
  omnizarr browse data.zarr --no-open --port 8080
"""
INTERRUPTED = "stopped"


def add_arguments(parser: Any) -> None:
    places.add_arguments(parser, zarr_format=True)
    parser.add_argument(
        "--host", default="127.0.0.1", help="the address to listen at (127.0.0.1: this machine)"
    )
    parser.add_argument(
        "--port",
        type=_port,
        default=0,
        help="the port to listen at (0, the default: one that is free)",
    )
    parser.add_argument(
        "--no-open", action="store_true", help="do not open the browser, only print the address"
    )


def run(arguments: Any, out: Output) -> int:
    from omnizarr.server import browse
    from omnizarr.server.running import run as serve

    with ExitStack() as stack:
        title, line, node = _found(arguments, stack)

        def announce(url: str) -> None:
            if arguments.json:
                out.json({"url": url, "store": title})
            else:
                out.line(bold(url), f"  {title}")
                out.line(dim("Ctrl-C ends it"))
            out.flush()

        serve(
            browse.application(node, title=title, line=line, hosts=[arguments.host]),
            host=arguments.host,
            port=arguments.port,
            open_browser=not arguments.no_open,
            announce=announce,
        )
    return 0


def _port(text: str) -> int:
    number = integer(text, least=0)
    if number > 65535:
        raise ArgumentTypeError(f"expected a port from 0 to 65535, found {text!r}")
    return number


def _found(arguments: Any, stack: ExitStack) -> tuple[str, str, Any]:
    """What the page calls the node, the Python that opens it, and the node."""
    place, node = stack.enter_context(
        opened(arguments.path, arguments.node, arguments.zarr_format, arguments.storage_option)
    )
    if place.virtual:
        inner = f"[{place.path!r}]" if place.path else ""
        return str(place), f"omnizarr.virtualize({place.file!r}){inner}", node
    inner = f", path={place.path!r}" if place.path else ""
    return str(place), f'omnizarr.open({place.shown!r}{inner}, mode="r")', node
