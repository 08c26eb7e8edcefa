"""From a node of one format to the same node in another.

A node is described once more as a request and given to the target format, which says what it
cannot express (`UnsupportedError.what`). What may then be left out or chosen anew is up to the
caller; what remains is refused with the node's path and the option that would help. Nothing is
lost silently: the result is compared with what was asked for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from omnizarr.errors import MetadataError, Option, Part, UnsupportedError
from omnizarr.formats import dimensions
from omnizarr.formats.base import DEFAULT, ArrayRequest, Format, Node, Registering
from omnizarr.formats.core_codecs import (
    ARRAY_TO_ARRAY,
    ARRAY_TO_BYTES,
    BYTES_TO_BYTES,
    PREFIX,
    inner_specs,
)
from omnizarr.formats.nczarr import markers
from omnizarr.formats.translation.chunk_bytes import same_encoding, same_fill
from omnizarr.formats.translation.codecs import (
    parts_of,
    portable,
    readable,
    unchecked,
)
from omnizarr.formats.translation.fill_values import FillValues, Meaning, translated
from omnizarr.formats.v3.document import ARRAY_MEMBERS, CONSOLIDATED, GROUP_MEMBERS
from omnizarr.model.array import ArrayModel, GroupModel
from omnizarr.model.axes import SHARDING, inner_chunks
from omnizarr.model.codec import CodecSpec, Json
from omnizarr.model.dtypes import Object
from omnizarr.model.grids import RegularAxis
from omnizarr.model.json import show

DROPPABLE: tuple[Part, ...] = ("groups", "attributes", "dimension_names", "fill_value")
Keep = Literal["keep"]


@dataclass(frozen=True)
class Choices:
    """What a caller allows and wants, beyond the target format."""

    drop: frozenset[Part] = frozenset()
    """Parts that may be left out where the target cannot express them."""
    reencode: bool = False
    """Codecs, shards and chunks may be the target's own where it cannot express the given ones."""
    chunks: tuple[int | tuple[int, ...], ...] | None = None
    shards: tuple[int | tuple[int, ...], ...] | Literal[False] | None = None
    """None keeps what is there."""
    compressors: Sequence[CodecSpec] | Keep | Literal["auto", "fast"] | None = "keep"
    same_keys: bool = False
    """Chunks must keep their keys."""
    fill_values: FillValues | None = None
    """Whose meaning of fill values is kept between formats 2 and 3: see `fill_values`."""


@dataclass(frozen=True)
class Translation:
    model: ArrayModel
    dropped: tuple[Part, ...]
    notes: tuple[str, ...]
    explicit: bool = False
    """Missing chunks must be written, for the fill value does not stand for them."""


def translate_group(
    model: GroupModel, source: Format, target: Format, choices: Choices
) -> tuple[GroupModel | None, tuple[Part, ...], tuple[str, ...]]:
    """The group in the target format (None if it has no groups and they may be left out), the
    parts that were left out, and what a user should know."""
    notes = [*_unknown(model.document, GROUP_MEMBERS)]
    if _leaves_dialect(source, target):
        notes += () if isinstance(target, Registering) else _undeclared(model)
        model = replace(model, attributes=markers.without(model.attributes))
    try:
        return target.new_group(model.attributes), (), tuple(notes)
    except UnsupportedError as error:
        if error.what not in choices.drop:
            raise
        if error.what == "attributes":
            return target.new_group({}), ("attributes",), ("attributes left out",)
        if error.what != "groups":
            raise
        note = "group left out" + (" with its attributes" if model.attributes else "")
        return None, ("groups",), (note,)


def translate_array(
    model: ArrayModel, source: Format, target: Format, choices: Choices
) -> Translation:
    """The array in the target format; UnsupportedError where that is impossible."""
    if _leaves_dialect(source, target):
        model = replace(model, attributes=markers.without(model.attributes))
    meaning = translated(model, source, target, choices.fill_values)
    request = _request(model, source, target, choices, meaning)
    dropped: list[Part] = []
    # What an extension says may depend on chunks and codecs.
    changes = choices.chunks is not None or choices.shards is not None
    kept = source is target and not changes and choices.compressors == "keep"
    notes = [] if kept else [*_unknown(model.document, ARRAY_MEMBERS)]
    if request.dimension_names is None and model.dimension_names is not None:
        dropped.append("dimension_names")
        names = request.attributes[dimensions.ATTRIBUTE]
        notes.append(f"dimension names left out: {dimensions.ATTRIBUTE} says {show(names)}")
    while True:
        try:
            filled = "fill_value" not in dropped and not meaning.explicit
            made = _make(model, target, request, filled=filled)
            if same_encoding(model, made) and request.codecs is not None:
                as_told = replace(request, codecs=unchecked(request.codecs, model.document))
                made = _make(model, target, as_told, filled=filled)
            if model.fill_value is None and made.fill_value is not None and filled:
                notes.append(f"no fill value: format {target.name} says {_shown(made)}")
            if kept:
                made = replace(made, document={**made.document, **_extensions(model)})
            if meaning.note is not None:
                notes.append(meaning.note)
            return Translation(made, tuple(dropped), tuple(notes), meaning.explicit)
        except UnsupportedError as error:
            relaxed = _relaxed(model, request, error.what, choices)
            if relaxed is None or relaxed[1] in notes:
                raise
            request, note = relaxed
            if error.what in DROPPABLE:
                dropped.append(error.what)
            notes.append(note)


def _leaves_dialect(source: Format, target: Format) -> bool:
    """Whether markers of NCZarr would not follow the changes of a node any more, or are made anew.
    A node that is converted in place may be known by its format alone."""
    return source.name != target.name or (isinstance(target, Registering) and source is not target)


def _undeclared(model: GroupModel) -> list[str]:
    """A note of dimensions that were unlimited, for which other formats have no word."""
    try:
        marker = markers.group_marker(model.attributes)
    except MetadataError:
        return []
    found = {} if marker is None else marker.dimensions
    names = [name for name, (_, unlimited) in found.items() if unlimited]
    return [f"not declared as unlimited any more: {', '.join(names)}"] if names else []


def without_spelling(model: ArrayModel) -> ArrayModel:
    """The same array of the same format, for which a new document is made."""
    return replace(model, document=_extensions(model))


def new_group(model: GroupModel, target: Format) -> GroupModel:
    """The same group of the same format with a new document."""
    made = target.new_group(model.attributes)
    return replace(made, document={**made.document, **_extensions(model, GROUP_MEMBERS)})


def left_out(before: Node, after: Node) -> tuple[str, ...]:
    """A note of members with content that the new document does not have."""
    names = [
        name
        for name in sorted(before.document.keys() - after.document.keys() - {CONSOLIDATED})
        if before.document[name] not in (None, [], {})
    ]
    return (f"members not in the specification left out: {', '.join(names)}",) if names else ()


def _extensions(
    model: ArrayModel | GroupModel, known: frozenset[str] = ARRAY_MEMBERS
) -> dict[str, Json]:
    """The members of format 3 that need not be understood."""
    document = model.document
    if "node_type" not in document:
        return {}
    return {name: document[name] for name in sorted(document.keys() - known)}


def _unknown(document: Mapping[str, Json], known: frozenset[str]) -> tuple[str, ...]:
    """A note of the extensions of format 3 that no other document takes over."""
    if document.get("zarr_format") != 3 or "node_type" not in document:
        return ()
    names = sorted(document.keys() - known)
    return (f"members not known here are left out: {', '.join(names)}",) if names else ()


def _make(model: ArrayModel, target: Format, request: ArrayRequest, *, filled: bool) -> ArrayModel:
    _check_codecs(target, request)
    try:
        made = _new(target, request)
    except UnsupportedError as error:
        if error.what != "fill_value" or not same_fill(model, replace(model, fill_value=None)):
            raise
        made = _new(target, replace(request, fill_value=None))  # which reads the same
    if filled and not same_fill(model, made):
        # A format that always has a fill value takes "none" for a default of its own.
        made = _new(target, replace(request, fill_value=model.fill))
        if not same_fill(model, made):
            raise UnsupportedError(
                f"format {target.name} cannot express the fill value {_shown(model)}: it would read"
                f" as {_shown(made)}",
                what="fill_value",
            )
    _check_kept(request, made, target)
    return made


def _shown(model: ArrayModel) -> str:
    """The fill value, its bits where it is a NaN of its own."""
    return show(model.data_type.fill_to_json(model.fill))


def _new(target: Format, request: ArrayRequest) -> ArrayModel:
    try:
        return target.new_array(request)
    except UnsupportedError as error:
        if error.what == "codecs" and _is_sharded(request.codecs or ()):
            raise UnsupportedError(str(error), what="shards") from error
        if error.what == "codecs" and request.order == "F" and len(request.shape) < 2:
            return _new(target, replace(request, order="C"))  # both are the same there
        if error.what is not None or request.separator is None or request.key_encoding is not None:
            raise
        # How chunks are named is no part of what an array means.
        return target.new_array(replace(request, separator=None))
    except MetadataError as error:
        if _misfit(request):
            raise UnsupportedError(
                f"the array keeps its shards {request.shards}, which must be a whole multiple of"
                f" the new chunks {request.chunks}"
            ).advise("{} removes the shards; or choose others", ("shards", False)) from error
        raise UnsupportedError(
            f"format {target.name} cannot express the array: {error}", what="codecs"
        ) from error


def _misfit(request: ArrayRequest) -> bool:
    """Whether shards that are kept do not consist of whole chunks of a new length."""
    return request.shards is not None and any(
        isinstance(chunk, int)
        and any(n % chunk for n in (edge if isinstance(edge, tuple) else (edge,)))
        for edge, chunk in zip(request.shards, request.chunks, strict=True)
    )


# -- asking -----------------------------------------------------------------------------------


def _request(
    model: ArrayModel, source: Format, target: Format, choices: Choices, meaning: Meaning
) -> ArrayRequest:
    data_type, codecs = portable(model, native=target.name == 3)
    if target.name == 3:
        codecs = tuple(readable(codecs))
    names = model.dimension_names
    attributes = dict(meaning.attributes)
    if not source.name == target.name == 3:  # where the attribute is one like any other
        attributes = dimensions.strip(attributes, names)
    if names is not None and dimensions.ATTRIBUTE in attributes and target.name != 3:
        if "dimension_names" not in choices.drop:
            raise UnsupportedError(
                f"format {target.name} keeps dimension names in the attribute"
                f" {dimensions.ATTRIBUTE}, which says something else here:"
                f" {attributes[dimensions.ATTRIBUTE]!r}, not {list(names)!r}",
                what="dimension_names",
            )
        names = None
    request = ArrayRequest(
        shape=model.shape,
        data_type=data_type,
        chunks=model.grid.edges,
        codecs=codecs,
        fill_value=meaning.fill_value,
        order=_order(model),
        separator=model.keys.separator,
        key_encoding=_key_encoding(model, source, target, choices),
        dimension_names=names,
        attributes=attributes,
    )
    return _chosen(request, codecs, choices)


def _key_encoding(
    model: ArrayModel, source: Format, target: Format, choices: Choices
) -> Literal["default", "v2"] | None:
    """Format 3 can name chunks as format 2 does; it need not, unless they stay where they are."""
    kept = choices.same_keys or source.name == target.name
    return "v2" if target.name == 3 and kept and model.keys.name != "default" else None


def _order(model: ArrayModel) -> Literal["C", "F"]:
    """Column-major order only where the codecs say so, or where there is nothing to reverse."""
    if model.ndim < 2:
        return model.order
    first = model.codecs[0] if model.codecs else None
    reverses = first is not None and first.name == "transpose"
    return model.order if reverses else "C"


def _chosen(request: ArrayRequest, codecs: Sequence[CodecSpec], choices: Choices) -> ArrayRequest:
    """The request with the caller's own chunks, shards and compressors."""
    if choices.chunks is None and choices.shards is None and choices.compressors == "keep":
        return request
    ndim = len(request.shape)
    inner = inner_chunks(codecs, ndim)
    shards: tuple[int | tuple[int, ...], ...] | None = None
    if choices.shards is None and inner is not None:
        shards = request.chunks
    elif choices.shards:
        shards = choices.shards
    chunks = choices.chunks or (request.chunks if inner is None else inner)
    taken = _apart(request, codecs, chunks, shards)
    if choices.compressors != "keep":
        taken = replace(taken, compressors=choices.compressors)
    return taken


def _apart(
    request: ArrayRequest,
    codecs: Sequence[CodecSpec],
    chunks: tuple[int | tuple[int, ...], ...],
    shards: tuple[int | tuple[int, ...], ...] | None,
) -> ArrayRequest:
    parts = parts_of(codecs)
    return replace(
        request,
        chunks=chunks,
        shards=shards,
        codecs=None,
        filters=parts.filters or None,
        serializer=parts.serializer or "auto",
        compressors=parts.compressors or None,
        order="C" if len(request.shape) > 1 else request.order,
    )


# -- giving way -------------------------------------------------------------------------------


def _relaxed(
    model: ArrayModel, request: ArrayRequest, what: Part | None, choices: Choices
) -> tuple[ArrayRequest, str] | None:
    """The request without what could not be expressed, and a note; None if that is not allowed."""
    if what in DROPPABLE and what not in choices.drop:
        return None
    match what:
        case "fill_value":
            note = "fill value left out: every chunk is written, so that all values stay"
            return replace(request, fill_value=DEFAULT), note
        case "dimension_names":
            kept = dimensions.strip(request.attributes, model.dimension_names)
            kept.pop(dimensions.ATTRIBUTE, None)
            return replace(
                request, dimension_names=None, attributes=kept
            ), "dimension names left out"
        case "attributes":
            return replace(request, attributes={}), "attributes left out"
        case "codecs" if choices.reencode and _is_own(request):
            return replace(request, order="C"), "C order"
        case "codecs" if choices.reencode:
            own = replace(
                request, codecs=None, filters="auto", serializer="auto", compressors="auto",
                order=model.order,
            )  # fmt: skip
            return own, "codecs chosen anew"
        case "shards" if choices.reencode:
            codecs = request.codecs or ()
            inner = inner_chunks(codecs, len(request.shape))
            if inner is None:
                return replace(request, shards=None), "chunks without shards"
            return _apart(request, codecs, inner, None), "chunks without shards"
        case "chunks" if choices.reencode:
            regular = tuple(
                -(-axis.length // max(1, axis.count)) or 1
                if not isinstance(axis, RegularAxis)
                else axis.chunk
                for axis in model.grid.axes
            )
            return replace(request, chunks=regular), "chunks of one shape"
        case _:
            return None


def _is_own(request: ArrayRequest) -> bool:
    """Whether the codecs are the target's own already, so that it must be the order."""
    return request.codecs is None and request.filters == request.compressors == "auto"


# -- making sure ------------------------------------------------------------------------------

_KNOWN = ARRAY_TO_ARRAY | ARRAY_TO_BYTES | BYTES_TO_BYTES
_OBJECTS = {PREFIX + "vlen-utf8", PREFIX + "vlen-bytes"}


def _check_codecs(target: Format, request: ArrayRequest) -> None:
    """Refuse codecs that readers of format 3 do not know, though it has room for their names."""
    if target.name != 3 or isinstance(request.data_type, Object):
        return
    for spec in _all_codecs(request.codecs or ()):
        if spec.name.startswith((PREFIX, "n5_")) and spec.name not in _KNOWN | _OBJECTS:
            raise UnsupportedError(
                f"format 3 has no codec that equals {spec.name.removeprefix(PREFIX)!r}",
                what="codecs",
            )


def _is_sharded(specs: Sequence[CodecSpec]) -> bool:
    return any(spec.name == SHARDING for spec in specs)


def _all_codecs(specs: Sequence[CodecSpec]) -> list[CodecSpec]:
    found = [*specs]
    for spec in specs:
        if spec.name == SHARDING:
            found += _all_codecs(inner_specs(spec.configuration))
    return found


def _check_kept(request: ArrayRequest, made: ArrayModel, target: Format) -> None:
    """Refuse what a format took without a word and would not give back."""

    def lost(part: Part, wanted: Any, found: Any) -> UnsupportedError:
        return UnsupportedError(
            f"format {target.name} cannot express {part.replace('_', ' ')} {wanted!r};"
            f" it would become {found!r}",
            what=part,
        )

    if made.shape != tuple(request.shape):
        raise lost("dimensions", request.shape, made.shape)
    if made.data_type.native != request.data_type.native:
        raise lost("data_type", request.data_type.name, made.data_type.name)
    names = request.dimension_names
    if names is not None and made.dimension_names != names:
        raise lost("dimension_names", names, made.dimension_names)
    kept: Mapping[str, Json] = dimensions.strip(made.attributes, made.dimension_names)
    if dimensions.strip(request.attributes, made.dimension_names) != kept:
        raise lost("attributes", dict(request.attributes), dict(kept))


# -- saying no --------------------------------------------------------------------------------

_REENCODE = ("reencode", True)
_HELP: dict[Part, tuple[str, Option]] = {
    "groups": (
        "{} writes each array at its own path and leaves the groups out",
        ("drop", ("groups",)),
    ),
    "attributes": ("{} leaves them out", ("drop", ("attributes",))),
    "dimension_names": ("{} leaves them out", ("drop", ("dimension_names",))),
    "fill_value": (
        "{} leaves it out and writes every missing chunk, so that all values stay",
        ("drop", ("fill_value",)),
    ),
    "codecs": ("{} uses the codecs that the format has by default", _REENCODE),
    "shards": ("{} writes the chunks inside the shards as chunks of their own", _REENCODE),
    "chunks": ("{} uses chunks of one shape", _REENCODE),
}


def refusal(error: UnsupportedError, path: str, *, in_place: bool = False) -> UnsupportedError:
    """The error with the node's path in front and the option that helps behind it."""
    text, options = error.advice, error.options
    if not text and error.what in _HELP:
        text, option = _HELP[error.what]
        options = (option,)
    elif not text and path:
        text, options = "{} leaves it out", (("exclude", (path,)),)
    if not text:
        text = "no option of convert changes that; choose another format"
    elif in_place:
        text = f"in place that cannot be helped; give a destination, where {text}"
    located = UnsupportedError(error.reason.rstrip("."), error.what)
    for where in reversed((f"node {'/' + path!r}", *error.where)):
        located = located.at(where)
    return located.advise(text, *options)
