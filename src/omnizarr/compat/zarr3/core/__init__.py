"""Names of `zarr.core` that other libraries import: renamed, translated, never a second engine."""

from omnizarr.compat.zarr3._submodules import imports

__getattr__ = imports(__name__)
