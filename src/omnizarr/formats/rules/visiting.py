"""Visits the places of a store, with the rules of every format that has a node there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from omnizarr import formats
from omnizarr.errors import (
    InvalidKeyError,
    MetadataError,
    NotAFileError,
    UnknownCodecError,
)
from omnizarr.formats.base import Format, FormatName, Node
from omnizarr.formats.hierarchy import child_names, fetch
from omnizarr.formats.n5 import rules as n5
from omnizarr.formats.rules.base import (
    At,
    Finding,
    Inside,
    Look,
    Rules,
    Standard,
)
from omnizarr.formats.rules.consolidated import unlisted
from omnizarr.formats.v0 import rules as v0
from omnizarr.formats.v1 import rules as v1
from omnizarr.formats.v2 import rules as v2
from omnizarr.formats.v3 import rules as v3
from omnizarr.formats.v3_drafts import rules as v3draft
from omnizarr.model import paths
from omnizarr.model.array import ArrayModel
from omnizarr.model.json import show
from omnizarr.model.store import Store

STANDARDS: Mapping[str, Standard] = {"000": "000", "003": "003", "ogc": "003"}

RULES: Mapping[FormatName, Rules] = {
    0: v0.RULES,
    1: v1.RULES,
    2: v2.RULES,
    3: v3.RULES,
    "3-draft2019": v3draft.RULES,
    "3-draft2020-09": v3draft.RULES,
    "3-draft2020-10": v3draft.RULES,
    "n5": n5.RULES,
}


@dataclass(frozen=True)
class Visit:
    """What was found at one place, and where to look next."""

    findings: tuple[Finding, ...] = ()
    nodes: int = 0
    below: tuple[tuple[str, Inside], ...] = ()
    arrays: tuple[tuple[Format, ArrayModel], ...] = ()
    """The arrays in which nothing forbidden was found: whether their codecs are usable is not
    known here."""
    readable: tuple[tuple[Format, Node], ...] = ()
    """Every node that the parser made sense of, for the rules of conventions."""


def standard_named(name: object) -> Standard | None:
    """The document that a user chooses for format 2."""
    if name is None:
        return None
    found = STANDARDS.get(name.lower()) if isinstance(name, str) else None
    if found is None:
        known = ", ".join(repr(known) for known in STANDARDS)
        raise ValueError(f"standard must be None or one of {known}; found {show(name)}")
    return found


def check_node(
    store: Store,
    path: str,
    format: Format,  # noqa: A002 - the word of the contract
    node: Node | None,
    standard: Standard | None = None,
    *,
    start: bool = True,
) -> Iterator[Finding]:
    """Every finding about one node; `node` is None if the format's parser refuses it."""
    look = Look(store, path, format, node, standard, start)
    yield from RULES[format.name].check(look)


def visit(
    store: Store, path: str, standard: Standard | None, inside: Inside | None = None
) -> Visit:
    """Look at one place, in every format that may have a node there."""
    try:
        return _visit(store, path, standard, inside)
    except (InvalidKeyError, NotAFileError) as error:
        at = At(path, path, "omnizarr")
        return Visit((at.error("keys", f"the place cannot be looked at: {error}"),), 1)


def _visit(store: Store, path: str, standard: Standard | None, inside: Inside | None) -> Visit:
    claims = _claims(store, path, inside)
    if not claims:
        return _nothing(store, path, standard, inside)
    findings: list[Finding] = []
    below: dict[str, Inside] = {}
    arrays: list[tuple[Format, ArrayModel]] = []
    for known, (node, refusal) in claims.items():
        look = Look(store, path, known, node, standard, inside is None)
        rules = RULES[known.name]
        found = list(rules.check(look))
        findings += found
        # What is forbidden is why a node cannot be opened, and is said once.
        if not any(finding.level == "error" and finding.path == path for finding in found):
            if refusal is not None:
                findings.append(unusable(store, path, known, standard, refusal))
            elif isinstance(node, ArrayModel):
                arrays.append((known, node))
        findings += _about_parents(look, rules, inside)
        is_array = isinstance(node, ArrayModel) or (node is None and rules.is_array(look))
        unlisted = not store.capabilities.listable
        beneath = Inside(known, (), _consolidated(look, rules, inside), unlisted)
        named = () if is_array else _named(path, beneath) if unlisted else rules.children(look)
        for name in named:
            below.setdefault(paths.join(path, name), beneath)
        if unlisted:
            findings += _not_looked_at(
                look, inside, is_array, str(known.name) in beneath.consolidated
            )
    readable = tuple((known, node) for known, (node, _) in claims.items() if node is not None)
    unique = tuple(dict.fromkeys(findings))
    return Visit(unique, len(claims), tuple(below.items()), tuple(arrays), readable)


def names_below(store: Store, path: str, format: Format, node: Node) -> list[str]:  # noqa: A002
    """The names below a group at which nodes may exist, broken ones included."""
    rules = RULES[format.name]
    return rules.children(Look(store, path, format, node))


def unusable(
    store: Store, path: str, known: Format, standard: Standard | None, reason: MetadataError
) -> Finding:
    """A node that cannot be opened for a reason that no rule names. What is only not known here may
    be sound for other readers."""
    at = At(path, _stored_key(store, path, known), _document_of(known, standard))
    if isinstance(reason, UnknownCodecError):
        return at.warning("as omnizarr reads it", f"cannot be opened here: {reason}")
    return at.error("as omnizarr reads it", f"cannot be opened: {reason}")


def _stored_key(store: Store, path: str, known: Format) -> str:
    """A document of a node that exists."""
    keys = [*known.keys(path), *known.probes(path)]
    return next(iter(fetch(store, keys)), keys[0])


Claim = tuple[Node | None, MetadataError | None]


def _claims(store: Store, path: str, inside: Inside | None) -> dict[Format, Claim]:
    """The formats that have a node at this place: the model, or why the parser refuses it."""
    batches = [formats.current(), formats.older()]
    if inside is not None:
        batches[1] = tuple(known for known in formats.older() if known is inside.format)
    for batch in batches:
        keys = dict.fromkeys(key for known in batch for key in known.probes(path))
        documents = fetch(store, list(keys))
        claims: dict[Format, Claim] = {}
        for known in batch if documents else ():
            try:
                node = known.find(store, path, documents)
            except MetadataError as error:
                claims[known] = (None, error)
            else:
                if node is not None:
                    claims[known] = (node, None)
            if claims and batch is not batches[0]:
                break  # only nodes of the current formats share a path
        if claims:
            return claims
    return {}


def _named(path: str, inside: Inside) -> list[str]:
    """Direct children of `path`, by the consolidated metadata of a group at or above it."""
    group, listed = inside.consolidated.get(str(inside.format.name), ("", frozenset()))
    prefix = f"{path}/"[len(group) + 1 if group else 0 :] if path != group else ""
    return sorted(
        {found[len(prefix) :].partition("/")[0] for found in listed if found.startswith(prefix)}
        - {""}
    )


def _not_looked_at(
    look: Look, inside: Inside | None, is_array: bool, told: bool
) -> Iterator[Finding]:
    """Report what cannot be checked without a listing. What holds for
    all below a place is said there only."""
    at = At(look.path, _stored_key(look.store, look.path, look.format), "omnizarr")
    said = inside is not None and inside.unlisted
    if is_array:
        if not said:
            yield at.warning("keys", "the chunks could not be listed: their keys are not checked")
    elif not told:
        yield at.warning("keys", "the members could not be listed: none of them is checked")
    elif not said:
        yield at.warning(
            "keys",
            "the store could not be listed: the nodes that the consolidated metadata name are"
            " checked, others and the keys of chunks are not",
        )


def _nothing(store: Store, path: str, standard: Standard | None, inside: Inside | None) -> Visit:
    """A place without a node may still have nodes below it."""
    if inside is None:
        return Visit()
    unlisted = not store.capabilities.listable
    beneath = Inside(
        inside.format, (*inside.implied, path), inside.consolidated, inside.unlisted or unlisted
    )
    rules = RULES[inside.format.name]
    findings = tuple(rules.orphans(Look(store, path, inside.format, None, standard, False)))
    names = _named(path, inside) if unlisted else child_names(store, path)
    below = tuple((paths.join(path, name), beneath) for name in names)
    return Visit(findings, 0, below)


def _document_of(known: Format, standard: Standard | None) -> str:
    """The document that a format is held against, as the rules name it."""
    names: dict[FormatName, str] = {
        0: v0.DOCUMENT,
        1: v1.DOCUMENT,
        2: f"document {standard or '000'}",
        3: v3.CORE,
        "n5": n5.DOCUMENT,
    }
    return names.get(known.name, v3draft.DOCUMENT)


# -- nodes above ------------------------------------------------------------------------------
def _about_parents(look: Look, rules: Rules, inside: Inside | None) -> Iterator[Finding]:
    if inside is None:
        yield from _ancestors(look, rules)
        return
    for path in inside.implied:
        yield from rules.missing_group(path, look.standard)
    listing = inside.consolidated.get(str(look.format.name))
    if listing is not None:
        group, listed = listing
        relative = look.path[len(group) + 1 :] if group else look.path
        if relative not in listed:
            key = _stored_key(look.store, look.path, look.format)
            at = At(look.path, key, _document_of(look.format, None))
            yield unlisted(at, "Consolidated metadata", group)


def _ancestors(look: Look, rules: Rules) -> Iterator[Finding]:
    """The check began here: are the places above groups? Above the topmost node there is nothing
    but folders, whatever they are called."""
    above = False
    for path in paths.ancestors(look.path):
        try:
            found = formats.find(look.store, path, (look.format,))
        except MetadataError:
            above = True
            continue  # a broken node above is no finding about this one
        if found is None:
            if above:
                yield from rules.missing_group(path, look.standard)
            continue
        above = True
        if isinstance(found[1], ArrayModel):
            key = _stored_key(look.store, look.path, look.format)
            at = At(look.path, key, _document_of(look.format, look.standard))
            yield at.error("Hierarchies", f"this node is below the array at {'/' + path!r}")


def _consolidated(
    look: Look, rules: Rules, inside: Inside | None
) -> Mapping[str, tuple[str, frozenset[str]]]:
    above = {} if inside is None else inside.consolidated
    listed = rules.listed(look)
    return above if listed is None else {**above, str(look.format.name): (look.path, listed)}
