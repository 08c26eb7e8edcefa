"""URLs of local databases.

This module knows URLs. It must not know any database.
"""

from __future__ import annotations

import os
import re
from urllib.parse import unquote

from omnizarr.errors import StoreError


def local_path(url: str) -> str:
    """The path in `scheme:///absolute/path` or `scheme://relative/path`."""
    scheme, _, rest = url.partition("://")
    if "?" in rest or "#" in rest or not rest.strip("/"):
        raise StoreError(
            f"{url!r}: expected {scheme}:///absolute/path or {scheme}://relative/path;"
            " options are given as storage_options"
        )
    path = unquote(rest)
    if os.name == "nt" and re.match(r"/[A-Za-z]:/", path):
        path = path[1:]
    return path
