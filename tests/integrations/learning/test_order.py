"""Every sample once, whoever takes it: the order of an epoch is a partition of the samples."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from omnizarr.integrations.learning.order import Order, Share
from omnizarr.integrations.learning.windows import Units, Windows, units_of


@st.composite
def divided(draw: st.DrawFn) -> tuple[Windows, Units]:
    """Windows along one or two axes, and their units for chunks of any lengths."""
    axes = draw(st.integers(1, 2))
    chunks = [draw(st.lists(st.integers(1, 7), min_size=1, max_size=6)) for _ in range(axes)]
    lengths = tuple(map(sum, chunks))
    size = tuple(draw(st.integers(1, 5)) for _ in range(axes))
    stride = tuple(draw(st.integers(1, 5)) for _ in range(axes))
    windows = Windows(lengths, size, stride)
    return windows, units_of(windows, chunks)


orders = st.builds(
    Order,
    divided().map(lambda found: found[1]),
    shuffle=st.booleans(),
    seed=st.integers(0, 3),
    epoch=st.integers(0, 3),
    batch=st.integers(1, 9),
    drop_last=st.booleans(),
    pool=st.integers(1, 4),
)


def taken(order: Order, share: Share) -> list[int]:
    return [int(sample) for pool in order.pools(share) for sample in pool]


@given(divided())
def test_units_divide_the_windows(found: tuple[Windows, Units]) -> None:
    windows, units = found
    members = [units.samples(unit) for unit in range(len(units.sizes))]
    assert sorted(np.concatenate([*members, []]).tolist()) == [*range(len(windows))]
    assert [len(each) for each in members] == units.sizes.tolist()
    for number, each in enumerate(members):
        assert (units.holding(each) == number).all()
    origins = windows.origins(range(len(windows)))
    assert (origins + windows.size <= windows.lengths).all()


@given(orders, st.integers(1, 4), st.integers(1, 4))
def test_shares_are_disjoint_and_complete(order: Order, world_size: int, workers: int) -> None:
    total = int(order.units.sizes.sum())
    ranks = []
    for rank in range(world_size):
        shares = [taken(order, Share(rank, world_size, n, workers)) for n in range(workers)]
        # Only the last worker that has anything may have a batch that is not full.
        rest = [len(share) % order.batch for share in shares if share]
        assert not any(rest[:-1])
        ranks.append([sample for share in shares for sample in share])
        assert len(ranks[-1]) == order.length(world_size)
    together = sorted(sample for rank in ranks for sample in rank)
    if order.drop_last:
        assert len(set(together)) == len(together) > total - world_size * order.batch
        assert len(ranks[0]) % order.batch == 0
    else:
        assert sorted(set(together)) == [*range(total)]
        assert len(together) < total + world_size


@given(orders, st.integers(1, 5))
def test_workers_share_no_unit_where_batches_end_with_units(order: Order, workers: int) -> None:
    order = order._replace(batch=1, drop_last=False)
    readers = [
        {int(unit) for unit in order.units.holding(taken(order, Share(0, 1, n, workers)))}
        for n in range(workers)
    ]
    assert sum(map(len, readers)) == len(order.units.sizes)


@given(orders)
def test_the_order_follows_from_seed_and_epoch(order: Order) -> None:
    assert taken(order, Share()) == taken(order, Share())
    if not order.shuffle:
        units = order.units.holding(taken(order, Share()))
        assert (np.diff(units) >= 0).all()


def test_epochs_and_seeds_differ() -> None:
    units = units_of(Windows((1000,), (1,), (1,)), [(10,) * 100])
    order = Order(units, True, 0, 0, 1, False, 4)
    found = [
        taken(each, Share()) for each in (order, order._replace(epoch=1), order._replace(seed=1))
    ]
    assert len({*map(tuple, found)}) == 3
    first = units.holding(found[0][:40])
    assert len({*first.tolist()}) == 4, "the first 40 samples come from 4 chunks"
    assert np.count_nonzero(np.diff(first)) > 20, "and are mixed"
