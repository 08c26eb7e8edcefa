"""What is asked of Arrow data before anything reads their buffers.

pyarrow lets arrays be made of any buffers and numbers, and its own `validate` takes a negative
offset for a good one. So the types are looked at first, then the numbers of every array in the tree
(by Arrow's C data interface, which describes buffers and reads none), and only then are the buffers
validated. Nothing here relies on what a Python class says of itself.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from omnizarr.errors import UnsupportedError
from omnizarr.nodes.arrow.common import NDArray

DEEPEST = 64
"""How deep types may be nested: NumPy has no more dimensions."""


def check(pa: Any, array: Any) -> None:
    """UnsupportedError for a type that Zarr lacks, ValueError for an array that is broken."""
    check_type(pa, pa.Array.type.__get__(array))
    _check_numbers(pa, array)
    try:
        pa.Array.validate(array, full=True)
    except pa.ArrowException as error:
        raise ValueError(f"the Arrow data are broken: {error}") from error


def check_scalar(pa: Any, scalar: Any) -> None:
    """The same for the arrays that a scalar is made of."""
    check_type(pa, pa.Scalar.type.__get__(scalar))
    parts = [scalar]
    while parts:
        part = parts.pop()
        if part is None or not part.is_valid:
            continue
        if isinstance(part, pa.ListScalar):
            check(pa, part.values)
        elif isinstance(part, pa.StructScalar):
            parts += [part[number] for number in range(len(part))]
        elif isinstance(part, pa.DictionaryScalar):
            check(pa, part.dictionary)
        elif isinstance(part, pa.ExtensionScalar):
            parts.append(pa.ExtensionScalar.value.__get__(part))
        elif isinstance(part, pa.RunEndEncodedScalar):
            parts.append(part.value)


# -- types --------------------------------------------------------------------------------------


def is_list(pa: Any, kind: Any) -> bool:
    """Whether the elements are lists of several lengths."""
    types = pa.types
    return bool(
        types.is_list(kind)
        or types.is_large_list(kind)
        or types.is_list_view(kind)
        or types.is_large_list_view(kind)
    )


def is_text(pa: Any, kind: Any) -> bool:
    """Whether the elements are text."""
    types = pa.types
    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))


def is_bytes(pa: Any, kind: Any) -> bool:
    """Whether the elements are byte strings of several lengths."""
    types = pa.types
    return bool(types.is_binary(kind) or types.is_large_binary(kind) or types.is_binary_view(kind))


def is_plain(pa: Any, kind: Any) -> bool:
    """Whether NumPy has the same elements."""
    types = pa.types
    return bool(
        types.is_boolean(kind)
        or types.is_integer(kind)
        or types.is_floating(kind)
        or types.is_date(kind)
        or types.is_timestamp(kind)
        or types.is_duration(kind)
    )


def type_name(kind: Any) -> str:
    """The words for a type; one that is written in Python may fail to say its name."""
    try:
        return str(kind)
    except Exception:  # a class of another library may raise anything
        return type(kind).__name__


def check_type(pa: Any, kind: Any) -> None:
    """Refuse a type that has no counterpart, however deep it is nested, and one nested too deep."""
    level, depth = [kind], 0
    while level:
        if depth > DEEPEST:
            raise UnsupportedError(
                f"the Arrow data are nested more than {DEEPEST} types deep; write the parts of them"
                " to arrays of their own",
                what="data_type",
            )
        level = [inner for outer in level for inner in _inner(pa, outer)]
        depth += 1


def _inner(pa: Any, kind: Any) -> list[Any]:
    types = pa.types
    if isinstance(kind, pa.BaseExtensionType):
        return [pa.BaseExtensionType.storage_type.__get__(kind)]
    if types.is_struct(kind):
        return [kind.field(number).type for number in range(kind.num_fields)]
    if (
        types.is_dictionary(kind)
        or types.is_run_end_encoded(kind)
        or types.is_fixed_size_list(kind)
        or is_list(pa, kind)
    ):
        return [kind.value_type]
    simple = types.is_null(kind) or types.is_fixed_size_binary(kind)
    if simple or is_plain(pa, kind) or is_text(pa, kind) or is_bytes(pa, kind):
        return []
    raise UnsupportedError(
        f"Zarr has no data type for Arrow's {type_name(kind)}; cast it to one that it has, such as"
        " values.cast('float64') or values.cast('string')",
        what="data_type",
    )


# -- numbers ------------------------------------------------------------------------------------


@cache
def _reader() -> Callable[[Any], Any]:
    """A function that gives the `ArrowArray` of the C data interface that a capsule points to."""
    import ctypes

    class Exported(ctypes.Structure):
        pass

    Exported._fields_ = [
        ("length", ctypes.c_int64),
        ("null_count", ctypes.c_int64),
        ("offset", ctypes.c_int64),
        ("n_buffers", ctypes.c_int64),
        ("n_children", ctypes.c_int64),
        ("buffers", ctypes.c_void_p),
        ("children", ctypes.POINTER(ctypes.POINTER(Exported))),
        ("dictionary", ctypes.POINTER(Exported)),
        ("release", ctypes.c_void_p),
        ("private_data", ctypes.c_void_p),
    ]
    signature = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)
    pointer = signature(("PyCapsule_GetPointer", ctypes.pythonapi))
    return lambda capsule: Exported.from_address(pointer(capsule, b"arrow_array"))


def _check_numbers(pa: Any, array: Any) -> None:
    """Refuse a negative offset or length in an array, its children or its dictionary."""
    _, capsule = pa.Array.__arrow_c_array__(array)  # which keeps what it points to
    parts = [_reader()(capsule)]
    while parts:
        part = parts.pop()
        for name in ("offset", "length"):
            if (found := getattr(part, name)) < 0:
                raise ValueError(
                    f"the Arrow data are broken: an array has the {name} {found}, expected 0 or"
                    " more"
                )
        parts += [part.children[number].contents for number in range(part.n_children)]
        if part.dictionary:
            parts.append(part.dictionary.contents)


# -- nulls --------------------------------------------------------------------------------------


def first_null(array: Any) -> int | None:
    """The first element that is null. Where there is a bitmap it decides, whatever the count of
    nulls says."""
    size, bitmap = len(array), array.buffers()[0]
    if bitmap is None or not size:
        if not array.null_count:
            return None
        return int(np.argmax(array.is_null().to_numpy(zero_copy_only=False)))
    first, within = divmod(array.offset, 8)
    octets = np.frombuffer(bitmap, np.uint8)[first : first + (within + size + 7) // 8]
    valid: NDArray = np.unpackbits(octets, bitorder="little")[within : within + size]
    return None if valid.all() else int(np.argmin(valid))
