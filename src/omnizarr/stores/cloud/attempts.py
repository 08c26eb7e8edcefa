"""Conditional writes, attempt by attempt, so that it is known which of them are in doubt.

If the answer to a successful write is lost, the next attempt looks like a lost race: the condition
does not hold any more. obstore repeats requests and does not say so. Hence the client for
conditional writes does not repeat (`clients`, role "once"), and this module does.

This module knows failures and time. It must not know what is written, or how.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from omnizarr.stores.cloud.failures import Failure, classify
from omnizarr.stores.retries import RetryPolicy, attempts

T = TypeVar("T")

STAMP = "omnizarrwrite"
AGAIN = 0.2
"""After this part of the deadline no further attempt begins: a lasting refusal is reported soon."""
MOST = 10
PAUSE = 0.04
"""The longest first delay, as a part of the deadline."""
BUSY = "ConditionalRequestConflict"
"""S3's code for a write that met another one: neither done nor overtaken."""


class StampedWrite:
    """One conditional write, with a stamp that tells its object from all others."""

    def __init__(self, deadline: float) -> None:
        self.begun = time.monotonic()
        self.deadline = deadline
        self.stamp = {STAMP: secrets.token_hex(16)}
        self.doubtful = False
        """Whether an attempt may have succeeded though it failed."""

    def watched(self, request: Callable[[Any, Any], T]) -> Callable[[Any, Any], T]:
        """The request; each failure that leaves a doubt is noted."""

        def attempt(functions: Any, store: Any) -> T:
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
        """Call `ask` until it succeeds, fails for good, or the attempts end; give its answer."""
        policy = RetryPolicy(MOST, first_delay=min(0.2, PAUSE * self.deadline))
        answer: object | Failure = None
        for _ in attempts(policy, until=self.begun + AGAIN * self.deadline):
            answer = ask()
            if not isinstance(answer, Failure) or not (answer.passing or _is_busy(answer)):
                break
        return answer

    def is_ours(self, attributes: Mapping[str, str]) -> bool:
        """Whether an object with these attributes is the one that was written."""
        ours = self.stamp[STAMP]
        return any(name.lower() == STAMP and attributes[name] == ours for name in attributes)


def _is_busy(failure: Failure) -> bool:
    return failure.kind == "conflict" and BUSY in str(failure.error)
