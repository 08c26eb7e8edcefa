"""The values of one store as an ASGI application.

Stores are synchronous: they are asked in threads. An answer holds a few blocks of its value, or the
value where a store gives it whole; all answers together hold no more than a budget.

This module knows ASGI. It must not know ranges or conditions.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any

from omnizarr.errors import ZarrError
from omnizarr.server.answers import BLOCK, Answer, answer, refusal
from omnizarr.server.budget import Budget
from omnizarr.server.failures import as_refusal
from omnizarr.server.index_pages import index_page
from omnizarr.server.requests import METHODS, Request, RequestError
from omnizarr.server.values import Buffer, Value, opened
from omnizarr.server.visible import is_visible
from omnizarr.stores import MemoryStore, Store

_log = logging.getLogger(__name__)
SENDING = 3 * BLOCK
"""What an answer holds that is sent from a file: a block that is read, and two on their way."""
WAIT_SECONDS = 30.0
"""So long a request waits for memory before it is told to come again."""
_TRIES = 3


class Prepared:
    """An answer, and the value that it is made of as long as it is sent."""

    def __init__(self, answer: Answer, value: Value | None = None) -> None:
        self.answer, self.value = answer, value
        self.stack = ExitStack()

    @property
    def held(self) -> int:
        """How much memory it takes until it is sent."""
        if self.value is None:
            return len(self.answer.body)
        return self.value.held or SENDING


class StoreEndpoint:
    """Serves the values of a store below the path where it is mounted.

    common: headers of every answer. groups_only: index pages of groups alone.
    """

    def __init__(
        self,
        store: Store,
        pool: ThreadPoolExecutor,
        budget: Budget,
        common: Mapping[str, str],
        *,
        groups_only: bool = False,
    ) -> None:
        self._store, self._pool, self._budget = store, pool, budget
        self._common = [_header(name, value) for name, value in common.items()]
        self._groups_only = groups_only
        self._free = isinstance(store, MemoryStore)  # whose values are in memory anyway

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            raise RuntimeError(f"only HTTP is spoken here, not {scope['type']}")
        try:
            request = Request.of(scope)
            if request.method == "OPTIONS":
                await self._send(send, _preflight())
                return
            if request.method not in METHODS:
                allowed = ", ".join(METHODS)
                raise RequestError(405, f"this server can only be read: {allowed}", allow=allowed)
        except RequestError as error:
            await self._send(send, refusal(error))
            return
        nbytes, made = await self._run(self._cost, request)
        if made and nbytes > self._budget.total:
            await self._send(send, refusal(_too_large(nbytes, self._budget.total), request.path))
            return
        held = max(BLOCK, nbytes)
        try:
            await self._budget.take(held, WAIT_SECONDS)
        except TimeoutError:
            await self._send(send, refusal(_busy()))
            return
        prepared = None
        try:
            for attempt in range(_TRIES):
                prepared = await self._run(self._prepare, request)
                more = 0 if self._free else prepared.held - held
                if more <= 0:
                    break
                if not self._budget.try_take(more):
                    prepared.stack.close()
                    prepared = None  # what is not yet allowed is given up meanwhile
                    await self._budget.take(more, WAIT_SECONDS)
                held += more
                if prepared is not None or attempt == _TRIES - 1:
                    break
            if prepared is None:
                raise TimeoutError
            await self._answer(request, prepared, receive, send)
        except TimeoutError:
            await self._send(send, refusal(_busy()))
        finally:
            self._budget.give(held)
            if prepared is not None:
                prepared.stack.close()

    async def _run(self, function: Any, *arguments: Any) -> Any:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._pool, function, *arguments)

    # -- in a thread --------------------------------------------------------------------------

    def _cost(self, request: Request) -> tuple[int, bool]:
        """How much memory a value takes, as far as the store tells before it reads anything, and
        whether it has to be made."""
        cost: Any = getattr(self._store, "cost", None)
        if cost is None or not request.path or request.path.endswith("/"):
            return 0, False
        try:
            nbytes, made = cost(request.path)
        except Exception:
            return 0, False  # the answer says what is wrong
        return nbytes, made

    def _prepare(self, request: Request) -> Prepared:
        try:
            return self._prepared(request)
        except Exception as error:
            return Prepared(refusal(as_refusal(error), request.path))

    def _prepared(self, request: Request) -> Prepared:
        key = request.path
        if not is_visible(self._store, key + "_" if key.endswith("/") else key):
            raise RequestError(404, "there is no such key")
        if not key or key.endswith("/"):
            page = index_page(self._store, key, groups_only=self._groups_only)
            return Prepared(Answer(200, {"content-type": "text/html; charset=utf-8"}, page))
        with ExitStack() as stack:
            value = stack.enter_context(opened(self._store, key))
            if value is None:
                raise RequestError(404, "there is no such key")
            found = answer(request, key, value)
            if request.method == "HEAD":
                return Prepared(found)
            if found.length > BLOCK:
                prepared = Prepared(found, value)
                prepared.stack = stack.pop_all()
                return prepared
            if found.pieces:
                blocks = list(found.blocks(value))
                found.body = blocks[0] if len(blocks) == 1 else b"".join(blocks)
                found.pieces = ()
            return Prepared(found)

    # -- sending ------------------------------------------------------------------------------

    async def _answer(self, request: Request, prepared: Prepared, receive: Any, send: Any) -> None:
        found, value = prepared.answer, prepared.value
        if request.method == "HEAD" or not found.pieces or value is None:
            await self._send(send, found, empty=request.method == "HEAD")
            return
        await self._start(send, found)
        gone = asyncio.ensure_future(_gone(receive))
        try:
            blocks = found.blocks(value)
            while (block := await self._run(_next, blocks)) is not None and not gone.done():
                await send({"type": "http.response.body", "body": block, "more_body": True})
            if block is None:
                await send({"type": "http.response.body", "body": b"", "more_body": False})
        except (ZarrError, OSError) as error:
            # Without its end the answer is no whole one, and the server closes the connection.
            _log.error("while a value was sent: %s", error)
        finally:
            gone.cancel()

    async def _send(self, send: Any, found: Answer, *, empty: bool = False) -> None:
        await self._start(send, found)
        body = b"" if empty else found.body
        await send({"type": "http.response.body", "body": body, "more_body": False})

    async def _start(self, send: Any, found: Answer) -> None:
        headers = [_header(name, value) for name, value in found.headers.items()]
        if found.status not in (204, 304):
            headers.append((b"content-length", b"%d" % found.length))
        start = {"status": found.status, "headers": [*headers, *self._common]}
        await send({"type": "http.response.start", **start})


def _next(blocks: Iterator[Buffer]) -> Buffer | None:
    return next(blocks, None)


async def _gone(receive: Any) -> None:
    """Returns once the client has gone."""
    while (await receive())["type"] != "http.disconnect":
        pass


def _header(name: str, value: str) -> tuple[bytes, bytes]:
    return name.encode("latin-1"), value.encode("latin-1")


def _busy() -> RequestError:
    return RequestError(503, "too much is being sent just now", retry_after="5")


def _too_large(wanted: int, most: int) -> RequestError:
    return RequestError(
        501, f"this chunk takes {wanted} bytes of memory in this format; max_memory is {most}"
    )


def _preflight() -> Answer:
    return Answer(
        204,
        {
            "access-control-allow-methods": ", ".join(METHODS),
            "access-control-allow-headers": "range, if-match, if-none-match, if-range",
            "access-control-max-age": "86400",
            "allow": ", ".join(METHODS),
        },
    )
