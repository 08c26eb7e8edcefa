"""`diff`: two hierarchies, node by node, and their values region by region."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
from typing import Any, NamedTuple

from omnizarr.api.arguments import StorageOptions
from omnizarr.api.opening import open as open_node
from omnizarr.jobs import MemoryLike, Reporter, run, workers_for
from omnizarr.jobs.differences.report import Differences, NodeDifference, ValuePair
from omnizarr.jobs.differences.values import Found, compare
from omnizarr.jobs.importing.files import opened as opened_file
from omnizarr.keywords import suggests
from omnizarr.model import paths
from omnizarr.nodes.array import Array
from omnizarr.nodes.data.lazy import REGION_BYTES
from omnizarr.nodes.data.regions import regions
from omnizarr.nodes.group import Group
from omnizarr.runtime import parallel
from omnizarr.runtime.progress import ProgressLike
from omnizarr.stores import StoreLike, as_store

EXAMPLES = 5
"""How many values that differ are told of each array."""


@suggests
def diff(
    first: StoreLike | Array | Group, second: StoreLike | Array | Group,
    *, path: str = "", second_path: str | None = None, metadata_only: bool = False,
    storage: bool = True, rtol: float = 0.0, atol: float = 0.0, examples: int = EXAMPLES,
    progress: ProgressLike = None, workers: int | None = None, max_memory: MemoryLike = None,
    storage_options: StorageOptions | None = None, second_options: StorageOptions | None = None,
) -> Differences:  # fmt: skip
    """Tell in what two arrays or hierarchies differ: nodes, metadata, attributes, values.

    Values are compared region by region, in bounded memory. NaN equals NaN.

    Parameters
    ----------
    first, second
        A path, a URL, a mapping or a store; or an array or group; or a file that `virtualize`
        opens: HDF5, NetCDF, GeoTIFF, GRIB.
    path, second_path
        The nodes in `first` and in `second`; by default the same.
    metadata_only
        Read no values.
    storage
        Whether how values are stored counts: format, chunks, shards, codecs, order.
    rtol, atol
        Numbers are equal if they differ by no more than ``atol + rtol * abs(second)``.
    examples
        How many values that differ are kept of each array.
    progress
        True draws a line in a notebook or on a terminal, or logs it; a callable gets a `Progress`
        after every step. Units are bytes of values.
    workers
        How many regions are compared at once; by default one for each core.
    max_memory
        What the regions may take together: bytes, or text such as ``"512 MiB"``. By default
        `limits.worker_bytes`.
    storage_options, second_options
        Options for the stores of URLs.

    Returns
    -------
    Differences
        False if there are none; print it for a listing.

    Raises
    ------
    NodeNotFoundError
        If there is no node.

    Examples
    --------
    >>> import omnizarr
    >>> one, other = omnizarr.group(), omnizarr.group()
    >>> one["a"], other["a"] = [1.0, 2.0, 3.0], [1.0, 2.0, 3.5]
    >>> found = omnizarr.diff(one, other)
    >>> found.differences[0].lines
    ['values: 1 of 3 differ, largest difference 0.5', '  [2]  3.0 → 3.5']
    >>> bool(omnizarr.diff(one, other, atol=1))
    False
    """
    begin = time.monotonic()
    with ExitStack() as stack:
        one = _opened(stack, first, path, storage_options)
        other = _opened(stack, second, path if second_path is None else second_path, second_options)
        pairs, found = _structure(one, other)
        both: list[_Pair] = []
        for pair in pairs:
            if isinstance(pair.first, Array) and isinstance(pair.second, Array):
                found += _arrays(pair, storage)
                if pair.first.shape == pair.second.shape:
                    both.append(pair)
            elif storage:
                found += _member(pair, "format", pair.first.zarr_format, pair.second.zarr_format)
            found += _attributes(pair)
        nbytes = 0
        if not metadata_only:
            total = sum(_nbytes(pair.first) for pair in both)
            with closing(Reporter(progress, total)) as reporter:
                for pair in both:
                    values = _values(
                        pair, rtol, atol, examples, reporter, workers, max_memory
                    )  # fmt: skip
                    found += [values] if values.count else []
            nbytes = 2 * total
    order = {pair.path: number for number, pair in enumerate(pairs)}
    found.sort(key=lambda each: (each.path, order.get(each.path, 0)))
    return Differences(tuple(found), len(pairs), nbytes, time.monotonic() - begin)


def _opened(stack: ExitStack, given: Any, path: str, options: StorageOptions | None) -> Any:
    start = paths.normalize_path(path)
    if isinstance(given, Array | Group):
        return given[start] if start else given
    file = stack.enter_context(opened_file(given, options))
    if file is not None:
        return file[start] if start else file
    store = as_store(given, mode="r", storage_options=options)
    if store is not given:
        stack.callback(store.close)
    return open_node(store, mode="r", path=start)


class _Pair(NamedTuple):
    """Two nodes of the same path."""

    path: str
    first: Any
    second: Any


# -- structure and metadata --------------------------------------------------------------------


def _structure(one: Any, other: Any) -> tuple[list[_Pair], list[NodeDifference]]:
    """Nodes that both sides have, and those of which only one is there."""
    ours, theirs = _nodes(one), _nodes(other)
    found: list[NodeDifference] = []
    pairs: list[_Pair] = []
    for path in sorted({*ours, *theirs}):
        first, second = ours.get(path), theirs.get(path)
        if second is None:
            found.append(NodeDifference(path, "only in the first", first=_kind(first)))
        elif first is None:
            found.append(NodeDifference(path, "only in the second", second=_kind(second)))
        elif _kind(first) != _kind(second):
            found.append(NodeDifference(path, "kind", "", _kind(first), _kind(second)))
        else:
            pairs.append(_Pair(path, first, second))
    return pairs, found


def _nodes(node: Any) -> dict[str, Any]:
    if isinstance(node, Array):
        return {"": node}
    return {"": node, **dict(node.members(max_depth=None))}


def _kind(node: Any) -> str:
    return "array" if isinstance(node, Array) else "group"


def _member(pair: _Pair, name: str, first: Any, second: Any) -> list[NodeDifference]:
    if _equal(first, second):
        return []
    return [NodeDifference(pair.path, "metadata", name, first, second)]


def _equal(first: Any, second: Any) -> bool:
    return bool(first == second) or (repr(first) == repr(second))  # NaN, and lists with NaN


def _arrays(pair: _Pair, storage: bool) -> list[NodeDifference]:
    one, other = pair.first, pair.second
    found = [
        *_member(pair, "shape", one.shape, other.shape),
        *_member(pair, "data type", str(one.data_type), str(other.data_type)),
        *_member(pair, "fill value", _fill(one), _fill(other)),
        *_member(pair, "dimension names", _names(one), _names(other)),
    ]
    if storage:
        found += [
            *_member(pair, "format", one.zarr_format, other.zarr_format),
            *_member(pair, "chunks", one.chunks, other.chunks),
            *_member(pair, "shards", one.shards, other.shards),
            *_member(pair, "codecs", _codecs(one), _codecs(other)),
        ]
    return found


def _fill(array: Array) -> str | None:
    value = array.fill_value
    return None if value is None else str(value)


def _names(array: Array) -> tuple[Any, ...] | None:
    names = array.dims
    return tuple(names) if names else None


def _codecs(array: Array) -> str:
    return ", ".join(map(str, array.codecs))


def _attributes(pair: _Pair) -> Iterator[NodeDifference]:
    ours, theirs = dict(pair.first.attrs), dict(pair.second.attrs)
    for name in sorted({*ours, *theirs}):
        first, second = ours.get(name), theirs.get(name)
        if (name in ours) != (name in theirs) or not _equal(first, second):
            yield NodeDifference(pair.path, "attribute", name, first, second)


# -- values ------------------------------------------------------------------------------------


def _nbytes(array: Array) -> int:
    return int(array.size) * max(1, int(array.dtype.itemsize))


def _values(
    pair: _Pair, rtol: float, atol: float, examples: int, reporter: Reporter,
    workers: int | None, max_memory: MemoryLike,
) -> NodeDifference:  # fmt: skip
    """Compare two arrays of one shape."""
    found: list[tuple[tuple[slice, ...], Found]] = []

    def work(region: tuple[slice, ...]) -> Found:
        parallel.check()
        offset = tuple(part.start for part in region)
        return compare(
            _block(pair.first, region), _block(pair.second, region), offset, rtol, atol, examples
        )

    def finished(region: tuple[slice, ...], one: Found) -> None:
        if one.number:
            found.append((region, one))
        count = 1
        for part in region:
            count *= part.stop - part.start
        nbytes = count * max(1, int(pair.first.dtype.itemsize))
        reporter.advance(nbytes, 2 * nbytes, pair.path)

    needed = 3 * max(REGION_BYTES, *map(_largest_value, (pair.first, pair.second)))
    at_once = workers_for(needed, workers, max_memory=max_memory)
    largest_first = max((pair.first, pair.second), key=_largest_value)
    run(work, regions(largest_first), finished, workers=at_once, max_memory=max_memory)
    pairs: list[ValuePair] = sorted(
        (example for _, one in found for example in one.examples), key=lambda one: one.coordinates
    )
    numbers = [one.largest for _, one in found if one.largest is not None]
    return NodeDifference(
        pair.path, "values", count=sum(one.number for _, one in found), of=int(pair.first.size),
        largest=max(numbers, default=None), examples=tuple(pairs[:examples]),
    )  # fmt: skip


def _block(array: Array, region: tuple[slice, ...]) -> Any:
    import numpy as np

    return np.asarray(array[region])


def _largest_value(array: Array) -> int:
    """Bytes of a decoded chunk or shard."""
    count = 1
    for length in array.shards or array.chunks or ():
        count *= max(length) if isinstance(length, tuple) else length
    return count * max(1, int(array.dtype.itemsize))
