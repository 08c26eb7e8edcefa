"""Modules that zarr-python has loaded after `import zarr`, and that are loaded here when used."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from types import ModuleType


def imports(package: str) -> Callable[[str], ModuleType]:
    """Make the `__getattr__` of a package: it imports the submodules of the package."""

    def submodule(name: str) -> ModuleType:
        if not name.startswith("_"):
            try:
                return import_module(f"{package}.{name}")
            except ModuleNotFoundError as error:
                if error.name != f"{package}.{name}":
                    raise
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return submodule
