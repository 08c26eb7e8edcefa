"""The entry: arguments, the command that they name, and what is said when it fails.

Exit status: 0 done; 1 the check found errors; 2 it could not be done (usage, nothing found, a
refusal, a failing store); 130 interrupted. Errors are one line on the standard error, with a hint
where something helps; `--debug` shows where they arose.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NoReturn

import omnizarr
from omnizarr.cli import check, convert, info, tree
from omnizarr.cli.output import Output, dim, red, standard_error, standard_output
from omnizarr.cli.problems import explain

if TYPE_CHECKING:
    from argparse import ArgumentParser

COMMANDS: dict[str, Any] = {"tree": tree, "info": info, "convert": convert, "check": check}

DONE, FAILED, REFUSED, INTERRUPTED, PIPE_CLOSED = 0, 1, 2, 130, 141


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the exit status."""
    arguments = sys.argv[1:] if arguments is None else list(arguments)
    out, err = standard_output(), standard_error()
    debug = "--debug" in arguments
    try:
        if not arguments:
            make_parser(err).print_help(sys.stderr)
            return REFUSED
        parsed = make_parser(err).parse_args(arguments)
        status = int(COMMANDS[parsed.command].run(parsed, out))
        out.flush()
        return status
    except SystemExit as leaving:  # argparse has said what it had to say
        return leaving.code if isinstance(leaving.code, int) else REFUSED
    except BrokenPipeError:
        # Whoever read has seen enough. Nothing must be flushed into the closed pipe at exit.
        _close_quietly()
        return PIPE_CLOSED
    except KeyboardInterrupt:
        command = next((word for word in arguments if word in COMMANDS), "")
        err.line(getattr(COMMANDS.get(command), "INTERRUPTED", "interrupted"))
        return INTERRUPTED
    except Exception as error:
        if debug:
            raise
        tell(err, *explain(error))
        return REFUSED


def tell(err: Output, message: str, hint: str | None) -> None:
    err.line(f"{red('omnizarr:')} {message}")
    if hint:
        err.line(dim(f"hint: {hint}"))


def _close_quietly() -> None:
    try:
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, sys.stdout.fileno())
        os.close(null)
    except (OSError, ValueError, AttributeError):
        pass


def make_parser(err: Output) -> ArgumentParser:
    import argparse

    class Parser(argparse.ArgumentParser):
        """Usage errors look like all others."""

        def error(self, message: str) -> NoReturn:
            tell(err, message, f"{self.prog} --help")
            raise SystemExit(REFUSED)

    common = Parser(add_help=False)
    common.add_argument("--json", action="store_true", help="print one JSON document instead")
    common.add_argument("--debug", action="store_true", help="show where an error arose")

    parser = Parser(
        prog="omnizarr",
        description="Look at, convert and check Zarr stores of every format.",
        epilog="`omnizarr COMMAND --help` shows a command's options and examples.",
    )
    parser.add_argument("--version", action="version", version=f"omnizarr {omnizarr.__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, command in COMMANDS.items():
        below = commands.add_parser(
            name,
            help=command.HELP,
            description=f"{command.HELP[0].upper()}{command.HELP[1:]}.",
            epilog=command.EXAMPLES,
            parents=[common],
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        command.add_arguments(below)
    return parser
