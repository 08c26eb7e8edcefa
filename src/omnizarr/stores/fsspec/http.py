"""Read files of fsspec's filesystem for HTTP, and check the status of the answer.

fsspec's own method returns any body as the requested part, also a whole file, or the page that a
server shows for a folder.

This module knows HTTP as aiohttp speaks it. It must not know keys.
"""

from __future__ import annotations

from typing import Any

from omnizarr.errors import HTTPStatusError
from omnizarr.model.store import ByteRange, read_range


async def fetch(fs: Any, url: str, start: int, stop: int | None) -> bytes:
    """The bytes from `start` to `stop`, or the last `-start`, of the file at `url`."""
    headers = {}
    if start < 0:
        headers["Range"] = f"bytes={start}"
    elif start or stop is not None:
        headers["Range"] = f"bytes={start}-{'' if stop is None else stop - 1}"
    async with await _request(fs, "GET", url, headers) as answer:
        body = bytes(await answer.read())
        _check(answer, url)
    if answer.status == 206 and start >= 0:
        found = answer.headers.get("Content-Range", "")
        if not found.startswith(f"bytes {start}-"):
            raise HTTPStatusError(
                f"asked for bytes from {start} on, the server sends {found!r}", 206
            )
    # A server may ignore the range and send everything.
    whole = answer.status != 206
    return bytes(read_range(body, ByteRange(start, stop))) if whole else body


async def info(fs: Any, url: str) -> dict[str, Any]:
    """Size and type of the file at `url`."""
    async with await _request(fs, "HEAD", url, {}) as answer:
        _check(answer, url)
        length = answer.headers.get("Content-Length")
    if length is None or answer.headers.get("Content-Encoding", "identity") != "identity":
        length = len(await fetch(fs, url, 0, None))
    return {"name": url, "size": int(length), "type": "file"}


async def _request(fs: Any, method: str, url: str, headers: dict[str, str]) -> Any:
    session = await fs.set_session()
    options = dict(fs.kwargs)
    sent = {**dict(options.pop("headers", None) or {}), "Accept-Encoding": "identity", **headers}
    return session.request(
        method, fs.encode_url(url), headers=sent, allow_redirects=True, **options
    )


def _check(answer: Any, url: str) -> None:
    """Raise unless the answer is the file."""
    moved_into_folder = answer.history and str(answer.url.path).endswith("/")
    if answer.status in (404, 410) or moved_into_folder:
        raise FileNotFoundError(url)
    if answer.status in (401, 403):
        raise PermissionError(f"the server answers {answer.status} {answer.reason}")
    if answer.status not in (200, 206):
        raise HTTPStatusError(f"the server answers {answer.status} {answer.reason}", answer.status)
