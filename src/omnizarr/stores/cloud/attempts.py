"""Attempts at a conditional write, one by one, so that it is known which of them are in doubt.

If the answer to a successful write is lost, the next attempt looks like a lost race: the condition
does not hold any more. obstore repeats
requests by itself and does not tell; so the client for conditional writes does not repeat
(`clients`, role "once"), and it is done here.

This module knows failures and time. It must not know what is written, or how.
"""

from __future__ import annotations

import random
import secrets
import time
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from omnizarr.stores.cloud.failures import Failure, classify

T = TypeVar("T")

STAMP = "omnizarrwrite"
AGAIN = 0.2
"""After this part of the deadline no further attempt begins: a refusal that lasts is told soon."""
MOST = 10
PAUSE = 0.02
BUSY = "ConditionalRequestConflict"
"""What S3 says of a write that met another one on its way: neither done nor overtaken."""


class Attempts:
    """Attempts at one write, which carries a stamp."""

    def __init__(self, deadline: float) -> None:
        self.begun = time.monotonic()
        self.deadline = deadline
        self.stamp = {STAMP: secrets.token_hex(16)}
        self.count = 0
        self.doubtful = False
        """Whether one of them may have succeeded though it failed."""

    def watched(self, request: Callable[[Any, Any], T]) -> Callable[[Any, Any], T]:
        """The request, with each of its failures noted."""

        def attempt(functions: Any, store: Any) -> T:
            self.count += 1
            try:
                return request(functions, store)
            except Exception as error:
                self.doubtful = self.doubtful or classify(error).uncertain
                raise
            except BaseException:
                self.doubtful = True
                raise

        return attempt

    def repeat(self, ask: Callable[[], object | Failure]) -> object | Failure:
        """What `ask` gives, which is called again while that may help and there is time."""
        pause = min(0.1, PAUSE * self.deadline)
        while True:
            answer = ask()
            if not isinstance(answer, Failure) or not (answer.passing or _is_busy(answer)):
                return answer
            pause *= 2
            wait = pause * random.uniform(0.5, 1.0)
            if self.count >= MOST or time.monotonic() + wait - self.begun > AGAIN * self.deadline:
                return answer
            time.sleep(wait)

    def is_ours(self, attributes: Mapping[str, str]) -> bool:
        """Whether an object with these attributes is the one that was written."""
        ours = self.stamp[STAMP]
        return any(name.lower() == STAMP and attributes[name] == ours for name in attributes)


def _is_busy(failure: Failure) -> bool:
    return failure.kind == "conflict" and BUSY in str(failure.error)
