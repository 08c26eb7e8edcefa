"""zarr-python 2's `zarr.util`: small functions on arguments that programs have come to use.

They say what an argument means to zarr-python 2. omnizarr itself does not use them.
"""

from __future__ import annotations

import json
import math
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from omnizarr.compat.zarr2._reports import (
    InfoReporter,
    TreeViewer,
    human_readable_size,
    info_html_report,
    info_text_report,
)

__all__ = [
    "ConstantMap",
    "InfoReporter",
    "TreeViewer",
    "all_equal",
    "buffer_size",
    "flatten",
    "guess_chunks",
    "human_readable_size",
    "info_html_report",
    "info_text_report",
    "is_total_slice",
    "json_dumps",
    "json_loads",
    "normalize_chunks",
    "normalize_dimension_separator",
    "normalize_dtype",
    "normalize_fill_value",
    "normalize_order",
    "normalize_resize_args",
    "normalize_shape",
    "normalize_storage_path",
    "retry_call",
]

K = TypeVar("K")
V = TypeVar("V")
R = TypeVar("R")


class NumberEncoder(json.JSONEncoder):
    """JSON with NumPy's numbers."""

    def default(self, o: Any) -> Any:
        """Give a number for an object that has `__index__` or `__float__`.

        Parameters
        ----------
        o
            The object.
        """
        if not isinstance(o, type):
            for method in ("__index__", "__float__"):
                if hasattr(o, method):
                    return getattr(o, method)()
        return super().default(o)


def json_dumps(o: Any) -> bytes:
    """Write JSON as zarr-python 2 writes its documents: indented by 4, sorted, ASCII.

    Parameters
    ----------
    o
        What to write.
    """
    text = json.dumps(
        o, indent=4, sort_keys=True, ensure_ascii=True, separators=(",", ": "), cls=NumberEncoder
    )
    return text.encode("ascii")


def json_loads(s: bytes | str) -> Any:
    """Read JSON.

    Parameters
    ----------
    s
        The document.
    """
    return json.loads(s if isinstance(s, str) else bytes(s).decode("utf-8"))


def normalize_shape(shape: Any) -> tuple[int, ...]:
    """Give a shape as a tuple of ints.

    Parameters
    ----------
    shape
        An int, or a sequence of them.
    """
    if shape is None:
        raise TypeError("shape is None")
    lengths = (shape,) if isinstance(shape, int | np.integer) else tuple(shape)
    if not all(isinstance(length, int | np.integer) for length in lengths):
        warnings.warn(f"shape={shape!r}: lengths are integers", UserWarning, stacklevel=2)
    return tuple(int(length) for length in lengths)


def guess_chunks(
    shape: tuple[int, ...],
    typesize: int,
    increment_bytes: int = 256 * 1024,
    min_bytes: int = 128 * 1024,
    max_bytes: int = 64 * 1024 * 1024,
) -> tuple[int, ...]:
    """Choose a chunk shape of a size that grows slowly with that of the array.

    Parameters
    ----------
    shape
        Shape of the array.
    typesize
        Bytes of one element.
    increment_bytes
        How much a chunk grows with each factor of ten in the array's size.
    min_bytes, max_bytes
        Bounds of a chunk's size.
    """
    chunks = [max(1, int(length)) for length in shape]
    total = math.prod(chunks) * typesize
    target = increment_bytes * 2 ** max(0.0, math.log10(total / (1024.0 * 1024)))
    target = min(max(target, min_bytes), max_bytes)
    while math.prod(chunks) * typesize > target and max(chunks) > 1:
        longest = chunks.index(max(chunks))
        chunks[longest] = -(-chunks[longest] // 2)
    return tuple(chunks)


def normalize_chunks(chunks: Any, shape: Any, typesize: int) -> tuple[int, ...]:
    """Give a chunk shape as a tuple of ints.

    Parameters
    ----------
    chunks
        True or None chooses one, False is one chunk; an int counts for every dimension; None and -1
        in a sequence, and missing lengths at its end, are whole dimensions.
    shape
        Shape of the array.
    typesize
        Bytes of one element.
    """
    lengths = normalize_shape(shape)
    if chunks is None or chunks is True:
        return guess_chunks(lengths, typesize)
    if chunks is False:
        return lengths
    if isinstance(chunks, int | np.integer):
        chunks = (int(chunks),) * len(lengths)
    if len(chunks) > len(lengths):
        raise ValueError(f"too many dimensions in chunks: {chunks!r} for the shape {lengths}")
    given = (*chunks, *lengths[len(chunks) :])
    whole = (None, -1)
    return tuple(
        length if size in whole else int(size) for length, size in zip(lengths, given, strict=True)
    )


def normalize_dtype(dtype: Any, object_codec: Any) -> tuple[np.dtype[Any], Any]:
    """Give a NumPy dtype, and the codec that text, bytes and ragged arrays are stored with.

    Parameters
    ----------
    dtype
        A dtype; `str`, `bytes` and texts such as ``"array:i4"`` are objects.
    object_codec
        The codec that was given, or None.
    """
    import numcodecs

    known = {str: numcodecs.VLenUTF8, bytes: numcodecs.VLenBytes}
    if isinstance(dtype, type) and dtype in known:
        return np.dtype(object), object_codec or known[dtype]()
    if isinstance(dtype, str) and dtype.partition(":")[0] in ("str", "unicode", "bytes"):
        kind = known[bytes if dtype.startswith("bytes") else str]
        return np.dtype(object), object_codec or kind()
    if isinstance(dtype, str) and dtype.startswith("array:"):
        return np.dtype(object), object_codec or numcodecs.VLenArray(dtype.partition(":")[2])
    found = np.dtype(dtype)
    if found.kind in "mM" and np.datetime_data(found)[0] == "generic":
        raise ValueError(f"{found} needs a unit, such as {found.char}8[ns]")
    return found, object_codec


def normalize_fill_value(fill_value: Any, dtype: npt.DTypeLike) -> Any:
    """Give a fill value as a scalar of the dtype.

    Parameters
    ----------
    fill_value
        None stays None; 0 is the empty value of any type.
    dtype
        The type of the array.
    """
    found = np.dtype(dtype)
    if fill_value is None or found.hasobject:
        return fill_value
    if isinstance(fill_value, int) and fill_value == 0 and found.kind in "SUV":
        return np.zeros((), found)[()]
    if found.kind == "U" and not isinstance(fill_value, str):
        raise ValueError(f"fill_value {fill_value!r} is not valid for dtype {found}")
    try:
        if (
            isinstance(fill_value, bytes)
            and found.kind == "V"
            and len(fill_value) == found.itemsize
        ):
            return np.frombuffer(fill_value, found)[0]
        return np.array(fill_value, dtype=found)[()]
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"fill_value {fill_value!r} is not valid for dtype {found}") from error


def normalize_order(order: str) -> str:
    """Give "C" or "F"; ValueError otherwise.

    Parameters
    ----------
    order
        The order, in either case.
    """
    found = str(order).upper()
    if found not in ("C", "F"):
        raise ValueError(f"order must be 'C' or 'F', found {order!r}")
    return found


def normalize_dimension_separator(sep: str | None) -> str | None:
    """Give ".", "/" or None; ValueError otherwise.

    Parameters
    ----------
    sep
        The separator.
    """
    if sep not in (".", "/", None):
        raise ValueError(f"the dimension separator must be '.', '/' or None, found {sep!r}")
    return sep


def normalize_storage_path(path: str | bytes | None) -> str:
    """Give a path without slashes at its ends; ValueError for "." and ".." in it.

    Parameters
    ----------
    path
        The path.
    """
    text = path.decode("ascii") if isinstance(path, bytes) else str(path or "")
    names = [name for name in text.replace("\\", "/").split("/") if name]
    if {".", ".."} & set(names):
        raise ValueError(f"path containing '.' or '..' segment not allowed: {text!r}")
    return "/".join(names)


def normalize_resize_args(old_shape: tuple[int, ...], *args: Any) -> tuple[int, ...]:
    """Give the new shape of an array.

    Parameters
    ----------
    old_shape
        The shape; None in the new one keeps a length.
    *args
        The new shape, as one argument or several.
    """
    given = args[0] if len(args) == 1 else args
    given = (given,) if isinstance(given, int | np.integer) else tuple(given)
    if len(given) != len(old_shape):
        raise ValueError(f"the new shape {given} needs {len(old_shape)} dimensions")
    return tuple(
        old if new is None else int(new) for old, new in zip(old_shape, given, strict=True)
    )


def is_total_slice(item: Any, shape: tuple[int, ...]) -> bool:
    """Tell whether a selection takes a whole array.

    Parameters
    ----------
    item
        Slices, integers or an Ellipsis.
    shape
        Shape of the array.
    """
    if item is Ellipsis or item == slice(None):
        return True
    entries = (item,) if isinstance(item, slice | int) else item
    if not isinstance(entries, tuple):
        raise TypeError(f"expected slices or integers, found {item!r}")
    return all(_takes_all(entry, length) for entry, length in zip(entries, shape, strict=False))


def _takes_all(entry: slice | int, length: int) -> bool:
    if isinstance(entry, slice):
        return range(length)[entry] == range(length)
    return length == 1 and entry in (0, -1)


def buffer_size(v: Any) -> int:
    """Tell the bytes of an object with a buffer.

    Parameters
    ----------
    v
        The object.
    """
    return int(np.asarray(memoryview(v)).nbytes)


def flatten(arg: Iterable[Any]) -> Iterator[Any]:
    """Iterate over the items of nested iterables; a str in them is an item.

    Parameters
    ----------
    arg
        The outermost iterable.
    """
    for element in arg:
        if isinstance(element, Iterable) and not isinstance(element, str | bytes):
            yield from flatten(element)
        else:
            yield element


def all_equal(value: Any, array: npt.NDArray[Any]) -> bool:
    """Tell whether all elements equal a value; NaN equals NaN, and None nothing.

    Parameters
    ----------
    value
        The value.
    array
        The elements.
    """
    if value is None:
        return False
    if not value and array.dtype.kind in "biufc":
        return not np.any(array)
    if array.dtype.kind == "O":
        return all(element == value for element in array.flat)
    same = np.asarray(array) == value
    if value != value:
        same = np.asarray(array) != array
    return bool(np.all(same))


def retry_call(
    callabl: Callable[..., R],
    args: tuple[Any, ...] = (),
    kwargs: Mapping[str, Any] | None = None,
    exceptions: type[BaseException] | tuple[type[BaseException], ...] = (),
    retries: int = 10,
    wait: float = 0.1,
) -> R:
    """Call a function until it raises none of some exceptions.

    Parameters
    ----------
    callabl
        The function.
    args, kwargs
        Its arguments.
    exceptions
        What to wait after.
    retries
        How many calls there are at the most.
    wait
        Seconds between two calls.
    """
    for _ in range(retries - 1):
        try:
            return callabl(*args, **(kwargs or {}))
        except exceptions:
            time.sleep(wait)
    return callabl(*args, **(kwargs or {}))


class ConstantMap(Mapping[K, V]):
    """A mapping that has one value for all its keys.

    Parameters
    ----------
    keys
        The keys.
    constant
        The value.
    """

    def __init__(self, keys: Iterable[K], constant: V) -> None:
        self._values = dict.fromkeys(keys, constant)

    def __getitem__(self, key: K) -> V:
        return self._values[key]

    def __iter__(self) -> Iterator[K]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __contains__(self, key: object) -> bool:
        return key in self._values

    def __repr__(self) -> str:
        return repr(self._values)
