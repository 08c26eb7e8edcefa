"""`array.info` and `group.info`: a report of an array or group.

Both show what is known without reading the store; `info_complete()` counts chunks or lists members.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from omnizarr.errors import NotListableError

if TYPE_CHECKING:
    from omnizarr.nodes.array_facts import ArrayFacts
    from omnizarr.nodes.group import Group


class CallableInt(int):
    """An int that may also be called, for properties that became methods in zarr-python 3.

    Examples
    --------
    >>> from omnizarr.nodes.info import CallableInt
    >>> CallableInt(3) == CallableInt(3)() == 3
    True
    """

    def __call__(self) -> int:
        return int(self)


def human_bytes(count: int) -> str:
    """Format a number of bytes.

    >>> human_bytes(1536)
    '1.5K'
    """
    size = float(count)
    for unit in ("", "K", "M", "G", "T", "P"):
        if size < 1024 or unit == "P":
            break
        size /= 1024
    return f"{count}" if unit == "" else f"{size:.1f}{unit}"


class Info:
    """A two-column report, as text and as HTML."""

    def _rows(self) -> Iterator[tuple[str, Any]]:
        yield from ()

    def items(self) -> list[tuple[str, str]]:
        """List the rows: name and value."""
        return [(name, str(value)) for name, value in self._rows()]

    def __repr__(self) -> str:
        rows = self.items()
        width = max(len(name) for name, _ in rows)
        return "\n".join(f"{name:<{width}} : {value}" for name, value in rows) + "\n"

    def _repr_html_(self) -> str:
        from omnizarr.nodes.html.pages import report_page  # only for notebooks

        return report_page(self.items())


class ArrayInfo(Info):
    """Report of an array: `array.info`, and with `counted` `array.info_complete()`."""

    def __init__(self, array: ArrayFacts, counted: bool = False) -> None:
        self._array = array
        self._counted = counted

    def _rows(self) -> Iterator[tuple[str, Any]]:
        array = self._array
        yield "Name", array.name
        yield "Type", _type_name(array)
        yield "Zarr format", array.zarr_format
        yield "Data type", array.data_type
        yield "Shape", array.shape
        if array.dims is not None:
            yield "Dimensions", ", ".join(str(name) for name in array.dims)
        yield "Chunk shape", array.chunks
        if array.shards is not None:
            yield "Shard shape", array.shards
        yield "Order", array.order
        yield "Fill value", array.fill_value
        yield "Read-only", array.read_only
        yield "Codecs", ", ".join(str(codec) for codec in array.codecs)
        yield "Store", repr(array.store)
        yield "No. bytes", _with_unit(array.nbytes)
        yield "No. chunks", array.nchunks
        if not array._source.store.capabilities.listable:
            yield "Chunks initialized", "unknown: the store cannot be listed"
        elif not self._counted:
            yield "Chunks initialized", "not counted; info_complete() counts them"
        else:
            stored = int(array.nbytes_stored)
            yield "No. bytes stored", _with_unit(stored)
            if stored:
                yield "Storage ratio", f"{array.nbytes / stored:.1f}"
            yield "Chunks initialized", f"{array.nchunks_initialized}/{array.nchunks}"


class GroupInfo(Info):
    """Report of a group: `group.info`, and with `listed` `group.info_complete()`."""

    def __init__(self, group: Group, listed: bool = False) -> None:
        self._group = group
        self._listed = listed
        self._zarr_format = group.zarr_format  # OME-Zarr's library looks for it

    def _rows(self) -> Iterator[tuple[str, Any]]:
        group = self._group
        yield "Name", group.name
        yield "Type", _type_name(group)
        yield "Zarr format", group.zarr_format
        yield "Read-only", group.read_only
        yield "Store", repr(group.store)
        known = group._stored.consolidated is not None
        if not self._listed and not known and group._place.store.capabilities.listable:
            yield "No. members", "not counted; info_complete() lists them"
            return
        try:
            members = group.members()
        except NotListableError:
            yield "No. members", "unknown: the store cannot be listed"
            return
        groups = [name for name, member in members if isinstance(member, type(group))]
        arrays = [name for name, member in members if not isinstance(member, type(group))]
        yield "No. members", len(members)
        yield "No. arrays", len(arrays)
        yield "No. groups", len(groups)
        if arrays:
            yield "Arrays", ", ".join(arrays)
        if groups:
            yield "Groups", ", ".join(groups)


def _type_name(node: ArrayFacts | Group) -> str:
    return f"{type(node).__module__.partition('.')[0]}.{type(node).__name__}"


def _with_unit(count: int) -> str:
    return f"{count} ({human_bytes(count)})" if count >= 1024 else str(count)
