"""What all tests share: how Hypothesis behaves here."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

# A time limit per example would fail on a busy machine and say nothing about the code.
settings.register_profile(
    "omnizarr", deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("omnizarr")
