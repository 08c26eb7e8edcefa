"""Codecs by name.

The names are those of final v3; what v2 calls `lz4` is `numcodecs.lz4` here. A codec's module is
imported when the codec is first asked for. What is not built in is looked for, in this order, in
what was registered with `register_codec`, in the entry points `omnizarr.codecs` (our protocol), and
in numcodecs with its entry points `numcodecs.codecs`.

This module knows names. It must not know what any codec does.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from dataclasses import fields
from enum import Enum
from functools import cache, lru_cache
from typing import Any, Literal, Protocol, cast

from omnizarr.codecs.base import Codec, Context
from omnizarr.errors import MetadataError, UnknownCodecError
from omnizarr.keywords import nearest
from omnizarr.model.codec import CodecSpec, Json
from omnizarr.model.json import show


class _HasSpec(Protocol):
    """A codec of omnizarr."""

    def spec(self) -> CodecSpec: ...


class _HasConfig(Protocol):
    """A codec of numcodecs."""

    def get_config(self) -> Any: ...


class _HasDict(Protocol):
    """A codec of zarr-python."""

    def to_dict(self) -> Any: ...


CodecLike = str | Mapping[str, object] | CodecSpec | _HasSpec | _HasConfig | _HasDict
"""A codec: its name, its document (format 2 or 3), or an object of omnizarr, numcodecs or
zarr-python."""

BUILT_IN: Mapping[str, str] = {
    "bytes": "bytes:BytesCodec",
    "endian": "bytes:BytesCodec",
    "transpose": "transpose:TransposeCodec",
    "reshape": "reshape:ReshapeCodec",
    "blosc": "blosc:BloscCodec",
    "gzip": "gzip:GzipCodec",
    "zstd": "zstd:ZstdCodec",
    "crc32c": "crc32c:Crc32cCodec",
    "sharding_indexed": "sharding:ShardingCodec",
    "vlen-utf8": "vlen_utf8:VLenUTF8Codec",
    "vlen-bytes": "vlen_bytes:VLenBytesCodec",
    "packbits": "packbits:PackBitsCodec",
    "zfp": "zfp:ZFPCodec",
    "bitround": "bitround:BitRoundCodec",
    "cast_value": "cast_value:CastValueCodec",
    "scale_offset": "scale_offset:ScaleOffsetCodec",
    "n5_default": "n5_default:N5DefaultCodec",
    "n5_lz4": "n5_lz4:N5LZ4Codec",
    "conditional": "conditional:ConditionalCodec",
    "numcodecs.adler32": "adler32:Adler32Codec",
    "numcodecs.astype": "astype:AsTypeCodec",
    "numcodecs.base64": "base64:Base64Codec",
    "numcodecs.bitround": "bitround:BitRoundCodec",
    "numcodecs.blosc": "blosc:BloscCodec",
    "numcodecs.bz2": "bz2:BZ2Codec",
    "numcodecs.categorize": "categorize:CategorizeCodec",
    "numcodecs.crc32": "crc32:CRC32Codec",
    "numcodecs.crc32c": "crc32c:Crc32cCodec",
    "numcodecs.delta": "delta:DeltaCodec",
    "numcodecs.fixedscaleoffset": "fixedscaleoffset:FixedScaleOffsetCodec",
    "numcodecs.fletcher32": "fletcher32:Fletcher32Codec",
    "numcodecs.gzip": "gzip:GzipCodec",
    "numcodecs.jenkins_lookup3": "jenkins_lookup3:JenkinsLookup3Codec",
    "numcodecs.json": "json2:JSON2Codec",
    "numcodecs.json2": "json2:JSON2Codec",
    "numcodecs.lz4": "lz4:LZ4Codec",
    "numcodecs.lzma": "lzma:LZMACodec",
    "numcodecs.msgpack": "msgpack2:MsgPack2Codec",
    "numcodecs.msgpack2": "msgpack2:MsgPack2Codec",
    "numcodecs.packbits": "numcodecs_packbits:NumcodecsPackBitsCodec",
    "numcodecs.pcodec": "pcodec:PCodecCodec",
    "numcodecs.pickle": "pickle:PickleCodec",
    "numcodecs.quantize": "quantize:QuantizeCodec",
    "numcodecs.shuffle": "shuffle:ShuffleCodec",
    "numcodecs.vlen-array": "vlen_array:VLenArrayCodec",
    "numcodecs.vlen-bytes": "vlen_bytes:VLenBytesCodec",
    "numcodecs.vlen-utf8": "vlen_utf8:VLenUTF8Codec",
    "numcodecs.zfpy": "zfpy:ZFPYCodec",
    "numcodecs.zlib": "zlib:ZlibCodec",
    "numcodecs.zstd": "zstd:ZstdCodec",
}

PROVIDERS: Mapping[str, str] = {
    "numcodecs.imagecodecs_": "imagecodecs-numcodecs",
    "imagecodecs_": "imagecodecs-numcodecs",
    "numcodecs.wavpack": "wavpack-numcodecs",
    "numcodecs.flac": "flac-numcodecs",
    "numcodecs.jpeg2k": "imagecodecs",
    "numcodecs.grib": "kerchunk",
    "numcodecs.fits": "kerchunk",
}
"""Packages that bring codecs which data in the wild name."""

_registered: dict[str, type[Codec]] = {}
_plugged: dict[str, Any] = {}
"""Registered classes that were written for zarr-python."""


def register_codec(name: str, codec: type[Codec] | type[_HasDict]) -> None:
    """Make a codec class known under a name, before all others of that name.

    Parameters
    ----------
    name
        The name in metadata.
    codec
        A class with the methods of `Codec`, which has an example; or one that was written for
        zarr-python, a subclass of its `BaseCodec`.

    Raises
    ------
    TypeError
        If the class lacks a method.

    Examples
    --------
    >>> omnizarr.codecs.register_codec("example.gzip", omnizarr.codecs.GzipCodec)
    >>> omnizarr.codecs.get_codec(omnizarr.codecs.codec_spec("example.gzip"))
    GzipCodec(level=1, name='example.gzip')
    """
    if _is_codec(codec):
        _plugged.pop(name, None)
        _registered[name] = cast("type[Codec]", codec)
    elif all(hasattr(codec, method) for method in ("from_dict", "encode", "decode")):
        _registered.pop(name, None)
        _plugged[name] = codec
    else:
        raise TypeError(
            f"{codec!r} is no codec: it needs from_spec(spec, context), spec() and prepare(stage)"
        )


def registered() -> tuple[tuple[str, Any], ...]:
    """Every name and class that `register_codec` was given: a name may mean another codec now."""
    return (*_registered.items(), *_plugged.items())


def codec_class(name: str) -> type[Codec] | type[_HasDict] | None:
    """Give the class of codecs that metadata means by a name.

    Parameters
    ----------
    name
        The name in metadata.

    Returns
    -------
    type or None
        None if there is none.

    Examples
    --------
    >>> omnizarr.codecs.codec_class("gzip").__name__
    'GzipCodec'
    """
    found: type[Codec] | type[_HasDict] | None = _class_of(name) or _theirs(name)
    return found


@cache
def _built_in(target: str) -> type[Codec]:
    module, _, name = target.partition(":")
    found: type[Codec] = getattr(importlib.import_module(f"omnizarr.codecs.{module}"), name)
    return found


@lru_cache(maxsize=256)  # the names come from documents
def _entry_point(group: str, name: str) -> Any:
    from importlib.metadata import entry_points

    for found in entry_points(group=group, name=name):
        where = f"the entry point '{found.name} = {found.value}' in the group {group!r}"
        try:
            codec = found.load()
        except Exception as error:  # importing foreign code may raise anything
            raise UnknownCodecError(
                f"the codec {name!r} cannot be used: {where} fails with {type(error).__name__}:"
                f" {error}; repair or remove the package"
            ) from error
        if group == "omnizarr.codecs" and not _is_codec(codec):
            raise UnknownCodecError(
                f"the codec {name!r} cannot be used: {where} leads to {codec!r}, which has no"
                " from_spec(spec, context) and prepare(stage)"
            )
        return codec
    return None


def _theirs(name: str) -> Any:
    """The class for zarr-python that is registered or plugged in under a name."""
    return _plugged.get(name) or _entry_point("zarr.codecs", name)


def _class_of(name: str) -> type[Codec] | None:
    """The class that is registered, built in or plugged in under a name."""
    if name in _registered:
        return _registered[name]
    if name in _plugged:
        return None
    if name in BUILT_IN:
        return _built_in(BUILT_IN[name])
    plugged: type[Codec] | None = _entry_point("omnizarr.codecs", name)
    return plugged


def _is_codec(value: Any) -> bool:
    return hasattr(value, "from_spec") and hasattr(value, "prepare")


def kind_of(spec: CodecSpec) -> Literal["array", "serializer", "bytes"]:
    """Tell what a codec does: array to array, array to bytes, or (also if unknown) bytes to bytes.

    Parameters
    ----------
    spec
        The codec's metadata.

    Examples
    --------
    >>> omnizarr.codecs.kind_of(omnizarr.codecs.codec_spec("bytes"))
    'serializer'
    """
    codec: Any = _class_of(spec.name)
    if codec is None and _theirs(spec.name) is not None:
        codec = get_codec(spec)
    match getattr(codec, "kind", "bytes-bytes"):
        case "array-array":
            return "array"
        case "array-bytes":
            return "serializer"
        case _:
            return "bytes"


def get_codec(spec: CodecSpec, context: Context | None = None) -> Codec | None:
    """Make the codec that metadata names.

    Parameters
    ----------
    spec
        The codec's metadata.
    context
        What the codec may know of its surroundings; None: pickles are not allowed.

    Returns
    -------
    Codec or None
        None if the codec is unknown and may be left out.

    Raises
    ------
    UnknownCodecError
        With the codec, similar names, and a package that may bring it.

    Examples
    --------
    >>> omnizarr.codecs.get_codec(omnizarr.codecs.codec_spec("gzip"))
    GzipCodec(level=5, name='gzip')
    """
    context = context or Context()
    name = spec.name
    found = _class_of(name)
    if found is not None:
        return found.from_spec(spec, context)
    if name.startswith("numcodecs."):
        from omnizarr.codecs.foreign import from_numcodecs

        if (foreign := from_numcodecs(spec)) is not None:
            return foreign
    if (theirs := _theirs(name)) is not None:
        from omnizarr.codecs.zarr_python import from_zarr_python

        return from_zarr_python(spec, theirs)
    if not spec.must_understand:
        return None
    raise _unknown(name)


def _unknown(name: str, choices: Sequence[str] = ()) -> UnknownCodecError:
    from difflib import get_close_matches

    message = f"unknown codec {show(name)}"
    if name in choices:
        return UnknownCodecError(f"{message}; {show(name)} is given alone, not in a list")
    known = [*BUILT_IN, *_registered, *choices] if len(name) <= 100 else []
    known += [each.removeprefix("numcodecs.") for each in known]
    close = get_close_matches(name, sorted(set(known)), 3)
    if close:
        message += f"; similar names: {', '.join(close)}"
    package = next((text for start, text in PROVIDERS.items() if name.startswith(start)), None)
    if package is not None:
        message += f". Known packages supporting this codec: {package}"
    else:
        message += (
            "; install the package that brings it, or register one with"
            " omnizarr.codecs.register_codec"
        )
    return UnknownCodecError(message)


# -- specs from what users and documents say --------------------------------------------------


def codec_spec(value: CodecLike) -> CodecSpec:
    """Give the metadata of a codec, in whatever way it is written.

    Parameters
    ----------
    value
        A codec (also numcodecs' or zarr-python's), a v2 or v3 dict, or a name.

    Raises
    ------
    MetadataError
        If it is no codec.

    Examples
    --------
    >>> omnizarr.codecs.codec_spec({"id": "zlib", "level": 1}).name
    'numcodecs.zlib'
    """
    if isinstance(value, CodecSpec):
        return value
    if isinstance(value, str):
        # "zlib", "lz4": what only numcodecs has is meant by its plain name.
        plain = value not in BUILT_IN and "numcodecs." + value in BUILT_IN
        return CodecSpec("numcodecs." + value if plain else value)
    if isinstance(value, Mapping):
        return _from_mapping(value)
    spec = getattr(value, "spec", None)
    if callable(spec):
        found = spec()
        if isinstance(found, CodecSpec):
            return found
    config = getattr(value, "get_config", None)
    if callable(config):
        return _from_mapping(_plain(config()))
    if callable(getattr(value, "to_dict", None)):
        return _from_zarr(value)
    raise MetadataError(
        f"{show(value)} is no codec: expected a name, a dict with 'name' (v3) or 'id' (v2), or a"
        " codec"
    )


_CHOSEN: Mapping[str, CodecSpec] = {
    "zstd": CodecSpec("zstd", {"level": 3, "checksum": True}),
    "numcodecs.zstd": CodecSpec("zstd", {"level": 3, "checksum": True}),
    "blosc": CodecSpec(
        "blosc", {"cname": "zstd", "clevel": 5, "shuffle": "shuffle", "blocksize": 0}
    ),
}
"""What a bare name means where a codec's own defaults would leave out a checksum or a shuffle."""


def chosen_spec(value: CodecLike, choices: Sequence[str] = ()) -> CodecSpec:
    """Give the metadata of a codec that a user chose for a new array.

    Other than in a document, a bare name leaves the configuration to us, and names of codecs and of
    their options must be known.

    Parameters
    ----------
    value
        A codec (also numcodecs' or zarr-python's), a v2 or v3 dict, or a name.
    choices
        Other words that the same argument takes, such as "fast"; errors name them.

    Raises
    ------
    UnknownCodecError
        If there is no such codec.

    Examples
    --------
    >>> omnizarr.codecs.chosen_spec("zstd").configuration["checksum"]
    True
    """
    if not isinstance(value, str):
        given = codec_spec(value)
        if isinstance(value, Mapping):
            _check_members(given)
        return given
    spec = _CHOSEN.get(value) or codec_spec(value)
    if codec_class(spec.name) is not None:
        return spec
    from numcodecs.registry import codec_registry, entries

    known = {*codec_registry, *entries}
    if value in known:
        return CodecSpec(f"numcodecs.{value}")
    if value.removeprefix("numcodecs.") in known:
        return spec
    raise _unknown(value, choices)


def _check_members(spec: CodecSpec) -> None:
    """Refuse a member of a configuration that a built-in codec would leave out."""
    if spec.name not in BUILT_IN or spec.name in _registered or spec.name in _plugged:
        return
    codec: Any = _built_in(BUILT_IN[spec.name])
    known = {field.name for field in fields(codec)} - {"name", "context"}
    if known & {"configuration", "options"} or spec.name == "numcodecs.zfpy":
        return  # they take whatever their library takes
    known |= {"check_crc"} if spec.name.endswith("crc32c") else set()
    for name in spec.configuration:
        if name not in known:
            hint = nearest(name, known) or f"; known are {', '.join(sorted(known)) or 'none'}"
            raise MetadataError(
                f"codec {show(spec.name)}: unknown configuration member {show(name)}{hint}"
            )


def _from_mapping(value: Mapping[str, Json]) -> CodecSpec:
    name = value.get("name")
    if name is None and "id" in value:
        name = value["id"]
        if isinstance(name, str):
            options = {key: item for key, item in value.items() if key != "id"}
            return CodecSpec(name if "." in name else f"numcodecs.{name}", options)
    if not isinstance(name, str):
        raise MetadataError(f"a codec needs a name (v3) or an id (v2), found {show(dict(value))}")
    configuration = value.get("configuration")
    if configuration is None:
        configuration = {}
    must_understand = value.get("must_understand", True)
    if not isinstance(configuration, Mapping) or not isinstance(must_understand, bool):
        raise MetadataError(
            f"codec {show(name)}: configuration must be an object and must_understand true or false"
        )
    for key in value:
        if key not in ("name", "configuration", "must_understand"):
            raise MetadataError(f"codec {show(name)}: unknown member {show(key)}")
    return CodecSpec(name, configuration, must_understand)


def _from_zarr(value: Any) -> CodecSpec:
    """A codec of zarr-python; what its BloscCodec leaves to the array is left open here too."""
    try:
        spec = _from_mapping(_plain(value.to_dict()))
    except ValueError:
        # Before 3.1 there was no dict as long as the element size was open.
        if not hasattr(value, "cname"):
            raise
        keys = ("cname", "clevel", "shuffle", "blocksize")
        spec = CodecSpec("blosc", _plain({key: getattr(value, key) for key in keys}))
    adjustable = getattr(value, "_tunable_attrs", ())
    options = {key: item for key, item in spec.configuration.items() if key not in adjustable}
    return CodecSpec(spec.name, options, spec.must_understand)


def _plain(value: Any) -> Any:
    """The same as JSON has it: lists, not tuples; the values of enumerations."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return getattr(value, "value", value) if isinstance(value, Enum) else value


def specs_from(value: Json, where: str) -> tuple[CodecSpec, ...]:
    """The codecs that a configuration lists."""
    if not isinstance(value, Sequence) or isinstance(value, (str, bytes)):
        raise MetadataError(f"codec {where!r}: codecs must be a list, found {show(value)}")
    return tuple(codec_spec(item) for item in value)


def spec_document(spec: CodecSpec) -> dict[str, Json]:
    """A spec as the JSON object inside another codec's configuration."""
    document: dict[str, Json] = {"name": spec.name}
    if spec.configuration:
        document["configuration"] = dict(spec.configuration)
    if not spec.must_understand:
        document["must_understand"] = False
    return document


def option_specs(spec: CodecSpec, key: str) -> tuple[CodecSpec, ...] | None:
    """The codecs that a member of a configuration lists; None if it is missing."""
    value = spec.configuration.get(key)
    return None if value is None else specs_from(value, spec.name)
