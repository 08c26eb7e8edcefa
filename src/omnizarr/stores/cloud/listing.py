"""List objects before a deadline, whatever the service answers.

obstore follows page after page. A broken or hostile service always names another page, and the
synchronous functions cannot be cancelled; the asynchronous ones can. So a listing runs on an event
loop of its own, with a deadline for every page of keys (as many as S3 lists at once), or for a
folder.

This module knows obstore's listings and time. It must not know what is listed.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator
from typing import Any, TypeVar

from omnizarr.errors import StoreError
from omnizarr.model.paths import is_key
from omnizarr.model.store import Listing
from omnizarr.runtime import parallel
from omnizarr.stores import deadlines
from omnizarr.stores.cloud.clients import REQUESTS

T = TypeVar("T")

PAGE = 1000
"""How many keys S3 lists or deletes at once."""
MOST_NAMES = 10_000_000
"""A listing with more names counts as endless."""


def objects(functions: Any, store: Any, path: str, deadline: float | None) -> list[tuple[str, int]]:
    """Path and size of all objects below `path`.

    deadline: None for a store without coroutines.
    """
    found: list[tuple[str, int]] = []

    def add(page: Any) -> None:
        parallel.check()
        found.extend((meta["path"], meta["size"]) for meta in page)
        if len(found) > MOST_NAMES:
            raise StoreError(f"the listing has more than {MOST_NAMES} names: it has no end")

    pages = functions.list(store, path or None, chunk_size=PAGE)
    if deadline is None:
        for page in pages:
            add(page)
        return found

    async def follow() -> None:
        async def following() -> Any:
            return await anext(pages, None)

        while (page := await _in_time(following, deadline)) is not None:
            add(page)

    _run(follow)
    return found


def folder(functions: Any, store: Any, path: str, deadline: float | None) -> Any:
    """Direct children of `path`, as obstore gives them."""
    if deadline is None:
        return functions.list_with_delimiter(store, path or None)

    async def ask() -> Any:
        return await functions.list_with_delimiter_async(store, path or None)

    return _run(lambda: _in_time(ask, deadline))


async def _in_time(ask: Callable[[], Awaitable[T]], seconds: float) -> T:
    import asyncio

    async def wait() -> T:
        return await ask()

    try:
        return await asyncio.wait_for(wait(), seconds)
    except TimeoutError as error:
        raise TimeoutError("the listing timed out: the service has always another page") from error


def _run(start: Callable[[], Awaitable[T]]) -> T:
    """The result of the coroutine; in another thread if this one has a running loop."""
    import asyncio

    async def main() -> T:
        return await start()

    class Loop(asyncio.SelectorEventLoop):
        """Counts the threads of obstore that are handing over an answer."""

        def __init__(self) -> None:
            super().__init__()
            self.inside: dict[int, None] = {}

        # Typeshed's signature ties the callback to its arguments by a type variable.
        def call_soon_threadsafe(self, *args: Any, **keywords: Any) -> Any:  # type: ignore[override]
            thread = threading.get_ident()
            self.inside[thread] = None
            handle = super().call_soon_threadsafe(*args, **keywords)
            del self.inside[thread]  # no call, so the thread leaves Python before others run
            return handle

    def run() -> T:
        loop = Loop()
        task = loop.create_task(main())
        with _closing(loop, task):
            return loop.run_until_complete(task)

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return run()
    return deadlines.call(run)


@contextlib.contextmanager
def _closing(loop: Any, task: Any) -> Iterator[None]:
    """Close the loop at the end, after its task was finished or cancelled.

    A thread of obstore that handed over the last answer may still be inside Python. If Python ended
    now, it would end that thread, and with it (in Rust) the process: SIGABRT up to Python 3.13."""
    try:
        yield
    finally:
        if not task.done():  # Ctrl-C
            task.cancel()
            with contextlib.suppress(BaseException):
                loop.run_until_complete(task)
        while loop.inside:
            time.sleep(0)
        loop.close()


def sizes(found: Iterable[tuple[str, int]], base: str, prefix: str) -> dict[str, int]:
    """The size of every key below a prefix."""
    begin, start = len(base), base + prefix
    return {n[begin:]: size for n, size in found if n.startswith(start) and is_key(n[begin:])}


def drop_folders(sizes: dict[str, int], exists: Callable[[str], bool]) -> None:
    """Remove folder markers: empty objects called "a/", which are listed as "a"."""
    empty = [key for key, size in sizes.items() if size == 0]
    for key, there in zip(empty, parallel.each(exists, empty, REQUESTS), strict=True):
        if not there:
            del sizes[key]


def children(answer: Any, base: str, prefix: str) -> Listing:
    """The keys and prefixes directly below a prefix."""
    begin, start = len(base), base + prefix
    names = [meta["path"] for meta in answer["objects"]]
    below = [name.rstrip("/") for name in answer["common_prefixes"]]
    return Listing(
        sorted(n[begin:] for n in names if n.startswith(start) and is_key(n[begin:])),
        sorted(n[begin:] + "/" for n in below if n.startswith(start) and is_key(n[begin:])),
    )
