"""Running commands in this process, and the stores that they look at."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import omnizarr as zarr
from omnizarr.cli import main


@dataclass(frozen=True)
class Done:
    """What a command left behind."""

    status: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        def refuse(token: str) -> None:
            raise AssertionError(f"{token} is no JSON")

        return json.loads(self.out, parse_constant=refuse)


Run = Callable[..., Done]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """`run("tree", path)` is `omnizarr tree path` in this process."""
    monkeypatch.delenv("COLUMNS", raising=False)

    def call(*arguments: object) -> Done:
        capsys.readouterr()
        status = main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return Done(status, captured.out, captured.err)

    return call


def write(path: Path, zarr_format: int = 3) -> Path:
    """A small hierarchy: two groups, three arrays, chunks missing from one of them."""
    root = zarr.create_group(path, attributes={"title": "trial"}, zarr_format=zarr_format)
    deep = root.create_group("deep")
    deep.create_array("z", data=np.arange(6, dtype="i2").reshape(2, 3), chunks=(1, 3))
    sparse = root.create_array(
        "sparse",
        shape=(40, 60),
        chunks=(10, 10),
        dtype="f4",
        fill_value=np.nan,
        dimension_names=["y", "x"],
        attributes={"units": "K", "bad": float("nan"), "note": "a\x1b[2Jb\nc"},
    )
    sparse[:10, :20] = 1
    root.create_array("text", data=np.array(["a", "ü"], dtype=np.dtypes.StringDType()))
    return path


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return write(tmp_path / "data.zarr")
