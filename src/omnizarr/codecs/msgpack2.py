"""`numcodecs.msgpack2`: objects as a MessagePack list, with dtype and shape at its end.

v2: `msgpack2`. Alias: `numcodecs.msgpack` (v2 `msgpack`), the form before numcodecs 0.6, without
the shape. Configuration: `raw`, `use_bin_type`, `use_single_float`. Needs the package msgpack.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from omnizarr.codecs.base import ArrayStage, CodecKind, Step
from omnizarr.codecs.configuration import ConfiguredCodec, boolean, member
from omnizarr.codecs.loader import library
from omnizarr.codecs.objects import objects_step
from omnizarr.model.store import Buffer

HOLDS = "None, bool, int of 64 bits, float, str, bytes, and lists and dicts of these"


@dataclass(frozen=True)
class MsgPack2Codec(ConfiguredCodec):
    kind: ClassVar[CodecKind] = "array-bytes"
    raw: bool = member(boolean, default=False)
    use_bin_type: bool = member(boolean, default=True)
    use_single_float: bool = member(boolean, default=False)
    name: str = "numcodecs.msgpack2"

    def prepare(self, stage: ArrayStage) -> Step:
        name = self.name
        msgpack = library("msgpack", name)
        trailer = 1 if name == "numcodecs.msgpack" else 2

        def encode_one(value: Any) -> bytes:
            return msgpack.packb(  # type: ignore[no-any-return]
                value, use_bin_type=self.use_bin_type, use_single_float=self.use_single_float
            )

        def decode_one(data: Buffer) -> Any:
            return msgpack.unpackb(data, raw=self.raw, strict_map_key=False)

        # msgpack's own errors share no base class of theirs.
        return objects_step(name, stage, trailer, encode_one, decode_one, (Exception,), HOLDS)
