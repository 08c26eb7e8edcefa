"""`numcodecs.pickle`: Python's pickle of the array. v2: `pickle`.

Reading a pickle runs code that the data chooses. The codec is therefore refused, wherever it
stands in a pipeline, unless the caller allowed it for this call. Configuration: `protocol`.
"""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from omnizarr.codecs.base import ArrayStage, CodecKind, Context, Step, integer, unknown
from omnizarr.errors import DecodeError, EncodeError, PickleCodecDisabledError
from omnizarr.model.codec import CodecSpec
from omnizarr.model.grids import NDArray
from omnizarr.model.store import Buffer

NAME = "numcodecs.pickle"


@dataclass(frozen=True)
class PickleCodec:
    kind: ClassVar[CodecKind] = "array-bytes"
    protocol: int = pickle.HIGHEST_PROTOCOL

    @classmethod
    def from_spec(cls, spec: CodecSpec, context: Context) -> PickleCodec:
        if not context.allow_pickle:
            raise PickleCodecDisabledError(
                "the metadata names the pickle codec, which runs code chosen by the data; if you"
                " trust the data, allow it for this call with allow_pickle=True"
            )
        return cls(integer(spec, "protocol", pickle.HIGHEST_PROTOCOL))

    def spec(self) -> CodecSpec:
        return CodecSpec(NAME, {"protocol": self.protocol})

    def prepare(self, stage: ArrayStage) -> Step:
        shape, dtype = stage.shape, stage.dtype

        def encode(array: NDArray) -> bytes:
            try:
                # A plain copy: a view would take the whole array along.
                return pickle.dumps(np.array(array, order="C"), self.protocol)
            except Exception as error:  # objects may raise what they like
                raise EncodeError(f"codec {NAME!r}: {error}") from error

        def decode(data: Buffer) -> NDArray:
            try:
                value: Any = pickle.loads(data)  # allowed by the caller
            except Exception as error:  # objects may raise what they like
                raise DecodeError(f"codec {NAME!r}: {error}") from error
            array = np.asarray(value)
            if array.size != stage.size:
                raise DecodeError(
                    f"codec {NAME!r}: expected an array of shape {shape}, found {array.shape}"
                )
            return array.astype(dtype, copy=False).reshape(shape)

        return Step(unknown(), encode, decode)
