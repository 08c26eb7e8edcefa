"""`vlen-utf8`: text of any length, each item as UTF-8 behind its length.

Spec: zarr-extensions, codecs/vlen-utf8. Alias: `numcodecs.vlen-utf8` (v2 `vlen-utf8`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from omnizarr.codecs.base import Array, ArrayStage, Context, Kind, Step, unknown
from omnizarr.codecs.loader import library
from omnizarr.codecs.vlen import check_end, pack, refuse, unpack
from omnizarr.errors import EncodeError, MetadataError
from omnizarr.model.codec import CodecSpec
from omnizarr.model.store import Buffer


@dataclass(frozen=True)
class VLenUTF8Codec:
    kind: ClassVar[Kind] = "array-bytes"
    name: str = "vlen-utf8"

    @classmethod
    def from_spec(cls, spec: CodecSpec, context: Context) -> VLenUTF8Codec:
        return cls(spec.name)

    def spec(self) -> CodecSpec:
        return CodecSpec(self.name)

    def prepare(self, stage: ArrayStage) -> Step:
        name, shape, dtype = self.name, stage.shape, stage.dtype
        # v2 arrays of zarr-python 3.0 use it for `<U…` and `|S…` too.
        if dtype.kind not in "OTUS":
            raise MetadataError(f"codec {name!r}: encodes text, not {dtype}")
        decoder = library("numcodecs.vlen", name).VLenUTF8()

        def encode(array: Array) -> bytes:
            if dtype.kind == "S":
                array = np.char.decode(array, "utf-8")
            items = np.ascontiguousarray(array).reshape(-1).tolist()
            try:
                return pack(name, [item.encode() for item in items])
            except AttributeError as error:
                raise refuse(name, items, str) from error
            except TypeError as error:
                # Something else that happens to have an `encode` method.
                raise refuse(name, items, str) from error
            except UnicodeEncodeError as error:
                raise EncodeError(f"codec {name!r}: {error}") from error

        def decode(data: Buffer) -> Array:
            found = unpack(name, decoder, stage, data)
            items = found.tolist()
            characters = sum(map(len, items))
            if 4 + 4 * len(items) + characters != len(data):
                # Not ASCII only: count bytes.
                check_end(name, data, (len(item.encode()) for item in items), len(items))
            if dtype.kind == "O":
                return found.reshape(shape)
            if dtype.kind == "S":
                items = [item.encode() for item in items]
            return np.array(items, dtype).reshape(shape)

        return Step(unknown(), encode, decode)
