"""`omnizarr stats`: NumPy is the oracle."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import omnizarr as zarr
from omnizarr.cli import statistics, stored
from omnizarr.cli.statistics import planned
from tests.cli.conftest import Run
from tests.cli.showing.support import EVERY, one_array


@EVERY
def test_every_format(run: Run, tmp_path: Path, zarr_format: Any) -> None:
    array = one_array(tmp_path / "a.zarr", zarr_format)
    found = run("stats", tmp_path / "a.zarr", "--json").document
    data = array[:]
    assert (found["min"], found["max"], found["values"]) == (0, 9, 24)
    assert found["mean"] == pytest.approx(data.mean()) and found["std"] == pytest.approx(data.std())
    assert found["fill"] == int((data == 0).sum()) and found["nan"] == 0
    assert sum(found["histogram"]["counts"]) == 24
    assert (found["chunks_read"], found["chunks_possible"]) == (3, 6)
    assert found["sampled_chunks"] is None


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_numpy_agrees(data: st.DataObject) -> None:
    dtype = data.draw(st.sampled_from(["f4", "f8", "i1", "i8", "u8", "?"]))
    shape = data.draw(hnp.array_shapes(min_dims=1, max_dims=3, max_side=6))
    elements: Any = {}
    if dtype == "f8":
        elements = {"elements": st.floats(-1e100, 1e100) | st.sampled_from([np.nan, np.inf, 0.0])}
    values = data.draw(hnp.arrays(dtype, shape, **elements))
    chunks = tuple(data.draw(st.integers(1, n)) for n in shape)
    array = zarr.create_array({}, shape=shape, chunks=chunks, dtype=dtype, fill_value=0)
    array[...] = values
    bins = data.draw(st.integers(0, 12))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stored, "MOST_BYTES", 16)
        if data.draw(st.booleans()):
            patch.setattr(statistics, "_KEPT_BYTES", 0)
        found = statistics.statistics(array, planned(array, None), bins, False)
    nan = np.isnan(values)
    rest = values[~nan]
    finite = rest[np.isfinite(rest)].astype("f8")
    assert (found.values, found.nan) == (values.size, nan.sum())
    assert found.fill == (values == 0).sum() and found.infinite == rest.size - finite.size
    assert found.minimum == (rest.min() if rest.size else None)
    assert found.maximum == (rest.max() if rest.size else None)
    if finite.size:
        scale = max(abs(finite).max(), 1e-300)
        with np.errstate(over="ignore"):
            assert found.moments.mean == pytest.approx(finite.mean(), abs=1e-6 * scale)
            assert found.moments.deviation == pytest.approx(finite.std(), abs=1e-6 * scale)
    if bins and finite.size:
        assert found.histogram.sum() == finite.size
        assert (found.histogram == np.histogram(finite, found.edges)[0]).all()


def test_what_is_not_stored_is_not_read(run: Run, tmp_path: Path) -> None:
    array = zarr.create_array(
        tmp_path / "h.zarr", shape=(10**6, 10**6), chunks=(100, 100), dtype="f4", fill_value=1
    )
    array[:100, :100] = 3
    found = run("stats", tmp_path / "h.zarr", "--json").document
    assert (found["values"], found["fill"]) == (10**12, 10**12 - 10**4)
    assert (found["min"], found["max"], found["chunks_read"]) == (1.0, 3.0, 1)
    assert found["mean"] == pytest.approx(1 + 2e-8)
    assert found["histogram"]["counts"][0] == 10**12 - 10**4
    skipped = run("stats", tmp_path / "h.zarr", "--json", "--skip-fill").document
    assert (skipped["min"], skipped["fill"], skipped["std"]) == (3.0, 10**12 - 10**4, 0.0)


def test_a_sample_says_so(run: Run, tmp_path: Path) -> None:
    zarr.create_array(tmp_path / "a.zarr", data=np.arange(1000), chunks=(10,))
    found = run("stats", tmp_path / "a.zarr", "--sample", 4, "--json").document
    assert found["sampled_chunks"] == 4 and found["values"] == 40
    assert found["min"] > 0 and 400 < found["mean"] < 600, "it is spread over the array"
    assert "sample          4 of 100 chunks" in run("stats", tmp_path / "a.zarr", "--sample", 4).out
    whole = run("stats", tmp_path / "a.zarr", "--sample", 4000, "--json").document
    assert whole["sampled_chunks"] is None and whole["values"] == 1000


def test_types_without_numbers(run: Run, tmp_path: Path) -> None:
    text = np.array(["", "a", "b"], dtype=np.dtypes.StringDType())
    zarr.create_array(tmp_path / "t.zarr", data=text, fill_value="")
    record = np.array([(1, 2.0)], dtype=[("a", "i4"), ("b", "f4")])
    zarr.create_array(tmp_path / "r.zarr", data=record, zarr_format=2)
    found = run("stats", tmp_path / "t.zarr", "--json").document
    assert (found["values"], found["fill"], found["min"], found["histogram"]) == (3, 1, None, None)
    lists = zarr.create_array(tmp_path / "v.zarr", shape=3, dtype=object, zarr_format=2,
                              filters=[{"id": "vlen-array", "dtype": "<i4"}])  # fmt: skip
    lists[0] = np.arange(3, dtype="i4")
    for name in ("t", "r", "v"):
        done = run("stats", tmp_path / f"{name}.zarr")
        assert done.status == 0 and "numbers         none of" in done.out


def test_times_and_complex_numbers(run: Run, tmp_path: Path) -> None:
    days = np.array(["2020-01-01", "2020-01-03", "NaT"], "M8[D]")
    zarr.create_array(
        tmp_path / "d.zarr", data=days, zarr_format=2, fill_value=np.datetime64("NaT")
    )
    found = run("stats", tmp_path / "d.zarr", "--json").document
    assert (found["min"], found["max"], found["mean"]) == ("2020-01-01", "2020-01-03", "2020-01-02")
    assert (found["nan"], found["fill"], found["std"]) == (1, 1, "1 days")
    zarr.create_array(tmp_path / "c.zarr", data=np.array([3 + 4j, 0]))
    found = run("stats", tmp_path / "c.zarr", "--json").document
    assert (found["max"], found["of"]) == (5.0, "absolute values")
    assert "(of absolute values)" in run("stats", tmp_path / "c.zarr").out


def test_large_integers_are_exact(run: Run, tmp_path: Path) -> None:
    data = np.array([-(2**63), 2**63 - 1])
    zarr.create_array(tmp_path / "i.zarr", data=data)
    found = run("stats", tmp_path / "i.zarr", "--json").document
    assert (found["min"], found["max"]) == (-(2**63), 2**63 - 1)
    zarr.create_array(tmp_path / "f.zarr", data=np.array([-1.7e308, 1.7e308, np.nan]))
    done = run("stats", tmp_path / "f.zarr")
    assert done.status == 0 and done.err == ""


@pytest.mark.parametrize(
    "data",
    [
        np.array([2**64 - 1], "u8"),
        np.array([1_600_000_000_000_000_000, 1_600_000_000_000_000_003]),
        np.array([-1.5525929055526885e-119, -1.5525929055526871e-119]),
    ],
)
def test_values_that_are_close_together(run: Run, tmp_path: Path, data: Any) -> None:
    """Whose differences from each other are no more than a float has digits for."""
    zarr.create_array(tmp_path / "a.zarr", data=data)
    found = run("stats", tmp_path / "a.zarr", "--json").document
    assert sum(found["histogram"]["counts"]) == data.size
    assert (found["min"], found["max"]) == (data.min(), data.max())


def test_nothing_at_all(run: Run, tmp_path: Path) -> None:
    zarr.create_array(tmp_path / "e.zarr", shape=(0, 3), chunks=(1, 3), dtype="f4")
    zarr.create_array(tmp_path / "n.zarr", shape=(9,), chunks=(3,), dtype="f4", fill_value=np.nan)
    zarr.create_array(tmp_path / "0.zarr", data=np.float32(2))
    assert run("stats", tmp_path / "e.zarr", "--json").document["values"] == 0
    found = run("stats", tmp_path / "n.zarr", "--json").document
    assert (found["nan"], found["fill"], found["mean"]) == (9, 9, None)
    assert run("stats", tmp_path / "0.zarr", "--json").document["histogram"]["counts"] == [1]
    assert run("stats", tmp_path / "n.zarr").status == 0


def test_the_histogram(run: Run, tmp_path: Path) -> None:
    zarr.create_array(tmp_path / "a.zarr", data=np.array([0] * 40 + [1] * 20 + [3] * 5, "i2"))
    shown = run("stats", tmp_path / "a.zarr").out.split("\n\n")[1].splitlines()
    assert shown == [
        f"  -0.5 to 0.5  {'█' * 40} 40",
        f"   0.5 to 1.5  {'█' * 20} 20",
        "   1.5 to 2.5  0",
        f"   2.5 to 3.5  {'█' * 5} 5",
    ]
    assert "█" not in run("stats", tmp_path / "a.zarr", "--bins", 0).out
    assert run("stats", tmp_path / "a.zarr", "--bins", 1001).status == 2


def test_a_group_and_its_damage(run: Run, store: Path) -> None:
    found = run("stats", store, "--json").document["arrays"]
    assert [row["path"] for row in found] == ["deep/z", "sparse", "text"]
    assert "statistics" not in found[0] and found[1]["nan"] == 2200
    (store / "deep" / "z" / "c" / "0" / "0").write_bytes(b"damaged")
    done = run("stats", store, "--quiet")
    assert done.status == 1 and done.out.count("✗") == 1 and "max             1.0" in done.out
    done = run("stats", store / "deep" / "z")
    assert done.status == 2 and "omnizarr verify" in done.err
    zarr.create_group(store.parent / "empty.zarr")
    assert run("stats", store.parent / "empty.zarr").out == "no arrays\n"


def test_an_unlistable_store_is_read_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    array = one_array(tmp_path / "a.zarr", 3)
    whole = statistics.statistics(array, planned(array, None), 4, False)
    monkeypatch.setattr(
        array.chunk_store, "capabilities", replace(array.chunk_store.capabilities, listable=False)
    )
    other = statistics.statistics(array, planned(array, None), 4, False)
    assert (other.values, other.fill, other.chunks_read) == (24, whole.fill, 6)
    assert (other.histogram == whole.histogram).all() and other.chunks_stored is None
    assert planned(array, 2).count(stored.Grid(array)) == 2


def test_large_chunks_are_read_in_parts() -> None:
    region = (slice(2, 5), slice(0, 7), slice(1, 4))
    whole = np.arange(8 * 8 * 8).reshape(8, 8, 8)
    for most in (1, 5, 24, 60, 1000):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(stored, "MOST_BYTES", most)
            found = list(stored.parts(region, 1, (2, 2, 2)))
        assert max(stored.size(part) for part in found) <= max(most, 1)
        joined = np.concatenate([whole[part].reshape(-1) for part in found])
        assert (joined == whole[region].reshape(-1)).all()
