"""Batches as arrays of JAX."""

from __future__ import annotations

import doctest

import jax
import ml_dtypes
import numpy as np
import pytest

import omnizarr
from omnizarr.integrations import jax as ours
from omnizarr.integrations.jax import as_jax
from omnizarr.integrations.learning import Batches


def test_an_epoch() -> None:
    arrays = {
        "x": omnizarr.array(np.arange(40.0, dtype=">f4").reshape(20, 2), chunks=4),
        "y": omnizarr.array(np.arange(20, dtype="i4"), chunks=5),
    }
    found = []
    for batch in as_jax(Batches(arrays, batch_size=6)):
        assert all(isinstance(each, jax.Array) for each in batch.values())
        assert (batch["x"][:, 0] == 2 * batch["y"]).all()
        found += batch["y"].tolist()
    assert sorted(found) == [*range(20)]


def test_a_batch_is_not_copied() -> None:
    batches = Batches(omnizarr.zeros((64, 16), dtype="f4", chunks=(32, 16)), batch_size=16)
    for values in batches:
        [found] = as_jax([values])
        assert found.unsafe_buffer_pointer() == values.ctypes.data


def test_small_floats_and_scalars() -> None:
    values = np.arange(4).astype(ml_dtypes.bfloat16)
    [found] = as_jax(Batches(omnizarr.array(values), batch_size=4, shuffle=False))
    assert found.dtype == jax.numpy.bfloat16 and found.tolist() == [0, 1, 2, 3]
    assert [int(x) for x in as_jax(Batches(omnizarr.array([1, 2]), shuffle=False))] == [1, 2]


def test_arrays_of_jax_are_not_filled() -> None:
    with pytest.raises(ValueError, match="read-only"):
        omnizarr.zeros(4).read(out=jax.numpy.zeros(4))


def test_examples_run() -> None:
    known = {"np": np, "omnizarr": omnizarr}
    assert doctest.testmod(ours, extraglobs=known).failed == 0
