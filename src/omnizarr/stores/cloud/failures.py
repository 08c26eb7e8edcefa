"""What an exception of obstore means, and how it is told: without secrets, in one line.

obstore has few classes of exceptions; the rest stands in their text. In a forked process they are
other classes of the same names (`runtime`), so names are compared.

This module knows the texts of obstore and of the services behind it. It must not ask them anything.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal
from urllib.parse import quote

from omnizarr.errors import HTTPStatusError, StoreAccessError, StoreError, StoreTimeoutError

FailureKind = Literal[
    "missing",  # no such object
    "container",  # no such bucket or container
    "conflict",  # a condition of the request does not hold
    "access",
    "unsupported",
    "beyond",  # the range begins after the end
    "whole",  # all of the object was sent though a part was asked for
    "wrong",  # another part of the object was sent than was asked for
    "timeout",
    "status",
    "other",
]
_BY_NAME: dict[str, FailureKind] = {
    "FileNotFoundError": "missing",
    "NotFoundError": "missing",
    "AlreadyExistsError": "conflict",
    "PreconditionError": "conflict",
    "NotModifiedError": "conflict",
    "PermissionDeniedError": "access",
    "UnauthenticatedError": "access",
    "NotSupportedError": "unsupported",
    "NotImplementedError": "unsupported",
}
_NO_CONTAINER = re.compile(r"NoSuchBucket|ContainerNotFound|bucket does not exist", re.IGNORECASE)
_STATUS = re.compile(r"status code: (\d{3})")
_BODY = re.compile(r"(status code: \d{3}[^:\n]*): ?(.*)", re.DOTALL)
_CODE = re.compile(r"<Code>([\w.-]{1,80})</Code>")
_QUERY = re.compile(r"\?[^\s\"'<>]*")
_LOGIN = re.compile(r"://[^/\s\"'<>]*@")
_TIMEOUT = re.compile(r"kind: Timeout|TimedOut|timed out", re.IGNORECASE)
_TRANSPORT = re.compile(
    r"kind: (Connect|Interrupted|Decode|Request)\b|HTTP error|error sending request"
    r"|connection (closed|reset|error)",
    re.IGNORECASE,
)
LONGEST = 300
_MADE: tuple[tuple[str, str], ...] = (
    (
        "Account must be specified",
        "the account is not named: give account_name in storage_options, or set"
        " AZURE_STORAGE_ACCOUNT_NAME",
    ),
    ("Invalid Access Key", "the account_key is not base64, as Azure gives it"),
    (
        "Missing AccessKeyId",
        "there is a secret_access_key without the access_key_id that belongs to it",
    ),
    (
        "Missing SecretAccessKey",
        "there is an access_key_id without the secret_access_key that belongs to it",
    ),
    (
        "Unable to open service account file",
        "the file of the service account cannot be read: give its path as service_account",
    ),
    (
        "Unable to decode service account",
        "the service account is not the JSON document that Google gives",
    ),
    (
        "Invalid key",
        "client_options have a name that obstore's ClientConfig does not know",
    ),
)
"""What obstore says when a client cannot be made, and what that means."""


@dataclass(frozen=True)
class Failure:
    """Why a request was not answered. A missing object is one too, so its text waits to be read."""

    kind: FailureKind
    error: Exception
    status: int | None = None
    secrets: Callable[[], Iterable[str]] = tuple
    """What must not be shown."""

    @property
    def text(self) -> str:
        """One line that may be shown to anybody."""
        return _shown(str(self.error), self.secrets())

    @property
    def cause(self) -> BaseException:
        """The error, or if its text may not be shown, one that says the same."""
        text = str(self.error)
        if _masked(text, self.secrets()) == text:
            return self.error
        return OSError(f"{type(self.error).__name__}: {self.text}")

    @property
    def uncertain(self) -> bool:
        """Whether the service may have done what was asked for, though it did not say so."""
        return self.kind in ("timeout", "wrong", "other") or (self.status or 0) >= 500

    @property
    def passing(self) -> bool:
        """Whether the same request may succeed a moment later."""
        if self.kind == "unsupported":
            return False
        if self.kind == "timeout" or self.status in (408, 429) or (self.status or 0) >= 500:
            return True
        return self.kind == "other" and bool(_TRANSPORT.search(str(self.error)))


def classify(error: Exception, secrets: Callable[[], Iterable[str]] = tuple) -> Failure:
    text = str(error)
    found = _STATUS.search(text)
    status = int(found[1]) if found else None
    kind: FailureKind = _BY_NAME.get(type(error).__name__, "other")
    if kind == "missing" and _NO_CONTAINER.search(text):
        kind = "container"
    elif kind == "missing" and status == 404 and "<html" in text.lower():
        kind = "status"  # a page of a proxy in between
    elif kind == "other":
        kind = _of_text(text, status)
    return Failure(kind, error, status, secrets)


def _of_text(text: str, status: int | None) -> FailureKind:
    if status == 416 or "StartTooLarge" in text:
        return "beyond"
    if "NotPartial" in text or "non-partial" in text:
        return "whole"
    if "CONTENT_RANGE" in text or "UnexpectedRange" in text:
        return "wrong"
    if status in (401, 403):
        return "access"
    if status in (409, 412):
        return "conflict"
    if status == 404:
        return "container" if _NO_CONTAINER.search(text) else "missing"
    if status == 501:
        return "unsupported"
    if status is not None:
        return "status"
    return "timeout" if _TIMEOUT.search(text) else "other"


def _masked(text: str, secrets: Iterable[str]) -> str:
    for secret in secrets:
        if len(secret) > 3:
            text = text.replace(secret, "***").replace(quote(secret, safe=""), "***")
    return _LOGIN.sub("://***@", _QUERY.sub("?***", text))


def _shown(text: str, secrets: Iterable[str]) -> str:
    """The first paragraph, with no more of the service's answer than its code."""
    text = text.partition("\n\nDebug source")[0]
    code = _CODE.search(text)
    text = _BODY.sub(rf"\1 ({code[1]})" if code else r"\1", text)
    text = " ".join(_masked(text, secrets).split())
    return text if len(text) <= LONGEST else text[:LONGEST] + " …"


def error_of(failure: Failure, store: str, doing: str, key: str, deadline: float) -> StoreError:
    """The error to raise `from failure.cause`."""
    where = f"{store}: cannot {doing} {key!r}"
    match failure.kind:
        case "access":
            return StoreAccessError(
                f"{where}: the service refuses it; check the credentials in storage_options or the"
                f" environment, or give anon=True for public data ({failure.text})"
            )
        case "container":
            return StoreError(f"{where}: there is no such bucket or container ({failure.text})")
        case "timeout":
            return StoreTimeoutError(
                f"{where}: no whole answer in time for the deadline of {deadline:g} s; give a"
                f" longer one as storage_options={{'deadline': …}} ({failure.text})"
            )
        case "status" if failure.status is not None:
            return HTTPStatusError(
                f"{where}: the service answered with status {failure.status} ({failure.text})",
                failure.status,
            )
    if "169.254.169.254" in failure.text or "redential" in failure.text:
        return StoreAccessError(
            f"{where}: no credentials were found; give them in storage_options or the environment,"
            f" or anon=True for public data ({failure.text})"
        )
    return StoreError(f"{where}: {failure.text}")


def unconditional(failure: Failure, store: str, key: str) -> StoreError:
    """The error for a conditional write that the service does not have, or (status 400) may not
    have; to raise `from failure.cause`."""
    needed = "which safe updates need"
    advice = (
        "open the store with storage_options={'conditional': False} if no other process writes to"
        f" it ({failure.text})"
    )
    if failure.status == 400:
        return HTTPStatusError(
            f"{store}: cannot write {key!r}: the service answered with status 400; if it has no"
            f" conditional writes, {needed}: {advice}",
            400,
        )
    return StoreError(f"{store}: the service has no conditional writes, {needed}; {advice}")


def no_client(failure: Failure, store: str) -> Exception:
    """The error to raise `from failure.cause` where obstore refuses what it is to be built from."""
    text = failure.text
    reason = next((ours for theirs, ours in _MADE if theirs in text), "")
    told = f"{store}: cannot be opened with these storage_options: "
    if isinstance(failure.error, TypeError) or text.startswith("Invalid key"):
        return TypeError(f"{told}{reason or 'client_options or retry_config'} ({text})")
    return StoreError(f"{told}{reason} ({text})" if reason else told + text)
