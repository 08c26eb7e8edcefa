"""What an exception of obstore means, as an error of one line without secrets.

obstore has few classes of exceptions, and no fields: the HTTP status is only in the text. In a
forked process the classes are others of the same names (`runtime`), so names are compared.

This module knows the texts of obstore and of services. It must not send requests.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

from omnizarr.errors import (
    ErrorLocation,
    HTTPStatusError,
    StoreAccessError,
    StoreError,
    StoreTimeoutError,
    UncertainWriteError,
)
from omnizarr.stores.secrets import masked_text

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
_BY_TEXT: dict[str, FailureKind] = {
    "StartTooLarge": "beyond",
    "NotPartial": "whole",
    "non-partial": "whole",
    "CONTENT_RANGE": "wrong",
    "UnexpectedRange": "wrong",
}
_BY_STATUS: dict[int, FailureKind] = {
    401: "access",
    403: "access",
    404: "missing",
    409: "conflict",
    412: "conflict",
    416: "beyond",
    501: "unsupported",
}
_NO_CONTAINER = re.compile(r"NoSuchBucket|ContainerNotFound|bucket does not exist", re.IGNORECASE)
_STATUS = re.compile(r"status code: (\d{3})")
_BODY = re.compile(r"(status code: \d{3}[^:\n]*): ?(.*)", re.DOTALL)
_CODE = re.compile(r"<Code>([\w.-]{1,80})</Code>")
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
    """Why a request failed. A missing object is a failure too, so the text is made on demand."""

    kind: FailureKind
    error: Exception
    status: int | None = None
    secrets: Callable[[], Iterable[str]] = tuple
    """Gives the texts that must not be shown."""

    @property
    def text(self) -> str:
        """One line without secrets."""
        return _shown(str(self.error), self.secrets())

    @property
    def cause(self) -> BaseException:
        """The error, or a copy without secrets if its text shows one."""
        text = str(self.error)
        if masked_text(text, self.secrets()) == text:
            return self.error
        return OSError(f"{type(self.error).__name__}: {self.text}")

    @property
    def uncertain(self) -> bool:
        """Whether the service may have carried out the request all the same."""
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
    kind = _BY_NAME.get(type(error).__name__) or _kind_of_text(text, status)
    if kind == "missing" and _NO_CONTAINER.search(text):
        kind = "container"
    elif kind == "missing" and status == 404 and "<html" in text.lower():
        kind = "status"  # a page of a proxy in between
    return Failure(kind, error, status, secrets)


def _kind_of_text(text: str, status: int | None) -> FailureKind:
    for words, kind in _BY_TEXT.items():
        if words in text:
            return kind
    if status is not None:
        return _BY_STATUS.get(status, "status")
    return "timeout" if _TIMEOUT.search(text) else "other"


def _shown(text: str, secrets: Iterable[str]) -> str:
    """The first paragraph, with only the code of the service's answer."""
    text = text.partition("\n\nDebug source")[0]
    code = _CODE.search(text)
    text = _BODY.sub(rf"\1 ({code[1]})" if code else r"\1", text)
    text = " ".join(masked_text(text, secrets).split())
    return text if len(text) <= LONGEST else text[:LONGEST] + " …"


def error_of(failure: Failure, doing: str, deadline: float) -> StoreError:
    """The error to raise `from failure.cause`; it does not say where."""
    cannot, text = f"cannot {doing}", failure.text
    match failure.kind:
        case "access":
            return StoreAccessError(
                f"{cannot}: the service refuses it; check the credentials in storage_options or the"
                f" environment, or give anon=True for public data ({text})"
            )
        case "container":
            return StoreError(f"{cannot}: there is no such bucket or container ({text})")
        case "timeout":
            return StoreTimeoutError(
                f"{cannot}: no whole answer in time for the deadline of {deadline:g} s; give a"
                f" longer one as storage_options={{'deadline': …}} ({text})"
            )
        case "status" if failure.status is not None:
            return HTTPStatusError(
                f"{cannot}: the service answered with status {failure.status} ({text})",
                failure.status,
            )
    if "169.254.169.254" in text or "redential" in text:
        return StoreAccessError(
            f"{cannot}: no credentials were found; give them in storage_options or the environment,"
            f" or anon=True for public data ({text})"
        )
    return StoreError(f"{cannot}: {text}")


def unconditional(failure: Failure) -> StoreError:
    """The error for a conditional write that the service does not have, or (status 400) may not
    have; to raise `from failure.cause`."""
    needed = "which safe updates need"
    advice = (
        "open the store with storage_options={'conditional': False} if no other process writes to"
        f" it ({failure.text})"
    )
    if failure.status == 400:
        return HTTPStatusError(
            "cannot write: the service answered with status 400; if it has no conditional writes,"
            f" {needed}: {advice}",
            400,
        )
    return StoreError(f"the service has no conditional writes, {needed}; {advice}")


def uncertain(failure: Failure) -> UncertainWriteError:
    """The error for a conditional write that may have been done; to raise `from failure.cause`."""
    return UncertainWriteError(
        "whether it was written is unknown: an answer of the service was lost, and then another"
        f" writer changed the value; look at it before you write again ({failure.text})"
    )


def no_time(deadline: float, failure: Failure | None) -> StoreTimeoutError:
    """The error where a further request would end too late. `failure`: that of a write whose
    outcome is not known."""
    unknown = "" if failure is None else f"; whether it was written is unknown ({failure.text})"
    return StoreTimeoutError(
        f"needs a further request, for which the deadline of {deadline:g} s leaves no time{unknown}"
    )


def no_client(failure: Failure, where: ErrorLocation) -> TypeError | StoreError:
    """The error to raise `from failure.cause` where obstore cannot build a client."""
    text = failure.text
    reason = next((ours for theirs, ours in _MADE if theirs in text), "")
    told = "cannot be opened with these storage_options: "
    if isinstance(failure.error, TypeError) or text.startswith("Invalid key"):
        return TypeError(f"{where}: {told}{reason or 'client_options or retry_config'} ({text})")
    return StoreError(f"{told}{reason} ({text})" if reason else told + text).at(where)
