"""Allow pickled objects, for tests that write and read them.

zarr-python 2 decodes pickles whenever the metadata names them. numcodecs 0.16.6 does so only in a
process that allows it, so zarr-python 2 would need this setting too; `omnizarr.compat.zarr2`
follows it.
"""

import numcodecs.pickles

numcodecs.pickles.ALLOW_UNSAFE_PICKLE_DECODE = True
