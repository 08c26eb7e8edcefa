"""`config`: zarr-python's names of settings, over omnizarr's.

A setting that omnizarr has is omnizarr's own, under zarr-python's name. The others (the pipeline,
the classes of buffers and codecs) are kept so that libraries can read and set them; they change
nothing.
"""

from __future__ import annotations

import copy
import pprint
import sys
from collections.abc import Iterator, Mapping
from typing import Any

from omnizarr import config as ours
from omnizarr.errors import ConfigError
from omnizarr.keywords import nearest

__all__ = ["BadConfigError", "Config", "config"]

BadConfigError = ConfigError
_MISSING = object()
_SHARED: dict[str, Any] = {
    "default_zarr_format": 3,
    "array.order": "C",
    "array.write_empty_chunks": False,
    "array.read_missing_chunks": True,
    "array.target_shard_size_bytes": None,
    "async.concurrency": 10,
    "threading.max_workers": None,
    "json_indent": 2,
}
"""Settings of omnizarr, and what zarr-python shows where omnizarr chooses for itself."""
_UNSET = (None, "auto")
_KEPT: dict[str, Any] = {
    "array.rectilinear_chunks": False,
    "array.sharding_coalesce_max_gap_bytes": 1 << 20,
    "array.sharding_coalesce_max_bytes": 16 << 20,
    "array.allow_unsafe_pickle_decode": False,
    "async.timeout": None,
    "codec_pipeline.path": "zarr.core.codec_pipeline.BatchedCodecPipeline",
    "codec_pipeline.batch_size": 1,
    "codec_pipeline.max_workers": None,
    "buffer": "zarr.buffer.cpu.Buffer",
    "ndbuffer": "zarr.buffer.cpu.NDBuffer",
}
"""Settings of zarr-python that have no meaning here."""
_OPEN = "codecs"
"""Below it any name is taken: the classes of codecs."""


def _flat(values: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in values.items():
        path = f"{above}{name}"
        if isinstance(value, Mapping):
            yield from _flat(value, f"{path}.")
        else:
            yield path, value


class _Restore:
    """What `config.set` returns: leaving its block puts the old values back."""

    def __init__(self, config: Config, kept: dict[str, Any], before: Any) -> None:
        self._config, self._kept, self._before = config, kept, before

    def __enter__(self) -> Config:
        return self._config

    def __exit__(self, *exc_info: object) -> None:
        self._config._kept = self._kept
        self._before.__exit__(*exc_info)


class Config:
    """Settings by zarr-python's names."""

    def __init__(self) -> None:
        self._kept = dict(_KEPT)

    def _values(self) -> dict[str, Any]:
        return {**{name: self._shared(name) for name in _SHARED}, **self._kept}

    @staticmethod
    def _shared(name: str) -> Any:
        value = ours.get(name)
        return _SHARED[name] if value in _UNSET else value

    def get(self, key: str, default: Any = _MISSING, override_with: Any = None) -> Any:
        """Return a setting; of a name with others below it, all of them."""
        if override_with is not None:
            return override_with
        if key in _SHARED:
            return self._shared(key)
        if key in self._kept:
            return self._kept[key]
        nested: Any = self.config
        for part in key.split("."):
            if not isinstance(nested, dict) or part not in nested:
                if key == _OPEN:
                    return {}
                if default is _MISSING:
                    raise KeyError(key)
                return default
            nested = nested[part]
        return nested

    def set(self, arg: Mapping[str, Any] | None = None, **kwargs: Any) -> _Restore:
        """Change settings, for good or for a `with` block."""
        named = {name.replace("__", "."): value for name, value in kwargs.items()}
        given = dict(_flat({**(arg or {}), **named}))
        for name in given:
            if name not in _SHARED and name not in _KEPT and not name.startswith(f"{_OPEN}."):
                hint = nearest(name, [*_SHARED, *_KEPT])
                raise ConfigError(f"there is no configuration value {name!r}{hint}")
        before = self._kept
        shared = {name: value for name, value in given.items() if name in _SHARED}
        if "array.order" in shared:  # to zarr-python, the order of what is read, too
            shared["array.read_order"] = shared["array.order"]
        restore = ours.set(shared)
        self._kept = before | {name: given[name] for name in given if name not in _SHARED}
        return _Restore(self, before, restore)

    def update(self, new: Mapping[str, Any], priority: str = "new") -> None:
        """Change settings for good; with the priority "old", those alone that have none."""
        changes = dict(_flat(new))
        if priority == "old":
            changes = {name: value for name, value in changes.items() if name not in self}
        self.set(changes)

    def reset(self) -> None:
        """Go back to the defaults."""
        self._kept = dict(_KEPT)
        ours.reset()

    def refresh(self, **kwargs: Any) -> None:
        """Go back to the defaults and the environment."""
        self.reset()

    def enable_gpu(self) -> Any:
        """Refuse: arrays are NumPy's."""
        raise NotImplementedError("omnizarr reads into NumPy arrays alone")

    @property
    def config(self) -> dict[str, Any]:
        """All settings, as nested dictionaries."""
        nested: dict[str, Any] = {}
        for name, value in self._values().items():
            place = nested
            *above, last = name.split(".")
            for part in above:
                place = place.setdefault(part, {})
            place[last] = copy.copy(value)
        return nested

    @property
    def defaults(self) -> list[dict[str, Any]]:
        """The settings that nothing changed, as zarr-python keeps them."""
        return [{**_SHARED, **_KEPT}]

    def to_dict(self) -> dict[str, Any]:
        """Return all settings, as nested dictionaries."""
        return self.config

    def pprint(self, **kwargs: Any) -> None:
        """Print all settings."""
        sys.stdout.write(pprint.pformat(self.config, **kwargs) + "\n")

    def __contains__(self, key: object) -> bool:
        return isinstance(key, str) and self.get(key, None) is not None

    def __getitem__(self, key: str) -> Any:
        return self.get(key)


config = Config()
"""The settings."""
