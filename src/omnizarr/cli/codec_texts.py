"""Codecs as a person types them: `zstd`, `zstd:5`, `blosc:lz4:5`, `none`, or JSON.

This module knows spellings. It must not know what a codec does.
"""

from __future__ import annotations

import json
from typing import Any

from omnizarr import codecs
from omnizarr.errors import ZarrError

HELP = (
    "codecs after each other: zstd, zstd:5, blosc:lz4:5, blosc:shuffle=bitshuffle, delta:dtype=i4"
    ",zlib:9, JSON, none, auto, fast; may be repeated"
)
WORDS = ("auto", "fast", "keep")
"""What stands for a choice of the library."""
_FIRST: dict[str, tuple[str, ...]] = {
    "zstd": ("level",),
    "gzip": ("level",),
    "blosc": ("cname", "clevel", "shuffle"),
    "numcodecs.blosc": ("cname", "clevel", "shuffle"),
    "numcodecs.zstd": ("level",),
    "numcodecs.gzip": ("level",),
    "numcodecs.zlib": ("level",),
    "numcodecs.bz2": ("level",),
    "numcodecs.lzma": ("preset",),
    "numcodecs.lz4": ("acceleration",),
    "numcodecs.shuffle": ("elementsize",),
    "pcodec": ("level",),
    "numcodecs.pcodec": ("level",),
}
"""Options that go without their names, in this order."""
_USUAL: dict[str, dict[str, Any]] = {"blosc": {"shuffle": "shuffle"}}
"""Options that are set unless others are given."""


def pipeline(text: str) -> list[Any] | str | None:
    """One value of --compressors: codecs one after the other; None for none.

    >>> pipeline("none"), pipeline("auto")
    (None, 'auto')
    >>> pipeline("zstd:5")[0]["configuration"]["level"]
    5
    >>> [spec["name"] for spec in pipeline("shuffle,gzip:9")]
    ['numcodecs.shuffle', 'gzip']
    """
    text = text.strip()
    if text in WORDS:
        return text
    if text == "none":
        return None
    if text.startswith(("{", "[")):
        found = _parsed(text)
        return found if isinstance(found, list) else [found]
    return [_one(part.strip()) for part in text.split(",")]


def joined(given: list[list[Any] | str | None] | None) -> Any:
    """The values of a repeated option as one pipeline."""
    if not given:
        return "keep"
    if len(given) == 1:
        return given[0]
    found: list[Any] = []
    for each in given:
        if not isinstance(each, list):
            from omnizarr.cli.places import Problem

            word = "none" if each is None else each
            raise Problem(f"--compressors {word} stands alone", "leave the other codecs out")
        found += each
    return found


def _one(text: str) -> dict[str, Any]:
    """`NAME`, `NAME:VALUE:VALUE` or `NAME:OPTION=VALUE`."""
    name, *values = text.split(":")
    try:
        spec = codecs.chosen_spec(name, (*WORDS, "none"))
    except ZarrError as error:
        raise _refused(str(error)) from error
    known = _FIRST.get(spec.name, ())
    options: dict[str, Any] = {}
    for place, value in enumerate(values):
        option, equals, rest = value.partition("=")
        if equals:
            options[option] = _value(rest)
        elif place < len(known):
            options[known[place]] = _value(value)
        else:
            raise _refused(f"{text!r}: name the option, as in {name}:OPTION={value}")
    usual = _USUAL.get(spec.name, {}) | dict(spec.configuration or {})
    return {"name": spec.name, "configuration": usual | options}


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise _refused(f"it is no JSON: {error}") from error


def _refused(message: str) -> Exception:
    from argparse import ArgumentTypeError

    return ArgumentTypeError(" ".join(message.split()))


def spelled(pipeline: Any) -> str:
    """A pipeline as it is typed, without what is usual.

    >>> spelled(pipeline("zstd:5")), spelled(pipeline("blosc:lz4:5")), spelled(None)
    ('zstd:5', 'blosc:lz4:5', 'none')
    """
    if pipeline is None or isinstance(pipeline, str):
        return pipeline or "none"
    return ",".join(map(_spelled, pipeline)) or "none"


def _spelled(codec: Any) -> str:
    if not isinstance(codec, dict):
        return str(codec)
    name = str(codec.get("name", codec.get("id")))
    options = codec.get("configuration") or {
        key: value for key, value in codec.items() if key not in ("id", "name", "configuration")
    }
    usual = {"checksum": True, "blocksize": 0, **_USUAL.get(name, {})}
    words = [name.removeprefix("numcodecs.")]
    known = _FIRST.get(name, ())
    for option in sorted(options, key=lambda option: (*known, option).index(option)):
        value = options[option]
        if usual.get(option, ...) == value:
            continue
        named = option not in known or len(words) - 1 != known.index(option)
        words.append(f"{option}={value}" if named else str(value))
    return ":".join(words)
