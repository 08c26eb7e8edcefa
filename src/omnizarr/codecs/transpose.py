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
from omnizarr.errors import MetadataError
from omnizarr.keywords import suggesting
from omnizarr.model.codec import CodecSpec
from omnizarr.model.grids import NDArray
from omnizarr.model.json import show


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
        if self.order in ("C", "F"):
            return
        if isinstance(self.order, str) or not isinstance(self.order, Sequence):
            raise MetadataError(
                f"codec 'transpose': order must be a permutation, found {show(self.order)}"
            )
        order: tuple[Any, ...] = tuple(self.order)
        whole = all(isinstance(axis, int) and not isinstance(axis, bool) for axis in order)
        if not whole or sorted(order) != list(range(len(order))):
            raise MetadataError(
                f"codec 'transpose': order must be a permutation of 0 to {len(order) - 1},"
                f" found {show(list(order))}"
            )
        object.__setattr__(self, "order", order)

    @classmethod
    def from_spec(cls, spec: CodecSpec, context: Context) -> TransposeCodec:
        only(spec, "order")
        return cls(option(spec, "order"))

    def spec(self) -> CodecSpec:
        order = self.order if isinstance(self.order, str) else list(self.order)
        return CodecSpec("transpose", {"order": order})

    def _permutation(self, stage: ArrayStage) -> tuple[int, ...]:
        ndim = len(stage.shape)
        if self.order == "C":
            return tuple(range(ndim))
        if self.order == "F":
            return tuple(reversed(range(ndim)))
        if len(self.order) != ndim:
            raise MetadataError(
                f"codec 'transpose': order {show(list(self.order))} is for {len(self.order)}"
                f" dimensions, the chunk {stage.shape} has {ndim}"
            )
        return tuple(int(axis) for axis in self.order)

    def prepare(self, stage: ArrayStage) -> Step:
        order = self._permutation(stage)
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
