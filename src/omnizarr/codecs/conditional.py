"""`conditional`: codecs that each chunk applies or leaves out, as the bits of its header tell.

Spec: zarr-extensions, codecs/conditional. Configuration: `codecs` (bytes to bytes) and
`header_bits`, a multiple of 8. Bit i of the little-endian header stands for codec i; bits that no
codec has are 0. On writing, a compressor is applied where it makes the chunk smaller, and what
gives a fixed number of bytes (shuffling, a checksum) always.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

from omnizarr.codecs.base import BytesStage, CodecKind, Context, Step, check_size
from omnizarr.codecs.configuration import integer, only, option
from omnizarr.codecs.document import CodecDocument
from omnizarr.codecs.registry import get_codec, spec_document, specs_from
from omnizarr.errors import DecodeError, MetadataError
from omnizarr.model.codec import CodecSpec
from omnizarr.model.json import show
from omnizarr.model.store import Buffer

NAME = "conditional"


@dataclass(frozen=True)
class ConditionalCodec(CodecDocument):
    kind: ClassVar[CodecKind] = "bytes-bytes"
    codecs: tuple[CodecSpec, ...]
    header_bits: int
    context: Context = field(default=Context(), repr=False)

    @classmethod
    def from_spec(cls, spec: CodecSpec, context: Context) -> ConditionalCodec:
        only(spec, "codecs", "header_bits")
        codecs = specs_from(option(spec, "codecs"), NAME)
        bits = integer(spec, "header_bits", -(-len(codecs) // 8) * 8, 0, 1024)
        if bits % 8 or bits < len(codecs):
            raise MetadataError(
                f"codec {NAME!r}: header_bits {bits} must be a multiple of 8 and cover"
                f" {len(codecs)} codecs"
            )
        return cls(codecs, bits, context.deeper())

    def spec(self) -> CodecSpec:
        inner = [spec_document(codec) for codec in self.codecs]
        return CodecSpec(NAME, {"codecs": inner, "header_bits": self.header_bits})

    def prepare(self, stage: BytesStage) -> Step:
        width = self.header_bits // 8
        codecs = []
        for spec in self.codecs:
            codec = get_codec(spec, self.context)
            if codec is None or codec.kind != "bytes-bytes":
                raise MetadataError(
                    f"codec {NAME!r}: {show(spec.name)} does not take bytes to bytes"
                )
            codecs.append(codec)

        def steps(mask: int) -> list[Step]:
            # What a codec may yield depends on which ones stand before it.
            current: Any = stage
            chosen = []
            for place, codec in enumerate(codecs):
                if mask >> place & 1:
                    step = codec.prepare(current)
                    chosen.append(step)
                    current = step.output
            return chosen

        prepared: dict[int, list[Step]] = {0: []}

        def encode(data: Buffer) -> bytes:
            mask, value = 0, data
            for place, codec in enumerate(codecs):
                step = codec.prepare(BytesStage(len(value), len(value), stage.itemsize))
                result = step.encode(value)
                fixed = isinstance(step.output, BytesStage) and step.output.size is not None
                if fixed or len(result) < len(value):
                    mask |= 1 << place
                    value = result
            return mask.to_bytes(width, "little") + bytes(value)

        def decode(data: Buffer) -> Buffer:
            mask = int.from_bytes(data[:width], "little")
            if len(data) < width or mask >> len(codecs):
                raise DecodeError(
                    f"codec {NAME!r}: the header {bytes(data[:width]).hex()} names codecs beyond"
                    f" the {len(codecs)} that there are"
                )
            if mask not in prepared and len(prepared) < 64:
                prepared[mask] = steps(mask)
            value: Any = memoryview(data)[width:]
            for step in reversed(prepared.get(mask) or steps(mask)):
                value = step.decode(value)
            check_size(NAME, stage, len(value))
            return value  # type: ignore[no-any-return]

        limit = 2 * stage.limit + 65536 * (len(codecs) + 1)
        return Step(BytesStage(None, limit, stage.itemsize), encode, decode)
