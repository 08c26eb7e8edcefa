"""Creating arrays: from the arguments of four generations of users to one request.

zarr 0 says `cname=`, `clevel=`, `shuffle=`; zarr 1 says `compression=`, `compression_opts=`;
zarr-python 2 says `compressor=`, `filters=`, `object_codec=`, `dimension_separator=`; zarr-python 3
says `compressors=`, `serializer=`, `shards=`, `chunk_key_encoding=`, `codecs=`. All are reduced to
an `ArrayRequest`, which the format turns into a model.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Literal, Protocol, SupportsIndex, TypedDict

import numpy as np
import numpy.typing as npt

from omnizarr import codecs as codec_registry
from omnizarr.codecs.registry import CodecLike
from omnizarr.config import config
from omnizarr.errors import MetadataError, UnsupportedError
from omnizarr.formats.base import DEFAULT, ArrayRequest
from omnizarr.keywords import refuse_unknown
from omnizarr.model import dtypes
from omnizarr.model.codec import CodecSpec, Json
from omnizarr.model.dtypes.base import DataType
from omnizarr.nodes.node import Options
from omnizarr.runtime.warning import warn
from omnizarr.stores import StoreLike, as_store


class _Described(Protocol):
    """A key encoding of zarr-python."""

    def to_dict(self) -> Any: ...


class Synchronizer(Protocol):
    """A lock per key, as `ThreadSynchronizer` and `ProcessSynchronizer` give it."""

    def __getitem__(self, key: str, /) -> AbstractContextManager[Any]: ...


Length = SupportsIndex
ShapeLike = Length | Iterable[Length]
"""The length of every dimension; one int makes a 1-d array."""
ChunksLike = Length | bool | str | Iterable[Length | Iterable[Length] | None] | None
"""See `omnizarr.nodes.creation.chunk_shapes`."""
ShardsLike = Length | bool | str | Iterable[Length | Iterable[Length]] | Mapping[str, object] | None
DataTypeLike = npt.DTypeLike | DataType | Mapping[str, object] | None
CodecsLike = CodecLike | Sequence[CodecLike] | None
KeyEncodingLike = (
    Literal["default", "v2"] | Sequence[str] | Mapping[str, object] | _Described | None
)
Order = Literal["C", "F"]


class OpenOptions(TypedDict, total=False):
    """How a node behaves once it is open; the members of a group inherit it."""

    write_empty_chunks: bool | None
    on_missing: Literal["fill", "raise"] | None
    text: Literal["string", "object", "bytes"] | None
    allow_pickle: bool | None
    synchronizer: Synchronizer | None
    cache_metadata: bool | None
    cache_attrs: bool | None
    chunk_store: StoreLike
    config: Mapping[str, object] | object
    meta_array: object
    partial_decompress: bool | None


class NodeOptions(OpenOptions, total=False):
    """The same, and whether it may be written."""

    read_only: bool | None


class ArrayOptions(NodeOptions, total=False):
    """Keywords of a new array that are given by keyword in every function that creates one."""

    chunk_shape: ChunksLike
    shards: ShardsLike
    cname: str | bytes
    clevel: int
    shuffle: int
    compression: str | int | None
    compression_opts: int | Sequence[object] | Mapping[str, object] | None
    compressors: CodecsLike
    filters: CodecsLike
    serializer: CodecLike | None
    codecs: Sequence[CodecLike] | None
    object_codec: CodecLike | None
    dimension_separator: Literal[".", "/"] | None
    chunk_key_encoding: KeyEncodingLike
    dimension_names: str | Iterable[str | None] | None
    attributes: Mapping[str, object] | None
    storage_transformers: Sequence[object] | None


class ChunkedOptions(ArrayOptions, total=False):
    """All but shape, dtype, data and fill_value."""

    chunks: ChunksLike
    compressor: CodecsLike
    order: Order | None


class FilledOptions(ChunkedOptions, total=False):
    """All but shape, dtype and data."""

    fill_value: object


class ArrayArguments(FilledOptions, total=False):
    """Every keyword that creating an array takes, beyond where it goes."""

    shape: ShapeLike | None
    dtype: DataTypeLike
    data: object


KNOWN = ArrayArguments.__optional_keys__
OPTIONS = NodeOptions.__optional_keys__


def check_meta_array(arguments: Mapping[str, Any]) -> None:
    """zarr-python's way to name the library that results are made with."""
    given = arguments.get("meta_array")
    if given is not None and given is not np.ndarray and not isinstance(given, np.ndarray):
        raise TypeError(
            f"meta_array: values are NumPy arrays here, found {given!r}; leave it out and move what"
            " was read to another device yourself"
        )


def refuse_settings(arrays: Mapping[str, Any], function: str) -> None:
    """Refuse what would become an array, but is called like an argument and looks like none."""
    for name, value in arrays.items():
        if name in KNOWN and not hasattr(value, "shape"):
            raise TypeError(
                f"{function}() takes keywords as names of arrays, found {name}={value!r}; use"
                " save_array or create_array to say how an array is stored, or give a NumPy array"
            )


def options_from(arguments: Mapping[str, Any], base: Options) -> Options:
    """How a node behaves once it is open."""
    if not arguments:
        return base
    check_meta_array(arguments)
    chosen = {name: arguments[name] for name in OPTIONS if arguments.get(name) is not None}
    kind = type(chosen.pop("meta_array", None))
    if issubclass(kind, np.ndarray) and kind is not np.ndarray:
        chosen["array_type"] = kind
    chosen.pop("partial_decompress", None)  # of zarr-python 2: it changed speed alone
    if "config" in chosen:
        base = base.configured(chosen.pop("config"))
    if "chunk_store" in chosen:
        chosen["chunk_store"] = as_store(chosen["chunk_store"])
    return base.changed(**chosen) if chosen else base


def with_values(arguments: Mapping[str, Any]) -> Mapping[str, Any]:
    """The arguments with `data` as `as_values` gives it, and the dimension names that it carries
    if no others are given. Data of other libraries are read here, before anything is replaced."""
    from omnizarr.nodes.creation.chunk_shapes import normalize_shape
    from omnizarr.nodes.data.values import as_values, names_of

    data, shape = arguments.get("data"), arguments.get("shape")
    if data is None:
        return arguments
    values = as_values(data, None if shape is None else normalize_shape(shape))
    found = {**arguments, "data": values}
    names = names_of(data)
    ndim = len(values.shape if shape is None else normalize_shape(shape))
    if found.get("dimension_names") is None and names is not None and len(names) == ndim:
        found["dimension_names"] = names
    return found


def request_from(arguments: Mapping[str, Any], separator: Any = None) -> ArrayRequest:
    """Plain, validated facts from a user's keywords. `separator` is the store's own preference."""
    from omnizarr.nodes.creation.chunk_shapes import normalize_chunks, normalize_shards

    if arguments.get("storage_transformers"):
        raise UnsupportedError("no storage transformer is defined that could be used")
    data = arguments.get("data")
    shape, data_type, object_codec = _shape_and_type(arguments, data)
    given_chunks = arguments.get("chunk_shape")
    if given_chunks is None:
        given_chunks = arguments.get("chunks", "auto")
    chunks = normalize_chunks(given_chunks, shape, data_type.numpy.itemsize)
    key_encoding, key_separator = _key_encoding(arguments, separator)
    order = arguments.get("order") or config.get("array.order")
    if order not in ("C", "F"):
        raise MetadataError(f"order must be 'C' or 'F', found {order!r}")
    itemsize = data_type.numpy.itemsize
    filters = _completed(_filters(arguments, object_codec), data_type.numpy)
    serializer = arguments.get("serializer", "auto")
    if serializer is None or (isinstance(serializer, str) and serializer == "auto"):
        serializer = "auto"
    else:
        serializer = codec_registry.chosen_spec(serializer)
    codecs = arguments.get("codecs")
    return ArrayRequest(
        shape=shape,
        data_type=data_type,
        chunks=chunks,
        shards=normalize_shards(arguments.get("shards"), shape, chunks, itemsize),
        index_location=_index_location(arguments.get("shards")),
        filters=filters,
        serializer=serializer,
        compressors=_completed(_compressors(arguments), data_type.numpy),
        codecs=None if codecs is None else [codec_registry.chosen_spec(c) for c in codecs],
        fill_value=arguments.get("fill_value", DEFAULT),
        order=order,
        separator=key_separator,
        key_encoding=key_encoding,
        dimension_names=_dimension_names(arguments, shape),
        attributes=dict(arguments.get("attributes") or {}),
    )


def _index_location(shards: Any) -> Literal["start", "end"]:
    """Where `shards={"shape": …, "index_location": …}` wants the index of a shard."""
    wanted = shards.get("index_location", "end") if isinstance(shards, dict) else "end"
    location = getattr(wanted, "value", wanted)
    if location not in ("start", "end"):
        raise MetadataError(f"index_location of shards must be start or end, found {wanted!r}")
    return "start" if location == "start" else "end"


def _shape_and_type(
    arguments: Mapping[str, Any], data: Any
) -> tuple[tuple[int, ...], DataType, Any]:
    from omnizarr.nodes.creation.chunk_shapes import normalize_shape
    from omnizarr.nodes.data.values import as_values, element_type

    shape = arguments.get("shape")
    dtype = arguments.get("dtype")
    object_codec = arguments.get("object_codec")
    if data is not None:
        data = as_values(data)
        shape = data.shape if shape is None else shape
        if dtype is None:
            dtype = data.dtype if object_codec is not None else element_type(data)
    if shape is None:
        raise TypeError("creating an array needs a shape, or data to take it from")
    shape = normalize_shape(shape)
    if isinstance(dtype, str) and dtype.startswith("array:"):
        # zarr-python 2's spelling of a ragged array.
        item = dtypes.from_numpy(dtype.partition(":")[2]).numpy
        object_codec = object_codec or {"id": "vlen-array", "dtype": item.str}
        dtype = object
    if isinstance(dtype, DataType):
        return shape, dtype, object_codec
    if object_codec is not None and not (dtype := _with_objects(dtype)).hasobject:
        warn(f"object_codec is for objects, not for {dtype}: it is left out")
        object_codec = None
    if dtype is None:
        dtype = np.float64
    parsed = dtypes.parse(dtype)
    if isinstance(parsed, np.dtype) and parsed.subdtype is not None:
        # An array of sub-arrays is an array with more dimensions, as in NumPy.
        base, inner = parsed.subdtype
        return shape + inner, dtypes.from_numpy(base), object_codec
    if isinstance(parsed, np.dtype):
        parsed = dtypes.from_numpy(parsed)
    return shape, parsed, object_codec


def _with_objects(dtype: Any) -> np.dtype[Any]:
    """The dtype of an array that an object codec is given for: text and bytes are objects too."""
    found = np.dtype(object) if dtype is None else dtypes.from_numpy(dtype).numpy
    return np.dtype(object) if found.kind == "T" else found


def _specs(value: Any, choices: Sequence[str] = ()) -> list[CodecSpec]:
    """One codec or several, in any spelling, as specs."""
    if value is None:
        return []
    several = value if isinstance(value, list | tuple) else [value]
    return [codec_registry.chosen_spec(item, choices) for item in several]


def _completed(specs: Any, dtype: np.dtype[Any]) -> Any:
    """With the size of the array's elements for a shuffle that names none, and with their type for
    the first filter where that needs one."""
    if not isinstance(specs, list):
        return specs
    found = []
    for place, spec in enumerate(specs):
        implied: dict[str, Json] = {}
        if spec.name == "numcodecs.shuffle":
            implied = {"elementsize": dtype.itemsize}
        elif place == 0 and spec.name in _TYPED and dtype.kind in "iuf":
            implied = {"dtype": dtype.str}
        configuration = {**implied, **spec.configuration}
        found.append(CodecSpec(spec.name, configuration, spec.must_understand))
    return found


_TYPED = ("numcodecs.fixedscaleoffset", "numcodecs.quantize")
"""Codecs of numcodecs that are told the type of the values."""


def _filters(arguments: Mapping[str, Any], object_codec: Any) -> Any:
    filters = arguments.get("filters", "auto")
    if isinstance(filters, str) and filters == "auto":
        return _specs(object_codec) if object_codec is not None else "auto"
    specs = _specs(filters)
    if object_codec is not None:
        specs = _specs(object_codec) + specs
    return specs or None


_SPELLINGS: tuple[tuple[str, ...], ...] = (
    ("compressors",),
    ("compressor",),
    ("compression", "compression_opts"),
    ("cname", "clevel", "shuffle"),
)
"""How each generation names a compressor."""


def _compressors(arguments: Mapping[str, Any]) -> Any:
    given = [names for names in _SPELLINGS if any(name in arguments for name in names)]
    if len(given) > 1 or ("codecs" in arguments and given and given[0] in _SPELLINGS[2:]):
        named = [name for names in (("codecs",), *_SPELLINGS) for name in names]
        found = " and ".join(f"{name}=" for name in named if name in arguments)
        raise TypeError(f"{found} name the compressor in two ways; give one of them")
    if given and given[0] == _SPELLINGS[2]:
        chosen = _of_h5py(
            arguments.get("compression", "default"), arguments.get("compression_opts")
        )
    elif given and given[0] == _SPELLINGS[3]:
        chosen = _blosc(arguments, "blosclz")
    else:
        chosen = arguments.get("compressors", arguments.get("compressor", "auto"))
    if isinstance(chosen, str) and chosen in ("auto", "default"):
        return "auto"
    if isinstance(chosen, str) and chosen == "fast":
        return "fast"
    return _specs(chosen, ("auto", "fast")) or None


def _blosc(options: Mapping[str, Any], cname: str) -> CodecSpec:
    """Blosc from the options of zarr 0 and 1, which differ in the library used by default."""
    values = {"cname": cname, "clevel": 5, "shuffle": 1, "blocksize": 0}
    values |= {name: options[name] for name in values if options.get(name) is not None}
    found = values["cname"]
    if isinstance(found, bytes):
        values["cname"] = found.decode("ascii", "replace")
    return CodecSpec("numcodecs.blosc", values)


_POSITIONS: Mapping[str, tuple[str, ...]] = {
    "blosc": ("cname", "clevel", "shuffle", "blocksize"),
    "bz2": ("level",),
    "gzip": ("level",),
    "lz4": ("acceleration",),
    "lzma": ("format", "check", "preset", "filters"),
    "zlib": ("level",),
    "zstd": ("level", "checksum"),
}
"""What `compression_opts` may hold, by position or by name."""
_DEFAULTS: Mapping[str, Mapping[str, Any]] = {
    "bz2": {"level": 1},
    "gzip": {"level": 1},
    "lz4": {"acceleration": 1},
    "lzma": {"format": 1, "check": 0, "preset": 1, "filters": None},
    "zlib": {"level": 1},
    "zstd": {"level": 3, "checksum": True},
}


def _of_h5py(name: Any, options: Any) -> Any:
    """The compressor that `compression=` and `compression_opts=` mean to h5py, zarr 1 and
    zarr-python 2: a name and its level, a dict of options, or a tuple of them. A number alone is a
    level of gzip, as in h5py."""
    if isinstance(name, int) and not isinstance(name, bool) and options is None:
        name, options = "gzip", name
    if (name is None or name == "none") and options is None:
        return None
    if isinstance(name, str) and name in ("default", "auto", "fast") and options is None:
        return name
    name = "blosc" if name == "default" else name
    if options is None and hasattr(name, "codec_id"):  # a codec itself
        return name
    if not isinstance(name, str) or name not in _POSITIONS:
        raise MetadataError(
            f"compression must be one of {', '.join(_POSITIONS)}, fast or none, found"
            f" {name!r}; other codecs are given with compressors="
        )
    names = _POSITIONS[name]
    if name == "blosc" and isinstance(options, int):
        raise _wrong_options(name, options)
    given = {names[0]: options} if isinstance(options, int) else options or {}
    if isinstance(given, tuple | list) and len(given) <= len(names):
        given = dict(zip(names, given, strict=False))
    if not isinstance(given, Mapping) or isinstance(options, bool) or set(given) - set(names):
        raise _wrong_options(name, options)
    if name == "blosc":
        return _blosc(given, "lz4")
    values = {**_DEFAULTS[name], **given}
    if values.get("filters"):
        values["preset"] = None
    return CodecSpec(f"numcodecs.{name}", values)


def _wrong_options(name: str, options: Any) -> MetadataError:
    names = _POSITIONS[name]
    form = "a dict or tuple" if name == "blosc" else f"{names[0]}, a dict or a tuple"
    return MetadataError(
        f"compression_opts {options!r} do not belong to the compression {name!r}: it takes {form}"
        f" of {', '.join(names)}"
    )


def _key_encoding(
    arguments: Mapping[str, Any], preferred: Any
) -> tuple[Any, Literal[".", "/"] | None]:
    encoding = arguments.get("chunk_key_encoding")
    separator = arguments.get("dimension_separator") or None
    name = None
    if encoding is not None:
        if hasattr(encoding, "to_dict"):
            encoding = encoding.to_dict()
        if isinstance(encoding, str):
            name = encoding
        elif isinstance(encoding, tuple | list):
            name, separator = encoding
        else:
            refuse_unknown(encoding, ("name", "configuration", "separator"), "chunk_key_encoding")
            refuse_unknown(encoding.get("configuration", ()), ("separator",), "chunk_key_encoding")
            name = encoding["name"]
            inner = encoding.get("configuration", encoding)
            separator = inner.get("separator", separator)
        if name not in ("default", "v2"):
            raise MetadataError(f"chunk_key_encoding must be 'default' or 'v2', found {name!r}")
    separator = separator or preferred
    if separator not in (None, ".", "/"):
        raise MetadataError(f"the chunk key separator must be '.' or '/', found {separator!r}")
    return name, separator


def _dimension_names(
    arguments: Mapping[str, Any], shape: tuple[int, ...]
) -> tuple[str | None, ...] | None:
    names = arguments.get("dimension_names")
    if names is None:
        return None
    if isinstance(names, str):
        names = (names,)
    names = tuple(names)
    if len(names) != len(shape):
        raise MetadataError(f"{len(names)} dimension names {names} for {len(shape)} dimensions")
    for name in names:
        if name is not None and not isinstance(name, str):
            raise MetadataError(f"a dimension name is a str or None, found {name!r}")
    return names
