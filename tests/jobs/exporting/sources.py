"""Arrays and groups that Hypothesis makes up, for what is exported."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import omnizarr

NUMBERS = ["i1", "u1", "<i2", ">i2", "<u4", ">i4", "<i8", "<u8", "<f4", ">f4", "<f8", ">f8"]
TEXTS = ["T", "S3"]
PLAIN = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=6)
ZLIB = [{"name": "numcodecs.zlib", "configuration": {"level": 2}}]
BIG = {"name": "bytes", "configuration": {"endian": "big"}}
CODECS: list[dict[str, Any]] = [
    {"zarr_format": 2, "compressors": [{"id": "shuffle", "elementsize": 0}, {"id": "zlib"}]},
    {"zarr_format": 2, "compressors": [{"id": "zlib", "level": 9}]},
    {"zarr_format": 2, "compressors": None, "order": "F"},
    {"zarr_format": 3, "compressors": None},
    {"zarr_format": 3, "compressors": [{"name": "numcodecs.shuffle"}, *ZLIB]},
    {"zarr_format": 3, "serializer": BIG, "compressors": ZLIB},
    {"zarr_format": 3},
    {"zarr_format": 3, "shards": True},
]


@st.composite
def arrays(draw: st.DrawFn, dtypes: list[str]) -> tuple[Any, np.ndarray[Any, Any]]:
    """A group with one array, and its values."""
    dtype = draw(st.sampled_from(dtypes))
    shape = draw(st.lists(st.integers(0, 7), max_size=3).map(tuple))
    chunks = tuple(draw(st.integers(1, 9)) for _ in shape)
    if dtype == "T":
        values = draw(hnp.arrays(object, shape, elements=PLAIN))
        values = values.astype(np.dtypes.StringDType())
    else:
        values = draw(hnp.arrays(dtype, shape))
    codecs = dict(draw(st.sampled_from(CODECS)))
    if dtype == "T":
        codecs = {"zarr_format": codecs["zarr_format"]}
    elif dtype == "S3" and "compressors" in codecs and codecs["compressors"]:
        codecs["compressors"] = [{"id": "zlib", "level": 1}]
    elif codecs.pop("shards", False) and shape:
        codecs["shards"] = tuple(2 * chunk for chunk in chunks)
    named = draw(st.booleans())
    names = [f"d{axis}" for axis in range(len(shape))] if named else None
    root = omnizarr.group(zarr_format=codecs.pop("zarr_format"))
    fill = {} if dtype in TEXTS else {"fill_value": draw(st.sampled_from([0, 1]))}
    array = root.create_array(
        "a", shape=shape, dtype=values.dtype, chunks=chunks if shape else "auto",
        dimension_names=names, **codecs, **fill,
    )  # fmt: skip
    if values.size:
        array[...] = values
    for name in draw(st.sets(st.sampled_from(["one", "Ü 2", "three"]))):
        array.attrs[name] = draw(ATTRIBUTES)
    return root, values


INTEGERS = st.integers(-(1 << 63), (1 << 63) - 1)
FLOATS = st.floats(allow_nan=False, allow_infinity=False)
ATTRIBUTES = st.one_of(
    PLAIN, INTEGERS, FLOATS, st.lists(INTEGERS, min_size=2, max_size=4),
    st.lists(FLOATS, min_size=2, max_size=4), st.lists(PLAIN, min_size=2, max_size=3),
)  # fmt: skip


def plain(value: Any) -> Any:
    """An attribute as Python has it."""
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else value


def attributes(array: Any) -> dict[str, Any]:
    found: dict[str, Any] = array.attrs.asdict()
    found.pop("_ARRAY_DIMENSIONS", None)
    return found
