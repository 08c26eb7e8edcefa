"""Arrays with codecs that every reader of their format has.

Format 3 takes codecs of zarr-python 2 under names of their own (`numcodecs.zlib`), so that a
conversion need not encode a chunk again. Few libraries but zarr-python know them. In format 2 the
same is true of checksums, which HDF5 files have. Data that is shown to other readers is encoded
again without these codecs.

This module knows names of codecs. It must not know what they do.
"""

from __future__ import annotations

from dataclasses import replace

from omnizarr.formats.base import Format
from omnizarr.formats.core_codecs import PREFIX
from omnizarr.formats.translation.nodes import Choices, Translation, translate_array

_CHECKSUMS = frozenset(
    {"crc32c", *(f"{PREFIX}{name}" for name in ("adler32", "crc32", "crc32c", "fletcher32"))}
)


def widely_read(translation: Translation, target: Format) -> Translation:
    """The same array with the codecs of the specification in place of others."""
    model = translation.model
    kept = tuple(spec for spec in model.codecs if not spec.name.startswith(PREFIX))
    if target.name != 3 or len(kept) == len(model.codecs):
        return without_checksums(translation, target)
    choices = Choices(reencode=True, compressors="auto")
    made = translate_array(replace(model, codecs=kept), target, target, choices)
    notes = (*translation.notes, "codecs chosen anew")
    return replace(translation, model=made.model, notes=notes)


def without_checksums(translation: Translation, target: Format) -> Translation:
    """The same array without the checksums that few readers of format 2 know."""
    model = translation.model
    kept = tuple(spec for spec in model.codecs if spec.name not in _CHECKSUMS)
    if target.name != 2 or len(kept) == len(model.codecs):
        return translation
    return replace(translation, model=replace(model, codecs=kept))
