"""`omnizarr rm`: a node; a whole store only when told twice."""

from __future__ import annotations

from pathlib import Path

import pytest

import omnizarr as zarr
from omnizarr.cli import asking
from omnizarr.cli.output import Output
from tests.cli.conftest import Run


def test_a_node(run: Run, store: Path) -> None:
    done = run("rm", store / "deep", "--dry-run")
    assert done.status == 0 and "5 values would be deleted" not in done.err
    assert sorted(zarr.open(store)) == ["deep", "sparse", "text"]
    done = run("rm", store / "deep")
    assert done.status == 0 and "deleted" in done.out
    assert sorted(zarr.open(store)) == ["sparse", "text"] and not (store / "deep").exists()
    document = run("rm", store, "sparse", "--json").document
    assert document["path"] == "sparse" and document["keys"] == 3 and not document["dry_run"]


def test_a_whole_store(run: Run, store: Path, tmp_path: Path) -> None:
    done = run("rm", store)
    assert done.status == 2 and "it is a whole store (group)" in done.err and "--yes" in done.err
    assert zarr.open(store)["deep/z"][1, 2] == 5
    assert run("zip", store, tmp_path / "a.zip").status == 0
    assert run("rm", store, "--yes").status == 0 and not store.exists()
    assert run("rm", tmp_path / "a.zip", "--yes").status == 0 and not (tmp_path / "a.zip").exists()


def test_what_is_no_node(run: Run, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "letter.txt").write_text("dear")
    assert run("rm", tmp_path / "folder", "--yes").status == 2
    assert run("rm", tmp_path / "no", "--yes").status == 2
    assert (tmp_path / "folder" / "letter.txt").exists()


def test_what_an_interruption_left(run: Run, store: Path) -> None:
    (store / "sparse" / "zarr.json").unlink()
    assert run("rm", store / "sparse").status == 0 and not (store / "sparse").exists()


def test_an_interruption_after_the_folder_has_vanished(
    run: Run, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The node is gone at once, and only `sweep` finds what is left of it."""

    def press(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("omnizarr.stores.local.files.remove_tree", press)
    done = run("rm", store / "deep", "--yes")
    assert done.status == 130 and "or omnizarr sweep --apply if the node is gone" in done.err
    assert not (store / "deep").exists() and [*store.glob(".~*.deleted")]
    assert run("rm", store / "deep", "--yes").status == 2


def test_a_whole_store_of_which_an_interruption_left_chunks(run: Run, store: Path) -> None:
    (store / ".omnizarr-delete.json").write_text("{}")
    for document in list(store.rglob("zarr.json")):
        document.unlink()
    refused = run("tree", store)
    assert refused.status == 2 and "deletion is unfinished" in refused.err
    assert f"omnizarr rm {store} --yes" in refused.err
    assert run("rm", store, "--yes").status == 0 and not store.exists()


def test_files_of_the_user_are_refused(run: Run, store: Path, tmp_path: Path) -> None:
    letter = store / "deep" / "docs" / "thesis.txt"
    letter.parent.mkdir()
    letter.write_text("years")
    for arguments in (
        ("rm", store, "--yes"),
        ("rm", store, "--dry-run"),
        ("rm", store / "deep", "--yes"),
        ("mv", store / "deep", tmp_path / "new.zarr"),
        ("cp", store / "sparse", store / "deep", "--overwrite"),
        ("convert", store / "sparse", store, "--to", 2, "--overwrite"),
        ("reencode", store / "sparse", store, "--overwrite"),
        ("rechunk", store / "sparse", store, "--chunks", "40,60", "--overwrite"),
    ):
        done = run(*arguments)
        assert done.status == 2 and "'deep/docs/thesis.txt'" in done.err, arguments
    assert letter.read_text() == "years" and zarr.open(store)["deep/z"][1, 2] == 5
    assert run("rm", store / "sparse", "--yes").status == 0
    letter.unlink()
    assert run("rm", store, "--yes").status == 0 and not store.exists()


class Terminal:
    def __init__(self, answer: str) -> None:
        self.answer = answer

    def isatty(self) -> bool:
        return True

    def readline(self) -> str:
        return self.answer

    def write(self, text: str) -> int:
        return len(text)

    def flush(self) -> None:
        pass


@pytest.mark.parametrize(("answer", "agrees"), [("y\n", True), ("\n", False), ("no\n", False)])
def test_asking(monkeypatch: pytest.MonkeyPatch, answer: str, agrees: bool) -> None:
    monkeypatch.setattr(asking.sys, "stdin", Terminal(answer))
    out = Output(Terminal(""), False, True, True, 80)  # type: ignore[arg-type]
    if agrees:
        asking.agreed("delete?", out)
    else:
        with pytest.raises(asking.Problem, match="nothing was changed"):
            asking.agreed("delete?", out)
