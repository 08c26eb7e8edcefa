"""Messages for people who type commands: paths of files where the library shows Python objects.

This module knows how stores, NumPy's scalars and codecs are spelled in messages. It must not know
what any message says.
"""

from __future__ import annotations

import re
from ast import literal_eval

_QUOTED = r"(?:'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")"
_STORE = re.compile(
    rf"\b\w+Store\(({_QUOTED})(?:, \w+=(?:{_QUOTED}|\w+))*\)(?:, (?:key|path) ({_QUOTED}))?"
)
_SCALAR = re.compile(r"\bnp\.[a-z]\w*\(((?:[^()]|\([^()]*\))*)\)")
_TRUTH = re.compile(r"\bnp\.(True|False)_")
_CODEC = re.compile(r"'numcodecs\.([\w-]+)'")


def plainly(error: object) -> str:
    """The message of an error as one line.

    >>> plainly("LocalStore('/data/x.zarr'), key 'a/zarr.json': found np.float32(1.0)")
    '/data/x.zarr/a/zarr.json: found 1.0'
    """
    text = " ".join(str(error).split())
    text = _STORE.sub(_file, text)
    text = _TRUTH.sub(r"\1", _SCALAR.sub(r"\1", text))
    return _CODEC.sub(r"'\1'", text)


def _file(match: re.Match[str]) -> str:
    try:
        store = literal_eval(match[1])
        inner = literal_eval(match[2]).strip("/") if match[2] else ""
    except (SyntaxError, ValueError):
        return match[0]
    return f"{store}/{inner}" if inner else str(store)
