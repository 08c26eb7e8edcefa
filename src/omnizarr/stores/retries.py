"""One retry policy for all stores: how often, how long to wait between, and when to give up.

    for attempt in attempts(policy, until=deadline):
        try:
            return ask()
        except Busy as busy:
            failure = busy.error
            attempt.wait_at_least(busy.seconds)
    raise failure

The loop ends when the attempts are used up, or when the next one would begin after the deadline.

This module knows time. It must not know what is retried, or which failures are worth a retry.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from dataclasses import dataclass
from math import inf

from omnizarr.runtime import parallel

STEP = 0.1
"""Seconds after which a wait looks whether its caller has gone."""


@dataclass(frozen=True)
class RetryPolicy:
    """How often something is tried. Delays grow by a factor, up to a cap, less a random part."""

    attempts: int
    """The first one included."""
    first_delay: float = 0.0
    """Seconds before the second attempt."""
    growth: float = 2.0
    cap: float = 5.0
    """No delay is longer, unless a server asks for it."""
    jitter: float = 0.5
    """The part of a delay that is random: clients that failed together do not return together."""


class Attempt:
    """One attempt: `number` counts from 1."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.pause = 0.0

    def wait_at_least(self, seconds: float) -> None:
        """Wait so long before the next attempt, as the server asked."""
        self.pause = seconds


def attempts(policy: RetryPolicy, until: float = inf) -> Iterator[Attempt]:
    """Yield attempts, with delays between them, until they or the time are used up.

    until: the value of `time.monotonic()` from which on no further attempt begins.
    """
    delay = policy.first_delay
    for number in range(1, policy.attempts + 1):
        parallel.check()
        attempt = Attempt(number)
        yield attempt
        shortened = min(delay, policy.cap) * random.uniform(1.0 - policy.jitter, 1.0)
        pause = max(attempt.pause, shortened)
        if number == policy.attempts or time.monotonic() + pause >= until:
            return
        sleep(pause)
        delay = min(delay * policy.growth, policy.cap)


def sleep(seconds: float) -> None:
    """Sleep; raise `parallel.Abandoned` soon after the caller has gone."""
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        parallel.check()
        time.sleep(min(left, STEP))
