"""zarr-python's names and habits, for scripts and libraries that say ``import zarr``.

``zarr3`` and ``zarr2`` have the layout of zarr-python's two generations. They rename and translate;
arrays, groups and stores are omnizarr's own. `install` serves one of them as ``zarr``:

    import omnizarr.compat
    omnizarr.compat.install()
    import zarr                     # omnizarr

``python -m omnizarr.compat script.py`` does the same for a script as it is.
"""

from omnizarr.compat.serving import install, uninstall

__all__ = ["install", "uninstall"]
