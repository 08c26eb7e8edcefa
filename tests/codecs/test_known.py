"""The names of all codecs that are known."""

from __future__ import annotations

from importlib.metadata import EntryPoint, EntryPoints
from typing import Any

import pytest

import omnizarr.codecs as codecs
from omnizarr.codecs.registry import BUILT_IN


def test_plugins_are_named_and_not_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    found = EntryPoints(
        [
            EntryPoint("mine", "no.module:Class", "omnizarr.codecs"),
            EntryPoint("theirs", "no.module:Class", "zarr.codecs"),
            EntryPoint("old", "no.module:Class", "numcodecs.codecs"),
            EntryPoint("numcodecs.whole", "no.module:Class", "numcodecs.codecs"),
            EntryPoint("other", "no.module:Class", "console_scripts"),
        ]
    )

    def entry_points(**_: Any) -> EntryPoints:
        return found

    monkeypatch.setattr("importlib.metadata.entry_points", entry_points)
    names = codecs.codec_names()
    assert {"mine", "theirs", "numcodecs.old", "numcodecs.whole"} < set(names)
    assert "other" not in names and list(names) == sorted(names)
    own = codecs.codec_names(plugins=False)
    assert set(BUILT_IN) <= set(own) and "mine" not in own


def test_registered_ones_are_named() -> None:
    codecs.register_codec("example.known", codecs.GzipCodec)
    assert "example.known" in codecs.codec_names(plugins=False)
