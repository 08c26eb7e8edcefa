"""Keep secrets out of reprs, errors, logs and the text of pickles.

    Secret            a value that is carried along and never shown
    masked_url        a URL without its secrets
    masked_text       a text without given secrets and without those of URLs in it
    is_secret         whether the name of an option says that its value is a secret
    secrets_in        the secret values of options
    secrets_in_url    the secret parts of a URL

A store that was given a password must take it to another process in its pickle. The encoding in a
pickle keeps a secret from being seen by chance (in a log, a dump, a search). It is not encryption:
a pickle with secrets in it must be kept as safe as they are.

This module knows how a value is hidden. It must not know which store it belongs to.
"""

from __future__ import annotations

import pickle
import re
from base64 import b85decode, b85encode
from collections.abc import Container, Iterable, Iterator
from typing import Any, Generic, NamedTuple, TypeVar

SHOWN = "***"
_URL = re.compile(r"(?:(?<![\w+.-])[A-Za-z][\w+.-]*:)?//[^\s'\"<>]*")
"""A URL in a text; its end is a guess."""
_NEXT = re.compile(r"::(?=[A-Za-z][\w+.-]*://)")
"""The separator of a chain of URLs."""
_HOST = r"(?:\[[^\[\]@]*\]|[^\[\]:,@]*)(?::\d*)?"
_HOSTS = re.compile(rf"{_HOST}(?:,{_HOST})*|arn:.*", re.DOTALL)
_FILES = ("dbm", "dir", "file", "lmdb", "local", "memory", "sqlite", "tar", "zip")
_NAMED = (
    "abfs", "abfss", "adl", "az", "azure", "ftp", "git", "github", "hdfs", "sftp", "smb", "ssh",
    "webhdfs", *_FILES,
)  # fmt: skip
"""Schemes of URLs in which a user or container stands before "@", with or without a password.
Elsewhere a name without a password may be a token."""
_BUCKETS = ("s3", "s3a", "gs", "gcs")
"""Schemes whose first name is public unless "@" follows it at once."""
_PARAMETER = re.compile(r"(;|%3[Bb])([^;=/%]*)(?:(=|%3[Dd])([^;/]*)|[^;/]*)")
"""A parameter of a segment of a path: ";jsessionid=…". It may be percent-encoded."""
_SHORTEST, _SHORTEST_MEMBER = 4, 8
"""Shorter secrets are not searched for in other texts: every text would contain them."""
_SECRET_NAME = re.compile(
    r"key|secret|token|passw|pwd|credential|signature|\bsig\b|sas|auth|connection_string|cookie",
    re.IGNORECASE,
)
_QUERY = re.compile(r"([?&][^=&\s'\"]+)=[^&\s'\"#)]+")
"""A member of a query in a text, which need not be part of a URL."""
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

    def __format__(self, specification: str) -> str:
        return SHOWN

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and bool(self.value == other.value)

    def __hash__(self) -> int:
        return hash((Secret, self.value))

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (encoded(self.value),)


class _Link(NamedTuple):
    """A URL, or one of a chain, taken apart."""

    begin: str
    """The scheme with its slashes: "https://"."""
    login: str | None
    """The text before "@": a password, a token, or something that only looks like it."""
    place: str
    """The rest before the query; it begins with "@" if there is a login."""
    query: str | None
    certain: bool
    """Whether the login is one for sure."""


def masked_url(url: str, keep: Container[str] = ()) -> str:
    """Hide passwords, tokens and the values of the query of a URL.

    Characters that should have been percent-encoded may be part of a password. So if in doubt, all
    is hidden between "//" and the last "@" before the query.

    Parameters
    ----------
    url
        A URL, or a chain of them as fsspec takes it.
    keep
        Names of members of the query whose values are shown.

    Returns
    -------
    str
        The URL without its secrets.

    Examples
    --------
    >>> masked_url("https://user:secret@host/x.zarr?token=secret")
    'https://user:***@host/x.zarr?token=***'
    """
    return "::".join(_shown(_taken_apart(link), keep) for link in _NEXT.split(url))


def masked_text(text: str, secrets: Iterable[str] = ()) -> str:
    """A text without the given secrets, and without those of URLs and queries in it."""
    shown = _URL.sub(lambda url: masked_url(url[0]), without(text, secrets))
    return _QUERY.sub(rf"\1={SHOWN}", shown)


def without(text: str, secrets: Iterable[str]) -> str:
    """A text without the given secrets, also where they are percent-encoded."""
    from urllib.parse import quote  # takes longer to import than this module

    for secret in sorted(secrets, key=len, reverse=True):  # one may be a part of another
        if len(secret) >= _SHORTEST:
            text = text.replace(secret, SHOWN).replace(quote(secret, safe=""), SHOWN)
    return text


def is_secret(name: str) -> bool:
    """Whether the name of an option says that its value is a secret."""
    return _SECRET_NAME.search(name) is not None


def secrets_in(options: object, under: str = "") -> Iterator[str]:
    """Values of options, at any depth, whose names say that they are secret."""
    if isinstance(options, dict):
        for name, value in options.items():
            yield from secrets_in(value, str(name))
    elif isinstance(options, list | tuple):
        for value in options:
            yield from secrets_in(value, under)
    elif isinstance(options, str) and len(options) >= _SHORTEST and is_secret(under):
        yield options


def masked_query(query: str, keep: Container[str] = ()) -> str:
    """The names of a query's members; any value may be a signature."""
    shown = []
    for member in query.split("&"):
        name, equals, _ = member.partition("=")
        if equals and name in keep:
            shown.append(member)
        else:  # without a name the whole may be a token
            shown.append(f"{name}={SHOWN}" if equals else SHOWN)
    return "&".join(shown)


def masked_path(path: str) -> str:
    """A web server's path without the values of its parameters, such as a session's."""
    plain, mark, _ = path.partition("#")
    return _PARAMETER.sub(_masked_parameter, plain) + (f"#{SHOWN}" if mark else "")


def _masked_parameter(match: re.Match[str]) -> str:
    mark, name, equals, _ = match.groups()
    # Without a name the whole may be a token.
    return f"{mark}{name}{equals}{SHOWN}" if equals else f"{mark}{SHOWN}"


def secrets_in_url(url: str) -> Iterator[str]:
    """The secret parts of a URL, in every form in which another library may repeat them."""
    from urllib.parse import unquote  # takes longer to import than this module

    for part in _NEXT.split(url):
        link = _taken_apart(part)
        found = []
        if link.login is not None and link.certain and _shown_login(link) != link.login:
            user, colon, password = link.login.partition(":")
            found = [password if colon and password else user]
        if link.query is not None and "@" in link.query:
            found.append(link.query.rpartition("@")[0])
        for secret in found:
            pieces = {secret, unquote(secret), *re.split(r"[@/\s:?#]+", secret)}
            yield from (piece for piece in pieces if len(piece) >= _SHORTEST)
        for match in _PARAMETER.finditer(link.place) if _has_parameters(link) else ():
            value = match[4] or match[0][len(match[1]) :]
            yield from (piece for piece in {value, unquote(value)} if len(piece) >= _SHORTEST)
        for member in (link.query or "").split("&"):
            name, equals, value = member.partition("=")
            for piece in {value if equals else name, unquote(value if equals else name)}:
                if len(piece) >= _SHORTEST_MEMBER:
                    yield piece


def _taken_apart(link: str) -> _Link:
    scheme, slashes, rest = link.partition("//")
    if not slashes:
        return _Link("", None, link, None, True)  # no URL
    begin, scheme = scheme + slashes, scheme.strip().removesuffix(":").lower()
    plain, mark, asked = rest.partition("?")
    query = asked if mark else None
    authority = plain.partition("/")[0]
    login, at, place = plain.rpartition("@")
    broken = scheme not in ("", *_FILES) and _HOSTS.fullmatch(authority) is None
    named = "@" in authority or ":" in authority
    if not named:
        public = not authority or "." in authority or scheme in (*_NAMED, *_BUCKETS)
        at = "" if public else at  # it belongs to a path
    if (named and "@" in asked) or (broken and "@" not in plain):
        return _Link(begin, rest, "", None, broken)  # "?" in a password, perhaps
    if at:
        return _Link(begin, login, at + place, query, broken)
    return _Link(begin, None, plain, query, True)


def _shown(link: _Link, keep: Container[str]) -> str:
    query = ""
    if link.query is not None:
        query = f"?{SHOWN if '@' in link.query else masked_query(link.query, keep)}"
    place = masked_path(link.place) if _has_parameters(link) else link.place
    return f"{link.begin}{_shown_login(link)}{place}{query}"


def _has_parameters(link: _Link) -> bool:
    """Whether a semicolon in the path begins a parameter; not in names of files and objects."""
    scheme = link.begin.strip().removesuffix("//").removesuffix(":").lower()
    return bool(link.begin) and scheme not in (*_NAMED, *_BUCKETS)


def _shown_login(link: _Link) -> str:
    user, _, password = (link.login or "").partition(":")
    if password and "/" not in user and "@" not in user:
        return f"{user}:{SHOWN}"
    scheme = link.begin.strip().removesuffix("//").removesuffix(":").lower()
    name = scheme in _NAMED and link.place and not password and "%3a" not in user.lower()
    return user if name or not user else SHOWN


def encoded(value: object) -> str:
    """`value` as text that does not show it, for a pickle."""
    return b85encode(pickle.dumps(value)).decode("ascii")


def decoded(text: str) -> Any:
    """What `encoded` encoded."""
    return pickle.loads(b85decode(text))


def _restored(text: str) -> Secret[Any]:
    return Secret(decoded(text))
