"""The names of zarr-python 3, over omnizarr."""

from omnizarr import *  # noqa: F403

__version__ = "3.4.2"
