"""`to_dict` and `from_dict` of codec objects: their metadata as zarr-python's users ask for it.

This module knows names and configurations. It must not know any codec.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

from omnizarr.codecs.base import Codec, Context
from omnizarr.codecs.registry import codec_spec, spec_document
from omnizarr.errors import MetadataError
from omnizarr.model import json
from omnizarr.model.codec import Json


class CodecDocument(Codec):
    """Base class of codecs: it turns them into their metadata and back."""

    __slots__ = ()

    def to_dict(self) -> dict[str, Json]:
        """Give the codec's metadata as a document of format 3 has it.

        Returns
        -------
        dict
            With "name", and "configuration" unless it is empty.

        Examples
        --------
        >>> omnizarr.codecs.GzipCodec(level=1).to_dict()
        {'name': 'gzip', 'configuration': {'level': 1}}
        """
        document: dict[str, Json] = json.plain(spec_document(self.spec()))
        return document

    @classmethod
    def from_dict(cls, data: Mapping[str, Json]) -> Self:
        """Make the codec that a document describes.

        Parameters
        ----------
        data
            As `to_dict` gives it.

        Returns
        -------
        Codec
            A codec of this class.

        Raises
        ------
        MetadataError
            If the document is that of another codec, or cannot be honoured.

        Examples
        --------
        >>> omnizarr.codecs.GzipCodec.from_dict({"name": "gzip", "configuration": {"level": 1}})
        GzipCodec(level=1, name='gzip')
        """
        made: Any = cls
        spec = codec_spec(data)
        codec: Self = made.from_spec(spec, Context())
        if codec.spec().name != spec.name:
            raise MetadataError(
                f"expected the metadata of a codec {codec.spec().name!r}, found {spec.name!r}"
            )
        return codec
