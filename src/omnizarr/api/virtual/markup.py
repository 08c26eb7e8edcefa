"""XML that strangers wrote, as a tree: of bounded size, without declarations of entities.

This module knows XML. It must not know what any document means.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from omnizarr import limits
from omnizarr.errors import LimitError, MetadataError

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

MOST_BYTES = 64 * limits.MIB


def check(text: str, what: str) -> None:
    """Raise if the document is too long, or declares a document type, which may hold entities."""
    if len(text) > MOST_BYTES:
        raise LimitError(f"{what} of {len(text):,} characters, more than {MOST_BYTES:,}")
    if "<!DOCTYPE" in text or "<!ENTITY" in text:
        raise MetadataError(f"{what} declares a document type, which is not read")


def parsed(text: str, what: str) -> Element:
    """The root of a document."""
    from xml.etree import ElementTree

    check(text, what)
    try:
        return ElementTree.fromstring(text.strip("\0 \r\n\t"))
    except ElementTree.ParseError as error:
        raise MetadataError(f"{what} is not well-formed XML: {error}") from error


def named(parent: Element, name: str) -> Iterator[Element]:
    """The children of a name, in any namespace."""
    return (child for child in parent if child.tag.rpartition("}")[2] == name)


def number(element: Element, attribute: str) -> float | None:
    """A positive, finite number in an attribute; None if there is none."""
    try:
        found = float(element.get(attribute, ""))
    except ValueError:
        return None
    return found if 0 < found < float("inf") else None
