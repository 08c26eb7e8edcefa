"""`numcodecs.lzma`: LZMA in an xz (1), alone (2) or raw (3) container. v2: `lzma`.

Configuration: `format`, `check`, `preset`, `filters` as of Python's `lzma`. Other
containers than raw ones list their filters; `filters` is used to decode raw streams only. Other
members (GDAL writes `delta`) do not affect the bytes and are ignored.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from omnizarr import limits
from omnizarr.codecs.base import BytesStage, CodecKind, Context, LibraryErrors, Step
from omnizarr.codecs.configuration import configured, integer
from omnizarr.codecs.document import CodecDocument
from omnizarr.codecs.streams import Stream, stream_step
from omnizarr.errors import EncodeError, MetadataError
from omnizarr.model.codec import CodecSpec
from omnizarr.model.json import show
from omnizarr.model.store import Buffer

NAME = "numcodecs.lzma"
XZ, ALONE, RAW = 1, 2, 3


@dataclass(frozen=True)
class LZMACodec(CodecDocument):
    kind: ClassVar[CodecKind] = "bytes-bytes"
    format: int = XZ
    check: int = -1
    preset: int | None = None
    filters: tuple[dict[str, Any], ...] | None = None

    @classmethod
    def from_spec(cls, spec: CodecSpec, context: Context) -> LZMACodec:
        form = integer(spec, "format", XZ, XZ, RAW)
        preset = integer(spec, "preset", -1)
        filters = spec.configuration.get("filters")
        if filters is not None and (
            not isinstance(filters, list)
            or len(filters) > 4
            or not all(isinstance(item, dict) and "id" in item for item in filters)
        ):
            raise MetadataError(f"codec {NAME!r}: filters must be a list of objects with an id")
        if form == RAW and not filters:
            raise MetadataError(f"codec {NAME!r}: format 3 (raw) needs filters")
        for item in filters or ():
            size = item.get("dict_size", 0)
            if not isinstance(size, int) or size > limits.current.max_expansion:
                raise MetadataError(
                    f"codec {NAME!r}: dict_size {show(size)} is above"
                    f" {limits.current.max_expansion}"
                )
        return cls(
            form,
            integer(spec, "check", -1),
            None if preset == -1 else preset,
            tuple(filters) if filters else None,
        )

    def spec(self) -> CodecSpec:
        return configured(
            NAME,
            {
                "format": self.format,
                "check": self.check,
                "preset": self.preset,
                "filters": None if self.filters is None else list(self.filters),
            },
        )

    def __hash__(self) -> int:
        return hash(self.spec())

    def prepare(self, stage: BytesStage) -> Step:
        import lzma

        form, check, preset = self.format, self.check, self.preset
        filters = None if self.filters is None else list(self.filters)
        # Raw LZMA1 has no end mark; LZMA2, which all writers use, has one.
        last = filters[-1]["id"] if filters else None
        endless = form == RAW and last == lzma.FILTER_LZMA1
        failures = (lzma.LZMAError, EOFError, ValueError, TypeError, OverflowError, MemoryError)

        def new() -> Stream:
            if form == RAW:
                return lzma.LZMADecompressor(lzma.FORMAT_RAW, filters=filters)
            # The dictionary that a header asks for is memory too.
            return lzma.LZMADecompressor(form, memlimit=limits.current.max_expansion)

        def encode(data: Buffer) -> bytes:
            with LibraryErrors(EncodeError, NAME, *failures):
                return lzma.compress(data, form, check, None if filters else preset, filters)

        several = form == XZ
        return stream_step(NAME, stage, encode, new, failures, several=several, endless=endless)
