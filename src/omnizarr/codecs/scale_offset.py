"""`scale_offset`: (x − offset) × scale, in the array's own data type.

Spec: zarr-extensions, codecs/scale_offset. Configuration: `offset` (0) and `scale` (1), written
like fill values of the data type.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from omnizarr.codecs.base import ArrayStage, CodecKind, Step, encoded_fill
from omnizarr.codecs.configuration import ConfiguredCodec, member
from omnizarr.errors import DecodeError, EncodeError, MetadataError
from omnizarr.keywords import suggesting
from omnizarr.model.codec import CodecSpec, Json
from omnizarr.model.dtypes import from_numpy
from omnizarr.model.grids import NDArray
from omnizarr.model.json import show

NAME = "scale_offset"


def _scalar(spec: CodecSpec, key: str, default: int) -> Json:
    """A member as it is; `prepare`, which knows the data type, checks it. Null is not missing."""
    return spec.configuration.get(key, default)


@suggesting
@dataclass(frozen=True)
class ScaleOffsetCodec(ConfiguredCodec):
    """Stores (x - offset) * scale: `omnizarr.codecs.ScaleOffset`.

    Examples
    --------
    >>> codec = omnizarr.codecs.ScaleOffset(offset=273.15, scale=100.0)
    >>> a = omnizarr.create_array({}, data=[280.0, 290.0], filters=[codec])
    >>> a[:].round(6).tolist()
    [280.0, 290.0]
    """

    kind: ClassVar[CodecKind] = "array-array"
    strict: ClassVar[bool] = True
    offset: Json = member(_scalar, default=0)
    """What is subtracted first, written like a fill value of the type."""
    scale: Json = member(_scalar, default=1)
    """What the difference is multiplied with; not 0."""
    name: str = NAME
    """Its name in metadata."""

    def spec(self) -> CodecSpec:
        """Give the metadata that describes the codec, without members at their default."""
        whole = super().spec()
        usual = {"offset": 0, "scale": 1}
        kept = {key: item for key, item in whole.configuration.items() if item != usual.get(key)}
        return CodecSpec(whole.name, kept, whole.must_understand)

    def _scalar(self, key: str, dtype: np.dtype[Any]) -> Any:
        value = getattr(self, key)
        if dtype.kind == "c" and type(value) in (int, float):
            value = [value, 0]  # what is missing, and what other software writes
        try:
            return from_numpy(dtype).fill_from_json(value)
        except MetadataError as error:
            raise MetadataError(
                f"codec {NAME!r}: {key} value {show(getattr(self, key))} is not representable in"
                f" {dtype}: {error}"
            ) from error

    def prepare(self, stage: ArrayStage) -> Step:
        dtype = stage.dtype
        if dtype.kind not in "iufc" and dtype.name != "bfloat16":
            raise MetadataError(f"codec {NAME!r}: scales numbers, not {dtype}")
        offset, scale = self._scalar("offset", dtype), self._scalar("scale", dtype)
        if scale == 0:
            raise MetadataError(f"codec {NAME!r}: scale must be non-zero, or it cannot be undone")
        if dtype.kind in "iu":
            return self._of_integers(stage, int(offset), int(scale))

        def encode(array: NDArray) -> NDArray:
            with np.errstate(all="ignore"):
                return np.asarray((array - offset) * scale, dtype)

        def decode(array: NDArray) -> NDArray:
            with np.errstate(all="ignore"):
                return np.asarray(array / scale + offset, dtype)

        fill = encoded_fill(stage, encode)
        return Step(ArrayStage(stage.shape, dtype, fill, stage.type_name), encode, decode)

    def _of_integers(self, stage: ArrayStage, offset: int, scale: int) -> Step:
        """The same with integers, which have no place for what is too large or no whole number."""
        dtype = stage.dtype
        low, high = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)

        def fits(array: NDArray, function: Callable[[int], int]) -> bool:
            # The function rises or falls all the way: if its ends fit, all fits.
            ends = (function(int(array.min())), function(int(array.max()))) if array.size else ()
            return all(low <= end <= high for end in ends)

        def encode(array: NDArray) -> NDArray:
            if not fits(array, lambda value: (value - offset) * scale):
                raise EncodeError(f"codec {NAME!r}: a value is outside the range of dtype {dtype}")
            # What leaves the range on the way comes back, modulo the same power of two.
            return np.asarray((array - dtype.type(offset)) * dtype.type(scale), dtype)

        def decode(array: NDArray) -> NDArray:
            if scale == -1:  # the one quotient that can leave the range
                quotient = np.negative(array)
            else:
                quotient, rest = np.divmod(array, dtype.type(scale))
                if rest.any():
                    raise DecodeError(
                        f"codec {NAME!r}: a stored value is no multiple of {scale}: dividing it"
                        " leaves a non-zero remainder"
                    )
            if not fits(array, lambda value: value // scale + offset):
                raise DecodeError(
                    f"codec {NAME!r}: a stored value is outside the range of dtype {dtype}"
                )
            return np.asarray(quotient + dtype.type(offset), dtype)

        fill = encoded_fill(stage, encode)
        return Step(ArrayStage(stage.shape, dtype, fill, stage.type_name), encode, decode)
