"""Checks of the options that a user gave to a store."""

from __future__ import annotations

import numpy as np
import pytest

from omnizarr.stores.options import count, is_true, mapping_of, refuse_unknown, seconds, switch


def test_unknown_names_are_refused_with_the_nearest_known_one() -> None:
    with pytest.raises(TypeError) as caught:
        refuse_unknown("storage_options", ["region", "ano", "zz"], ["anon", "region"])
    assert str(caught.value) == (
        "unknown storage_options: 'ano', 'zz'; known are anon, region; did you mean 'anon'?"
    )


def test_names_that_are_no_text_are_refused_too() -> None:
    with pytest.raises(TypeError, match="unknown options: 5; known are a"):
        refuse_unknown("options", [5], ["a"])


def test_known_names_pass() -> None:
    refuse_unknown("storage_options", ["anon"], ["anon", "region"])
    refuse_unknown("storage_options", [], [])


def test_mappings() -> None:
    given = {"a": 1}
    assert mapping_of("x", None) == {}
    assert mapping_of("x", given) == given and mapping_of("x", given) is not given
    with pytest.raises(TypeError, match="x must be a mapping, found str"):
        mapping_of("x", "a secret")


@pytest.mark.parametrize("value", [True, 1, "1", "true", "Yes ", "ON"])
def test_switched_on(value: object) -> None:
    assert is_true(value)


@pytest.mark.parametrize("value", [False, 0, None, "", "0", "false", "no", "off"])
def test_switched_off(value: object) -> None:
    assert not is_true(value)


@pytest.mark.parametrize("value", ["5", b"5", True, None, [5]])
def test_durations_that_are_no_numbers(value: object) -> None:
    with pytest.raises(TypeError, match="deadline must be a number of seconds above 0"):
        seconds("deadline", value)


@pytest.mark.parametrize("value", [0, -1, float("inf"), float("nan")])
def test_durations_that_never_end_or_never_begin(value: float) -> None:
    with pytest.raises(ValueError, match="deadline must be a number of seconds above 0"):
        seconds("deadline", value)
    assert seconds("deadline", 0, zero=True) == 0.0


def test_counts() -> None:
    assert count("retries", np.int8(3), 0) == 3
    for wrong in ("3", 1.0, True, None):
        with pytest.raises(TypeError, match="retries must be an integer from 0 on; found"):
            count("retries", wrong, 0)
    with pytest.raises(ValueError, match="requests must be an integer from 1 on; found 0"):
        count("requests", 0, 1)


def test_switches() -> None:
    assert switch("verify", True) and not switch("verify", False)
    for wrong in ("no", 1, None):
        with pytest.raises(TypeError, match="verify must be True or False; found"):
            switch("verify", wrong)
