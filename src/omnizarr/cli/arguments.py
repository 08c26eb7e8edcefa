"""Reading the values of arguments; what cannot be read is said by name."""

from __future__ import annotations

from typing import Any


def integer(text: str, *, least: int) -> int:
    """A whole number of at least `least`."""
    number = _number(text)
    if number is None or number < least:
        raise _refused(f"a whole number from {least} on", text)
    return number


def positive(text: str) -> int:
    """A whole number from 1 on."""
    return integer(text, least=1)


def number(text: str) -> float:
    """A number that is not negative: `0.5`, `1e-6`."""
    try:
        found = float(text)
    except ValueError:
        found = -1.0
    if not 0 <= found < float("inf"):
        raise _refused("a number from 0 on such as 1e-6", text)
    return found


def lengths(text: str) -> tuple[int, ...]:
    """A chunk shape: `10,20`, or `10x20`."""
    found = [_number(part) for part in text.replace("x", ",").split(",")]
    shape = tuple(number for number in found if number)
    if len(shape) != len(found):
        raise _refused("lengths from 1 on such as 10,20", text)
    return shape


Lengths = int | str | tuple[int, ...]


def cuts(text: str) -> Lengths | dict[str, Lengths]:
    """Chunk lengths of arrays: `10,20`, `-1,100`, `auto`, `10MB`, or by name: `time=1,lat=-1`. A
    name is that of a dimension, or the path of an array (`a/b=10x20`)."""
    parts = text.split(",")
    if "=" not in text:
        found = [_cut(part) for part in parts]
        if len(found) == 1 and not isinstance(found[0], int):
            return found[0]
        if not all(isinstance(length, int) for length in found):
            raise _refused("lengths such as 10,20 or time=1,lat=-1", text)
        return tuple(found)  # type: ignore[arg-type]  # looked at above
    named: dict[str, Lengths] = {}
    for part in parts:
        name, equals, length = part.rpartition("=")
        if not equals or not name:
            raise _refused("NAME=LENGTH,NAME=LENGTH", text)
        named[name] = _cut(length)
    return named


def add_work(parser: Any) -> None:
    """The options of a job."""
    add = parser.add_argument
    add("--workers", metavar="N", type=positive, help="how many portions are worked on at once")
    add(
        "--executor", metavar="E", type=_executor,
        help="where: threads, processes, ray, or a Dask scheduler's address (default: threads)",
    )  # fmt: skip
    add(
        "--max-memory", metavar="SIZE", type=size,
        help="memory for the work of a process, such as 512MB",
    )  # fmt: skip


def work(arguments: Any) -> dict[str, Any]:
    """What the options of a job say, as every job takes it."""
    return {name: getattr(arguments, name) for name in ("workers", "executor", "max_memory")}


def size(text: str) -> int:
    from omnizarr.runtime.sizes import as_bytes

    try:
        return as_bytes(text)
    except ValueError:
        raise _refused("a size such as 512MB", text) from None


def _executor(text: str) -> str:
    """Where a command's work runs. The current client of Dask is Python's alone."""
    if text not in ("threads", "processes", "ray") and "://" not in text:
        raise _refused("threads, processes, ray or an address such as tcp://10.0.0.1:8786", text)
    return text


def _cut(text: str) -> Lengths:
    """A length, several with an x between, "auto" or a size."""
    if text.strip() == "auto" or text.strip()[-1:] in ("b", "B"):
        return text.strip()
    found = tuple(-1 if part == "-1" else _number(part) for part in text.strip().split("x"))
    lengths = tuple(number for number in found if number)
    if len(lengths) != len(found):
        raise _refused("a length from 1 on, -1 for all, 10x20, auto or a size such as 10MB", text)
    return lengths[0] if len(lengths) == 1 else lengths


def _number(text: str) -> int | None:
    """A number in plain digits; those that Python takes besides are slips of the finger here."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 20 else None


def _refused(expected: str, text: str) -> Exception:
    from argparse import ArgumentTypeError

    return ArgumentTypeError(f"expected {expected}, found {text!r}")
