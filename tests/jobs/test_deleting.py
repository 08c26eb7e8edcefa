"""Deleting a node: all of it, nothing else, and its documents first."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import omnizarr
from omnizarr.errors import ContainsGroupError, NodeNotFoundError, ReadOnlyError


@pytest.mark.parametrize("zarr_format", [1, 2, 3, "3-draft2019", "n5"])
@pytest.mark.parametrize("by_node", [True, False])
def test_like_del(zarr_format: Any, by_node: bool, tmp_path: Path) -> None:
    grouped = zarr_format != 1
    states = []
    for way in ("del", "delete"):
        path = tmp_path / way
        if not grouped:
            omnizarr.create_array(path, data=range(100), chunks=2, zarr_format=1)
            if way == "delete":
                assert omnizarr.delete(path).keys == 50 + 2
            else:
                for file in path.iterdir():
                    file.unlink()
        else:
            root = omnizarr.open_group(path, mode="w", zarr_format=zarr_format)
            for name in ("g/a", "g/b", "h"):
                root.create_array(name, data=range(100), chunks=2)
            if way == "del":
                del root["g"]
            elif by_node:
                omnizarr.delete(root["g"])
            else:
                omnizarr.delete(path, "g")
            assert list(root) == ["h"]
            assert root["h"][7] == 7
        states.append({file.relative_to(path) for file in path.rglob("*") if file.is_file()})
    assert states[0] == states[1]


def test_progress_and_refusals() -> None:
    store = omnizarr.MemoryStore()
    omnizarr.create_array(store, name="a", data=range(1, 201), chunks=1)
    heard: list[float] = []
    report = omnizarr.delete(store, "a", progress=lambda progress: heard.append(progress.fraction))
    assert report.keys == 201
    assert report.to_dict()["keys"] == 201
    assert heard[-1] == 1.0
    assert len(heard) == 4
    with pytest.raises(NodeNotFoundError):
        omnizarr.delete(store, "a")
    with pytest.raises(ReadOnlyError):
        omnizarr.delete(omnizarr.open(store, mode="r"))


def test_documents_go_first() -> None:
    class Fails(omnizarr.MemoryStore):
        def delete(self, key: str) -> None:
            if "/c/" in key:
                raise OSError("no more")
            super().delete(key)

    store = Fails()
    omnizarr.create_array(store, name="a", data=range(1, 10), chunks=1)
    with pytest.raises(OSError, match="no more"):
        omnizarr.delete(store, "a")
    assert "a" not in omnizarr.open_group(store)


class Cut(omnizarr.MemoryStore):
    """Is cut off after so many deletions."""

    left = -1

    def delete(self, key: str) -> None:
        if self.left == 0:
            raise KeyboardInterrupt
        self.left -= 1
        super().delete(key)


@pytest.mark.parametrize("zarr_format", [2, 3, "3-draft2019", "n5"])
@pytest.mark.parametrize("path", ["", "g"])
def test_an_interruption_at_any_time_leaves_whole_nodes_or_none(
    zarr_format: Any, path: str
) -> None:
    whole = omnizarr.MemoryStore()
    root = omnizarr.create_group(whole, zarr_format=zarr_format)
    for name in ("g/a", "g/deep/b"):
        root.create_array(name, data=range(1, 4), chunks=1)
    kept = {} if path == "" else {key: whole.get(key) for key in whole if not _below_g(key)}
    for count in range(len(list(whole))):
        store = Cut(dict(whole.items()))
        store.left = count
        with pytest.raises(KeyboardInterrupt):
            omnizarr.delete(store, path, workers=1)
        for name in ("g/a", "g/deep/b"):
            try:
                found = omnizarr.open_array(store, mode="r", path=name)
            except (NodeNotFoundError, ContainsGroupError):  # N5: a folder is a group
                continue
            assert found[:].tolist() == [1, 2, 3], (count, name)
        store.left = -1
        omnizarr.delete(store, path)
        assert {key: store.get(key) for key in store} == kept, count


def _below_g(key: str) -> bool:
    return "g" in key.split("/") or "g.group.json" in key


def test_the_mark_stays_until_the_last_chunk() -> None:
    store = Cut()
    omnizarr.create_array(store, name="a", data=range(1, 10), chunks=1)
    store.left = 3
    with pytest.raises(KeyboardInterrupt):
        omnizarr.delete(store, "", workers=1)
    store.left = -1
    assert ".omnizarr-delete.json" in store
    assert [job.job for job in omnizarr.sweep(store).jobs] == ["delete (omnizarr rm)"]
    assert len(list(store)) > 2
    omnizarr.sweep(store, apply=True, unfinished=True)
    assert not list(store)


def test_sweep_keeps_what_was_created_over_a_mark() -> None:
    store = omnizarr.MemoryStore()
    omnizarr.save(store, [1, 2, 3])
    store.set(".omnizarr-delete.json", b"{}")
    omnizarr.sweep(store, apply=True, unfinished=True)
    assert omnizarr.open_array(store)[:].tolist() == [1, 2, 3]
    assert ".omnizarr-delete.json" not in store


def test_a_folder_vanishes_in_one_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = omnizarr.create_group(tmp_path / "s.zarr")
    root.create_array("g/a", data=range(1, 10), chunks=1)

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("omnizarr.stores.local.files.remove_tree", interrupted)
    with pytest.raises(KeyboardInterrupt):
        omnizarr.delete(tmp_path / "s.zarr", "g")
    assert not (tmp_path / "s.zarr" / "g").exists()


@pytest.mark.parametrize("zarr_format", [1, 2, 3, "3-draft2019", "n5"])
def test_a_dry_run_names_what_belongs_to_no_node(zarr_format: Any) -> None:
    store = omnizarr.MemoryStore()
    name = "" if zarr_format == 1 else "g/a"
    omnizarr.create_array(store, name=name, data=[[1, 2]], chunks=1, zarr_format=zarr_format)
    count = len(list(store))
    assert omnizarr.delete(store, dry_run=True).foreign == ()
    store.set("docs/thesis.txt", b"years")
    done = omnizarr.delete(store, dry_run=True)
    assert done.foreign == ("docs/thesis.txt",) and done.keys == count + 1 == len(list(store))
    assert "would be deleted" in str(done)


@pytest.mark.parametrize("shape", [(), (4,), (4, 4)])
@pytest.mark.parametrize("separator", [".", "/"])
@pytest.mark.parametrize("kind", ["default", "v2"])
def test_chunks_are_never_foreign(shape: tuple[int, ...], separator: str, kind: str) -> None:
    store = omnizarr.MemoryStore()
    array = omnizarr.create_array(
        store, name="a", shape=shape, chunks=(2,) * len(shape), dtype="i4", zarr_format=3,
        chunk_key_encoding={"name": kind, "separator": separator},
    )  # fmt: skip
    array[...] = 3
    assert omnizarr.delete(store, dry_run=True).foreign == ()
