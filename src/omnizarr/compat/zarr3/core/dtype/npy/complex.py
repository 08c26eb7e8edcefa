"""Complex numbers."""

from omnizarr.compat.zarr3.core.dtype.npy.numbers import (
    BaseComplex,
    Complex64,
    Complex128,
)

__all__ = ["BaseComplex", "Complex64", "Complex128"]
