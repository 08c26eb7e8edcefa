"""The functions of zarr-python 3, awaited; nodes that they give are awaited too."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import wraps
from typing import Any

from omnizarr import aio
from omnizarr.compat.zarr3._asynchronous import plain, wrapped
from omnizarr.compat.zarr3.api import synchronous

__all__ = [*synchronous.__all__]


def _awaited(name: str) -> Callable[..., Awaitable[Any]]:
    function = getattr(synchronous, name)

    @wraps(function)
    async def call(*args: Any, **kwargs: Any) -> Any:
        values = [plain(value) for value in args]
        named = {key: plain(value) for key, value in kwargs.items()}
        return wrapped(await aio.to_thread(function, *values, **named))

    return call


globals().update({name: _awaited(name) for name in __all__ if name != "create_hierarchy"})


@wraps(synchronous.create_hierarchy)
async def create_hierarchy(*args: Any, **kwargs: Any) -> Any:
    for path, node in await aio.to_thread(lambda: [*synchronous.create_hierarchy(*args, **kwargs)]):
        yield path, wrapped(node)
