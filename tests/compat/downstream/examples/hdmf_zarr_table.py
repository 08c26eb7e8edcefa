"""hdmf-zarr: a table of columns, written and read."""

from __future__ import annotations

from pathlib import Path

from hdmf.common import DynamicTable, VectorData, get_manager
from hdmf_zarr.backend import ZarrIO


def main(folder: Path) -> None:
    path = str(folder / "table.zarr")
    columns = [
        VectorData(name="number", description="n", data=[1, 2, 3]),
        VectorData(name="word", description="w", data=["u", "v", "w"]),
    ]
    table = DynamicTable(name="t", description="a table", columns=columns)
    with ZarrIO(path=path, manager=get_manager(), mode="w") as io:
        io.write(table)
    with ZarrIO(path=path, manager=get_manager(), mode="r") as io:
        found = io.read()
        assert list(found["number"].data[:]) == [1, 2, 3]
        assert list(found["word"].data[:]) == ["u", "v", "w"]
