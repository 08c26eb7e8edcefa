"""`install`: the modules of `compat.zarr3` or `compat.zarr2`, found under the name ``zarr``.

A finder at the front of `sys.meta_path` answers for ``zarr`` and every module below it with the
module of the same place below `omnizarr.compat.zarr3`: the same object, so that a class has one
identity under both names. A module that the generation does not have is a ModuleNotFoundError, also
where zarr-python is installed: a mixture of both libraries would fail later and less clearly.

This module knows how modules are found. It must not know what they contain.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Iterator, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from importlib.metadata import Distribution, DistributionFinder

SERVED = "zarr"
GENERATIONS = {2: "omnizarr.compat.zarr2", 3: "omnizarr.compat.zarr3"}


def install(version: int = 3) -> None:
    """Serve omnizarr as ``zarr`` to everything that is imported afterwards.

    Call it before the first library that imports ``zarr``: modules that did keep the classes of
    zarr-python. It works where zarr-python is installed and where it is not.

    Parameters
    ----------
    version
        The generation of zarr-python to stand in for: 3, or 2.

    Raises
    ------
    ValueError
        If there is no such generation.
    RuntimeError
        If zarr-python itself, or the other generation, was imported as ``zarr`` already.

    Examples
    --------
    >>> import subprocess, sys
    >>> code = "from omnizarr import compat; compat.install(); import zarr; print(zarr.ones(3)[:])"
    >>> print(subprocess.check_output([sys.executable, "-c", code], text=True).strip())
    [1. 1. 1.]
    """
    if version not in GENERATIONS:
        raise ValueError(f"version={version!r}: zarr-python has the generations 2 and 3")
    real = GENERATIONS[version]
    loaded = sys.modules.get(SERVED)
    if loaded is not None and loaded.__name__ != real:
        what = loaded.__name__ if loaded.__name__ != SERVED else f"zarr-python {_version(loaded)}"
        raise RuntimeError(
            f"{what} was imported as {SERVED!r} before install({version}); "
            "call omnizarr.compat.install() before everything that imports zarr"
        )
    _remove_finders()
    sys.meta_path.insert(0, _Finder(real))


def uninstall() -> None:
    """Undo `install`: the next ``import zarr`` finds zarr-python again, or nothing.

    Libraries that were imported in between keep what they have.

    Examples
    --------
    >>> import omnizarr.compat
    >>> omnizarr.compat.uninstall()
    """
    _remove_finders()
    for name, module in list(sys.modules.items()):
        if _is_served(name) and module.__name__.startswith("omnizarr."):
            del sys.modules[name]


def _version(module: ModuleType) -> str:
    return str(getattr(module, "__version__", "of an unknown version"))


def _is_served(name: str) -> bool:
    return name == SERVED or name.startswith(SERVED + ".")


def _remove_finders() -> None:
    sys.meta_path[:] = [finder for finder in sys.meta_path if not isinstance(finder, _Finder)]


class _Finder(MetaPathFinder):
    """Answers for ``zarr`` and what is below it."""

    def __init__(self, real: str) -> None:
        self.real = real

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None = None,
        target: ModuleType | None = None,
    ) -> ModuleSpec | None:
        if not _is_served(fullname):
            return None
        real = self.real + fullname[len(SERVED) :]
        found = importlib.util.find_spec(real)
        if found is None:
            raise ModuleNotFoundError(
                f"No module named {fullname!r}: it is served by {self.real}, "
                "which does not have it; see docs/migration.md",
                name=fullname,
            )
        is_package = found.submodule_search_locations is not None
        return ModuleSpec(fullname, _Loader(real), origin=found.origin, is_package=is_package)

    def find_distributions(self, context: DistributionFinder.Context) -> Iterator[Distribution]:
        """What `importlib.metadata.version("zarr")` finds: libraries choose their ways by it."""
        if context.name == SERVED:
            from omnizarr.compat.distribution import Served

            yield Served(SERVED, importlib.import_module(self.real).__version__)


class _Loader(Loader):
    """Gives the module of another name, untouched."""

    def __init__(self, real: str) -> None:
        self.real = real

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = importlib.import_module(self.real)
        self.spec = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__ = self.spec  # importlib has replaced it by that of the alias
