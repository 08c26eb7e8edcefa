"""Small helpers for tests. They need pytest."""

from __future__ import annotations

import importlib
from typing import Any, TypeVar

import pytest

from omnizarr.compat.zarr3.core.buffer import Buffer

__all__ = ["assert_bytes_equal"]

T = TypeVar("T")


def assert_bytes_equal(
    b1: Buffer | bytes | memoryview | None, b2: Buffer | bytes | memoryview | None
) -> None:
    """Assert that two values have the same bytes, or that both are None.

    Parameters
    ----------
    b1, b2
        Buffers, or bytes.

    Examples
    --------
    >>> from omnizarr.compat.zarr3.buffer.cpu import Buffer
    >>> assert_bytes_equal(Buffer.from_bytes(b"value"), b"value")
    """
    first, second = (b.to_bytes() if isinstance(b, Buffer) else b for b in (b1, b2))
    assert first == second


def has_cupy() -> bool:
    """Tell whether there is CuPy and a GPU.

    Examples
    --------
    >>> has_cupy() in (True, False)
    True
    """
    try:
        runtime: Any = importlib.import_module("cupy").cuda.runtime
    except ImportError:
        return False
    try:
        return bool(runtime.getDeviceCount() > 0)
    except runtime.CUDARuntimeError:
        return False


skip_if_no_gpu = pytest.mark.skipif(not has_cupy(), reason="there is no CuPy or no GPU")


def gpu_test(func: T) -> T:
    """Mark a test that needs a GPU, and skip it where there is none.

    Parameters
    ----------
    func
        The test. Declare the marker `gpu` where pytest runs with `--strict-markers`.
    """
    marked: T = pytest.mark.gpu(skip_if_no_gpu(func))  # type: ignore[assignment]  # as it was
    return marked


def __getattr__(name: str) -> Any:
    if name == "gpu_mark":  # strict markers refuse it where it is not declared
        return pytest.mark.gpu
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
