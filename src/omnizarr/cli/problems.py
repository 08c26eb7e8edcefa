"""An error as a person should read it: one line, and a hint where something helps."""

from __future__ import annotations

import json
import os
import re
from shlex import quote

from omnizarr import errors
from omnizarr.cli.output import Unwritable
from omnizarr.cli.places import Problem, Problems


def _typed(name: str, value: object) -> str:
    """An argument of a function, as the option that a person types."""
    if isinstance(value, dict):  # options of a format
        return " ".join(f"--option {quote(_given(*item))}" for item in value.items())
    if name == "zarr_format":
        return f"--to {value}"
    if (name, value) in _SPECIAL:
        return _SPECIAL[name, value]
    flag = f"--{name.replace('_', '-')}"
    if value is True:
        return flag
    return " ".join(f"{flag} {each}" for each in (value if isinstance(value, tuple) else (value,)))


def _given(name: str, value: object) -> str:
    return f"{name}={value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}"


_SPECIAL: dict[tuple[str, object], str] = {
    ("resume", False): "--no-resume",
    ("destination", None): "--in-place",
    ("shards", False): "--no-shards",
}
_IN_PYTHON = re.compile(r"""\b(zarr_format|convention|axes)=['"]?([\w.-]+)['"]?""")
"""Arguments in the middle of a message, where the library does not give them apart."""
_OPTIONS = {"zarr_format": "--to", "convention": "--convention", "axes": "--axes"}
_ONE_NODE = re.compile(r"(?<!named )with path=")
"""What an export says; where a store says so, the node is an argument."""
_SKIP = re.compile(r"leave it out with skip=\['([^'\\]+)'\]")
_PLAINLY = (
    (
        "pass follow_symlinks=True if you trust it",
        "if you trust it, read it with --storage-option follow_symlinks=true,"
        " or copy the folder with cp -rL",
    ),
    ("create the array with --to", "use --to"),
    ("use fill_value=None", "give the array no fill value"),
    ("fill_value=None", "no fill value"),
    ("order='C'", "order C"),
    ("say which with to=", "say which with --to"),
    ("json_attributes=True", "--option json_attributes=true"),
)
_STORE = re.compile(
    r"""(?<!\()\b\w+(?:Store|File)\((['"])([^'"()]+)\1(?:, mode='r')?\)"""
    r"""(?:, (?:path|key) '/?([^']*)')?"""
)
"""A store and a place in it, in the middle of a message, as Python shows them."""
_SAY_KIND = re.compile(r"if it is, say so with kind=.*")
_A_FILE = re.compile(
    r"^(?:'([^']+)'.*)?(; (open|read) it with (omnizarr\.(?:virtualize|convert)|numpy\.load).*)$"
)
"""What the library says to a program about a file of another format."""


def _shell(text: str) -> str:
    """A message as it reads on a command line."""
    text = _STORE.sub(lambda found: "/".join(filter(None, found.group(2, 3))), text)
    text = _IN_PYTHON.sub(lambda found: f"{_OPTIONS[found[1]]} {found[2]}", text)
    text = _SKIP.sub(lambda found: f"--exclude {quote(found[1])} leaves it out", text)
    text = _ONE_NODE.sub("with --path", text)
    text = _SAY_KIND.sub("omnizarr formats lists the files that can be read", text)
    for python, plain in _PLAINLY:
        text = text.replace(python, plain)
    return text


def told(error: BaseException) -> str:
    """The message of an error as one line, with paths of files where the library names stores."""
    text = str(error)
    if isinstance(error, errors.ZarrError):
        text = ": ".join([*map(_place, error.where), error.reason])
    return _shell(" ".join(text.split()))


def explain_all(error: BaseException) -> tuple[str, list[tuple[str, str | None]]]:
    """A heading and what is wrong, each with its hint; the heading is empty for one alone."""
    if isinstance(error, Problems):
        found: list[tuple[str, str | None]] = [(str(one), one.hint) for one in error.problems]
    elif isinstance(error, errors.ObstaclesError) and error.errors:
        found = [explain(one) for one in error.errors]
    else:
        return "", [explain(error)]
    if len(found) == 1:
        return "", found
    return f"{len(found)} obstacles, and nothing was written", found


def _place(where: errors.ErrorLocation | str) -> str:
    if isinstance(where, str) or where.name is None:
        return str(where)
    inner = (where.key or where.path or "").strip("/")
    chunk = "" if where.chunk is None else f", chunk {where.chunk}"
    return (f"{where.name}/{inner}" if inner else where.name) + chunk


def explain(error: BaseException) -> tuple[str, str | None]:
    """What is wrong and where, and what to do."""
    message = told(error) or type(error).__name__
    of_a_file = _A_FILE.match(message)
    if of_a_file is not None:
        file = quote(of_a_file[1] or "FILE")
        shows = f", omnizarr browse {file} shows it" if of_a_file[4] != "omnizarr.convert" else ""
        return message[: of_a_file.start(2)], f"omnizarr convert {file} data.zarr reads it{shows}"
    if isinstance(error, Problem | Unwritable):
        return message, error.hint
    if isinstance(error, errors.ZarrError):
        typed = [_typed(*option) for option in error.options]
        advice = error.advice.format(*typed) if typed else error.advice
        return message, _shell(advice) or _hint(error)
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
