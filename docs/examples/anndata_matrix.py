"""Store an annotated matrix of cells and genes, and read all of it or single elements, with
anndata's `write_zarr`, `read_zarr`, `read_elem` and `write_elem`.
"""

import numpy as np
import pandas as pd
from scipy import sparse

import omnizarr.compat; omnizarr.compat.install()  # new: serves omnizarr as zarr

import anndata
import zarr

counts = sparse.random(50, 20, density=0.1, format="csr", dtype="f4", random_state=0)
cells = pd.DataFrame(
    {"kind": pd.Categorical(["B", "T"] * 25), "depth": np.arange(50)},
    index=[f"cell{n}" for n in range(50)],
)
genes = pd.DataFrame(index=[f"gene{n}" for n in range(20)])
data = anndata.AnnData(counts, obs=cells, var=genes, uns={"source": "example"})
data.obsm["place"] = np.arange(100.0).reshape(50, 2)
data.layers["doubled"] = data.X * 2
data.write_zarr("cells.zarr")

again = anndata.read_zarr("cells.zarr")
print(again.shape, (again.X != counts).nnz, list(again.obs.kind.cat.categories))
print(again.obs.loc["cell7"].tolist(), again.uns["source"], again.obsm["place"][3].tolist())

root = zarr.open_group("cells.zarr", mode="r+", use_consolidated=False)
print(sorted(root.group_keys()), root["X"].attrs["encoding-type"], root["X/data"].shape)
print(anndata.io.read_elem(root["obs"]).depth.sum())
anndata.io.write_elem(root["uns"], "weights", np.linspace(0, 1, 5))
print(anndata.read_zarr(root).uns["weights"].tolist())
