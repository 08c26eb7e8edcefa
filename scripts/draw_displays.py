"""Draw docs/images/notebook.png: an array and a group as a notebook shows them, light and dark.

It needs Chromium and the package itself: `.venv/bin/python scripts/draw_displays.py`. Run it again
when `omnizarr.nodes.html` changes how displays look.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import omnizarr as zarr

IMAGE = Path(__file__).resolve().parent.parent / "docs" / "images" / "notebook.png"
WIDTH, HEIGHT = 860, 762
PAGE = """<!doctype html><meta charset="utf-8">
<style>body{{margin:0}} section{{padding:14px 18px}} .light{{background:#fff;color:#1c1c1c}}
.dark{{background:#141414;color:#dcdcdc}} div{{font-family:sans-serif}}</style>
<section class="light">{array}</section><section class="dark">{mask}<br>{group}</section>"""


def page() -> str:
    root = zarr.group()
    temperature = root.create_array(
        "temperature", shape=(720, 361, 720), chunks=(24, 91, 180), shards=(240, 182, 360),
        dtype="f4", dimension_names=("time", "lat", "lon"),
        attributes={"units": "K", "long_name": "air temperature"},
    )  # fmt: skip
    noise = np.random.default_rng(0).normal(280, 10, (48, 91, 720))
    temperature[:48, :91] = noise.round(1)
    mask = root.create_array(
        "mask", shape=(361, 720), chunks=(45, 90), dtype="i1", dimension_names=("lat", "lon")
    )
    mask[60:250, 100:400] = 1
    mask[300:, 600:] = 1
    return PAGE.format(
        array=temperature._repr_html_(), mask=mask._repr_html_(), group=root._repr_html_()
    )


def main() -> None:
    chromium = shutil.which("chromium")
    if chromium is None:
        sys.exit("draw_displays: no program 'chromium'; install it first")
    with TemporaryDirectory() as folder:
        source = Path(folder) / "page.html"
        source.write_text(page(), encoding="utf-8")
        subprocess.run(
            [
                chromium, "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
                f"--user-data-dir={folder}/profile", f"--window-size={WIDTH},{HEIGHT}",
                f"--screenshot={IMAGE}", source.as_uri(),
            ],
            check=True, stderr=subprocess.DEVNULL,
        )  # fmt: skip
    print(f"{IMAGE}: {IMAGE.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
