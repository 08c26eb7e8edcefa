"""Names of files that are not values: temporaries and locks.

Every such name begins with ".~". Stores on a file system hide these names from listings and
refuse them in keys. A temporary also says which process made it, so that what a killed process
left behind can be told from what a living one is writing: `.~{machine}-{pid}-{count}.partial`.

This module knows names only. It must not know what a store keeps under them.
"""

from __future__ import annotations

import itertools
import os
import re
import sys
from functools import cache

RESERVED = ".~"

_TEMPORARY = re.compile(r"\.~([0-9a-f]{8})-(\d+)-\d+\.(?:partial|deleted)\Z")
_LONGEST_NAME = 200  # of the 255 bytes that common file systems allow
_count = itertools.count()


def _digest(text: str, size: int) -> str:
    from hashlib import blake2b  # loads OpenSSL, which takes a while

    return blake2b(text.encode(), digest_size=size).hexdigest()


@cache
def _machine() -> str:
    """Equal for all processes that can see one another's process numbers."""
    marks = [os.uname().nodename if hasattr(os, "uname") else os.environ.get("COMPUTERNAME", "")]
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            marks.append(file.read().strip())
        marks.append(os.readlink("/proc/self/ns/pid"))
    except OSError:
        pass  # not Linux: the machine's name has to do
    return _digest("\n".join(marks), 4)


def temporary_name(kind: str = "partial") -> str:
    """A name that no other process on any machine uses now."""
    return f"{RESERVED}{_machine()}-{os.getpid()}-{next(_count)}.{kind}"


def name_beside(name: str, kind: str) -> str:
    """The name of the lock, or of what else is needed, that stands beside the file `name`."""
    if len(name) * 4 > _LONGEST_NAME and len(name.encode()) > _LONGEST_NAME:
        name = _digest(name, 16)
    return f"{RESERVED}{name}.{kind}"


def is_reserved(key: str) -> bool:
    """Whether any name in the key is reserved for files that are not values."""
    return RESERVED in key and (key.startswith(RESERVED) or "/" + RESERVED in key)


def is_abandoned(name: str, age: float, older_than: float) -> bool | None:
    """Whether no process can still be writing the temporary `name`; None if it is not a temporary.

    A process of this machine is asked for; of another machine's files only the age is known.
    """
    match = _TEMPORARY.match(name)
    if match is None:
        return None
    machine, process = match.groups()
    if machine == _machine() and sys.platform != "win32":  # there, signal 0 would end the process
        return not _is_alive(int(process))
    return age > older_than


def _is_alive(process: int) -> bool:
    if not 0 < process < 1 << 31:
        return False
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True  # it exists and belongs to another user
    return True
