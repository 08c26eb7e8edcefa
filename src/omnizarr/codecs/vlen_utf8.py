"""`vlen-utf8`: text of any length, each item as UTF-8 behind its length.

Spec: zarr-extensions, codecs/vlen-utf8. Alias: `numcodecs.vlen-utf8` (v2 `vlen-utf8`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from omnizarr.codecs import vlen
from omnizarr.codecs.base import ArrayStage, CodecKind, LibraryErrors, Step, unknown
from omnizarr.codecs.configuration import ConfiguredCodec
from omnizarr.codecs.loader import library
from omnizarr.codecs.vlen_bytes import VLenBytesCodec
from omnizarr.errors import DecodeError, MetadataError
from omnizarr.keywords import suggesting
from omnizarr.model.column import TEXT
from omnizarr.model.grids import NDArray
from omnizarr.model.store import Buffer
from omnizarr.runtime import native_core


@suggesting
@dataclass(frozen=True)
class VLenUTF8Codec(ConfiguredCodec):
    """Strings of any length, each as UTF-8 behind its length.

    Examples
    --------
    >>> omnizarr.codecs.VLenUTF8Codec().name
    'vlen-utf8'
    """

    kind: ClassVar[CodecKind] = "array-bytes"
    name: str = "vlen-utf8"
    """Its name in metadata: numcodecs' spelling of the codec is another one."""

    def prepare(self, stage: ArrayStage) -> Step:
        name, shape, dtype = self.name, stage.shape, stage.dtype
        if stage.type_name == "bytes":
            return VLenBytesCodec(name).prepare(stage)  # text that is asked for as it is stored
        # v2 arrays of zarr-python 3.0 use it for `<U…` and `|S…` too.
        if dtype.kind not in "OTUS":
            raise MetadataError(f"codec {name!r}: encodes text, not {dtype}")
        decoder = library("numcodecs.vlen", name).VLenUTF8()
        coder = vlen.columns(name, stage, text=True)
        offered = coder if dtype.kind in "OT" else None

        def encode(array: NDArray) -> bytes:
            return vlen.encode_array(name, coder, array, text=True)

        def decode(data: Buffer) -> NDArray:
            if dtype.kind == "T":
                if native_core.core() is None:
                    return coder.decode(data).numpy(dtype)
                vlen.check_count(name, stage, data)  # before memory is taken for so many
                out = np.empty(shape, dtype)
                decode_into(data, out)
                return out
            found = vlen.objects(name, decoder, stage, coder, data)
            items = found.tolist()
            vlen.check_end(name, data, [len("".join(items).encode())], len(items))
            if dtype.kind == "O":
                return found.reshape(shape)
            if dtype.kind == "S":
                items = [item.encode() for item in items]
            return np.array(items, dtype).reshape(shape)

        def decode_into(data: Buffer, out: NDArray) -> None:
            core = native_core.core()
            plain = np.asarray(out)  # a subclass could run code of its own
            if core is None or plain.dtype != TEXT or not plain.flags.c_contiguous:
                out[...] = decode(data)
                return
            vlen.check_count(name, stage, data)
            with LibraryErrors(DecodeError, name, ValueError):
                core.frame_text(data, plain.reshape(-1))

        return Step(unknown(), encode, decode, decode_into=decode_into, columns=offered)
