"""Open, unwrap, rebuild, classify and compare filesystems of fsspec.

A filesystem is determined by its class and arguments. It is rebuilt from them in a forked child, or
to get one that is not bound to an event loop of the caller.

This module knows fsspec's filesystems. It must not know files.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from hashlib import sha256
from typing import Any

from omnizarr.errors import MissingPackageError, StoreError
from omnizarr.runtime.optional_packages import package
from omnizarr.stores.fsspec.faults import cause, failure
from omnizarr.stores.kinds import nearest_scheme
from omnizarr.stores.secrets import (
    is_secret,
    masked_text,
    masked_url,
    secrets_in,
    secrets_in_url,
    without,
)

_TUNING = ("asynchronous", "loop", "skip_instance_cache", "anon", "profile", "user", "username")
_EXCLUSIVE = ("s3", "gs", "abfs", "az", "memory")
"""Protocols whose `mode="create"` is a condition that the service checks."""
_READ_ONLY = ("http", "https", "reference", "github", "git", "data", "jupyter", "tar", "libarchive")
_RENAMES = ("file", "sftp", "ssh")
"""Protocols where a half-written file is visible, and a rename replaces a file atomically."""


_DISTRIBUTIONS = {
    "smbclient": "smbprotocol",
    "libarchive": "libarchive-c",
    "webdav4": "webdav4[fsspec]",
    "distributed": "distributed",
    "google": "gcsfs",
    "azure": "adlfs",
}
"""Distributions whose names differ from their modules."""


def implementation(name: str) -> Any:
    return package(f"fsspec.{name}", "fsspec", "a filesystem of fsspec")


def filesystem_of(url: str, options: dict[str, Any]) -> tuple[Any, str]:
    """The filesystem that a URL names, chained or not, and the path in it."""
    shown = masked_url(without(url, secrets_in(options)))
    _refuse_misspelt(shown)
    core = implementation("core")
    secrets = (*secrets_in(options), *secrets_in_url(url))
    try:
        fs, path = core.url_to_fs(url, **options)
    except ImportError as error:
        text = masked_text(str(error), secrets)
        raise MissingPackageError(
            f"{shown!r}: {text}: pip install {_distribution(error)}"
        ) from cause(error, secrets)
    except ValueError as error:
        raise StoreError(f"{shown!r}: {masked_text(str(error), secrets)}") from cause(
            error, secrets
        )
    except Exception as error:
        raise failure(error, "open it", secrets).at(repr(shown)) from cause(error, secrets)
    return fs, str(path)


def _refuse_misspelt(shown: str) -> None:
    """Raise if the scheme of a URL is unknown and like a known one; fsspec may be missing."""
    scheme, mark, rest = shown.partition("://")
    near = nearest_scheme(scheme.lower()) if mark and "::" not in scheme else None
    if near is None:
        return
    try:
        from fsspec.registry import known_implementations, registry
    except ImportError:
        pass
    else:
        if scheme in known_implementations or scheme in registry:
            return
    raise StoreError(f"{shown!r}: unknown scheme {scheme!r}").advise(
        f"did you mean {f'{near}://{rest}'!r}?"
    )


def _distribution(error: ImportError) -> str:
    """The distribution of a module that could not be imported."""
    missing: BaseException | None = error
    name = None
    while missing is not None:
        if isinstance(missing, ImportError) and missing.name:
            name = missing.name.partition(".")[0]
        missing = missing.__cause__ or missing.__context__
    if name is None:
        return "the package that it needs"
    return f"'{_DISTRIBUTIONS.get(name, name)}'"


def protocol_of(fs: Any) -> str:
    protocol = type(fs).protocol
    return str(protocol if isinstance(protocol, str) else protocol[0])


def protocols_of(fs: Any) -> tuple[str, ...]:
    protocol = type(fs).protocol
    return (protocol,) if isinstance(protocol, str) else tuple(protocol)


def unwrapped(fs: Any, path: str) -> tuple[Any, str]:
    """The filesystem inside those that only add a folder or an event loop, and the path there."""
    directory = implementation("implementations.dirfs").DirFileSystem
    looped = implementation("implementations.asyn_wrapper").AsyncFileSystemWrapper
    while True:
        if type(fs) is directory:
            fs, path = fs.fs, fs._join(path)
        elif type(fs) is looped:
            fs = fs.sync_fs
        else:
            return fs, path


def renewed(fs: Any) -> Any:
    """The same filesystem, rebuilt from its arguments, usable from any thread."""
    base = implementation("spec").AbstractFileSystem

    def again(value: Any) -> Any:
        return renewed(value) if isinstance(value, base) else value

    options = {
        name: again(value)
        for name, value in fs.storage_options.items()
        if name not in ("asynchronous", "loop")
    }
    return type(fs)(*map(again, fs.storage_args), **options)


def is_asynchronous(fs: Any) -> bool:
    """Whether its methods are coroutines. (A cache pretends to be what it caches.)"""
    return issubclass(type(fs), implementation("asyn").AsyncFileSystem)


def is_local(fs: Any) -> bool:
    return type(fs) is implementation("implementations.local").LocalFileSystem


def is_memory(fs: Any) -> bool:
    return isinstance(fs, implementation("implementations.memory").MemoryFileSystem)


def is_cache(fs: Any) -> bool:
    return issubclass(type(fs), implementation("implementations.cached").CachingFileSystem)


def is_simple_cache(fs: Any) -> bool:
    return issubclass(type(fs), implementation("implementations.cached").SimpleCacheFileSystem)


def is_http(fs: Any) -> bool:
    return "http" in protocols_of(innermost(fs))


def innermost(fs: Any) -> Any:
    """What a cache caches."""
    while is_cache(fs):
        fs = fs.fs
    return fs


def is_read_only(fs: Any) -> bool:
    """Whether nothing can be written: archives and web servers."""
    if is_cache(fs) and not is_simple_cache(fs):
        return True  # fsspec's other caches only read
    fs = innermost(fs)
    archive = implementation("archive").AbstractArchiveFileSystem
    if isinstance(fs, archive):
        return getattr(fs, "mode", "r") == "r"
    return bool(set(_READ_ONLY).intersection(protocols_of(fs)))


def renames(fs: Any) -> bool:
    """Whether values are written under a temporary name first."""
    return bool(set(_RENAMES).intersection(protocols_of(fs)))


def has_folders(fs: Any) -> bool:
    """Whether a folder stays when the last file in it goes."""
    return renames(fs) or "memory" in protocols_of(fs)


def creates(fs: Any) -> bool:
    """Whether `pipe_file(mode="create")` refuses what exists, in one step."""
    method = getattr(type(fs), "_pipe_file" if is_asynchronous(fs) else "pipe_file")
    takes = "mode" in inspect.signature(method).parameters
    return takes and bool(set(_EXCLUSIVE).intersection(protocols_of(fs)))


def place_of(fs: Any) -> str:
    """Equal for filesystems that hold the same files; shows no secret."""
    if is_memory(fs):
        return f"memory {id(fs.store)}"
    told = [type(fs).__qualname__, repr(_told(fs.storage_args)), repr(_told(fs.storage_options))]
    return sha256("\n".join(told).encode()).hexdigest()


def untold(path: str, secrets: Iterable[str]) -> str:
    """A path for an identity; hashed if it holds a secret."""
    if masked_text(path, secrets) == path:
        return path
    return sha256(path.encode()).hexdigest()


def _told(value: Any) -> Any:
    """Arguments without credentials and tuning."""
    if isinstance(value, dict):
        return sorted(
            (str(name), _told(item))
            for name, item in value.items()
            if name not in _TUNING and not is_secret(str(name)) and "cache" not in str(name)
        )
    if isinstance(value, list | tuple):
        return [_told(item) for item in value]
    if isinstance(value, str | int | float | bool | None):
        return value
    base = implementation("spec").AbstractFileSystem
    return place_of(value) if isinstance(value, base) else type(value).__qualname__
