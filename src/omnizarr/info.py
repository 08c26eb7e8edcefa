"""`array.info` and `group.info`: what a person wants to know at a glance.

Both show what is known without asking the store; `info_complete()` counts chunks, or lists members.
"""

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
    def __init__(self, array: Array, counted: bool = False) -> None:
        self._array = array
        self._counted = counted

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
            ("No. chunks", array.nchunks),
        ]
        if not array.chunk_store.capabilities.listable:
            rows.append(("Chunks initialized", "unknown: the store cannot be listed"))
            return [(name, str(value)) for name, value in rows]
        if not self._counted:
            rows.append(("Chunks initialized", "not counted; info_complete() counts them"))
            return [(name, str(value)) for name, value in rows]
        stored = int(array.nbytes_stored)
        initialized = array.nchunks_initialized
        rows.append(("No. bytes stored", _with_unit(stored)))
        if stored:
            rows.append(("Storage ratio", f"{array.nbytes / stored:.1f}"))
        rows.append(("Chunks initialized", f"{initialized}/{array.nchunks}"))
        return [(name, str(value)) for name, value in rows]


class GroupInfo(Info):
    def __init__(self, group: Group, listed: bool = False) -> None:
        self._group = group
        self._listed = listed

    def items(self) -> list[tuple[str, str]]:
        group = self._group
        rows: list[tuple[str, Any]] = [
            ("Name", group.name),
            ("Type", f"{type(group).__module__.partition('.')[0]}.{type(group).__name__}"),
            ("Zarr format", group.zarr_format),
            ("Read-only", group.read_only),
            ("Store", repr(group.store)),
        ]
        known = group._stored.consolidated is not None
        if not self._listed and not known and group.store.capabilities.listable:
            rows.append(("No. members", "not counted; info_complete() lists them"))
            return [(name, str(value)) for name, value in rows]
        try:
            members = group.members()
        except NotListableError:
            rows.append(("No. members", "unknown: the store cannot be listed"))
            return [(name, str(value)) for name, value in rows]
        kinds: dict[bool, list[str]] = {True: [], False: []}
        for name, member in members:
            kinds[isinstance(member, type(group))].append(name)
        arrays, groups = kinds[False], kinds[True]
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


SHOWN = 20
"""How many members of a group are shown in a notebook."""


def group_html(group: Group, names: tuple[list[str], int] | None) -> str:
    """A group for a notebook. `names`: of some members, and how many there are."""
    from html import escape  # only for notebooks

    if names is None:
        below = "<p>the store cannot be listed</p>"
    elif not names[1]:
        below = "<p>no members</p>"
    else:
        shown, count = names
        known = group._stored.consolidated or {}
        rows = [f"<li>{escape(_member(name, known.get(name)))}</li>" for name in shown]
        rows += [f"<li>… and {count - len(shown)} more</li>"] if count > len(shown) else []
        below = f"<ul>{''.join(rows)}</ul>"
    return f"<div><div>{escape(repr(group))}</div>{below}</div>"


def _member(name: str, model: Any) -> str:
    shape = getattr(model, "shape", None)
    return name if shape is None else f"{name} {shape} {model.data_type}"
