"""`transpose`: dimensions in another order.

Spec: Zarr v3 core, codecs/transpose. Configuration: `order`, a permutation (dimension i of the
stored array is dimension order[i] of the array); "C" and "F" were allowed until October 2023.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from omnizarr.codecs.base import ArrayStage, CodecKind, Context, Step
from omnizarr.codecs.configuration import only, option
from omnizarr.codecs.document import CodecDocument
from omnizarr.keywords import suggesting
from omnizarr.model.axes import permutation
from omnizarr.model.codec import CodecSpec
from omnizarr.model.grids import NDArray


@suggesting
@dataclass(frozen=True)
class TransposeCodec(CodecDocument):
    """The axes of a chunk in another order.

    Raises
    ------
    MetadataError
        If `order` is no permutation.

    Examples
    --------
    >>> codec = omnizarr.codecs.TransposeCodec(order=(1, 0))
    >>> array = omnizarr.create_array({}, shape=(3, 4), dtype="i4", filters=codec)
    """

    kind: ClassVar[CodecKind] = "array-array"
    order: Sequence[int] | Literal["C", "F"]
    """A permutation of the axes, "C" or "F"."""

    def __post_init__(self) -> None:
        if self.order not in ("C", "F"):
            order: Any = self.order
            count = len(order) if isinstance(order, Sequence) else 0
            object.__setattr__(self, "order", permutation(order, count))

    @classmethod
    def from_spec(cls, spec: CodecSpec, context: Context) -> TransposeCodec:
        only(spec, "order")
        return cls(option(spec, "order"))

    def spec(self) -> CodecSpec:
        order = self.order if isinstance(self.order, str) else list(self.order)
        return CodecSpec("transpose", {"order": order})

    def prepare(self, stage: ArrayStage) -> Step:
        order = permutation(self.order, len(stage.shape))
        inverse = tuple(sorted(range(len(order)), key=order.__getitem__))
        output = ArrayStage(
            tuple(stage.shape[axis] for axis in order), stage.dtype, stage.fill, stage.type_name
        )

        def view(array: NDArray) -> NDArray:
            return array.transpose(order)

        def decode(array: NDArray) -> NDArray:
            return array.transpose(inverse)

        spec = TransposeCodec(order).spec() if isinstance(self.order, str) else None
        return Step(output, view, decode, view=view, spec=spec)
