"""Runs inside a peer's environment: reads and writes cases as a list of jobs says.

    python -m tests.acceptance.type_peer JOBS RESULTS

JOBS is a JSON list of {"do": "read" | "write", "library": …, "case": name, "format": …, "store":
folder}. RESULTS becomes {"versions": …, "outcomes": […]}, an outcome being {"error": text}, or
{"found": dump of what was read} or {}. This module knows the peers. It must not import the library
under test.
"""

from __future__ import annotations

import base64
import json
import sys
import warnings
from importlib.metadata import version
from typing import Any

import numpy as np

from tests.acceptance import type_values
from tests.acceptance.type_cases import WITHOUT_ZERO, C, Case, Format, cases, node
from tests.acceptance.type_values import Array, fill, numpy_dtype, values


def little_or_big(case: Case) -> str:
    return "big" if case.type.big else "little"


def v3_metadata(case: Case) -> dict[str, Any]:
    """The document of format 3, for writers that take it literally."""
    one, dtype = case.type, numpy_dtype(case.type)
    serializer: dict[str, Any] = {"name": "bytes"}
    if one.codec is not None and one.v2 is not None:
        serializer = {"name": one.codec["id"]}
    elif one.family == "Records" or dtype.itemsize > 1:
        serializer["configuration"] = {"endian": little_or_big(case)}
    value = fill(case)
    zero: Any = np.zeros((), dtype)[()] if one.codec is None else ""
    if one.name in WITHOUT_ZERO:
        zero = np.ones((), dtype)[()]
    zstd = {"name": "zstd", "configuration": {"level": 1, "checksum": False}}
    return {
        "zarr_format": 3,
        "node_type": "array",
        "shape": list(case.shape),
        "data_type": one.v3,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": list(case.chunks)}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
        "codecs": [serializer, zstd],
        "fill_value": type_values.v3_fill(zero if value is None else value, dtype),
        "attributes": {},
    }


def v2_metadata(case: Case) -> dict[str, Any]:
    """The document of format 2, likewise."""
    return {
        "zarr_format": 2,
        "shape": list(case.shape),
        "chunks": list(case.chunks),
        "dtype": case.type.v2,
        "compressor": {"id": "zlib", "level": 1},
        "filters": None if case.type.codec is None else [case.type.codec],
        "order": "C",
        "fill_value": type_values.v2_fill(fill(case), numpy_dtype(case.type)),
        "dimension_separator": ".",
    }


def write_regions(array: Any, case: Case, data: Array) -> None:
    for region in case.written:
        array[region] = data[region]


# -- zarr-python 2 --------------------------------------------------------------------------------
def zarr2_store(store: str, zarr_format: Format) -> tuple[Any, dict[str, Any]]:
    import zarr

    if zarr_format == "n5":
        return zarr.N5Store(store), {"path": node(zarr_format)}
    if zarr_format == C:
        return store, {"path": node(zarr_format), "zarr_version": 3}
    return store, {}


def zarr2_read(store: str, case: Case, zarr_format: Format) -> Array:
    import zarr

    place, options = zarr2_store(store, zarr_format)
    return np.asarray(zarr.open_array(place, mode="r", **options)[...])


def zarr2_write(store: str, case: Case, zarr_format: Format) -> None:
    import numcodecs
    import zarr

    place, options = zarr2_store(store, zarr_format)
    if case.type.codec is not None:
        options["object_codec"] = numcodecs.get_codec(dict(case.type.codec))
    array = zarr.create(
        shape=case.shape,
        chunks=case.chunks,
        dtype=numpy_dtype(case.type),
        fill_value=fill(case),
        store=place,
        **options,
    )
    write_regions(array, case, values(case))


# -- zarr-python 3 --------------------------------------------------------------------------------
def zarr3_read(store: str, case: Case, zarr_format: Format) -> Array:
    import zarr

    return np.asarray(zarr.open_array(store, mode="r", zarr_format=zarr_format)[...])


def zarr3_write(store: str, case: Case, zarr_format: Format) -> None:
    import zarr
    from zarr.codecs import BytesCodec

    one = case.type
    dtype: Any = numpy_dtype(one)
    options: dict[str, Any] = {}
    if one.v3 == "string":
        dtype = str
    elif one.v3 == "bytes":
        dtype = zarr.dtype.VariableLengthBytes()
    elif one.v2 is None and one.family != "Times":
        dtype = one.dtype  # no dtype of NumPy stands for it
    if one.big and zarr_format == 3:
        options["serializer"] = BytesCodec(endian="big")
    array = zarr.create_array(
        store,
        shape=case.shape,
        chunks=case.chunks,
        dtype=dtype,
        fill_value=fill(case),
        zarr_format=zarr_format,
        **options,
    )
    data = values(case)
    write_regions(array, case, data.astype(np.dtypes.StringDType()) if dtype is str else data)


# -- tensorstore ----------------------------------------------------------------------------------
DRIVERS = {2: "zarr", 3: "zarr3", "n5": "n5"}


def tensorstore_open(store: str, zarr_format: Format, **options: Any) -> Any:
    import tensorstore

    metadata = {"metadata": options.pop("metadata")} if "metadata" in options else {}
    path = f"{store}/{node(zarr_format)}"
    spec = {
        "driver": DRIVERS[zarr_format],
        "kvstore": {"driver": "file", "path": path},
        "context": {"file_io_sync": False},  # nothing here must survive a power cut
        **metadata,
    }
    return tensorstore.open(spec, **options).result()


def tensorstore_read(store: str, case: Case, zarr_format: Format) -> Array:
    found = np.asarray(tensorstore_open(store, zarr_format, open=True, read=True).read().result())
    return found.T if zarr_format == "n5" else found


def tensorstore_write(store: str, case: Case, zarr_format: Format) -> None:
    if zarr_format == "n5":
        metadata = {
            "dimensions": case.shape[::-1],
            "blockSize": case.chunks[::-1],
            "dataType": case.type.v3,
            "compression": {"type": "gzip", "level": 1, "useZlib": False},
        }
    else:
        metadata = v3_metadata(case) if zarr_format == 3 else v2_metadata(case)
        if zarr_format == 2 and case.type.name == "float4_e2m1fn" and fill(case) is not None:
            metadata["fill_value"] = base64.b64encode(fill(case).tobytes()).decode()
    array = tensorstore_open(store, zarr_format, create=True, metadata=metadata)
    data = values(case)
    for region in case.written:
        place, part = region, data[region]
        if zarr_format == "n5":
            place, part = region[::-1], part.T
        array[place].write(part.astype(part.dtype.newbyteorder("="))).result()


# -- zarrs, through zarrista ----------------------------------------------------------------------
def zarrs_read(store: str, case: Case, zarr_format: Format) -> Any:
    import zarrista

    tensor = zarrista.Array.open(zarrista.store.FilesystemStore(store))[...]
    try:
        return tensor.to_numpy()
    except TypeError:  # it knows the type, but no dtype of NumPy for it
        dtype = numpy_dtype(case.type)
        dtype = dtype if dtype.kind == "V" else dtype.newbyteorder("=")
        return np.frombuffer(tensor.buffer(), dtype).reshape(tensor.shape)


def zarrs_write(store: str, case: Case, zarr_format: Format) -> None:
    import zarrista

    array = zarrista.Array.from_metadata(v3_metadata(case), zarrista.store.FilesystemStore(store))
    array.store_metadata()
    data = values(case)
    for region in case.written:
        array.store_array_subset(region, _array_bytes(data[region]))


def _array_bytes(data: Array) -> Any:
    import zarrista

    if not data.dtype.hasobject:
        return zarrista.ArrayBytes(type_values.bits(data))
    items = [one.encode() if isinstance(one, str) else one for one in data.ravel()]
    offsets = np.cumsum([0, *map(len, items)]).tolist()
    return zarrista.ArrayBytes(b"".join(items), offsets=offsets)


# -- z5 -------------------------------------------------------------------------------------------
def z5py_read(store: str, case: Case, zarr_format: Format) -> Array:
    import z5py

    return np.asarray(z5py.File(store, "r", use_zarr_format=False)[node(zarr_format)][...])


def z5py_write(store: str, case: Case, zarr_format: Format) -> None:
    import z5py

    dtype = numpy_dtype(case.type).newbyteorder("=")
    array = z5py.File(store, "a", use_zarr_format=False).create_dataset(
        node(zarr_format), shape=case.shape, chunks=case.chunks, dtype=str(dtype)
    )
    write_regions(array, case, values(case).astype(dtype))


LIBRARIES = {
    "zarr-python 2": (zarr2_read, zarr2_write, "zarr"),
    "zarr-python 3": (zarr3_read, zarr3_write, "zarr"),
    "tensorstore": (tensorstore_read, tensorstore_write, "tensorstore"),
    "zarrs": (zarrs_read, zarrs_write, "zarrista"),
    "z5": (z5py_read, z5py_write, "z5py"),
}


def run(job: dict[str, Any]) -> dict[str, Any]:
    case = cases()[job["case"]]
    read, write, _ = LIBRARIES[job["library"]]
    if job["do"] == "write":
        write(job["store"], case, job["format"])
        return {}
    found = read(job["store"], case, job["format"])
    return {"found": found if isinstance(found, dict) else type_values.dump(found)}


def main(jobs_file: str, results_file: str) -> None:
    warnings.simplefilter("ignore")
    with open(jobs_file) as file:
        jobs = json.load(file)
    outcomes = []
    for job in jobs:
        try:
            outcomes.append(run(job))
        except BaseException as error:  # a panic of Rust is no Exception
            if isinstance(error, KeyboardInterrupt):
                raise
            outcomes.append({"error": f"{type(error).__name__}: {error}"[:500]})
    names = {LIBRARIES[job["library"]][2] for job in jobs}
    with open(results_file, "w") as file:
        json.dump({"versions": {name: version(name) for name in names}, "outcomes": outcomes}, file)


if __name__ == "__main__":
    main(*sys.argv[1:])
