"""Batches as tensors of TensorFlow."""

from __future__ import annotations

import doctest

import ml_dtypes
import numpy as np
import tensorflow as tf

import omnizarr
from omnizarr.integrations import tensorflow as ours
from omnizarr.integrations.learning import Batches
from omnizarr.integrations.tensorflow import as_dataset, as_tensorflow


def arrays() -> dict[str, omnizarr.Array]:
    return {
        "x": omnizarr.array(np.arange(40.0, dtype=">f4").reshape(20, 2), chunks=4),
        "y": omnizarr.array(np.arange(20), chunks=5),
    }


def test_an_epoch() -> None:
    # Batches of 7 begin anywhere in memory: TensorFlow would end the process.
    for size in (6, 7, None):
        found = []
        for batch in as_tensorflow(Batches(arrays(), batch_size=size)):
            doubled = 2 * tf.cast(batch["y"], tf.float32)
            assert bool(tf.reduce_all(batch["x"][..., 0] + 1 == doubled + 1))
            found += np.ravel(batch["y"].numpy()).tolist()
        assert sorted(found) == [*range(20)]


def test_a_batch_is_not_copied() -> None:
    batches = Batches(omnizarr.zeros((64, 16), dtype="f4", chunks=(32, 16)), batch_size=16)
    for values in batches:
        [found] = as_tensorflow([values])
        values[0] = 9
        assert found[0, 0].numpy() == 9


def test_a_dataset() -> None:
    batches = Batches(arrays(), batch_size=6)
    dataset = as_dataset(batches)
    assert dataset.element_spec["x"] == tf.TensorSpec((None, 2), tf.float32)
    assert int(dataset.cardinality()) == 4
    epochs = []
    for epoch in (0, 1):
        batches.set_epoch(epoch)
        epochs.append([y for batch in dataset for y in batch["y"].numpy().tolist()])
    assert sorted(epochs[0]) == sorted(epochs[1]) == [*range(20)] and epochs[0] != epochs[1]


def test_small_floats() -> None:
    values = np.arange(4).astype(ml_dtypes.bfloat16)
    [found] = as_tensorflow(Batches(omnizarr.array(values), batch_size=4, shuffle=False))
    assert found.dtype == tf.bfloat16 and found.numpy().tolist() == [0, 1, 2, 3]


def test_examples_run() -> None:
    known = {"np": np, "omnizarr": omnizarr}
    assert doctest.testmod(ours, extraglobs=known).failed == 0
