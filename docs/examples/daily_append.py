"""A series that grows every day, by a process that is killed on the way; and its picture."""

import subprocess
import sys
import time
from pathlib import Path

import matplotlib

matplotlib.use("agg")
import matplotlib.pyplot as plt
import numpy as np

import omnizarr

DAYS, HOURS = 12, 24
WORKER = """
import sys, time
import numpy as np
import omnizarr

def temperature(day):
    hours = day * 24 + np.arange(24)
    place = np.linspace(0, np.pi, 90 * 180).reshape(90, 180)
    wave = np.sin(hours / 24 * 2 * np.pi)[:, None, None] + np.cos(hours / 240)[:, None, None]
    return (15 + 8 * np.sin(place) * wave).astype("f4")

def slowly(progress):
    time.sleep(0.01)

day = int(sys.argv[1])
hours = day * 24 + np.arange(24)
values = {"time": hours, "temperature": temperature(day)}
omnizarr.append("daily.zarr", values, "time", at=day * 24, progress=slowly)
"""

root = omnizarr.open_group("daily.zarr", mode="w")
root.create_array("time", shape=(0,), chunks=(HOURS,), dtype="i8", dimension_names=("time",))
root.create_array(
    "temperature",
    shape=(0, 90, 180),
    chunks=(HOURS, 45, 90),
    dtype="f4",
    dimension_names=("time", "lat", "lon"),
)

# Every day has a process of its own. On every third day it is killed while it writes; the same
# command, run again, goes on. `at` says where the day belongs, so that no day is appended twice.
random = np.random.default_rng(1)
journal = Path("daily.zarr/.omnizarr-append.json")
for day in range(DAYS):
    command = [sys.executable, "-c", WORKER, str(day)]
    if day % 3 == 2:
        process = subprocess.Popen(command)
        while process.poll() is None and not journal.exists():
            time.sleep(0.001)
        time.sleep(random.uniform(0, 0.05))
        process.kill()
        process.wait()
        length = omnizarr.open_group("daily.zarr", mode="r")["temperature"].shape[0]
        assert length in (day * HOURS, (day + 1) * HOURS)
    subprocess.run(command, check=True)

found = omnizarr.open_group("daily.zarr", mode="r")
print(found["temperature"].shape, np.array_equal(found["time"][:], np.arange(DAYS * HOURS)))
print("gaps:", int((found["temperature"][:] == 0).any(axis=(1, 2)).sum()), "| journal:", journal.exists())

figure, panel = plt.subplots(figsize=(9, 2.6), layout="constrained")
panel.plot(found["time"][:] / HOURS, found["temperature"][:, 45, 90], linewidth=1)
panel.set(xlabel="day", ylabel="°C", title=f"{DAYS} days, appended by processes that were killed")
figure.savefig("daily_append.png", dpi=80)
