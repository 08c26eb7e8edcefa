"""Hierarchies in the way of h5py, as the tutorial of zarr-python 2 builds and walks them."""

import numpy as np

import omnizarr as zarr  # was: import zarr

root = zarr.open_group("data.zarr", mode="w")
foo = root.create_group("foo")
bar = foo.create_group("bar")
z = bar.create_dataset("baz", shape=(1000, 100), chunks=(100, 100), dtype="i4")
z[:] = 7
root.require_group("foo/qux").require_dataset("n", shape=10, dtype="f8")
print(root["foo/bar/baz"].shape, "foo/bar" in root, "foo/nothing" in root)
print(sorted(root.group_keys()), sorted(foo["bar"].array_keys()))

# Attributes are JSON.
root.attrs["title"] = "an example"
z.attrs.update(units="K", scale=[0.1, 2])
print(dict(root.attrs), sorted(z.attrs.items()))

found = []
root.visititems(lambda name, node: found.append((name, type(node).__name__)))
print(sorted(found))
print(root.tree())

# Copies within a hierarchy and into another store, renamed nodes.
zarr.copy(foo["bar/baz"], root, name="copied")
other = zarr.group(store=zarr.MemoryStore())
zarr.copy_all(root, other)
root.move("copied", "moved")
print(sorted(root), sorted(other), int(np.sum(other["copied"][:2])))

# One document with the metadata of the whole hierarchy.
zarr.consolidate_metadata("data.zarr")
whole = zarr.open_consolidated("data.zarr", mode="r")
print(whole["foo/bar/baz"].attrs["units"], whole.attrs["title"])

zarr.save("saved.zarr", first=np.arange(3), second=np.eye(2))
loaded = zarr.load("saved.zarr")
print(sorted(loaded.keys()), loaded["second"].tolist())
