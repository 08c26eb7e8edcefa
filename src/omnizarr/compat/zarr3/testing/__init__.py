"""Tools for the tests of libraries that build on zarr-python.

`omnizarr.testing` has more for authors of stores. zarr-python's strategies for Hypothesis and its
state machines are not here (docs/migration.md).
"""

from omnizarr.compat.zarr3.testing.utils import assert_bytes_equal

__all__ = ["assert_bytes_equal"]
