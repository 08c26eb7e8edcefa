"""Defaults, each also an argument of the call that it is a default for.

`config.set({"default_zarr_format": 2})` changes a default; as a context manager it changes it
for a block. Environment variables set defaults too: `OMNIZARR_THREADS=1`,
`OMNIZARR_ARRAY__ORDER=F` (two underscores stand for a dot).

    default_zarr_format       3         format of new nodes; any name that zarr_format= takes
    threads                   None      threads of one call; None: one per available core
    requests                  None      requests to a store at once; None: as many as it gains from
    array.order               "C"       memory order of new arrays: "C" or "F"
    array.read_order          None      memory order of what reads return, for formats that store no
                                        order: "C" or "F"; None: that of the stored chunks. A node
                                        keeps the one it was opened with
    array.write_empty_chunks  False     store chunks that hold nothing but the fill value
    array.on_missing          "fill"    a chunk that is not stored: "fill", or "raise" an error
    array.text                "string"  what text reads as: "string", "object" or "bytes"
    array.target_shard_size_bytes None  size of automatic shards; None: up to 16 chunks a dimension
    fsync                     False     make every write of a local store durable at once
    json_indent               "auto"    indent of metadata documents; "auto": as each format does

Names of zarr-python that mean the same are other spellings of these: `async.concurrency` of
`requests`, `threading.max_workers` and `codec_pipeline.max_workers` of `threads`,
`array.read_missing_chunks` of `array.on_missing`. Its other names are refused, with the reason.
A name or value that is not known raises `ConfigError`.

`import omnizarr` loads this module and nothing below it: what errors and the environment need is
imported by the functions that need it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from operator import index
from typing import Any, NamedTuple

FORMATS = (
    0, 1, 2, 3, "3-draft2019", "3-draft2020-09", "3-draft2020-10", "n5",
)  # fmt: skip
"""The names of the formats. They are repeated here, since the formats stand above this module."""


class _Setting(NamedTuple):
    default: Any
    check: Callable[[Any], Any]
    """The value as it is kept; a ValueError or TypeError if it is none."""
    expected: str


def _one_of(default: Any, *others: Any) -> _Setting:
    choices = (default, *others)

    def check(value: Any) -> Any:
        return choices[choices.index(value)]

    return _Setting(default, check, " or ".join(map(repr, choices)))


def _boolean(default: bool) -> _Setting:
    def check(value: Any) -> bool:
        return bool((False, True).index(value))

    return _Setting(default, check, "True or False")


def _count(least: int = 1) -> _Setting:
    def check(value: Any) -> int | None:
        if value is not None and (isinstance(value, bool) or index(value) < least):
            raise ValueError
        return None if value is None else index(value)

    return _Setting(None, check, f"None or an int of at least {least}")


def _format() -> _Setting:
    by_text = {str(name): name for name in FORMATS}

    def check(value: Any) -> Any:
        if isinstance(value, bool):
            raise ValueError
        return by_text[str(value).removeprefix("v")]

    return _Setting(3, check, f"one of {', '.join(map(repr, FORMATS))}")


def _indent() -> _Setting:
    def check(value: Any) -> Any:
        return value if value in ("auto", None) else _count(0).check(value)

    return _Setting("auto", check, "'auto', None for one line, or a number of spaces")


_SETTINGS: dict[str, _Setting] = {
    "default_zarr_format": _format(),
    "threads": _count(),
    "requests": _count(),
    "array.order": _one_of("C", "F"),
    "array.read_order": _one_of(None, "C", "F"),
    "array.write_empty_chunks": _boolean(False),
    "array.on_missing": _one_of("fill", "raise"),
    "array.text": _one_of("string", "object", "bytes"),
    "array.target_shard_size_bytes": _count(),
    "fsync": _boolean(False),
    "json_indent": _indent(),
}
_ALIASES = {
    "async.concurrency": "requests",
    "threading.max_workers": "threads",
    "codec_pipeline.max_workers": "threads",
    "array.read_missing_chunks": "array.on_missing",
}
"""zarr-python's names for the same things."""
_READ_MISSING = {True: "fill", False: "raise"}
_SAME = _one_of(None)
_REFUSED: dict[str, tuple[_Setting, str]] = {
    "async.timeout": (
        _SAME,
        "there is no event loop to time; stores have deadlines of their own, given as"
        " storage_options={'timeout': seconds} (or 'deadline')",
    ),
    "array.rectilinear_chunks": (_one_of(True), "chunks of different lengths can always be used"),
    "array.allow_unsafe_pickle_decode": (
        _one_of(False),
        "say allow_pickle=True when you open an array that you trust",
    ),
    "array.sharding_coalesce_max_gap_bytes": (
        _SAME,
        "each store knows which gaps are worth reading over (store.capabilities.gap)",
    ),
    "array.sharding_coalesce_max_bytes": (
        _SAME,
        "reads that are joined stay below omnizarr.limits.current.scratch_bytes",
    ),
    "codec_pipeline": (_SAME, "there is one pipeline, which cannot be exchanged"),
    "codecs": (_SAME, "a codec is chosen by name: omnizarr.codecs.register_codec adds one"),
    "buffer": (_SAME, "values are always NumPy arrays"),
    "ndbuffer": (_SAME, "values are always NumPy arrays"),
}
"""Other names of zarr-python: the only value that is true here, and the reason."""
_ENVIRONMENT = "OMNIZARR_"
_PYTHON = {"True": True, "False": False, "None": None}
_MISSING = object()
_ABSENT = object()


def _flat(values: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    """`{"array": {"order": "F"}}` as `("array.order", "F")`."""
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{above}{name}.")
        else:
            yield f"{above}{name}", value


def _checked(name: str, value: Any) -> tuple[str, Any]:
    """The name and value of a setting, as they are kept."""
    from omnizarr.errors import ConfigError
    from omnizarr.keywords import nearest

    kept = _ALIASES.get(name, name)
    setting = _SETTINGS.get(kept)
    given, reason = value, ""
    if setting is None:
        outer = name if name in _REFUSED else name.partition(".")[0]
        if outer not in _REFUSED:
            known = (*_SETTINGS, *_ALIASES, *_REFUSED)
            hint = nearest(name, known) or f"; known are {', '.join(_SETTINGS)}"
            raise ConfigError(f"there is no configuration value {name!r}{hint}")
        setting, reason = _REFUSED[outer]
        if setting is _SAME:
            raise ConfigError(f"{name!r} of zarr-python cannot be set here: {reason}")
    elif name == "array.read_missing_chunks":
        setting = _boolean(True)
    try:
        value = setting.check(value)
    except (KeyError, TypeError, ValueError):
        why = f": {reason}" if reason else ""
        raise ConfigError(
            f"the configuration value {name!r} must be {setting.expected}, found {given!r}{why}"
        ) from None
    return kept, _READ_MISSING[value] if name == "array.read_missing_chunks" else value


def _from_environment() -> dict[str, Any]:
    texts = {name: text for name, text in os.environ.items() if name.startswith(_ENVIRONMENT)}
    if not texts:
        return {}
    import json
    import warnings

    from omnizarr.errors import ConfigError, IgnoredArgumentWarning
    from omnizarr.keywords import nearest

    found: dict[str, Any] = {}
    for variable, text in texts.items():
        name = variable[len(_ENVIRONMENT) :].lower().replace("__", ".")
        try:
            value = json.loads(text)
        except ValueError:
            value = _PYTHON.get(text, text)
        if name not in _SETTINGS and name not in _ALIASES:
            hint = nearest(name, _SETTINGS)
            if hint or "." in name:  # others are no settings: OMNIZARR_NATIVE
                warnings.warn(
                    f"the environment variable {variable} sets nothing: there is no configuration"
                    f" value {name!r}{hint}",
                    IgnoredArgumentWarning,
                    stacklevel=2,
                )
            continue
        try:
            kept, found[kept] = _checked(name, value)
        except ConfigError as error:
            raise error.at(f"environment variable {variable}") from None
    return found


class _Restore:
    """What `config.set` returns: leaving its block puts the old values back."""

    def __init__(self, config: Config, before: dict[str, Any]) -> None:
        self._config = config
        self._before = before

    def __enter__(self) -> Config:
        return self._config

    def __exit__(self, *exc_info: object) -> None:
        self._config._current.update(self._before)


class Config:
    """Named defaults; `omnizarr.config` is the one instance.

    Examples
    --------
    >>> omnizarr.config["default_zarr_format"]
    3
    """

    def __init__(self) -> None:
        self._values: dict[str, Any] | None = None

    @property
    def _current(self) -> dict[str, Any]:
        """The values. The environment is read when they are first asked for."""
        if self._values is None:
            self._values = self._fresh()
        return self._values

    @staticmethod
    def _fresh() -> dict[str, Any]:
        defaults = {name: setting.default for name, setting in _SETTINGS.items()}
        return defaults | _from_environment()

    def get(self, name: str, default: object = _MISSING) -> Any:
        """Give the value of a name; with `"array"` all those below it, as a dict.

        Parameters
        ----------
        name
            A name of the table above, or zarr-python's name for it.
        default
            What to give for an unknown name, in place of an error.

        Raises
        ------
        ConfigError
            If there is no such name.

        Examples
        --------
        >>> omnizarr.config.get("array.order")
        'C'
        """
        values = self._values or self._current
        if name in values:
            return values[name]
        if name == "array.read_missing_chunks":
            return values["array.on_missing"] == "fill"
        if name in _ALIASES:
            return values[_ALIASES[name]]
        below = {key: values[key] for key in values if key.startswith(f"{name}.")}
        if below:
            return {key[len(name) + 1 :]: value for key, value in below.items()}
        if default is not _MISSING:
            return default
        if name in _REFUSED and _REFUSED[name][0] is not _SAME:
            return _REFUSED[name][0].default
        from omnizarr.errors import ConfigError
        from omnizarr.keywords import nearest

        hint = nearest(name, values) or f"; known are {', '.join(values)}"
        raise ConfigError(f"there is no configuration value {name!r}{hint}")

    __getitem__ = get

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self.get(name, _ABSENT) is not _ABSENT

    def set(self, values: Mapping[str, object] | None = None, **more: object) -> _Restore:
        """Change defaults, for good or for a `with` block.

        Parameters
        ----------
        values
            Names and values; `{"array": {"order": "F"}}` is `{"array.order": "F"}`.
        **more
            The same as keywords, with "__" for a dot.

        Returns
        -------
        context manager
            It gives the configuration; leaving its block puts the old values back.

        Raises
        ------
        ConfigError
            If a name or value is not known; nothing is changed then.

        Examples
        --------
        >>> with omnizarr.config.set({"array.order": "F"}, threads=1):
        ...     omnizarr.config.get("array.order")
        'F'
        """
        given = [*_flat(values or {}), *((n.replace("__", "."), v) for n, v in more.items())]
        checked = dict(_checked(name, value) for name, value in given)
        changes = {name: value for name, value in checked.items() if name in _SETTINGS}
        before = {name: self._current[name] for name in changes}
        self._current.update(changes)
        return _Restore(self, before)

    def update(self, values: Mapping[str, object]) -> None:
        """Change defaults for good.

        Parameters
        ----------
        values
            Names and values, as `set` takes them.

        Examples
        --------
        >>> omnizarr.config.update({"array.order": "F"})
        >>> omnizarr.config["array.order"]
        'F'
        >>> omnizarr.config.update({"array.order": "C"})
        """
        self.set(values)

    def reset(self) -> None:
        """Go back to the defaults and the environment.

        Examples
        --------
        >>> omnizarr.config.update({"array.order": "F"})
        >>> omnizarr.config.reset()
        >>> omnizarr.config["array.order"]
        'C'
        """
        self._values = self._fresh()

    refresh = reset

    def to_dict(self) -> dict[str, object]:
        """Give all names and their values.

        Examples
        --------
        >>> omnizarr.config.to_dict()["array.order"]
        'C'
        """
        return dict(self._current)

    @property
    def config(self) -> dict[str, Any]:
        """All values under omnizarr's and zarr-python's names, one dict inside the other.

        Examples
        --------
        >>> omnizarr.config.config["array"]["order"]
        'C'
        """
        nested: dict[str, Any] = {}
        for name in (*_SETTINGS, *_ALIASES):
            *above, last = name.split(".")
            place = nested
            for part in above:
                place = place.setdefault(part, {})
            place[last] = self.get(name)
        return nested

    def pprint(self) -> None:
        """Print all values.

        Examples
        --------
        >>> omnizarr.config.pprint()
        {'array': {...'order': 'C',...
        """
        from pprint import pprint

        pprint(self.config)  # noqa: T203 - what it is for

    def __repr__(self) -> str:
        return f"Config({self._current!r})"


config = Config()
