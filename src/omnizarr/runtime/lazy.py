"""Names of a package that are imported when they are first used.

A package whose `__init__` imports its own modules cannot be entered by two threads at once: the one
that imports the package and the one that imports a module of it wait for each other. The packages
of omnizarr name theirs in a table instead:

    _LAZY = {"reading": ("read",), "writing": ("encode", "write")}

    if not TYPE_CHECKING:
        __getattr__ = first_use(__name__, _LAZY)

No name may be that of a module of its package: importing the module would replace it.

Python holds a lock while it imports a module, which would stay locked in a child that is forked
meanwhile: forks wait.

This module knows modules and names. It must not know what they are for.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from omnizarr.runtime import forks


def first_use(
    package: str,
    modules: Mapping[str, tuple[str, ...]],
    otherwise: Callable[[str], Any] | None = None,
) -> Callable[[str], Any]:
    """The `__getattr__` of a package.

    modules: those below the package, and the names that each of them has. otherwise: asked for
    all other names; it raises AttributeError."""
    homes = {name: f"{package}.{module}" for module, names in modules.items() for name in names}

    def found(name: str) -> Any:
        if name in homes:
            with forks.postponed:
                value = getattr(import_module(homes[name]), name)
            setattr(sys.modules[package], name, value)
            return value
        if otherwise is not None:
            return otherwise(name)
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return found
