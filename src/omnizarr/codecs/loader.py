"""Libraries under the codecs, loaded when first used.

Importing numcodecs costs as much as all of omnizarr, so nothing loads it before a codec needs
it: where the native core is installed, that is the first chunk that it leaves to Python. A library
that is not installed gives an error that names the package.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import cache
from types import ModuleType
from typing import Any

from omnizarr.errors import UnknownCodecError
from omnizarr.runtime.native_core import core

PACKAGES = {"google_crc32c": "google-crc32c", "msgpack": "msgpack"}


@cache
def library(name: str, codec: str) -> Any:
    """A module, for a codec that cannot work without it."""
    try:
        # Threads that import different modules of a package must meet at the package first.
        importlib.import_module(name.partition(".")[0])
        return importlib.import_module(name)
    except ImportError as error:
        package = PACKAGES.get(name, name.partition(".")[0])
        raise UnknownCodecError(
            f"codec {codec!r} needs the package {package!r}, which is not installed:"
            f" pip install {package}"
        ) from error


def load_without_core(load: Callable[[], object]) -> None:
    """Load a library before any chunk is touched, unless the native core stands in for it."""
    if core() is None:
        load()


@cache
def blosc() -> ModuleType:
    """numcodecs' c-blosc, told to stay in the calling thread.

    Its other mode shares one context. A decoding error never releases the lock of that context, and
    its threads do not exist in a forked child. The engine runs chunks in parallel.
    """
    module = library("numcodecs.blosc", "blosc")
    module.use_threads = False
    return module  # type: ignore[no-any-return]
