"""Mutated frames and columns through every function of the core: `mutations.py CASES SEED`.

Run in a process of its own, so that a crash is seen. Prints how many cases were accepted and how
many refused; anything but ValueError, TypeError and IndexError ends it."""

from __future__ import annotations

import random
import sys
from typing import Any

import numpy as np
import omnizarr_native as core

TEXT = np.dtypes.StringDType()
WORDS = [0, 1, 3, 127, 128, 255, 256, 2**16, 2**31 - 1, 2**31, 2**32 - 1]
ITEMS = [b"", b"a", b"\0", "é".encode(), "東京".encode(), b"\xff", b"b" * 15, b"c" * 16, b"d" * 300]


def mutated(chance: random.Random, data: bytes) -> bytes:
    changed = bytearray(data)
    for _ in range(chance.randint(0, 3)):
        place = chance.randrange(len(changed) + 1)
        match chance.randrange(5):
            case 0:
                changed[place : place + 1] = chance.randbytes(1)
            case 1:
                del changed[place : place + chance.randint(1, 9)]
            case 2:
                changed[place:place] = chance.randbytes(chance.randint(1, 9))
            case 3:
                changed[place : place + 4] = chance.choice(WORDS).to_bytes(4, "little")
            case 4:
                changed[place : place + 8] = chance.getrandbits(64).to_bytes(8, "little")
    return bytes(changed)


def calls(chance: random.Random, out: Any, objects: Any) -> list[Any]:
    items = chance.choices(ITEMS, k=chance.randint(0, len(out)))
    lengths = [len(item) for item in items]
    parts = [len(items).to_bytes(4, "little")]
    for item in items:
        parts += [len(item).to_bytes(4, "little"), item]
    frame = mutated(chance, b"".join(parts))
    stated = int.from_bytes(frame[:4], "little")
    width = chance.choice([np.int32, np.int64])
    stored = mutated(chance, np.cumsum([0, *lengths], dtype=width).tobytes())
    offsets = np.frombuffer(stored[: len(stored) // width().itemsize * width().itemsize], width)
    data = np.frombuffer(mutated(chance, b"".join(items)), np.uint8)
    count = max(len(offsets) - 1, 0) if chance.random() < 0.9 else 1
    indices = np.array([chance.randint(-1, len(items)) for _ in range(3)], np.int64)
    text = chance.random() < 0.5
    return [
        lambda: core.frame_split(frame, stated),
        lambda: core.frame_text(frame, out[: min(stated, len(out))]),
        lambda: core.check_text(offsets, data),
        lambda: core.frame_join(offsets, data),
        lambda: core.text_fill(offsets, data, out[:count]),
        lambda: core.column_objects(offsets, data, text, objects[:count]),
        lambda: core.column_take(offsets, data, indices),
        lambda: core.text_column(out),
        lambda: core.objects_column(objects, text),
    ]


def main(cases: int, seed: int) -> None:
    chance = random.Random(seed)
    out, objects = np.empty(20, TEXT), np.empty(20, object)
    accepted = refused = done = 0
    while done < cases:
        for call in calls(chance, out, objects)[: cases - done]:
            try:
                call()
                accepted += 1
            except (ValueError, TypeError, IndexError):
                refused += 1
            done += 1
        # What NumPy makes of the array now: text that is no text would show here.
        assert all(isinstance(item, str) for item in out.tolist())
    print(f"cases={done} accepted={accepted} refused={refused}")


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
