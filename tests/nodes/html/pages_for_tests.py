"""Arrays, groups and trees with everything that a display has to cope with."""

from __future__ import annotations

from typing import Any

import numpy as np

import omnizarr as zarr

HOSTILE = (
    "<script>window.hacked = 1</script>",
    '"><img src=x onerror="window.hacked = 1">',
    "</style><script>window.hacked = 1</script>",
    "</svg><svg onload='window.hacked = 1'>",
    "javascript:window.hacked = 1",
    "&lt;b&gt; &amp; <b>bold</b>",
    "\u202egpj.exe",
    "x\x00y",
)


def hostile_group() -> zarr.Group:
    """Hostile text wherever a store may hold text."""
    root = zarr.create_group({}, attributes={text: [text, {text: text}] for text in HOSTILE})
    for text in HOSTILE[:3]:
        name = text.replace("/", "\u2215").replace("\x00", "")
        root.create_array(
            name, shape=(4, 6), chunks=2, dtype=[(text, "i4")], dimension_names=(text, text[::-1]),
            attributes={text: text},
        )  # fmt: skip
    root.create_array("text", shape=2, dtype="U200", fill_value=HOSTILE[0])
    return root


def samples() -> dict[str, Any]:
    """One of every kind of display."""
    root = zarr.create_group({}, attributes={"title": "sample", "years": list(range(40))})
    climate = root.create_array(
        "temperature", shape=(720, 361, 720), chunks=(24, 91, 180), shards=(240, 182, 360),
        dtype="f4", dimension_names=("time", "lat", "lon"), attributes={"units": "K"},
    )  # fmt: skip
    mask = root.create_array("mask", shape=(361, 720), chunks=(45, 90), dtype="i1")
    mask[50:200, 100:400] = 1
    arrays = {
        "shards": climate,
        "mask": mask,
        "bar": root.create_array("lat", data=np.arange(361.0), chunks=50),
        "point": root.create_array("level/pressure", data=3.5),
        "empty": root.create_array("empty", shape=(0, 30), chunks=10, dtype="i4"),
        "dense": root.create_array("dense", shape=(10**7, 3), chunks=(1, 3), dtype="i4"),
        "huge": root.create_array("huge", shape=(2**50, 2**10), chunks=(1, 1), dtype="i1"),
        "five": root.create_array("five", shape=(4, 100, 30, 64, 64), chunks=8, dtype="u2"),
        "many": root.create_array("many", shape=(2,) * 20, chunks=1, dtype="u1"),
        "irregular": root.create_array(
            "irregular", shape=(100, 60), chunks=((10, 30, 60), (20, 20, 20)), dtype="i4"
        ),
        "text": root.create_array("text", shape=12, chunks=4, dtype=str),
        "records": root.create_array("records", shape=3, dtype=[("x", "i4"), ("y", "f4")]),
        "old": zarr.zeros((30, 20), chunks=10, zarr_format=2, order="F"),
        "view": mask.view(read_only=True),
    }
    nodes = {"group": root, "tree": root.tree(), "closed": root.tree(expand=False)}
    return {**arrays, **nodes, "info": climate.info, "group info": root.info_complete()}
