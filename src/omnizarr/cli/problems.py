"""An error as a person should read it: one line, and a hint where something helps."""

from __future__ import annotations

import os

from omnizarr import errors
from omnizarr.cli.output import Unwritable
from omnizarr.cli.places import Problem


def _typed(name: str, value: object) -> str:
    """An argument of a function, as the option that a person types."""
    if (name, value) in _SPECIAL:
        return _SPECIAL[name, value]
    flag = f"--{name.replace('_', '-')}"
    if value is True:
        return flag
    return " ".join(f"{flag} {each}" for each in (value if isinstance(value, tuple) else (value,)))


_SPECIAL: dict[tuple[str, object], str] = {
    ("resume", False): "--no-resume",
    ("destination", None): "--in-place",
}


def told(error: BaseException) -> str:
    """The message of an error as one line, with paths of files where the library names stores."""
    text = str(error)
    if isinstance(error, errors.ZarrError):
        text = ": ".join([*map(_place, error.where), error.reason])
    return " ".join(text.split())


def _place(where: errors.ErrorLocation | str) -> str:
    if isinstance(where, str) or where.name is None:
        return str(where)
    inner = (where.key or where.path or "").strip("/")
    chunk = "" if where.chunk is None else f", chunk {where.chunk}"
    return (f"{where.name}/{inner}" if inner else where.name) + chunk


def explain(error: BaseException) -> tuple[str, str | None]:
    """What is wrong and where, and what to do."""
    message = told(error) or type(error).__name__
    if isinstance(error, Problem | Unwritable):
        return message, error.hint
    if isinstance(error, errors.ZarrError):
        typed = [_typed(*option) for option in error.options]
        advice = error.advice.format(*typed) if typed else error.advice
        return message, advice or _hint(error)
    if isinstance(error, OSError):
        return _system(error), _system_hint(error)
    if isinstance(error, MemoryError):
        return "there is not enough memory for this", None
    if isinstance(error, TypeError) and "storage_options" in message:
        return message, "--storage-option KEY=VALUE gives them"
    if isinstance(error, ValueError):  # arguments that only the function itself can judge
        return message, "--debug shows where it arose"
    return (
        f"unexpected {type(error).__name__}: {message}",
        "this is a fault of omnizarr; --debug shows where it arose",
    )


_HEADERS = """--storage-option 'headers={"NAME": "VALUE"}'"""
_AUTH = """--storage-option 'auth=["USER", "PASSWORD"]'"""


def _hint(error: errors.ZarrError) -> str | None:
    match error:
        case errors.NodeExistsError():
            return "--overwrite replaces what is there"
        case errors.DecodeError():
            return "the stored bytes are damaged; omnizarr verify lists every bad chunk"
        case errors.PickleCodecDisabledError():
            return "read it in Python with allow_pickle=True if you trust the data"
        case errors.LimitError():
            return "raise the limit in Python with omnizarr.limits.set(...)"
        case errors.StoreTimeoutError():
            return "--storage-option timeout=SECONDS (or deadline=SECONDS) waits longer"
        case errors.StoreAccessError():
            if error.location is not None and _is_web(error.location.name):
                return f"{_HEADERS} gives credentials; so does {_AUTH}"
            return "--storage-option KEY=VALUE gives credentials; anon=true is for public data"
        case errors.StoreError():
            return _system_hint(error.__cause__) if isinstance(error.__cause__, OSError) else None
        case _:
            return None


def _is_web(name: str | None) -> bool:
    return name is not None and name.startswith(("http://", "https://"))


def _system(error: OSError) -> str:
    names = [os.fsdecode(name) for name in (error.filename, error.filename2) if _is_name(name)]
    reason = (error.strerror or str(error) or type(error).__name__).lower()
    return f"{' and '.join(names)}: {reason}" if names else reason


def _is_name(name: object) -> bool:
    return isinstance(name, str | bytes) and bool(name)


def _system_hint(error: OSError) -> str | None:
    if isinstance(error, PermissionError):
        return "look with ls -l who may read and write it"
    import errno

    if error.errno == errno.ENOSPC:
        return "the disk is full; make room and run the same command again"
    return None
