"""zarr-python 2's `zarr.codecs`: the classes of numcodecs."""

import multiprocessing

import numcodecs
from numcodecs import *  # noqa: F403 - the codecs that are installed
from numcodecs import blosc, get_codec, register_codec
from numcodecs.registry import codec_registry

__all__ = [
    "blosc",
    "codec_registry",
    "get_codec",
    "ncores",
    "register_codec",
    *(name for name in dir(numcodecs) if name[0].isupper()),
]

ncores = multiprocessing.cpu_count()
