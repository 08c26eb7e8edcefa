"""`reshape`: the same elements in C order under another shape.

Spec: zarr-extensions, codecs/reshape. Configuration: `shape`, a list whose items are a length, a
list of input dimensions whose lengths are multiplied, or once −1 for what is left.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from math import prod
from typing import ClassVar

from omnizarr.codecs.base import ArrayStage, CodecKind, Context, Step
from omnizarr.codecs.configuration import only, option
from omnizarr.codecs.document import CodecDocument
from omnizarr.errors import MetadataError
from omnizarr.model.codec import CodecSpec
from omnizarr.model.grids import NDArray, Shape
from omnizarr.model.json import show

NewLength = int | tuple[int, ...]


def _is_integer(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


@dataclass(frozen=True)
class ReshapeCodec(CodecDocument):
    kind: ClassVar[CodecKind] = "array-array"
    shape: tuple[NewLength, ...]

    @classmethod
    def from_spec(cls, spec: CodecSpec, context: Context) -> ReshapeCodec:
        only(spec, "shape")
        shape = option(spec, "shape")
        if not isinstance(shape, (list, tuple)):
            raise MetadataError(f"codec 'reshape': shape must be a list, found {show(shape)}")
        items: list[NewLength] = []
        named: list[int] = []
        for item in shape:
            if isinstance(item, (list, tuple)) and all(map(_is_integer, item)):
                items.append(tuple(item))
                named += item
            elif _is_integer(item) and (item > 0 or item == -1):
                items.append(item)
            else:
                raise MetadataError(f"codec 'reshape': shape cannot contain {show(item)}")
        if items.count(-1) > 1 or any(a >= b for a, b in pairwise(named)):
            raise MetadataError(
                f"codec 'reshape': shape {show(shape)} must name input dimensions in rising order"
                " and contain -1 at most once"
            )
        return cls(tuple(items))

    def spec(self) -> CodecSpec:
        shape = [list(item) if isinstance(item, tuple) else item for item in self.shape]
        return CodecSpec("reshape", {"shape": shape})

    def _output(self, shape: Shape) -> Shape:
        named = [axis for item in self.shape if isinstance(item, tuple) for axis in item]
        if any(not 0 <= axis < len(shape) for axis in named):
            raise MetadataError(
                f"codec 'reshape': {show(self.shape)} names a dimension that the chunk"
                f" {shape} lacks"
            )
        lengths = [
            prod(shape[axis] for axis in item) if isinstance(item, tuple) else item
            for item in self.shape
        ]
        if -1 in lengths:
            rest = prod(length for length in lengths if length != -1)
            lengths[lengths.index(-1)] = prod(shape) // max(1, rest)
        result = tuple(lengths)
        if prod(result) != prod(shape):
            raise MetadataError(
                f"codec 'reshape': {show(list(self.shape))} makes {show(result)} of the chunk"
                f" {shape}, which has another number of elements"
            )
        for place, item in enumerate(self.shape):
            if isinstance(item, tuple) and item:
                before, after = prod(shape[: item[0]]), prod(shape[item[-1] + 1 :])
                if prod(result[:place]) != before or prod(result[place + 1 :]) != after:
                    raise MetadataError(
                        f"codec 'reshape': dimension {place} of {show(result)} does not run along"
                        f" input dimensions {show(list(item))} of {shape}"
                    )
        return result

    def prepare(self, stage: ArrayStage) -> Step:
        before, after = stage.shape, self._output(stage.shape)

        def encode(array: NDArray) -> NDArray:
            return array.reshape(after)

        def decode(array: NDArray) -> NDArray:
            return array.reshape(before)

        return Step(ArrayStage(after, stage.dtype, stage.fill, stage.type_name), encode, decode)
