"""TensorFlow on omnizarr: batches as tensors, and as a `tf.data.Dataset`.

for batch in as_tensorflow(Batches("images.zarr", batch_size=64)):
    step(batch)

model.fit(as_dataset(Batches("images.zarr", batch_size=64)))
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from omnizarr.integrations.learning.batches import Batches
from omnizarr.integrations.learning.samples import ALIGNMENT
from omnizarr.runtime.optional_packages import package

_tf = package("tensorflow", "tensorflow", "omnizarr.integrations.tensorflow")

if TYPE_CHECKING:
    import tensorflow

    from omnizarr.integrations.learning.batches import Batch

__all__ = ["as_dataset", "as_tensorflow"]


def __dir__() -> list[str]:
    return sorted(__all__)


def as_tensorflow(
    batches: Iterable[Batch],
) -> Iterator[tensorflow.Tensor | dict[str, tensorflow.Tensor]]:
    """Every batch as tensors of TensorFlow.

    A batch that begins at a multiple of 64 bytes, as most of `Batches` do, is handed over by DLPack
    and not copied.

    Parameters
    ----------
    batches
        `omnizarr.integrations.learning.Batches`, or any NumPy arrays or dictionaries of them that
        nobody changes later.

    Yields
    ------
    tf.Tensor or dict
        As the batch is.

    Examples
    --------
    >>> from omnizarr.integrations.learning import Batches
    >>> batches = Batches(omnizarr.array(np.arange(4)), batch_size=2, shuffle=False)
    >>> [batch.numpy().tolist() for batch in as_tensorflow(batches)]
    [[0, 1], [2, 3]]
    """
    return (_tf.nest.map_structure(_converted, batch) for batch in batches)


def as_dataset(batches: Batches) -> tensorflow.data.Dataset:
    """A `tf.data.Dataset` of the batches of one epoch.

    Parameters
    ----------
    batches
        Where they come from. Each iteration of the dataset is one of these, so that `set_epoch`
        counts.

    Returns
    -------
    tf.data.Dataset
        Its `element_spec` is that of the batches, whose first length is not fixed.

    Examples
    --------
    >>> from omnizarr.integrations.learning import Batches
    >>> batches = Batches({"x": omnizarr.array(np.arange(4))}, batch_size=4, shuffle=False)
    >>> [batch["x"].numpy().tolist() for batch in as_dataset(batches)]
    [[0, 1, 2, 3]]
    """
    spec = {
        name: _tf.TensorSpec(shape, dtype) for name, (shape, dtype) in batches.specification.items()
    }
    signature = spec[""] if batches.samples.single else spec
    found = _tf.data.Dataset.from_generator(lambda: iter(batches), output_signature=signature)
    return found.apply(_tf.data.experimental.assert_cardinality(len(batches)))


def _converted(values: Any) -> Any:
    # TensorFlow ends the process when it computes with memory that is not aligned.
    if isinstance(values, np.ndarray) and values.ctypes.data % ALIGNMENT == 0:
        try:
            return _tf.experimental.dlpack.from_dlpack(values.__dlpack__())
        except BufferError:  # NumPy's DLPack lacks bfloat16 and its kin
            pass
    return _tf.convert_to_tensor(values)
