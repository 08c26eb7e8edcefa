"""Jobs on Ray, run by the interpreter of `.peers/ray`: prints what came out."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import numpy as np

import omnizarr
from omnizarr.jobs import opened, run, workers_for


class DiesOnce:
    """Kills its process at one task, the first time."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __call__(self, number: int) -> int:
        mark = self.folder / "died"
        if number == 5 and not mark.exists():
            mark.touch()
            os._exit(1)
        if number < 0:
            raise ValueError("negative")
        return number * number


def main(folder: Path) -> None:
    import ray

    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    values = np.arange(60_000).reshape(300, 200)
    omnizarr.create_array(folder / "a.zarr", data=values, chunks=(50, 50), zarr_format=2)
    omnizarr.convert(folder / "a.zarr", folder / "b.zarr", chunks=(30, 40), executor="ray")
    found = {}
    error = ""
    with opened("ray") as crew:
        in_flight = workers_for(1, executor=crew)
        run(DiesOnce(folder), range(20), found.__setitem__, workers=in_flight, executor=crew)
        try:
            run(DiesOnce(folder), [-1], found.__setitem__, workers=1, executor=crew)
        except ValueError as raised:
            error = str(raised)
    facts = {
        "equal": bool(np.array_equal(omnizarr.open(folder / "b.zarr")[:], values)),
        "ok": omnizarr.verify(folder / "b.zarr", executor="ray").ok,
        "tasks": found == {number: number * number for number in range(20)},
        "in_flight": in_flight,
        "error": "negative" in error,
    }
    ray.shutdown()
    print(json.dumps(facts))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
