"""The application: the page, and the read-only JSON API that it asks.

Each function below answers one address. This module knows HTTP; what is answered comes from its
neighbours.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

import omnizarr
from omnizarr.errors import LimitError, NodeNotFoundError, ZarrError
from omnizarr.server.browse import chunk_map, downloads, facts, labels, values
from omnizarr.server.browse.plain import plain
from omnizarr.server.browse.security import Guard
from omnizarr.server.browse.selections import BadRequest, TooMuch
from omnizarr.server.browse.session import PAGE, Session

STATIC = Path(__file__).parent / "static"
_LONGEST_TEXT = 500


def application(
    node: omnizarr.Array | omnizarr.Group,
    *,
    title: str = "",
    line: str = "",
    hosts: Iterable[str] = (),
    framed: bool = False,
) -> Starlette:
    """The ASGI application that shows a node and all that is below it.

    Parameters
    ----------
    node
        What is shown.
    title
        What the page calls it; by default its place.
    line
        The Python expression that opens it, for the page's "Python".
    hosts
        Names of this machine that a browser may use besides addresses and localhost.
    framed
        Whether pages of this machine, such as a notebook, may show it in a frame.

    Returns
    -------
    Starlette
        The application.
    """
    session = Session(node, title or _title(node), line)
    routes = [
        Route("/", _index),
        Route("/favicon.ico", _no_icon),
        *(Route(f"/api/{name}", _answered(function)) for name, function in _ANSWERS.items()),
        Mount("/static", StaticFiles(directory=STATIC)),
    ]
    middleware = [
        Middleware(Guard, names=tuple(hosts), framed=framed),
        Middleware(GZipMiddleware, minimum_size=2000, compresslevel=3),
    ]
    app = Starlette(routes=routes, middleware=middleware)
    app.state.session = session
    return app


def _title(node: omnizarr.Array | omnizarr.Group) -> str:
    """Where a node is: the place that its store names, or else what kind of store it is."""
    store = str(node.store)
    found = re.search(r"'([^']+)'", store) or re.match(r"(\w+)", store)
    place = store if found is None else found[1]
    return f"{place}/{node.path}" if node.path else place


def _index(_: Request) -> Response:
    return FileResponse(STATIC / "index.html", headers={"cache-control": "no-cache"})


def _no_icon(_: Request) -> Response:
    return Response(status_code=204)


def _answered(function: Callable[[Session, Request], Any]) -> Callable[[Request], Response]:
    """A function as an endpoint, run in a thread; errors become JSON."""

    def endpoint(request: Request) -> Response:
        try:
            found = function(request.app.state.session, request)
        except Exception as error:  # told on the page
            return _failed(error)
        return found if isinstance(found, Response) else JSONResponse(found, headers=_FRESH)

    return endpoint


_FRESH = {"cache-control": "no-store"}
_AS_IT_IS = {**_FRESH, "content-encoding": "identity"}
"""Numbers are not compressed: that takes longer than sending them."""


def _failed(error: Exception) -> Response:
    match error:
        case BadRequest():
            status = 400
        case TooMuch() | LimitError():
            status = 413
        case NodeNotFoundError() | KeyError():
            status = 404
        case ZarrError() | OSError() | ValueError():
            status = 422
        case _:
            status = 500
    text, hint = str(error), None
    if isinstance(error, ZarrError):
        text, hint = ": ".join([*map(str, error.where), error.reason]), error.hint
    text = text or type(error).__name__
    if status == 500:
        text = f"unexpected {type(error).__name__}: {text}"
    return JSONResponse({"error": text, "hint": hint}, status_code=status, headers=_FRESH)


# -- answers ---------------------------------------------------------------------------------------


def _text(request: Request, name: str) -> str:
    text = request.query_params.get(name, "")
    if len(text) > (4096 if name == "path" else _LONGEST_TEXT):
        raise BadRequest(f"{name} is too long")
    return text


def _integer(request: Request, name: str, default: int) -> int:
    text = _text(request, name)
    if not text:
        return default
    if not (text.lstrip("-").isascii() and text.lstrip("-").isdigit() and len(text) < 19):
        raise BadRequest(f"{name}: expected a whole number, found {text!r}")
    return int(text)


def _array(session: Session, request: Request) -> tuple[Any, str, Any]:
    path = _text(request, "path").strip("/")
    node = session.node(path)
    if not isinstance(node, omnizarr.Array):
        raise BadRequest(f"{path!r} is a group and has no values")
    return node, path, session.group_of(path)


def _store(session: Session, _: Request) -> Any:
    return {
        "title": session.title,
        "line": session.line,
        "kind": "array" if isinstance(session.root, omnizarr.Array) else "group",
        "version": omnizarr.__version__,
    }


def _children(session: Session, request: Request) -> Any:
    offset, limit = _integer(request, "offset", 0), _integer(request, "limit", PAGE)
    return session.children(_text(request, "path"), max(0, offset), limit)


def _search(session: Session, request: Request) -> Any:
    return session.search(_text(request, "q"))


def _node(session: Session, request: Request) -> Any:
    path = _text(request, "path").strip("/")
    if request.query_params.get("fresh"):
        session.forget()
    node = session.node(path)
    return plain_facts(facts.of_node(node, path, session.group_of(path)))


def plain_facts(found: dict[str, Any]) -> dict[str, Any]:
    """Facts whose attributes and document are plain already, the rest made so."""
    ready = ("attributes", "document")
    rest = plain({key: value for key, value in found.items() if key not in ready})
    return {**rest, **{key: found[key] for key in ready}}


def _values(session: Session, request: Request) -> Any:
    array, _, group = _array(session, request)
    decode = request.query_params.get("decode", "1") == "1"
    selection, wanted = _text(request, "s"), _text(request, "size")
    with session.reads:
        body = values.answer(array, group, selection, wanted, decode)
    return Response(body, media_type="application/octet-stream", headers=_AS_IT_IS)


def _labels(session: Session, request: Request) -> Any:
    array, path, group = _array(session, request)
    dim = _integer(request, "dim", 0)
    with session.reads:
        return labels.along(array, path, group, dim, _text(request, "s"))


def _chunks(session: Session, request: Request) -> Any:
    array, _, _ = _array(session, request)
    rows, columns = _integer(request, "rows", -1), _integer(request, "columns", -1)
    at = [None if part in ("", "*") else _whole(part) for part in _split(_text(request, "at"))]
    if len(at) > array.ndim:
        raise BadRequest(f"the array has {array.ndim} dimensions, found {len(at)} positions")
    return chunk_map.chunk_map(array, rows, columns, at)


def _chunk(session: Session, request: Request) -> Any:
    array, _, _ = _array(session, request)
    return chunk_map.one(array, [_whole(part) for part in _split(_text(request, "index"))])


def _split(text: str) -> list[str]:
    return text.split(",") if text else []


def _whole(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 19):
        raise BadRequest(f"expected a position in the grid, found {text!r}")
    return int(text)


def _download(session: Session, request: Request) -> Any:
    array, path, group = _array(session, request)
    kind = _text(request, "as")
    decode = request.query_params.get("decode", "1") == "1"
    with session.reads:
        body = downloads.file_of(array, group, path, _text(request, "s"), kind, decode)
    name = "".join(c if c.isalnum() and c.isascii() else "_" for c in path)[-80:] or "values"
    headers = {"content-disposition": f'attachment; filename="{name}.{kind}"', **_AS_IT_IS}
    return Response(body, media_type=downloads.MEDIA[kind], headers=headers)


_ANSWERS: dict[str, Callable[[Session, Request], Any]] = {
    "store": _store,
    "children": _children,
    "search": _search,
    "node": _node,
    "values": _values,
    "labels": _labels,
    "chunks": _chunks,
    "chunk": _chunk,
    "download": _download,
}
