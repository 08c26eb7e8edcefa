"""SQLite files whose trees lead from page to page so often that reading them never ends."""

from __future__ import annotations

import sqlite3
import struct
from contextlib import closing
from pathlib import Path

CREATE = "CREATE TABLE zarr(k TEXT PRIMARY KEY, v BLOB)"
PAGE = 512
INDEX, TABLE = 2, 5
"""How a page begins that leads to others."""


def write(path: Path, keys: str, kind: int, depth: int = 9) -> None:
    """A file with 30,000 rows, whose keys are given as SQL of a number n. Each page of one tree
    leads to the next one as often as it has room for, over `depth` pages."""
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute(f"PRAGMA page_size = {PAGE}")
        db.execute(CREATE)
        db.execute(
            "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 30000)"
            f" INSERT INTO zarr SELECT {keys}, x'00' FROM c"
        )
        name = "table" if kind == TABLE else "index"
        (root,) = db.execute(f"SELECT rootpage FROM sqlite_master WHERE type = '{name}'").fetchone()
    data = bytearray(path.read_bytes())

    def cells(page: int) -> list[int]:
        start = (page - 1) * PAGE
        (count,) = struct.unpack_from(">H", data, start + 3)
        return [start + at for at in struct.unpack_from(f">{count}H", data, start + 12)]

    count = len(data) // PAGE
    inner = [page for page in range(2, count + 1) if data[(page - 1) * PAGE] == kind]
    chain = [root, *(page for page in inner if page != root and len(cells(page)) > 8)][:depth]
    assert len(chain) == depth
    (leaf,) = struct.unpack_from(">I", data, cells(chain[-1])[0])
    while data[(leaf - 1) * PAGE] == kind:
        (leaf,) = struct.unpack_from(">I", data, cells(leaf)[0])
    for page, following in zip(chain, [*chain[1:], leaf], strict=True):
        for at in [(page - 1) * PAGE + 8, *cells(page)]:
            struct.pack_into(">I", data, at, following)
    path.write_bytes(data)
