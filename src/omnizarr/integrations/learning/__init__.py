"""Samples and batches for training, as NumPy arrays: what PyTorch, JAX and TensorFlow share.

    windows    which boxes of an array are samples, and which chunks they begin in
    order      which samples come in which order, for every worker of every rank
    samples    reading samples of aligned arrays
    batches    an epoch of batches, read ahead

`omnizarr.integrations.torch`, `omnizarr.integrations.jax` and `omnizarr.integrations.tensorflow`
stand on it.
"""

from __future__ import annotations

from omnizarr.integrations.learning.batches import Batches
from omnizarr.integrations.learning.samples import Samples

__all__ = ["Batches", "Samples"]


def __dir__() -> list[str]:
    return sorted(__all__)
