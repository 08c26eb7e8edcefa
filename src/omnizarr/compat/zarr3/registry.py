"""Registries: which class is a codec, a buffer or a chunk key encoding of a name.

A codec that is registered here is found by omnizarr's own registry too. The pipeline and the
buffers of zarr-python's configuration are kept and returned; omnizarr's engine uses neither.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from functools import cache
from typing import Any, TypeVar

from omnizarr import codecs
from omnizarr.compat.zarr3.codecs import numcodecs
from omnizarr.compat.zarr3.codecs._refined import refined
from omnizarr.compat.zarr3.core.buffer import cpu
from omnizarr.compat.zarr3.core.buffer.core import Buffer, NDBuffer
from omnizarr.compat.zarr3.core.chunk_key_encodings import (
    DefaultChunkKeyEncoding,
    V2ChunkKeyEncoding,
)
from omnizarr.compat.zarr3.core.dtype import data_type_registry
from omnizarr.errors import ConfigError, UnknownCodecError

__all__ = [
    "Registry",
    "data_type_registry",
    "get_buffer_class",
    "get_chunk_key_encoding_class",
    "get_codec_class",
    "get_ndbuffer_class",
    "get_numcodec",
    "get_pipeline_class",
    "register_buffer",
    "register_chunk_key_encoding",
    "register_codec",
    "register_ndbuffer",
    "register_pipeline",
]

T = TypeVar("T")


class Registry(dict[str, type[T]]):
    """Classes by their names, and entry points of those that were not needed yet."""

    def __init__(self) -> None:
        super().__init__()
        self.lazy_load_list: list[Any] = []

    def lazy_load(self, use_entrypoint_name: bool = False) -> None:
        """Import every class that an entry point names."""
        while self.lazy_load_list:
            entry = self.lazy_load_list.pop(0)
            self.register(entry.load(), qualname=entry.name if use_entrypoint_name else None)

    def register(self, cls: type[T], qualname: str | None = None) -> None:
        """Make a class known, by its own name unless another is given."""
        self[qualname or fully_qualified_name(cls)] = cls


_codecs: dict[str, Registry[Any]] = defaultdict(Registry)
_pipelines: Registry[Any] = Registry()
_buffers: Registry[Buffer] = Registry()
_nd_buffers: Registry[NDBuffer] = Registry()
_key_encodings: Registry[Any] = Registry()
for _module in ("zarr.buffer.cpu", "zarr.core.buffer.cpu"):
    _buffers.register(cpu.Buffer, f"{_module}.Buffer")
    _nd_buffers.register(cpu.NDBuffer, f"{_module}.NDBuffer")
_key_encodings.register(DefaultChunkKeyEncoding, "default")
_key_encodings.register(V2ChunkKeyEncoding, "v2")


def fully_qualified_name(cls: type) -> str:
    """Return the module and the name of a class."""
    return f"{cls.__module__}.{cls.__qualname__}"


@cache
def _collect_entrypoints() -> None:
    """Note what installed packages offer; nothing of it is imported here."""
    from importlib.metadata import entry_points

    found = entry_points()
    wanted: dict[str, list[Any]] = {
        "buffer": _buffers.lazy_load_list,
        "ndbuffer": _nd_buffers.lazy_load_list,
        "data_type": data_type_registry._lazy_load_list,
        "chunk_key_encoding": _key_encodings.lazy_load_list,
        "codec_pipeline": _pipelines.lazy_load_list,
    }
    for name, entries in wanted.items():
        entries.extend(found.select(group=f"zarr.{name}"))
        entries.extend(found.select(group="zarr", name=name))
    for entry in found.select(group="zarr.codecs"):
        _codecs[entry.name].lazy_load_list.append(entry)
    for group in found.groups:
        if group.startswith("zarr.codecs."):
            _codecs[group.split(".")[2]].lazy_load_list.extend(found.select(group=group))


def _setting(name: str) -> Any:
    from omnizarr.compat.zarr3 import config

    return config.get(name, None)


# -- codecs ---------------------------------------------------------------------------------------
def register_codec(key: str, codec_cls: type, *, qualname: str | None = None) -> None:
    """Make a class of codecs known, to omnizarr too.

    Parameters
    ----------
    key
        Name of the codec in metadata.
    codec_cls
        A subclass of `zarr.abc.codec.BaseCodec`.
    qualname
        Name by which the configuration chooses this class.
    """
    _codecs[key].register(codec_cls, qualname=qualname)
    codecs.register_codec(key, codec_cls)


def get_codec_class(key: str, reload_config: bool = False) -> type:
    """Return the class of codecs of a name.

    Parameters
    ----------
    key
        Name of the codec in metadata.
    reload_config
        Taken for compatibility; the configuration is always current.

    Raises
    ------
    UnknownCodecError
        If there is none.
    """
    _collect_entrypoints()
    known = _codecs[key]
    known.lazy_load()
    if not known:
        listed = (getattr(numcodecs, name) for name in numcodecs.__all__)
        named = (codec for codec in listed if codec.codec_name == key)
        built_in: type | None = next(named, None) or codecs.codec_class(key)
        if built_in is not None:
            return refined(built_in)
        raise UnknownCodecError(
            f"An implementation for codec {key!r} is not available: register one, or install a"
            " package that has it"
        )
    chosen = (_setting("codecs") or {}).get(key)
    if chosen is not None and chosen in known:
        return known[chosen]
    return list(known.values())[-1]


def get_numcodec(data: Mapping[str, Any]) -> Any:
    """Return the codec of numcodecs of a configuration."""
    from numcodecs.registry import get_codec

    try:
        return get_codec(dict(data))
    except ValueError as error:
        given: object = data
        name = given.get("id") if isinstance(given, Mapping) else None
        if not isinstance(name, str) or f"codec not available: '{name!r}'" not in str(error):
            raise
        raise UnknownCodecError(
            f"An implementation for codec {name!r} is not available: register one with"
            " numcodecs, or install a package that has it"
        ) from error


# -- buffers, pipelines, keys ---------------------------------------------------------------------
def register_buffer(cls: type[Buffer], qualname: str | None = None) -> None:
    """Make a class of buffers known."""
    _buffers.register(cls, qualname)


def register_ndbuffer(cls: type[NDBuffer], qualname: str | None = None) -> None:
    """Make a class of buffers of elements known."""
    _nd_buffers.register(cls, qualname)


def register_pipeline(pipe_cls: type) -> None:
    """Make a pipeline known."""
    _pipelines.register(pipe_cls)


def register_chunk_key_encoding(key: str, cls: type) -> None:
    """Make a chunk key encoding known."""
    _key_encodings.register(cls, key)


def _chosen(registry: Registry[T], kind: str, setting: str, default: type[T]) -> type[T]:
    _collect_entrypoints()
    registry.lazy_load()
    path = _setting(setting)
    if path is None:
        return default
    if path not in registry:
        raise ConfigError(
            f"{kind} class '{path}' not found in registered buffers: {list(registry)}"
        )
    return registry[path]


def get_buffer_class(reload_config: bool = False) -> type[Buffer]:
    """Return the class of buffers that the configuration names."""
    return _chosen(_buffers, "Buffer", "buffer", cpu.Buffer)


def get_ndbuffer_class(reload_config: bool = False) -> type[NDBuffer]:
    """Return the class of buffers of elements that the configuration names."""
    return _chosen(_nd_buffers, "NDBuffer", "ndbuffer", cpu.NDBuffer)


def get_pipeline_class(reload_config: bool = False) -> type:
    """Return the pipeline that the configuration names."""
    _collect_entrypoints()
    _pipelines.lazy_load()
    path = _setting("codec_pipeline.path")
    if path not in _pipelines:
        raise ConfigError(
            f"Pipeline class '{path}' not found in registered pipelines: {list(_pipelines)}."
        )
    return _pipelines[path]


def get_chunk_key_encoding_class(key: str) -> type:
    """Return the chunk key encoding of a name."""
    _collect_entrypoints()
    _key_encodings.lazy_load(use_entrypoint_name=True)
    if key not in _key_encodings:
        raise KeyError(f"Chunk key encoding '{key}' not found in {list(_key_encodings)}.")
    return _key_encodings[key]
