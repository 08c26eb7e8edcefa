"""`numcodecs.pcodec`: Pcodec, compression of numbers. v2: `pcodec`. Needs the package pcodec.

Configuration: `level`, `mode_spec`, `delta_spec`, `paging_spec`, `delta_encoding_order`,
`equal_pages_up_to`; only writing needs them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from omnizarr.codecs.base import (
    ArrayStage,
    BytesStage,
    CodecKind,
    Context,
    LibraryErrors,
    Step,
    exact,
)
from omnizarr.codecs.configuration import integer
from omnizarr.codecs.document import CodecDocument
from omnizarr.codecs.loader import library
from omnizarr.errors import DecodeError, EncodeError, MetadataError
from omnizarr.model.codec import CodecSpec
from omnizarr.model.grids import NDArray
from omnizarr.model.json import show
from omnizarr.model.store import Buffer

NAME = "numcodecs.pcodec"
DELTAS = ("auto", "none", "try_consecutive", "try_lookback")
TYPES = ("u1", "i1", "u2", "u4", "u8", "i2", "i4", "i8", "f2", "f4", "f8")


@dataclass(frozen=True)
class PCodecCodec(CodecDocument):
    kind: ClassVar[CodecKind] = "array-bytes"
    level: int = 8
    configuration: Mapping[str, Any] = field(default_factory=dict, hash=False)

    @classmethod
    def from_spec(cls, spec: CodecSpec, context: Context) -> PCodecCodec:
        others = {key: item for key, item in spec.configuration.items() if key != "level"}
        return cls(integer(spec, "level", 8, 0, 12), others)

    def spec(self) -> CodecSpec:
        return CodecSpec(NAME, {**self.configuration, "level": self.level})

    def _chunk_config(self, pcodec: Any) -> Any:
        options = self.configuration
        mode = options.get("mode_spec") or "auto"
        delta = options.get("delta_spec") or "auto"
        order = options.get("delta_encoding_order")
        if order is not None and delta == "auto":
            delta = "try_consecutive"  # the meaning of the order before delta_spec existed
        if mode not in ("auto", "classic") or delta not in DELTAS:
            raise EncodeError(
                f"codec {NAME!r}: mode {show(mode)} with delta {show(delta)} is not known"
            )
        # What was `none` is `no_op` since pcodec 1.0.
        candidates = ("none", "no_op") if delta == "none" else (delta,)
        name = next(name for name in candidates if hasattr(pcodec.DeltaSpec, name))
        arguments = (int(order or 0),) if delta == "try_consecutive" else ()
        pages = int(options.get("equal_pages_up_to") or 262144)
        return pcodec.ChunkConfig(
            compression_level=self.level,
            delta_spec=getattr(pcodec.DeltaSpec, name)(*arguments),
            mode_spec=getattr(pcodec.ModeSpec, mode)(),
            paging_spec=pcodec.PagingSpec.equal_pages_up_to(pages),
        )

    def prepare(self, stage: ArrayStage) -> Step:
        native = stage.dtype.newbyteorder("=")
        if native.str[1:] not in TYPES:
            raise MetadataError(f"codec {NAME!r}: compresses numbers, not {stage.dtype}")
        pcodec = library("pcodec", NAME)
        standalone = library("pcodec.standalone", NAME)
        shape, dtype, count = stage.shape, stage.dtype, stage.size

        def encode(array: NDArray) -> bytes:
            # The numbers, not their bytes, are stored: a byte order is none of its business.
            flat = np.ascontiguousarray(array, native).reshape(-1)
            with LibraryErrors(EncodeError, NAME, RuntimeError, TypeError, ValueError):
                return bytes(standalone.simple_compress(flat, self._chunk_config(pcodec)))

        def decode(data: Buffer) -> NDArray:
            # One element of room more than promised shows whether there is more.
            out = np.empty(count + 1, native)
            try:
                progress = standalone.simple_decompress_into(bytes(data), out)
            except BaseException as error:  # a panic of the library is no Exception
                if isinstance(error, (KeyboardInterrupt, SystemExit, MemoryError)):
                    raise
                raise DecodeError(f"codec {NAME!r}: {error}") from error
            if progress.n_processed != count or not progress.finished:
                raise DecodeError(
                    f"codec {NAME!r}: expected {count} numbers, found"
                    f" {'more' if progress.n_processed > count else progress.n_processed}"
                )
            return out[:count].astype(dtype, copy=False).reshape(shape)

        size = exact(count * dtype.itemsize).limit
        return Step(BytesStage(None, 2 * size + 65536), encode, decode)
