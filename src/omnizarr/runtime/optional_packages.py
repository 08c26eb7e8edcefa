"""Optional packages: imported when first needed; the error says how to get a missing one.

This module knows how packages are imported. It must not know what they are for.
"""

from __future__ import annotations

import importlib
from typing import Any

from omnizarr.errors import MissingPackageError


def package(name: str, extra: str, purpose: str) -> Any:
    """The module `name`, which `pip install 'omnizarr[extra]'` brings."""
    try:
        return importlib.import_module(name)
    except MissingPackageError:  # a part of omnizarr, which has said what it needs
        raise
    except ImportError as error:
        missing = MissingPackageError(f"{purpose} needs the package {name.partition('.')[0]}")
        raise missing.advise(f"pip install 'omnizarr[{extra}]'") from error
