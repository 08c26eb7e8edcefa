"""Arguments for a new node that have no effect, because a node is there already.

Opening with mode "a" takes the arguments of a new array or group. What they say is compared with
what is stored, and one warning names all that differs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from omnizarr.errors import IgnoredArgumentWarning, ZarrError
from omnizarr.formats.base import DEFAULT
from omnizarr.model import dtypes, json
from omnizarr.model.array import ArrayModel
from omnizarr.model.dtypes.base import DataType
from omnizarr.nodes.array import Array
from omnizarr.nodes.creation.arguments import request_from
from omnizarr.nodes.creation.arrays import REPLACED, like, without_replaced
from omnizarr.nodes.creation.chunk_shapes import normalize_chunks, normalize_shape, normalize_shards
from omnizarr.nodes.group import Group
from omnizarr.runtime.warning import warn

CODEC_ARGUMENTS = frozenset().union(*REPLACED.values())
KEY_ARGUMENTS = frozenset(("chunk_key_encoding", "dimension_separator"))


def warn_of_differences(array: Array, arguments: Mapping[str, Any]) -> None:
    """Warn that an array was opened although it is not what the arguments describe."""
    told = [
        f"{name} {found}, not {asked}"
        for name, found, asked in _asked_and_found(array, arguments)
        if not _equal(found, asked)
    ]
    told += _other_codecs(array, arguments)
    told += _other_attributes(array.attrs, arguments.get("attributes"))
    with_what = f", with {'; '.join(told)}" if told else ""
    if arguments.get("data") is not None:
        with_what += "; data was not written (array[...] = data writes it)"
    if with_what:
        warn(
            f"{array!r} exists already{with_what}: these arguments have no effect."
            " Leave them out, or replace the array with mode 'w'",
            IgnoredArgumentWarning,
        )


def warn_of_attributes(group: Group, given: Mapping[str, Any] | None) -> Group:
    """The group; with a warning if attributes were given for a new one that it does not have."""
    if told := _other_attributes(group.attrs, given):
        warn(
            f"{group!r} exists already, with {told[0]}: they have no effect",
            IgnoredArgumentWarning,
        )
    return group


def _other_attributes(stored: Mapping[str, Any], given: Mapping[str, Any] | None) -> list[str]:
    """Words for given attributes that are not stored like that; others may be stored besides."""
    if not given:
        return []
    plain: dict[str, Any] = dict(json.plain(dict(given)))
    found = {name: stored[name] for name in plain if name in stored}
    if found == plain or repr(found) == repr(plain):  # NaN equals NaN
        return []
    return [f"attributes {found}, not {plain} (attrs.update changes them)"]


def _asked_and_found(
    array: Array, arguments: Mapping[str, Any]
) -> Iterator[tuple[str, object, object]]:
    """Name, stored and given value of what the arguments say of an array."""
    given = {name: value for name, value in arguments.items() if value is not None}
    shape = array.shape
    if "shape" in given or hasattr(given.get("data"), "shape"):
        shape = normalize_shape(given["shape"] if "shape" in given else given["data"].shape)
        yield "shape", array.shape, shape
    if "dtype" in given:
        yield "dtype", array.dtype, _made_dtype(array, given["dtype"])
    chunks = given.get("chunk_shape", given.get("chunks"))
    if not isinstance(chunks, str | bool | None) and len(shape) == array.ndim:
        yield "chunks", array.chunks, normalize_chunks(chunks, shape, array.itemsize)
    if "shards" in given and not isinstance(given["shards"], str | bool):
        yield (
            "shards",
            array.shards,
            normalize_shards(given["shards"], array.shape, array.chunks, array.itemsize),
        )
    if "order" in given and array.ndim > 1:
        yield "order", array._model.order, given["order"]
    if "dimension_names" in given:
        names = given["dimension_names"]
        yield "dimension_names", array.dims, (names,) if isinstance(names, str) else tuple(names)
    if "fill_value" in given and not isinstance(given["fill_value"], type(DEFAULT)):
        yield "fill_value", array.fill_value, given["fill_value"]


def _other_codecs(array: Array, arguments: Mapping[str, Any]) -> list[str]:
    """Words for arguments that name other codecs, or other keys of chunks, than the array has."""
    given = {
        name: value
        for name, value in arguments.items()
        if name in CODEC_ARGUMENTS or (name in KEY_ARGUMENTS and value is not None)
    }
    if not given:
        return []
    names = ", ".join(f"{name}=" for name in given)
    try:
        asked = _remade(array, given)
    except (ZarrError, TypeError, ValueError) as error:
        return [f"other codecs than {names} can name ({error})"]
    pairs = [("codecs", _codecs(array._model), _codecs(asked))]
    if set(given) & set(KEY_ARGUMENTS):
        stored, wanted = array._model.keys, asked.keys
        pairs.append(
            ("chunk keys", (stored.name, stored.separator), (wanted.name, wanted.separator))
        )
    return [
        f"{what} {found}, not {wanted} ({names})"
        for what, found, wanted in pairs
        if not _equal(found, wanted)
    ]


def _codecs(model: ArrayModel) -> tuple[Any, ...]:
    """The codecs, each of them once: `like` gives a filter of bytes as a compressor, so that one
    that is given again as a filter would be there twice."""
    from omnizarr.nodes.codec_views import CodecView

    found: list[Any] = []
    for codec in CodecView.of(model).all:
        found += [] if codec in found else [codec]
    return tuple(found)


def _remade(array: Array, changes: Mapping[str, Any]) -> ArrayModel:
    """The array with other codecs, as it would be created."""
    base = {**like(array), "dimension_names": None}
    if "codecs" in changes:
        base |= {"chunks": array._model.grid.chunk_shape, "shards": None}
    base = without_replaced(base, changes)
    chosen = array._place.format
    if isinstance(name := changes.get("compression"), str):
        changes = {**changes, "compression": chosen.compression_aliases.get(name, name)}
    return chosen.new_array(request_from({**base, **changes}))


def _made_dtype(array: Array, dtype: Any) -> object:
    """The NumPy dtype of an array that is created with `dtype`: formats differ in the byte order
    that they keep."""
    try:
        request = request_from({"shape": (1,), "chunks": (1,), "dtype": dtype})
        return array._place.format.new_array(request).dtype
    except (ZarrError, TypeError, ValueError):  # objects need a codec, for one
        return _dtype(dtype)


def _dtype(dtype: Any) -> object:
    """The NumPy dtype that is meant, as far as there is one."""
    parsed = dtype if isinstance(dtype, DataType) else dtypes.parse(dtype)
    return parsed.numpy if isinstance(parsed, DataType) else parsed


def _equal(found: object, asked: object) -> bool:
    """Whether two values say the same; what cannot be compared is taken to be so."""
    if isinstance(found, np.dtype) and isinstance(asked, np.dtype):
        # Text reads as objects if told so.
        return found.kind in "OT" or asked.kind in "OT" or found == asked
    try:
        return bool(found == asked or (found != found and asked != asked))  # NaN is NaN
    except (TypeError, ValueError):
        return True
