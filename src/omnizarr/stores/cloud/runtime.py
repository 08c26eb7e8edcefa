"""Load obstore's extension module so that it works in this process, also in a forked one.

obstore works in threads of its own, which a forked child does not inherit: a call there would never
return. Its library cannot be started again, but it can be loaded again under another file name,
with new threads. So a child gets its own copy of the module, with other functions and classes, and
must build its stores anew (`epoch` tells when).

This module knows processes and how modules are loaded. It must not know requests.
"""

from __future__ import annotations

import os
import sys
import threading
from typing import Any

from omnizarr.errors import StoreError
from omnizarr.runtime import forks
from omnizarr.runtime.optional_packages import package

_guard = threading.Lock()
_module: Any = None
_forked = False
_epoch = 0
_kept: list[object] = []


def _after_fork() -> None:
    global _guard, _module, _forked, _epoch
    _guard = threading.Lock()
    _kept.append(_module)
    _module = None
    _epoch += 1
    # Other packages may have used obstore too.
    _forked = _forked or "obstore" in sys.modules


forks.in_child(_after_fork)


def epoch() -> int:
    """A number that changes with every fork; clients of another epoch must not be used."""
    return _epoch


def keep(thing: object) -> None:
    """Keep an object alive for ever: its destructor would need threads of the parent process."""
    _kept.append(thing)


def extension() -> Any:
    """obstore's functions (`get`, `put`, …) and its classes of stores (`_store.S3Store`, …)."""
    global _module
    if _module is None:
        with _guard:
            if _module is None:
                obstore = package("obstore", "cloud", "an object store")
                _module = _copy_of(obstore._obstore) if _forked else obstore._obstore
    return _module


def _copy_of(original: Any) -> Any:
    """The same extension module, loaded once more from a copy of its file in memory."""
    from importlib.machinery import ExtensionFileLoader
    from importlib.util import module_from_spec, spec_from_file_location

    if not hasattr(os, "memfd_create"):
        raise StoreError(
            "object stores do not work in a forked process on this platform: start processes with"
            " multiprocessing.get_context('spawn') or 'forkserver'"
        )
    descriptor = os.memfd_create("obstore")
    try:
        with open(original.__file__, "rb") as file:
            data = memoryview(file.read())
        while data:
            data = data[os.write(descriptor, data) :]
        # The loader knows libraries by name, so every generation of processes needs another name.
        path = f"/proc/self/fd/{'./' * _epoch}{descriptor}"
        loader = ExtensionFileLoader(original.__name__, path)
        spec = spec_from_file_location(original.__name__, path, loader=loader)
        if spec is None:
            raise ImportError(f"no module can be made of {path}")
        module = module_from_spec(spec)
        loader.exec_module(module)
    except (OSError, ImportError) as error:
        raise StoreError(
            f"obstore could not be started anew in a forked process ({error}): start processes with"
            " multiprocessing.get_context('spawn') or 'forkserver'"
        ) from error
    finally:
        os.close(descriptor)
    return module
