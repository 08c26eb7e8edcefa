"""Which optional packages are there. Nothing is imported: it is only looked for."""

from __future__ import annotations

from typing import NamedTuple


class Need(NamedTuple):
    """Packages that something needs, and what installs them."""

    modules: tuple[str, ...] = ()
    install: str = ""
    """What `pip install` takes."""

    @property
    def missing(self) -> tuple[str, ...]:
        return tuple(name for name in self.modules if not is_there(name))

    @property
    def hint(self) -> str | None:
        """The command that brings what is missing; None if nothing is."""
        return f"pip install {self.install}" if self.missing else None


def is_there(module: str) -> bool:
    from importlib.util import find_spec

    try:
        return find_spec(module) is not None
    except (ImportError, ValueError):
        return False


def extra(name: str, *modules: str) -> Need:
    """What an extra of omnizarr brings."""
    return Need(modules, f"'omnizarr[{name}]'")
