"""`omnizarr check`: findings, levels, and the exit status."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

import omnizarr as zarr
from tests.cli.conftest import Run, write


@pytest.fixture
def odd(tmp_path: Path) -> Path:
    """A format 2 store with one broken array and one unknown member, which 003 forbids."""
    store = write(tmp_path / "odd.zarr", zarr_format=2)
    file = store / "sparse" / ".zarray"
    document = json.loads(file.read_text())
    file.write_text(json.dumps({**document, "surprise": 1}))
    file = store / "deep" / "z" / ".zarray"
    document = json.loads(file.read_text())
    del document["dtype"]
    file.write_text(json.dumps(document))
    return store


def test_a_clean_store(run: Run, store: Path) -> None:
    done = run("check", store, "--level", "error")
    assert done.status == 0 and done.err == ""
    assert done.out.startswith("5 nodes: 0 errors, ")


def test_findings_name_node_key_and_document(run: Run, odd: Path) -> None:
    done = run("check", odd)
    assert done.status == 1
    assert "/deep/z\n" in done.out and "error    deep/z/.zarray: " in done.out
    assert "document 000" in done.out


def test_the_layout_is_that_of_the_report(run: Run, odd: Path) -> None:
    done = run("check", odd)
    assert done.out == f"{zarr.check(odd)}\n"


def test_folders_above_a_store_are_no_part_of_it(run: Run, tmp_path: Path) -> None:
    write(tmp_path / "plain" / "out.zarr", zarr_format=2)
    done = run("check", tmp_path / "plain", "out.zarr", "--level", "error")
    assert done.status == 0 and "5 nodes: 0 errors" in done.out
    shutil.make_archive(str(tmp_path / "a"), "zip", tmp_path, "plain")
    assert run("check", tmp_path / "a.zip" / "plain" / "out.zarr").status == 0


def test_json_members(run: Run, odd: Path) -> None:
    done = run("check", odd, "--json")
    document = done.document
    assert done.status == 1
    assert list(document) == [
        "store", "path", "ok", "nodes", "chunks_decoded", "counts", "findings"
    ]  # fmt: skip
    assert document["store"] == str(odd) and document["ok"] is False
    assert set(document["counts"]) == {"error", "warning", "dialect"}
    for finding in document["findings"]:
        assert list(finding) == ["path", "key", "level", "message", "reference"]


def test_a_level_hides_what_is_milder(run: Run, odd: Path) -> None:
    levels = {
        level: [
            f["level"] for f in run("check", odd, "--json", "--level", level).document["findings"]
        ]
        for level in ("error", "warning", "dialect")
    }
    assert set(levels["error"]) == {"error"}
    assert "dialect" not in levels["warning"]
    assert len(levels["error"]) <= len(levels["warning"]) <= len(levels["dialect"])
    assert len(levels["error"]) < len(levels["dialect"])


def test_standards_differ(run: Run, odd: Path) -> None:
    def about(standard: str) -> set[str]:
        findings = run("check", odd / "sparse", "--standard", standard, "--json").document[
            "findings"
        ]
        return {f["level"] for f in findings if "surprise" in f["message"]}

    assert "error" in about("003") | about("ogc")
    assert "error" not in about("000")


def test_a_broken_root_is_a_finding(run: Run, tmp_path: Path) -> None:
    (tmp_path / "zarr.json").write_text("{")
    done = run("check", tmp_path)
    assert done.status == 1 and "error" in done.out and done.err == ""


def test_one_node(run: Run, odd: Path) -> None:
    assert run("check", odd, "text", "--level", "error").status == 0
    assert run("check", odd / "deep" / "z").status == 1
