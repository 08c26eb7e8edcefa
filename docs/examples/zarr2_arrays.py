"""Arrays as the tutorial of zarr-python 2 uses them: persistence, compressors, filters, resizing,
every way of indexing.
"""

import numpy as np
from numcodecs import Blosc, Delta

import omnizarr as zarr  # was: import zarr

z = zarr.open("example.zarr", mode="w", shape=(1000, 1000), chunks=(100, 100), dtype="i4")
z[:] = 42
z[0, :] = np.arange(1000)
z[:, 0] = np.arange(1000)
print(z.shape, z.chunks, z.dtype, z.nchunks, z.nchunks_initialized)

again = zarr.open("example.zarr", mode="r")
print(np.all(z[:] == again[:]), again[0, -3:], again[-2:, 0])

counts = zarr.array(
    np.arange(10_000, dtype="i4").reshape(100, 100),
    chunks=(10, 100),
    filters=[Delta(dtype="i4")],
    compressor=Blosc(cname="zstd", clevel=3, shuffle=Blosc.SHUFFLE),
)
print(counts.nbytes, counts.nbytes_stored < counts.nbytes, len(counts.filters))
counts.resize(120, 100)
counts.append(np.ones((5, 100), dtype="i4"))
print(counts.shape, counts[119].sum(), counts[-1].sum())

# Points, rows and columns, masks, blocks, and the fields of records.
print(counts.vindex[[1, 5], [2, 7]], counts.get_coordinate_selection(([0, 99], [0, 99])))
print(counts.oindex[[0, 3], :2].tolist(), counts.get_mask_selection(counts[:] > 9997))
print(counts.blocks[3, 0].shape, int(counts.blocks[0][0, 5]))
records = zarr.array(np.array([(b"a", 1), (b"b", 2)], dtype=[("name", "S1"), ("n", "i4")]))
print(records["name"], records["n", 1:])

with zarr.ZipStore("example.zip", mode="w") as store:
    zarr.array(np.arange(5), store=store, path="inside")
with zarr.ZipStore("example.zip", mode="r") as store:
    print(zarr.open_group(store, mode="r")["inside"][:])
