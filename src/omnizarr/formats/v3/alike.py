"""Arrays whose documents differ in their shape, chunk shape and attributes alone.

The arrays of a group are most often alike: same type, codecs, fill value. What one document has in
common with those before it is not derived again; only its lengths are checked, by the functions
that check any other document.

A text is *cut*: the values of three members are parsed, and what stands between them is its
outline. A JSON parser goes from left to right, so what it makes of a value depends on nothing but
what precedes the value, and what follows depends on nothing but where the value ends. So for two
texts of one outline it gives the same but for the values. Where they belong is found once: with a
mark in the place of each value, the outline must be a valid document that has each mark as the
member of that name. No outline of which that is not so (the name may have stood in a string, in the
attributes or in a codec) is used, nor one that was seen only once.

This module gives a node or leaves it to the parser of documents, also whatever is not as it should
be: it never says what is wrong.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from itertools import chain
from typing import Any, NamedTuple

from omnizarr import limits
from omnizarr.errors import MetadataError
from omnizarr.formats import members
from omnizarr.formats.base import Node
from omnizarr.formats.parsed_documents import is_frozen
from omnizarr.model import json
from omnizarr.model.array import ArrayModel
from omnizarr.model.codec import Json
from omnizarr.model.dtypes import plugins
from omnizarr.model.grids import regular_grid
from omnizarr.model.store import Buffer

LONGEST = 16 * 1024
"""Bytes of a document that is looked at."""
LONGEST_OUTLINE = 4 * 1024
"""Characters of one that is kept; most have 500."""
MOST_OUTLINES = 256
MOST_SEEN = 4096

_MEMBER = re.compile(r'"(shape|chunk_shape|attributes)"[ \t\r\n]*:[ \t\r\n]*')
_NUMBER = 3  # of the names above
_Outline = tuple[str, ...]


class _Sample(NamedTuple):
    """An array of an outline, and all that its facts depend on besides."""

    state: tuple[Any, ...]
    model: ArrayModel | None
    """None if the outline cannot be used."""


# Each use of these is one step of the interpreter, so they need no lock.
_samples: dict[_Outline, _Sample] = {}
_seen: set[int] = set()
"""Hashes of outlines of which there is no sample yet."""


def parsed(data: Buffer, parse: Callable[[], Node | None]) -> Node | None:
    """What `parse` makes of a document."""
    found = _cut(data)
    if found is None:
        return parse()
    outline, values = found
    state = (limits.current, plugins.registered())
    sample = _samples.get(outline)
    if sample is None or sample.state != state:
        node = parse()
        _learn(outline, values, state, node)
        return node
    node = None if sample.model is None else _another(sample.model, values)
    return parse() if node is None else node


def _cut(data: Buffer) -> tuple[_Outline, dict[str, Json]] | None:
    """The outline of a document and the values between its parts; None if it has no lengths."""
    if len(data) > LONGEST:
        return None
    pieces: list[str] = []
    values: dict[str, Json] = {}
    start = position = 0
    try:
        text = json.text(data)
        while len(values) < _NUMBER and (found := _MEMBER.search(text, position)) is not None:
            name, begin = found[1], found.end()
            if name in values:
                position = begin  # that of inner chunks, for one: it belongs to the outline
                continue
            values[name], position = json.scan(text, begin)
            pieces.append(text[start:begin])
            start = position
    except (MetadataError, ValueError, RecursionError, StopIteration):
        return None
    if "shape" not in values or "chunk_shape" not in values:
        return None
    pieces.append(text[start:])
    return tuple(pieces), values


def _learn(
    outline: _Outline, names: Iterable[str], state: tuple[Any, ...], node: Node | None
) -> None:
    """Keep an array as the sample of its outline, if that was seen before."""
    if not isinstance(node, ArrayModel) or node.repair is not None or not is_frozen(node):
        return
    if sum(map(len, outline)) > LONGEST_OUTLINE:
        return
    number = hash(outline)
    if outline not in _samples and number not in _seen:
        if len(_seen) >= MOST_SEEN:
            _seen.clear()
        _seen.add(number)
        return
    if len(_samples) >= MOST_OUTLINES:
        _samples.clear()
    _samples[outline] = _Sample(state, node if _is_sound(outline, names) else None)


def _is_sound(outline: _Outline, names: Iterable[str]) -> bool:
    """Whether the values between the parts are the members of these names."""
    marks = {name: f"\0{name}" for name in names}
    if any("\\u0000" in piece for piece in outline):
        return False  # a string there could be like a mark
    written = [json.dumps(mark) for mark in marks.values()]
    try:
        found = json.loads("".join(chain(*zip(outline, written, strict=False), outline[-1:])))
    except MetadataError:
        return False
    match found:
        case {"chunk_grid": {"name": "regular", "configuration": {"chunk_shape": lengths}}}:
            places = {**found, "chunk_shape": lengths}
            return all(places.get(name) == mark for name, mark in marks.items())
    return False


def _another(sample: ArrayModel, values: Mapping[str, Json]) -> ArrayModel | None:
    """The array of the same outline with other values; None if they are not as they must be."""
    try:
        shape = members.lengths(values["shape"], "shape", 0)
        chunks = members.lengths(values["chunk_shape"], "chunk_shape", 1)
        attributes = members.attributes(values.get("attributes", sample.attributes))
        if len(shape) != sample.ndim:
            return None
        grid = regular_grid(shape, chunks)
    except MetadataError:
        return None
    stored = sample.document["chunk_grid"]
    configuration = {**stored["configuration"], "chunk_shape": values["chunk_shape"]}
    document = {
        **sample.document,
        "shape": values["shape"],
        "chunk_grid": {**stored, "configuration": configuration},
    }
    if "attributes" in values:
        document["attributes"] = attributes
    return ArrayModel(
        shape=shape,
        data_type=sample.data_type,
        grid=grid,
        keys=sample.keys,
        codecs=sample.codecs,
        fill_value=sample.fill_value,
        attributes=attributes,
        dimension_names=sample.dimension_names,
        order=sample.order,
        document=document,
    )
