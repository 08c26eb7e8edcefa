"""Datasets in PyTorch's DataLoader, and reading into tensors."""

from __future__ import annotations

import doctest
import pickle
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import torch
from torch.utils.data import BatchSampler, DataLoader, RandomSampler
from torchdata.stateful_dataloader import StatefulDataLoader

import omnizarr
from omnizarr.integrations.torch import ChunkedDataset, MapDataset, as_tensor, datasets, tensors

LENGTH = 203
CONTEXTS = ("fork", "spawn")


@pytest.fixture
def group(tmp_path: Path) -> omnizarr.Group:
    root = omnizarr.open_group(tmp_path / "data.zarr", mode="w")
    rows = np.arange(LENGTH)[:, None, None]
    root.create_array("image", data=(rows + np.zeros((1, 4, 6))).astype(">f4"), chunks=(10, 4, 3))
    root.create_array("label", data=np.arange(LENGTH), chunks=64)
    return omnizarr.open_group(tmp_path / "data.zarr", mode="r")


def labels(batches: Any) -> list[int]:
    """The labels of an epoch; every image fits its label."""
    found = []
    for batch in batches:
        assert batch["image"].dtype == torch.float32
        assert (batch["image"] == batch["label"][:, None, None]).all()
        found += batch["label"].tolist()
    return found


def doubled(sample: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    return {**sample, "label": sample["label"] * 2}


@pytest.mark.parametrize("context", [None, *CONTEXTS])
@pytest.mark.parametrize("kind", ["map", "chunked"])
def test_workers_give_every_sample_once(
    kind: str, context: str | None, group: omnizarr.Group
) -> None:
    workers: dict[str, Any] = (
        {"num_workers": 2, "multiprocessing_context": context} if context else {}
    )
    if kind == "map":
        loader = DataLoader(MapDataset(group), batch_size=16, shuffle=True, **workers)
    else:
        loader = DataLoader(ChunkedDataset(group, batch_size=16), batch_size=None, **workers)
    found = [*loader]
    assert len(found) == len(loader) == 13
    assert sorted(labels(found)) == [*range(LENGTH)]


def test_an_item_is_a_sample(group: omnizarr.Group) -> None:
    dataset = MapDataset(group)
    assert len(dataset) == LENGTH
    assert dataset[5]["label"] == 5 and dataset[-1]["label"] == LENGTH - 1
    assert dataset[5]["image"].shape == (4, 6)
    with pytest.raises(IndexError):
        dataset[LENGTH]
    patches = MapDataset(group["image"], patch={1: 2, 2: 3})
    assert patches[3].shape == (LENGTH, 2, 3)
    assert MapDataset(group, transform=doubled)[4]["label"] == 8


def test_a_batch_is_read_at_once(group: omnizarr.Group, monkeypatch: pytest.MonkeyPatch) -> None:
    dataset = MapDataset(group)
    sampler = BatchSampler(RandomSampler(dataset), 50, drop_last=False)
    asked = []
    read = dataset.samples.read
    monkeypatch.setattr(dataset.samples, "read", lambda s: asked.append(len(s)) or read(s))
    assert sorted(labels(DataLoader(dataset, batch_sampler=sampler))) == [*range(LENGTH)]
    assert asked == [50, 50, 50, 50, 3]


def test_samples_can_be_batched_by_the_loader(group: omnizarr.Group) -> None:
    loader = DataLoader(ChunkedDataset(group), batch_size=16, num_workers=2)
    assert sorted(labels(loader)) == [*range(LENGTH)]
    changed = ChunkedDataset(group, batch_size=16, transform=doubled)
    assert sorted(x for b in changed for x in b["label"].tolist()) == [*range(0, 2 * LENGTH, 2)]


@pytest.mark.parametrize("workers", [0, 2])
def test_ranks_share_the_samples(workers: int, group: omnizarr.Group) -> None:
    for drop_last in (True, False):
        ranks = []
        for rank in range(3):
            dataset = ChunkedDataset(
                group, batch_size=8, rank=rank, world_size=3, drop_last=drop_last
            )
            loader = DataLoader(dataset, batch_size=None, num_workers=workers)
            batches = [*loader]
            assert len(batches) == len(loader)
            ranks.append(labels(batches))
        assert len({*map(len, ranks)}) == 1
        together = [label for rank in ranks for label in rank]
        if drop_last:
            assert len(together) == len({*together}) == 3 * 64
        else:
            assert {*together} == {*range(LENGTH)} and len(together) == 3 * 68


def test_the_epoch_reaches_workers_that_live_on(group: omnizarr.Group) -> None:
    dataset = ChunkedDataset(group, batch_size=16, seed=5)
    loader = DataLoader(dataset, batch_size=None, num_workers=2, persistent_workers=True)
    epochs = []
    for epoch in (0, 1, 0):
        dataset.set_epoch(epoch)
        epochs.append(labels(loader))
    assert epochs[0] == epochs[2] != epochs[1]
    assert sorted(epochs[1]) == [*range(LENGTH)]


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("stop", [0, 1, 6, 13])
def test_a_saved_state_goes_on(workers: int, stop: int, group: omnizarr.Group) -> None:
    def loader() -> Any:
        dataset = ChunkedDataset(group, batch_size=16, buffer=3)
        dataset.set_epoch(4)
        return StatefulDataLoader(dataset, batch_size=None, num_workers=workers)

    whole = labels(loader())
    first = loader()
    iterator = iter(first)
    before = labels(next(iterator) for _ in range(stop))
    state = pickle.loads(pickle.dumps(first.state_dict()))
    del iterator
    second = loader()
    second.load_state_dict(state)
    assert before + labels(second) == whole


def test_arrays_in_memory_are_not_sent() -> None:
    dataset = MapDataset(omnizarr.array(np.arange(9)))
    loader = DataLoader(dataset, num_workers=1, multiprocessing_context="spawn")
    with pytest.raises(omnizarr.errors.StoreError, match="every worker would get a copy"):
        next(iter(loader))


# -- tensors ---------------------------------------------------------------------------------


def test_reading_into_a_tensor() -> None:
    values = np.arange(24, dtype="i4").reshape(4, 6)
    a = omnizarr.array(values, chunks=(3, 2))
    for dtype in (torch.int32, torch.float64, torch.float16, torch.complex64):
        out = torch.empty(2, 6, dtype=dtype)
        assert a.read(slice(1, 3), out=out) is out
        assert (out == torch.from_numpy(values[1:3])).all()
    turned = torch.zeros(6, 4, dtype=torch.int32).T
    a.read(out=turned)
    assert (turned == torch.from_numpy(values)).all()
    part = torch.zeros(4, 12, dtype=torch.int32)[:, ::2]
    a.get_orthogonal_selection(([3, 0],), out=part[:2])
    assert (part[:2] == torch.from_numpy(values[[3, 0]])).all() and not part[2:].any()


@pytest.mark.parametrize("name", ["bfloat16", "float8_e4m3fn", "float8_e5m2"])
def test_small_floats(name: str) -> None:
    values = np.array([0.5, 1, -2, 4]).astype(getattr(ml_dtypes, name))
    a = omnizarr.array(values)
    out = torch.zeros(4, dtype=getattr(torch, name))
    a.read(out=out)
    assert out.float().tolist() == [0.5, 1, -2, 4]
    found = MapDataset(a)[2]
    assert found.dtype == out.dtype and found.float() == -2


def test_what_cannot_be_filled_is_refused() -> None:
    a = omnizarr.array(np.arange(4.0))
    with pytest.raises(TypeError, match="without gradients"):
        a.read(out=torch.zeros(4, requires_grad=True))
    with pytest.raises(TypeError, match="found Tensor"):
        a.read(out=torch.zeros(4, device="meta"))
    with pytest.raises(omnizarr.errors.SelectionError, match=r"out has shape \(3,\)"):
        a.read(out=torch.zeros(3))


@pytest.mark.parametrize("kind", [MapDataset, ChunkedDataset])
def test_arrays_that_no_tensor_can_hold_are_named(kind: Any, group: omnizarr.Group) -> None:
    with_text = {**dict(group.arrays()), "name": omnizarr.array(["a"] * LENGTH, dtype=str)}
    with pytest.raises(TypeError, match="array 'name': PyTorch has no tensors of type StringDType"):
        kind(with_text)


def test_tensors_share_memory() -> None:
    values = np.zeros(3)
    as_tensor(values)[1] = 7
    assert values.tolist() == [0, 7, 0]
    with pytest.raises(TypeError):
        as_tensor(np.array(["text"]))


@pytest.mark.parametrize("module", [datasets, tensors])
def test_examples_run(module: Any) -> None:
    known = {"np": np, "omnizarr": omnizarr}
    assert doctest.testmod(module, extraglobs=known).failed == 0
