"""Which flavours of dbm this machine has. A Python that was built without some may borrow the
extension modules of the system's Python, if that is of the same version."""

from __future__ import annotations

import importlib
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

_EXTENSIONS = {"dbm.gnu": "_gdbm", "dbm.ndbm": "_dbm"}
_ALL = ("dbm.dumb", "dbm.gnu", "dbm.ndbm", "dbm.sqlite3")


def _borrowed(name: str) -> Path | None:
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    folder = Path("/usr/lib") / f"python{version}" / "lib-dynload"
    return next(iter(folder.glob(f"{_EXTENSIONS[name]}.*.so")), None)


def _own(name: str) -> bool:
    try:
        importlib.import_module(name)
    except ImportError:
        return False
    return True


OWN = tuple(name for name in _ALL if _own(name))
FLAVOURS = tuple(
    name for name in _ALL if name in OWN or (name in _EXTENSIONS and _borrowed(name) is not None)
)


@contextmanager
def load(name: str) -> Iterator[ModuleType]:
    """The flavour's module, importable inside the block."""
    if name in OWN:
        yield importlib.import_module(name)
        return
    path = _borrowed(name)
    assert path is not None
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / path.name).symlink_to(path)
        sys.path.append(folder)  # and so on the path of the processes that a test starts
        importlib.invalidate_caches()
        try:
            yield importlib.import_module(name)
        finally:
            sys.path.remove(folder)
            for loaded in (_EXTENSIONS[name], name):
                sys.modules.pop(loaded, None)
