"""An array as Dask sees it: `to_dask`, its token, and how it travels to other processes.

This module knows which chunks to give to Dask. It must not know how they are read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from omnizarr.keywords import suggests
from omnizarr.nodes.array_facts import ArrayFacts

if TYPE_CHECKING:
    import dask.array

    DaskChunks = (
        int | str | Sequence[int | str | Sequence[int] | None] | Mapping[int, object] | None
    )


class InDask(ArrayFacts):
    """The base of `Array`; not of use by itself."""

    _in_graph = False
    """Whether Dask was given this handle."""

    @suggests
    def to_dask(
        self,
        chunks: DaskChunks = None,
        *,
        name: str | bool | None = None,
        inline_array: bool = False,
    ) -> dask.array.Array:
        """Return a Dask array that reads the chunks when it is computed.

        Any scheduler can compute it: threads, processes, a cluster whose workers reach the store.
        An array in memory stays in its process.

        Parameters
        ----------
        chunks
            As `dask.array.from_array` takes them, such as ``(100, 200)``, ``"auto"``,
            ``"64 MiB"`` or ``{0: 100}``. By default one block for each stored chunk, or each shard.
        name
            The name of the tasks. By default one that is equal for equal arrays, and another one
            after this process has written to the array. False makes a new name at every call: use
            it when other processes may have written.
        inline_array
            Put the array into every task, instead of one task that the others share.

        Returns
        -------
        dask.array.Array
            The lazy array.

        Raises
        ------
        MissingPackageError
            If Dask is not installed.
        LimitError
            If there are more blocks along the dimensions than `limits.max_requested_chunks`.

        Examples
        --------
        >>> a = omnizarr.array(np.arange(12).reshape(3, 4), chunks=(2, 2))
        >>> a.to_dask().chunks
        ((2, 1), (2, 2))
        >>> int(a.to_dask().sum().compute(scheduler="threads"))
        66
        """
        from omnizarr.runtime.optional_packages import package

        lazy = package("dask.array", "dask", "to_dask")
        if chunks is None:
            chunks = tuple(lengths or (0,) for lengths in self.write_chunk_sizes)
        meta = np.empty((0,) * self.ndim, self.dtype)
        found: dask.array.Array = lazy.from_array(
            self, chunks, name=name, lock=False, inline_array=inline_array, meta=meta
        )
        return found

    def __dask_tokenize__(self) -> tuple[str, ...]:
        from omnizarr.nodes.dask import tokens

        self._in_graph = True
        return tokens.token(self)

    def __reduce__(self) -> Any:
        if self._in_graph:
            from omnizarr.nodes.dask import tokens

            if tokens.in_memory(self.chunk_store):
                raise tokens.stays_here(self._place)
        return super().__reduce__()
