"""An array's codecs as a user looks at them: filters, serializer, compressors, inner chunks."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import prod
from typing import TYPE_CHECKING, Any, TypeAlias

from omnizarr import codecs
from omnizarr.codecs.registry import option_specs
from omnizarr.model.array import ArrayModel
from omnizarr.model.axes import SHARDING, axes_before, inner_chunks
from omnizarr.model.codec import CodecSpec
from omnizarr.model.dtypes import Bytes, String
from omnizarr.runtime.properties import cached_property

if TYPE_CHECKING:
    import numcodecs.abc

    ShownCodec: TypeAlias = codecs.Codec | numcodecs.abc.Codec

N5_BLOCK = "n5_default"
_CHECKSUM = re.compile(r"(crc32c?|adler32|fletcher32|jenkins_lookup3)\Z")


@dataclass(frozen=True)
class CodecView:
    """The codecs of an array, sorted by their kind."""

    specs: tuple[CodecSpec, ...]
    order: str
    inner_chunks: tuple[int, ...] | None
    """Shape of an inner chunk in the array's own axis order; None without sharding."""
    unnamed: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Options that the stored document does not name, so that they are not shown either."""

    @classmethod
    def of(
        cls, model: ArrayModel, unnamed: Mapping[str, tuple[str, ...]] | None = None
    ) -> CodecView:
        """unnamed: options that the document does not name, by codec."""
        unnamed = unnamed or {}
        inner = inner_chunks(model.codecs, model.ndim)
        shard = axes_before(model.codecs, SHARDING, model.ndim)
        if inner is not None and shard is not None:
            return cls(_inner_specs(shard[0]), model.order, inner, unnamed)
        block = axes_before(model.codecs, N5_BLOCK, model.ndim)
        if block is not None and block[1] == tuple(range(model.ndim))[::-1]:
            # The block's own transposition brings the axes back: neither is seen from outside.
            return cls(_inner_specs(block[0])[1:], model.order, None, unnamed)
        return cls(model.codecs, model.order, None, unnamed)

    def chunks_per_shard(self, shard: tuple[int, ...]) -> int:
        if self.inner_chunks is None:
            return 1
        return prod(n // c for n, c in zip(shard, self.inner_chunks, strict=True))

    def arguments(self, model: ArrayModel) -> dict[str, Any]:
        """The codecs as arguments that create another array of this type and order."""
        filters: list[CodecSpec] = []
        compressors: list[CodecSpec] = []
        serializer: CodecSpec | str = "auto"
        for spec in self._stored_specs(model.order):
            kind = codecs.kind_of(spec)
            if kind == "array":
                filters.append(spec)
            elif kind == "bytes":
                compressors.append(spec)
            elif spec.configuration.get("endian") == "big" or not (
                spec.name == "bytes" or isinstance(model.data_type, String | Bytes)
            ):
                serializer = spec  # what the type itself does not imply
        return {"filters": filters or None, "serializer": serializer, "compressors": compressors}

    def _stored_specs(self, order: str) -> tuple[CodecSpec, ...]:
        """Without the transposition that stands for column-major order."""
        implied = order == "F" and self.specs and self.specs[0].name == "transpose"
        return self.specs[1:] if implied else self.specs

    @cached_property
    def all(self) -> tuple[ShownCodec, ...]:
        return tuple(self._shown(spec) for spec in self.specs)

    @cached_property
    def _sorted(self) -> tuple[tuple[ShownCodec, ...], ShownCodec | None, tuple[ShownCodec, ...]]:
        filters, serializer, compressors = [], None, []
        for spec in self._stored_specs(self.order):
            kind = codecs.kind_of(spec)
            if kind == "array" or (kind == "serializer" and spec.name.startswith("numcodecs.")):
                filters.append(
                    self._shown(spec)
                )  # numcodecs' object codecs are filters to its users
            elif kind == "serializer":
                serializer = self._shown(spec)
            else:
                compressors.append(self._shown(spec))
        return tuple(filters), serializer, tuple(compressors)

    def _shown(self, spec: CodecSpec) -> ShownCodec:
        hidden = self.unnamed.get(spec.name, ())
        kept = {name: item for name, item in spec.configuration.items() if name not in hidden}
        return _shown(replace(spec, configuration=kept) if hidden else spec)

    @property
    def filters(self) -> tuple[ShownCodec, ...]:
        return self._sorted[0]

    @property
    def serializer(self) -> ShownCodec | None:
        return self._sorted[1]

    @property
    def compressor(self) -> ShownCodec | None:
        """The last codec that compresses, not one that only adds a checksum."""
        for spec, shown in zip(reversed(self.specs), reversed(self.all), strict=True):
            if codecs.kind_of(spec) == "bytes" and not _CHECKSUM.search(spec.name):
                return shown
        return None

    @property
    def compressors(self) -> tuple[ShownCodec, ...]:
        return self._sorted[2]


def _inner_specs(sharding: CodecSpec) -> tuple[CodecSpec, ...]:
    return option_specs(sharding, "codecs") or ()


def _shown(spec: CodecSpec) -> ShownCodec:
    """A codec as its users know it: numcodecs' own object where the name is numcodecs' own."""
    if spec.name.startswith("numcodecs."):
        import numcodecs

        try:
            shown = numcodecs.get_codec({"id": spec.name[10:], **spec.configuration})
            repr(shown)  # it checks some of its arguments only here
            return shown
        except Exception:  # a dialect that numcodecs itself refuses; ours reads it
            return codecs.get_codec(spec)
    return codecs.get_codec(spec)
