"""An error as a person should read it: one line, and a hint where something helps."""

from __future__ import annotations

import os
import re

from omnizarr import errors
from omnizarr.cli.output import Unwritable
from omnizarr.cli.places import Problem


def _flag(match: re.Match[str]) -> str:
    return "--" + match[1].replace("_", "-")


def _typed(match: re.Match[str]) -> str:
    """An option of a store, as it is typed: the value is JSON."""
    value = match[2].replace("'", '"')
    return f"--storage-option {match[1]}={ {'True': 'true', 'False': 'false'}.get(value, value) }"


# Options as the functions spell them, and as a person types them. An array that is converted is not
# created by hand: advice about that is left out.
_OPTIONS = (
    (re.compile(r"; create the array with [^.;]*"), ""),
    (re.compile(r"drop=\(?['\"](\w+)['\"],?\)?"), r"--drop \1"),
    (re.compile(r"\b(reencode|overwrite|remove_source|dry_run)=True"), _flag),
    (re.compile(r"\bresume=False"), "--no-resume"),
    (re.compile(r"\bfill_values=\"(\w+)\""), r"--fill-values \1"),
    (re.compile(r"\Aexclude:"), "--exclude:"),
    (re.compile(r"storage_options=\{'(\w+)': ([^{}]*)\}"), _typed),
    (re.compile(r"\((timeout|deadline)=\.\.\.\)"), r"(--storage-option \1=SECONDS)"),
    (re.compile(r"\b(anon)=(True)"), _typed),
    (re.compile(r"\((headers=, auth=)\)"), r"(--storage-option \1)"),
    (re.compile(r"\((verify=) names"), r"(--storage-option \1 names"),
    (re.compile(r"\bis named with path=\.\.\."), "is named as NODE"),
    (re.compile(r"\b(use|or) zarr_format="), r"\1 --to "),
    (re.compile(r"\bzarr_format="), "format "),
    (re.compile(r"\b(unknown|another) zarr_format\b"), r"\1 format"),
    (re.compile(r"\bgive a destination\b"), "give a DESTINATION instead of --in-place"),
    (
        re.compile(r"choose another place, or no destination at all[^.;]*"),
        "choose another DESTINATION, or --in-place instead of one",
    ),
)
_ADVICE = re.compile(
    r"(?<=[.;]) (?=--|no option of convert|pass --|give a DESTINATION|choose another DESTINATION)"
    r"|(?<=:) (?=pip install)"
    r"| (?=\(--[^()]*\)\Z)"
)


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
        for spelling, typed in _OPTIONS:
            message = spelling.sub(typed, message)
        wrong, *advice = _ADVICE.split(message, maxsplit=1)
        return wrong.rstrip(".;:"), advice[0].strip("()") if advice else _hint(error)
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
        case errors.StoreError():
            return _system_hint(error.__cause__) if isinstance(error.__cause__, OSError) else None
        case _:
            return None


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
