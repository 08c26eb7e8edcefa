"""`array.info` and `group.info`: what a person wants to know at a glance."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from omnizarr.errors import NotListableError

if TYPE_CHECKING:
    from omnizarr.array import Array
    from omnizarr.group import Group


class CallableInt(int):
    """An int that may also be called: a property for one generation, a method for the other."""

    def __call__(self) -> int:
        return int(self)


def human_bytes(count: int) -> str:
    """
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

    def items(self) -> list[tuple[str, str]]:
        return []

    def __repr__(self) -> str:
        rows = self.items()
        width = max(len(name) for name, _ in rows)
        return "\n".join(f"{name:<{width}} : {value}" for name, value in rows) + "\n"

    def _repr_html_(self) -> str:
        from html import escape  # only for notebooks

        cells = "".join(
            f'<tr><th style="text-align:left">{escape(name)}</th>'
            f'<td style="text-align:left">{escape(value)}</td></tr>'
            for name, value in self.items()
        )
        return f"<table>{cells}</table>"


class ArrayInfo(Info):
    def __init__(self, array: Array) -> None:
        self._array = array

    def items(self) -> list[tuple[str, str]]:
        array = self._array
        rows: list[tuple[str, Any]] = [
            ("Name", array.name),
            ("Type", f"{type(array).__module__.partition('.')[0]}.{type(array).__name__}"),
            ("Zarr format", array.zarr_format),
            ("Data type", array.data_type),
            ("Shape", array.shape),
        ]
        if array.dims is not None:
            rows.append(("Dimensions", ", ".join(str(name) for name in array.dims)))
        rows.append(("Chunk shape", array.chunks))
        if array.shards is not None:
            rows.append(("Shard shape", array.shards))
        rows += [
            ("Order", array.order),
            ("Fill value", array.fill_value),
            ("Read-only", array.read_only),
            ("Codecs", ", ".join(str(codec) for codec in array.codecs)),
            ("Store", repr(array.store)),
            ("No. bytes", _with_unit(array.nbytes)),
        ]
        if not array.chunk_store.capabilities.listable:
            return [(name, str(value)) for name, value in rows]
        stored = int(array.nbytes_stored)
        initialized = array.nchunks_initialized
        rows.append(("No. bytes stored", _with_unit(stored)))
        if stored:
            rows.append(("Storage ratio", f"{array.nbytes / stored:.1f}"))
        rows.append(("Chunks initialized", f"{initialized}/{array.nchunks}"))
        return [(name, str(value)) for name, value in rows]


class GroupInfo(Info):
    def __init__(self, group: Group) -> None:
        self._group = group

    def items(self) -> list[tuple[str, str]]:
        group = self._group
        rows: list[tuple[str, Any]] = [
            ("Name", group.name),
            ("Type", f"{type(group).__module__.partition('.')[0]}.{type(group).__name__}"),
            ("Zarr format", group.zarr_format),
            ("Read-only", group.read_only),
            ("Store", repr(group.store)),
        ]
        try:
            arrays, groups = sorted(group.array_keys()), sorted(group.group_keys())
        except NotListableError:
            rows.append(("No. members", "unknown: the store cannot be listed"))
            return [(name, str(value)) for name, value in rows]
        rows += [
            ("No. members", len(arrays) + len(groups)),
            ("No. arrays", len(arrays)),
            ("No. groups", len(groups)),
        ]
        if arrays:
            rows.append(("Arrays", ", ".join(arrays)))
        if groups:
            rows.append(("Groups", ", ".join(groups)))
        return [(name, str(value)) for name, value in rows]


def _with_unit(count: int) -> str:
    return f"{count} ({human_bytes(count)})" if count >= 1024 else str(count)
