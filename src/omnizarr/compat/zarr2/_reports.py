"""zarr-python 2's displays: `info` of arrays and groups, `tree` of a group.

This module knows what rows and lines say. It must not change a node.
"""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import Any

import omnizarr

__all__ = [
    "InfoReporter",
    "TreeViewer",
    "array_rows",
    "group_rows",
    "human_readable_size",
    "info_html_report",
    "info_text_report",
]

_ASCII = str.maketrans({"├": "+", "└": "+", "─": "-", "│": "|"})


class InfoReporter:
    """Report of an array or a group, as text and as HTML.

    Parameters
    ----------
    obj
        The array or group.
    """

    def __init__(self, obj: Any) -> None:
        self.obj = obj
        self.items: list[tuple[str, str]] = obj.info_items()

    def __repr__(self) -> str:
        return info_text_report(self.items)

    def _repr_html_(self) -> str:
        return info_html_report(self.items)


class TreeViewer:
    """The nodes below a group: text with `str`, ASCII with `bytes`, HTML in a notebook.

    Parameters
    ----------
    group
        The group.
    expand
        Whether the HTML is unfolded.
    level
        How many levels to draw; None for all.
    **more
        All other keywords of `omnizarr.Group.tree`.

    Examples
    --------
    >>> from omnizarr.compat import zarr2 as zarr
    >>> root = zarr.group()
    >>> _ = root.create_group("a/b")
    >>> print(bytes(root["a"].tree()).decode())
    a
     +-- b
    """

    def __init__(
        self,
        group: omnizarr.Group,
        expand: bool | None = False,
        level: int | None = None,
        **more: Any,
    ) -> None:
        self.group = group
        self._drawn = omnizarr.Group.tree(group, expand, level, **more)

    def __str__(self) -> str:
        lines = str(self._drawn).split("\n")
        return "\n".join([self.group.basename or "/", *lines[1:]])

    __repr__ = __str__

    def __bytes__(self) -> bytes:
        return str(self).translate(_ASCII).encode()

    def _repr_html_(self) -> str:
        return self._drawn._repr_html_()


def array_rows(array: Any) -> list[tuple[str, str]]:
    """The rows of `array.info`."""
    stored = int(array.nbytes_stored)
    return _shown(
        {
            **_names(array),
            "Data type": array.dtype,
            "Shape": array.shape,
            "Chunk shape": array.chunks,
            "Order": array.order,
            "Read-only": array.read_only,
            **{f"Filter [{n}]": repr(codec) for n, codec in enumerate(array.filters or ())},
            "Compressor": repr(array.compressor),
            **_stores(array),
            "No. bytes": f"{array.nbytes} ({human_readable_size(array.nbytes)})",
            "No. bytes stored": f"{stored} ({human_readable_size(stored)})",
            "Storage ratio": f"{array.nbytes / stored:.1f}" if stored > 0 else None,
            "Chunks initialized": f"{array.nchunks_initialized}/{array.nchunks}",
        }
    )


def group_rows(group: Any) -> list[tuple[str, str]]:
    """The rows of `group.info`."""
    arrays, groups = sorted(group.array_keys()), sorted(group.group_keys())
    return _shown(
        {
            **_names(group),
            "Read-only": group.read_only,
            **_stores(group),
            "No. members": len(arrays) + len(groups),
            "No. arrays": len(arrays),
            "No. groups": len(groups),
            "Arrays": ", ".join(arrays) or None,
            "Groups": ", ".join(groups) or None,
        }
    )


def _names(node: Any) -> dict[str, Any]:
    return {"Name": node.name, "Type": f"zarr.{type(node).__name__}"}


def _stores(node: Any) -> dict[str, Any]:
    found = {"Synchronizer type": node.synchronizer, "Store type": node.store}
    if node.chunk_store is not node.store:
        found["Chunk store type"] = node.chunk_store
    kinds = {name: type(value) for name, value in found.items() if value is not None}
    return {name: f"{kind.__module__}.{kind.__name__}" for name, kind in kinds.items()}


def _shown(rows: dict[str, Any]) -> list[tuple[str, str]]:
    return [(name, str(value)) for name, value in rows.items() if value is not None]


def human_readable_size(size: int) -> str:
    """Write a size with K, M, G, T or P.

    Parameters
    ----------
    size
        A number of bytes.
    """
    if size < 1024:
        return str(size)
    power = min(5, (int(size).bit_length() - 1) // 10)
    return f"{size / 1024**power:.1f}{'KMGTP'[power - 1]}"


def info_text_report(items: Iterable[tuple[str, str]]) -> str:
    """Write rows of names and values as text.

    Parameters
    ----------
    items
        Names and values.
    """
    rows = list(items)
    width = max(len(name) for name, _ in rows)
    return "".join(f"{name:<{width}} : {value}\n" for name, value in rows)


def info_html_report(items: Iterable[tuple[str, str]]) -> str:
    """Write rows of names and values as an HTML table.

    Parameters
    ----------
    items
        Names and values.
    """
    rows = (f"<tr><th>{escape(name)}</th><td>{escape(value)}</td></tr>" for name, value in items)
    return f"<table>{''.join(rows)}</table>"
