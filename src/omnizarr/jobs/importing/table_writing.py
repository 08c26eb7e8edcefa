"""A group of arrays of one length that is written from begin to end, and becomes one at the end.

A journal is stored first. It names the arrays that are written. Then come their chunks, then their
documents, then the group's, and at last the journal goes: a reader that opens the place before that
finds no group. Where a killed import left a journal, the arrays that it names are removed, and the
import begins anew; nothing else is touched.

This module knows arrays and chunks. It must not know tables of other libraries.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any, NamedTuple

from omnizarr import formats
from omnizarr.errors import NodeExistsError, StoreError
from omnizarr.formats import Format
from omnizarr.model import paths
from omnizarr.model.array import ArrayModel
from omnizarr.model.store import Store
from omnizarr.nodes import resizing
from omnizarr.nodes.array import Array
from omnizarr.nodes.creation import storing
from omnizarr.nodes.creation.arguments import request_from
from omnizarr.nodes.node import NodeAddress, Options

JOURNAL = ".omnizarr-import.json"
DIMENSION = "row"


class _Planned(NamedTuple):
    place: NodeAddress
    model: ArrayModel


class Target:
    """The group to be. `begin` once all arrays are added, `write` in order, `finish` at the end."""

    def __init__(self, store: Store, path: str, chosen: Format, rows: int) -> None:
        self._place = NodeAddress(store, path, chosen)
        self._rows = rows
        self._arrays: dict[str, _Planned] = {}
        self._journal = paths.join(path, JOURNAL)

    def add(self, name: str, dtype: Any, **arguments: Any) -> None:
        """Plan an array of no elements yet."""
        request = request_from({
            "shape": (0,), "chunks": (self._rows,), "dtype": dtype,
            "dimension_names": [DIMENSION], **arguments,
        })  # fmt: skip
        store, path, chosen = self._place
        place = NodeAddress(store, paths.join(path, name), chosen)
        self._arrays[name] = _Planned(place, chosen.new_array(request))

    def has(self, name: str) -> bool:
        """Whether an array is planned."""
        return name in self._arrays

    def begin(self, *, overwrite: bool) -> bool:
        """Make room; whether an import that was killed had left something there."""
        store, path, _ = self._place
        store.check_writable()
        if store.capabilities.hierarchies_only:
            raise StoreError(
                "an import keeps a journal beside what it writes, and stores the documents last;"
                " this store takes no such keys. Instead, import into a folder, and copy the group"
                " with omnizarr.copy_all"
            ).at(store)
        left = self._clear()
        found = formats.find(store, path)
        if found is not None and not overwrite:
            raise storing.exists(self._place, found[1]).advise(
                "{} replaces it", ("overwrite", True)
            )
        if found is not None:
            storing.remove(store, path)
        for name, planned in self._arrays.items():
            for key in islice(store.list_prefix(f"{planned.place.path}/"), 1):
                raise NodeExistsError(f"{name!r} would be an array, but there is {key!r} already")
        document = {"job": "import", "arrays": list(self._arrays)}
        store.set(self._journal, json.dumps(document).encode())
        return left

    def _clear(self) -> bool:
        """Remove what a killed import has written."""
        store, path, _ = self._place
        data = store.get(self._journal)
        if data is None:
            return False
        try:
            names = [name for name in json.loads(bytes(data))["arrays"] if paths.is_key(name)]
        except (ValueError, KeyError, TypeError) as error:
            raise StoreError(
                f"{self._journal!r} should name the arrays of an unfinished import: {error}"
            ).at(store, key=self._journal) from error
        unfinished = formats.find(store, path) is None  # else it was killed when all was done
        for name in names if unfinished else ():
            store.delete_prefix(f"{paths.join(path, name)}/")
        store.delete(self._journal)
        return unfinished

    def write(self, name: str, start: int, stop: int, values: Any) -> None:
        """Write rows of an array; `start` is a multiple of the rows in a chunk."""
        place, model = self._arrays[name]
        longer = resizing.grown(model, 0, stop)
        Array._of(place, longer, Options(documents_last=True))[start:stop] = values

    def finish(
        self, rows: int, kept: Sequence[str], attributes: Mapping[str, Any],
        of_arrays: Mapping[str, Mapping[str, Any]],
    ) -> None:  # fmt: skip
        """Store the documents of the arrays that are kept, and of the group."""
        store, _, chosen = self._place
        for name in kept:
            place, model = self._arrays[name]
            model = resizing.grown(model, 0, rows)
            model = replace(model, attributes={**model.attributes, **of_arrays.get(name, {})})
            for key, document in chosen.documents(place.path, model).items():
                store.set(key, document)
        storing.create(self._place, chosen.new_group(dict(attributes)), overwrite=False)
        store.delete(self._journal)
