"""JAX on omnizarr: batches as arrays of JAX.

for batch in as_jax(Batches("images.zarr", batch_size=64)):
    state = step(state, batch)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from omnizarr.runtime.optional_packages import package

_jax = package("jax", "jax", "omnizarr.integrations.jax")  # says what to install

if TYPE_CHECKING:
    import jax

    from omnizarr.integrations.learning.batches import Batch

__all__ = ["as_jax"]


def __dir__() -> list[str]:
    return sorted(__all__)


def as_jax(batches: Iterable[Batch]) -> Iterator[jax.Array | dict[str, jax.Array]]:
    """Every batch as arrays of JAX, by DLPack.

    On a CPU a batch that begins at a multiple of 64 bytes, as most of `Batches` do, is not copied.
    JAX makes 32-bit numbers of 64-bit ones unless `jax_enable_x64` is set.

    Parameters
    ----------
    batches
        `omnizarr.integrations.learning.Batches`, or any NumPy arrays or dictionaries of them that
        nobody changes later.

    Yields
    ------
    jax.Array or dict
        As the batch is.

    Examples
    --------
    >>> from omnizarr.integrations.learning import Batches
    >>> batches = Batches(omnizarr.array(np.arange(4, dtype="i4")), batch_size=2, shuffle=False)
    >>> [*as_jax(batches)]
    [Array([0, 1], dtype=int32), Array([2, 3], dtype=int32)]
    """
    return (_jax.tree.map(_converted, batch) for batch in batches)


def _converted(values: Any) -> Any:
    try:
        return _jax.dlpack.from_dlpack(np.asarray(values))
    except BufferError:  # NumPy's DLPack lacks bfloat16 and its kin
        return _jax.numpy.asarray(values)
