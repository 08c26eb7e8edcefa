"""What the documents of both formats share."""

from __future__ import annotations

import json
from typing import Any

from omnizarr.compat.zarr3.core.buffer.core import Buffer, BufferPrototype


class Encoder(json.JSONEncoder):
    """Writes NumPy's numbers as Python's."""

    def default(self, o: Any) -> Any:
        """Return what JSON can write for an object."""
        return o.item() if hasattr(o, "item") else super().default(o)


def json_to_buffer(document: Any, *, prototype: BufferPrototype) -> Buffer:
    """Return a document as bytes."""
    text = json.dumps(document, indent=2, cls=Encoder)
    return prototype.buffer.from_bytes(text.encode())


def parse_codecs(data: Any) -> tuple[Any, ...]:
    """Return codecs, each given as one or as its document."""
    from omnizarr.compat.zarr3.core.common import parse_named_configuration
    from omnizarr.compat.zarr3.registry import get_codec_class

    found = []
    for each in data:
        if isinstance(each, dict | str):
            document = {"name": each} if isinstance(each, str) else each
            name, _ = parse_named_configuration(document, require_configuration=False)
            kind: Any = get_codec_class(name)
            found.append(kind.from_dict(document))
        else:
            found.append(each)
    return tuple(found)
