"""Everything that a format refuses of a node, where the first refusal hides others.

This module knows refusals and the options that help. It must not know how a node is planned.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from omnizarr.errors import MetadataError, UnsupportedError
from omnizarr.formats.translation.nodes import refusal
from omnizarr.model import paths

_MOST = 8


class Refusals:
    """The refusals of a hierarchy. One that follows from a group above is not told again."""

    def __init__(self, *, in_place: bool) -> None:
        self._in_place = in_place
        self._seen: dict[str, set[str | None]] = {}

    def of(
        self, error: UnsupportedError, path: str, plan: Callable[[Any], object], asked: Any
    ) -> Iterator[UnsupportedError]:
        """The refusal, and those that were met if its advice were followed."""
        above: set[str | None] = set().union(*map(self._of_path, paths.ancestors(path)))
        for one in self._further(error, path, plan, asked):
            self._of_path(path).add(one.what)
            if None not in above and one.what not in above:
                yield one

    def broken(self, path: str) -> None:
        """A node whose metadata are wrong: what is below it may have no other fault."""
        self._of_path(path).add(None)

    def _of_path(self, path: str) -> set[str | None]:
        return self._seen.setdefault(path, set())

    def _further(
        self, error: UnsupportedError, path: str, plan: Callable[[Any], object], asked: Any
    ) -> Iterator[UnsupportedError]:
        for _ in range(_MOST):
            told = refusal(error, path, in_place=self._in_place)
            told.__cause__ = error
            yield told
            if self._in_place:
                return
            helping = dict(told.options)
            parts = frozenset(_parts(helping.get("drop"))) - asked.drop
            if parts:
                asked = replace(asked, drop=asked.drop | parts)
            elif helping.get("reencode") is True and not asked.reencode:
                asked = replace(asked, reencode=True)
            else:
                return
            try:
                plan(asked)
                return
            except UnsupportedError as another:
                error = another
            except MetadataError:
                return  # it is met when the advice is followed


def _parts(given: Any) -> tuple[Any, ...]:
    return given if isinstance(given, tuple) else () if given is None else (given,)
