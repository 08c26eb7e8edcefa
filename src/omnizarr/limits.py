"""Every cap in one place.

A cap bounds what hostile data can make us do. Each is far above what real stores hold; raise
one for data that you trust with `limits.set(max_chunk_bytes=…)` or, for a block of code, with
`limits.override(…)`.

This module knows numbers only. It must not know what they bound.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from omnizarr.keywords import refuse_unknown

MIB = 1 << 20
GIB = 1 << 30


@dataclass(frozen=True, slots=True)
class Limits:
    """All caps. `omnizarr.limits.current` holds those of the process.

    Examples
    --------
    >>> omnizarr.limits.Limits(max_json_depth=64).max_json_depth
    64
    """

    max_document_bytes: int = 128 * MIB
    """Largest metadata document that is parsed (consolidated metadata can be large)."""
    max_json_depth: int = 128
    """Deepest nesting of objects and lists in a metadata document."""
    max_dimensions: int = 64
    """NumPy's own limit."""
    max_chunk_bytes: int = 8 * GIB
    """Largest decoded chunk, and largest intermediate stage of its codecs."""
    max_expansion: int = 256 * MIB
    """Largest output of a decoding stage whose size the metadata does not fix."""
    max_codec_depth: int = 16
    """Deepest nesting of sharding inside sharding."""
    max_requested_chunks: int = 10_000_000
    """Most chunks of an array that are taken one by one because the metadata name them: by `verify`
    where they cannot be listed, and in lists of chunk lengths."""
    scratch_bytes: int = 64 * MIB
    """Memory for chunks in flight, beyond the caller's output array."""
    worker_bytes: int = 512 * MIB
    """Memory for the tasks of a job (`convert`, `verify` …) in one process, beyond what the process
    takes by itself; ``max_memory=`` of a job goes before it."""
    shard_index_bytes: int = 16 * MIB
    """Memory for indexes of shards, kept from one read to the next; 0 keeps none."""


current = Limits()


def set(**caps: int) -> None:  # noqa: A001 - reads as `limits.set(...)`
    """Change caps for the whole process.

    Parameters
    ----------
    **caps
        New values of fields of `Limits`.

    Raises
    ------
    TypeError
        If there is no such cap.

    Examples
    --------
    >>> omnizarr.limits.set(max_json_depth=64)
    >>> omnizarr.limits.current.max_json_depth
    64
    >>> omnizarr.limits.set(max_json_depth=128)
    """
    global current
    refuse_unknown(caps, Limits.__slots__, "limits.set")
    current = replace(current, **caps)


@contextmanager
def override(**caps: int) -> Iterator[Limits]:
    """Change caps inside a `with` block.

    Parameters
    ----------
    **caps
        New values of fields of `Limits`.

    Raises
    ------
    TypeError
        If there is no such cap.

    Examples
    --------
    >>> with omnizarr.limits.override(max_chunk_bytes=2**34) as limits:
    ...     limits.max_chunk_bytes
    17179869184
    """
    before = current
    set(**caps)
    try:
        yield current
    finally:
        globals()["current"] = before
