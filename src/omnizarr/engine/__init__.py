"""Executes plans: bytes from a store through codecs into an array, and back.

The engine knows stores, codecs and plans; it knows no format version and no node. What it
offers upward is `Source` (where an array's chunks lie), `read` and `write` (a whole plan in, an
array or stored keys out: a native core implements these two), `trim` (forget what a chunk holds
outside of the array), `update` (how a stored value is read, changed and written back so that no
change of anybody else is lost), and `exclusive` (how others are kept out meanwhile).
"""

from omnizarr.engine.chunk_source import Source
from omnizarr.engine.gathering import Gathered
from omnizarr.engine.locks import Optimistic, exclusive, update
from omnizarr.engine.reading import read
from omnizarr.engine.writing import trim, write

__all__ = ["Gathered", "Optimistic", "Source", "exclusive", "read", "trim", "update", "write"]
