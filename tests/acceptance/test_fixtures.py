"""Every array of the fixtures, of every format, reads exactly as its sidecar or digest says."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import omnizarr as zarr
from tests.acceptance import fixtures
from tests.acceptance.fixtures import Row
from tests.acceptance.known_differences import KNOWN

SOURCES = fixtures.sources()
TWICE = {path for path, times in Counter(row.path for row in fixtures.rows()).items() if times > 1}
"""Folders that hold arrays of two formats side by side; only these need `zarr_format`."""
FORMAT_OF: dict[str, int | str] = {"v0": 0, "v1": 1, "v2": 2, "nczarr": 2, "v3": 3, "n5": "n5"}
Record = Callable[[str, object], None]
Summary = Callable[[str], None]


@fixtures.needs_third_party
def test_files_of_third_parties_are_here() -> None:
    assert len(SOURCES) >= 40


def test_every_row_is_counted(summary: Summary) -> None:
    found = Counter(row.family for row in fixtures.rows())
    assert found == fixtures.counted()
    sidecars = sum(bool(row.sidecar) for row in fixtures.rows())
    if fixtures.third_party():
        assert sidecars == fixtures.EXPECTED_SIDECARS
    listed = ", ".join(f"{name} {count:,}" for name, count in found.items())
    summary(
        f"fixtures: rows with an expectation: {found.total():,} ({sidecars:,} with a sidecar):"
        f" {listed}"
    )


@fixtures.needs_third_party
def test_known_differences_name_rows() -> None:
    assert set(KNOWN) <= {row.path for row in fixtures.rows()}


def read(row: Row, **options: Any) -> np.ndarray[Any, Any]:
    store = fixtures.unpacked(row.source) / row.store
    if row.path in TWICE:
        options["zarr_format"] = FORMAT_OF[row.family]
    array = zarr.open(str(store), mode="r", path=row.node, **options)
    if not isinstance(array, zarr.Array):
        raise TypeError(f"opened a {type(array).__name__}, expected an Array")
    result = array[...]
    return result if isinstance(result, np.ndarray) else np.asarray(result, dtype=array.dtype)


def outcome(row: Row) -> str | None:
    """None if the row reads as expected, else why not."""
    options: dict[str, Any] = {}
    try:
        if row.pickled:
            try:
                read(row)
            except zarr.errors.PickleCodecDisabledError:
                options["allow_pickle"] = True
            else:
                return "the pickle codec ran although it was not allowed"
        return fixtures.difference(row, read(row, **options))
    except Exception as error:  # the outcome is the test's data
        return f"{type(error).__name__}: {error}"


@pytest.mark.parametrize("source", SOURCES)
def test_source(source: str, record_property: Record, summary: Summary) -> None:
    folder = fixtures.unpacked(source) / source
    before = fixtures.state_of(folder)
    wrong = []
    count: Counter[tuple[str, str]] = Counter()
    for row in fixtures.rows():
        if row.source != source:
            continue
        count[row.family, "rows read"] += 1
        found = outcome(row)
        if row.path in KNOWN:
            text, reason = KNOWN[row.path]
            if found is not None and text in found:
                count[row.family, "known differences"] += 1
                summary(f"fixtures: {row.path}: {reason}")
                continue
            found = f"listed as a known difference ({text!r}), but the outcome is {found!r}"
        if found is None:
            count[row.family, "exact"] += 1
        else:
            count[row.family, "wrong"] += 1
            wrong.append(f"{row.path} [{row.format} {row.dtype[:60]} {row.how[:40]}]\n    {found}")
    for (family, column), value in count.items():
        record_property(f"count:{family}:{column}", value)
    assert fixtures.state_of(folder) == before, "reading changed files"
    assert not wrong, f"{len(wrong)} rows differ:\n" + "\n".join(wrong)


@fixtures.needs_third_party
def test_rows_without_an_expectation(summary: Summary) -> None:
    """They open, or they are refused with an error of ours; one element is read where they open."""
    read_ones, refused = 0, []
    for row in fixtures.all_rows():
        if row.sidecar or row.digest:
            continue
        store = fixtures.unpacked(row.source) / row.store
        try:
            array = zarr.open_array(str(store), mode="r", path=row.node)
            array[(0,) * array.ndim]
        except zarr.errors.ZarrError as error:
            refused.append(f"{row.path} ({type(error).__name__})")
        else:
            read_ones += 1
    assert read_ones + len(refused) == fixtures.EXPECTED_WITHOUT
    summary(f"fixtures: without an expectation: {read_ones} open, refused: {', '.join(refused)}")
