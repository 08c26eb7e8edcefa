"""Kits with which authors of plug-ins prove their own work.

    StoreSuite       every rule of `omnizarr.stores.Store`, as a pytest class to subclass
    WatchedStore     the base of wrappers that look at every call
    CountingStore    counts the calls that reach a store
    LoggingStore     writes them to a log
    FaultStore       makes chosen calls fail or wait

`StoreSuite` needs pytest and Hypothesis, the wrappers need nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from omnizarr.testing.faults import CountingStore, FaultStore, LoggingStore, WatchedStore

if TYPE_CHECKING:
    from omnizarr.testing.stores import StoreSuite

__all__ = ["CountingStore", "FaultStore", "LoggingStore", "StoreSuite", "WatchedStore"]


def __getattr__(name: str) -> Any:
    if name == "StoreSuite":
        import pytest

        # A failing assertion of the suite then shows its values, as in a test file.
        pytest.register_assert_rewrite(f"{__name__}.stores", f"{__name__}.store_concurrency")
        from omnizarr.testing.stores import StoreSuite

        return StoreSuite
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
