"""The formats that are known, and finding nodes in them.

A new format is one object in `current` or `older` (see `formats.base.Format`). They stand in the
order in which they are preferred where a node has documents of two. Where none of the current
ones is found, one more batch of reads asks for all the older ones. Modules of all but the likeliest
format are imported when they are first asked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cache

from omnizarr.errors import MetadataError, UnsupportedError
from omnizarr.formats.base import Consolidating, Format, FormatName, Node, Registering, Registrar
from omnizarr.formats.hierarchy import (
    BOOTSTRAP,
    BelowPath,
    fetch,
    in_draft,
    is_draft,
    located,
)
from omnizarr.formats.v3.document import V3, with_members
from omnizarr.model.array import ArrayModel, GroupModel
from omnizarr.model.codec import Json
from omnizarr.model.json import dumps, show
from omnizarr.model.paths import ancestors, is_key
from omnizarr.model.store import Buffer, Store

LIKELIEST: Format = V3()


@cache
def current() -> tuple[Format, ...]:
    """The formats of today."""
    from omnizarr.formats.v2 import document as v2

    return (LIKELIEST, v2.FORMAT)


@cache
def older() -> tuple[Format, ...]:
    """The formats that came before the current ones, and N5."""
    from omnizarr.formats.n5 import document as n5
    from omnizarr.formats.v0 import document as v0
    from omnizarr.formats.v1 import document as v1
    from omnizarr.formats.v3_drafts.document import DRAFTS

    return (v0.FORMAT, v1.FORMAT, *DRAFTS, n5.FORMAT)


@cache
def every_format() -> tuple[Format, ...]:
    """All of them, the preferred ones first."""
    return current() + older()


def get_format(name: object) -> Format:
    """The format that a user names: `3`, `"3"` or `"v3"`."""
    wanted = str(name).removeprefix("v") if not isinstance(name, bool) else ""
    if wanted == str(LIKELIEST.name):
        return LIKELIEST
    if wanted == "nczarr":
        from omnizarr.formats.nczarr.dialect import NCZARR

        return NCZARR
    for formats in (current, every_format):
        known = {str(each.name): each for each in formats()}
        if wanted in known:
            return known[wanted]
    names = ", ".join(repr(known[name].name) for name in sorted(known))
    raise MetadataError(f"unknown zarr_format {show(name)}; known are {names}")


DIALECTS = {"nczarr": 2}
"""Dialects of formats that can be asked for."""


def with_dialect(name: FormatName | None, dialect: str | None) -> FormatName | None:
    """The name of a format, or of its dialect, as `get_format` takes it."""
    if dialect is None:
        return name
    if dialect not in DIALECTS:
        raise MetadataError(
            f"unknown dialect {show(dialect)}; known are {', '.join(map(repr, DIALECTS))}"
        )
    if name is not None and get_format(name).name != DIALECTS[dialect]:
        raise MetadataError(
            f"{dialect!r} is a dialect of format {DIALECTS[dialect]}, not of {show(name)}"
        )
    return dialect


def find(
    store: Store,
    path: str,
    formats: tuple[Format, ...] | None = None,
    preferred: Format | None = None,
) -> tuple[Format, Node] | None:
    """The node at `path` and its format, from one batch of reads, or further ones for the less
    likely formats; None if there is none. Where it has documents of several, one may be
    preferred."""
    asked: set[str] = set()
    documents: dict[str, Buffer] = {}
    drafts_only = in_draft(store, path)
    for batch in _batches(preferred) if formats is None else (formats,):
        if drafts_only:
            batch = tuple(known for known in batch if not isinstance(known, BelowPath))
        # A path that is too long for the keys of one format may be that of another one.
        keys = {key: None for known in batch for key in known.probes(path) if is_key(key)}
        documents |= fetch(store, [key for key in keys if key not in asked])
        asked.update(keys)
        for known in batch if documents else ():
            try:
                node = known.find(store, path, documents)
            except MetadataError as error:
                raise located(error, store) from error
            if node is not None:
                return spoken(known, node), node
    return None


def spoken(known: Format, node: Node) -> Format:
    """The format of a node, or its dialect: nodes of NCZarr, one of format 2, say so themselves."""
    if known is LIKELIEST or known.name != 2:
        return known
    from omnizarr.formats.nczarr.dialect import NCZARR
    from omnizarr.formats.nczarr.markers import is_marked

    return NCZARR if is_marked(node) else current()[1]


def same(one: Format, other: Format) -> bool:
    """Whether nodes of one format are nodes of the other as they are."""
    return one is other or (one.name == other.name and not isinstance(other, Registering))


def _batches(preferred: Format | None) -> Iterator[tuple[Format, ...]]:
    """Which formats are looked for together. The likeliest one stands alone: most often its
    document is the only one that opening asks for."""
    first = (LIKELIEST if preferred is None else preferred,)
    yield first
    yield tuple(known for known in current() if known not in first)
    yield tuple(known for known in older() if known not in first)


def assumed(store: Store, path: str, chosen: Format) -> tuple[Format, Node] | None:
    """The node at `path` if a user says that it is of this format, though it does not say so. Only
    N5 leaves that open."""
    from omnizarr.formats.n5.document import N5

    try:
        node = chosen.assumed(store, path) if isinstance(chosen, N5) else None
    except MetadataError as error:
        raise located(error, store) from error
    return None if node is None else (chosen, node)


def read(chosen: Format, store: Store, path: str) -> Node | None:
    """The node at `path` in one format; None if there is none."""
    found = find(store, path, (chosen,))
    return None if found is None else found[1]


def array_from_document(path: str, document: Mapping[str, Json]) -> tuple[Format, ArrayModel]:
    """The array that a document describes, with its attributes among its members, and its format.

    MetadataError if it describes none."""
    from omnizarr.formats.v2.document import V2

    chosen = get_format(document.get("zarr_format"))
    keys = chosen.keys(path)
    parts = {keys[0]: dict(document)}
    if isinstance(chosen, V2):
        parts[keys[-1]] = parts[keys[0]].pop("attributes", {})
    elif not isinstance(chosen, V3):
        raise UnsupportedError(f"format {chosen.name} has no such document")
    node = chosen.parse(path, {key: dumps(part).encode() for key, part in parts.items()})
    if not isinstance(node, ArrayModel):
        raise MetadataError(f"expected the document of an array, found {show(dict(document))}")
    return chosen, node


def documents(chosen: Format, store: Store, path: str) -> dict[str, bytes]:
    """All that one format has about the node at `path`, unparsed."""
    keys = dict.fromkeys([*chosen.probes(path), *chosen.keys(path)])
    return {key: bytes(value) for key, value in fetch(store, list(keys)).items()}


def look_ahead(store: Store, path: str) -> None:
    """Ask a store that remembers, together, for what will be asked of it before a node is created
    at `path`."""
    keys = [key for above in ancestors(path) for key in LIKELIEST.probes(above)]
    keys += [key for known in every_format() for key in (*known.probes(path), *claims(known, path))]
    fetch(store, [key for key in dict.fromkeys(keys) if is_key(key)])


def claims(chosen: Format, path: str) -> tuple[str, ...]:
    """The documents whose mere presence proves that a node exists at `path`."""
    return chosen.keys(path)[: chosen.claiming]


def claimed(store: Store, path: str, also: Iterable[str] = ()) -> list[str]:
    """The documents at `path` that say that a node is there, known or not; and those of `also`."""
    known = possible(store, path)
    keys = dict.fromkeys([*(key for one in known for key in claims(one, path)), *also])
    return list(fetch(store, [key for key in keys if is_key(key)]))


def owners(store: Store, path: str) -> list[Format]:
    """The formats that have a node at `path`, a broken one included."""
    return [known for known in every_format() if _owns(known, store, path)]


def possible(store: Store, path: str) -> list[Format]:
    """The formats of which a node at `path` may have been, when its documents are gone."""
    return [known for known in every_format() if _may_own(known, store, path)]


def _owns(known: Format, store: Store, path: str) -> bool:
    if not _may_own(known, store, path):
        return False
    documents = claims(known, path)
    try:
        if find(store, path, (known,)) is not None:
            return True
    except MetadataError:
        documents = known.keys(path) if path else known.probes(path)
    return bool(fetch(store, [key for key in documents if is_key(key)]))


def _may_own(known: Format, store: Store, path: str) -> bool:
    """Whether the store is one in which the format can have a node at `path`. One draft must not
    take keys of another for its own: they may be those of another node."""
    from omnizarr.formats.v3_drafts.document import Draft

    if isinstance(known, Draft):
        return known.may_hold(store)
    if BOOTSTRAP in known.keys(path):
        return not is_draft(store)  # the one document that has two meanings
    return not in_draft(store, path)


def registrar(store: Store, path: str, owners: Iterable[Format]) -> Registrar | None:
    """The format of the group above a node, if that names its members. `owners`: the formats that
    have a node at `path`; only format 2 has a dialect whose groups do so."""
    if not path or all(known.name != 2 for known in owners):
        return None
    from omnizarr.formats.nczarr.dialect import NCZARR

    found = find(store, path.rpartition("/")[0], current()[1:])
    return NCZARR if found is not None and found[0] is NCZARR else None


def hidden_members(chosen: Format, store: Store, path: str) -> list[str]:
    """Names of nodes below an array, which no specification allows. GDAL left a root that is an
    array and a group at once in drafts of v3; below other arrays there are only chunks."""
    from omnizarr.formats.v3_drafts.document import Draft

    return chosen.names(store, path) if isinstance(chosen, Draft) else []


def move(chosen: Format, store: Store, source: str, target: str) -> None:
    """Move a node, and everything below it, to a path where nothing is stored."""
    from omnizarr.formats.v3_drafts.document import Draft

    if isinstance(chosen, Draft):
        chosen.move(store, source, target)
    else:
        store.move_prefix(f"{source}/", f"{target}/")


def empty_prefixes(chosen: Format, path: str, model: ArrayModel) -> tuple[str, ...]:
    """What must be visible below a new array, though there is no chunk yet, on a store that has
    directories: the example of document 001 lists `__zdata__` right after creation."""
    from omnizarr.formats.v0.document import V0

    return (chosen.chunk_prefix(path, model),) if isinstance(chosen, V0) else ()


def unnamed_options(chosen: Format, model: ArrayModel) -> Mapping[str, tuple[str, ...]]:
    """Options that chunks are written with though the array's document does not name them, by
    codec."""
    compressor = model.document.get("compressor")
    named = isinstance(compressor, dict) and "checksum" in compressor
    return {} if named or chosen.name != 2 else {"numcodecs.zstd": ("checksum",)}


# -- consolidated metadata --------------------------------------------------------------------
def consolidated_keys(chosen: Format, path: str) -> tuple[str, ...]:
    """The documents that may hold consolidated metadata; none if the format has no such."""
    return chosen.consolidated_keys(path) if isinstance(chosen, Consolidating) else ()


def consolidated(
    chosen: Format, store: Store, path: str, known: GroupModel | None = None
) -> GroupModel | None:
    """The group at `path` with `consolidated` filled; None if nothing is consolidated there.
    `known`: the group, if it was read just now."""
    if not isinstance(chosen, Consolidating):
        return None
    if known is not None and isinstance(chosen, V3):
        return with_members(known)  # from the document that was read just now
    return chosen.parse_consolidated(path, fetch(store, list(chosen.consolidated_keys(path))))


def consolidate(
    chosen: Format, store: Store, path: str, made: Mapping[str, bytes] | None = None
) -> dict[str, bytes]:
    """The documents that make the group at `path` consolidated; see `base.Consolidating`."""
    if isinstance(chosen, Consolidating):
        return chosen.consolidate(store, path, made)
    raise UnsupportedError(
        f"format {chosen.name} has no consolidated metadata; convert the hierarchy to format 2 or 3"
        " for it"
    )


def documents_first(keys: Iterable[str]) -> tuple[list[str], list[str]]:
    """The keys that are called like documents, and the others."""
    names = {key for known in current() for key in known.keys("")}
    parts: tuple[list[str], list[str]] = [], []
    for key in keys:
        parts[key.rpartition("/")[2] not in names].append(key)
    return parts


def explain_missing(store: Store, path: str) -> str:
    """What was looked for at `path`, and what was found instead."""
    keys = [key for known in every_format() for key in known.probes(path)]
    above = {key for known in every_format() for key in known.probes("")} if path else set()
    keys = [key for key in dict.fromkeys(keys) if is_key(key) and key not in above]
    where = f"{store!r}, path {path!r}" if path else f"{store!r}"
    looked = ", ".join(repr(key) for key in keys)
    present = sorted(fetch(store, keys))
    if present:
        return f"{where}: looked for {looked}; found {', '.join(present)}, which describe no node"
    if not store.capabilities.listable:
        return f"{where}: looked for {looked}; found none of them"
    listing = store.list_dir(f"{path}/" if path else "")
    names = [*listing.prefixes, *listing.keys]
    if not names:
        return f"{where}: looked for {looked}; no such key, nor any other at this path"
    more = f" and {len(names) - 8} more" if len(names) > 8 else ""
    return f"{where}: looked for {looked}; found {', '.join(names[:8])}{more}"
