"""The examples in the help of every command are what its parser takes."""

from __future__ import annotations

import shlex

import pytest

from omnizarr.cli.commands import COMMANDS
from omnizarr.cli.main import make_parser
from omnizarr.cli.output import standard_error, standard_output


def examples(name: str) -> list[list[str]]:
    lines = COMMANDS[name].module.EXAMPLES.splitlines()
    typed = [line.partition(" > ")[0] for line in lines if line.startswith("  omnizarr ")]
    return [shlex.split(line)[1:] for line in typed]


@pytest.mark.parametrize("name", COMMANDS)
def test_examples_are_parsed(name: str) -> None:
    found = examples(name)
    assert len(found) >= 3
    for words in found:
        parser = make_parser(standard_output(), standard_error(), words)
        assert parser.parse_args(words).command == name
