"""PyTorch on omnizarr: datasets for `torch.utils.data.DataLoader`.

dataset = ChunkedDataset("images.zarr", batch_size=64)
loader = DataLoader(dataset, batch_size=None, num_workers=2)

tensors     NumPy's memory as tensors
datasets    `MapDataset` and `ChunkedDataset`
"""

from __future__ import annotations

from omnizarr.runtime.optional_packages import package

package("torch", "torch", "omnizarr.integrations.torch")  # says what to install

from omnizarr.integrations.torch.datasets import ChunkedDataset, MapDataset  # noqa: E402
from omnizarr.integrations.torch.tensors import as_tensor  # noqa: E402

__all__ = ["ChunkedDataset", "MapDataset", "as_tensor"]


def __dir__() -> list[str]:
    return sorted(__all__)
