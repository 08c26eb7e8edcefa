"""`Secret`: a value that is carried along and never shown; and URLs without what they hide.

A store that was given a password must take it to another process in its pickle, but neither a
repr, an error, a log nor the text of that pickle may show it. The encoding in a pickle keeps a
secret from being seen by chance (in a log, a dump, a search); it is not encryption, and a pickle
with secrets in it must be kept as they are.

This module knows how a value is hidden. It must not know whose secret it is.
"""

from __future__ import annotations

import pickle
import re
from base64 import b85decode, b85encode
from typing import Any, Generic, TypeVar

SHOWN = "***"
_LOGIN = re.compile(r"((?<![\w+.-])[A-Za-z][\w+.-]*:)?//([^/@\s:]*)(:[^/@\s]*)?@")
_NAMED = (
    "abfs", "abfss", "adl", "az", "azure", "ftp", "git", "github", "hdfs", "sftp", "smb", "ssh",
    "webhdfs",
)  # fmt: skip
"""Schemes of URLs in which the name of somebody or something stands before "@", with or without a
password behind it. Elsewhere a name without a password may be a token."""
_Value = TypeVar("_Value")


class Secret(Generic[_Value]):
    """`Secret(value).value`: shown as ***, and encoded in a pickle of any protocol.

    The value may be anything that can be pickled: a password, a URL, a mapping of options.
    Secrets are equal if their values are.
    """

    __slots__ = ("value",)

    def __init__(self, value: _Value) -> None:
        self.value = value

    def __repr__(self) -> str:
        return SHOWN

    def __str__(self) -> str:
        return SHOWN

    def __format__(self, specification: str) -> str:
        return SHOWN

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and bool(self.value == other.value)

    def __hash__(self) -> int:
        return hash((Secret, self.value))

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (encoded(self.value),)


def without_login(text: str) -> str:
    """The text with the passwords of its URLs hidden, and with what may be a token."""
    return _LOGIN.sub(_shown, text)


def _shown(login: re.Match[str]) -> str:
    scheme, user, password = login[1] or "", login[2], login[3] or ""
    if len(password) > 1:
        return f"{scheme}//{user}:{SHOWN}@"
    named = scheme[:-1].lower() in _NAMED
    return f"{scheme}//{user if named or not user else SHOWN}@"


def encoded(value: object) -> str:
    """`value` as text that does not show it, for a pickle."""
    return b85encode(pickle.dumps(value)).decode("ascii")


def decoded(text: str) -> Any:
    """What `encoded` encoded."""
    return pickle.loads(b85decode(text))


def _restored(text: str) -> Secret[Any]:
    return Secret(decoded(text))
