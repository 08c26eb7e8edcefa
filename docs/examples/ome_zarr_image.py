"""Write a microscope image with its pyramid and labels as OME-Zarr, and read it again, with
ome-zarr-py.
"""

import numpy as np

import omnizarr.compat; omnizarr.compat.install()  # new: serves omnizarr as zarr

import zarr
from ome_zarr.io import parse_url
from ome_zarr.reader import Reader
from ome_zarr.writer import write_image, write_labels

rows, columns = np.mgrid[:256, :256]
image = np.stack([rows, columns, rows ^ columns]).astype("u1")
root = zarr.open_group("image.ome.zarr", mode="w")
write_image(
    image=image,
    group=root,
    axes="cyx",
    storage_options={"chunks": (1, 64, 64)},
)
write_labels((image[2] > 127).astype("i4"), group=root, name="bright", axes="yx")

node = next(iter(Reader(parse_url("image.ome.zarr"))()))
print([level.shape for level in node.data][:2], node.data[0].dtype)
print(np.array_equal(np.asarray(node.data[0]), image))

found = zarr.open_group("image.ome.zarr", mode="r")
ome = found.attrs["ome"]
print(ome["version"], [axis["name"] for axis in ome["multiscales"][0]["axes"]])
paths = [dataset["path"] for dataset in ome["multiscales"][0]["datasets"]]
print(found[paths[0]].chunks, int(found["labels/bright"][paths[0]][:].sum()))
