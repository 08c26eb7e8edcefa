"""Groups, stores and settings as the guide of zarr-python 3 shows them."""

import numpy as np

import omnizarr as zarr  # was: import zarr

store = zarr.storage.LocalStore("group.zarr")
root = zarr.create_group(store=store, attributes={"title": "a group"})
foo = root.create_group(name="foo")
bar = root.create_array(name="bar", shape=(100, 10), chunks=(10, 10), dtype="f4")
deep = root.create_array(name="foo/deep", data=np.arange(6).reshape(2, 3))
bar[:] = 1.5
print(sorted(name for name, _ in root.members(max_depth=None)), root.nmembers())
print(root["foo/deep"][1].tolist(), root.attrs["title"], sorted(foo.array_keys()))

# Several nodes with one call, several attributes with one write.
foo.update_attributes({"one": 1, "two": [2, 2]})
print(sorted(foo.attrs.asdict().items()))

zarr.consolidate_metadata(store)
whole = zarr.open_consolidated(store=store)
print(whole.metadata.consolidated_metadata is not None, float(whole["bar"][0, 0]))

# The same calls on an archive, on memory, and on any filesystem of fsspec.
with zarr.storage.ZipStore("group.zip", mode="w") as archive:
    zarr.create_array(store=archive, name="x", data=np.arange(4))
with zarr.storage.ZipStore("group.zip", read_only=True) as archive:
    print(zarr.open_group(archive, mode="r")["x"][:].tolist())
memory = zarr.storage.MemoryStore()
zarr.create_array(store=memory, data=np.eye(2))
print(zarr.open_array(memory, mode="r")[:].tolist())
remote = zarr.storage.FsspecStore.from_url("memory://bucket/x.zarr")
zarr.create_array(store=remote, data=np.arange(3))
print(zarr.open_array(remote, mode="r")[:].tolist())

with zarr.config.set({"array.order": "F", "default_zarr_format": 2}):
    old = zarr.create_group("old.zarr")
    print(old.metadata.zarr_format, old.create_array("a", shape=4, dtype="i2").metadata.zarr_format)
