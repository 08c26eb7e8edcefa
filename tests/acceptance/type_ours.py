"""This library's side of the matrix: how a user creates, writes and reads a case."""

from __future__ import annotations

from typing import Any

import omnizarr as zarr
from tests.acceptance import type_values
from tests.acceptance.type_cases import Case, Format, Type, node

BIG_ENDIAN = {"name": "bytes", "configuration": {"endian": "big"}}


def dtype_of(one: Type) -> Any:
    """What a user gives as `dtype=`."""
    if isinstance(one.dtype, list):
        return type_values.numpy_dtype(one)
    if one.codec is not None and one.v3 is None:
        return object
    return one.dtype


def create(store: Any, case: Case, zarr_format: Format) -> zarr.Array:
    """With the codecs that are chosen for a user who says nothing about them."""
    one = case.type
    options: dict[str, Any] = {}
    if one.codec is not None and one.v3 is None:
        options["object_codec"] = zarr.get_codec(dict(one.codec))
        options["allow_pickle"] = one.codec["id"] == "pickle"
    if one.big and zarr_format == 3:
        options["serializer"] = BIG_ENDIAN
    return zarr.create_array(
        store,
        name=node(zarr_format) or None,
        shape=case.shape,
        chunks=case.chunks,
        dtype=dtype_of(one),
        fill_value=type_values.fill(case),
        zarr_format=zarr_format,
        **options,
    )


def write(store: Any, case: Case, zarr_format: Format) -> None:
    array = create(store, case, zarr_format)
    values = type_values.values(case)
    for region in case.written:
        array[region] = values[region]


def read(store: Any, case: Case, zarr_format: Format) -> Any:
    """A fresh look at what is stored."""
    codec = case.type.codec
    allow_pickle = codec is not None and codec["id"] == "pickle"
    path = node(zarr_format)
    return zarr.open_array(store, path=path, mode="r", allow_pickle=allow_pickle)[...]
