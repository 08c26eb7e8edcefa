"""Arrays of Python objects: each object codec of format 2 with elements that it holds.

This module knows numcodecs and what its codecs can hold. It must not know the library under test.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numcodecs
import numpy as np

RECORD = [("a", "<i4"), ("o", "O")]


@dataclass(frozen=True)
class Case:
    """An object codec and elements that it holds."""

    codec: dict[str, Any]
    items: tuple[Any, ...]
    missing: Any = None
    """What an element of a missing chunk reads as, without a fill value."""
    beside: Any = None
    """What an unwritten element of a stored chunk reads as."""
    dtype: Any = object
    known: bool = True
    """Whether zarr-python 2 still has the codec."""

    @property
    def trusted(self) -> dict[str, Any]:
        return {"allow_pickle": True} if self.codec["id"] == "pickle" else {}

    @property
    def made(self) -> Any:
        """The codec as users of zarr-python 2 have it, where there still is such a class."""
        return numcodecs.get_codec(self.codec) if self.known else self.codec


THINGS = (1, "ä中😀", None, [1, [2]], {"a": 1.5, "b": [None]})
NONE = np.zeros(0, "<i4")
CASES = {
    "json2": Case({"id": "json2"}, THINGS),
    "json": Case({"id": "json"}, THINGS, known=False),
    "msgpack2": Case({"id": "msgpack2"}, THINGS),
    "msgpack": Case({"id": "msgpack"}, THINGS, known=False),
    "pickle": Case({"id": "pickle", "protocol": 4}, THINGS),
    "vlen-utf8": Case({"id": "vlen-utf8"}, ("ä中😀", "", "a\0b", "é", "x"), "", ""),
    "vlen-bytes": Case({"id": "vlen-bytes"}, (b"a\0b", b"", b"\xff", b"\0", b"x"), b"", b""),
    "vlen-array": Case(
        {"id": "vlen-array", "dtype": "<i4"},
        (*(np.array(part, "<i4") for part in ([1, -2], [], [3], [4, 5, 6], [7])),),
        beside=NONE,
    ),
    "vlen-array-f8": Case(
        {"id": "vlen-array", "dtype": "<f8"},
        (*(np.array(part, "<f8") for part in ([0.5, np.inf], [], [-0.0], [5e-324], [7])),),
        beside=np.zeros(0, "<f8"),
    ),
    "categorize": Case(
        {"id": "categorize", "labels": ["é", "b"], "dtype": "|O", "astype": "|u1"},
        ("é", "b", "", "é", "b"), "", "",
    ),
    "categorize-U": Case(
        {"id": "categorize", "labels": ["é", "b"], "dtype": "<U3", "astype": "|u1"},
        ("é", "b", "", "é", "b"), "", "", dtype="<U3",
    ),
    "record-json2": Case(
        {"id": "json2"}, ((1, "é"), (2, None), (3, [1]), (4, {}), (5, 1.5)), (0, 0), (0, 0), RECORD
    ),
    "record-pickle": Case(
        {"id": "pickle", "protocol": 4}, ((1, "é"), (2, None), (3, [1]), (4, {}), (5, 1.5)),
        (0, 0), (0, 0), RECORD,
    ),
}  # fmt: skip

FILLS = {
    "json2": (0, "", "n/a", True, 1.5, [1, 2], {"a": []}),
    "msgpack2": (0, "", "n/a", [1, 2]),
    "vlen-utf8": ("", "n/a", "é"),
    "vlen-bytes": (b"", b"n/a", b"\0\xff"),
    "vlen-array": (0, [], [1, 2]),
    "categorize": ("", "é"),
}
"""Fill values by case."""

BAD: list[tuple[str, Any, str]] = [
    ("json2", {1, 2}, r"element 1 .* \(set\).*it holds None"),
    ("json2", b"x", r"element 1 .* \(bytes\)"),
    ("json2", {"a": [3 + 4j]}, r"element 1 .*complex"),
    ("json2", np.arange(3), r"element 1 .*give \.tolist\(\)"),
    ("json2", np.int64(3), r"element 1 .*give \.item\(\)"),
    ("msgpack2", {1, 2}, r"element 1 .* \(set\).*it holds None"),
    ("msgpack2", 2**64, r"element 1 .*int of 64 bits"),
    ("msgpack2", "\ud800", "element 1 "),
    ("msgpack2", np.arange(3), r"element 1 .*give \.tolist\(\)"),
    ("vlen-utf8", 1.5, r"(item|element) 1 .*float"),
    ("vlen-utf8", None, r"(item|element) 1 .*None"),
    ("vlen-bytes", "text", r"(item|element) 1 .*str"),
    ("vlen-array", 1.5, "element 1 has 0 dimensions"),
    ("vlen-array", [[1], [2]], "element 1 has 2 dimensions"),
    ("vlen-array", ["x"], "element 1"),
    ("vlen-array", [2**40], "element 1"),
    ("categorize", 1.5, r"(item|element) 1 .*float"),
    ("pickle", lambda: None, "pickle"),
]
"""Elements that a codec cannot hold, beside one that it can, and what the error says."""

HELP = {
    "json2": r"json\.dumps.*zarr_format=2",
    "json": r"json\.dumps.*zarr_format=2",
    "msgpack2": r"json\.dumps.*zarr_format=2",
    "msgpack": r"json\.dumps.*zarr_format=2",
    "pickle": r"json\.dumps.*zarr_format=2",
    "vlen-array": "ragged.*starts in another.*zarr_format=2",
    "vlen-array-f8": "ragged.*starts in another.*zarr_format=2",
    "record-json2": "zarr_format=2",
    "record-pickle": "zarr_format=2",
}
"""What the refusal of format 3 proposes; every other case can be converted."""
