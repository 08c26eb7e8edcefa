"""Random sequences of operations by two handles or two processes, against a model in NumPy.

    python -m tests.campaigns.stateful --steps 200000 --seed 1

A trial takes one format and one kind of store. Two actors, in this process or one of them in
another, take turns: they create, overwrite, write, append, resize, delete, move and copy nodes
through handles that they keep, while the other one changes the same nodes. The order is known, so
the model says exactly what each step must give: a value, or an error. At the end of a trial the
store is opened anew and everything is compared. A step is plain data: a finding is printed with the
shortest sequence of steps that still shows it.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import random
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np

import omnizarr
from omnizarr.stores import (
    CacheStore,
    DBMStore,
    LMDBStore,
    LocalStore,
    MappingStore,
    MemoryStore,
    NestedDirectoryStore,
    OverlayStore,
    PrefixStore,
    SQLiteStore,
    Store,
    ZipStore,
)

FORMATS = (3, 2, 1, 0, "3-draft2019", "3-draft2020-09", "3-draft2020-10", "n5")
STORES: dict[str, Callable[[Path], Store]] = {
    "memory": lambda folder: MemoryStore(),
    "mapping": lambda folder: MappingStore({}),
    "local": lambda folder: LocalStore(folder / "a"),
    "nested": lambda folder: NestedDirectoryStore(folder / "a"),
    "zip": lambda folder: ZipStore(folder / "a.zip", mode="a"),
    "sqlite": lambda folder: SQLiteStore(folder / "a.sqlite"),
    "lmdb": lambda folder: LMDBStore(folder / "a.lmdb"),
    "dbm": lambda folder: DBMStore(folder / "a.dbm"),
    "prefix": lambda folder: PrefixStore(LocalStore(folder / "a"), "p/q"),
    "cache": lambda folder: CacheStore(LocalStore(folder / "a")),
    "overlay": lambda folder: OverlayStore(LocalStore(folder / "a"), LocalStore(folder / "b")),
}
IN_ONE_PROCESS = {"memory", "mapping", "zip"}
WEIGHTS = {"memory": 6, "mapping": 2, "local": 4, "sqlite": 2, "zip": 2}
PATHS = ("a", "b", "g", "g/a", "g/h", "g/h/b")
ARRAYS_ONLY = (0, 1)
SLOTS = 3
STEPS = 50
"""Steps of a trial."""

Step = tuple[Any, ...]


# -- actors: what is done ---------------------------------------------------------------------


def _compressor(zarr_format: Any, name: str | None) -> dict[str, Any]:
    if zarr_format == 0:
        return {}
    if zarr_format == 3:
        codec = {"name": "gzip", "configuration": {"level": 1}}
        return {"compressors": [codec] if name else None}
    if name is None:
        return {"compressor": None}
    from numcodecs import GZip, Zlib

    return {"compressor": Zlib(level=1) if zarr_format in (1, 2) else GZip(level=1)}


class Actor:
    """One who holds a store and handles on its nodes."""

    def __init__(self, store: Store, zarr_format: Any) -> None:
        self.store = store
        self.format = zarr_format
        self.handles: dict[int, Any] = {}

    def do(self, step: Step) -> Any:
        return getattr(self, "do_" + step[0])(*step[2:])

    def node(self, path: str) -> Any:
        if self.format in ARRAYS_ONLY:
            return omnizarr.open_array(self.store, mode="r+", zarr_format=self.format)
        return omnizarr.open(
            self.store, path=path, mode="r+", zarr_format=self.format, use_consolidated=False
        ) if path else omnizarr.open_group(
            self.store, mode="r+", zarr_format=self.format, use_consolidated=False
        )  # fmt: skip

    def do_root(self) -> None:
        omnizarr.create_group(self.store, zarr_format=self.format)

    def do_create(self, slot: int, path: str, spec: dict[str, Any], overwrite: bool) -> None:
        spec = dict(spec)
        values = spec.pop("values")
        spec.update(_compressor(self.format, spec.pop("compressor")))
        if spec["order"] is None:
            del spec["order"]
        array = omnizarr.create_array(
            self.store, name=path or None, zarr_format=self.format, overwrite=overwrite, **spec
        )
        if values is not None:
            array[...] = values
        self.handles[slot] = array

    def do_group(self, slot: int, path: str, overwrite: bool) -> None:
        self.handles[slot] = omnizarr.create_group(
            self.store, path=path, zarr_format=self.format, overwrite=overwrite
        )

    def do_open(self, slot: int, path: str) -> None:
        self.handles.pop(slot, None)
        self.handles[slot] = self.node(path)

    def do_child(self, slot: int, name: str) -> None:
        self.handles[slot].create_group(name)

    def do_write(self, slot: int, way: str, selection: Any, values: Any) -> None:
        handle = self.handles[slot]
        if way == "basic":
            handle[selection] = values
        elif way == "mask":
            handle.set_mask_selection(selection, values)
        elif way == "lazy":
            handle.lazy[selection][...] = values
        else:
            getattr(handle, way)[selection] = values

    def do_read(self, slot: int, way: str, selection: Any) -> Any:
        handle = self.handles[slot]
        if way == "basic":
            return handle[selection]
        if way == "mask":
            return handle.get_mask_selection(selection)
        return getattr(handle, way)[selection]

    def do_append(self, slot: int, values: Any, axis: int) -> None:
        self.handles[slot].append(values, axis)

    def do_resize(self, slot: int, shape: Any) -> None:
        self.handles[slot].resize(shape)

    def do_refresh(self, slot: int) -> None:
        self.handles[slot].refresh()

    def do_attributes(self, slot: int, new: dict[str, Any]) -> None:
        self.handles[slot].attrs.update(new)

    def do_forget_attribute(self, slot: int, name: str) -> None:
        del self.handles[slot].attrs[name]

    def do_delete(self, path: str) -> None:
        del self.node("")[path]

    def do_move(self, path: str, to: str) -> None:
        self.node("").move(path, to)

    def do_copy(self, path: str, to: str) -> None:
        parent, _, name = to.rpartition("/")
        omnizarr.copy(self.node(path), self.node(parent), name)

    def do_consolidate(self) -> Any:
        omnizarr.consolidate_metadata(self.store)
        group = omnizarr.open_consolidated(self.store, zarr_format=self.format)
        return sorted((path, type(node).__name__) for path, node in group.members(None))

    def do_look(self, path: str) -> Any:
        """All of one node, through a new handle."""
        return described(self.node(path))

    def do_list(self) -> Any:
        return sorted((path, type(node).__name__) for path, node in self.node("").members(None))


def described(node: Any) -> Any:
    if isinstance(node, omnizarr.Group):
        return "Group", dict(node.attrs)
    return "Array", dict(node.attrs), node.shape, node.dtype.str, node[...]


def everything(store: Store, zarr_format: Any) -> dict[str, Any]:
    """All nodes of a store."""
    actor = Actor(store, zarr_format)
    if zarr_format in ARRAYS_ONLY:
        return {"": described(actor.node(""))}
    root = actor.node("")
    return {"": described(root)} | {path: described(node) for path, node in root.members(None)}


def answered(actor: Actor, step: Step) -> tuple[str, Any]:
    """What a step gives: ("value", …) or ("error", names of its classes, its text)."""
    try:
        return "value", actor.do(step)
    except Exception as error:
        names = [kind.__name__ for kind in type(error).__mro__]
        return "error", (names, f"{type(error).__name__}: {error}")


def work(connection: Connection) -> None:
    """The other process: trials and steps come through the pipe."""
    actor: Actor | None = None
    while True:
        message = connection.recv()
        if message is None:
            return
        if message[0] == "begin":
            actor = Actor(STORES[message[1]](Path(message[2])), message[3])
            connection.send(None)
        elif message[0] == "end":
            if actor is not None:
                actor.store.close()
            actor = None
            connection.send(None)
        else:
            assert actor is not None
            connection.send(answered(actor, message[1]))


# -- the model: what must come of it ----------------------------------------------------------


@dataclass
class Node:
    attributes: dict[str, Any] = field(default_factory=dict)
    values: Any = None
    """None for a group."""
    fill: Any = 0
    layout: Any = None
    """What a handle must agree with."""
    chunks: tuple[int, ...] = ()

    @property
    def kind(self) -> str:
        return "Group" if self.values is None else "Array"

    def described(self) -> Any:
        if self.values is None:
            return "Group", self.attributes
        return "Array", self.attributes, self.values.shape, self.values.dtype.str, self.values

    def copied(self) -> Node:
        values = None if self.values is None else self.values.copy()
        return replace(self, attributes=dict(self.attributes), values=values)


@dataclass
class Handle:
    """What a handle knows of its node."""

    path: str
    kind: str
    layout: Any
    shape: tuple[int, ...]
    fill: Any
    chunks: tuple[int, ...]


class Refused(Exception):
    """The step must raise one of these."""

    def __init__(self, *names: str) -> None:
        super().__init__(*names)
        self.names = names


GONE = ("NodeNotFoundError", "StaleHandleError")


def same_fill(one: Any, other: Any) -> bool:
    return bool(one == other) or (one != one and other != other)


class World:
    """The model: nodes by path, and what the actors' handles know."""

    def __init__(self, zarr_format: Any) -> None:
        self.format = zarr_format
        self.nodes: dict[str, Node] = {}
        self.handles: dict[tuple[int, int], Handle] = {}

    # -- helpers
    def _below(self, path: str) -> list[str]:
        return [name for name in self.nodes if name == path or name.startswith(path + "/")]

    def missing_parent(self, step: Step) -> str | None:
        """The uppermost group above a new node that is not there. Where it would not be stored, it
        vanishes with its last member: it must be created first."""
        place = {"create": 3, "group": 3, "move": 3, "copy": 3}.get(step[0])
        if place is None or self.format in (2, 3):
            return None
        parts = step[place].split("/")[:-1]
        above = ["/".join(parts[: depth + 1]) for depth in range(len(parts))]
        return next((path for path in above if path not in self.nodes), None)

    def _current(self, actor: int, slot: int) -> tuple[Handle, Node]:
        """The handle and its node as a writer finds them: the shape is taken over."""
        handle = self.handles[actor, slot]
        node = self.nodes.get(handle.path)
        if node is None or node.kind != handle.kind:
            raise Refused(*GONE)
        if node.layout != handle.layout:
            raise Refused("StaleHandleError")
        if node.values is not None:
            handle.shape, handle.fill = node.values.shape, node.fill
        return handle, node

    def _hold(self, actor: int, slot: int, path: str) -> None:
        node = self.nodes[path]
        shape = () if node.values is None else node.values.shape
        self.handles[actor, slot] = Handle(
            path, node.kind, node.layout, shape, node.fill, node.chunks
        )

    # -- steps
    def expect(self, step: Step) -> Any:
        """The value that a step gives; Refused for an error."""
        function: Any = getattr(self, "expect_" + step[0])
        return function(step[1], *step[2:])

    def expect_root(self, actor: int) -> None:
        self.nodes[""] = Node()

    def _place(self, path: str, overwrite: bool) -> None:
        parts = path.split("/") if path else []
        above = ["/".join(parts[:depth]) for depth in range(1, len(parts))]
        if any(self.nodes[name].values is not None for name in above if name in self.nodes):
            raise Refused("ContainsArrayError")
        if path in self.nodes and not overwrite:
            raise Refused("NodeExistsError")
        for name in self._below(path) if path else list(self.nodes):
            del self.nodes[name]
        for name in above:
            self.nodes.setdefault(name, Node())

    def expect_create(
        self, actor: int, slot: int, path: str, spec: dict[str, Any], overwrite: bool
    ) -> None:
        self._place(path, overwrite)
        values = np.full(spec["shape"], spec["fill_value"], spec["dtype"])
        if spec["values"] is not None:
            values[...] = spec["values"]
        layout = tuple(
            str(spec.get(name)) for name in ("dtype", "chunks", "shards", "compressor", "order")
        )
        self.nodes[path] = Node(
            dict(spec.get("attributes") or {}), values, spec["fill_value"], layout, spec["chunks"]
        )
        self._hold(actor, slot, path)

    def expect_group(self, actor: int, slot: int, path: str, overwrite: bool) -> None:
        self._place(path, overwrite)
        self.nodes[path] = Node()
        self._hold(actor, slot, path)

    def expect_open(self, actor: int, slot: int, path: str) -> None:
        self.handles.pop((actor, slot), None)
        if path not in self.nodes:
            raise Refused("NodeNotFoundError")
        self._hold(actor, slot, path)

    def expect_child(self, actor: int, slot: int, name: str) -> None:
        handle, _ = self._current(actor, slot)
        path = f"{handle.path}/{name}".lstrip("/")
        self._place(path, False)
        self.nodes[path] = Node()

    def expect_write(self, actor: int, slot: int, way: str, selection: Any, values: Any) -> None:
        handle, node = self._current(actor, slot)
        before = handle.shape if way != "lazy" else None
        assert before is None or before == node.values.shape
        target = node.values
        changed = target.copy()
        try:
            changed[selected(way, selection, target, handle.chunks)] = values
        except (IndexError, ValueError) as error:
            raise Refused("IndexError", "ValueError") from error
        node.values = changed

    def expect_read(self, actor: int, slot: int, way: str, selection: Any) -> Any:
        handle = self.handles[actor, slot]
        node = self.nodes[handle.path]
        known = np.full(handle.shape, node.fill, node.values.dtype)
        common = tuple(
            slice(0, min(a, b)) for a, b in zip(handle.shape, node.values.shape, strict=True)
        )
        known[common] = node.values[common]
        try:
            return known[selected(way, selection, known, handle.chunks)]
        except IndexError as error:
            raise Refused("IndexError") from error

    def expect_append(self, actor: int, slot: int, values: Any, axis: int) -> None:
        _, node = self._current(actor, slot)
        try:
            node.values = np.concatenate([node.values, values.astype(node.values.dtype)], axis)
        except ValueError as error:
            raise Refused("ValueError", "IndexError") from error
        self._current(actor, slot)

    def expect_resize(self, actor: int, slot: int, shape: Any) -> None:
        _, node = self._current(actor, slot)
        new = tuple(
            old if length is None else length
            for length, old in zip(shape, node.values.shape, strict=True)
        )
        values = np.full(new, node.fill, node.values.dtype)
        common = tuple(slice(0, min(a, b)) for a, b in zip(new, node.values.shape, strict=True))
        values[common] = node.values[common]
        node.values = values
        self._current(actor, slot)

    def expect_refresh(self, actor: int, slot: int) -> None:
        handle = self.handles[actor, slot]
        node = self.nodes.get(handle.path)
        if node is None or node.kind != handle.kind:
            raise Refused(*GONE)
        self._hold(actor, slot, handle.path)

    def expect_attributes(self, actor: int, slot: int, new: dict[str, Any]) -> None:
        self._current(actor, slot)[1].attributes.update(new)

    def expect_forget_attribute(self, actor: int, slot: int, name: str) -> None:
        known = replace(self.handles[actor, slot])
        _, node = self._current(actor, slot)
        if name not in node.attributes:
            self.handles[actor, slot] = known  # nothing was changed, so nothing is taken over
            raise Refused("KeyError")
        del node.attributes[name]

    def expect_delete(self, actor: int, path: str) -> None:
        if path not in self.nodes:
            raise Refused("NodeNotFoundError")
        for name in self._below(path):
            del self.nodes[name]

    def expect_move(self, actor: int, path: str, to: str) -> None:
        if path not in self.nodes:
            raise Refused("NodeNotFoundError")
        if to in self.nodes:
            raise Refused("NodeExistsError")
        if to.startswith(path + "/"):
            raise Refused("MetadataError")
        self._place(to, False)
        moved = {to + name[len(path) :]: self.nodes.pop(name) for name in self._below(path)}
        self.nodes.update(moved)

    def expect_copy(self, actor: int, path: str, to: str) -> None:
        parent = to.rpartition("/")[0]
        if path not in self.nodes or parent not in self.nodes:
            raise Refused("NodeNotFoundError")
        if self.nodes[parent].values is not None:
            raise Refused("Exception")
        if to in self.nodes:
            raise Refused("NodeExistsError")
        copies = {to + name[len(path) :]: self.nodes[name].copied() for name in self._below(path)}
        self.nodes.update(copies)

    def expect_consolidate(self, actor: int) -> Any:
        return self.expect_list(actor)

    def expect_look(self, actor: int, path: str) -> Any:
        if path not in self.nodes:
            raise Refused("NodeNotFoundError")
        return self.nodes[path].described()

    def expect_list(self, actor: int) -> Any:
        return sorted((path, node.kind) for path, node in self.nodes.items() if path)


def selected(way: str, selection: Any, values: Any, chunks: tuple[int, ...]) -> Any:
    """The selection as NumPy spells it."""
    if way == "oindex":
        indices = [
            np.arange(length)[part] if isinstance(part, slice) else np.asarray(part)
            for part, length in zip(selection, values.shape, strict=True)
        ]
        return np.ix_(*indices)
    if way == "vindex":
        return tuple(np.asarray(part) for part in selection)
    if way == "blocks":
        region = []
        for block, chunk, length in zip(selection, chunks, values.shape, strict=True):
            if block >= -(-length // chunk):
                raise IndexError(block)
            region.append(slice(block * chunk, min((block + 1) * chunk, length)))
        return tuple(region)
    return selection


# -- choosing steps ---------------------------------------------------------------------------


class Chooser:
    """Draws steps that make sense in a world; which of them are refused is the world's to say."""

    def __init__(self, rng: random.Random, world: World) -> None:
        self.rng = rng
        self.world = world

    def step(self) -> Step:
        while True:
            step = self._drawn()
            missing = self.world.missing_parent(step)
            if missing is not None:
                step = ("group", step[1], self.rng.randrange(SLOTS), missing, False)
            if usable(self.world, step):
                return step

    def _drawn(self) -> Step:
        rng = self.rng
        actor = rng.randrange(2)
        simple = self.world.format in ARRAYS_ONLY
        held = [slot for owner, slot in self.world.handles if owner == actor]
        kind = rng.random()
        known = len(self.world.nodes) > (not simple)
        if kind < 0.07 or (known and not held):
            return ("open", actor, rng.randrange(SLOTS), "" if simple else self._held_path(0.5))
        if kind < 0.17 or not held:
            path = "" if simple else self._held_path(0.6)
            overwrite = simple or rng.random() < 0.6
            return ("create", actor, rng.randrange(SLOTS), path, self._spec(path), overwrite)
        if kind < 0.22:
            return ("look", actor, self._known_path())
        if kind < 0.34 and not simple:
            return self._tree_step(actor)
        arrays = [s for s in held if self.world.handles[actor, s].kind == "Array"]
        slot = rng.choice(arrays if arrays and rng.random() < 0.8 else held)
        handle = self.world.handles[actor, slot]
        if kind < 0.42 or handle.kind == "Group":
            if handle.kind == "Group" and rng.random() < 0.3:
                return ("child", actor, slot, rng.choice(("a", "b", "h")))
            if rng.random() < 0.3:
                return ("forget_attribute", actor, slot, rng.choice("xyz"))
            return ("attributes", actor, slot, {rng.choice("xyz"): rng.randrange(100)})
        return self._array_step(actor, slot, handle)

    def _held_path(self, likely: float) -> str:
        """Mostly a path that has an open handle, so that handles become outdated."""
        held = sorted({handle.path for handle in self.world.handles.values()})
        if held and self.rng.random() < likely:
            return self.rng.choice(held)
        return self._known_path() if self.rng.random() < 0.5 else self.rng.choice(PATHS)

    def _known_path(self) -> str:
        if self.world.format in ARRAYS_ONLY:
            return ""
        known = sorted(path for path in self.world.nodes if path)
        return self.rng.choice(known if known and self.rng.random() < 0.9 else PATHS)

    def _tree_step(self, actor: int) -> Step:
        rng = self.rng
        kind = rng.random()
        if kind < 0.25:
            return ("group", actor, rng.randrange(SLOTS), rng.choice(PATHS), rng.random() < 0.2)
        if kind < 0.45:
            return ("delete", actor, self._known_path())
        if kind < 0.6:
            return ("move", actor, self._known_path(), rng.choice(PATHS))
        if kind < 0.75:
            source, target = self._known_path(), rng.choice(PATHS)
            if not (target + "/").startswith(source + "/"):
                return ("copy", actor, source, target)
        if kind < 0.8 and self.world.format in (2, 3):
            return ("consolidate", actor)
        return ("list", actor)

    def _array_step(self, actor: int, slot: int, handle: Handle) -> Step:
        rng = self.rng
        kind = rng.random()
        node = self.world.nodes.get(handle.path)
        if kind < 0.2:
            agrees = (
                node is not None
                and node.kind == "Array"
                and node.layout == handle.layout
                and same_fill(node.fill, handle.fill)
            )
            if not agrees:
                return ("refresh", actor, slot)
            return ("read", actor, slot, *self._selection(handle))
        if kind < 0.65:
            way, selection = self._selection(handle, writing=True)
            value: Any = rng.randrange(2 if "b1" in handle.layout[0] else 100)
            if way == "basic" and node is not None and node.values is not None:
                try:
                    shape = node.values[selection].shape
                except IndexError:
                    shape = ()
                if rng.random() < 0.5:
                    value = np.arange(int(np.prod(shape)), dtype="u1").reshape(shape)
            return ("write", actor, slot, way, selection, value)
        if kind < 0.75 and handle.shape:
            axis = rng.randrange(len(handle.shape))
            shape = [*handle.shape]
            shape[axis] = rng.randrange(4)
            dtype = handle.layout[0]
            return ("append", actor, slot, np.full(shape, rng.randrange(2), dtype), axis)
        if kind < 0.93:
            shape = [rng.choice((None, rng.randrange(14))) for _ in handle.shape]
            return ("resize", actor, slot, tuple(shape))
        return ("refresh", actor, slot)

    def _selection(self, handle: Handle, writing: bool = False) -> tuple[str, Any]:
        rng = self.rng
        shape = handle.shape
        ways = ["basic", "basic", "oindex", "vindex", "mask", "blocks"]
        way = rng.choice(ways if shape and 0 not in shape else ["basic"])
        if way == "mask":
            flags = [rng.random() < 0.4 for _ in range(int(np.prod(shape)))]
            return way, np.array(flags, bool).reshape(shape)
        if way == "vindex":
            count = rng.randrange(1, 4)
            if writing:  # which of two values for one point wins is not promised
                count = 1
            return way, tuple([rng.randrange(n) for _ in range(count)] for n in shape)
        if way == "blocks":
            grid = [-(-n // c) for n, c in zip(shape, handle.chunks, strict=True)]
            return way, tuple(rng.randrange(n) for n in grid)
        if way == "oindex":
            return way, tuple(
                sorted(rng.sample(range(n), rng.randrange(1, min(n, 3) + 1))) for n in shape
            )
        parts: list[Any] = []
        for length in shape:
            if length and rng.random() < 0.25:
                parts.append(rng.randrange(length))
            else:
                parts.append(
                    slice(
                        rng.randrange(length + 1), rng.randrange(length + 2), rng.choice((1, 1, 2))
                    )
                    if rng.random() < 0.7
                    else slice(None)
                )
        if rng.random() < 0.2:
            parts = [...]
        if not writing and all(isinstance(part, int) for part in parts):
            parts.append(...)
        return way, tuple(parts)

    def _spec(self, path: str) -> dict[str, Any]:
        rng, chosen = self.rng, self.world.format
        least = 1 if chosen in (0, 1, "n5") else 0
        ndim = rng.choice((least, 1, 1, 2, 2, 3))
        shape = tuple(rng.randrange(12 if ndim < 3 else 6) for _ in range(ndim))
        if chosen == "n5":
            shape = tuple(max(1, n) for n in shape)
        chunks = tuple(rng.choice((1, 2, 3, 4, 5)) for _ in range(ndim))
        if chosen == "n5" or ndim == 0:
            dtypes = ["<i4", "<f8", "|u1"]
        else:
            dtypes = ["<i4", "<f8", "|u1", "<i2", "|b1"]
            dtypes += [">i2"] if chosen == 2 else []
        dtype = rng.choice(dtypes)
        fill: Any = rng.choice((0, 1)) if dtype == "|b1" else rng.choice((0, 0, 7))
        if dtype == "<f8" and chosen in (2, 3) and rng.random() < 0.3:
            fill = float("nan")
        if chosen == "n5":
            fill = 0
        if dtype == "|b1":
            fill = bool(fill)
        spec: dict[str, Any] = {
            "shape": shape,
            "chunks": chunks,
            "dtype": dtype,
            "fill_value": fill,
            "compressor": rng.choice((None, "zip")) if chosen != 0 else None,
            "order": rng.choice("CF") if chosen in (1, 2) and ndim > 1 else None,
            "values": rng.choice((None, rng.randrange(2))),
            "attributes": rng.choice(({}, {"x": 1})),
        }
        if chosen == 3 and ndim and rng.random() < 0.3:
            spec["shards"] = tuple(2 * n for n in chunks)
        return spec


# -- trials -----------------------------------------------------------------------------------


@dataclass
class Trial:
    zarr_format: Any
    store: str
    apart: bool
    """The second actor is another process."""
    seed: int

    def __str__(self) -> str:
        return (
            f"format {self.zarr_format}, store {self.store},"
            f" {'two processes' if self.apart else 'one process'}, trial seed {self.seed}"
        )


class Other:
    """The process that the second actor lives in, started when it is first needed."""

    def __init__(self) -> None:
        self._process: Any = None
        self._connection: Any = None

    def ask(self, *message: Any) -> Any:
        if self._process is None:
            context = multiprocessing.get_context("spawn")
            self._connection, theirs = context.Pipe()
            self._process = context.Process(target=work, args=(theirs,), daemon=True)
            self._process.start()
            theirs.close()
        self._connection.send(message)
        if not self._connection.poll(120):
            raise TimeoutError(f"no answer within two minutes to {message!r}")
        return self._connection.recv()

    def close(self) -> None:
        if self._process is not None:
            self._connection.send(None)
            self._process.join(10)


def usable(world: World, step: Step) -> bool:
    """Whether a step can be replayed: in a shortened sequence its handle may be missing."""
    if world.missing_parent(step) is not None:
        return False
    if step[0] == "copy":  # a group is merged into another one
        nodes = [world.nodes.get(path) for path in step[2:]]
        return not all(node is not None and node.values is None for node in nodes)
    if step[0] in ("root", "create", "group", "open", "delete", "move", "consolidate"):
        return True
    if step[0] in ("look", "list"):
        return True
    handle = world.handles.get((step[1], step[2]))
    if handle is None:
        return False
    kind = "Group" if step[0] == "child" else "Array"
    if step[0] not in ("attributes", "forget_attribute", "refresh") and handle.kind != kind:
        return False
    node = world.nodes.get(handle.path)
    if step[0] == "read":
        return (
            node is not None
            and node.kind == "Array"
            and node.layout == handle.layout
            and same_fill(node.fill, handle.fill)
            and len(handle.shape) == len(step[4] if isinstance(step[4], tuple) else handle.shape)
        )
    if step[0] == "resize":
        return len(step[3]) == len(handle.shape)
    return True


def differs(step: Step, expected: Any, refused: Refused | None, found: tuple[str, Any]) -> str:
    """What is wrong with an answer; "" if nothing is."""
    what, value = found
    if refused is not None:
        if what == "value":
            return f"gave {value!r}, expected one of {', '.join(refused.names)}"
        names, text = value
        return "" if set(names) & set(refused.names) else f"{text}, expected {refused.names}"
    if what == "error":
        return f"raised {value[1]}, expected a value"
    return "" if same(expected, value) else f"gave {value!r}, expected {expected!r}"


def same(expected: Any, found: Any) -> bool:
    if isinstance(expected, np.ndarray | np.generic):
        found = np.asarray(found)
        if found.dtype.newbyteorder("=") != expected.dtype.newbyteorder("="):
            return False
        floats = expected.dtype.kind == "f"
        return found.shape == expected.shape and bool(
            np.array_equal(expected, found, equal_nan=floats)
        )
    if isinstance(expected, tuple) and expected and expected[0] == "Array":
        kind, attributes, shape, dtype, values = expected
        return (
            isinstance(found, tuple)
            and found[:3] == (kind, attributes, shape)
            and np.dtype(found[3]).newbyteorder("=") == np.dtype(dtype).newbyteorder("=")
            and same(values, found[4])
        )
    return bool(expected == found)


CHANGES = ("write", "append", "resize", "attributes", "forget_attribute", "child")


def outdated(world: World, step: Step) -> bool:
    """Whether the node is not what the handle of this step knows of it."""
    handle = world.handles[step[1], step[2]]
    node = world.nodes.get(handle.path)
    if node is None or (node.kind, node.layout) != (handle.kind, handle.layout):
        return True
    return node.values is not None and node.values.shape != handle.shape


def run(
    trial: Trial,
    other: Other,
    steps: list[Step] | None = None,
    count: int = STEPS,
    counted: Counter[str] | None = None,
) -> tuple[list[Step], str]:
    """Steps that were done, and what was wrong ("": nothing). Without `steps` they are drawn."""
    counted = Counter() if counted is None else counted
    rng = random.Random(trial.seed)
    world = World(trial.zarr_format)
    chooser = Chooser(rng, world)
    done: list[Step] = []
    folder = tempfile.mkdtemp(prefix="stateful-")
    with ExitStack() as stack:
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        store = STORES[trial.store](Path(folder))
        stack.callback(lambda: store.close())
        first = Actor(store, trial.zarr_format)
        second = first if trial.apart else Actor(store, trial.zarr_format)
        if trial.apart:
            other.ask("begin", trial.store, folder, trial.zarr_format)
            stack.callback(other.ask, "end")

        def act(step: Step) -> str:
            done.append(step)
            if trial.apart and step[1] == 1:
                ask = lambda: other.ask("step", step)  # noqa: E731 - one of two ways to ask
            else:
                ask = lambda: answered((first, second)[step[1]], step)  # noqa: E731
            counted[step[0]] += 1
            if step[0] in CHANGES and outdated(world, step):
                counted["by an outdated handle"] += 1
            refused = expected = None
            try:
                expected = world.expect(step)
            except Refused as error:
                refused = error
            return differs(step, expected, refused, ask())

        if steps is None:
            simple = trial.zarr_format in ARRAYS_ONLY
            begin = ("create", 0, 0, "", chooser._spec(""), True) if simple else ("root", 0)
            wrong = act(begin)
            while not wrong and len(done) < count:
                wrong = act(chooser.step())
        else:
            wrong = ""
            for step in steps:
                if usable(world, step) and not wrong:
                    wrong = act(step)
        if not wrong:
            wrong = _at_the_end(trial, world, store, Path(folder), stack)
    return done, wrong


def _at_the_end(trial: Trial, world: World, store: Store, folder: Path, stack: ExitStack) -> str:
    """Everything, through a store that was opened anew."""
    again = store
    if trial.store not in ("memory", "mapping"):
        if trial.store in IN_ONE_PROCESS:
            store.close()
        again = STORES[trial.store](folder)
        stack.callback(lambda: again.close())
    try:
        found = everything(again, trial.zarr_format)
    except Exception as error:
        return f"at the end: {type(error).__name__}: {error}"
    if set(found) != set(world.nodes):
        return f"at the end: nodes {sorted(found)}, expected {sorted(world.nodes)}"
    for path, node in world.nodes.items():
        if not same(node.described(), found[path]):
            return f"at the end: {path!r} is {found[path]!r}, expected {node.described()!r}"
    return ""


def shortened(trial: Trial, other: Other, steps: list[Step], seconds: float = 60) -> list[Step]:
    """The shortest sequence that can be found soon and still goes wrong."""
    until = time.monotonic() + seconds
    size = max(1, len(steps) // 2)
    while size:
        start = 1
        while start < len(steps) and time.monotonic() < until:
            fewer = steps[:start] + steps[start + size :]
            shown, wrong = run(trial, other, fewer)
            if wrong:
                steps = shown
            else:
                start += size
        size //= 2
    return steps


def draw(rng: random.Random, formats: list[Any], stores: list[str]) -> Trial:
    store = rng.choices(stores, [WEIGHTS.get(name, 1) for name in stores])[0]
    chosen = rng.choice(formats)
    apart = store not in IN_ONE_PROCESS and rng.random() < 0.5
    return Trial(chosen, store, apart, rng.randrange(2**32))


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.campaigns.stateful", description=__doc__)
    parser.add_argument("--steps", type=int, default=200_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--trial", type=int, help="only the trial with this seed")
    parser.add_argument("--format", action="append", help="only these formats")
    parser.add_argument("--store", action="append", choices=list(STORES), help="only these stores")
    parser.add_argument("--processes", choices=("one", "two"), help="for --trial")
    parser.add_argument("--findings", type=int, default=10, help="stop after so many")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    formats = [chosen for chosen in FORMATS if str(chosen) in (options.format or [str(chosen)])]
    stores = options.store or list(STORES)
    rng = random.Random(options.seed)
    other = Other()
    total = trials = 0
    counted: Counter[str] = Counter()
    findings: list[dict[str, Any]] = []
    began = said = time.monotonic()
    try:
        while total < options.steps and len(findings) < options.findings:
            trial = draw(rng, formats, stores)
            if options.trial is not None:
                trial.seed, trial.apart = options.trial, options.processes == "two"
            done, wrong = run(trial, other, counted=counted)
            trials, total = trials + 1, total + len(done)
            counted[f"format {trial.zarr_format}"] += len(done)
            counted[f"store {trial.store}"] += len(done)
            counted["two processes" if trial.apart else "one process"] += len(done)
            if wrong:
                steps = shortened(trial, other, done)
                wrong = run(trial, other, steps)[1] or wrong
                findings.append(
                    {"trial": str(trial), "wrong": wrong, "steps": [repr(step) for step in steps]}
                )
                print(f"FINDING in {trial}: {wrong}", file=sys.stderr)
                for step in steps:
                    print(f"    {step!r}", file=sys.stderr)
            if time.monotonic() - said > 10:
                said = time.monotonic()
                rate = total / (said - began)
                print(f"{total:,} steps, {rate:,.0f} a second", file=sys.stderr, flush=True)
            if options.trial is not None:
                break
    finally:
        other.close()
    seconds = time.monotonic() - began
    if options.json:
        summary = {"steps": total, "trials": trials, "seconds": round(seconds, 1)}
        print(json.dumps(summary | {"findings": findings, "by": dict(sorted(counted.items()))}))
    else:
        print("; ".join(f"{name} {count:,}" for name, count in sorted(counted.items())))
        print(
            f"{total:,} steps, {len(findings)} findings, {trials:,} trials,"
            f" seed {options.seed}, {seconds:.0f} s"
        )
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
