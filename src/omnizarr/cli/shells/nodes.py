"""Nodes whose path begins with what was typed: the hidden command that shells call.

It answers fast or not at all, and says nothing when something is wrong. Only local stores are
asked. This module knows paths and the public API.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice

_MOST = 1000


def answer(word: str) -> int:
    """Print every node, groups with a slash at the end."""
    with suppress(Exception):
        found = list(islice(nodes(word), _MOST))
        sys.stdout.write("".join(f"{one}\n" for one in found if one.isprintable()))
        sys.stdout.flush()
    return 0


def nodes(word: str) -> Iterator[str]:
    """Members of the group that `word` leads into."""
    above, slash, begin = word.rpartition("/")
    if not slash or "://" in word or not above:
        return
    import omnizarr
    from omnizarr.cli.places import find
    from omnizarr.errors import ZarrError

    outer = os.path.expanduser(above)
    while outer and not os.path.lexists(outer):
        outer = os.path.dirname(outer)
    if not outer:
        return
    place, group = find(above)
    if place.kind == "URL" or not isinstance(group, omnizarr.Group):
        return
    with group.store:
        for name in sorted(group.keys()):
            if name.startswith(begin):
                try:
                    end = "/" if isinstance(group[name], omnizarr.Group) else ""
                except ZarrError:
                    end = ""
                yield f"{above}/{name}{end}"
