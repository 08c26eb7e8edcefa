"""Writes one number after the other into whole and half chunks, until it is killed.

python database_worker.py STORE FIRST
"""

from __future__ import annotations

import sys

import omnizarr as zarr


def main() -> None:
    root = zarr.open_group(sys.argv[1], mode="r+")
    whole, partial = root["whole"], root["partial"]
    length = partial.shape[0] // 2
    print("ready", flush=True)
    for number in range(int(sys.argv[2]), 1 << 30):
        whole[:] = number
        partial[:length] = number
        partial[length:] = number


if __name__ == "__main__":
    main()
