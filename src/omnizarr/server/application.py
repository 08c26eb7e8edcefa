"""`app`: any store and any format as an ASGI application; `serve`: the same until Ctrl-C.

This module knows what is mounted where. It must not know HTTP.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager
from typing import Any, Literal

import omnizarr
from omnizarr.errors import NodeNotFoundError
from omnizarr.runtime.optional_packages import package
from omnizarr.server.budget import Budget
from omnizarr.server.endpoint import StoreEndpoint
from omnizarr.server.running import LOOPBACK, run, running
from omnizarr.stores import PrefixStore, Store, StoreLike, as_store, store_kind

Source = StoreLike | omnizarr.Array | omnizarr.Group
CACHE_BYTES = 256 << 20
MAX_MEMORY = 1 << 30
THREADS = max(4, os.cpu_count() or 1)
REMOTE_THREADS = 32
"""How many values are read or made at a time; more where every read waits for a service."""
VIRTUAL: tuple[Literal[2, 3], ...] = (2, 3)
_EXPOSED = "accept-ranges, content-encoding, content-length, content-range, etag"


def app(
    source: Source,
    *,
    path: str = "",
    as_format: Literal[2, 3] | None = None,
    cors: str | None = "*",
    cache_bytes: int = CACHE_BYTES,
    max_memory: int = MAX_MEMORY,
    storage_options: Mapping[str, object] | None = None,
) -> Any:
    """Make an ASGI application that serves a store, read-only.

    Values are served as they are stored; below ``/v2/`` and ``/v3/`` the same hierarchy is served
    as format 2 and 3, whatever it is stored as.

    Parameters
    ----------
    source
        A path, a URL, a store, an array or a group. The path of an HDF5, NetCDF, TIFF or GRIB file
        is opened with `virtualize`.
    path
        The node or folder that becomes the root.
    as_format
        Serve this format alone, at the root.
    cors
        The origin whose pages may read, ``"*"`` for all, None for none but those of this server.
    cache_bytes
        How much is kept of chunks that were encoded in another format, together.
    max_memory
        What answers may hold at once, in bytes; requests beyond that wait.
    storage_options
        Arguments of the store that a URL names.

    Returns
    -------
    starlette.applications.Starlette
        The application. `Starlette.mount` and FastAPI's `mount` put it below a path of another one.

    Raises
    ------
    MissingPackageError
        If `starlette` is not installed: ``pip install 'omnizarr[serve]'``.
    NodeNotFoundError
        If there is no node to serve as `as_format`.

    Examples
    --------
    >>> import omnizarr.server
    >>> store = omnizarr.MemoryStore()
    >>> omnizarr.save(store, [1, 2, 3])
    >>> application = omnizarr.server.app(store)
    >>> from starlette.testclient import TestClient
    >>> TestClient(application).get("/zarr.json").json()["shape"]
    [3]
    >>> TestClient(application).get("/v2/.zarray").json()["shape"]
    [3]
    """
    routing = package("starlette.routing", "serve", "a server")
    applications = package("starlette.applications", "serve", "a server")
    whole, inside, owned = _opened(source, path, storage_options)
    store = PrefixStore(whole, inside) if inside else whole
    pool = ThreadPoolExecutor(
        REMOTE_THREADS if store.capabilities.remote else THREADS, "omnizarr-server"
    )
    budget, common = Budget(max_memory), _common(cors)

    def virtual(zarr_format: Literal[2, 3], share: int) -> StoreEndpoint:
        kept = cache_bytes // share
        shown = omnizarr.as_format(whole, zarr_format, path=inside, cache_bytes=kept)
        return StoreEndpoint(shown, pool, budget, common, groups_only=True)

    if as_format is not None:
        routes = [routing.Mount("/", virtual(as_format, 1))]
    else:
        shown = [
            each
            for each in (VIRTUAL if _is_hierarchy(whole, inside) else ())
            if not _is_taken(store, f"v{each}")
        ]
        routes = [
            *(routing.Mount(f"/v{each}", virtual(each, len(VIRTUAL))) for each in shown),
            *(routing.Route(f"/v{each}", _with_slash) for each in shown),
        ]
        routes.append(routing.Mount("/", StoreEndpoint(store, pool, budget, common)))

    @asynccontextmanager
    async def lifespan(_: Any) -> AsyncIterator[None]:
        yield
        pool.shutdown(wait=False, cancel_futures=True)
        if owned:
            whole.close()

    return applications.Starlette(routes=routes, lifespan=lifespan)


def serve(
    source: Source,
    *,
    host: str = LOOPBACK,
    port: int = 0,
    root_path: str = "",
    announce: Callable[[str], object] | None = None,
    path: str = "",
    as_format: Literal[2, 3] | None = None,
    cors: str | None = "*",
    cache_bytes: int = CACHE_BYTES,
    max_memory: int = MAX_MEMORY,
    storage_options: Mapping[str, object] | None = None,
) -> None:
    """Serve a store over HTTP, read-only, until Ctrl-C.

    Parameters
    ----------
    source, path, as_format, cors, cache_bytes, max_memory, storage_options
        As in `app`.
    host
        The address to listen at: by default of this machine alone. ``"0.0.0.0"`` lets everybody in
        who can reach this machine.
    port
        0 takes a free one.
    root_path
        What a proxy strips from the beginning of paths, such as ``"/data"``.
    announce
        Is called with the URL once the server answers; by default it is printed.

    Examples
    --------
    >>> import omnizarr.server, signal
    >>> store = omnizarr.MemoryStore({"key": b"value"})
    >>> def press_ctrl_c(url):
    ...     print(url.startswith("http://127.0.0.1:"))
    ...     signal.raise_signal(signal.SIGINT)
    >>> omnizarr.server.serve(store, announce=press_ctrl_c)
    True
    """
    application = app(
        source, path=path, as_format=as_format, cors=cors, cache_bytes=cache_bytes,
        max_memory=max_memory, storage_options=storage_options,
    )  # fmt: skip
    run(application, host=host, port=port, root_path=root_path, announce=announce)


@contextmanager
def background(
    source: Source,
    *,
    host: str = LOOPBACK,
    port: int = 0,
    root_path: str = "",
    path: str = "",
    as_format: Literal[2, 3] | None = None,
    cors: str | None = "*",
    cache_bytes: int = CACHE_BYTES,
    max_memory: int = MAX_MEMORY,
    storage_options: Mapping[str, object] | None = None,
) -> Iterator[str]:
    """Serve a store over HTTP in a thread, as long as a block takes.

    Parameters
    ----------
    source, path, as_format, cors, cache_bytes, max_memory, storage_options
        As in `app`.
    host, port, root_path
        As in `serve`.

    Returns
    -------
    context manager
        It gives the URL.

    Examples
    --------
    >>> import omnizarr.server
    >>> store = omnizarr.MemoryStore()
    >>> omnizarr.save_group(store, a=[1, 2, 3])
    >>> with omnizarr.server.background(store) as url:
    ...     print(omnizarr.open(url, mode="r")["a"][:], omnizarr.open(url + "v2", mode="r")["a"][:])
    [1 2 3] [1 2 3]
    """
    application = app(
        source, path=path, as_format=as_format, cors=cors, cache_bytes=cache_bytes,
        max_memory=max_memory, storage_options=storage_options,
    )  # fmt: skip
    with running(application, host=host, port=port, root_path=root_path) as url:
        yield url


# -- what is served -------------------------------------------------------------------------------


def _opened(
    source: Any, path: str, storage_options: Mapping[str, object] | None
) -> tuple[Store, str, bool]:
    """The store to serve, the path in it, and whether it was opened here."""
    owned = False
    if isinstance(source, omnizarr.Array | omnizarr.Group):
        inside = "/".join(filter(None, (source.path, path.strip("/"))))
        store: Store = source.store
    else:
        inside = path.strip("/")
        if isinstance(source, Store):
            store = source
        elif _is_foreign_file(source):
            store = omnizarr.virtualize(source).store
        else:
            store = as_store(source, mode="r", storage_options=storage_options)
            owned = True
    return store, inside, owned


def _is_foreign_file(source: object) -> bool:
    if not isinstance(source, str | os.PathLike) or "://" in os.fspath(source):
        return False
    file = os.fspath(source)
    return os.path.isfile(file) and not file.lower().endswith(".zip") and store_kind(file) is None


def _is_hierarchy(store: Store, path: str) -> bool:
    try:
        omnizarr.open(store, path=path, mode="r")
    except NodeNotFoundError:
        return False
    return True


async def _with_slash(request: Any) -> Any:
    """For people, who leave the last slash out."""
    responses = package("starlette.responses", "serve", "a server")
    return responses.RedirectResponse(f"{request.url.path.rpartition('/')[2]}/")


def _is_taken(store: Store, name: str) -> bool:
    """Whether the store has something of its own below a name."""
    if store.capabilities.listable:
        listing = store.list_dir(f"{name}/")
        return bool(listing.keys or listing.prefixes)
    try:
        omnizarr.open(store, path=name, mode="r")
    except NodeNotFoundError:
        return False
    return True


def _common(cors: str | None) -> dict[str, str]:
    """Headers of every answer."""
    headers = {"x-content-type-options": "nosniff"}
    if cors is not None:
        headers |= {
            "access-control-allow-origin": cors,
            "access-control-expose-headers": _EXPOSED,
            "cross-origin-resource-policy": "cross-origin",
        }
    return headers
