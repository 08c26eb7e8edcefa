"""The declarations of the proof: suites can be run, expected failures have a reason."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from tests.proof import run

EXPECTED = sorted((run.HERE / "expected").glob("*.toml"))


def test_every_suite_has_an_environment_that_can_be_made() -> None:
    for suite in run.suites().values():
        assert (run.ROOT / "requirements" / f"{suite.environment}.txt").exists(), suite.name
        for plugin in suite.plugins:
            assert (run.HERE / f"{plugin}.py").exists(), suite.name


@pytest.mark.parametrize("file", EXPECTED, ids=lambda file: file.stem)
def test_every_expected_failure_has_a_suite_and_a_reason(file: Path) -> None:
    assert file.stem in run.suites()
    for group in tomllib.loads(file.read_text())["group"]:
        assert len(group["reason"]) > 10
        assert group["tests"]
