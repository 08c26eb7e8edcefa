"""What others wrote, in every format and dialect, converted: it reads as it did before.

Every row of the older formats, and one in `STEP` of formats 2 and 3, is converted to formats 2 and
3 and compared with its sidecar.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import omnizarr as zarr
from omnizarr.errors import UnsupportedError
from tests.acceptance import fixtures
from tests.acceptance.fixtures import Row
from tests.acceptance.known_differences import KNOWN
from tests.acceptance.test_fixtures import TWICE

pytestmark = pytest.mark.slow

STEP = 6
TARGETS = (2, 3)
HELP: dict[str, Any] = {"reencode": True, "drop": ("dimension_names", "fill_value", "attributes")}
REFUSED = ("object", "|O")
"""Arrays of Python objects stay in format 2."""
BELOW = {"gdal/zarr-v3draft-gdal3.7/test.zr3::/": ("ar", "marvin")}
"""Nodes that lie below an array, which are converted on their own."""


def chosen() -> list[Row]:
    rows = [row for row in fixtures.rows() if row.path not in KNOWN and not row.pickled]
    older = [row for row in rows if row.family not in ("v2", "v3")]
    newer = [row for row in rows if row.family in ("v2", "v3")]
    return [row for row in older + newer[::STEP] if row.path not in TWICE]


def outcome(row: Row, target: int) -> tuple[str, str | None]:
    """What was done, and what is wrong with it."""
    store, out = str(fixtures.unpacked(row.source) / row.store), zarr.MemoryStore()
    try:
        below = BELOW.get(row.path, ())
        done = zarr.convert(store, out, path=row.node, zarr_format=target, exclude=below)
    except UnsupportedError as error:
        if error.what == "data_type" and any(kind in row.dtype for kind in REFUSED):
            return "refused: data_type", None
        try:
            done = zarr.convert(store, out, path=row.node, zarr_format=target, **HELP)
        except UnsupportedError as final:
            return "refused", f"{final.what}: {final}"
    array = zarr.open_array(out, mode="r")
    errors = [str(found) for found in zarr.check(out) if found.level == "error"]
    if errors and done.nodes[0].source_format != target:
        return "not valid", str(errors)
    result = array[...]
    values = result if isinstance(result, np.ndarray) else np.asarray(result, array.dtype)
    return done.nodes[0].action, fixtures.difference(row, values)


@pytest.mark.parametrize("target", TARGETS)
def test_fixtures_converted(target: int, record_property: Callable[[str, object], None]) -> None:
    found: Counter[str] = Counter()
    wrong: list[str] = []
    for row in chosen():
        action, problem = outcome(row, target)
        found[action] += 1
        if problem is not None:
            wrong.append(f"{row.path} [{row.format} {row.dtype[:40]}] {action}: {problem}")
    assert wrong == []
    assert found.total() > (600 if fixtures.third_party() else 400)
    text = ", ".join(f"{action} {count}" for action, count in sorted(found.items()))
    record_property("acceptance-line", f"convert fixtures of others -> {target}: {text}")
