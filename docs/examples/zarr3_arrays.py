"""The quick start and the array guide of zarr-python 3: chunks, shards, codecs, sizes."""

import numpy as np

import omnizarr as zarr  # was: import zarr

z = zarr.create_array(
    store="data/example-1.zarr", shape=(100, 100), chunks=(10, 10), dtype="f4", fill_value=0
)
z[:, :] = np.linspace(0, 1, 10_000, dtype="f4").reshape(100, 100)
print(z.shape, z.chunks, z.shards, z.fill_value, round(float(z[50, 50]), 4))

# Many chunks in one file.
sharded = zarr.create_array(
    store="data/example-2.zarr",
    shape=(1000, 1000),
    chunks=(100, 100),
    shards=(500, 500),
    dtype="uint8",
    compressors=zarr.codecs.BloscCodec(cname="zstd", clevel=3, shuffle="bitshuffle"),
)
sharded[:] = (np.arange(1_000_000) % 7).reshape(1000, 1000)
print(sharded.shards, sharded.cdata_shape, int(sharded[:].sum()), sharded[500:502, 998:].tolist())

again = zarr.open_array("data/example-2.zarr", mode="r")
print(again.read_only, again.nchunks_initialized, np.array_equal(again[:], sharded[:]))

# Arrays grow and shrink, and may be appended to.
z.resize((110, 100))
z.append(np.ones((2, 100), dtype="f4"))
print(z.shape, float(z[105].sum()), float(z[-1].sum()))

print(z.oindex[[0, 111], slice(0, 2)].tolist(), z.vindex[[0, 111], [0, 5]].tolist())
print(z.blocks[1, 1].shape, sharded.get_mask_selection(sharded[:] == 6).size)

named = zarr.create_array(
    store={}, shape=(3, 4), dtype="i8", dimension_names=("y", "x"), attributes={"units": "m"}
)
print(named.metadata.dimension_names, dict(named.attrs), named.metadata.zarr_format)
