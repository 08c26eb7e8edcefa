"""Everything that stands in the way of a job, found before anything is written, and told at once.

This module knows errors. It must not know what a job does.
"""

from __future__ import annotations

from omnizarr.errors import ObstaclesError, ZarrError


class Obstacles:
    """Collects errors while a job is planned; `check` raises what was found.

    >>> obstacles = Obstacles()
    >>> obstacles.check()
    >>> obstacles.add(ZarrError("no such array"))
    >>> obstacles.add(ZarrError("another type"))
    >>> obstacles.check()
    Traceback (most recent call last):
        ...
    omnizarr.errors.ObstaclesError: 2 obstacles, and nothing was written:
      1. no such array
      2. another type
    """

    def __init__(self) -> None:
        self.errors: list[ZarrError] = []

    def add(self, error: ZarrError, cause: BaseException | None = None) -> None:
        error.__cause__ = cause
        self.errors.append(error)

    def check(self) -> None:
        """Raise the one error, or all of them in one `ObstaclesError`."""
        if len(self.errors) == 1:
            raise self.errors[0]
        if self.errors:
            raise ObstaclesError.of(self.errors)
