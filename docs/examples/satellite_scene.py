"""A satellite scene on its map: reference system, pyramid, a window in degrees, and a picture."""

import matplotlib

matplotlib.use("agg")
import matplotlib.pyplot as plt
import numpy as np

import omnizarr

# A scene of 2,048 × 2,048 pixels of 10 m: terrain, and clouds without data.
random = np.random.default_rng(7)
spectrum = np.fft.rfft2(random.normal(size=(2048, 2048)))
rows, columns = np.fft.fftfreq(2048)[:, None], np.fft.rfftfreq(2048)
frequency = np.hypot(rows, columns) + 1e-3
terrain = np.fft.irfft2(spectrum / frequency**1.6)
clouds = np.fft.irfft2(np.roll(spectrum, 99, axis=0) / frequency**2)
reflectance = 3000 + 800 * terrain / terrain.std()
reflectance[clouds > 1.2 * clouds.std()] = np.nan

# Write it with its place on Earth: UTM zone 31, the upper left corner, pixels of 10 m.
scene = omnizarr.open_group("scene.zarr", mode="w")
band = scene.create_array(
    "red",
    data=reflectance.astype("f4"),
    chunks=(256, 256),
    shards=(1024, 1024),
    dimension_names=("y", "x"),
)
band.geo.set(crs="EPSG:32631", transform=(10, 0, 500_000, 0, -10, 4_600_000))
print(band.geo)

# Add smaller levels beside a copy of it. Pixels without data weigh nothing in a mean.
print(omnizarr.pyramid(scene, "pyramid.zarr", chunks=(256, 256), shards=False))
pyramid = omnizarr.open_group("pyramid.zarr", mode="r")
multiscale = omnizarr.Multiscale(pyramid)
print([level.shape for level in multiscale.levels])
overview = multiscale.levels[multiscale.level_for(100)]
print(overview.shape, overview.geo.resolution, overview.geo.epsg)

# Read a window that is given in degrees.
detail = band.geo.read((3.05, 41.45, 3.1, 41.5), crs="EPSG:4326")
print(detail.shape)

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
west, south, east, north = overview.geo.bounds
left.imshow(overview[:], extent=(west, east, south, north), cmap="terrain")
left.set_title("level for 100 m, EPSG:32631")
right.imshow(detail, cmap="terrain")
right.set_title("3.05–3.10° E, 41.45–41.50° N")
figure.savefig("satellite_scene.png", dpi=80)
