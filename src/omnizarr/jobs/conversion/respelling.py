"""A node that stays in its format: written as the specification says, not as its writer did.

What `check` has to say about the documents decides: a node that it finds nothing about is stored
as it is. Others are translated into their own format, which also drops dialects of its writer.

This module knows documents. It must not know chunks.
"""

from __future__ import annotations

from dataclasses import replace

from omnizarr.errors import MetadataError
from omnizarr.formats import Format, Node, rules
from omnizarr.formats.translation.nodes import (
    Choices,
    Translation,
    left_out,
    new_group,
    translate_array,
    without_spelling,
)
from omnizarr.model.array import ArrayModel, GroupModel
from omnizarr.model.finding import LEVELS, Level
from omnizarr.stores import MemoryStore


def respelled_array(model: ArrayModel, chosen: Format, choices: Choices) -> Translation:
    """The array in its own format, as the specification spells it."""
    best = Translation(model, (), ())
    fewest = _departures(chosen, model)
    if not fewest:
        return best
    for translated in (True, False):
        try:
            made = (
                translate_array(model, chosen, chosen, choices)
                if translated
                else Translation(without_spelling(model), (), ())
            )
            count = _departures(chosen, made.model)
        except MetadataError:
            continue  # the format reads it, and has no other words for it
        if count < fewest:
            best, fewest = made, count
    return replace(best, notes=(*best.notes, *left_out(model, best.model)))


def respelled_group(model: GroupModel, chosen: Format) -> tuple[GroupModel, tuple[str, ...]]:
    """The same for a group, and notes. Consolidated metadata are made anew, if at all."""
    made = new_group(model, chosen)
    if _departures(chosen, made) < _departures(chosen, model):
        return made, left_out(model, made)
    return model, ()


def renamed(model: ArrayModel, made: ArrayModel, chosen: Format) -> bool:
    """Whether respelling an array gave its data type or codecs other names, where those that are
    stored are no error: the software that wrote them may know no others."""
    if _names(model) == _names(made):
        return False
    return not _departures(chosen, model, ("error",))


def _names(model: ArrayModel) -> list[object]:
    listed = [model.document.get("data_type")]
    codecs = model.document.get("codecs")
    listed += codecs if isinstance(codecs, list) else []
    return [each.get("name") if isinstance(each, dict) else each for each in listed]


def _departures(chosen: Format, model: Node, levels: tuple[Level, ...] = LEVELS) -> int:
    """How many things in a node's documents its specification does not have."""
    store = MemoryStore()
    documents = chosen.documents("", model)
    for key, document in documents.items():
        store.set(key, document)
    found = rules.check_node(store, "", chosen, model, "000")
    return sum(finding.key in documents and finding.level in levels for finding in found)
