"""The bytes codec, where libraries import it from."""

import sys
from typing import Any

from omnizarr import codecs
from omnizarr.compat.zarr3.codecs._choices import Endian
from omnizarr.compat.zarr3.codecs._refined import Refined, without_enum

__all__ = ["BytesCodec", "Endian"]


class BytesCodec(Refined, codecs.BytesCodec):
    """The elements of an array as bytes, in C order.

    Parameters
    ----------
    endian
        Byte order, "little" or "big"; None: for elements of one byte.
    """

    refines = codecs.BytesCodec
    is_fixed_size = True

    def __init__(self, endian: Any = sys.byteorder) -> None:
        super().__init__(without_enum(endian, "endian", "BytesCodec"))
