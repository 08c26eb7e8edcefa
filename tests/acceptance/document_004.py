"""Document 004 (ZEP0007): its types by all their names, its listings, and what reading must give.

The listings are taken out of the document's text and run as they stand there, after the repairs
that `Listings` names.
"""

from __future__ import annotations

import json
import re
import textwrap
from functools import reduce
from math import prod
from operator import mul
from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
import pyarrow as pa

import omnizarr as zarr
from omnizarr.model.column import TEXT
from tests.acceptance import fixtures

FILES = sorted((fixtures.shared() / "specs").glob("004_*.txt"))

KINDS = {
    "arrow-string": (True, 4, pa.string()),
    "arrow-large-string": (True, 8, pa.large_string()),
    "arrow-binary": (False, 4, pa.binary()),
    "arrow-large-binary": (False, 8, pa.large_binary()),
}
"""By the name that users give: whether it is text, the bytes of an offset, and Arrow's type."""
NAMES = {
    "arrow-string": "string",
    "arrow-large-string": "LargeString",
    "arrow-binary": "binary",
    "arrow-large-binary": "LargeBinary",
}
WORDS = ["the", "quick", "", "brown\0", "Füchslein", "日本語", "𝒳\0\0", "x" * 100, "\0", "é" * 40]


def items_of(kind: str, count: int, start: int = 0) -> list[Any]:
    words = [WORDS[(start + place) % len(WORDS)] * (1 + place % 2) for place in range(count)]
    return words if KINDS[kind][0] else [b"\xff" + word.encode() for word in words]


def values_of(kind: str, shape: tuple[int, ...]) -> np.ndarray:
    flat = np.empty(prod(shape), object)
    flat[:] = items_of(kind, flat.size)
    return flat.reshape(shape)


def full(shape: int | tuple[int, ...], value: Any) -> np.ndarray:
    """As `np.full`, which would drop NULs at the end."""
    result = np.empty(shape, object)
    result[...] = [value]
    return result if result.ndim else np.array(value, object)


def encoded(items: Any) -> list[bytes]:
    return [item.encode() if isinstance(item, str) else item for item in items]


class Listings:
    """The listings of the document, by the title of their section.

    Repairs, each one as small as can be:

    * names that the listings take from elsewhere are given (`reduce`, `mul`, `offsets`, `array`),
      and the two lines that only stand for the reader's chunk (`… = ...`) are left out;
    * where a listing shows a line for binary and one for strings, one of them is taken;
    * `np.array(shape=…)` is no function of NumPy: `np.empty`;
    * two commas are missing between the arguments of awkward's `ListOffsetArray`;
    * for the large types `np.int32` becomes `np.int64`, and 4 bytes of an offset become 8.
    """

    def __init__(self, path: Path) -> None:
        self.text = path.read_text(encoding="utf-8")

    def blocks(self, language: str, first: str, last: str | None = None) -> list[str]:
        """The listings between two titles."""
        part = self.text[self.text.index(first) :]
        part = part if last is None else part[: part.index(last)]
        return re.findall(rf"^```{language}\n(.*?)^```", part, flags=re.M | re.S)

    @property
    def decoding(self) -> list[str]:
        return self.blocks("python", "### How to decode a chunk", "### Writing")

    @property
    def encoding(self) -> str:
        (listing,) = self.blocks("python", "### Writing", "## Related Work")
        return listing

    @property
    def usage(self) -> str:
        return self.blocks("python", "## Usage and Impact", "### String usecases")[0]

    @property
    def metadata(self) -> list[Any]:
        found = self.blocks("json", "## Detailed description", "### How to decode a chunk")
        return [json.loads(listing) for listing in found]

    def decode(self, chunk: bytes, shape: tuple[int, ...], kind: str) -> dict[str, Any]:
        """The names that the first listing leaves behind: the two buffers of a chunk."""
        listing = _wide(re.sub(r"^.*= \.\.\.\n", "", self.decoding[0], flags=re.M), kind)
        names = {
            "chunk_buffer": np.frombuffer(chunk, np.uint8),
            "chunk_shape": (1, *shape),  # `reduce` has no answer for no dimensions
            "reduce": reduce,
            "mul": mul,
            "np": np,
        }
        exec(listing, names)
        return names

    def decode_numpy(self, chunk: bytes, shape: tuple[int, ...], kind: str) -> list[Any]:
        names = self.decode(chunk, shape, kind)
        names["offsets"] = np.frombuffer(names["offset_buffer"], f"<i{KINDS[kind][1]}")
        listing = _chosen(self.decoding[1], KINDS[kind][0]).replace("np.array(", "np.empty(")
        exec(listing, names)
        found = names["result"].tolist()
        return found if KINDS[kind][0] else [item.tobytes() for item in found]

    def decode_arrow(self, chunk: bytes, shape: tuple[int, ...], kind: str) -> Any:
        text, width, _ = KINDS[kind]
        listing = _expression(self.decoding[2], text)
        if width == 8:
            listing = re.sub(r"pa\.(string|binary)\(", r"pa.large_\1(", listing)
        return eval(listing, {"pa": pa, **self.decode(chunk, shape, kind)})

    def decode_awkward(self, chunk: bytes, shape: tuple[int, ...], kind: str) -> Any:
        names = {"ak": ak, **self.decode(chunk, shape, kind)}
        listing = _wide(self.decoding[3], kind)
        (offsets,) = re.findall(r"^offset_array = .*$", listing, flags=re.M)
        exec(offsets, names)
        expression = _expression(listing, KINDS[kind][0])
        return eval(expression.replace("})\n    parameters", "}),\n    parameters"), names)

    def encode(self, items: list[Any], kind: str) -> bytes:
        rounding = self.decoding[0]
        start = rounding.index("def round_up")
        names: dict[str, Any] = {"np": np}
        exec(rounding[start : rounding.index("offset_end_idx")], names)
        names["array"] = np.empty(len(items), object)
        names["array"][:] = items
        exec(_wide(_chosen(self.encoding, KINDS[kind][0]), kind), names)
        return bytes(names["chunk_buffer"])


def _wide(listing: str, kind: str) -> str:
    if KINDS[kind][1] == 4:
        return listing
    return listing.replace("np.int32", "np.int64").replace("+ 1) * 4", "+ 1) * 8")


def _chosen(listing: str, text: bool) -> str:
    """The listing without the line for the other kind."""
    other = r"(binary|bytes)" if text else r"strings?"
    return re.sub(rf"^ *# [Ff]or {other}:?\n.*\n", "", listing, flags=re.M)


def _expression(listing: str, text: bool) -> str:
    """The expression under a comment."""
    kind = "strings?" if text else "binary"
    found = re.search(rf"^# For {kind}\n(.*?)(?=^# For|\Z)", listing, flags=re.M | re.S)
    assert found is not None
    return textwrap.dedent(found[1]).strip()


# -- arrays ---------------------------------------------------------------------------------------


def stored(
    data_type: Any,
    codecs: Any,
    shape: int | tuple[int, ...],
    chunks: dict[str, bytes] | None = None,
    fill_value: Any = "",
    mode: str = "r",
    **more: Any,
) -> Any:
    """An array from metadata of another writer, in chunks as large as itself."""
    shape = (shape,) if isinstance(shape, int) else shape
    document = {
        "zarr_format": 3,
        "node_type": "array",
        "shape": shape,
        "data_type": data_type,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": shape}},
        "chunk_key_encoding": {"name": "default"},
        "fill_value": fill_value,
        "codecs": codecs,
        "attributes": {},
        **more,
    }
    store = {"zarr.json": json.dumps(document).encode(), **(chunks or {})}
    return zarr.open_array(store, mode=mode)


def check_reading(array: Any, values: np.ndarray, kind: str) -> None:
    """What comes out in every form, and that Arrow and awkward find nothing wrong with it."""
    flat = values.reshape(-1).tolist()
    found = array[...]
    assert np.shape(found) == values.shape
    assert np.asarray(found, object).reshape(-1).tolist() == flat
    if values.ndim:
        assert found.dtype == (TEXT if KINDS[kind][0] else object)
    arrow = array.to_arrow()
    arrow.validate(full=True)
    assert arrow.type == KINDS[kind][2]
    assert arrow.to_pylist() == flat
    awkward = array.to_awkward()
    assert (awkward if not values.ndim else awkward.tolist()) == values.tolist()
    if values.ndim:
        assert ak.validity_error(awkward) == ""
