"""`numcodecs.categorize`: labels as integers, 0 for what is not a label. v2: `categorize`.

Configuration: `labels`, `dtype` of the labels (text, objects, or bytes in data of zarr 2.0),
`astype` of the integers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from omnizarr.codecs.base import (
    Array,
    ArrayStage,
    Context,
    Kind,
    Step,
    dtype_option,
    option,
)
from omnizarr.errors import MetadataError
from omnizarr.model.codec import CodecSpec

NAME = "numcodecs.categorize"


@dataclass(frozen=True)
class CategorizeCodec:
    kind: ClassVar[Kind] = "array-array"
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

        def encode(array: Array) -> Array:
            items = np.ascontiguousarray(array).reshape(-1).tolist()
            found = [codes.get(item, 0) if isinstance(item, (str, bytes)) else 0 for item in items]
            return np.array(found, astype).reshape(array.shape)

        def decode(array: Array) -> Array:
            # What lies beyond the labels is no label, as 0 is.
            known = np.where((array > 0) & (array < len(labels)), array, 0).astype(np.intp)
            return table[known]

        return Step(ArrayStage(stage.shape, astype), encode, decode)
