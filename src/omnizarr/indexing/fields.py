"""Field names in a key: `z["f"]`, `z["f", 0:3]`, `z[0:3, "f"]`, `z[["f", "g"]]`.

This module knows strings in keys. It must not know data types: whether a field exists is for
the caller to say.
"""

from __future__ import annotations

from typing import Any

FieldNames = str | list[str] | None


def pop_fields(key: Any) -> tuple[FieldNames, Any]:
    """The field names of a key, and the key without them.

    One name alone is a str: that field's values. Several, or a list, select a structure.

    >>> pop_fields(("f", slice(0, 3)))
    ('f', slice(0, 3, None))
    >>> pop_fields((["f", "g"], 0, 1))
    (['f', 'g'], (0, 1))
    """
    if isinstance(key, str):
        return key, ()
    if _is_names(key):
        return list(key), ()
    if not isinstance(key, tuple):
        return None, key
    names: list[str] = []
    rest: list[Any] = []
    listed = False
    for item in key:
        if isinstance(item, str):
            names.append(item)
        elif _is_names(item):
            names.extend(item)
            listed = True
        else:
            rest.append(item)
    if not names:
        return None, key
    fields: FieldNames = names[0] if len(names) == 1 and not listed else names
    return fields, rest[0] if len(rest) == 1 else tuple(rest)


def _is_names(item: Any) -> bool:
    return isinstance(item, list) and bool(item) and all(isinstance(name, str) for name in item)
