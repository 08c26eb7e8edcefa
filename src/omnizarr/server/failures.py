"""What a failing store or a damaged node answers: never "missing", and no paths of the machine.

This module knows errors. It must not know stores.
"""

from __future__ import annotations

import re

from omnizarr.errors import (
    InvalidKeyError,
    LimitError,
    MissingPackageError,
    NodeNotFoundError,
    NotAFileError,
    StoreAccessError,
    StoreError,
    StoreTimeoutError,
    UnsupportedError,
    ZarrError,
)
from omnizarr.server.requests import RequestError

_PATH = re.compile(r"""(?:[A-Za-z]:)?(?:[/\\][^/\\\s'",:;()]+){2,}|\w+://[^\s'",;()]+""")


def as_refusal(error: Exception) -> RequestError:
    """The answer to a request that met an error."""
    match error:
        case RequestError():
            return error
        case InvalidKeyError() | NodeNotFoundError():
            return RequestError(404, "there is no such key")
        case NotAFileError():
            return RequestError(403, "the store does not give this: a link or no file")
        case StoreAccessError() | PermissionError():
            return RequestError(502, "the store may not be read here")
        case StoreTimeoutError():
            return RequestError(504, "the store did not answer in time")
        case StoreError() | OSError():
            return RequestError(502, "the store failed")
        case UnsupportedError() | MissingPackageError():
            return RequestError(501, f"cannot be shown in this format: {_said(error)}")
        case LimitError() | MemoryError():
            return RequestError(500, "it takes more memory than is allowed here")
        case ZarrError():
            return RequestError(500, f"damaged, or not understood: {_said(error)}")
        case _:
            return RequestError(500, "an error of the server")


def _said(error: ZarrError) -> str:
    """Its message, without what names a place on this machine."""
    return _PATH.sub("…", error.reason)
