"""zarr-python's reading of the arguments that create and open arrays.

Each function takes the keywords of a call and changes them into those of omnizarr's function; it
warns and refuses where zarr-python does. This module knows arguments. It must not know stores.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.lib.recfunctions import repack_fields

from omnizarr import Array
from omnizarr.compat.zarr3._grids import check_compressors, check_grid, refuse_rectilinear
from omnizarr.compat.zarr3.core.array_spec import parse_array_config
from omnizarr.compat.zarr3.core.common import for_format, parse_shapelike
from omnizarr.compat.zarr3.core.config import config
from omnizarr.errors import ZarrRuntimeWarning, ZarrUserWarning

Prepare = Callable[[dict[str, Any]], None]
_NOT_IMPLEMENTED = ("synchronizer", "chunk_store", "cache_attrs", "meta_array")
"""Arguments that zarr-python 3 takes and leaves out, with a warning."""
_LEGACY_2 = {
    "codecs": "Use filters and compressor instead.",
    "chunk_key_encoding": "Use dimension_separator instead.",
    "dimension_names": "",
}
_LEGACY_3 = {
    "dimension_separator": "Use chunk_key_encoding instead.",
    "filters": "Use array-to-array codecs instead.",
    "compressor": "Use bytes-to-bytes codecs instead.",
}
"""What `create` refuses in each format, and the advice."""
_SETTINGS = ("order", "write_empty_chunks", "read_missing_chunks")
"""Members of `config` that omnizarr has."""


def legacy(given: dict[str, Any]) -> None:
    """Of `create` and the functions on top of it."""
    for name in _NOT_IMPLEMENTED:
        if given.get(name) is not None:
            _warn(f"{name} is not yet implemented", ZarrRuntimeWarning)
            del given[name]
    if given.get("write_empty_chunks") is not None:
        _warn(
            "The `write_empty_chunks` keyword argument is deprecated and will be removed in future"
            " versions. Use the `config` keyword argument, as in"
            " `config={'write_empty_chunks': True}`, instead.",
            ZarrRuntimeWarning,
        )
    if given.get("shape") is not None:
        given["shape"] = parse_shapelike(given["shape"])
    chunks = given.get("chunks")
    lengths = chunks if isinstance(chunks, list | tuple) else (chunks,)
    if any(isinstance(length, float) for length in lengths):
        raise TypeError(
            f"Chunk specification must be an integer or an iterable of integers; got {chunks!r}"
        )
    if given.get("chunk_shape") is not None and given.get("chunks") is not None:
        raise ValueError("Only one of chunk_shape or chunks can be provided.")
    compressor = given.get("compressor")
    named = hasattr(compressor, "to_dict") and not hasattr(compressor, "codec_id")
    if named and _same(_format_of(given), 2):
        raise ValueError(
            "Cannot use a BytesBytesCodec as a compressor for zarr v2 arrays. Use a numcodecs codec"
            " directly instead."
        )
    _refuse(given, 2, _LEGACY_2)
    _refuse(given, 3, _LEGACY_3)
    common(given)


def _refuse(given: dict[str, Any], version: int, names: dict[str, str]) -> None:
    """Refuse arguments that belong to the other format."""
    chosen = _format_of(given)
    for name, advice in names.items():
        value = given.get(name)
        plain = name not in given or (isinstance(value, str) and value == "auto")
        if _same(chosen, version) and not plain and (value is not None or name == "compressor"):
            raise ValueError(
                f"{name} cannot be used for arrays with zarr_format {version}. {advice}".strip()
            )


def _format_of(given: dict[str, Any]) -> Any:
    asked = given.get("zarr_format") or given.get("zarr_version")
    return config.get("default_zarr_format") if asked is None else asked


def created(given: dict[str, Any]) -> None:
    """Of `create_array`."""
    if given.get("data") is None:
        for name in ("shape", "dtype"):
            if given.get(name) is None:
                raise ValueError(
                    f"The data parameter was set to None, but {name} was not specified. Either"
                    " provide a value for data, or specify shape and dtype."
                )
    else:
        for name in ("shape", "dtype"):
            if given.get(name) is not None:
                raise ValueError(
                    f"The data parameter was used, but the {name} parameter was also used. This is"
                    " an error. Either use the data parameter, or the shape and dtype parameters."
                )
    if _same(_format_of(given), 2):
        _refuse_in_2(given)
    else:
        check_grid(given)
    check_compressors(given)
    common(given)


def _refuse_in_2(given: dict[str, Any]) -> None:
    if given.get("shards") is not None:
        raise ValueError(
            "Zarr format 2 arrays can only be created with `shard_shape` set to `None`. Got"
            f" `shard_shape={given['shards']}` instead."
        )
    serializer = given.get("serializer", "auto")
    if not (serializer is None or (isinstance(serializer, str) and serializer == "auto")):
        raise ValueError("Zarr format 2 arrays do not support `serializer`.")
    if given.get("dimension_names") is not None:
        raise ValueError("Zarr format 2 arrays do not support dimension names.")


def common(given: dict[str, Any]) -> None:
    """Of every function that creates arrays."""
    if _same(_format_of(given), 2):
        refuse_rectilinear(given)
    settings(given)
    _pack(given)
    _plain_nan(given)
    shards = given.get("shards")
    if shards is False:
        given["shards"] = -1
    elif isinstance(shards, str) and shards == "auto":
        _warn(
            "Automatic shard shape inference is experimental and may change without notice.",
            ZarrUserWarning,
        )
    with suppress(ValueError):  # a format that zarr-python does not have
        for_format(_format_of(given), lambda: _format_2, lambda: _format_3)(given)


def _pack(given: dict[str, Any]) -> None:
    """Records without gaps between their fields, as zarr-python stores them."""
    for name in ("data", "dtype"):
        value: Any = given.get(name)
        found = value.dtype if isinstance(value, np.ndarray) else value
        if not isinstance(found, np.dtype) or found.names is None:
            continue
        packed = repack_fields(value, recurse=True)
        if getattr(packed, "dtype", packed) != found:
            given[name] = packed
            _warn(
                "The structured dtype is converted to a packed field layout. Field values are"
                " preserved when writing arrays, but field offsets and itemsize may change.",
                ZarrUserWarning,
            )


def _plain_nan(given: dict[str, Any]) -> None:
    """NaN as a fill value without its bits, which zarr-python does not store."""
    fill = given.get("fill_value")
    if isinstance(fill, float | complex | np.inexact) and np.isnan(fill):
        parts = [math.nan if np.isnan(part) else float(part) for part in (fill.real, fill.imag)]
        given["fill_value"] = complex(*parts) if np.iscomplexobj(fill) else math.nan


def settings(given: dict[str, Any]) -> None:
    """Check `config`, and leave those members in it that omnizarr has."""
    asked = given.get("config")
    if asked is None:
        return
    parsed = parse_array_config(asked)
    members = asked if isinstance(asked, dict) else _SETTINGS
    given["config"] = {name: getattr(parsed, name) for name in _SETTINGS if name in members}


def copied(given: dict[str, Any]) -> None:
    """Of `from_array`: what is not given is kept from an array of the same format."""
    data = given.get("data")
    if isinstance(data, Array):
        if given.get("zarr_format") is None:
            given["zarr_format"] = data.zarr_format
        with suppress(ValueError):  # a format that zarr-python does not have
            copy = for_format(given["zarr_format"], lambda: _copied_2, lambda: _copied_3)
            copy(given, data, _same(given["zarr_format"], data.zarr_format))
    common(given)


def _copied_2(given: dict[str, Any], data: Array, same: bool) -> None:
    encoding = given.get("chunk_key_encoding", "keep")
    if same and isinstance(encoding, str) and encoding == "keep":
        given["dimension_separator"] = data.metadata.dimension_separator
    if given.get("order") is None:
        given["order"] = data.order


def _copied_3(given: dict[str, Any], data: Array, same: bool) -> None:
    encoding = given.get("chunk_key_encoding", "keep")
    if same and isinstance(encoding, str) and encoding == "keep":
        given["chunk_key_encoding"] = data.metadata.chunk_key_encoding
    if not same and given.get("order") is None and data.order == "F":
        _warn(
            "The 'order' attribute of a Zarr format 2 array does not have a direct analogue in"
            " Zarr format 3. The existing order='F' of the source Zarr format 2 array will be"
            " ignored.",
            ZarrUserWarning,
        )


def like(given: dict[str, Any]) -> None:
    """Of `zeros_like` and its kin: the format of the other array, and its codecs in that alone."""
    source = given.get("a")
    if isinstance(source, Array):
        if given.get("zarr_format") is None:
            given["zarr_format"] = source.zarr_format
        elif not _same(given["zarr_format"], source.zarr_format):
            for name in ("filters", "serializer", "compressors"):
                given.setdefault(name, "auto")
    legacy(given)


def opened(given: dict[str, Any]) -> None:
    """Of functions that open an array, or create it."""
    if given.get("shape") is None and given.get("data") is None:
        settings(given)
    else:
        legacy(given)


def _same(one: Any, other: Any) -> bool:
    return bool(one == other)


def _warn(message: str, category: type[Warning]) -> None:
    warnings.warn(message, category, stacklevel=5)


def _format_2(given: dict[str, Any]) -> None:
    """The order is stored, so that `config` has none; times that are not set are not a time."""
    asked = (given.get("config") or {}).pop("order", None)
    if given.get("order") is None:
        given["order"] = asked or config.get("array.order")
    if "fill_value" not in given and _kind(given) in ("m", "M"):
        given["fill_value"] = "NaT"


def _format_3(given: dict[str, Any]) -> None:
    """The order is that of what is read, and chunks are always stored in C order."""
    if given.get("order") is not None:
        _warn(
            "The `order` keyword argument has no effect for Zarr format 3 arrays. To control the"
            " memory layout of the array, use the `config` keyword argument, as in"
            " `config={'order': 'C'}`.",
            ZarrRuntimeWarning,
        )
    given["order"] = "C"
    chosen = dict(given.get("config") or {})
    given["config"] = {"order": config.get("array.order"), **chosen}


def _kind(given: dict[str, Any]) -> str | None:
    """The kind of the NumPy dtype that an array gets, where the arguments tell it."""
    data, dtype = given.get("data"), given.get("dtype")
    if isinstance(data, Array):
        return None
    try:
        return np.dtype(getattr(data, "dtype", None) if dtype is None else dtype).kind
    except TypeError:
        return None
