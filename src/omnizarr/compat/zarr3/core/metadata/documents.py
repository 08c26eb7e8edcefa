"""What the documents of both formats share."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from omnizarr.compat.zarr3.core.buffer.core import Buffer, BufferPrototype
from omnizarr.compat.zarr3.core.common import ZARR_JSON, ZARRAY_JSON, ZATTRS_JSON, ZGROUP_JSON


class Encoder(json.JSONEncoder):
    """Writes NumPy's numbers as Python's."""

    def default(self, o: Any) -> Any:
        """Return what JSON can write for an object."""
        return o.item() if hasattr(o, "item") else super().default(o)


def json_to_bytes(document: Any) -> bytes:
    """Return a document as bytes."""
    return json.dumps(document, indent=2, cls=Encoder).encode()


def json_to_buffer(document: Any, *, prototype: BufferPrototype) -> Buffer:
    """Return a document as a buffer."""
    return prototype.buffer.from_bytes(json_to_bytes(document))


def spelled(documents: Mapping[str, bytes], new: bool) -> dict[str, bytes]:
    """Documents of omnizarr as zarr-python writes them.

    Those of a new node get every member that has a default, and attributes beside them. In a
    document that exists, a member that is missing stays so: without a separator, chunks of both
    are found.
    """
    found = dict(documents)
    for key, data in documents.items():
        folder, name = key[: key.rfind("/") + 1], key[key.rfind("/") + 1 :]
        if new and name in (ZARRAY_JSON, ZGROUP_JSON):
            found.setdefault(folder + ZATTRS_JSON, json_to_bytes({}))
        if name == ZARRAY_JSON:
            document = json.loads(data)
            defaults = {"dimension_separator": "."} if new else {}
            changed = {**defaults, **document, "dtype": _without_order(document["dtype"])}
            if changed != document:  # sorted, as all documents of format 2 are
                found[key] = json_to_bytes(dict(sorted(changed.items())))
        elif new and name == ZARR_JSON and json.loads(data).get("node_type") == "array":
            found[key] = json_to_bytes({**json.loads(data), "storage_transformers": []})
    return found


def _without_order(data_type: Any) -> Any:
    """A data type of format 2 with "|" where an order of bytes has no meaning."""
    if isinstance(data_type, list):
        return [[name, _without_order(kind), *shape] for name, kind, *shape in data_type]
    if isinstance(data_type, str) and data_type.startswith(("<", ">")):
        try:
            return np.dtype(data_type).str
        except TypeError:
            return data_type
    return data_type


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
