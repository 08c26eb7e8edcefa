"""Kits with which authors of plug-ins prove their own work.

    StoreSuite       every rule of `omnizarr.stores.Store`, as a pytest class to subclass
    ReadingSuite     the part of it that a store for reading only can be put to
    WatchedStore     the base of wrappers that look at every call
    CountingStore    counts the calls that reach a store
    LoggingStore     writes them to a log
    FaultStore       makes chosen calls fail or wait
    LatencyStore     answers as late as a store far away

`python -m omnizarr.testing.conformance` reads stores that many libraries wrote, with omnizarr or
with another library, and compares every value.

The suites need pytest and Hypothesis, the wrappers need nothing.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from omnizarr.testing.faults import CountingStore, FaultStore, LoggingStore, WatchedStore
from omnizarr.testing.latency import LatencyStore

if TYPE_CHECKING:
    from omnizarr.testing.store_reading import ReadingSuite
    from omnizarr.testing.stores import StoreSuite

__all__ = [
    "CountingStore",
    "FaultStore",
    "LatencyStore",
    "LoggingStore",
    "ReadingSuite",
    "StoreSuite",
    "WatchedStore",
]


def __dir__() -> list[str]:
    return sorted(__all__)


def __getattr__(name: str) -> Any:
    if name in ("StoreSuite", "ReadingSuite"):
        from omnizarr.testing.packages import pytest

        # A failing assertion of the suite then shows its values, as in a test file.
        modules = {f"{__name__}.{m}" for m in ("stores", "store_concurrency", "store_reading")}
        pytest.register_assert_rewrite(*(modules - sys.modules.keys()))
        from omnizarr.testing.store_reading import ReadingSuite
        from omnizarr.testing.stores import StoreSuite

        return StoreSuite if name == "StoreSuite" else ReadingSuite
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
