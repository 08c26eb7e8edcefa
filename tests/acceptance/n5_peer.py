"""N5 in other libraries: the cases, and the script that runs them inside a peer's environment.

    python n5_peer.py JOBS RESULTS

JOBS is a JSON list of {"do": "read" | "write" | "tree" | "make tree", "library": "tensorstore" |
"zarr N5Store" | "zarr N5FSStore" | "z5py", "store": folder, "case": …, "out": file}. RESULTS
becomes {"outcomes": [null | error]}. Arrays are in NumPy's axis order everywhere.
It knows the peers and must not import the library under test.
"""

from __future__ import annotations

import json
import os
import sys
import warnings
from typing import Any

import numpy as np

Case = dict[str, Any]
Array = np.ndarray[Any, Any]

TYPES = [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]
TYPES += ["float32", "float64"]
LAYOUTS = {
    "0d": ([], []),
    "1d": ([11], [4]),
    "2d": ([7, 5], [3, 2]),
    "2d-turned": ([5, 7], [4, 7]),
    "3d": ([5, 6, 7], [2, 3, 4]),
    "4d": ([3, 4, 5, 6], [2, 2, 2, 4]),
    "exact": ([8, 6], [4, 3]),
    "one-block": ([3, 4], [3, 4]),
    "block-larger": ([3, 4], [5, 6]),
    "empty": ([0, 3], [2, 2]),
}
BLOSC = {"type": "blosc", "clevel": 5, "blocksize": 0}
COMPRESSIONS: dict[str, dict[str, Any]] = {
    "raw": {"type": "raw"},
    "gzip": {"type": "gzip", "level": 6, "useZlib": False},
    "zlib": {"type": "gzip", "level": 2, "useZlib": True},
    "bzip2": {"type": "bzip2", "blockSize": 3},
    "xz": {"type": "xz", "preset": 4},
    "blosc-lz4": {**BLOSC, "cname": "lz4", "shuffle": 1},
    "blosc-zstd-bit": {**BLOSC, "cname": "zstd", "shuffle": 2},
    "blosc-blosclz-no": {**BLOSC, "cname": "blosclz", "shuffle": 0},
    "zstd": {"type": "zstd", "level": 3},
    "LZ4-java": {"type": "lz4", "blockSize": 65536},
    "LZ4-z5": {"type": "lz4", "blockSize": 6},
    "LZ4-numcodecs": {"type": "lz4", "id": "lz4", "acceleration": 1},
}


def cases() -> list[Case]:
    found = []

    def add(dtype: str, layout: str, compression: str, written: str = "all") -> None:
        shape, chunks = LAYOUTS[layout]
        case = {"dtype": dtype, "shape": shape, "chunks": chunks, "written": written}
        case["compression"] = COMPRESSIONS[compression]
        case["name"] = f"{dtype}-{layout}-{compression}-{written}"
        found.append(case)

    for dtype in TYPES:
        add(dtype, "2d", "gzip")
        add(dtype, "3d", "raw")
    for layout in LAYOUTS:
        add("int32", layout, "gzip")
        add("uint16", layout, "raw")
    for compression in COMPRESSIONS:
        add("int16", "3d", compression)
        add("float64", "2d", compression)
        add("uint8", "1d", compression, "part")
    return found


def second_cases() -> list[Case]:
    """Those of format 2: z5 writes it too."""
    found = []
    for case in cases():
        if "LZ4" not in case["name"] and "xz" not in case["name"] and case["shape"]:
            found.append({**case, "zarr_format": 2, "name": f"v2-{case['name']}"})
    return found


def values(case: Case) -> Array:
    count = int(np.prod(case["shape"], dtype=int))
    dtype = np.dtype(case["dtype"])
    if dtype.kind == "f":
        made = np.linspace(-3.5, 1e6, max(1, count))[:count]
        made[:3] = [np.nan, -0.0, np.inf][:count]
    else:
        made = np.random.default_rng(count).integers(
            np.iinfo(dtype).min, np.iinfo(dtype).max, count, dtype, endpoint=True
        )
    return made.astype(dtype).reshape(case["shape"])


def region(case: Case) -> tuple[slice, ...]:
    part = case["written"] == "part"
    return tuple(slice(1, max(1, length // 2)) if part else slice(None) for length in case["shape"])


def expected(case: Case) -> Array:
    result = np.zeros(case["shape"], case["dtype"])
    result[region(case)] = values(case)[region(case)]
    return result


# -- tensorstore ----------------------------------------------------------------------------------
def tensorstore_open(store: str, **options: Any) -> Any:
    import tensorstore

    metadata = {"metadata": options.pop("metadata")} if "metadata" in options else {}
    spec = {"driver": "n5", "kvstore": {"driver": "file", "path": store}, **metadata}
    return tensorstore.open(spec, **options).result()


def tensorstore_read(store: str, case: Case) -> Array:
    return np.asarray(tensorstore_open(store, open=True, read=True).read().result()).T


def tensorstore_write(store: str, case: Case) -> None:
    metadata = {
        "dimensions": case["shape"][::-1],
        "blockSize": case["chunks"][::-1],
        "dataType": case["dtype"],
        "compression": case["compression"],
    }
    array = tensorstore_open(store, create=True, metadata=metadata)
    array[region(case)[::-1]].write(values(case)[region(case)].T).result()


# -- zarr-python 2 --------------------------------------------------------------------------------
def zarr_store(kind: str, store: str) -> Any:
    import zarr

    if kind == "zarr N5Store":
        return zarr.N5Store(store)
    return zarr.N5FSStore(store, auto_mkdir=True)


def numcodecs_of(compression: dict[str, Any]) -> Any:
    from numcodecs import get_codec
    from zarr.n5 import compressor_config_to_zarr

    config = compressor_config_to_zarr(dict(compression))
    return None if config is None else get_codec(config)


def zarr_read(kind: str, store: str, case: Case) -> Array:
    import zarr

    return np.asarray(zarr.open_array(zarr_store(kind, store), mode="r")[...])


def zarr_write(kind: str, store: str, case: Case) -> None:
    import zarr

    array = zarr.create(
        tuple(case["shape"]),
        chunks=tuple(case["chunks"]) or True,
        dtype=case["dtype"],
        compressor=numcodecs_of(case["compression"]),
        store=zarr_store(kind, store),
        fill_value=0,
        overwrite=True,
    )
    array[region(case)] = values(case)[region(case)]


def zarr_tree(kind: str, store: str) -> dict[str, Any]:
    import zarr

    nodes: dict[str, Any] = {}

    def visit(group: Any) -> None:
        nodes[group.path] = dict(group.attrs)
        for _, child in group.arrays():
            nodes[child.path] = [dict(child.attrs), np.asarray(child[...]).tolist()]
        for _, child in group.groups():
            visit(child)

    visit(zarr.open_group(zarr_store(kind, store), mode="r"))
    return nodes


def zarr_make_tree(kind: str, store: str) -> None:
    import zarr

    root = zarr.open_group(zarr_store(kind, store), mode="w")
    fill_tree(root, lambda group, name, data: group.create_dataset(name, data=data, chunks=(2, 2)))


# -- z5 -------------------------------------------------------------------------------------------
def z5py_open(store: str, mode: str, second: bool = False) -> Any:
    import z5py

    return z5py.File(store, mode, use_zarr_format=second)


def z5py_read(store: str, case: Case) -> Array:
    parent, name = os.path.split(store)
    return np.asarray(z5py_open(parent, "r", case.get("zarr_format") == 2)[name][...])


def z5py_write(store: str, case: Case) -> None:
    if 0 in case["shape"]:
        raise ValueError("z5 divides by the block length that it makes of an empty dimension")
    parent, name = os.path.split(store)
    given = dict(case["compression"])
    kind = given.pop("type")
    second = case.get("zarr_format") == 2
    options: dict[str, Any] = {}
    if kind == "gzip" and given.pop("useZlib"):
        if not second:
            raise ValueError("z5 writes no zlib streams as N5")
        kind = "zlib"
    if kind == "blosc":
        options = {"compression": kind, "codec": given["cname"], "clevel": given["clevel"]}
        options["shuffle"] = given["shuffle"]
    elif kind == "lz4" and given.get("blockSize", 64) >= 64:
        raise ValueError("z5 takes blockSize for a level")
    else:
        level = next(iter(given.values()), None)
        options = {"compression": kind, **({} if level is None else {"level": level})}
    array = z5py_open(parent, "a", second).create_dataset(
        name,
        shape=tuple(case["shape"]),
        chunks=tuple(case["chunks"]),
        dtype=case["dtype"],
        **options,
    )
    array[region(case)] = values(case)[region(case)]


def z5py_tree(store: str) -> dict[str, Any]:
    nodes: dict[str, Any] = {}

    def visit(path: str, group: Any) -> None:
        nodes[path] = {key: value for key, value in group.attrs.items() if key != "n5"}
        for name in group:
            child = f"{path}/{name}".lstrip("/")
            if hasattr(group[name], "chunks"):
                attributes = dict(group[name].attrs.items())
                nodes[child] = [attributes, np.asarray(group[name][:]).tolist()]
            else:
                visit(child, group[name])

    visit("", z5py_open(store, "r"))
    return nodes


def z5py_make_tree(store: str) -> None:
    def create(group: Any, name: str, data: Array) -> Any:
        made = group.create_dataset(name, shape=data.shape, chunks=(2, 2), dtype=str(data.dtype))
        made[:] = data
        return made

    fill_tree(z5py_open(store, "w"), create)


# -- a hierarchy ----------------------------------------------------------------------------------
def fill_tree(root: Any, create: Any) -> None:
    """The same hierarchy through h5py's interface, which all of them have."""
    root.attrs["title"] = "Klima"
    for path in ("a", "a/b", "c"):
        group = root.create_group(path)
        group.attrs["path"] = path
        group.attrs["list"] = [1, 2.5, None, {"x": "y"}]
        data = np.arange(12, dtype="int32").reshape(4, 3)
        create(group, "data", data).attrs["units"] = "K"


def tree() -> dict[str, Any]:
    expected: dict[str, Any] = {"": {"title": "Klima"}}
    for path in ("a", "a/b", "c"):
        expected[path] = {"path": path, "list": [1, 2.5, None, {"x": "y"}]}
        expected[f"{path}/data"] = [{"units": "K"}, np.arange(12).reshape(4, 3).tolist()]
    return expected


def run(job: dict[str, Any]) -> None:
    library, store, action = job["library"], job["store"], job["do"]
    second = library.startswith("zarr ")
    if action in ("tree", "make tree"):
        if action == "tree":
            found = zarr_tree(library, store) if second else z5py_tree(store)
            with open(job["out"] + ".json", "w") as file:
                json.dump(found, file)
        elif second:
            zarr_make_tree(library, store)
        else:
            z5py_make_tree(store)
        return
    case = job["case"]
    if action == "write":
        if second:
            zarr_write(library, store, case)
        else:
            {"tensorstore": tensorstore_write, "z5py": z5py_write}[library](store, case)
        return
    if second:
        result = zarr_read(library, store, case)
    else:
        result = {"tensorstore": tensorstore_read, "z5py": z5py_read}[library](store, case)
    np.save(job["out"] + ".npy", result)


def main(jobs_file: str, results_file: str) -> None:
    warnings.simplefilter("ignore")
    with open(jobs_file) as file:
        jobs = json.load(file)
    outcomes: list[str | None] = []
    for job in jobs:
        try:
            run(job)
            outcomes.append(None)
        except Exception as error:
            outcomes.append(f"{type(error).__name__}: {error}"[:500])
    with open(results_file, "w") as file:
        json.dump({"outcomes": outcomes}, file)


if __name__ == "__main__":
    main(*sys.argv[1:])
