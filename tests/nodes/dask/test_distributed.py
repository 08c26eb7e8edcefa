"""A real cluster of two worker processes; tests/campaigns/dask_cluster.py kills some."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import omnizarr
from omnizarr.errors import StoreError

distributed = pytest.importorskip("distributed")
da = pytest.importorskip("dask.array")
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]

VALUES = np.arange(1000)


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, host="127.0.0.1",
            dashboard_address=None, local_directory=str(tmp_path_factory.mktemp("workers")),
            silence_logs=50,
        ) as cluster,
        distributed.Client(cluster) as found,
    ):  # fmt: skip
        yield found


def lazy() -> Any:
    return da.from_array(VALUES, chunks=100)


def test_write_append_and_read(client: Any, tmp_path: Path) -> None:
    array: Any = omnizarr.from_dask(lazy(), tmp_path / "a", chunks=10, shards=100)
    omnizarr.from_dask(lazy() * 2, array, append_axis=0)
    expected = np.concatenate([VALUES, VALUES * 2])
    assert (array[:] == expected).all()
    assert array.to_dask().sum().compute() == expected.sum()
    assert array.to_dask(inline_array=True).sum().compute() == expected.sum()


def test_what_workers_wrote_is_not_taken_for_what_was_kept(client: Any, tmp_path: Path) -> None:
    array: Any = omnizarr.from_dask(lazy(), tmp_path / "a")
    kept = array.to_dask().persist()
    distributed.wait(kept)
    omnizarr.from_dask(lazy() * 0, array)
    assert array.to_dask().sum().compute() == 0
    assert kept.sum().compute() == VALUES.sum()


def test_later_and_stored(client: Any, tmp_path: Path) -> None:
    task: Any = omnizarr.from_dask(lazy(), tmp_path / "a", compute=False)
    array = client.compute(task).result()
    assert (array[:] == VALUES).all()
    stored: Any = omnizarr.from_dask(lazy() + 1, array, compute=False, return_stored=True)
    assert stored.sum().compute() == VALUES.sum() + 1000
    assert array[0] == 1


def chain(error: BaseException | None) -> Iterator[BaseException]:
    """An error and those that it was raised from."""
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def test_memory_stays_here(client: Any) -> None:
    values: dict[str, bytes] = {}
    with pytest.raises(StoreError, match="every worker reaches"):
        omnizarr.from_dask(lazy(), values)
    assert values == {}
    array = omnizarr.array(VALUES, chunks=100)
    for call in (array.to_dask().sum().compute, lambda: da.store(lazy() * 0, array, lock=False)):
        with pytest.raises(TypeError) as caught:  # distributed says what, and we why
            call()
        assert any(isinstance(error, StoreError) for error in chain(caught.value))
    assert (array[:] == VALUES).all()
    assert array.to_dask().sum().compute(scheduler="threads") == VALUES.sum()
