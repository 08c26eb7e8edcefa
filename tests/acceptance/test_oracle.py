"""Random selections against NumPy, through the public interface: reading and writing.

`OMNIZARR_ORACLE_CASES` sets how many (20,000), `OMNIZARR_ORACLE_SEED` where they begin. Every case
has its own seed, which a failure prints; set the seed to it and the number of cases to 1 to see
it again.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import omnizarr as zarr
from tests.acceptance import selections

pytestmark = pytest.mark.slow

CASES = int(os.environ.get("OMNIZARR_ORACLE_CASES", "20000"))
SEED = int(os.environ.get("OMNIZARR_ORACLE_SEED", "20240229"))
PARTS = 8
"""How many tests share the cases, so that several workers can run them."""

Random = np.random.Generator
Values = np.ndarray[Any, Any]
RECORD = np.dtype([("a", "<i4"), ("b", "<f8"), ("c", "S3")])

# (shape, chunks, shards or None)
GEOMETRIES: list[tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...] | None]] = [
    ((), (), None),
    ((11,), (4,), None),
    ((11,), (1,), None),
    ((11,), (20,), None),
    ((0,), (3,), None),
    ((13,), (2,), (6,)),
    ((7, 9), (3, 4), None),
    ((7, 9), (7, 1), None),
    ((5, 0), (2, 3), None),
    ((8, 9), (2, 3), (4, 6)),
    ((8, 9), (4, 9), (8, 9)),
    ((4, 5, 6), (2, 5, 4), None),
    ((4, 5, 6), (3, 2, 2), None),
    ((4, 5, 6), (2, 1, 3), (4, 3, 6)),
    ((3, 2, 4, 3), (2, 2, 3, 1), None),
    ((3, 2, 4, 3), (1, 2, 2, 3), (3, 2, 4, 3)),
]


@dataclass
class Subject:
    """An array of the library and the NumPy array that it must behave like."""

    name: str
    array: Any
    model: Values
    chunks: tuple[int, ...]


def subjects() -> list[Subject]:
    found = []
    for number, (shape, chunks, shards) in enumerate(GEOMETRIES):
        for version in (2, 3):
            if version == 2 and shards is not None:
                continue
            for dtype in (np.dtype("<i4"), np.dtype(">f8") if version == 2 else RECORD):
                if dtype == RECORD and (shards is not None or number % 3):
                    continue
                options = {"order": "F"} if version == 2 and number % 2 else {}
                array = zarr.create_array(
                    store=zarr.storage.MemoryStore(),
                    shape=shape,
                    chunks=chunks,
                    shards=shards,
                    dtype=dtype,
                    zarr_format=version,
                    **({"compressors": None} if number % 4 else {}),
                    **options,
                )
                model = np.zeros(shape, dtype)
                count = model.size
                fresh = np.arange(1, count + 1).astype("i4")
                if dtype == RECORD:
                    model["a"] = fresh.reshape(shape)
                    model["b"] = fresh.reshape(shape) / 2
                    model["c"] = fresh.reshape(shape).astype("S3")
                else:
                    model[...] = fresh.reshape(shape)
                array[...] = model
                name = f"format {version}, {shape} in {chunks}, shards {shards}, {dtype}"
                found.append(Subject(name, array, model, chunks))
    return found


# -- one case -------------------------------------------------------------------------------------
Reader = Callable[[], Any]
Writer = Callable[[Any], None]


@dataclass
class Case:
    """A selection: what NumPy says about it, and how to do it with the library."""

    text: str
    pick: Any
    """The NumPy key, or a function that gives it (and may raise IndexError)."""
    read: Reader
    write: Writer
    chain: tuple[Any, ...] = ()
    """Further keys, applied one after the other (lazy views)."""


def draw(random: Random, subject: Subject) -> Case:
    array, model = subject.array, subject.model
    shape = model.shape
    kind = random.choice(
        ["basic", "advanced", "orthogonal", "points", "blocks", "mask", "lazy", "out"],
        p=[0.25, 0.2, 0.12, 0.1, 0.08, 0.05, 0.12, 0.08],
    )
    if kind == "basic" or kind == "advanced":
        key = getattr(selections, kind)(random, shape)
        return Case(
            f"array[{selections.describe(key)}]",
            key,
            lambda: array[key],
            lambda value: array.__setitem__(key, value),
        )
    if kind == "orthogonal":
        key = selections.orthogonal(random, shape)
        return Case(
            f"array.oindex[{selections.describe(key)}]",
            lambda: selections.take_orthogonal(model, key),
            lambda: array.oindex[key],
            lambda value: array.oindex.__setitem__(key, value),
        )
    if kind == "points":
        key = selections.points(random, shape)
        return Case(
            f"array.vindex[{selections.describe(key)}]",
            key,
            lambda: array.vindex[key],
            lambda value: array.vindex.__setitem__(key, value),
        )
    if kind == "blocks":
        grid = tuple(-(-n // c) for n, c in zip(shape, subject.chunks, strict=True))
        key, slices = selections.blocks(random, grid, subject.chunks)
        return Case(
            f"array.blocks[{selections.describe(key)}]",
            slices,
            lambda: array.blocks[key],
            lambda value: array.blocks.__setitem__(key, value),
        )
    if kind == "mask":
        key = selections.mask(random, shape)
        return Case(
            f"array.get_mask_selection({selections.describe(key)})",
            key,
            lambda: array.get_mask_selection(key),
            lambda value: array.set_mask_selection(key, value),
        )
    if kind == "lazy":
        return _lazy(random, array, model)
    key = selections.basic(random, shape)
    return Case(
        f"array.read({selections.describe(key)}, out=…)",
        key,
        lambda: _read_out(random, array, model, key),
        lambda value: array.set_basic_selection(key, value),
    )


def _lazy(random: Random, array: Any, model: Values) -> Case:
    keys: list[Any] = []
    current = model
    for number in range(int(random.integers(2, 4))):
        fancy = number == 0 and random.random() < 0.2
        key = (selections.advanced if fancy else selections.basic)(random, current.shape)
        keys.append(key)
        try:
            current = np.asarray(current[key])
        except (IndexError, ValueError):
            break
    text = "".join(f"[{selections.describe(key)}]" for key in keys)

    def read() -> Any:
        view = array.lazy
        for key in keys:
            view = view[key]
        assert view.shape == current.shape, f"view.shape is {view.shape}, NumPy's {current.shape}"
        return view.read() if random.random() < 0.5 else np.asarray(view)

    def write(value: Any) -> None:
        view = array.lazy
        for key in keys[:-1]:
            view = view[key]
        view[keys[-1]] = value

    return Case(f"array.lazy{text}", keys[0], read, write, tuple(keys[1:]))


def _read_out(random: Random, array: Any, model: Values, key: Any) -> Any:
    """Into an array of the caller's, of any layout; the same object must come back."""
    shape = model[key].shape
    layout = int(random.integers(0, 4))
    if layout == 0 or shape == ():
        out = np.empty(shape, model.dtype)
    elif layout == 1:
        out = np.empty(shape, model.dtype, order="F")
    elif layout == 2:
        out = np.empty((*shape, 2), model.dtype)[..., 0]
    else:
        out = np.empty(tuple(n * 2 for n in shape), model.dtype)
        out = out[tuple(slice(None, None, -2) for _ in shape)]
        out = out[tuple(slice(0, n) for n in shape)]
    result = array.read(key, out=out)
    assert result is out, "read(out=…) must give the same object back"
    return out


def select(model: Values, case: Case, positions: Values) -> Values:
    """The positions in the flat model that a case selects."""
    first = case.pick() if callable(case.pick) else case.pick
    picked = positions[first]
    for key in case.chain:
        picked = np.asarray(picked)[key]
    return np.asarray(picked)


def run_case(subject: Subject, seed: int) -> tuple[str, str]:
    """Runs one case; what kind it was and how it ended. AssertionError if it is not NumPy's."""
    random = np.random.default_rng(seed)
    case = draw(random, subject)
    model = subject.model
    writing = random.random() < 0.4
    label = f"{'write' if writing else 'read'} {case.text.partition('[')[0].partition('(')[0]}"
    positions = np.arange(model.size).reshape(model.shape)
    try:
        picked = select(model, case, positions)
    except (IndexError, ValueError) as refusal:
        try:
            case.write(0) if writing else case.read()
        except (IndexError, ValueError):
            return label, "refused"
        raise AssertionError(f"NumPy refuses: {refusal}") from None
    flat = model.reshape(-1)
    if not writing:
        result = case.read()
        expected = flat[picked]
        compare(result, np.asarray(expected), model.dtype)
        return label, "equal"
    if len(np.unique(picked)) != picked.size and random.random() < 0.7:
        return label, "repeated"  # which of two values wins is NumPy's own affair
    value = fresh_value(random, model.dtype, picked.shape)
    case.write(value)
    changed = flat.copy()
    changed[picked] = value
    if len(np.unique(picked)) != picked.size:
        # Every element must hold one of the values that were written to it.
        final = np.asarray(subject.array[...]).reshape(-1)
        untouched = np.setdiff1d(positions.reshape(-1), picked.reshape(-1))
        assert (final[untouched] == flat[untouched]).all(), "elements outside changed"
        offered = np.broadcast_to(np.asarray(value, model.dtype), picked.shape).reshape(-1)
        for position, item in zip(picked.reshape(-1), offered, strict=True):
            if final[position] != item:
                same = offered[picked.reshape(-1) == position]
                assert final[position] in same, "an element holds a value that was never written"
        subject.model = final.reshape(model.shape).copy()
        return label, "equal"
    subject.model = changed.reshape(model.shape)
    compare(subject.array[...], subject.model, model.dtype)
    return label, "equal"


def compare(result: Any, expected: Values, dtype: np.dtype[Any]) -> None:
    assert np.shape(result) == expected.shape, f"shape {np.shape(result)}, NumPy {expected.shape}"
    found = np.asarray(result)
    assert found.dtype.newbyteorder("<") == dtype.newbyteorder("<"), f"dtype {found.dtype}"
    assert (found == expected).all(), f"{found.tolist()}, NumPy {expected.tolist()}"


def fresh_value(random: Random, dtype: np.dtype[Any], shape: tuple[int, ...]) -> Any:
    """A scalar, an array of the selection's shape, or one that broadcasts to it."""
    kind = random.random()
    if dtype == RECORD:
        target = shape if kind < 0.7 else ()
        value = np.zeros(target, dtype)
        value["a"] = random.integers(0, 99, target)
        value["b"] = random.random(target)
        value["c"] = random.integers(0, 99, target).astype("S3")
        return value
    if kind < 0.25:
        return int(random.integers(0, 10_000))
    if kind < 0.5:
        partial = tuple(1 if random.random() < 0.5 else n for n in shape)
        partial = partial[int(random.integers(0, len(partial) + 1)) :]
        return random.integers(0, 10_000, partial).astype(random.choice(["i4", "i8", "f8"]))
    return random.integers(0, 10_000, shape).astype(dtype)


@pytest.mark.parametrize("part", range(PARTS))
def test_numpy_is_the_specification(
    part: int, summary: Callable[[str], None], record_property: Callable[[str, object], None]
) -> None:
    pool = subjects()
    counts: Counter[tuple[str, str]] = Counter()
    started = time.monotonic()
    wrong: list[str] = []
    numbers = range(part, CASES, PARTS)
    for number in numbers:
        seed = SEED + number
        subject = pool[seed % len(pool)]
        try:
            counts[run_case(subject, seed)] += 1
        except Exception as error:  # the outcome is the test's data
            text = draw(np.random.default_rng(seed), subject).text
            wrong.append(
                f"seed {seed}: {subject.name}: {text}\n    {type(error).__name__}: {error}"
            )
            if len(wrong) == 20:
                break
            pool = subjects()
    took = time.monotonic() - started
    record_property("oracle:cases", len(numbers))
    outcomes: Counter[str] = Counter()
    for (_, outcome), count in counts.items():
        outcomes[outcome] += count
    listed = ", ".join(f"{count:,} {outcome}" for outcome, count in sorted(outcomes.items()))
    summary(f"oracle: part {part}: {len(numbers):,} cases in {took:.1f} s: {listed}")
    assert not wrong, f"{len(wrong)} cases differ from NumPy:\n" + "\n".join(wrong)
    if len(numbers) >= 1000:
        assert len({label for label, _ in counts}) >= 14, f"kinds are missing: {sorted(counts)}"
        assert outcomes["equal"] > 0.7 * len(numbers), outcomes
