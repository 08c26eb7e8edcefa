"""Options of requests for parts of objects, and checks of the answers.

This module knows ranges and the answers of obstore and obspec. It must not send requests.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

from omnizarr import limits
from omnizarr.errors import StoreError
from omnizarr.model.store import Buffer, ByteRange, span

FARTHEST = 1 << 62
"""Larger offsets are beyond the end of any object, and services may refuse the number."""


class WrongAnswerError(StoreError):
    """The answer is not the part that was requested."""


def range_of(byte_range: ByteRange | None, *, checked: bool) -> dict[str, Any]:
    """The options of a request for a range, which must not be empty.

    checked: request the whole value as a range too. Its answer states its length twice, and cannot
    come from a proxy that knows nothing of objects.
    """
    if byte_range is None:
        return {"range": {"offset": 0}} if checked else {}
    start, stop = byte_range
    if start < 0:
        return {"range": {"suffix": min(-start, FARTHEST)}}
    if stop is None:
        return {"range": {"offset": min(start, FARTHEST)}} if start or checked else {}
    return {"range": (min(start, FARTHEST), min(stop, FARTHEST + 1))}


def is_empty(byte_range: ByteRange) -> bool:
    """Whether the range is empty, whatever the value."""
    start, stop = byte_range
    return stop is not None and start >= stop


def check_range(byte_range: ByteRange | None) -> None:
    if byte_range is not None:
        span(byte_range, 0)


def version_of(meta: Mapping[str, Any]) -> Hashable:
    """The version of an object: ETag and generation, or else modification time and size."""
    tag, version = meta.get("e_tag"), meta.get("version")
    if tag is None and version is None:
        return None, None, (meta.get("last_modified"), meta.get("size"))
    return tag, version, None


def condition_of(version: Any) -> dict[str, Any]:
    """The options that make a read of any other version fail."""
    return {"if_match": version[0]} if is_strong(version) else {}


def is_strong(version: Any) -> bool:
    """Whether the version has an ETag that means equal bytes, as conditions need it."""
    # RFC 9110, 13.1.1: a weak ETag never matches.
    return version is not None and bool(version[0]) and not version[0].startswith("W/")


def mode_of(version: Any) -> dict[str, str]:
    """The mode of a write that replaces this version and no other."""
    names = ("e_tag", "version")
    mode = {name: part for name, part in zip(names, version, strict=False) if part is not None}
    if not mode:
        raise StoreError("the service gave no ETag for the value, so it cannot be replaced safely")
    return mode


def verified(
    result: Any, data: Buffer, byte_range: ByteRange | None, size: int | None, *, checked: bool
) -> Buffer:
    """`data`, if it is the requested part, of a value of this size if one is given."""
    whole = int(result.meta["size"])
    begin, end = result.range
    wanted = (0, whole) if byte_range is None else span(byte_range, whole)
    if (begin, end) != wanted or len(data) != end - begin or whole != (size or whole):
        raise WrongAnswerError(
            f"the service sent {len(data)} bytes as the range {begin}..{end} of {whole} bytes where"
            f" {wanted[0]}..{wanted[1]} of {size or whole} was asked for"
        )
    if checked:
        check_tag(result.meta)
    return data


def check_tag(meta: Mapping[str, Any]) -> None:
    """Raise unless there is an ETag: services send one, login pages and proxies do not."""
    if meta.get("e_tag") is None:
        raise WrongAnswerError("the answer has no ETag, so it does not come from an object store")


def check_length(result: Any) -> None:
    """Raise if the answer is longer than any value: obstore would allocate that much at once, and
    abort the process if it cannot."""
    begin, end = result.range
    most = limits.current.max_chunk_bytes
    if end - begin > most:
        raise WrongAnswerError(
            f"the service announces {end - begin} bytes; a value has at most {most}"
            " (limits.max_chunk_bytes)"
        )


def buffer_of(result: Any) -> Buffer:
    """All bytes of an answer, without a copy."""
    collect = getattr(result, "bytes", None) or result.buffer
    data = collect()
    return data if isinstance(data, bytes) else memoryview(data)


def contiguous(value: Buffer) -> Buffer:
    """The bytes of a value, in the form that obstore takes."""
    if isinstance(value, bytes):
        return value
    view = memoryview(value)
    if not view.c_contiguous or view.nbytes == 0:
        return view.tobytes()
    return view if view.ndim == 1 and view.format == "B" else view.cast("B")
