"""Data types, under the name that zarr-python documents: `zarr.dtype`."""

from omnizarr.compat.zarr3.core.dtype import *  # noqa: F403
from omnizarr.compat.zarr3.core.dtype import __all__ as _names
from omnizarr.compat.zarr3.core.dtype.common import (
    DTypeSpec_V2,
    check_dtype_spec_no_object_codec_v2,
    check_dtype_spec_v2,
)
from omnizarr.compat.zarr3.core.dtype.problems import moved_error

__all__ = list(_names)
__all__ += ["DTypeSpec_V2", "check_dtype_spec_no_object_codec_v2", "check_dtype_spec_v2"]

__getattr__ = moved_error("zarr.dtype")
