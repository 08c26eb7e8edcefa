"""The interfaces that authors of stores and codecs implement."""

from omnizarr.compat.zarr3._submodules import imports

__getattr__ = imports(__name__)
