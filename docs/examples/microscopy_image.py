"""A microscope image as OME-Zarr: written, shrunk, converted to the version before, and shown."""

import matplotlib

matplotlib.use("agg")
import matplotlib.pyplot as plt
import numpy as np

import omnizarr

# Two channels of cells, 0.25 µm between pixels.
random = np.random.default_rng(3)
rows, columns = np.mgrid[:1024, :1024]
image = np.zeros((2, 1024, 1024))
for y, x in random.uniform(40, 984, (120, 2)):
    distance = np.hypot(rows - y, columns - x)
    image[0] += np.exp(-((distance / 9) ** 2))
    image[1] += np.exp(-(((distance - 16) / 4) ** 2))
photons = random.poisson(60 * np.minimum(image, 2) + 4).astype("u2")

axes = [
    {"name": "c", "type": "channel"},
    {"name": "y", "type": "space", "unit": "micrometer"},
    {"name": "x", "type": "space", "unit": "micrometer"},
]
raw = omnizarr.save_array("raw.zarr", photons, chunks=(1, 256, 256))
scale = {"c": 1, "y": 0.25, "x": 0.25}
made = omnizarr.pyramid(
    "raw.zarr", "image.ome.zarr", axes=axes, scale=scale, convention="ome"
)
print(made)

group = omnizarr.open_group("image.ome.zarr", mode="r+")
image = group.multiscale
print(image)
print([level.shape for level in image.levels], image.scales[1])
print(omnizarr.check("image.ome.zarr").ok)

# A part, in micrometres, at a resolution of a micrometre.
part = image.read(bounds={"y": (100, 150), "x": (100, 150)}, resolution=1)
print(part.shape)

# Format 2 has OME-NGFF 0.4 for readers that know no other; chunks are copied.
print(omnizarr.convert("image.ome.zarr", "old.ome.zarr", zarr_format=2))
old = omnizarr.open_group("old.ome.zarr")
print(old.attrs["multiscales"][0]["version"], old.multiscale.scales == image.scales)

figure, panels = plt.subplots(1, 3, figsize=(9, 3.2), layout="constrained")
for panel, level in zip(panels, image.levels, strict=False):
    corner = level[:, : level.shape[1] // 4, : level.shape[2] // 4] / 80
    nuclei, membranes = np.clip(corner, 0, 1)
    panel.imshow(np.dstack([membranes, nuclei * 0.6, nuclei]))
    panel.set_title(f"a corner of {level.shape[1]} × {level.shape[2]}")
figure.savefig("microscopy_image.png", dpi=80)
