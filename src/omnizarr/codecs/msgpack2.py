"""`numcodecs.msgpack2`: objects as a MessagePack list, with dtype and shape at its end.

v2: `msgpack2`. Alias: `numcodecs.msgpack` (v2 `msgpack`), the form before numcodecs 0.6, without
the shape. Configuration: `raw`, `use_bin_type`, `use_single_float`. Needs the package msgpack.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from omnizarr.codecs.base import ArrayStage, CodecKind, Context, Step, boolean, unknown
from omnizarr.codecs.loader import library
from omnizarr.codecs.objects import ERRORS, arrange, check_objects, enclose, refuse
from omnizarr.errors import DecodeError
from omnizarr.model.codec import CodecSpec
from omnizarr.model.grids import NDArray
from omnizarr.model.store import Buffer

HOLDS = "None, bool, int of 64 bits, float, str, bytes, and lists and dicts of these"


@dataclass(frozen=True)
class MsgPack2Codec:
    kind: ClassVar[CodecKind] = "array-bytes"
    raw: bool = False
    use_bin_type: bool = True
    use_single_float: bool = False
    name: str = "numcodecs.msgpack2"

    @classmethod
    def from_spec(cls, spec: CodecSpec, context: Context) -> MsgPack2Codec:
        return cls(
            boolean(spec, "raw", False),
            boolean(spec, "use_bin_type", True),
            boolean(spec, "use_single_float", False),
            spec.name,
        )

    def spec(self) -> CodecSpec:
        return CodecSpec(
            self.name,
            {
                "raw": self.raw,
                "use_bin_type": self.use_bin_type,
                "use_single_float": self.use_single_float,
            },
        )

    def prepare(self, stage: ArrayStage) -> Step:
        name = self.name
        msgpack = library("msgpack", name)
        trailer = 1 if name == "numcodecs.msgpack" else 2

        def encode_one(value: Any) -> bytes:
            return msgpack.packb(  # type: ignore[no-any-return]
                value, use_bin_type=self.use_bin_type, use_single_float=self.use_single_float
            )

        def encode(array: NDArray) -> bytes:
            try:
                encoded = encode_one(enclose(array, trailer))
            except ERRORS as error:
                raise refuse(name, array, encode_one, HOLDS, error) from error
            check_objects(name, len(encoded))
            return encoded

        def decode(data: Buffer) -> NDArray:
            check_objects(name, len(data))
            try:
                items = msgpack.unpackb(data, raw=self.raw, strict_map_key=False)
            except Exception as error:  # msgpack's own errors share no base class of theirs
                raise DecodeError(f"codec {name!r}: {error}") from error
            return arrange(name, stage, items, trailer)

        return Step(unknown(), encode, decode)
