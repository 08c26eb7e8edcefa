"""The drafts of v3: document 002 (layout A) and the two that followed it (B and C).

Where document 002 contradicts itself or leaves something open, this follows what its writers did:

1. An array's document is below `meta/root`, as in the example, not below `meta`, as in the prose.
2. Chunks are at `data/P/…` and those of a root array at `data/…`; later layouts say `data/root`.
3. The example for finding children names the key `meta/root/foo/bar/baz/qux.array`; it means
   `meta/root/foo/baz/qux.array`.
4. `>u2`, `>u4` and `>u8` are core data types, though the table forgets them; `u1` is unsigned;
   complex numbers, which the prose promises, are an extension.
5. `separator` is a member of `chunk_grid`: "." if A does not say, "/" in B and C.
6. `compressor` may be null (A, B) or absent (C) where there is none.
7. Codecs are known by `http` or `https`, with or without `/1.0`; written with `https` and `/1.0`.
8. Fill values are those of format 2: "NaN", "Infinity", `[re, im]`, ticks, base64, null.
9. Extension data types that zarr-python left without a URI are known by their `type`.
10. Filters are in the attribute `filters` in C, and nowhere else.
11. The only chunk of a 0-d array is the key `data/P` in A; `c` in B and `c0` in C, of which both
    are looked up, and the one that is there is kept.
12. A root that is an array and a group at once opens as the array; its members open by path.
13. The trailing comma of the group example is an error of the text. `extensions` of an array or a
    group are those of the bootstrap; where they are missing there are none.
14. Anything below `meta/root/P/` implies a group P. A bootstrap alone is an empty root group. New
    names are held to the document's rules, others are read whatever their names.
15. The group `consolidated` of zarr-python is not shown among the members.

This module finds, lists, names and moves nodes. What their documents mean is `arrays`'s.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from omnizarr.errors import MetadataError, UnsupportedError
from omnizarr.formats import members
from omnizarr.formats.base import ArrayRequest, Format, FormatName, Node, Owned
from omnizarr.formats.hierarchy import AREAS, BOOTSTRAP, fetch, located
from omnizarr.formats.v3_drafts import consolidated, creation
from omnizarr.formats.v3_drafts.arrays import (
    DraftArray,
    DraftGroup,
    array_document,
    group_document,
    read_array,
    read_group,
)
from omnizarr.formats.v3_drafts.layouts import (
    CONSOLIDATED,
    CONSOLIDATED_KEY,
    META,
    A,
    B,
    Bootstrap,
    C,
    Layout,
    list_members,
    read_bootstrap,
    text,
)
from omnizarr.model.array import ArrayModel, GroupModel
from omnizarr.model.codec import Json
from omnizarr.model.paths import join, name_of
from omnizarr.model.store import Buffer, ByteRange, Store

_NAME = re.compile(r"(?!\.+\Z)[A-Za-z0-9._-]{1,255}\Z")


class Draft:
    """One draft; see `formats.base.Format`."""

    name: FormatName
    compression_aliases: Mapping[str, str] = {}
    claiming = 2
    names_dimensions = False
    states_order = True
    ome_version: str | None = None
    reserved: tuple[str, ...] = ()

    def __init__(self, layout: Layout) -> None:
        self.name = layout.name
        self.layout = layout

    def __repr__(self) -> str:
        return f"Draft({self.name!r})"

    # -- finding and reading ------------------------------------------------------------------
    def probes(self, path: str) -> tuple[str, ...]:
        return (BOOTSTRAP,)

    def find(self, store: Store, path: str, documents: Mapping[str, Buffer]) -> Node | None:
        data = documents.get(BOOTSTRAP)
        bootstrap = None if data is None else read_bootstrap(data)
        if bootstrap is None or bootstrap.layout is not self.layout:
            return None
        keys = self.layout.document_keys(path, bootstrap.suffix)
        node = self._parse(path, fetch(store, list(keys)), bootstrap)
        if node is not None:
            return self._settled(store, {path: node})[path]
        if not path:
            return DraftGroup(bootstrap=bootstrap)
        if store.capabilities.listable:
            listing = store.list_dir(join(META, path) + "/")
            if listing.keys or listing.prefixes:
                return DraftGroup(bootstrap=bootstrap)
        return None

    def _parse(
        self, path: str, documents: Mapping[str, Buffer], bootstrap: Bootstrap
    ) -> Node | None:
        """The node that the documents at `path` describe; an array wins."""
        array_key, group_key = self.layout.document_keys(path, bootstrap.suffix)
        if array_key in documents:
            return members.parsed(
                array_key,
                documents[array_key],
                lambda value: read_array(value, self.layout, bootstrap),
            )
        if group_key in documents:
            return members.parsed(
                group_key, documents[group_key], lambda value: read_group(value, bootstrap)
            )
        return None

    def _settled(self, store: Store, nodes: dict[str, Node]) -> dict[str, Node]:
        """The nodes, with the chunk of each 0-d array called what its writer called it."""
        first, *others = self.layout.scalars
        scalars = [
            (path, node)
            for path, node in nodes.items()
            if others and isinstance(node, ArrayModel) and not node.shape
        ]
        names = [
            self.layout.data_prefix(path) + name for path, _ in scalars for name in (first, *others)
        ]
        answers = store.get_many([(name, ByteRange(0, 1)) for name in names])
        stored = {name for name, data in zip(names, answers, strict=True) if data is not None}
        for path, node in scalars:
            prefix = self.layout.data_prefix(path)
            found = next((o for o in others if prefix + o in stored), None)
            if found is not None and prefix + first not in stored:
                keys = self.layout.scalar_keys(node.keys.separator, found)
                nodes[path] = replace(node, keys=keys)
        return nodes

    def keys(self, path: str) -> tuple[str, ...]:
        return self.layout.document_keys(path, self.layout.suffix)

    def children(self, store: Store, path: str) -> dict[str, Node]:
        bootstrap = self._bootstrap(store)
        suffix = bootstrap.suffix
        found = list_members(store, self.layout, path, suffix)
        wanted = {
            name: self.layout.document_keys(join(path, name), suffix) for name in sorted(found.all)
        }
        stored = fetch(
            store,
            [keys[0] for name, keys in wanted.items() if name in found.arrays]
            + [keys[1] for name, keys in wanted.items() if name in found.groups - found.arrays],
        )
        nodes: dict[str, Node] = {}
        for name in wanted:
            try:
                node = self._parse(join(path, name), stored, bootstrap)
            except MetadataError as error:
                raise located(error, store) from error
            if node is None and name not in found.implied:
                continue  # deleted since it was listed
            nodes[join(path, name)] = node or DraftGroup(bootstrap=bootstrap)
        return {name_of(child): node for child, node in self._settled(store, nodes).items()}

    def names(self, store: Store, path: str) -> list[str]:
        return sorted(list_members(store, self.layout, path, self._bootstrap(store).suffix).all)

    def _bootstrap(self, store: Store) -> Bootstrap:
        """What the store says; the layout's own words if it says nothing of this draft."""
        data = fetch(store, [BOOTSTRAP]).get(BOOTSTRAP)
        found = None if data is None else read_bootstrap(data)
        if found is not None and found.layout is self.layout:
            return found
        return Bootstrap(self.layout, self.layout.suffix, self.layout.bootstrap)

    # -- writing ------------------------------------------------------------------------------
    def check_place(self, store: Store, path: str, besides: str = "") -> None:
        if not path:
            self._check_areas(store)
            return  # replacing the root would replace the whole store
        suffix = self._check_hierarchy(store)
        self._check_names(path)
        self._check_siblings(store, path, suffix, besides)

    def _check_names(self, path: str) -> None:
        if self.layout.zarr_python and path.split("/")[0] == CONSOLIDATED:
            raise UnsupportedError(
                f"{self.name} keeps its consolidated metadata below {CONSOLIDATED!r}, so no node"
                " can have that name at the root; choose another one",
                what="name",
            )
        for name in path.split("/"):
            if _NAME.match(name) is None:
                raise UnsupportedError(
                    f"{self.name} allows names of 1 to 255 ASCII letters, digits and '-_.', not"
                    f" only periods; found {name!r}",
                    what="name",
                )

    def _check_hierarchy(self, store: Store) -> str:
        """Refuse a store that another format has already; the suffix of its keys otherwise."""
        data = fetch(store, [BOOTSTRAP]).get(BOOTSTRAP)
        if data is None:
            from omnizarr import formats  # it imports this module

            self._check_areas(store)
            other = formats.find(store, "")
            if other is not None:
                raise UnsupportedError(
                    f"the root is a node of format {other[0].name}; a hierarchy of"
                    f" {self.name} needs a store of its own"
                ).at(store)
            return self.layout.suffix
        found = read_bootstrap(data)
        if found is None or found.layout is not self.layout:
            kind = "final format 3" if found is None else found.layout.name
            raise UnsupportedError(
                f"the store holds a hierarchy of {kind}, to which"
                f" nothing of {self.name} can be added; choose another store, or its format"
            ).at(store, key=BOOTSTRAP)
        if found.suffix != self.layout.suffix:
            raise UnsupportedError(
                f"nodes can be created where metadata_key_suffix is"
                f" {self.layout.suffix!r}, found {found.suffix!r}"
            ).at(store, key=BOOTSTRAP)
        return found.suffix

    def _check_areas(self, store: Store) -> None:
        """Refuse to begin a hierarchy where its keys would be among those of other nodes."""
        if not store.capabilities.listable or store.exists(BOOTSTRAP):
            return
        from omnizarr import formats  # it imports this module

        others = (known for known in formats.every_format() if not isinstance(known, Draft))
        names = {key for known in others for key in known.keys("")}
        for area in AREAS:
            for key in store.list_prefix(f"{area}/"):
                if name_of(key) in names:
                    raise UnsupportedError(
                        "a node of another format is where a hierarchy"
                        f" of {self.name} keeps its chunks and documents; choose another store"
                    ).at(store, key=key)

    def _check_siblings(self, store: Store, path: str, suffix: str, besides: str) -> None:
        """Document 002, "Node names": siblings differ in more than case."""
        if not store.capabilities.listable:
            return
        above = ""
        for name in path.split("/"):
            names = list_members(store, self.layout, above, suffix).all
            for other in sorted(names - {name}):
                if other.lower() == name.lower() and join(above, other) != besides:
                    raise UnsupportedError(
                        f"{self.name} does not allow {join(above, name)!r} beside"
                        f" {join(above, other)!r}: names must differ in more than case",
                        what="name",
                    ).at(store)
            if name not in names:
                return  # nothing is stored below it yet
            above = join(above, name)

    def parent_documents(self, path: str) -> dict[str, bytes]:
        """Keys below a path imply a group; only the bootstrap document must exist."""
        return {} if path else {BOOTSTRAP: self.layout.bootstrap}

    def documents(
        self, path: str, node: Node, *, attributes_only: bool = False
    ) -> dict[str, bytes]:
        found = self._bootstrap_of(node)
        suffix = self.layout.suffix if found is None else found.suffix
        array_key, group_key = self.layout.document_keys(path, suffix)
        if isinstance(node, ArrayModel):
            own = {array_key: text(array_document(node, self.layout))}
        else:
            own = {group_key: text(group_document(node))}
        if path or attributes_only:
            return own
        # The root brings the bootstrap along, as it was found.
        return {BOOTSTRAP: self.layout.bootstrap if found is None else found.text, **own}

    def _bootstrap_of(self, model: Node) -> Bootstrap | None:
        found = model.bootstrap if isinstance(model, DraftArray | DraftGroup) else None
        return found if found is not None and found.layout is self.layout else None

    def may_hold(self, store: Store) -> bool:
        """Whether nodes of this draft may be in the store: not if it follows another one."""
        data = fetch(store, [BOOTSTRAP]).get(BOOTSTRAP)
        try:
            found = None if data is None else read_bootstrap(data)
        except MetadataError:
            return True
        return data is None or (found is not None and found.layout is self.layout)

    def owned(self, store: Store, path: str) -> Owned:
        if not path:
            return Owned((BOOTSTRAP,), tuple(f"{area}/" for area in AREAS))
        keys = self.layout.document_keys(path, self._bootstrap(store).suffix)
        if not store.exists(BOOTSTRAP):
            return Owned(keys)  # no hierarchy: the chunks may be keys of other nodes
        return Owned(
            (*keys, *self._scalar_keys(path)),
            (join(META, path) + "/", self.layout.data_prefix(path)),
        )

    def _scalar_keys(self, path: str) -> tuple[str, ...]:
        """The key of the only chunk of a 0-d array, where it is not below the array's prefix."""
        return (self.layout.data_prefix(path)[:-1],) if "" in self.layout.scalars else ()

    def move(self, store: Store, source: str, target: str) -> None:
        """Copied whole, documents last, and only then removed: at every moment the old path or the
        new one has all its chunks."""
        layout = self.layout
        suffix = self._bootstrap(store).suffix
        from_data, to_data = layout.data_prefix(source), layout.data_prefix(target)
        store.delete_prefix(to_data)  # of a move that was interrupted
        for key in self._scalar_keys(target):
            store.delete(key)
        _copy_prefix(store, from_data, to_data)
        for key in self._scalar_keys(source):
            _copy_key(store, key, to_data[:-1])
        _copy_prefix(store, join(META, source) + "/", join(META, target) + "/")
        pairs = zip(
            layout.document_keys(source, suffix),
            layout.document_keys(target, suffix),
            strict=True,
        )
        for start, end in pairs:
            _copy_key(store, start, end)
        keys, prefixes = self.owned(store, source)
        for key in keys:
            store.delete(key)
        for prefix in prefixes:
            store.delete_prefix(prefix)

    def chunk_prefix(self, path: str, model: ArrayModel) -> str:
        prefix = self.layout.data_prefix(path)
        # The key of a 0-d array in A is that of its folder, without a name of its own.
        return prefix[:-1] if not model.shape and model.keys.scalar == "" else prefix

    # -- creating -----------------------------------------------------------------------------
    def new_array(self, request: ArrayRequest) -> ArrayModel:
        return creation.new_array(request, self.layout)

    def new_group(self, attributes: Mapping[str, Json]) -> GroupModel:
        model = DraftGroup(attributes)
        return replace(model, document=group_document(model))

    # -- consolidated metadata ----------------------------------------------------------------
    def consolidate(
        self, store: Store, path: str, made: Mapping[str, bytes] | None = None
    ) -> dict[str, bytes]:
        if not self.layout.zarr_python or path:
            raise UnsupportedError(
                f"{self.name} has no consolidated metadata"
                + (" but at the root" if self.layout.zarr_python else "; convert it to format 3")
            )
        if made is not None:
            return dict(made)  # the documents hold nothing else
        return consolidated.consolidate(store, self._bootstrap(store))

    def consolidated_keys(self, path: str) -> tuple[str, ...]:
        return (CONSOLIDATED_KEY,) if self.layout.zarr_python else ()

    def parse_consolidated(self, path: str, documents: Mapping[str, Buffer]) -> GroupModel | None:
        data = documents.get(CONSOLIDATED_KEY)
        return None if data is None else consolidated.parse(path, data, self.layout)


def _copy_prefix(store: Store, source: str, target: str) -> None:
    for key in list(store.list_prefix(source)):
        _copy_key(store, key, target + key[len(source) :])


def _copy_key(store: Store, source: str, target: str) -> None:
    value = store.get(source)
    if value is not None:
        store.set(target, value)


DRAFTS: tuple[Format, ...] = (Draft(A), Draft(B), Draft(C))
