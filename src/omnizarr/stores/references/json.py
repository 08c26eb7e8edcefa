"""Reference documents of kerchunk: version 0, a mapping of keys; version 1, with templates.

    "key": "text"                      the value itself
    "key": "base64:…"                  the value itself, encoded
    "key": {…}                         the value itself, a JSON document
    "key": ["url"]                     a whole file
    "key": ["url", offset, length]     a part of a file

Version 1 is {"version": 1, "templates": {name: text}, "gen": […], "refs": {…}}: URLs may hold
`{{name}}`, and each entry of `gen` makes a reference for every combination of its dimensions.

This module knows the document. It must not know where files are.
"""

from __future__ import annotations

import gzip
import zlib
from base64 import b64decode
from collections.abc import Iterable, Iterator, Mapping
from io import BytesIO
from itertools import product
from typing import Any, NamedTuple

from omnizarr import limits
from omnizarr.errors import MetadataError
from omnizarr.model import json
from omnizarr.model.codec import Json
from omnizarr.model.json import show
from omnizarr.model.paths import is_key
from omnizarr.model.store import Buffer, Listing, listing_of
from omnizarr.stores.references.template import TOKEN, Budget, Value, integer, least_cost, render

MOST_GENERATED = 1 << 20
"""How many references all entries of `gen` together may make."""
MOST_WORK = 1 << 29
"""How much work that may take, as `Budget` counts it."""
MOST_PIECES = 1 << 16
"""How many members or frames a packed file may be made of."""
BASE64 = "base64:"
_KEPT = 32 * limits.MIB
"""How much of rendered URLs is kept, in bytes."""


class FileSpan(NamedTuple):
    """A span of a file, from `offset`; `size` None means all of the file."""

    url: str | None
    offset: int
    size: int | None


Reference = bytes | FileSpan


class Document:
    """The references of a document; each is parsed when it is first read."""

    def __init__(self, document: Json, templates: Mapping[str, str] | None = None) -> None:
        if not isinstance(document, Mapping):
            raise MetadataError(f"expected an object of references, found {show(document)}")
        self._names: dict[str, Value] = {}
        self._urls: dict[str, str] = {}
        self._kept = 0
        version = document.get("version")
        if version is None:
            self._references: dict[str, Any] = dict(document)
        elif version == 1 and not isinstance(version, bool):
            self._references = self._of_version_1(document, templates or {})
        else:
            raise MetadataError(
                f"a reference document has no version, or version 1; found {show(version)}"
            )

    def _of_version_1(
        self, document: Mapping[str, Json], templates: Mapping[str, str]
    ) -> dict[str, Any]:
        given = document.get("templates", {})
        refs = document.get("refs", {})
        generators = document.get("gen", [])
        if not isinstance(given, Mapping) or not isinstance(refs, Mapping):
            raise MetadataError("'templates' and 'refs' of a reference document must be objects")
        if not isinstance(generators, list):
            raise MetadataError("'gen' of a reference document must be a list")
        for name, text in {**given, **templates}.items():
            if not isinstance(text, str):
                raise MetadataError(f"the template {show(name)} must be text, found {show(text)}")
            self._names[name] = text
        references = dict(refs)
        left = MOST_GENERATED
        budget = Budget(MOST_WORK)
        known = dict(self._names)
        for index, generator in enumerate(generators):
            try:
                for key, made in _generated(generator, known, left, budget):
                    left -= 1
                    references[key] = made
            except MetadataError as error:
                raise error.at(f"gen[{index}]") from error
        return references

    def get(self, key: str) -> Reference | None:
        value = self._references.get(key)
        if value is None:
            return None
        try:
            return self._understood(value)
        except MetadataError as error:
            raise error.at(f"the reference of {key!r}") from error

    def _understood(self, value: Any) -> Reference:
        if isinstance(value, str):
            return inline(value)
        if isinstance(value, bytes):
            return value
        if isinstance(value, Mapping):
            return json.dumps(value).encode()
        if not isinstance(value, list | tuple) or len(value) not in (1, 3):
            raise MetadataError(f"expected text, [url] or [url, offset, size]; found {show(value)}")
        url = value[0]
        if url is not None and not isinstance(url, str):
            raise MetadataError(f"a URL must be text, found {show(url)}")
        if url is not None and self._names and "{{" in url:
            url = self._rendered(url)
        if len(value) == 1:
            return FileSpan(url, 0, None)
        return FileSpan(url, *(integer(number, {}, Budget(0)) for number in value[1:]))

    def _rendered(self, url: str) -> str:
        done = self._urls.get(url)
        if done is None:
            done = render(url, self._names, Budget())
            self._kept += len(url) + len(done) + 200
            if self._kept < _KEPT:
                self._urls[url] = done
        return done

    def keys(self, prefix: str) -> Iterator[str]:
        found = (key for key, value in self._references.items() if value is not None)
        return iter(sorted(key for key in found if key.startswith(prefix) and is_key(key)))

    def list_dir(self, prefix: str) -> Listing:
        return listing_of(self.keys(prefix), prefix)


def inline(text: str) -> bytes:
    if not text.startswith(BASE64):
        try:
            return text.encode()
        except UnicodeEncodeError as error:
            raise MetadataError(f"text that is not encodable as UTF-8: {error}") from error
    try:
        return b64decode(text[len(BASE64) :], validate=True)
    except ValueError as error:
        raise MetadataError(f"broken base64 text: {error}") from error


def _generated(
    generator: Json, known: dict[str, Value], most: int, budget: Budget
) -> Iterator[tuple[str, list[Any]]]:
    """The references of one generator. Its dimensions are in `known` while it runs."""
    if not isinstance(generator, Mapping) or not isinstance(generator.get("dimensions"), Mapping):
        raise MetadataError("expected an object with 'key', 'url' and 'dimensions'")
    key, url = generator.get("key"), generator.get("url")
    if not isinstance(key, str) or not isinstance(url, str):
        raise MetadataError(f"'key' and 'url' must be text, found {show(key)} and {show(url)}")
    if ("offset" in generator) != ("length" in generator):
        raise MetadataError("'offset' and 'length' come together or not at all")
    dimensions = {str(name): _steps(value) for name, value in generator["dimensions"].items()}
    count = _combinations(dimensions.values(), most)
    numbers = [generator[name] for name in ("offset", "length") if name in generator]
    texts = [key, url, *(number for number in numbers if isinstance(number, str))]
    fixed = TOKEN * (1 + len(dimensions))  # the least that any reference costs
    if count * (fixed + sum(map(least_cost, texts))) > budget.left:
        raise MetadataError(
            f"{count} references from templates of {sum(map(len, texts))} characters are more work"
            " than is done for one reference document"
        )
    hidden = {name: known[name] for name in dimensions if name in known}
    try:
        # `product` would copy the other dimensions even if one is empty.
        for combination in product(*dimensions.values()) if count else ():
            budget.spend(fixed)
            known.update(zip(dimensions, combination, strict=True))
            made: list[Any] = [render(url, known, budget)]
            made += [integer(number, known, budget) for number in numbers]
            yield render(key, known, budget), made
    finally:
        for name in dimensions:
            known.pop(name, None)
        known.update(hidden)


def _combinations(dimensions: Iterable[range | list[Value]], most: int) -> int:
    """The number of combinations; raises if it is more than `most`."""
    lengths = [len(steps) for steps in dimensions]
    if 0 in lengths:
        return 0
    count = 1
    for length in lengths:
        count *= length
        if count > most:
            raise MetadataError(f"would make more references than the {most} that it may")
    return count


def _steps(value: Json) -> range | list[Value]:
    if isinstance(value, list):
        if not all(isinstance(item, str | int) and not isinstance(item, bool) for item in value):
            raise MetadataError("a dimension is a list of numbers and text, or a range")
        return value
    if isinstance(value, Mapping):
        bounds = [value.get("start", 0), value.get("stop"), value.get("step", 1)]
        if all(isinstance(bound, int) and abs(bound) < 1 << 62 for bound in bounds) and bounds[2]:
            return range(*bounds)
    raise MetadataError(
        f"a dimension is a list, or a range {{'start', 'stop', 'step'}}; found {show(value)}"
    )


# -- files --------------------------------------------------------------------------------------

_GZIP = b"\x1f\x8b\x08"
"""Every member of a gzip file begins with these bytes."""
_ZSTD = b"\x28\xb5\x2f\xfd"
_BLOCK = 1 << 17


def parse(data: Buffer, where: str) -> Json:
    """The document in a file that may be packed with gzip or zstd; never more than the limits."""
    begin = bytes(data[:4])
    try:
        if begin[:3] == _GZIP:
            data = _gunzipped(data)
        elif begin == _ZSTD:
            data = _unzstandard(data)
    except MetadataError as error:
        raise error.at(where) from error
    return json.loads(data, where)


def _gunzipped(data: Buffer) -> bytes:
    cap = limits.current.max_document_bytes
    packed = bytes(data)
    if packed.count(_GZIP) > MOST_PIECES:
        raise MetadataError(f"the gzip file has more than {MOST_PIECES} members")
    try:
        with gzip.GzipFile(fileobj=BytesIO(packed)) as file:
            found = file.read(cap + 1)
    except EOFError as error:
        raise MetadataError("the gzip file is truncated") from error
    except (OSError, zlib.error) as error:
        raise MetadataError(f"broken gzip file: {error}") from error
    if len(found) > cap:
        raise MetadataError(f"unpacks to more than limits.max_document_bytes, {cap} bytes")
    return found


def _unzstandard(data: Buffer) -> bytes:
    from numcodecs import zstd

    cap = limits.current.max_document_bytes
    pieces: list[bytes] = []
    most = 0
    for number, (frame, bound) in enumerate(_frames(memoryview(data))):
        if number >= MOST_PIECES:
            raise MetadataError(f"the zstd file has more than {MOST_PIECES} frames")
        most += bound
        if most > cap:
            raise MetadataError(f"may unpack to {most} bytes; limits.max_document_bytes is {cap}")
        try:
            pieces.append(bytes(zstd.decompress(bytes(frame))))
        except RuntimeError as error:
            raise MetadataError(f"broken zstd file: {error}") from error
    return b"".join(pieces)


def _frames(view: memoryview) -> Iterator[tuple[memoryview, int]]:
    """Every frame, and the most that it can unpack to. RFC 8878, section 3.1.1."""
    position = 0
    while position < len(view):
        begin = position
        if view[position : position + 4] != _ZSTD:
            raise MetadataError("broken zstd file: no frame where one must begin")
        flags = view[position + 4] if position + 4 < len(view) else 0
        single = bool(flags & 32)
        content = (int(single), 2, 4, 8)[flags >> 6]
        position += 5 + (not single) + (0, 1, 2, 4)[flags & 3]
        declared = int.from_bytes(view[position : position + content], "little")
        declared += 256 if content == 2 else 0
        position += content
        bound = 0
        last = False
        while not last:
            header = int.from_bytes(view[position : position + 3], "little")
            last, kind, size = bool(header & 1), header >> 1 & 3, header >> 3
            position += 3 + (1 if kind == 1 else size)
            bound += _BLOCK if kind == 2 else size
            if position > len(view) or kind == 3:
                raise MetadataError("broken zstd file: it is truncated")
        position += 4 if flags & 4 else 0
        if content and declared > bound:
            raise MetadataError(f"broken zstd file: {declared} bytes are declared")
        yield view[begin:position], bound
