"""Runs in zarr-python's environment: reads and writes through its own clients of servers.

    python cloud_peer.py JOB        one JSON object; prints what was found as another

JOB has "client" ("obstore", "s3fs", "gcsfs"), "service", "endpoint", "container", "credentials",
"read" (a list of paths) and "write" (a mapping from paths to formats). This script knows the
peers. It must not import the library under test.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

import numpy as np

os.environ["GCSFS_EXPERIMENTAL_ZB_HNS_SUPPORT"] = "false"


def store_of(job: dict[str, Any], path: str, *, read_only: bool) -> Any:
    from zarr.storage import FsspecStore, ObjectStore

    container, endpoint = job["container"], job["endpoint"]
    given = job["credentials"]
    if job["client"] == "obstore":
        from obstore import store

        cls = {"s3": store.S3Store, "gcs": store.GCSStore, "azurite": store.AzureStore}
        inner = cls[job["service"]](
            container, prefix=path, client_options={"allow_http": True}, **given
        )
        return ObjectStore(inner, read_only=read_only)
    if job["client"] == "s3fs":
        import s3fs

        filesystem: Any = s3fs.S3FileSystem(
            key=given["access_key_id"],
            secret=given["secret_access_key"],
            endpoint_url=endpoint,
            asynchronous=True,
        )
    else:
        import gcsfs

        filesystem = gcsfs.GCSFileSystem(
            token="anon", endpoint_url=endpoint, project="test", asynchronous=True
        )
    return FsspecStore(filesystem, path=f"{container}/{path}", read_only=read_only)


def data(shape: tuple[int, ...], dtype: str) -> Any:
    count = int(np.prod(shape))
    return (np.arange(count) * 7 % 251).astype(dtype).reshape(shape)


def write(store: Any, zarr_format: int) -> None:
    import zarr

    root = zarr.open_group(store, mode="w", zarr_format=zarr_format)
    root.attrs["title"] = "grüße"
    inner = root.create_group("a/b")
    inner.attrs["n"] = [1, 2, 3]
    plain = root.create_array("plain", shape=(30, 20), chunks=(7, 6), dtype="f4", fill_value=1.5)
    plain[:20] = data((20, 20), "f4")
    shards = {"shards": (16, 16)} if zarr_format == 3 else {}
    array = inner.create_array("x", shape=(40, 40), chunks=(4, 4), dtype="i4", **shards)
    array[:] = data((40, 40), "i4")
    array.attrs["units"] = "K"


def read(store: Any) -> dict[str, Any]:
    import zarr

    root = zarr.open_group(store, mode="r")
    array = root["a/b/x"]
    return {
        "title": root.attrs["title"],
        "n": root["a/b"].attrs["n"],
        "units": array.attrs["units"],
        "groups": sorted(name for name, _ in root.groups()),
        "arrays": sorted(name for name, _ in root.arrays()),
        "plain": np.asarray(root["plain"][:]).tolist(),
        "x": np.asarray(array[:]).tolist(),
        "part": np.asarray(array[3:5, 35:]).tolist(),
    }


def main() -> None:
    job = json.loads(sys.argv[1])
    import zarr

    for path, zarr_format in job["write"].items():
        write(store_of(job, path, read_only=False), zarr_format)
    found = {path: read(store_of(job, path, read_only=True)) for path in job["read"]}
    print(json.dumps({"version": zarr.__version__, "found": found}))


if __name__ == "__main__":
    main()
