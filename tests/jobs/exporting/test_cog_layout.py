"""Files that are arranged anew: other places, the same content."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tifffile

from omnizarr.errors import MetadataError
from omnizarr.jobs.exporting.cog_layout import arrange

RANDOM = np.random.default_rng(12)


@pytest.mark.parametrize("bigtiff", [False, True])
@pytest.mark.parametrize("compression", [None, "zlib"])
def test_tags_and_tiles_stay(bigtiff: bool, compression: Any, tmp_path: Path) -> None:
    data = RANDOM.integers(0, 99, (3, 100, 90)).astype("u2")
    tags = [(65000, "s", 0, "a text of some length", True), (65001, "d", 3, (1.0, 2.0, 3.0), True),
            (65002, "B", 1, 7, True), (65003, "B", 3, bytes(range(3)), True)]  # fmt: skip
    with tifffile.TiffWriter(tmp_path / "a.tif", bigtiff=bigtiff, byteorder="<") as tiff:
        for step in (1, 2, 8):
            tiff.write(
                data[:, ::step, ::step], tile=(16, 32), planarconfig="separate", extratags=tags,
                photometric="minisblack", metadata=None, compression=compression,
            )  # fmt: skip
    arrange(str(tmp_path / "a.tif"), str(tmp_path / "b.tif"))
    with tifffile.TiffFile(tmp_path / "a.tif") as old, tifffile.TiffFile(tmp_path / "b.tif") as new:
        assert len(new.pages) == 3 and new.is_bigtiff is bigtiff
        for one, other in zip(old.pages, new.pages, strict=True):
            np.testing.assert_array_equal(one.asarray(), other.asarray())
            told = [{tag.code: (tag.dtype, tag.count, tag.value) for tag in page.tags
                     if tag.code != 324} for page in (one, other)]  # fmt: skip
            assert told[0] == told[1]
        ends = [tag.valueoffset for page in new.pages for tag in page.tags]
        begins = [offset for page in new.pages[::-1] for offset in page.dataoffsets]
        assert begins == sorted(begins) and max(ends) < begins[0]


def test_a_file_that_ends_early(tmp_path: Path) -> None:
    tifffile.imwrite(tmp_path / "a.tif", np.ones((64, 64), "u1"), tile=(32, 32), byteorder="<")
    whole = (tmp_path / "a.tif").read_bytes()
    (tmp_path / "a.tif").write_bytes(whole[:-10])
    with pytest.raises(MetadataError, match="ends within a tile"):
        arrange(str(tmp_path / "a.tif"), str(tmp_path / "b.tif"))
