"""Reading the values of arguments; what cannot be read is said by name."""

from __future__ import annotations


def integer(text: str, *, least: int) -> int:
    """A whole number of at least `least`."""
    try:
        number = int(text)
    except ValueError:
        number = least - 1
    if number < least:
        from argparse import ArgumentTypeError

        raise ArgumentTypeError(f"expected a whole number from {least} on, found {text!r}")
    return number
