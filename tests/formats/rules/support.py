"""What the tests of the rules share: a store from documents, and findings as they are compared."""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from typing import Any

from omnizarr.api.checking import Report, check
from omnizarr.formats.rules import Finding
from omnizarr.stores import MemoryStore

DELETE = object()
"""In a mutation: the member is left out."""


def store_of(documents: Mapping[str, Any]) -> MemoryStore:
    """A store of these values: bytes as they are, anything else as JSON."""
    store = MemoryStore()
    for key, value in documents.items():
        store.set(key, value if isinstance(value, bytes) else json.dumps(value).encode())
    return store


def changed(document: Mapping[str, Any], **members: Any) -> dict[str, Any]:
    """A document with members replaced, added or (DELETE) left out."""
    result = copy.deepcopy(dict(document))
    for name, value in members.items():
        if value is DELETE:
            del result[name]
        else:
            result[name] = value
    return result


def report_on(documents: Mapping[str, Any], path: str = "", **options: Any) -> Report:
    return check(store_of(documents), path, **options)


def rules_only(report: Report) -> list[Finding]:
    """Without the line that repeats what a parser refuses."""
    return [found for found in report if not found.message.startswith("cannot be opened")]


def assert_one(report: Report, level: str, fragment: str, section: str) -> None:
    """Exactly one finding, of this level, with this text and this section."""
    found = rules_only(report)
    assert [(f.level, fragment in f.message, section in f.reference) for f in found] == [
        (level, True, True)
    ], str(report)
