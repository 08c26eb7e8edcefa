"""`cached_property` without a lock.

The one of `functools` has, up to Python 3.11, one lock for each property, shared by all objects and
held while a value is computed: threads wait for each other, and a child that is forked meanwhile
waits for ever. Here threads may compute a value twice; all of them get the one that was kept first.

This module knows descriptors. It must not know what they are used for.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    # Type checkers know that this one may stand for a property.
    from functools import cached_property as cached_property
else:

    class cached_property:  # noqa: N801, like the one that it stands for
        """A property that is computed when first asked for, and kept in the object's `__dict__`."""

        def __init__(self, function: Callable[[Any], Any]) -> None:
            self.function = function
            self.__doc__ = function.__doc__

        def __set_name__(self, owner: type, name: str) -> None:
            self.name = name

        def __get__(self, instance: object, owner: type | None = None) -> Any:
            if instance is None:
                return self
            return instance.__dict__.setdefault(self.name, self.function(instance))
