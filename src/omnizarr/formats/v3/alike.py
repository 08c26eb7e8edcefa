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
from collections.abc import Callable
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
MOST_MISSED = 64
"""After so many documents in a row that were like none, only one of `EACH` is looked at."""
EACH = 8

_MEMBER = re.compile(r'"(shape|chunk_shape|attributes)"[ \t\r\n]*:[ \t\r\n]*')
_NUMBER = 3  # of the names above
_NO_VALUE = (MetadataError, ValueError, RecursionError, StopIteration)

_Outline = tuple[str, ...]
_Values = dict[str, Json]
"""What stands between the parts of an outline, by name and in order."""


class _Sample(NamedTuple):
    """An array of an outline, and what its facts depend on besides."""

    outline: _Outline
    names: tuple[str, ...]
    state: tuple[Any, ...]
    model: ArrayModel | None
    """None if the outline cannot be used."""


class _Kept:
    """Each use of it is one step of the interpreter, so it needs no lock."""

    def __init__(self) -> None:
        self.samples: dict[_Outline, _Sample] = {}
        self.seen: set[int] = set()
        """Hashes of outlines of which there is no sample yet."""
        self.missed = 0
        """How many documents in a row were like none."""
        self.last: _Sample | None = None
        """The sample that was used last: most often the next document is of its outline too."""


_kept = _Kept()


def parsed(data: Buffer, parse: Callable[[], Node | None]) -> Node | None:
    """What `parse` makes of a document."""
    _kept.missed += 1
    if len(data) > LONGEST or (_kept.missed > MOST_MISSED and _kept.missed % EACH):
        return parse()
    try:
        outline, values, sample = _look(json.text(data))
    except _NO_VALUE:
        return parse()
    state = (limits.current, plugins.registered())
    if sample is None or sample.state != state:
        node = parse()
        if isinstance(node, ArrayModel) and "shape" in values and "chunk_shape" in values:
            _learn(_Sample(outline, tuple(values), state, node))
        return node
    if sample.model is None:
        return parse()
    _kept.last, _kept.missed = sample, 0
    return _another(sample.model, values) or parse()


def _look(text: str) -> tuple[_Outline, _Values, _Sample | None]:
    """The outline of a text, the values, and the sample of the outline."""
    last = _kept.last
    values = None if last is None else _values(text, last)
    if last is not None and values is not None:
        return last.outline, values, last
    outline, values = _cut(text)
    return outline, values, _kept.samples.get(outline)


def _cut(text: str) -> tuple[_Outline, _Values]:
    """The outline of a text, and the values."""
    pieces: list[str] = []
    values: _Values = {}
    start = position = 0
    while len(values) < _NUMBER and (found := _MEMBER.search(text, position)) is not None:
        name, begin = found[1], found.end()
        if name in values:
            position = begin  # that of inner chunks, for one: it belongs to the outline
            continue
        values[name], position = json.scan(text, begin)
        pieces.append(text[start:begin])
        start = position
    return (*pieces, text[start:]), values


def _values(text: str, sample: _Sample) -> _Values | None:
    """The same values if the text has the outline of the sample."""
    values: _Values = {}
    end = 0
    for name, piece in zip(sample.names, sample.outline, strict=False):
        if not text.startswith(piece, end):
            return None
        values[name], end = json.scan(text, end + len(piece))
    return values if text[end:] == sample.outline[-1] else None


def _learn(sample: _Sample) -> None:
    """Keep the sample of an outline that was seen before."""
    outline, model = sample.outline, sample.model
    if model is None or model.repair is not None or not is_frozen(model):
        return
    if sum(map(len, outline)) > LONGEST_OUTLINE:
        return
    samples, seen, number = _kept.samples, _kept.seen, hash(outline)
    if outline not in samples and number not in seen:
        if len(seen) >= MOST_SEEN:
            seen.clear()
        seen.add(number)
        return
    if len(samples) >= MOST_OUTLINES:
        samples.clear()
    samples[outline] = sample if _is_sound(sample) else sample._replace(model=None)


def _is_sound(sample: _Sample) -> bool:
    """Whether the values between the parts of the outline are the members of these names."""
    outline = sample.outline
    marks = {name: f"\0{name}" for name in sample.names}
    if any("\\u0000" in piece for piece in outline):
        return False  # a string there could be like a mark
    written = (*map(json.dumps, marks.values()), "")
    try:
        found = json.loads("".join(chain(*zip(outline, written, strict=True))))
    except MetadataError:
        return False
    match found:
        case {"chunk_grid": {"name": "regular", "configuration": {"chunk_shape": lengths}}}:
            places = {**found, "chunk_shape": lengths}
            return all(places.get(name) == mark for name, mark in marks.items())
    return False


def _another(sample: ArrayModel, values: _Values) -> ArrayModel | None:
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
    document, stored = dict(sample.document), dict(sample.document["chunk_grid"])
    stored["configuration"] = {**stored["configuration"], "chunk_shape": values["chunk_shape"]}
    document["shape"], document["chunk_grid"] = values["shape"], stored
    if "attributes" in values:
        document["attributes"] = attributes
    return sample.alike(shape, grid, attributes, document)
