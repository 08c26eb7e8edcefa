"""`numcodecs.categorize`: labels as integers, 0 for all other text. v2: `categorize`.

Configuration: `labels`, `dtype` of the labels (text, objects, or bytes in data of zarr 2.0),
`astype` of the integers. Text that is no label comes back as "", by the codec's definition.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from omnizarr.codecs.base import ArrayStage, CodecKind, Context, Step
from omnizarr.codecs.configuration import dtype_option, option
from omnizarr.codecs.document import CodecDocument
from omnizarr.errors import EncodeError, MetadataError
from omnizarr.model.codec import CodecSpec
from omnizarr.model.grids import NDArray
from omnizarr.model.json import show

NAME = "numcodecs.categorize"


@dataclass(frozen=True)
class CategorizeCodec(CodecDocument):
    kind: ClassVar[CodecKind] = "array-array"
    labels: tuple[str, ...]
    dtype: str
    astype: np.dtype[Any]

    @classmethod
    def from_spec(cls, spec: CodecSpec, context: Context) -> CategorizeCodec:
        labels = option(spec, "labels")
        if not isinstance(labels, list) or not all(isinstance(label, str) for label in labels):
            raise MetadataError(f"codec {NAME!r}: labels must be a list of strings")
        astype = dtype_option(spec, "astype", "u1")
        if astype.kind not in "iu":
            raise MetadataError(f"codec {NAME!r}: astype must be an integer type, found {astype}")
        return cls(tuple(labels), str(option(spec, "dtype")), astype)

    def spec(self) -> CodecSpec:
        return CodecSpec(
            NAME, {"labels": list(self.labels), "dtype": self.dtype, "astype": self.astype.str}
        )

    def prepare(self, stage: ArrayStage) -> Step:
        dtype, astype = stage.dtype, self.astype
        if dtype.kind not in "OTUS":
            raise MetadataError(f"codec {NAME!r}: encodes text, not {dtype}")
        labels: list[Any] = ["", *self.labels]
        if dtype.kind == "S":
            labels = [label.encode() for label in labels]
        table = np.empty(len(labels), object)
        table[:] = labels
        if dtype.kind != "O":
            table = table.astype(dtype)
        codes = {label: code for code, label in reversed(list(enumerate(labels))) if code}

        def encode(array: NDArray) -> NDArray:
            items = np.ascontiguousarray(array).reshape(-1).tolist()
            for place, item in enumerate(items):
                if not isinstance(item, str | bytes | None):
                    raise EncodeError(
                        f"codec {NAME!r}: element {place} of the chunk is {show(item)}"
                        f" ({type(item).__name__}), not text; what is no label is written as ''"
                    )
            return np.array([codes.get(item, 0) for item in items], astype).reshape(array.shape)

        def decode(array: NDArray) -> NDArray:
            # A code beyond the labels means no label, as 0 does.
            known = np.where((array > 0) & (array < len(labels)), array, 0).astype(np.intp)
            return table[known]

        return Step(ArrayStage(stage.shape, astype), encode, decode)
