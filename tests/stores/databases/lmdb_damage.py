"""Damage an LMDB file in many ways and use it; run as a process of its own, which must survive.

    python lmdb_damage.py FOLDER TURNS SEED

Prints one JSON object: how many uses raised, and what else came out of them.
"""

from __future__ import annotations

import json
import random
import struct
import sys
from pathlib import Path

from omnizarr.errors import StoreError
from omnizarr.stores import ByteRange, LMDBStore


def fill(path: Path) -> dict[str, bytes]:
    values = {f"a/{i}": bytes([i % 256]) * (i * 37 % 9000) for i in range(400)}
    with LMDBStore(path) as store:
        store.update(values)
        for i in range(0, 400, 3):  # pages become free
            store.delete(f"a/{i}")
            del values[f"a/{i}"]
        store.set("b", b"x" * 100_000)
    return values | {"b": b"x" * 100_000}


def damage(sound: bytes, chance: random.Random) -> bytes:
    data = bytearray(sound)
    way = chance.randrange(5)
    if way == 0:
        del data[chance.randrange(len(data)) :]
    elif way == 1:  # numbers of meta pages
        for _ in range(chance.randrange(1, 4)):
            at = chance.choice([0, 4096]) + chance.randrange(16, 160)
            data[at] = chance.choice([0, 1, 8, 127, 255, chance.randrange(256)])
    elif way == 2:  # headers of pages and what follows them
        for _ in range(chance.randrange(1, 30)):
            at = chance.randrange(len(data) // 4096) * 4096 + chance.randrange(64)
            data[at] = chance.randrange(256)
    elif way == 3:  # numbers of 8 bytes
        for _ in range(chance.randrange(1, 10)):
            at = chance.randrange(len(data) // 8) * 8
            struct.pack_into("<Q", data, at, chance.choice([0, 1, 2, 5, 1 << 20, (1 << 64) - 1]))
    else:
        for _ in range(chance.randrange(1, 200)):
            data[chance.randrange(len(data))] = chance.randrange(256)
    return bytes(data)


def main(folder: Path, turns: int, seed: int) -> None:
    path = folder / "x.lmdb"
    values = fill(path)
    sound = (path / "data.mdb").read_bytes()
    chance = random.Random(seed)
    counts = {"raised": 0, "worked": 0, "wrong": 0}
    for _ in range(turns):
        (path / "data.mdb").write_bytes(damage(sound, chance))
        (path / "lock.mdb").unlink(missing_ok=True)
        try:
            with LMDBStore(path) as store:
                found = {key: store.get(key) for key in store.list()}
                store.list_dir("a/")
                store.get_many([(key, ByteRange(-3)) for key in values])
                store.set("a/1", b"y" * 30_000)
                store.set("new", b"z" * 5000)
                store.delete_prefix("a/")
                counts["worked"] += 1
                counts["wrong"] += set(found) != set(values)
        except StoreError:
            counts["raised"] += 1
    print(json.dumps(counts))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
