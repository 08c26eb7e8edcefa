"""Keys and node paths: the only strings that may reach a store.

A *key* names a stored value, a *path* names a node; both are "/"-separated names. Names that could
leave a directory, collide with a drive or hide a NUL are refused here, once for all stores.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import groupby

from omnizarr.errors import InvalidKeyError

MAX_KEY_BYTES = 1024

# One pass over a well-formed key: no drive letter, no empty, "." or ".." segment, no backslash, NUL
# or control character, no leading or trailing slash.
_SEGMENT = r"(?!\.{1,2}(?:/|\Z))[^/\\\x00-\x1f\x7f]+"
_KEY = re.compile(rf"(?![A-Za-z]:){_SEGMENT}(?:/{_SEGMENT})*\Z")


def check_key(key: str) -> str:
    """`key` itself, if it may reach a store."""
    if not isinstance(key, str):
        raise InvalidKeyError(f"a store key must be a str, found {type(key).__name__}")
    if _KEY.match(key) is None:
        raise InvalidKeyError(
            f"invalid store key {key!r}: a key is one or more names joined by '/', none of them"
            " empty, '.' or '..', without backslashes, control characters or a drive letter"
        )
    if not key.isascii() or len(key) > MAX_KEY_BYTES:
        try:
            size = len(key.encode())
        except UnicodeEncodeError as error:
            raise InvalidKeyError(f"invalid store key {key!r}: not encodable as UTF-8") from error
        if size > MAX_KEY_BYTES:
            raise InvalidKeyError(
                f"store key of {size} bytes; the longest allowed is {MAX_KEY_BYTES}"
            )
    return key


def is_key(key: str) -> bool:
    """Whether `check_key` would accept it."""
    try:
        check_key(key)
    except InvalidKeyError:
        return False
    return True


def check_prefix(prefix: str) -> str:
    """`prefix` itself: either empty or a key followed by "/"."""
    if prefix:
        if not prefix.endswith("/"):
            raise InvalidKeyError(f"invalid prefix {prefix!r}: a prefix is empty or ends with '/'")
        check_key(prefix[:-1])
    return prefix


def normalize_path(path: str | bytes | None) -> str:
    """A logical path as document 000 normalises it ("Logical storage paths").

    >>> normalize_path("\\\\foo//bar/")
    'foo/bar'
    """
    if path is None:
        return ""
    if isinstance(path, bytes):
        path = path.decode("ascii")
    if not isinstance(path, str):
        raise InvalidKeyError(f"a node path must be a str, found {type(path).__name__}: {path!r}")
    segments = [segment for segment in path.replace("\\", "/").split("/") if segment]
    if any(segment in (".", "..") for segment in segments):
        raise InvalidKeyError(f"invalid node path {path!r}: '.' and '..' are not allowed as names")
    normal = "/".join(segments)
    return check_key(normal) if normal else ""


def join(*parts: str) -> str:
    """Parts joined with "/", empty ones left out."""
    return "/".join(filter(None, parts))


def parent(path: str) -> str:
    """The path one level up; the root is its own parent."""
    return path.rpartition("/")[0]


def name_of(path: str) -> str:
    """The last name of a path, "" for the root."""
    return path.rpartition("/")[2]


def ancestors(path: str) -> list[str]:
    """Every path above this one, the root first.

    >>> ancestors("a/b/c")
    ['', 'a', 'a/b']
    """
    names = path.split("/") if path else []
    return ["/".join(names[:depth]) for depth in range(len(names))]


DOCUMENT = re.compile(
    r"(?:^|/)(?:\.[^/]*|[^/]*json|meta|attrs|__zmeta__|__zattr__|meta/.*\.(?:array|group))$"
)
"""Keys that are called like metadata: no format calls a chunk so."""
_CONSOLIDATED = {".zmetadata"}
"""Copies of the metadata of everything below."""
_BESIDES = {".zattrs", "attrs", "__zattr__"}
"""Metadata that do not mark a node as existing."""


def deletion_steps(keys: Iterable[str]) -> list[list[str]]:
    """The keys, in the order in which they must be deleted: a step only after those before it have
    succeeded.

    The documents that mark nodes as existing come first, those of a parent before those of its
    children, and all other keys last. A deletion that is interrupted then leaves no node, or whole
    ones, and never a node whose chunks are missing. (`storing.create` refuses an array
    whose chunks could be among the remaining keys.) Keys are written in the reverse order.

    >>> deletion_steps(["a/.zarray", "a/.zattrs", "a/0", "a/1", ".zgroup"])
    [['.zgroup'], ['a/.zarray'], ['a/.zattrs'], ['a/0', 'a/1']]
    """
    return [list(step) for _, step in groupby(sorted(keys, key=_deletion_step), _deletion_step)]


def _deletion_step(key: str) -> tuple[int, int]:
    if DOCUMENT.search(key) is None:
        return 3, 0
    name = name_of(key)
    if name in _CONSOLIDATED:
        return 0, 0
    return (2, 0) if name in _BESIDES else (1, key.count("/"))
