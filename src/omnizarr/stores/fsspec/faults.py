"""Tell a missing file from a fault of a filesystem of fsspec, and turn faults into our errors.

Filesystems raise `FileNotFoundError` for a missing file. Some raise it for other faults too, with
the fault as its cause, so the cause is examined.

This module knows exceptions. It must not know which filesystem raised them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from omnizarr.errors import HTTPStatusError, StoreAccessError, StoreError, StoreTimeoutError
from omnizarr.stores.secrets import masked_text

_ABSENT = (FileNotFoundError, IsADirectoryError, NotADirectoryError)
_GONE = (404, 410)
_ANSWER = "InvalidBucketName", "NoSuchBucket"
"""Error codes with status 404 that do not mean a missing key."""


def is_missing(error: BaseException) -> bool:
    """Whether an exception means a missing file, and no other fault caused it."""
    if not isinstance(error, _ABSENT):
        return False
    cause = error.__cause__
    if cause is not None and not _means_missing(cause):
        return False
    return not any(isinstance(before, TimeoutError) for before in _context(error))


def _means_missing(cause: BaseException) -> bool:
    if _code(cause) in _ANSWER:
        return False
    return isinstance(cause, (*_ABSENT, KeyError)) or status_of(cause) in _GONE


def _context(error: BaseException) -> Iterator[BaseException]:
    """The exceptions that were being handled when `error` was raised."""
    seen = 0
    context = error.__context__
    while context is not None and seen < 10:
        yield context
        context = context.__context__
        seen += 1


def _code(error: BaseException) -> str:
    response = getattr(error, "response", None)
    found = response.get("Error") if isinstance(response, dict) else None
    return str(found.get("Code", "")) if isinstance(found, dict) else ""


def status_of(error: BaseException) -> int | None:
    """The HTTP status that an exception of any of the clients carries."""
    response = getattr(error, "response", None)
    if isinstance(response, dict):
        found = response.get("ResponseMetadata", {}).get("HTTPStatusCode")
        return found if isinstance(found, int) else None
    for holder in (error, response):
        for name in ("status", "status_code", "code"):
            found = getattr(holder, name, None)
            if isinstance(found, int) and 100 <= found < 600:
                return found
    return None


def failure(error: BaseException, doing: str, secrets: Iterable[str] = ()) -> StoreError:
    """Our own error for an exception of a filesystem; it does not say where."""
    cannot = f"cannot {doing}"
    if isinstance(error, StoreError):
        return error.at(cannot)
    chain = [error] if error.__cause__ is None else [error, error.__cause__]
    status = next((found for each in chain if (found := status_of(each)) is not None), None)
    text = masked_text(str(error), secrets).strip().partition("\n")[0][:300]
    message = f"{cannot}: {type(error).__name__}: {text}"
    if isinstance(error, TimeoutError):
        return StoreTimeoutError(f"{cannot}: no answer before the deadline")
    if isinstance(error, NotImplementedError):
        return StoreError(f"{cannot}: the filesystem does not offer it")
    if isinstance(error, PermissionError) or status in (401, 403):
        return StoreAccessError(f"{message}: check the credentials in storage_options")
    if any("Credentials" in type(each).__name__ for each in chain):
        return StoreAccessError(f"{message}: give credentials in storage_options")
    if status is not None:
        return HTTPStatusError(f"{message} (status {status})", status)
    return StoreError(message)


class FilesystemError(Exception):
    """A copy, without secrets, of an exception of a filesystem."""


def cause(error: BaseException, secrets: Iterable[str] = ()) -> BaseException:
    """The cause to raise our own error from: `error`, or a copy without secrets if a traceback
    would show one."""
    hidden = tuple(secrets)
    chain: list[BaseException] = []
    following: BaseException | None = error
    while following is not None and following not in chain and len(chain) < 20:
        chain.append(following)
        suppressed = following.__suppress_context__
        following = following.__cause__ or (None if suppressed else following.__context__)
    texts = [
        "\n".join([str(each), repr(each.args), *getattr(each, "__notes__", ())]) for each in chain
    ]
    if all(masked_text(text, hidden) == text for text in texts) and following is None:
        return error
    copies = [
        FilesystemError(f"{type(each).__qualname__}: {masked_text(str(each), hidden)}")
        for each in chain
    ]
    for copy, original, before in zip(copies, chain, [*copies[1:], None], strict=True):
        copy.__traceback__ = original.__traceback__
        copy.__cause__ = before
    return copies[0]
