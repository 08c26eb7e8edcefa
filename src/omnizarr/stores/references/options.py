"""The options for the stores of files that references name, and the identity of such a store.

`remote_options` are of one of two kinds. Either each name in them is a protocol or the beginning of
a URL, with the options for its store:

    {"s3": {"anon": True}, "https://data.org/": {"headers": {…}}}

of which the longest beginning counts; or they are options, for one protocol: the `remote_protocol`
that was given. Where none was, options that a web store knows go to web servers, and all others to
every store but these.

This module knows names of options. It must not know what they do.
"""

from __future__ import annotations

import inspect
from collections.abc import Hashable, Mapping
from functools import cache
from typing import Any

from omnizarr.errors import StoreAccessError
from omnizarr.model.store import Store
from omnizarr.stores.secrets import is_secret, masked_url

_FAMILIES = (
    ("s3", "s3a"),
    ("gs", "gcs"),
    ("az", "azure", "abfs", "abfss", "adl"),
    ("http", "https"),
)
_WEB = ("http", "https")


def _family(protocol: str) -> tuple[str, ...]:
    return next((names for names in _FAMILIES if protocol in names), (protocol,))


class RemoteOptions:
    """`remote_options` of references: `of(origin)` gives those for a store."""

    def __init__(self, given: Mapping[str, Any], protocol: str | None) -> None:
        places = [name for name in given if _is_place(name, given[name])]
        if places and len(places) < len(given):
            others = ", ".join(repr(name) for name in given if name not in places)
            raise TypeError(
                "remote_options are options, or a mapping from protocols and beginnings of URLs to"
                f" options; found both: {', '.join(map(repr, places))} and {others}"
            )
        self._by_place = dict(given) if places else {}
        self._flat = {} if places else dict(given)
        self._protocol = protocol

    def of(self, origin: str, scheme: str) -> dict[str, Any]:
        """The options for the store of a server, bucket or chain of protocols."""
        if self._by_place:
            return self._placed(origin, scheme)
        if self._protocol is not None:
            return dict(self._flat) if scheme in _family(self._protocol) else {}
        known = _web_options()
        if scheme in _WEB:
            return dict(self._flat) if known.issuperset(self._flat) else {}
        shared = {"deadline", "timeout", "requests", "retries"}
        only_web = known - shared
        return {} if only_web.issuperset(self._flat) else dict(self._flat)

    def _placed(self, origin: str, scheme: str) -> dict[str, Any]:
        beginnings = [name for name in self._by_place if "://" in name and _begins(origin, name)]
        if beginnings:
            return dict(self._by_place[max(beginnings, key=len)])
        if scheme in self._by_place:
            return dict(self._by_place[scheme])
        if scheme in _WEB:
            # Options for https are not sent over http; `untrusted` for https counts for http too.
            untrusted = any(_is_untrusted(self._by_place.get(name)) for name in _WEB)
            return {"untrusted": True} if untrusted else {}
        others = (name for name in _family(scheme) if name in self._by_place)
        return next((dict(self._by_place[name]) for name in others), {})

    def refuse_ignored(self, origin: str, scheme: str, options: Mapping[str, Any]) -> None:
        """Raise if only servers with public addresses may be asked, as `untrusted` says, and the
        store of `origin`, opened with `options`, would not see to it."""
        if scheme in _WEB and _is_untrusted(options):
            return
        if any(scheme in family for family in _FAMILIES) and scheme not in _WEB:
            return  # a reference names the bucket there, and the caller the service
        asked = [self._flat, options]
        if "::" in origin:
            asked += self._by_place.values()
        if any(map(_is_untrusted, asked)):
            raise StoreAccessError(
                f"a reference names {masked_url(origin)!r}, and the option untrusted of"
                " remote_options cannot be honoured there: only web servers that are named without"
                " a chain, with options that they know, are kept to public addresses; do not allow"
                " others, or give options by protocol: {'https': {'untrusted': True}, …}"
            )

    @property
    def all(self) -> dict[str, Any]:
        """As the caller gave them, for a chain of protocols."""
        return self._by_place or self._flat

    @property
    def told(self) -> Hashable:
        return told([self._by_place, self._flat, self._protocol])


def _is_untrusted(options: object) -> bool:
    return isinstance(options, Mapping) and bool(options.get("untrusted"))


def _is_place(name: object, value: object) -> bool:
    if not isinstance(name, str) or not isinstance(value, Mapping):
        return False
    from omnizarr.stores import kinds

    known = any(name in names for names in _FAMILIES) or kinds.for_scheme(name) is not None
    return "://" in name or known or name in ("file", "ftp", "sftp", "ssh", "hdfs", "memory", "hf")


def _begins(origin: str, place: str) -> bool:
    """Whether an origin is the server or bucket that a URL prefix names."""
    plain, wanted = origin.partition("/?")[0].rstrip("/"), place.rstrip("/")
    return plain == wanted or plain.startswith(f"{wanted}/") or place.endswith("://")


@cache
def _web_options() -> frozenset[str]:
    from omnizarr.stores.http.store import HTTPStore

    names = inspect.signature(HTTPStore.__init__).parameters
    return frozenset(names).difference(("self", "url")) | {"client_kwargs"}


def told(value: object) -> str:
    """A text that differs for options that read other bytes; secrets are left out."""
    if isinstance(value, Mapping):
        items = sorted(
            (str(name), told(item)) for name, item in value.items() if not is_secret(str(name))
        )
        return repr(items)
    if isinstance(value, list | tuple | set | frozenset):
        return repr([told(item) for item in value])
    return repr(value) if isinstance(value, str | int | float | bytes | None) else _named(value)


def _named(value: object) -> str:
    return type(value).__qualname__


def digest(*parts: object) -> str:
    from hashlib import blake2b

    return blake2b(told(parts).encode("utf-8", "replace"), digest_size=20).hexdigest()


def identity_of(given: Any) -> Hashable:
    """The identity of a store, of options for one, or of a filesystem of fsspec."""
    if isinstance(given, Store):
        return given.identity
    if isinstance(given, Mapping):
        return digest(given)
    if hasattr(given, "storage_options") and hasattr(given, "storage_args"):
        from omnizarr.stores.fsspec.filesystems import place_of

        return place_of(given)
    return id(given)
