"""1,000 NetCDF files, one for each day, as one array: nothing is copied, and a part is read from
the files that have it. Draws the temperature of all days and latitudes (docs/images).
"""

from pathlib import Path

import netCDF4
import numpy as np

import omnizarr

latitude, longitude = np.arange(-85, 90, 10.0), np.arange(0, 360, 10.0)
Path("days").mkdir()
for day in range(1000):
    season = 15 * np.sin(2 * np.pi * (day - 110) / 365.25) * np.sin(np.radians(latitude))
    waves = 4 * np.sin(np.radians(longitude * 3 + day * 5))
    warmth = 300 - 0.006 * latitude**2 + season
    with netCDF4.Dataset(f"days/{day:04}.nc", "w") as file:
        file.createDimension("time", None)
        time = file.createVariable("time", "i4", ("time",))
        time.units, time[:] = f"days since {np.datetime64('2022-01-01') + day}", 0
        for name, values in (("latitude", latitude), ("longitude", longitude)):
            file.createDimension(name, len(values))
            file.createVariable(name, "f4", (name,))[:] = values
        t = file.createVariable("t", "f4", ("time", "latitude", "longitude"), zlib=True)
        t[0] = warmth[:, None] + waves

root = omnizarr.virtualize("days/*.nc", join="time", output="days.json")
print(root["t"].shape, root["t"].chunks, root["time"].attrs["units"], root["time"][-1])
print("references:", Path("days.json").stat().st_size // 1024, "KiB")

again = omnizarr.open("days.json", mode="r")  # by anyone who may read the files
print("one place:", again["t"][::250, 9, 18].astype(int).tolist())

# The picture: a column for each 20 days, a row for each latitude; blue is cold, red is warm.
means = root["t"][:].mean(axis=2).reshape(50, 20, len(latitude)).mean(axis=1)
scaled = ((means - means.min()) / np.ptp(means)).round(2)
squares = [
    f'<rect x="{60 + 12 * x}" y="{30 + 14 * (17 - y)}" width="12" height="14"'
    f' fill="hsl({240 - 240 * scaled[x, y]:.0f},70%,55%)"/>'
    for x, y in np.ndindex(scaled.shape)
]
labels = [f'<text x="{60 + 12 * day / 20:.0f}" y="298">{year}</text>'
          for day, year in ((0, 2022), (365, 2023), (730, 2024))]  # fmt: skip
labels += [f'<text x="8" y="{157 - 1.4 * value:.0f}">{value}°</text>' for value in (-60, 0, 60)]
Path("many_netcdf_files.svg").write_text(
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 680 310" font-family="sans-serif"'
    ' font-size="12" shape-rendering="crispEdges"><rect width="680" height="310" fill="#fff"/>'
    f'<text x="60" y="20">Zonal mean temperature, {means.min():.0f} to {means.max():.0f} K, of'
    " 1,000 NetCDF files read as one array</text>\n" + "\n".join(squares + labels) + "\n</svg>\n",
    encoding="utf-8",
)
