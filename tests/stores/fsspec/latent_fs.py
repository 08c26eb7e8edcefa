"""An asynchronous filesystem of fsspec with a wait before every answer, and faults on demand."""

from __future__ import annotations

import asyncio
from typing import Any, ClassVar

from fsspec.asyn import AsyncFileSystem


class LatentFileSystem(AsyncFileSystem):  # type: ignore[misc]
    """Files in a dict that all instances of one `name` share."""

    protocol = "latent"
    files: ClassVar[dict[str, dict[str, bytes]]] = {}
    flying: ClassVar[int] = 0
    most: ClassVar[int] = 0
    """How many requests were under way at once at the most."""
    faults: ClassVar[dict[str, BaseException]] = {}

    def __init__(
        self,
        name: str = "",
        seconds: float = 0.0,
        suffixes: bool = True,
        ignores_ranges: bool = False,
        secret: str = "",
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.values = self.files.setdefault(name, {})
        self.seconds = seconds
        self.suffixes = suffixes
        self.ignores_ranges = ignores_ranges
        self.bound: asyncio.AbstractEventLoop | None = None

    async def _wait(self, path: str) -> None:
        cls = type(self)
        loop = asyncio.get_running_loop()
        self.bound = self.bound or loop
        if self.bound is not loop:
            raise RuntimeError("attached to a different loop")
        cls.flying += 1
        cls.most = max(cls.most, cls.flying)
        try:
            await asyncio.sleep(self.seconds)
        finally:
            cls.flying -= 1
        if path in cls.faults:
            raise cls.faults[path]

    async def _cat_file(
        self, path: str, start: int | None = None, end: int | None = None, **kwargs: Any
    ) -> bytes:
        await self._wait(path)
        if path not in self.values:
            raise FileNotFoundError(path)
        value = self.values[path]
        if start is not None and start < 0 and not self.suffixes:
            raise OSError(22, "suffix ranges are not supported")
        if self.ignores_ranges:
            return value
        if start is not None and start >= 0 and start >= len(value) and (start or end):
            raise OSError(22, "The requested range is not satisfiable")
        return value[start:end]

    async def _pipe_file(
        self, path: str, value: bytes, mode: str = "overwrite", **kwargs: Any
    ) -> None:
        await self._wait(path)
        self.values[path] = value

    async def _rm_file(self, path: str, **kwargs: Any) -> None:
        await self._wait(path)
        if self.values.pop(path, None) is None:
            raise FileNotFoundError(path)

    async def _info(self, path: str, **kwargs: Any) -> dict[str, Any]:
        await self._wait(path)
        if path in self.values:
            return {"name": path, "size": len(self.values[path]), "type": "file"}
        if any(name.startswith(path + "/") for name in list(self.values)):
            return {"name": path, "size": 0, "type": "directory"}
        raise FileNotFoundError(path)

    async def _ls(self, path: str, detail: bool = True, **kwargs: Any) -> list[dict[str, Any]]:
        await self._wait(path)
        start = path.rstrip("/") + "/" if path else ""
        found: dict[str, str] = {}
        for name in list(self.values):
            if name.startswith(start):
                below = name[len(start) :]
                found[start + below.partition("/")[0]] = "directory" if "/" in below else "file"
        if not found:
            raise FileNotFoundError(path)
        return [{"name": name, "size": 0, "type": kind} for name, kind in found.items()]
