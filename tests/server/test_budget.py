"""What answers hold together, and who waits."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import omnizarr as zarr
from omnizarr.server import endpoint
from omnizarr.server.budget import Budget
from tests.server.conftest import Place, Serve


def test_who_waits_gets_it_in_turn() -> None:
    async def scenario() -> list[str]:
        budget, order = Budget(10), list[str]()

        async def ask(name: str, amount: int) -> None:
            await budget.take(amount, 60)
            order.append(name)
            await asyncio.sleep(0)
            budget.give(amount)

        await budget.take(8, 60)
        tasks = [asyncio.create_task(ask(*each)) for each in (("a", 9), ("b", 1), ("c", 1000))]
        await asyncio.sleep(0)
        assert order == [] and not budget.try_take(1)
        budget.give(8)
        await asyncio.gather(*tasks)
        assert budget.try_take(10)
        return order

    assert asyncio.run(scenario()) == ["a", "b", "c"]


def test_who_gives_up_takes_nothing() -> None:
    async def scenario() -> None:
        budget = Budget(10)
        await budget.take(10, 60)
        with pytest.raises(TimeoutError):
            await budget.take(1, 0.001)
        waiting = asyncio.create_task(budget.take(10, 60))
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        budget.give(10)
        assert budget.try_take(10)

    asyncio.run(scenario())


def test_values_larger_than_the_budget_are_served(serve: Serve) -> None:
    store, values = zarr.MemoryStore(), np.random.default_rng(0).random(400_000)
    zarr.create_array(store, data=values, chunks=400_000, zarr_format=2, compressor=None)
    client = serve(zarr.as_format(store, 3), max_memory=1 << 20)
    answer = client.get("/c.0")
    assert answer.status_code == 200 and len(answer.content) == values.nbytes


def test_chunks_that_have_to_be_made_are_counted_before(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, side = zarr.MemoryStore(), 1 << 10
    delta = [{"id": "delta", "dtype": "<u4"}]
    array = zarr.create_array(
        store, shape=(side, side), chunks=(side, side), dtype="u4", filters=delta, zarr_format=2
    )
    array[0, 0] = 1
    needed = 8 * side**2
    assert serve(store, max_memory=needed).get("/v3/c.0.0").status_code == 200
    client = serve(store, max_memory=needed - 1)

    def made(*arguments: object, **others: object) -> object:
        raise AssertionError("it was made")

    monkeypatch.setattr(zarr.Array, "read", made)
    answer = client.get("/v3/c.0.0")
    assert answer.status_code == 501 and "max_memory" in answer.json()["error"]
    assert client.get("/0.0").status_code == 200
    store.delete("0.0")
    assert client.get("/v3/c.0.0").status_code == 404


def test_what_is_on_its_way_is_counted(
    listen: Callable[..., Place], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(endpoint, "WAIT_SECONDS", 0.5)
    (tmp_path / "big").write_bytes(bytes(64 << 20))
    place = listen(tmp_path, max_memory=endpoint.SENDING)
    with place.connect() as client:
        client.sendall(b"GET /big HTTP/1.1\r\nhost: x\r\n\r\n")
        assert client.recv(100)
        assert place.get("/big")[0] == 503
    assert place.get("/big", range="bytes=-3") == (206, bytes(3))
