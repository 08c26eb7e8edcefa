"""The stateful campaign, briefly; and that it finds what it is there for."""

from __future__ import annotations

import json

import pytest

from omnizarr.nodes.freshness import Freshness
from tests.campaigns import stateful

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("store", ["memory", "local", "zip", "sqlite", "cache"])
def test_briefly(store: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert stateful.main(["--steps", "400", "--seed", "1", "--store", store, "--json"]) == 0
    summary = json.loads(capsys.readouterr().out)
    assert summary["steps"] >= 400
    assert summary["findings"] == []


def test_two_processes(capsys: pytest.CaptureFixture[str]) -> None:
    trial = stateful.Trial(3, "local", True, 5)
    other = stateful.Other()
    try:
        done, wrong = stateful.run(trial, other)
    finally:
        other.close()
    assert wrong == ""
    assert {step[1] for step in done} == {0, 1}


def test_handles_that_never_look_are_found(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(Freshness, "look", lambda self, place, held: None)
    arguments = ["--steps", "2000", "--store", "memory", "--format", "3", "--findings", "1"]
    assert stateful.main(arguments) == 1
    said = capsys.readouterr()
    assert "FINDING in format 3, store memory, one process, trial seed" in said.err
    assert "1 findings" in said.out
