"""Runs inside .peers/downstream: ome-zarr-py writes and reads images, ome-zarr-models judges them.

    python ome_peer.py write FOLDER              old.zarr (0.4) and new.zarr (0.5), with labels
    python ome_peer.py read FOLDER STORE…        what ome-zarr-py finds in stores of the folder
    python ome_peer.py judge FOLDER STORE…       null, or why ome-zarr-models refuses a store

The last line of the output is JSON. This script must not import the library under test.
"""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import zarr

CHANNEL = {"color": "FF0000", "window": {"min": 0, "max": 9, "start": 0, "end": 9}}


def write(folder: Path) -> None:
    from ome_zarr.format import FormatV04, FormatV05
    from ome_zarr.writer import add_metadata, write_image, write_labels

    values = np.arange(2 * 64 * 96, dtype="u2").reshape(2, 64, 96)
    for name, chosen, zarr_format in (("old", FormatV04(), 2), ("new", FormatV05(), 3)):
        group = zarr.open_group(folder / f"{name}.zarr", mode="w", zarr_format=zarr_format)
        axes = [
            {"name": "c", "type": "channel"},
            {"name": "y", "type": "space", "unit": "micrometer"},
            {"name": "x", "type": "space", "unit": "micrometer"},
        ]
        options: Any = {"scale_factors": [2, 4], "fmt": chosen}
        scale = {"scale": {"c": 1.0, "y": 0.5, "x": 0.25}}
        units = {"axes_units": {"y": "micrometer", "x": "micrometer"}}
        write_image(values, group, axes=axes, **scale, **units, **options)
        add_metadata(group, {"omero": {"channels": [CHANNEL] * 2}})
        write_labels((values[0] % 7).astype("u1"), group, name="cells", axes="yx", **options)


def read(folder: Path, names: list[str]) -> dict[str, Any]:
    from ome_zarr.io import parse_url
    from ome_zarr.reader import Multiscales, Reader

    found = {}
    for name in names:
        place = parse_url(str(folder / name), mode="r")
        assert place is not None, name
        nodes = list(Reader(place)())
        image = nodes[0]
        assert any(isinstance(spec, Multiscales) for spec in image.specs), name
        found[name] = {
            "nodes": len(nodes),
            "axes": image.metadata["axes"],
            "shapes": [list(array.shape) for array in image.data],
            "transformations": image.metadata["coordinateTransformations"],
            "sums": [int(array.sum().compute()) for array in image.data],
            "colors": "colormap" in image.metadata,
        }
    return found


def judge(folder: Path, names: list[str]) -> dict[str, str | None]:
    import ome_zarr_models
    from ome_zarr_models import v04, v05

    found: dict[str, str | None] = {}
    for name in names:
        group = zarr.open_group(folder / name, mode="r")
        kinds = {2: v04, 3: v05}[group.metadata.zarr_format]
        attributes = group.attrs.asdict()
        members = attributes.get("ome", {}) if kinds is v05 else attributes
        kind = kinds.HCS if "plate" in members else kinds.Image
        kind = kinds.Well if "well" in members else kind
        kind = kinds.Labels if "labels" in members else kind
        kind = kinds.ImageLabel if "image-label" in members else kind
        try:
            kind.from_zarr(group)
        except Exception as error:
            found[name] = f"{type(error).__name__}: {error}"[:2000]
        else:
            found[name] = None
    assert ome_zarr_models.__version__
    return found


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    what, where, *stores = sys.argv[1:]
    result = {"write": write, "read": read, "judge": judge}[what](
        Path(where), *([stores] if what != "write" else [])
    )
    print(json.dumps(result))
