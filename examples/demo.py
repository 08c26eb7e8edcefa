"""Write a small climate hierarchy, read slices back, convert it through every format and back.

Whatever is read is compared with what was written, and the report shows what it cost.

    python examples/demo.py                    a fresh folder, and a report
    python examples/demo.py --store PATH       a folder of your choice, which must not exist yet
    python examples/demo.py --json             the same report for programs

The exit status is 1 if any value differs from what was written.
"""

from __future__ import annotations

import argparse
import json
import platform
import shlex
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import omnizarr as zarr

DAYS, LATITUDES, LONGITUDES = 365, 91, 180
MIB = 1 << 20
PREFIX = "omnizarr-demo-"
FORMATS = (0, 1, 2, "3-draft2019", "3-draft2020-09", "3-draft2020-10", "n5")
DROPPED = ("groups", "attributes", "dimension_names", "fill_value")
REENCODED = ("codecs", "shards", "chunks")
STATIONS = {
    # name: (latitude, longitude, elevation in metres)
    "Reykjavík": (64.13, -21.90, 52.0),
    "Zürich / Fluntern": (47.38, 8.57, 556.0),
    "São Paulo": (-23.50, -46.62, 792.0),
    "東京 (Tokyo)": (35.69, 139.75, 25.0),
    "Nairobi Dagoretti": (-1.30, 36.75, 1798.0),
    "Amundsen–Scott": (-90.0, 0.0, 2835.0),
}


@dataclass
class Report:
    """What was done and what it took; printed as text or as JSON."""

    store: str
    writes: list[dict[str, Any]] = field(default_factory=list)
    checks: list[dict[str, Any]] = field(default_factory=list)
    nodes: list[dict[str, Any]] = field(default_factory=list)
    conversions: list[dict[str, Any]] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        return all(row["ok"] for row in (*self.checks, *self.conversions))


# -- data that looks like weather --------------------------------------------------------------


def coordinates() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    time_axis = np.arange(DAYS, dtype="int64")
    latitude = np.linspace(90, -90, LATITUDES, dtype="float32")
    longitude = np.arange(LONGITUDES, dtype="float32") * 2 - 180
    return time_axis, latitude, longitude


def temperature_field(rng: np.random.Generator) -> np.ndarray:
    """Kelvin: warm tropics, opposite seasons in the two hemispheres, and daily noise."""
    day, latitude, longitude = coordinates()
    radians = np.deg2rad(latitude)[None, :, None]
    mean = 300 - 45 * np.sin(radians) ** 2
    season = -18 * np.sin(radians) * np.cos(2 * np.pi * (day[:, None, None] - 15) / 365.25)
    waves = 3 * np.cos(radians) * np.sin(np.deg2rad(longitude) * 3 + day[:, None, None] / 9)
    noise = rng.standard_normal((DAYS, LATITUDES, LONGITUDES), dtype="float32")
    return np.round(mean + season + waves + noise, 1).astype("float32")


def precipitation_field(rng: np.random.Generator) -> np.ndarray:
    """Millimetres a day: mostly dry, with patches of rain."""
    rain = rng.standard_exponential((DAYS, LATITUDES, LONGITUDES), dtype="float32") * 4
    day, latitude, longitude = coordinates()
    radians = np.deg2rad(latitude)[None, :, None]
    front = np.sin(np.deg2rad(longitude) * 2 + day[:, None, None] / 5 + radians * 4)
    return np.where(front > 0.6, np.round(rain, 1), 0).astype("float32")


# -- writing -----------------------------------------------------------------------------------


@contextmanager
def stopwatch() -> Iterator[Callable[[], float]]:
    start = time.perf_counter()
    end = 0.0
    yield lambda: (end or time.perf_counter()) - start
    end = time.perf_counter()


def progress(label: str, done: int, total: int) -> None:
    """A bar on the terminal while something long runs; nothing where no one looks."""
    if sys.stderr.isatty():
        bar = "━" * (24 * done // total)
        text = f"\r  {label:<14} {bar:<24} {100 * done // total:>3} %"
        print(text if done < total else "\r" + " " * len(text) + "\r", end="", file=sys.stderr)


def write_field(array: Any, values: np.ndarray, report: Report) -> None:
    """Write along time, a year's quarter at once, as a model would."""
    step = 128
    with stopwatch() as elapsed:
        for start in range(0, DAYS, step):
            array[start : start + step] = values[start : start + step]
            progress(array.path, min(start + step, DAYS), DAYS)
    report.writes.append({"path": array.path, "bytes": values.nbytes, "seconds": elapsed()})


def write_hierarchy(path: Path, report: Report) -> dict[str, np.ndarray]:
    """The whole store; returns what was written, for comparison."""
    rng = np.random.default_rng(20240229)
    day, latitude, longitude = coordinates()
    temperature, precipitation = temperature_field(rng), precipitation_field(rng)
    root = zarr.create_group(
        path,
        attributes={
            "Conventions": "CF-1.11",
            "title": "A year of invented weather",
            "source": "examples/demo.py",
        },
    )
    axes = {
        "time": (day, {"units": "days since 2023-01-01", "calendar": "standard"}),
        "lat": (latitude, {"units": "degrees_north", "standard_name": "latitude"}),
        "lon": (longitude, {"units": "degrees_east", "standard_name": "longitude"}),
    }
    for name, (values, attributes) in axes.items():
        root.create_array(name, data=values, dimension_names=[name], attributes=attributes)

    shape, dimensions = temperature.shape, ["time", "lat", "lon"]
    write_field(
        root.create_array(
            "temperature",
            shape=shape,
            dtype="float32",
            chunks=(128, 46, 60),
            fill_value=np.nan,
            dimension_names=dimensions,
            attributes={
                "units": "K",
                "long_name": "Near-surface air temperature",
                "standard_name": "air_temperature",
                "cell_methods": "time: mean",
            },
        ),
        temperature,
        report,
    )
    write_field(
        root.create_array(
            "precipitation",
            shape=shape,
            dtype="float32",
            chunks=(32, 23, 45),
            shards=(128, 92, 180),
            fill_value=0,
            dimension_names=dimensions,
            attributes={"units": "mm day-1", "long_name": "Precipitation"},
        ),
        precipitation,
        report,
    )

    stations = root.create_group("stations", attributes={"featureType": "timeSeries"})
    names = np.array(list(STATIONS), dtype=np.dtypes.StringDType())
    places = np.array(list(STATIONS.values()), dtype="float32")
    stations.create_array("name", data=names, dimension_names=["station"])
    stations.create_array(
        "place",
        data=places,
        dimension_names=["station", "place"],
        attributes={"columns": ["latitude", "longitude", "elevation"]},
    )
    return {"temperature": temperature, "precipitation": precipitation, "names": names}


# -- reading back ------------------------------------------------------------------------------


def check(report: Report, label: str, read: Callable[[], Any], expected: np.ndarray) -> None:
    with stopwatch() as elapsed:
        found = np.asarray(read())
    seconds = elapsed()
    same = found.shape == expected.shape and bool(np.array_equal(found, expected))
    report.checks.append(
        {"label": label, "values": int(expected.size), "seconds": seconds, "ok": same}
    )


def check_damage(report: Report, path: Path) -> None:
    """Flip one bit of a stored chunk: reading it must raise, and reading others must not."""
    file = max((path / "temperature").rglob("c/*/*/*"), key=lambda file: file.stat().st_size)
    sound = file.read_bytes()
    damaged = bytearray(sound)
    damaged[len(damaged) // 2] ^= 1
    with stopwatch() as elapsed:
        try:
            file.write_bytes(damaged)
            zarr.open_array(path / "temperature", mode="r")[:]
            found = False
        except zarr.errors.DecodeError:
            found = True
        finally:
            file.write_bytes(sound)
    report.checks.append(
        {"label": "a flipped bit is noticed", "values": 1, "seconds": elapsed(), "ok": found}
    )


def read_back(path: Path, written: dict[str, np.ndarray], report: Report) -> None:
    root = zarr.open_group(path, mode="r")
    temperature, precipitation = root["temperature"], root["precipitation"]
    t, p = written["temperature"], written["precipitation"]
    _, latitude, _ = coordinates()
    tropics = np.abs(latitude) < 23.4
    storms = p[-60:] > 25

    check(report, "one point's time series", lambda: temperature[:, 21, 94], t[:, 21, 94])
    check(report, "one day, a region", lambda: temperature[200, 20:40, 60:], t[200, 20:40, 60:])
    check(report, "every 7th day, backwards", lambda: temperature[::-7, ::3], t[::-7, ::3])
    check(report, "the tropics, by mask", lambda: temperature.oindex[:90, tropics], t[:90, tropics])
    check(report, "three single cells", lambda: temperature.vindex[[1, 350, 9], 4, [7, 8, 179]],
          t[[1, 350, 9], 4, [7, 8, 179]])  # fmt: skip
    check(report, "one value of a shard", lambda: precipitation[199, 45, 90], p[199, 45, 90])
    check(
        report,
        "rain of a region",
        lambda: precipitation[90:180, 30:60, ::-2],
        p[90:180, 30:60, ::-2],
    )
    check(report, "storm cells, by mask", lambda: precipitation.lazy[-60:][storms], p[-60:][storms])
    check(report, "station names", lambda: root["stations/name"][:], written["names"])
    check(report, "everything", lambda: temperature[:], t)
    check_damage(report, path)


def describe(group: Any, report: Report, prefix: str = "") -> None:
    """One row per node for the tree."""
    for name, node in sorted(group.members()):
        row: dict[str, Any] = {"path": f"{prefix}{name}"}
        if isinstance(node, zarr.Group):
            report.nodes.append(row | {"kind": "group"})
            describe(node, report, f"{prefix}{name}/")
            continue
        stored = node.nbytes_stored()
        row |= {
            "kind": "array",
            "dtype": str(node.dtype),
            "shape": node.shape,
            "chunks": node.chunks,
            "shards": node.shards,
            "bytes": node.nbytes,
            "stored": stored,
        }
        report.nodes.append(row)


# -- through every format and back ---------------------------------------------------------------


def nodes_of(path: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """Groups and arrays of a store, by path."""
    root = zarr.open_group(path, mode="r")
    nodes = {"": root, **dict(root.members(max_depth=None))}
    arrays = {name: node for name, node in nodes.items() if isinstance(node, zarr.Array)}
    return {name: node for name, node in nodes.items() if name not in arrays}, arrays


def convert(source: Path, target: Path, zarr_format: Any, path: str = "") -> Any | None:
    """Convert with no more options than are needed, as the refusals name them; None if none helps.

    A refusal comes before anything is written.
    """
    drop: tuple[Any, ...] = ()
    reencode = False
    while True:
        try:
            return zarr.convert(
                source, target, zarr_format=zarr_format, path=path, destination_path=path,
                drop=drop, reencode=reencode, fill_values="zarr",
            )  # fmt: skip
        except zarr.errors.UnsupportedError as refusal:
            if refusal.what in DROPPED and refusal.what not in drop:
                drop += (refusal.what,)
            elif refusal.what in REENCODED and not reencode:
                reencode = True
            else:
                return None


@dataclass
class Passage:
    """What became of the hierarchy on its way into a format."""

    done: list[Any] = field(default_factory=list)
    dropped: set[str] = field(default_factory=set)
    left_out: list[str] = field(default_factory=list)


def there(source: Path, target: Path, zarr_format: Any) -> Passage:
    """Convert all that the format can hold."""
    whole = convert(source, target, zarr_format)
    if whole is not None:
        return Passage([whole], set(whole.dropped))
    # One of the arrays cannot be expressed: the groups, and then the others one by one.
    passage = Passage()
    groups, arrays = nodes_of(source)
    for path, group in groups.items():
        try:
            zarr.create_group(
                target, path=path, attributes=dict(group.attrs), zarr_format=zarr_format
            )
        except zarr.errors.UnsupportedError:
            passage.dropped.add("groups")
    for path in arrays:
        done = convert(source, target, zarr_format, path)
        if done is None:
            passage.left_out.append(path)
        else:
            passage.done.append(done)
            passage.dropped |= set(done.dropped)
    return passage


def and_back(source: Path, target: Path, paths: list[str]) -> None:
    """The same in format 3 again; array by array where the format has no groups."""
    try:
        convert(source, target, 3)
    except zarr.errors.NodeNotFoundError:
        for path in paths:
            convert(source, target, 3, path)


def same(before: Any, after: Any, dropped: set[str]) -> bool:
    """Values, data type, and all facts but those that were dropped."""
    return (
        before.dtype == after.dtype
        and np.array_equal(before[:], after[:])
        and ("attributes" in dropped or dict(before.attrs) == dict(after.attrs))
        and ("dimension_names" in dropped or before.dims == after.dims)
        and ("fill_value" in dropped or repr(before.fill_value) == repr(after.fill_value))
    )


def same_hierarchy(source: Path, back: Path, passage: Passage) -> bool:
    groups, arrays = nodes_of(source)
    groups_after, arrays_after = nodes_of(back)
    wanted = {path: array for path, array in arrays.items() if path not in passage.left_out}
    return (
        sorted(wanted) == sorted(arrays_after)
        and all(same(wanted[path], arrays_after[path], passage.dropped) for path in wanted)
        and (
            "groups" in passage.dropped
            or {path: dict(group.attrs) for path, group in groups.items()}
            == {path: dict(group.attrs) for path, group in groups_after.items()}
        )
    )


def convert_everywhere(path: Path, report: Report) -> None:
    """One row per format: what it took to get there, and whether what came back is the same."""
    _, arrays = nodes_of(path)
    for number, zarr_format in enumerate(FORMATS):
        progress("converting", number, len(FORMATS))
        folder = Path(tempfile.mkdtemp(prefix=PREFIX))
        target, back = folder / f"{zarr_format}.zarr", folder / "back.zarr"
        with stopwatch() as elapsed:
            passage = there(path, target, zarr_format)
        kept = [name for name in arrays if name not in passage.left_out]
        with stopwatch() as returned:
            and_back(target, back, kept)
        rows = [row for step in passage.done for row in step.nodes if row.kind == "array"]
        files = [file for file in target.rglob("*") if file.is_file()]
        report.conversions.append(
            {
                "zarr_format": zarr_format,
                "arrays": len(kept),
                "files": len(files),
                "stored": sum(file.stat().st_size for file in files),
                "bytes": sum(arrays[name].nbytes for name in kept),
                "seconds": elapsed(),
                "seconds_back": returned(),
                "copied": sum(row.action == "copy chunks" for row in rows),
                "reencoded": sum(row.action == "re-encode" for row in rows),
                "dropped": sorted(passage.dropped),
                "left_out": passage.left_out,
                "ok": same_hierarchy(path, back, passage),
            }
        )
        shutil.rmtree(folder)
    progress("converting", len(FORMATS), len(FORMATS))


# -- showing -----------------------------------------------------------------------------------


def size(count: int) -> str:
    for unit, scale in (("MiB", MIB), ("KiB", 1 << 10)):
        if count >= scale:
            return f"{count / scale:.1f} {unit}"
    return f"{count} B"


def show(report: Report) -> None:
    versions = f"omnizarr {zarr.__version__} · Python {platform.python_version()}"
    print(f"{versions} · NumPy {np.__version__}\n")
    print("Written")
    for row in report.writes:
        seconds, count = row["seconds"], row["bytes"]
        speed = f"{count / MIB / seconds:.0f} MiB/s"
        print(f"  {row['path']:<16}{size(count):>10}{seconds:>8.2f} s{speed:>15}")
    print("\nStored" + " " * 50 + "size    on disk   ratio")
    for row in report.nodes:
        depth, name = row["path"].count("/"), row["path"].rpartition("/")[2]
        label = "  " * (depth + 1) + name
        if row["kind"] == "group":
            print(f"{label}/")
            continue
        layout = f"{row['dtype']} {'×'.join(map(str, row['shape']))}"
        ratio = row["bytes"] / row["stored"] if row["stored"] else 0
        print(
            f"{label:<18}{layout:<34}{size(row['bytes']):>10}{size(row['stored']):>11}{ratio:>8.1f}"
        )
        if row["shards"] is not None:
            chunks, shards = ("×".join(map(str, row[unit])) for unit in ("chunks", "shards"))
            print(f"{'':<18}chunks {chunks} in shards {shards}")
    print("\nRead back and compared with NumPy")
    for row in report.checks:
        mark = "✓" if row["ok"] else "✗ DIFFERS"
        noun = "value" if row["values"] == 1 else "values"
        cost = f"{row['values']:>12,} {noun:<6}{row['seconds'] * 1e3:>10.1f} ms"
        print(f"  {mark} {row['label']:<28}{cost}")
    show_conversions(report)
    equal = [row["ok"] for row in (*report.checks, *report.conversions)]
    verdict = "All equal" if all(equal) else f"{equal.count(False)} of {len(equal)} differ"
    look = shlex.join([sys.executable, "-m", "omnizarr", "tree", report.store])
    print(f"\n{verdict}. The store remains.\n  look at it  {look}")
    above = Path(report.store).parent
    left = str(above) if above.name.startswith(PREFIX) else report.store
    print(f"  remove it   {shlex.join(['rm', '-r', left])}")


def show_conversions(report: Report) -> None:
    print("\nConverted into every format, back into format 3, and compared")
    head = f"    {'format':<15}{'arrays':>7}{'files':>7}{'on disk':>11}{'there':>12}{'back':>12}"
    print(f"{head}  chunks of the arrays were")
    for row in report.conversions:
        mark = "✓" if row["ok"] else "✗"
        there_speed, back_speed = (
            f"{row['bytes'] / MIB / row[name]:.0f} MiB/s" for name in ("seconds", "seconds_back")
        )
        ways = [f"{row[way]} {word}" for way, word in (("copied", "copied"),
                ("reencoded", "re-encoded")) if row[way]]  # fmt: skip
        print(
            f"  {mark} {row['zarr_format']!s:<15}{row['arrays']:>7}{row['files']:>7}"
            f"{size(row['stored']):>11}{there_speed:>12}{back_speed:>12}  {', '.join(ways)}"
        )
        if row["dropped"] or row["left_out"]:
            lost = [part.replace("_", " ") for part in row["dropped"]] + row["left_out"]
            print(f"{'':<19}without {', '.join(lost)}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--store", type=Path, help="where to write; must not exist yet")
    parser.add_argument("--json", action="store_true", help="print the report as JSON")
    arguments = parser.parse_args()
    path = arguments.store
    if path is None:
        path = Path(tempfile.mkdtemp(prefix=PREFIX)) / "climate.zarr"
    elif path.exists():
        parser.error(f"{path} exists already; name a folder that does not")
    report = Report(store=str(path.absolute()))
    written = write_hierarchy(path, report)
    describe(zarr.open_group(path, mode="r"), report)
    read_back(path, written, report)
    convert_everywhere(path, report)
    if arguments.json:
        print(json.dumps({"ok": report.ok, **vars(report)}, indent=2))
    else:
        show(report)
    return 0 if report.ok else 1


if __name__ == "__main__":
    sys.exit(main())
