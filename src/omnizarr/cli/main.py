"""The entry: arguments, the command that they name, and what is said when it fails.

Exit status: 0 done; 1 the check found errors, or damage was found; 2 it could not be done (usage,
nothing found, a refusal, a failing store, a closed output); 130 interrupted. Errors are
one line on the standard error, with a hint where something helps; `--debug` shows where they arose.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from shlex import quote
from typing import TYPE_CHECKING, Any, NoReturn, TextIO

import omnizarr
from omnizarr.cli.commands import COMMANDS, Command
from omnizarr.cli.output import (
    Output,
    Unwritable,
    dim,
    red,
    standard_error,
    standard_output,
)
from omnizarr.cli.places import near
from omnizarr.cli.problems import explain_all
from omnizarr.cli.urls import hidden

if TYPE_CHECKING:
    from argparse import ArgumentParser

DONE, FAILED, REFUSED, INTERRUPTED, PIPE_CLOSED = 0, 1, 2, 130, 141


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the exit status."""
    arguments = sys.argv[1:] if arguments is None else list(arguments)
    if arguments[:1] == ["_complete"]:  # for shells alone
        from omnizarr.cli.shells.nodes import answer

        return answer(arguments[-1])
    _fill_closed()
    out, err = standard_output(), standard_error()
    try:
        return _run(arguments, out, err)
    except KeyboardInterrupt:
        command = _named(arguments)
        with suppress(Unwritable, BrokenPipeError):
            err.line(getattr(command and command.module, "INTERRUPTED", "interrupted"))
        return INTERRUPTED
    except (Unwritable, BrokenPipeError):  # the message cannot be shown
        return REFUSED
    finally:
        _let_go(sys.stdout)
        _let_go(sys.stderr)


def _run(arguments: list[str], out: Output, err: Output) -> int:
    given: list[tuple[str, Any]] = []
    try:
        parser = make_parser(out, err, arguments)
        if not arguments:
            err.own(parser.format_help())
            return REFUSED
        parsed = parser.parse_args(arguments)
        given = [*parsed.storage_option, *getattr(parsed, "destination_option", ())]
        status = int(COMMANDS[parsed.command].module.run(parsed, out))
        out.flush()
        return status
    except SystemExit as leaving:  # argparse has said what it had to say
        return leaving.code if isinstance(leaving.code, int) else REFUSED
    except BrokenPipeError:
        return PIPE_CLOSED  # the reader, such as `head`, closed the pipe
    except Exception as error:
        if "--debug" in arguments:
            import traceback

            shown = traceback.format_exc()
            for name, value in given:
                shown = hidden(shown, {name: value})
            for line in shown.splitlines():
                err.line(line)
            return REFUSED
        heading, found = explain_all(error)
        for options in ({name: value} for name, value in given):
            found = [(hidden(one, options), hint and hidden(hint, options)) for one, hint in found]
        tell(err, found, heading)
        return REFUSED


def tell(err: Output, found: Sequence[tuple[str, str | None]], heading: str = "") -> None:
    """Say what is wrong, each on one line, with a hint where there is one."""
    if heading:
        err.line(red("omnizarr:"), f" {heading}")
    for number, (message, hint) in enumerate(found, 1):
        if heading:
            err.line(f"  {number}. {message}")
        else:
            err.line(red("omnizarr:"), f" {message}")
        if hint:
            err.line(dim(f"{'     ' if heading else ''}hint: {hint}"))


def _named(arguments: Sequence[str]) -> Command | None:
    """The command that is called."""
    return next((COMMANDS[word] for word in arguments if word in COMMANDS), None)


def _fill_closed() -> None:
    """No file that is opened later may take the number of a standard stream that is closed."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)


def _let_go(stream: TextIO | None) -> None:
    """What a stream could not take must not be tried again when the interpreter ends."""
    if stream is None:
        return
    try:
        stream.flush()
    except (OSError, ValueError):
        with suppress(OSError, ValueError):
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, stream.fileno())
            os.close(null)


def make_parser(out: Output, err: Output, arguments: Sequence[str] = ()) -> ArgumentParser:
    import argparse

    class Parser(argparse.ArgumentParser):
        """Usage errors look like all others."""

        def _print_message(self, message: str, file: Any = None) -> None:
            out.own(message)
            out.flush()

        def error(self, message: str) -> NoReturn:
            near = misspelt(arguments, commands.choices)
            hint = f"did you mean {near}?" if near else f"{self.prog} --help"
            for word in arguments:
                if word.startswith("-") and os.path.lexists(word):  # a path that is no option
                    hint = f"did you mean {quote(f'./{word}')}?"
            tell(err, [(message, hint)])
            raise SystemExit(REFUSED)

    common = Parser(add_help=False)
    common.add_argument("--json", action="store_true", help="print one JSON document instead")
    common.add_argument("--debug", action="store_true", help="show where an error arose")

    parser = Parser(
        prog="omnizarr",
        description="Show, check, copy and convert Zarr stores of every format.",
        epilog="`omnizarr COMMAND --help` shows a command's options and examples.",
    )
    parser.add_argument("--version", action="version", version=f"omnizarr {omnizarr.__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    called = _named(arguments)
    for command in COMMANDS.values():
        below = commands.add_parser(
            command.name,
            help=command.help,
            description=f"{command.help[0].upper()}{command.help[1:]}.",
            parents=[common],
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        if command is called:
            below.epilog = command.module.EXAMPLES
            command.module.add_arguments(below)
    return parser


def misspelt(arguments: Sequence[str], parsers: Mapping[str, ArgumentParser]) -> str | None:
    """The command or option that an unknown one was meant to be; None if there is none."""
    command = next((word for word in arguments if not word.startswith("-")), "")
    if command not in parsers:
        return near(command, list(parsers))
    known = list(parsers[command]._option_string_actions)
    for word in arguments:
        name = word.partition("=")[0]
        if name.startswith("--") and not any(option.startswith(name) for option in known):
            return near(name, known)
    return None
