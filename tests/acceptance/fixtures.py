"""Stores that other software wrote, and what they must read as.

Two sets, read as one:

* `conformance` in this repository: stores that were generated with many releases of many libraries
  (`omnizarr.testing.conformance`). They are always here.
* Files of third parties beside the repository (`../shared/fixtures`, or the folder that
  `ZARR_SHARED` names). Where they are absent the first set is read alone, and
  `test_fixtures.py` says so.

This module knows both tables and how to unpack an archive once. It must not know the library under
test: it is handed arrays.

Which rows count
----------------
A row has an expectation if it names a sidecar file or a SHA-256. All of them are read, whatever
their format: nothing is left out because it is awkward. (Rows of format `raw` are single buffers of
numcodecs; `tests/codecs` reads those.) The rows without an expectation (virtual shapes of 10^10
elements, deliberately broken metadata) are opened, and one element is read: that works or ends in
an error of ours.
"""

from __future__ import annotations

import csv
import hashlib
import json
import os
import shutil
import tempfile
import zipfile
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from omnizarr.testing import expectations
from omnizarr.testing.conformance import load_rows
from omnizarr.testing.expectations import Row

REPOSITORY = Path(__file__).resolve().parents[2]
CONFORMANCE = REPOSITORY / "conformance"
GENERATED_ROWS = {"v0": 84, "v1": 54, "v2": 563, "v3": 513, "v3-draft": 127, "n5": 53, "nczarr": 18}
"""Rows of `conformance` by family: the first word of their format."""
EXPECTED_ROWS = {"v0": 84, "v1": 54, "v2": 1438, "v3": 910, "v3-draft": 135, "n5": 91, "nczarr": 18}
"""Rows with an expectation of both sets."""
EXPECTED_SIDECARS = 2638
"""Of these, the rows whose expectation is an array; the others have a digest."""
EXPECTED_WITHOUT = 36


def shared() -> Path:
    return Path(os.environ.get("ZARR_SHARED", REPOSITORY.parent / "shared"))


def third_party() -> bool:
    """Whether the files of third parties are here."""
    return (shared() / "fixtures" / "MANIFEST.tsv").is_file()


ABSENT = f"the set of third-party files is absent: no {shared()}/fixtures (set ZARR_SHARED)"
needs_third_party = pytest.mark.skipif(not third_party(), reason=ABSENT)


@cache
def rows() -> tuple[Row, ...]:
    """Every row that has an expectation."""
    return tuple(row for row in all_rows() if row.sidecar or row.digest)


@cache
def all_rows() -> tuple[Row, ...]:
    """Every row that is an array in a store."""
    return (*_third_party_rows(), *load_rows(CONFORMANCE))


def _third_party_rows() -> list[Row]:
    if not third_party():
        return []
    root = shared() / "fixtures"
    with zipfile.ZipFile(root / "_expected_real.zip") as archive:
        index = json.loads(archive.read("_expected_real/INDEX.json"))
    found = []
    with open(root / "MANIFEST.tsv", newline="", encoding="utf-8") as file:
        for line in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE):
            if line["format"].startswith("raw") or line["path"].startswith("generated-"):
                continue
            entry = index.get(line["path"])
            row = Row(
                path=line["path"],
                format=line["format"],
                dtype=line["dtype"],
                shape=line["shape"],
                codecs=line["codecs"],
                sidecar=line["expected_sidecar"],
                how=line["expected_how"],
                digest=entry["sha256_le_c"] if entry else None,
                digest_shape=tuple(entry["shape"]) if entry else None,
            )
            found.append(row)
    return found


def counted() -> dict[str, int]:
    """How many rows with an expectation there must be, by family."""
    return EXPECTED_ROWS if third_party() else GENERATED_ROWS


def sources() -> list[str]:
    return sorted({row.source for row in rows()})


def present(source: str) -> bool:
    """Whether this archive is here, in one set or the other."""
    return _archive(source).is_file()


def _archive(source: str) -> Path:
    generated = CONFORMANCE / f"{source}.zip"
    return generated if generated.is_file() else shared() / "fixtures" / f"{source}.zip"


# -- unpacking ------------------------------------------------------------------------------------
@cache
def unpacked(source: str) -> Path:
    """The folder above the unpacked source. Safe when several workers ask at once.

    It is named after the archive's content, so that another archive gets another folder.
    """
    archive = _archive(source)
    stamp = hashlib.sha256(archive.read_bytes()).hexdigest()[:12]
    root = REPOSITORY / ".cache" / "fixtures" / stamp
    target = root / source
    if not target.is_dir():
        root.mkdir(parents=True, exist_ok=True)
        (REPOSITORY / ".cache" / ".gitignore").write_text("*\n")
        scratch = Path(tempfile.mkdtemp(prefix=f".{source}-", dir=root))
        with zipfile.ZipFile(archive) as file:
            file.extractall(scratch)
        try:
            os.rename(scratch / source, target)
        except OSError:
            if not target.is_dir():
                raise
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
    return root


def state_of(folder: Path) -> dict[str, tuple[int, int]]:
    """Size and time of every file below, to prove that reading changed nothing."""
    result = {}
    for parent, _, names in os.walk(folder):
        for name in names:
            status = os.lstat(os.path.join(parent, name))
            result[os.path.join(parent, name)] = (status.st_size, status.st_mtime_ns)
    return result


def difference(row: Row, actual: np.ndarray[Any, Any]) -> str | None:
    """None if `actual` is what the row must read as, else what differs."""
    top = unpacked(row.sidecar.split("/", 1)[0]) if row.sidecar else REPOSITORY
    return expectations.difference(row, actual, top)
