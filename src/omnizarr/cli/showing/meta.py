"""`omnizarr meta`: the stored documents of a node, or what is understood of them."""

from __future__ import annotations

import json
from typing import Any

import omnizarr
from omnizarr.cli import facts, places
from omnizarr.cli.facts import Facts
from omnizarr.cli.output import Output, dim, plain, standard_error, yellow
from omnizarr.cli.places import Problem, StoredAt, near, opened
from omnizarr.errors import MetadataError, ZarrError

EXAMPLES = """\
examples:
  omnizarr meta data.zarr/temperature
  omnizarr meta data.zarr/temperature --normalised
  omnizarr meta archive.zip group --key .zattrs
  omnizarr meta https://example.org/data.zarr --json

The exit status is 1 if a document is no JSON (it is shown as it is), 0 otherwise.
"""
_USUAL = ("zarr.json", ".zarray", ".zgroup", ".zattrs", "attributes.json")
"""Documents that are looked for where nothing can be listed and a node cannot be read."""


def add_arguments(parser: Any) -> None:
    places.add_arguments(parser, zarr_format=True)
    shown = parser.add_mutually_exclusive_group()
    shown.add_argument(
        "--normalised", "--normalized", action="store_true",
        help="what is understood, in the same words for every format",
    )  # fmt: skip
    shown.add_argument("--key", metavar="KEY", help="this document alone, such as .zattrs")


def run(arguments: Any, out: Output) -> int:
    if arguments.normalised:
        return _normalised(arguments, out)
    place, keys, name = _documents(arguments)
    with place.open() as store:
        if arguments.key is not None:
            keys = [_chosen(arguments.key, place, store, keys)]
        documents = {key: _text(store, key) for key in keys}
    found = {key: text for key, text in documents.items() if text is not None}
    if not found:
        raise Problem(f"{place}: no metadata document", "omnizarr ls --keys shows what is there")
    parsed = {key: _parsed(text) for key, text in found.items()}
    broken = [key for key in found if isinstance(parsed[key], ValueError)]
    if arguments.json:
        where: Facts = {"store": place.shown, "path": place.path, "zarr_format": name}
        shown = {key: None if key in broken else parsed[key] for key in found}
        out.json({**where, "documents": shown, "texts": {key: found[key] for key in broken}})
    else:
        _show(found, parsed, out)
    for key in broken:
        standard_error().line(yellow(f"{place.shown}/{key}: no JSON: {parsed[key]}"))
    return 1 if broken else 0


def _documents(arguments: Any) -> tuple[StoredAt, list[str], Any]:
    """Where the node is, the keys of its documents, and its format; None if it cannot be read."""
    given = arguments.path, arguments.node
    try:
        with opened(*given, arguments.zarr_format, arguments.storage_option) as (place, node):
            return place, list(node.metadata.document_keys), node.zarr_format
    except MetadataError:
        place = places.locate(*given, arguments.storage_option)
    prefix = f"{place.path}/" if place.path else ""
    with place.open() as store:
        listable = store.capabilities.listable
        names = store.list_dir(prefix).keys if listable else [prefix + each for each in _USUAL]
    return place, [key for key in names if _is_document(key.rpartition("/")[2])], None


def _is_document(name: str) -> bool:
    return name.startswith(".z") or name.endswith(".json") or name in ("meta", "attrs")


def _chosen(key: str, place: StoredAt, store: Any, keys: list[str]) -> str:
    """A document by its whole key, or by its name below the node."""
    prefix = f"{place.path}/" if place.path else ""
    for whole in (f"{prefix}{key}", key):
        if store.exists(whole):
            return whole
    known = [each.removeprefix(prefix) for each in keys if store.exists(each)]
    beside = near(key, known)
    hint = (
        f"did you mean {beside}?" if beside else f"there is {', '.join(known)}" if known else None
    )
    raise Problem(f"{place}: no document {key}", hint)


def _text(store: Any, key: str) -> str | None:
    most = omnizarr.limits.current.max_document_bytes
    size = store.size(key)
    if size is None:
        return None
    if size > most:
        raise Problem(f"{key}: it has {size:,} bytes, which is too long for a metadata document")
    value = store.get(key)
    return None if value is None else bytes(value).decode("utf-8", "backslashreplace")


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except RecursionError:
        return ValueError("it is nested too deeply")
    except ValueError as error:
        return error


def _show(found: dict[str, str], parsed: dict[str, Any], out: Output) -> None:
    """As it is stored; a document of one line gets lines."""
    for number, (key, text) in enumerate(found.items()):
        if len(found) > 1:
            if number:
                out.line()
            out.line(dim(f"// {key}"))
        value = parsed[key]
        if "\n" not in text.strip() and not isinstance(value, ValueError):
            text = json.dumps(value, indent=2, ensure_ascii=False)
        for line in text.strip("\r\n").splitlines():
            out.line(line)


# -- what is understood ------------------------------------------------------------------------


def _normalised(arguments: Any, out: Output) -> int:
    found = opened(arguments.path, arguments.node, arguments.zarr_format, arguments.storage_option)
    with found as (place, node):
        document = normalised(place, node)
    if arguments.json:
        out.json(document)
        return 0
    for line in json.dumps(plain(document), indent=2, ensure_ascii=False).splitlines():
        out.line(line)
    return 0


def normalised(place: StoredAt, node: Any) -> Facts:
    """What is understood of a node, with the same members for every format."""
    document = facts.of_node(place.path, node)
    if isinstance(node, omnizarr.Array):
        document |= {
            "dimension_names": node.dims,
            "fill_value": facts.fill_value(node),
            "order": node.order,
            "chunk_keys": _keys(node),
        }
    return document | {"attributes": dict(node.attrs)}


def _keys(array: Any) -> list[str] | None:
    """The keys of the first and the last chunk, or shard; None where there is none."""
    try:
        grid = facts.stored_grid(array)
    except ZarrError:
        return None
    if 0 in grid:
        return None
    key = array.metadata.model.keys.encoder(array.ndim)
    return [key((0,) * array.ndim), key(tuple(n - 1 for n in grid))]
