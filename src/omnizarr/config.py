"""A handful of defaults, each also an argument of the call that it is a default for.

`config.set({"default_zarr_format": 2})` changes a default; as a context manager it changes it
for a block. Environment variables set defaults too: `OMNIZARR_THREADS=1`,
`OMNIZARR_ARRAY__ORDER=F` (two underscores stand for a dot). Names that only zarr-python knows are
accepted and kept, so that code written for it runs; they have no effect here.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

_DEFAULTS: dict[str, Any] = {
    "default_zarr_format": 3,
    "threads": None,  # None: one per available core
    "requests": None,  # None: as many at once as the store says it gains from
    "array.order": "C",
    "array.write_empty_chunks": False,
    "array.on_missing": "fill",
    "array.text": "string",  # or "object": what text reads as
    "fsync": False,
    # zarr-python's, asked for by others; without effect here.
    "async.concurrency": 10,
    "async.timeout": None,
    "threading.max_workers": None,
    "array.target_shard_size_bytes": None,
}
_ENVIRONMENT = "OMNIZARR_"
_MISSING = object()


def _from_environment() -> dict[str, Any]:
    found: dict[str, Any] = {}
    for variable, text in os.environ.items():
        if variable.startswith(_ENVIRONMENT):
            name = variable[len(_ENVIRONMENT) :].lower().replace("__", ".")
            try:
                found[name] = json.loads(text)
            except ValueError:
                found[name] = text
    return found


class _Restore:
    """What `config.set` returns: leaving its block puts the old values back."""

    def __init__(self, config: Config, before: dict[str, Any]) -> None:
        self._config = config
        self._before = before

    def __enter__(self) -> Config:
        return self._config

    def __exit__(self, *exc_info: object) -> None:
        for name, value in self._before.items():
            if value is _MISSING:
                self._config._values.pop(name, None)
            else:
                self._config._values[name] = value


class Config:
    """Named defaults; `omnizarr.config` is the one instance."""

    def __init__(self) -> None:
        self._values = {**_DEFAULTS, **_from_environment()}

    def get(self, name: str, default: Any = _MISSING) -> Any:
        value = self._values.get(name, default)
        if value is _MISSING:
            raise KeyError(f"no configuration value {name!r}; known are {', '.join(_DEFAULTS)}")
        return value

    def set(self, values: Mapping[str, Any] | None = None, **more: Any) -> _Restore:
        """Change defaults; a keyword writes a dot as two underscores."""
        changes = dict(values or {})
        changes.update({name.replace("__", "."): value for name, value in more.items()})
        before = {name: self._values.get(name, _MISSING) for name in changes}
        self._values.update(changes)
        return _Restore(self, before)

    def reset(self) -> None:
        """Back to the defaults and the environment."""
        self._values = {**_DEFAULTS, **_from_environment()}

    def to_dict(self) -> dict[str, Any]:
        return dict(self._values)

    def __repr__(self) -> str:
        return f"Config({self._values!r})"


config = Config()
