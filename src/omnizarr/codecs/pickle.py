"""`numcodecs.pickle`: Python's pickle of the array. v2: `pickle`.

Reading a pickle runs code that the data chooses. The codec is therefore refused, wherever it
stands in a pipeline, unless the caller allowed it for this call. Configuration: `protocol`.
"""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from omnizarr.codecs.base import ArrayStage, CodecKind, Context, LibraryErrors, Step, unknown
from omnizarr.codecs.configuration import ConfiguredCodec, integer, member
from omnizarr.errors import DecodeError, EncodeError, PickleCodecDisabledError
from omnizarr.model.codec import CodecSpec
from omnizarr.model.grids import NDArray
from omnizarr.model.store import Buffer

NAME = "numcodecs.pickle"


@dataclass(frozen=True)
class PickleCodec(ConfiguredCodec):
    kind: ClassVar[CodecKind] = "array-bytes"
    protocol: int = member(integer, default=pickle.HIGHEST_PROTOCOL)
    name: str = NAME

    @classmethod
    def from_spec(cls, spec: CodecSpec, context: Context) -> Self:
        if not context.allow_pickle:
            raise PickleCodecDisabledError(
                "the metadata names the pickle codec, which runs code chosen by the data; if you"
                " trust the data, allow it for this call with allow_pickle=True"
            )
        return super().from_spec(spec, context)

    def prepare(self, stage: ArrayStage) -> Step:
        shape, dtype = stage.shape, stage.dtype

        def encode(array: NDArray) -> bytes:
            with LibraryErrors(EncodeError, NAME, Exception):  # objects may raise anything
                # A plain copy: a view would take the whole array along.
                return pickle.dumps(np.array(array, order="C"), self.protocol)

        def decode(data: Buffer) -> NDArray:
            with LibraryErrors(DecodeError, NAME, Exception):
                value: Any = pickle.loads(data)  # allowed by the caller
            array = np.asarray(value)
            if array.size != stage.size:
                raise DecodeError(
                    f"codec {NAME!r}: expected an array of shape {shape}, found {array.shape}"
                )
            return array.astype(dtype, copy=False).reshape(shape)

        return Step(unknown(), encode, decode)
