"""Formats: the only code that knows format versions. One folder each.

`registry` knows them all and finds nodes in them; `base` says what a format is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnizarr.runtime.lazy import first_use

if TYPE_CHECKING:
    from omnizarr.formats.base import Format, FormatName, Node, Registering
    from omnizarr.formats.hierarchy import check_outside_drafts
    from omnizarr.formats.registry import (
        LIKELIEST,
        array_from_document,
        assumed,
        claimed,
        claims,
        consolidate,
        consolidated,
        consolidated_keys,
        current,
        documents,
        documents_first,
        empty_prefixes,
        every_format,
        explain_missing,
        find,
        get_format,
        hidden_members,
        look_ahead,
        move,
        older,
        owners,
        possible,
        read,
        registrar,
        same,
        spoken,
        unnamed_options,
        with_dialect,
    )

__all__ = [
    "LIKELIEST",
    "Format",
    "FormatName",
    "Node",
    "Registering",
    "array_from_document",
    "assumed",
    "check_outside_drafts",
    "claimed",
    "claims",
    "consolidate",
    "consolidated",
    "consolidated_keys",
    "current",
    "documents",
    "documents_first",
    "empty_prefixes",
    "every_format",
    "explain_missing",
    "find",
    "get_format",
    "hidden_members",
    "look_ahead",
    "move",
    "older",
    "owners",
    "possible",
    "read",
    "registrar",
    "same",
    "spoken",
    "unnamed_options",
    "with_dialect",
]

_LAZY = {
    "base": ("Format", "FormatName", "Node", "Registering"),
    "hierarchy": ("check_outside_drafts",),
    "registry": (
        *("LIKELIEST", "array_from_document", "assumed", "claimed", "claims", "consolidate"),
        *("consolidated", "consolidated_keys", "current", "documents", "documents_first"),
        *("empty_prefixes", "every_format", "explain_missing", "find", "get_format"),
        *("hidden_members", "look_ahead", "move", "older", "owners", "possible", "read"),
        *("registrar", "same", "spoken", "unnamed_options", "with_dialect"),
    ),
}
"""Modules that are imported when one of their names is first used: see `runtime.lazy`."""

if not TYPE_CHECKING:
    __getattr__ = first_use(__name__, _LAZY)
