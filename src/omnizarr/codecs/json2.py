"""`numcodecs.json2`: objects as a JSON list, with dtype and shape at its end. v2: `json2`.

Alias: `numcodecs.json` (v2 `json`), the form before numcodecs 0.6, without the shape.
Configuration: that of Python's JSON encoder; on reading only `encoding` and `strict` matter.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, ClassVar

from omnizarr.codecs.base import ArrayStage, CodecKind, Context, Step
from omnizarr.codecs.document import CodecDocument
from omnizarr.codecs.objects import objects_step
from omnizarr.errors import MetadataError
from omnizarr.model.codec import CodecSpec
from omnizarr.model.json import show
from omnizarr.model.store import Buffer

HOLDS = "None, bool, int, float, str, and lists and dicts of these"
DEFAULTS: Mapping[str, Any] = {
    "encoding": "utf-8",
    "skipkeys": False,
    "ensure_ascii": True,
    "check_circular": True,
    "allow_nan": True,
    "sort_keys": True,
    "indent": None,
    "separators": [",", ":"],
    "strict": True,
}

ENCODINGS = (
    *("utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-32-be"),
    *("ascii", "iso8859-1"),
)
"""Python has others, some of which take quadratic time (punycode) or give no text (base64)."""
_WORD = re.compile(r"[A-Za-z0-9_ :.-]{1,32}\Z")
WIDEST = 64
"""Most characters of an indent or a separator: they are written with every item."""


@dataclass(frozen=True)
class JSON2Codec(CodecDocument):
    kind: ClassVar[CodecKind] = "array-bytes"
    configuration: Mapping[str, Any] = field(default_factory=dict, hash=False)
    name: str = "numcodecs.json2"

    @classmethod
    def from_spec(cls, spec: CodecSpec, context: Context) -> JSON2Codec:
        return cls({**DEFAULTS, **spec.configuration}, spec.name)

    def spec(self) -> CodecSpec:
        return CodecSpec(self.name, {**DEFAULTS, **self.configuration})

    def prepare(self, stage: ArrayStage) -> Step:
        name = self.name
        options = {**DEFAULTS, **self.configuration}
        encoding = _encoding(name, options["encoding"])
        indent, separators = _spacing(name, options["indent"], options["separators"])
        try:
            encoder = json.JSONEncoder(
                skipkeys=bool(options["skipkeys"]),
                ensure_ascii=bool(options["ensure_ascii"]),
                check_circular=True,
                allow_nan=bool(options["allow_nan"]),
                sort_keys=bool(options["sort_keys"]),
                indent=indent,
                separators=separators,
            )
        except (LookupError, TypeError, ValueError) as error:
            raise MetadataError(f"codec {name!r}: {error}") from error
        decoder = json.JSONDecoder(strict=bool(options["strict"]))
        trailer = 1 if name == "numcodecs.json" else 2

        def encode_one(value: Any) -> bytes:
            return encoder.encode(value).encode(encoding)

        def decode_one(data: Buffer) -> Any:
            return decoder.decode(str(data, encoding))

        failures = (ValueError, RecursionError)
        return objects_step(name, stage, trailer, encode_one, decode_one, failures, HOLDS)


def _encoding(name: str, value: Any) -> str:
    """An encoding under the name that Python has for it."""
    found = None
    if isinstance(value, str) and _WORD.match(value):
        with suppress(LookupError):
            found = codecs.lookup(value).name
    if found not in ENCODINGS:
        raise MetadataError(
            f"codec {name!r}: encoding must be one of {', '.join(ENCODINGS)}; found {show(value)}"
        )
    return found


def _spacing(name: str, indent: Any, separators: Any) -> tuple[Any, tuple[str, str]]:
    """The indent and the separators, if they are short."""
    count = len(indent) if isinstance(indent, str) else indent
    if count is not None and not (isinstance(count, int) and abs(count) <= WIDEST):
        raise MetadataError(
            f"codec {name!r}: indent must be at most {WIDEST} characters, found {show(indent)}"
        )
    match separators or (",", ":"):
        case [str(item), str(key)] if max(len(item), len(key)) <= WIDEST:
            return indent, (item, key)
    raise MetadataError(
        f"codec {name!r}: separators must be two strings of at most {WIDEST} characters, found"
        f" {show(separators)}"
    )
