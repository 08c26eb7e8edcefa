"""An array in regions that are aligned with what is written as one value."""

from __future__ import annotations

from itertools import islice, product

import numpy as np
import pytest

import omnizarr
from omnizarr.model.grids import all_places
from omnizarr.nodes.data import regions as module
from omnizarr.nodes.data.regions import regions


@pytest.mark.parametrize("shape", [(), (0,), (5,), (5, 0), (7, 5), (3, 4, 5)])
def test_regions_cover_every_element_once(
    shape: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "REGION_BYTES", 20)
    array = omnizarr.zeros(shape, chunks=(2,) * len(shape), dtype="i1")
    seen = np.zeros(shape, int)
    for region in regions(array):
        assert all(part.start % 2 == 0 for part in region)
        seen[region] += 1
    assert (seen == 1).all()


def test_regions_of_a_huge_array_are_made_one_by_one() -> None:
    array = omnizarr.zeros((2**62, 2**62), chunks=(1, 2**24), dtype="i1")
    found = list(islice(regions(array), 3))
    assert [region[0].start for region in found] == [0, 0, 0]
    assert found[1][1] == slice(found[0][1].stop, 2 * found[0][1].stop)


@pytest.mark.parametrize("shape", [(), (0, 3), (3, 0), (4,), (2, 3, 4)])
def test_all_places_are_those_of_a_product(shape: tuple[int, ...]) -> None:
    assert list(all_places(shape)) == list(product(*map(range, shape)))
