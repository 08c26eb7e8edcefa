"""moto's S3 server, with conditional writes that are one step: `python moto_server.py PORT`.

moto looks at If-Match and If-None-Match first and stores the object afterwards, in several threads,
so that two writers can both be told that they won. S3 does both at once, and so does this. An
object is also seen only together with its metadata.
"""

from __future__ import annotations

import sys
import threading
from typing import Any

from moto.s3.responses import S3Response
from moto.server import main

_guard = threading.RLock()
_WRITES = ("put_object", "copy_object", "delete_object")


def _alone(method: Any) -> Any:
    def call(*arguments: Any, **options: Any) -> Any:
        with _guard:
            return method(*arguments, **options)

    return call


if __name__ == "__main__":
    for name in _WRITES:
        setattr(S3Response, name, _alone(getattr(S3Response, name)))
    main(["-H", "127.0.0.1", "-p", sys.argv[1]])
