"""What the tests of text share: elements worth testing, and the two ways to move them.

`mode("python")` and `mode("native")` run a block with the reference code or with the native core,
whatever the environment says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

from omnizarr.model.column import Column
from omnizarr.runtime import native_core

try:
    import omnizarr_native
except ImportError:
    omnizarr_native = None

HAS_NATIVE = omnizarr_native is not None
MODES = ("python", "native") if HAS_NATIVE else ("python",)
"""Without the core its half of the tests is not there; `test_packing` says so with one skip."""


@contextmanager
def mode(name: str) -> Iterator[None]:
    if name == "native" and not HAS_NATIVE:
        pytest.skip("NOT TESTED: the native core (omnizarr_native) is not installed")
    core = omnizarr_native if name == "native" else None
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(native_core, "core", lambda: core)
        yield


# Lengths around the widths that are moved together, NULs at every end, 1 to 4 bytes a character.
EDGES = ["", "\0", "\0\0", "a\0", "\0a", "a\0b\0\0", "é", "é\0", "\0日", "𝒳", "\x7f\x80", "\ufeff"]
EDGES += [letter * count for letter in "aé日𝒳" for count in (2, 4, 8, 9, 16, 17, 32, 33, 64, 65)]
EDGES += ["long " * 500, "ü" * 3000, "\0" * 70, "a" * 63 + "\0"]
TEXT = st.one_of(st.text(max_size=10), st.sampled_from(EDGES))
BINARY = st.one_of(
    st.binary(max_size=10), TEXT.map(str.encode), st.sampled_from([b"\xff", b"\x80\0", b"\xc3"])
)
WIDTHS = st.sampled_from([np.int32, np.int64])


def objects(items: Sequence[Any], shape: tuple[int, ...] | None = None) -> np.ndarray:
    array = np.empty(len(items), object)
    array[:] = items
    return array if shape is None else array.reshape(shape)


def buffers(
    items: Sequence[bytes], dtype: Any = np.int64, before: bytes = b"", after: bytes = b""
) -> tuple[np.ndarray, np.ndarray]:
    """Offsets and data of these elements, with bytes around them that belong to none."""
    bounds = np.cumsum([len(before), *map(len, items)])
    return bounds.astype(dtype), np.frombuffer(before + b"".join(items) + after, np.uint8)


@st.composite
def drawn(draw: Any, elements: Any = BINARY, max_size: int = 8) -> tuple[list[bytes], Any, Any]:
    """Elements with their offsets and data."""
    items = draw(st.lists(elements, max_size=max_size))
    items = [item.encode() if isinstance(item, str) else item for item in items]
    around = st.sampled_from([b"", b"\0", b"junk", b"\xff\xc3", b"\xbc"])
    return items, *buffers(items, draw(WIDTHS), draw(around), draw(around))


@st.composite
def columns(draw: Any, shape: tuple[int, ...]) -> tuple[Column, np.ndarray]:
    """A column of this shape, and the same elements as NumPy has them."""
    text = draw(st.booleans())
    size = int(np.prod(shape))
    items = draw(st.lists(TEXT if text else BINARY, min_size=size, max_size=size))
    stored = [item.encode() if text else item for item in items]
    offsets, data = buffers(
        stored, draw(WIDTHS), *draw(st.sampled_from([(b"", b""), (b"x", b"z")]))
    )
    return Column(offsets, data, shape, text), objects(items, shape)


def outcome(function: Callable[..., Any], *arguments: Any) -> Any:
    """What a call gives, or the error that it raises: type and text."""
    try:
        return function(*arguments)
    except Exception as error:
        return type(error), str(error)
