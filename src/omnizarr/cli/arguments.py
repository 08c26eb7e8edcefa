"""Reading the values of arguments; what cannot be read is said by name."""

from __future__ import annotations


def integer(text: str, *, least: int) -> int:
    """A whole number of at least `least`."""
    number = _number(text)
    if number is None or number < least:
        raise _refused(f"a whole number from {least} on", text)
    return number


def lengths(text: str) -> tuple[int, ...]:
    """A chunk shape: `10,20`, or `10x20`."""
    found = [_number(part) for part in text.replace("x", ",").split(",")]
    shape = tuple(number for number in found if number)
    if len(shape) != len(found):
        raise _refused("lengths from 1 on such as 10,20", text)
    return shape


def _number(text: str) -> int | None:
    """A number in plain digits; those that Python takes besides are slips of the finger here."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 20 else None


def _refused(expected: str, text: str) -> Exception:
    from argparse import ArgumentTypeError

    return ArgumentTypeError(f"expected {expected}, found {text!r}")
