"""What one array or group becomes in another format, without a look at any of its chunks.

It is what `convert` would make of it, where chunks, shards and codecs that the target does not have
may be its own. This module knows nodes. It must not know stores of the result.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from omnizarr import formats
from omnizarr.errors import EncodeError, MetadataError, Part, UnsupportedError
from omnizarr.formats import Node
from omnizarr.formats.base import Format
from omnizarr.formats.translation.chunk_bytes import same_encoding, same_fill
from omnizarr.formats.translation.fill_values import as_scalar
from omnizarr.formats.translation.nodes import (
    Choices,
    Translation,
    translate_array,
    translate_group,
)
from omnizarr.formats.translation.widely_read import widely_read, without_checksums
from omnizarr.jobs.conversion.images import Walked, moved
from omnizarr.jobs.conversion.plan import Wanted
from omnizarr.jobs.conversion.respelling import renamed, respelled_array, respelled_group
from omnizarr.model import paths
from omnizarr.model.array import ArrayModel, GroupModel
from omnizarr.model.store import Store
from omnizarr.nodes.array import Array
from omnizarr.nodes.node import NodeAddress, Options
from omnizarr.stores import MemoryStore

_DROP: frozenset[Part] = frozenset({"dimension_names", "fill_value"})


@dataclass(frozen=True, eq=False)
class TranslatedArray:
    """An array as it is and as it is shown."""

    source: Array
    model: ArrayModel
    """What it becomes."""
    copied: bool
    """A stored chunk is a chunk of the new array as it is."""
    filled: bool
    """A missing chunk must be made, for it would read as something else."""

    def writer(self, store: Store, path: str, target: Format) -> Array:
        """The new array, for single chunks of it."""
        place = NodeAddress(store, path, target)
        options = Options(write_empty_chunks=self.filled, documents_last=True)
        return Array._of(place, self.model, options)


@dataclass(frozen=True)
class TranslatedNode:
    """A node's documents in the new format."""

    documents: dict[str, bytes]
    array: TranslatedArray | None
    """None for a group."""


def translated_node(walked: list[Walked], target: Format, options: Options) -> TranslatedNode:
    """The last node of those on the way to it, as the target format has it.

    UnsupportedError where it cannot be expressed."""
    images = moved(walked, target)
    path, here, found = images.nodes[-1]
    try:
        if isinstance(found, GroupModel):
            return TranslatedNode(_checked(here.path, _group(here, found, target), target), None)
        if not found.ndim and found.dimension_names is None and _beside_names(here):
            found = as_scalar(found, here.format, target)
        choices = images.choices(path, Wanted(_DROP, reencode=True)).choices(path, found)
        array = _array(here, found, target, choices, options)
        return TranslatedNode(_checked(here.path, array.model, target), array)
    except UnsupportedError as error:
        raise error.at(f"node {'/' + path!r}") from error


def _group(here: NodeAddress, found: GroupModel, target: Format) -> GroupModel:
    if formats.same(here.format, target):
        return respelled_group(replace(found, consolidated=None), target)[0]
    made = translate_group(found, here.format, target, Choices())[0]
    assert made is not None  # formats without groups are no target
    return made


def _beside_names(here: NodeAddress) -> bool:
    """Whether an array has siblings with dimension names, or may have."""
    if not here.path or not here.store.capabilities.listable:
        return False
    try:
        members = here.format.children(here.store, paths.parent(here.path)).values()
    except MetadataError:  # one of them is damaged, which is no fault of this one
        return True
    return any(isinstance(node, ArrayModel) and node.dimension_names for node in members)


def _array(
    here: NodeAddress, found: ArrayModel, target: Format, choices: Choices, options: Options
) -> TranslatedArray:
    if formats.same(here.format, target):
        translation = respelled_array(found, target, choices)
        if renamed(found, translation.model, target):
            translation = Translation(found, (), ())
        return _shown(here, found, without_checksums(translation, target), options)
    translation = widely_read(translate_array(found, here.format, target, choices), target)
    array = _shown(here, found, translation, options)
    try:
        _try_out(array, target)
    except EncodeError:
        choices = replace(choices, compressors="auto")
        array = _shown(here, found, translate_array(found, here.format, target, choices), options)
        _try_out(array, target)
    return array


def _shown(
    here: NodeAddress, found: ArrayModel, translation: Translation, options: Options
) -> TranslatedArray:
    made = translation.model
    as_stored = replace(made, fill_value=found.fill_value) if translation.explicit else made
    return TranslatedArray(
        Array._of(here, found, options.changed(on_missing="fill", read_only=True)),
        made,
        same_encoding(found, as_stored),
        translation.explicit or not same_fill(found, made),
    )


def _try_out(array: TranslatedArray, target: Format) -> None:
    """Codecs that are unknown, do not fit or can only be read fail here, and not at some chunk."""
    if array.copied and not array.filled:
        return
    array.source._check()
    writer = array.writer(MemoryStore(), "", target)
    writer._check()
    chain = writer._source.regular_chain
    while chain.shard is not None:
        chain = chain.shard.chain
    chain.encode(writer._source.new_chunk(chain.shape))


def _checked(path: str, made: Node, target: Format) -> dict[str, bytes]:
    """The documents of a node, which are read back once: what cannot be parsed is not shown."""
    documents = target.documents(path, made)
    preview = MemoryStore()
    for key, document in documents.items():
        preview.set(key, document)
    formats.read(target, preview, path)
    return documents
