"""The names of zarr-python 2, over omnizarr."""

from omnizarr import *  # noqa: F403

__version__ = "2.18.7"
