"""How the drafts of v3 name codecs: a memory layout, one compressor, and what zarr-python hid.

Document 002 has `chunk_memory_layout` ("C" or "F") and one `compressor`, named by a URI, and leaves
filters to extensions. zarr-python 2 kept its filters in the attribute `filters` of an array, as
format 2 writes them, and from 2.14 on had a storage transformer that gathers chunks in shards: the
chunks one after the other, then their offsets and lengths without a checksum. That is the codec
`sharding_indexed` by another name, around the codecs of a chunk.

All of it becomes one pipeline of specs, in encoding order, and back.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from omnizarr.errors import (
    MetadataError,
    UnknownCodecError,
    UnknownExtensionError,
    UnsupportedError,
)
from omnizarr.formats import members, requests
from omnizarr.formats.core_codecs import PREFIX, from_core, inner_specs, plain_options
from omnizarr.formats.requests import Order
from omnizarr.formats.v2.codecs import FilterPipeline
from omnizarr.formats.v3 import codecs as v3_codecs
from omnizarr.formats.v3_drafts.layouts import Layout
from omnizarr.model.codec import CodecSpec, Json
from omnizarr.model.dtypes import DataType
from omnizarr.model.grids import Shape
from omnizarr.model.json import show

FILTERS = "filters"
"""The attribute in which zarr-python keeps its filters."""
CODEC = "https://purl.org/zarr/spec/codec/"
SHARDING = "https://purl.org/zarr/spec/storage_transformers/sharding/1.0"
COMPRESSORS = frozenset(
    PREFIX + name for name in ("blosc", "bz2", "gzip", "lz4", "lzma", "zlib", "zstd")
)
DEFAULT_COMPRESSOR = CodecSpec("numcodecs.gzip", {"level": 1})
"""The document's own: every reader of every draft has it, and it carries a checksum."""

_CODEC = re.compile(r"https?://purl\.org/zarr/spec/codec/([a-z0-9]+)(?:/[^/\s]*)?\Z")
_SHARDING = re.compile(r"https?://\S+/storage[_-]transformers/sharding(?:/[^/\s]*)?\Z")
_INDEX: list[Json] = [{"name": "bytes", "configuration": {"endian": "little"}}]


@dataclass(frozen=True)
class Stored:
    """How one chunk is encoded, and how many of them make a shard."""

    pipeline: FilterPipeline
    chunk_shape: Shape
    per_shard: Shape | None

    @property
    def outer_shape(self) -> Shape:
        """The shape of what is stored under one key."""
        if self.per_shard is None:
            return self.chunk_shape
        return tuple(n * count for n, count in zip(self.chunk_shape, self.per_shard, strict=True))

    def specs(self, data_type: DataType) -> tuple[CodecSpec, ...]:
        """The whole pipeline in encoding order."""
        chunk = self.pipeline.specs(len(self.chunk_shape), data_type)
        if self.per_shard is None:
            return chunk
        configuration = {
            "chunk_shape": list(self.chunk_shape),
            "codecs": v3_codecs.encode(chunk),
            "index_codecs": _INDEX,
            "index_location": "end",
        }
        return (CodecSpec(v3_codecs.SHARDING, configuration),)


# -- reading --------------------------------------------------------------------------------------
def decode(document: Mapping[str, Json], chunk_shape: Shape, layout: Layout) -> Stored:
    """What the document of an array says about its codecs."""
    filters: tuple[CodecSpec, ...] = ()
    if layout.zarr_python:
        filters = hidden_filters(document.get("attributes"))
    pipeline = FilterPipeline(
        _order(document.get("chunk_memory_layout", "C")),
        filters,
        _compressor(document.get("compressor")),
    )
    per_shard = _per_shard(document.get("storage_transformers"), len(chunk_shape), layout)
    return Stored(pipeline, chunk_shape, per_shard)


def _order(value: Json) -> Order:
    if value == "C":
        return "C"
    if value == "F":
        return "F"
    if isinstance(value, dict):
        raise UnknownExtensionError(
            f"chunk_memory_layout: the extension {show(value.get('extension'))} is not known here"
        )
    raise MetadataError(f"chunk_memory_layout must be 'C' or 'F', found {show(value)}")


def _compressor(value: Json) -> CodecSpec | None:
    if value is None:
        return None
    uri = value.get("codec") if isinstance(value, dict) else None
    if not isinstance(uri, str):
        raise MetadataError(
            f"compressor must be an object with the URI of a codec, found {show(value)}"
        )
    named = _CODEC.match(uri)
    name = PREFIX + named[1] if named else ""
    if name not in COMPRESSORS:
        raise UnknownCodecError(f"compressor: the codec {show(uri)} is not known here")
    configuration = value.get("configuration")
    if configuration is not None and not isinstance(configuration, dict):
        raise MetadataError(
            f"compressor: configuration must be an object, found {show(configuration)}"
        )
    return CodecSpec(name, plain_options(configuration or {}))


def are_filters(value: Json) -> bool:
    """Whether an attribute looks like a list of codecs."""
    return isinstance(value, list) and any(isinstance(i, dict) and "id" in i for i in value)


def hidden_filters(attributes: Json) -> tuple[CodecSpec, ...]:
    """The filters among the attributes; none if the attribute of that name has another meaning."""
    value: Json = attributes.get(FILTERS) if isinstance(attributes, dict) else None
    if not are_filters(value):
        return ()
    specs = []
    for item in value:
        name = item.get("id") if isinstance(item, dict) else None
        if not isinstance(name, str) or not name:
            raise MetadataError(f"attributes.filters: a codec needs an id, found {show(item)}")
        configuration = plain_options({key: item[key] for key in item if key != "id"})
        specs.append(CodecSpec(PREFIX + name, configuration))
    return tuple(specs)


def _per_shard(value: Json, ndim: int, layout: Layout) -> Shape | None:
    """How many chunks a shard has along each axis; None without shards."""
    if value is None or value == []:
        return None
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise MetadataError(f"storage_transformers must be a list of objects, found {show(value)}")
    for item in value:
        uri = item.get("extension")
        known = isinstance(uri, str) and _SHARDING.match(uri) and item.get("type") == "indexed"
        if not known or not layout.zarr_python or len(value) > 1:
            raise UnknownExtensionError(
                f"storage_transformers: {show(item)} is not known here; one 'indexed' sharding"
                f" ({SHARDING!r}) in {layout.name} data is, found {len(value)} in {layout.name}"
            )
    configuration = value[0].get("configuration")
    counts = configuration.get("chunks_per_shard") if isinstance(configuration, dict) else None
    found = members.lengths([counts] if type(counts) is int else counts, "chunks_per_shard", 1)
    if ndim == 0 and found == (1,):
        return ()
    if len(found) > ndim:
        raise MetadataError(
            f"chunks_per_shard {show(counts)} has {len(found)} dimensions, the array {ndim}"
        )
    # Axes that came from the element type of the user's array are not counted.
    return found + (1,) * (ndim - len(found))


# -- writing --------------------------------------------------------------------------------------
def members_of(stored: Stored, layout: Layout) -> dict[str, Json]:
    """The members that describe the codecs, but for hidden filters."""
    found: dict[str, Json] = {"chunk_memory_layout": stored.pipeline.order}
    compressor = stored.pipeline.compressor
    if compressor is not None:
        found["compressor"] = {
            "codec": f"{CODEC}{compressor.name.removeprefix(PREFIX)}/1.0",
            "configuration": dict(compressor.configuration),
        }
    elif not layout.explicit:
        found["compressor"] = None
    if stored.per_shard is not None:
        configuration = {"chunks_per_shard": list(stored.per_shard)}
        found["storage_transformers"] = [
            {"extension": SHARDING, "type": "indexed", "configuration": configuration}
        ]
    return found


def filter_members(pipeline: FilterPipeline) -> list[Json]:
    """What the hidden attribute holds."""
    return [
        {"id": spec.name.removeprefix(PREFIX), **spec.configuration} for spec in pipeline.filters
    ]


def split(
    specs: Sequence[CodecSpec], outer_shape: Shape, data_type: DataType, layout: Layout
) -> Stored:
    """A whole pipeline in the words of the layout; UnsupportedError if it has none for it."""
    if any(spec.name == v3_codecs.SHARDING for spec in specs):
        return _split_shards(specs, outer_shape, data_type, layout)
    return Stored(_split(specs, len(outer_shape), data_type, layout), outer_shape, None)


def _split_shards(
    specs: Sequence[CodecSpec], outer_shape: Shape, data_type: DataType, layout: Layout
) -> Stored:
    refused = UnsupportedError(
        f"{layout.name} has no such shards"
        + (
            "; it has those whose index is little-endian, at the end and without a checksum, with"
            " no codec before or behind them"
            if layout.zarr_python
            else ""
        ),
        what="shards",
    )
    configuration = specs[0].configuration
    if (
        not layout.zarr_python
        or len(specs) > 1
        or configuration.get("index_codecs") != _INDEX
        or configuration.get("index_location", "end") != "end"
    ):
        raise refused
    chunk_shape = members.lengths(configuration.get("chunk_shape"), "chunk_shape", 1)
    if len(chunk_shape) != len(outer_shape) or any(
        n % m for n, m in zip(outer_shape, chunk_shape, strict=True)
    ):
        raise refused
    return Stored(
        _split(inner_specs(configuration), len(outer_shape), data_type, layout),
        chunk_shape,
        tuple(n // m for n, m in zip(outer_shape, chunk_shape, strict=True)),
    )


def _split(
    specs: Sequence[CodecSpec], ndim: int, data_type: DataType, layout: Layout
) -> FilterPipeline:
    order, rest = requests.split_order(specs, ndim, data_type, layout.name)
    found = [from_core(spec) or spec for spec in rest]
    compressor = found.pop() if found and found[-1].name in COMPRESSORS else None
    if found and not layout.zarr_python:
        raise _refused(_too_many([*found, compressor] if compressor else found), layout)
    return FilterPipeline(order, tuple(found), compressor)


def _too_many(specs: Sequence[CodecSpec]) -> str:
    names = [repr(_plain_name(spec)) for spec in specs]
    what = f"the codec {names[0]}" if len(names) == 1 else f"{len(names)} codecs"
    listed = "" if len(names) == 1 else f" ({', '.join(names)})"
    known = ", ".join(sorted(name.removeprefix(PREFIX) for name in COMPRESSORS))
    return f"{what}{listed}: it has one compressor ({known}) and no filters"


def _plain_name(spec: CodecSpec) -> str:
    return spec.name.removeprefix(PREFIX)


def _refused(what: str, layout: Layout) -> UnsupportedError:
    return UnsupportedError(
        f"{layout.name} cannot express {what}; choose other codecs, or format 3", what="codecs"
    )
