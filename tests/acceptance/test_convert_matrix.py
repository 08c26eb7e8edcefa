"""Any format into any other and back: equal arrays, attributes and dimension names, or the
documented refusal.

`CASES` vary one thing at a time around an array that every format can hold: its data type, shape,
order, codecs, fill value. `REFUSALS` says which of them a format has no words for, and what it then
names in its error; a refusal that is not in the table fails the test, and so does one that is in it
and does not come. What may be dropped or encoded anew is converted once more with the options on,
and must come through with the same values.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pytest

import omnizarr as zarr
from omnizarr.errors import UnsupportedError

pytestmark = pytest.mark.slow

FORMATS: list[int | str] = [0, 1, 2, 3, "3-draft2019", "3-draft2020-09", "3-draft2020-10", "n5"]
PAIRS = [(one, other) for one in FORMATS for other in FORMATS]
DROP = ("groups", "attributes", "dimension_names", "fill_value")
FINAL = {"data_type", "dimensions"}
"""What no option helps against."""

ATTRIBUTES = {"units": "K", "nested": {"list": [1, 2.5, None, "é"], "flag": True}}
BLOSC = {"name": "numcodecs.blosc", "configuration": {"cname": "lz4", "clevel": 5, "shuffle": 1}}
ZLIB = {"name": "numcodecs.zlib", "configuration": {"level": 2}}
ZSTD = {"name": "zstd", "configuration": {"level": 3, "checksum": True}}
BIG = {"name": "bytes", "configuration": {"endian": "big"}}
DELTA = {"name": "numcodecs.delta", "configuration": {"dtype": "<i4", "astype": "<i4"}}
PLAIN_SHARDS = [
    {
        "name": "sharding_indexed",
        "configuration": {
            "chunk_shape": [2, 3],
            "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}, ZSTD],
            "index_codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
            "index_location": "end",
        },
    }
]
RECORD = [("a", "<i4"), ("b", "<f8"), ("c", "S3")]


class Case(NamedTuple):
    name: str
    dtype: Any = "<i4"
    shape: tuple[int, ...] = (5, 7)
    chunks: Any = (2, 3)
    options: dict[str, Any] = {"compressors": [BLOSC]}


def cases() -> Iterator[Case]:
    plain = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
    more = ["float16", "float32", "float64", "complex64", "complex128", "M8[ns]", "m8[s]"]
    for dtype in [*plain, *more, ">i4", ">f8", ">M8[s]", "S5", "U4", ">U4", "V3"]:
        yield Case(f"type {dtype}", dtype)
    yield Case("type struct", RECORD)
    yield Case("type big struct", [("a", ">i4"), ("b", ">f8")])
    yield Case("type string", "string")
    yield Case("type bytes", "bytes")
    for order in "CF":
        options = {"compressors": [BLOSC], "order": order}
        yield Case(f"shape 0-d {order}", shape=(), chunks=(), options=options)
        yield Case(f"shape 1-d {order}", shape=(11,), chunks=(4,), options=options)
        yield Case(f"shape 2-d {order}", options=options)
        yield Case(f"shape 3-d {order}", shape=(3, 4, 5), chunks=(2, 3, 2), options=options)
        yield Case(f"shape none {order}", shape=(0, 4), chunks=(2, 3), options=options)
    yield Case("codec none", options={"compressors": None})
    yield Case("codec default", options={})
    yield Case("codec gzip", options={"compressors": ["gzip"]})
    yield Case("codec zlib", options={"compressors": [ZLIB]})
    yield Case("codec zlib F", options={"compressors": [ZLIB], "order": "F"})
    yield Case("codec bz2", options={"compressors": [{"id": "bz2", "level": 3}]})
    yield Case("codec zstd", options={"compressors": [ZSTD]})
    yield Case("codec delta zlib", options={"filters": [DELTA], "compressors": [ZLIB]})
    yield Case("codec zstd crc32c", options={"compressors": [ZSTD, "crc32c"]})
    yield Case("codec big-endian", options={"serializer": BIG, "compressors": [BLOSC]})
    yield Case("codec shards", chunks=(2, 3), options={"shards": (4, 6)})
    yield Case("codec plain shards", chunks=(4, 6), options={"codecs": PLAIN_SHARDS})
    yield Case("grid rectilinear", chunks=((1, 4), (3, 2, 2)), options={"compressors": [BLOSC]})
    yield Case("fill none", options={"compressors": [BLOSC], "fill_value": None})
    yield Case("fill 7", options={"compressors": [BLOSC], "fill_value": 7})
    for name, dtype, value in (
        ("nan", "float64", np.nan),
        ("infinity", "float32", -np.inf),
        ("complex", "complex128", complex(1, -2)),
        ("complex nan", "complex64", complex(np.nan, np.inf)),
        ("not a time", "M8[s]", np.datetime64("NaT", "s")),
        ("duration", "m8[ms]", np.timedelta64(-5, "ms")),
        ("bytes", "S4", b"a\xffb"),
        ("text", "U3", "é"),
        ("string", "string", "é"),
        ("struct", RECORD, (1, 2.5, b"xy")),
    ):
        options = {"compressors": [BLOSC if dtype != "M8[s]" else ZLIB], "fill_value": value}
        yield Case(f"fill {name}", dtype, options=options)
    names = {"dimension_names": ("y", None), "compressors": [BLOSC]}
    yield Case("names some", options=names)


CASES = list(cases())

# -- what each format has no words for ---------------------------------------------------------

_VARIABLE = dict.fromkeys(("type string", "type bytes", "fill string"), "data_type")
_TIMES = dict.fromkeys(("type M8[ns]", "type m8[s]", "type >M8[s]", "fill duration"), "codecs")
_NO_SHARDS = {"codec shards": "shards", "codec plain shards": "shards"}
_COMMON = {"grid rectilinear": "chunks", "names some": "dimension_names"}
_ONE_COMPRESSOR = {"codec delta zlib": "codecs", "codec zstd crc32c": "codecs"}
_NO_SCALARS = {"shape 0-d C": "dimensions", "shape 0-d F": "dimensions"}
_NOT_IN_N5 = (
    *("type bool", "type float16", "type complex64", "type complex128", "type M8[ns]"),
    *("type m8[s]", "type >M8[s]", "type S5", "type U4", "type >U4", "type V3", "type struct"),
    *("type big struct", "type string", "type bytes", "fill complex", "fill complex nan"),
    *("fill not a time", "fill duration", "fill bytes", "fill text", "fill string", "fill struct"),
)

REFUSALS: dict[int | str, dict[str, str]] = {
    0: {
        **_VARIABLE, **_NO_SHARDS, **_COMMON, **_ONE_COMPRESSOR, **_NO_SCALARS,
        "shape 2-d F": "codecs", "shape 3-d F": "codecs", "shape none F": "codecs",
        "codec none": "codecs", "codec gzip": "codecs", "codec zlib": "codecs",
        "codec zlib F": "codecs", "codec bz2": "codecs", "codec zstd": "codecs",
        "fill complex": "fill_value", "fill complex nan": "fill_value",
        "fill bytes": "fill_value", "fill struct": "fill_value", "fill not a time": "codecs",
    },
    1: {
        **_VARIABLE, **_TIMES, **_NO_SHARDS, **_COMMON, **_ONE_COMPRESSOR, **_NO_SCALARS,
        "codec gzip": "codecs", "codec zlib F": "codecs", "codec zstd": "codecs",
        "fill complex": "fill_value", "fill complex nan": "fill_value",
        "fill bytes": "fill_value", "fill struct": "fill_value",
    },
    2: {**_NO_SHARDS, **_COMMON},
    3: {},
    "3-draft2019": {**_VARIABLE, **_NO_SHARDS, **_COMMON, **_ONE_COMPRESSOR},
    "3-draft2020-09": {**_VARIABLE, **_NO_SHARDS, **_COMMON, **_ONE_COMPRESSOR},
    "3-draft2020-10": {"codec shards": "shards", **_COMMON},
    "n5": {
        **_NO_SHARDS, **_COMMON, **_ONE_COMPRESSOR,
        "shape 2-d F": "codecs", "shape 3-d F": "codecs", "shape none F": "codecs",
        "codec zlib F": "codecs",
        "fill 7": "fill_value", "fill nan": "fill_value", "fill infinity": "fill_value",
        **dict.fromkeys(_NOT_IN_N5, "data_type"),
    },
}  # fmt: skip

DEFAULTS: dict[int | str, tuple[int | str, ...]] = {
    1: (0,),
    2: (0, 1),
    3: (0, 1),
    "3-draft2019": (0, 1),
    "3-draft2020-09": (0, 1),
    "3-draft2020-10": (0, 1),
    "n5": (0, 1),
}
"""Which formats have no words for the default codecs of another."""


# -- making and comparing ----------------------------------------------------------------------


def values(case: Case) -> np.ndarray[Any, Any]:
    count = int(np.prod(case.shape, dtype=int))
    numbers = np.arange(1, count + 1)
    if case.dtype == "string":
        made = np.array([f"é{n}" * (n % 3) for n in numbers], dtype=np.dtypes.StringDType())
    elif case.dtype == "bytes":
        made = np.empty(count, object)
        made[:] = [bytes([n % 256]) * (n % 4) for n in numbers]
    elif case.dtype == "V3":
        made = np.array([bytes([n % 256, 0, 7]) for n in numbers], dtype="V3")
    elif isinstance(case.dtype, list):
        dtype = np.dtype([tuple(field) for field in case.dtype])
        rows = [(n, n / 2, f"{n}".encode())[: len(dtype)] for n in numbers.tolist()]
        made = np.array(rows, dtype=dtype)
    else:
        dtype = np.dtype(case.dtype)
        made = (numbers % 2 == 0) if dtype.kind == "b" else numbers.astype(dtype)
    return made.reshape(case.shape)


@cache
def sources(zarr_format: int | str) -> dict[str, zarr.MemoryStore]:
    """A store for every case that the format can hold."""
    found: dict[str, zarr.MemoryStore] = {}
    for case in CASES:
        store = zarr.MemoryStore()
        options = {"dimension_names": tuple("zyx"[-len(case.shape) or 3 :]), **case.options}
        try:
            array = zarr.create_array(
                store, shape=case.shape, dtype=case.dtype, chunks=case.chunks,
                zarr_format=zarr_format, attributes=ATTRIBUTES, **{"fill_value": 0, **options},
            )  # fmt: skip
        except UnsupportedError:
            continue
        data = values(case)
        # The last rows are never written: they read as the fill value.
        array[(slice(0, 4), ...) if case.shape else ()] = data[:4] if case.shape else data
        found[case.name] = store
    return found


def difference(one: zarr.Array, other: zarr.Array, dropped: tuple[str, ...] = ()) -> str | None:
    """What a user would see that is not the same."""
    if one.shape != other.shape:
        return f"shape {other.shape}, expected {one.shape}"
    left, right = one[...], other[...]
    if left.dtype.kind in "OT":
        same = left.dtype == right.dtype and left.tolist() == right.tolist()
    else:
        native = left.dtype.newbyteorder("<")
        if right.dtype.newbyteorder("<") != native:
            return f"dtype {right.dtype}, expected {left.dtype}"
        same = left.astype(native).tobytes() == right.astype(native).tobytes()
    if not same:
        return f"values {right.ravel()[:8]}, expected {left.ravel()[:8]}"
    if "dimension_names" not in dropped and (one.dims or None) != (other.dims or None):
        return f"dimension names {other.dims}, expected {one.dims}"
    if "attributes" not in dropped and plain(one.attrs) != plain(other.attrs):
        return f"attributes {plain(other.attrs)}, expected {plain(one.attrs)}"
    return None


def plain(attributes: Any) -> dict[str, Any]:
    return {name: item for name, item in attributes.items() if name != "_ARRAY_DIMENSIONS"}


def refused(source: int | str, target: int | str, name: str) -> str | None:
    if source == target:
        return None
    if source == 1 and name == "codec zlib F":
        name = "codec zlib"  # format 1 says F there, and means C
    if name == "codec default":
        return "codecs" if target in DEFAULTS.get(source, ()) else None
    return REFUSALS[target].get(name)


def there_and_back(source: int | str, target: int | str, name: str, **options: Any) -> Any:
    store, middle, back = sources(source)[name], zarr.MemoryStore(), zarr.MemoryStore()
    done = zarr.convert(store, middle, zarr_format=target, fill_values="zarr", **options)
    again = zarr.convert(middle, back, zarr_format=source, fill_values="zarr", **options)
    first = zarr.open_array(store, mode="r")
    for result, where in ((middle, target), (back, source)):
        array = zarr.open_array(result, mode="r")
        assert array.zarr_format == where
        problem = difference(first, array, done.dropped + again.dropped)
        assert problem is None, f"{name} as {where}: {problem}"
        assert not any("omnizarr" in key for key in result), "a journal was left"
        errors = [str(found) for found in zarr.check(result) if found.level == "error"]
        assert errors == [] or source == target, f"{name} as {where}: {errors}"
    return done


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_there_and_back(
    source: int | str, target: int | str, record_property: Callable[[str, object], None]
) -> None:
    outcome: Counter[str] = Counter()
    problems: list[str] = []
    for name in sources(source):
        try:
            outcome.update(attempt(source, target, name))
        except (AssertionError, zarr.errors.ZarrError) as error:
            problems.append(f"{name}: {type(error).__name__}: {str(error).splitlines()[0]}")
    assert problems == []
    found = ", ".join(f"{key} {count}" for key, count in sorted(outcome.items()))
    record_property("acceptance-line", f"convert {source!s:>14} -> {target!s:<14} {found}")


def attempt(source: int | str, target: int | str, name: str) -> list[str]:
    """One case without and, if that is refused as expected, with options; what came of it."""
    expected = refused(source, target, name)
    try:
        done = there_and_back(source, target, name)
    except UnsupportedError as error:
        assert error.what == expected, f"unexpected refusal ({error.what}): {error}"
        helps = "no option" if expected in FINAL else "drop=" if expected in DROP else "reencode="
        assert helps in str(error), f"the error names no way out: {error}"
    else:
        assert expected is None, f"expected a refusal for {expected}, there was none"
        return [done.nodes[0].action]
    if expected in FINAL:
        everything = {"drop": DROP, "reencode": True}
        with pytest.raises(UnsupportedError):
            zarr.convert(sources(source)[name], {}, zarr_format=target, **everything)
        return [f"refused: {expected}"]
    done = there_and_back(source, target, name, drop=DROP, reencode=True)
    assert done.nodes[0].notes, "nothing says what was changed"
    return [f"refused: {expected}", "with options"]


# -- hierarchies ---------------------------------------------------------------------------------


def hierarchy(zarr_format: int | str) -> zarr.MemoryStore:
    store = zarr.MemoryStore()
    root = zarr.open_group(store, mode="w", zarr_format=zarr_format, attributes={"title": "root"})
    root.create_group("a", attributes=ATTRIBUTES)
    root.create_group("a/empty")
    root.create_group("a/b/c")
    for path in ("top", "a/one", "a/b/c/deep"):
        root.create_array(
            path, data=np.arange(12, dtype="<f4").reshape(3, 4), chunks=(2, 2),
            compressors=[BLOSC], attributes={"path": path}, dimension_names=("y", "x"),
        )  # fmt: skip
    return store


def described(store: Any) -> dict[str, Any]:
    """Every node with its attributes and values."""
    root = zarr.open_group(store, mode="r")
    found: dict[str, Any] = {"": plain(root.attrs)}
    for path, node in root.members(max_depth=None):
        found[path] = plain(node.attrs)
        if isinstance(node, zarr.Array):
            found[path] |= {"values": node[...].tolist(), "dims": node.dims}
    return found


GROUPED = [name for name in FORMATS if name not in (0, 1)]


@pytest.mark.parametrize("target", FORMATS)
@pytest.mark.parametrize("source", GROUPED)
def test_hierarchies(source: int | str, target: int | str) -> None:
    store, middle, back = hierarchy(source), zarr.MemoryStore(), zarr.MemoryStore()
    if target in (0, 1):
        with pytest.raises(UnsupportedError, match="groups") as refusal:
            zarr.convert(store, middle, zarr_format=target, fill_values="zarr")
        assert refusal.value.what == "groups"
        assert len(middle) == 0
        done = zarr.convert(store, middle, zarr_format=target, fill_values="zarr", drop="groups")
        assert done.dropped == ("groups",)
        for path in ("top", "a/one", "a/b/c/deep"):
            array = zarr.open_array(middle, mode="r", path=path)
            assert array.zarr_format == target
            assert difference(zarr.open_array(store, mode="r", path=path), array) is None
        return
    zarr.convert(store, middle, zarr_format=target, fill_values="zarr")
    assert zarr.open_group(middle, mode="r").zarr_format == target
    assert described(middle) == described(store)
    zarr.convert(middle, back, zarr_format=source, fill_values="zarr")
    assert described(back) == described(store)


def test_the_table_names_cases_that_exist() -> None:
    known = {case.name for case in CASES}
    assert {name for table in REFUSALS.values() for name in table} <= known
    assert list(REFUSALS) == FORMATS
    assert sum(len(sources(name)) for name in FORMATS) > 300
