"""anndata: a sparse matrix with annotations, written, read whole, in part and lazily."""

from __future__ import annotations

from pathlib import Path

import anndata as ad
import numpy as np
import pandas as pd
import scipy.sparse as sp
import zarr


def main(folder: Path) -> None:
    path = folder / "cells.zarr"
    counts = sp.random(30, 8, 0.4, format="csr", dtype="f4", random_state=1)
    cells = pd.DataFrame(
        {"kind": pd.Categorical(["b", "t", "nk"] * 10), "reads": np.arange(30)},
        index=[f"cell{i}" for i in range(30)],
    )
    made = ad.AnnData(X=counts, obs=cells, var=pd.DataFrame(index=list("ABCDEFGH")))
    made.layers["scaled"] = counts.toarray() * 2
    made.uns["about"] = {"run": 7, "title": "a text"}
    made.write_zarr(path)
    found = ad.read_zarr(path)
    assert (found.X != made.X).nnz == 0
    np.testing.assert_array_equal(found.layers["scaled"], made.layers["scaled"])
    assert list(found.obs["kind"]) == list(cells["kind"])
    assert (found.uns["about"]["run"], found.uns["about"]["title"]) == (7, "a text")
    group = zarr.open_group(path, mode="r")
    rows = ad.io.sparse_dataset(group["X"])[5:9]
    np.testing.assert_array_equal(rows.toarray(), counts[5:9].toarray())
    assert ad.experimental.read_lazy(path).shape == (30, 8)
