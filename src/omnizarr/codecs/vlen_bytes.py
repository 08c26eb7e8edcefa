"""`vlen-bytes`: byte strings of any length, each item behind its length.

Spec: zarr-extensions, codecs/vlen-bytes. Alias: `numcodecs.vlen-bytes` (v2 `vlen-bytes`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from omnizarr.codecs import vlen
from omnizarr.codecs.base import ArrayStage, CodecKind, Step, unknown
from omnizarr.codecs.configuration import ConfiguredCodec
from omnizarr.codecs.loader import library
from omnizarr.errors import MetadataError
from omnizarr.keywords import suggesting
from omnizarr.model.grids import NDArray
from omnizarr.model.store import Buffer


@suggesting
@dataclass(frozen=True)
class VLenBytesCodec(ConfiguredCodec):
    """Byte strings of any length, each behind its length.

    Examples
    --------
    >>> omnizarr.codecs.VLenBytesCodec().name
    'vlen-bytes'
    """

    kind: ClassVar[CodecKind] = "array-bytes"
    name: str = "vlen-bytes"
    """Its name in metadata: numcodecs' spelling of the codec is another one."""

    def prepare(self, stage: ArrayStage) -> Step:
        name, shape, dtype = self.name, stage.shape, stage.dtype
        # v2 arrays of zarr-python 3.0 use it for `|S…` too.
        if dtype.kind not in "OS":
            raise MetadataError(f"codec {name!r}: encodes bytes, not {dtype}")
        decoder = library("numcodecs.vlen", name).VLenBytes()

        coder = vlen.columns(name, stage, text=False)

        def encode(array: NDArray) -> bytes:
            return vlen.encode_array(name, coder, array, text=False)

        def decode(data: Buffer) -> NDArray:
            found = vlen.objects(name, decoder, stage, coder, data)
            vlen.check_end(name, data, map(len, found.tolist()), len(found))
            return (found if dtype.kind == "O" else np.array(found.tolist(), dtype)).reshape(shape)

        return Step(unknown(), encode, decode, columns=coder if dtype.kind == "O" else None)
