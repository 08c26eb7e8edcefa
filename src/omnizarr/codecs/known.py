"""The names of all codecs that are known.

This module knows names and where they come from. It must not import any codec.
"""

from __future__ import annotations

from omnizarr.codecs.registry import BUILT_IN, registered
from omnizarr.keywords import suggests

_GROUPS = ("omnizarr.codecs", "zarr.codecs", "numcodecs.codecs")
"""The entry points of packages that bring codecs."""


@suggests
def codec_names(*, plugins: bool = True) -> tuple[str, ...]:
    """Give the names of all codecs that are known. None of them is imported.

    Parameters
    ----------
    plugins
        Whether codecs of other installed packages count; those that `register_codec` was given
        always do.

    Returns
    -------
    tuple of str
        The names in metadata, sorted.

    Examples
    --------
    >>> "zstd" in omnizarr.codecs.codec_names()
    True
    """
    names = {*BUILT_IN, *(name for name, _ in registered())}
    if plugins:
        from importlib.metadata import entry_points

        found = entry_points()
        for group in _GROUPS:
            prefix = "numcodecs." if group.startswith("numcodecs") else ""
            for each in found.select(group=group):
                names.add(prefix + each.name.removeprefix(prefix))
    return tuple(sorted(names))
