"""Read stores that many releases of many libraries wrote, and compare every value.

    python -m omnizarr.testing.conformance                      read them with omnizarr
    python -m omnizarr.testing.conformance --library zarr       with the installed zarr-python
    python -m omnizarr.testing.conformance --library tensorstore --json

The data is the folder `conformance` of a checkout: one archive per writer, and `arrays.tsv` with a
row per array. An array is read *exactly*, is *refused* (the library raises an error) or is *wrong*
(values, shape or data type differ). The exit status is 1 if any array is wrong.

An adapter is a function that reads one array whole; `ADAPTERS` holds one per library.
"""

from __future__ import annotations

import argparse
import csv
import json
import sys
import tempfile
import warnings
import zipfile
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from omnizarr.testing.expectations import Row, difference

Adapter = Callable[[Path, Row], "np.ndarray[Any, Any]"]

TABLE = "arrays.tsv"
OUTCOMES = ("exact", "refused", "wrong")


@dataclass(frozen=True)
class Outcome:
    """What became of one array: `exact`, `refused` or `wrong`, and why."""

    row: Row
    result: str
    reason: str = ""


# -- the data -------------------------------------------------------------------------------------


def find_data() -> Path:
    """Return the folder `conformance` of this checkout, or of the current folder.

    Raises
    ------
    FileNotFoundError
        If there is none: wheels do not contain the data.
    """
    places = [Path(__file__).resolve().parents[3] / "conformance", Path.cwd() / "conformance"]
    for place in places:
        if (place / TABLE).is_file():
            return place
    raise FileNotFoundError(
        f"no folder conformance with {TABLE}, looked for {' and '.join(map(str, places))}; "
        "it is part of a checkout and of the source distribution: name the folder as an argument"
    )


def load_rows(data: Path) -> tuple[Row, ...]:
    """Return every array of the table, in its order.

    Parameters
    ----------
    data
        The folder `conformance`.
    """
    found = []
    with open(data / TABLE, newline="", encoding="utf-8") as file:
        for line in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE):
            expected = line["expected"]
            digest = expected.removeprefix("sha256:") if expected.startswith("sha256:") else None
            row = Row(
                path=line["path"],
                format=line["format"],
                dtype=line["dtype"],
                shape=line["shape"],
                codecs=line["codecs"],
                sidecar="" if digest else f"{line['path'].split('/', 1)[0]}/{expected}",
                how=f"read back by its writer: {line['read_back']}",
                digest=digest,
                digest_shape=tuple(json.loads(line["shape"])) if digest else None,
                fault=line["fault"] or "",
            )
            found.append(row)
    return tuple(found)


# -- libraries ------------------------------------------------------------------------------------


def read_with_omnizarr(store: Path, row: Row) -> np.ndarray[Any, Any]:
    """Read with omnizarr. The data is trusted, so that pickled chunks are allowed."""
    omnizarr = import_module("omnizarr")
    array = omnizarr.open_array(str(store), mode="r", path=row.node, allow_pickle=row.pickled)
    return np.asarray(array[...], dtype=array.dtype)


def read_with_zarr(store: Path, row: Row) -> np.ndarray[Any, Any]:
    """Read with zarr-python, of generation 2 or 3."""
    zarr = import_module("zarr")
    opened: Any = str(store)
    if store.suffix == ".zip":
        opened = import_module("zarr.storage").ZipStore(opened, mode="r")
    array = zarr.open_array(opened, mode="r", path=row.node or None)
    return np.asarray(array[...])


DRIVERS = {"v2": "zarr", "nczarr": "zarr", "v3": "zarr3", "n5": "n5"}
"""TensorStore's drivers by the family of a row."""


def read_with_tensorstore(store: Path, row: Row) -> np.ndarray[Any, Any]:
    """Read with TensorStore, whose axes of N5 arrays are the stored ones."""
    tensorstore = import_module("tensorstore")
    if row.family not in DRIVERS:
        raise NotImplementedError(f"TensorStore has no driver for {row.format}")
    place: dict[str, Any] = {"driver": "file", "path": str(store)}
    if store.suffix == ".zip":
        place = {"driver": "zip", "base": place, "path": f"{row.node}/" if row.node else ""}
    else:
        place["path"] += f"/{row.node}/" if row.node else "/"
    spec = {"driver": DRIVERS[row.family], "kvstore": place}
    values = np.asarray(tensorstore.open(spec, read=True, open=True).result().read().result())
    if not values.dtype.itemsize:  # bytes of fixed length: one more dimension, of "V0" or "S0"
        raise NotImplementedError(f"TensorStore reads {row.dtype} as {values.dtype}")
    return values.transpose() if row.family == "n5" else values


ADAPTERS: dict[str, Adapter] = {
    "omnizarr": read_with_omnizarr,
    "zarr": read_with_zarr,
    "tensorstore": read_with_tensorstore,
}
"""By the name of the module and of its distribution."""


# -- running --------------------------------------------------------------------------------------


def judge(row: Row, adapter: Adapter, top: Path) -> Outcome:
    """Read one array and compare it.

    Parameters
    ----------
    row
        The array.
    adapter
        The library under test.
    top
        Folder into which the row's archive was unpacked.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            actual = adapter(top / row.store, row)
    except Exception as error:  # whatever a library raises
        text = " ".join(str(error).replace(f"{top}/", "").split())
        return Outcome(row, "refused", f"{type(error).__name__}: {text}"[:300])
    found = difference(row, actual, top)
    return Outcome(row, "wrong", found[:300]) if found else Outcome(row, "exact")


def run(data: Path, adapter: Adapter, writers: Iterable[str] = ()) -> list[Outcome]:
    """Read every array whose store is sound, one writer after the other.

    Parameters
    ----------
    data
        The folder `conformance`.
    adapter
        The library under test: a function from a store and a row to values.
    writers
        Names of archives; all if there are none.
    """
    rows = [row for row in load_rows(data) if not row.fault]
    known = list(dict.fromkeys(row.source for row in rows))
    chosen = list(writers) or known
    if unknown := sorted(set(chosen) - set(known)):
        raise ValueError(f"unknown writer {unknown}, expected some of {known}")
    outcomes = []
    for writer in chosen:
        with tempfile.TemporaryDirectory(prefix="conformance-") as folder:
            with zipfile.ZipFile(data / f"{writer}.zip") as archive:
                archive.extractall(folder)
            mine = (row for row in rows if row.source == writer)
            outcomes += [judge(row, adapter, Path(folder)) for row in mine]
    return outcomes


# -- showing --------------------------------------------------------------------------------------


def counts(outcomes: Iterable[Outcome]) -> dict[str, Counter[str]]:
    """Return how many arrays of each writer ended how, and of all writers under ``"all"``."""
    table: dict[str, Counter[str]] = {}
    for outcome in outcomes:
        for name in (outcome.row.source, "all"):
            table.setdefault(name, Counter())[outcome.result] += 1
    if "all" in table:
        table["all"] = table.pop("all")  # the last row
    return table


def as_text(title: str, outcomes: Sequence[Outcome], *, verbose: bool = False) -> str:
    """Draw the table, and list below it what was wrong; `verbose` adds what was refused."""
    table = counts(outcomes)
    width = max(map(len, table), default=0) + 2
    lines = [f"{title}\n", f"{'written by':{width}}" + "".join(f"{one:>9}" for one in OUTCOMES)]
    for name, cells in table.items():
        lines.append(f"{name:{width}}" + "".join(f"{cells[one]:>9,}" for one in OUTCOMES))
    for result in ("refused", "wrong") if verbose else ("wrong",):
        found = [one for one in outcomes if one.result == result]
        lines += ["", f"{result}:"] if found else []
        lines += [f"  {one.row.path}: {one.reason}" for one in found]
    return "\n".join(lines) + "\n"


def as_json(library: str, release: str, outcomes: Sequence[Outcome]) -> str:
    """Return the table, and every array that was not read exactly, as JSON."""
    table = {
        name: {one: cells[one] for one in OUTCOMES} for name, cells in counts(outcomes).items()
    }
    others = [
        {"path": one.row.path, "result": one.result, "reason": one.reason}
        for one in outcomes
        if one.result != "exact"
    ]
    document = {"library": library, "version": release, "writers": table, "arrays": others}
    return json.dumps(document, indent=2) + "\n"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return its exit status: 1 if an array was read wrongly."""
    parser = argparse.ArgumentParser(
        prog="python -m omnizarr.testing.conformance",
        description="Read stores that many libraries wrote, and compare every value.",
    )
    parser.add_argument("data", nargs="?", type=Path, help="the folder conformance of a checkout")
    parser.add_argument("--library", choices=ADAPTERS, default="omnizarr", help="what reads them")
    parser.add_argument("--writer", action="append", default=[], help="only this archive")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument(
        "--verbose", action="store_true", help="list what was refused, with reasons"
    )
    options = parser.parse_args(arguments)
    try:
        module = import_module(options.library)
        release = getattr(module, "__version__", None) or version(options.library)
    except ImportError as error:
        parser.error(f"{options.library} cannot be imported: {error}")
    try:
        data = options.data or find_data()
        outcomes = run(data, ADAPTERS[options.library], options.writer)
    except (FileNotFoundError, ValueError) as error:
        parser.error(str(error))
    if options.json:
        text = as_json(options.library, release, outcomes)
    else:
        title = f"{options.library} {release}: {len(outcomes):,} arrays"
        text = as_text(title, outcomes, verbose=options.verbose)
    sys.stdout.write(text)
    return int(any(one.result == "wrong" for one in outcomes))


if __name__ == "__main__":
    sys.exit(main())
