"""Paths and URLs of stores, in zarr-python's spelling."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from omnizarr.compat.zarr3.abc.store import (
    ByteRequest,
    OffsetByteRequest,
    RangeByteRequest,
    SuffixByteRequest,
)
from omnizarr.compat.zarr3.core.buffer.core import Buffer


class ParsedStoreUrl(NamedTuple):
    """The parts of a URL of a store."""

    scheme: str
    name: str | None
    path: str
    raw: str


def parse_store_url(url: str) -> ParsedStoreUrl:
    """Take a URL, or a path, to pieces."""
    match = re.match(r"([A-Za-z][A-Za-z0-9+.-]+)://", url)
    if match is None:
        return ParsedStoreUrl("", None, url, url)
    scheme, rest = match[1], url[match.end() :]
    name, _, path = rest.partition("/")
    return ParsedStoreUrl(scheme, name or None, path.strip("/"), url)


def normalize_path(path: str | bytes | Path | None) -> str:
    """A path in a store, without slashes at its ends."""
    if path is None:
        return ""
    text = path.decode("ascii") if isinstance(path, bytes) else str(path)
    parts = [part for part in text.replace("\\", "/").strip("/").split("/") if part]
    if any(part in (".", "..") for part in parts):
        raise ValueError(
            f"The path {path!r} is invalid because its string representation contains"
            " '.' or '..' segments."
        )
    return "/".join(parts)


def join_paths(*parts: str) -> str:
    """The parts that are not empty, with slashes between them."""
    return "/".join(part for part in parts if part)


def _join_paths(paths: Iterable[str]) -> str:
    return join_paths(*paths)


def _normalize_byte_range_index(data: Buffer, byte_range: ByteRequest | None) -> tuple[int, int]:
    """The start and the end of a request for part of a value; the end may be beyond the value."""
    end = len(data) + 1
    match byte_range:
        case None:
            return 0, end
        case RangeByteRequest():
            return byte_range.start, byte_range.end
        case OffsetByteRequest():
            return byte_range.offset, end
        case SuffixByteRequest():
            return max(0, len(data) - byte_range.suffix), end
    raise ValueError(f"Unexpected byte_range, got {byte_range}.")
