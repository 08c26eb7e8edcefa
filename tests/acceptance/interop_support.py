"""What the peers cannot do, case by case, with the reason.

A case that is listed here must fail in the peer: the test also fails when it starts to work, so
that the list only shrinks.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

ZARR2, ZARR3, TENSORSTORE = "zarr-python 2", "zarr-python 3", "tensorstore"


@dataclass(frozen=True)
class Gap:
    peer: str
    cases: str
    """Pattern of case names."""
    reason: str
    actions: tuple[str, ...] = ("read", "write")
    before: tuple[int, ...] | None = None
    """The gap exists in releases before this one; None: in all."""


SUBARRAY = r"type-.*\[2, 2\]"
NESTED = r'type-.*\[\["x"'
RECORD = r"v3-type-\[\["

GAPS = [
    Gap(ZARR3, SUBARRAY, "sub-array fields are read as void and cannot be written"),
    Gap(ZARR3, NESTED, "nested structured types are not known to it", before=(3, 2)),
    Gap(ZARR3, RECORD, "the registered name `struct` is read since 3.2", ("read",), (3, 2)),
    Gap(TENSORSTORE, r"type-[<>][UMm]", "no text of fixed length, dates or durations"),
    Gap(TENSORSTORE, r"type-\|[SV]", "the bytes of an element become one more dimension"),
    Gap(TENSORSTORE, r"variable-length|shard-text", "no data of variable length"),
    Gap(TENSORSTORE, r"type-\[\[", "structured types are opened one field at a time"),
    Gap(TENSORSTORE, r"compressor-(lzma|lz4)-", "not among its v2 compressors"),
    Gap(TENSORSTORE, r"v2-filter-", "no filters"),
    Gap(TENSORSTORE, r"numcodecs\.", "no numcodecs names"),
    Gap(TENSORSTORE, r"shard-(gzip-around|nested-crc)", "nothing may follow sharding_indexed"),
]


def reason(peer: str, version: str, action: str, name: str) -> str | None:
    number = tuple(int(part) for part in re.findall(r"\d+", version)[:2])
    for gap in GAPS:
        if gap.peer != peer or action not in gap.actions or not re.search(gap.cases, name):
            continue
        if gap.before is None or number < gap.before:
            return gap.reason
    return None
