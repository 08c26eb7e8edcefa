"""`omnizarr completion SHELL`: the script that lets a shell complete commands and paths.

It is made from the parsers, so it knows what they know. This module knows parsers and shells. It
must not know what a command does.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from omnizarr.cli.output import Output

EXAMPLES = """\
examples:
  omnizarr completion bash
  omnizarr completion zsh
  omnizarr completion fish

The script goes to ~/.local/share/bash-completion/completions/omnizarr for bash, to a file _omnizarr
in a folder of $fpath for zsh, to ~/.config/fish/completions/omnizarr.fish for fish. For one session
of bash: source <(omnizarr completion bash). It completes commands, options and their choices,
files, and nodes inside local stores and archives.
"""
SHELLS = ("bash", "zsh", "fish")


class Option(NamedTuple):
    """An option of a command."""

    names: tuple[str, ...]
    takes: bool
    """Whether a value follows."""
    choices: tuple[str, ...]
    help: str


class Known(NamedTuple):
    """A command, its options, and the choices of its positional arguments."""

    name: str
    help: str
    options: tuple[Option, ...]
    choices: tuple[str, ...]


def add_arguments(parser: Any) -> None:
    parser.set_defaults(storage_option=[])
    parser.add_argument("shell", metavar="SHELL", choices=SHELLS, help="bash, zsh or fish")


def run(arguments: Any, out: Output) -> int:
    script = {"bash": bash, "zsh": zsh, "fish": fish}[arguments.shell](known())
    if arguments.json:
        out.json({"shell": arguments.shell, "script": script})
    else:
        out.own(script)
    return 0


def known() -> list[Known]:
    """Every command, as its parser has it."""
    from omnizarr.cli.commands import COMMANDS
    from omnizarr.cli.main import make_parser
    from omnizarr.cli.output import standard_error, standard_output

    found = []
    for name, command in COMMANDS.items():
        parser = make_parser(standard_output(), standard_error(), [name])
        [below] = [action for action in parser._actions if action.dest == "command"]
        actions = below.choices[name]._actions  # type: ignore[index]  # subparsers
        options = tuple(_option(action) for action in actions if action.option_strings)
        choices = [
            str(one) for action in actions if not action.option_strings
            for one in action.choices or ()
        ]  # fmt: skip
        found.append(Known(name, command.help, options, tuple(choices)))
    return found


def _option(action: Any) -> Option:
    return Option(
        tuple(action.option_strings),
        action.nargs != 0,
        tuple(map(str, action.choices or ())),
        (action.help or "").partition(";")[0],
    )


def _words(command: Known) -> str:
    return " ".join(name for option in command.options for name in option.names)


def bash(commands: list[Known]) -> str:
    """A function for bash, 4 and newer."""
    values, options = [], []
    for command in commands:
        options.append(f"        {command.name}) options='{_words(command)}' ;;")
        for option in command.options:
            if option.takes:
                names = "|".join(f"{command.name}:{name}" for name in option.names)
                words = " ".join(option.choices)
                reply = _reply(words) if words else "_omnizarr_files"
                values.append(f"        {names}) {reply}; return ;;")
        if command.choices:
            reply = _reply(" ".join(command.choices))
            values.append(f"        {command.name}:{command.name}) {reply}; return ;;")
    names = " ".join(command.name for command in commands)
    return _BASH.format(names=names, values="\n".join(values), options="\n".join(options))


def _reply(words: str) -> str:
    return f"""COMPREPLY=($(compgen -W '{words}' -- "$word"))"""


_BASH = """\
# bash completion of omnizarr; made by `omnizarr completion bash`
_omnizarr_files() {{
    local IFS=$'\\n'
    COMPREPLY=($(compgen -f -- "$word"))
    compopt -o filenames 2>/dev/null
}}

_omnizarr() {{
    local word="${{COMP_WORDS[COMP_CWORD]}}" before="${{COMP_WORDS[COMP_CWORD - 1]}}"
    local command='' options='' each
    for each in "${{COMP_WORDS[@]:1:COMP_CWORD - 1}}"; do
        case "$each" in
            -*) ;;
            *) command="$each"; break ;;
        esac
    done
    COMPREPLY=()
    if [ -z "$command" ]; then
        COMPREPLY=($(compgen -W '{names} --help --version' -- "$word"))
        return
    fi
    case "$command:$before" in
{values}
    esac
    case "$command" in
{options}
    esac
    case "$word" in
        -*) COMPREPLY=($(compgen -W "$options" -- "$word")); return ;;
    esac
    local IFS=$'\\n'
    COMPREPLY=($("${{COMP_WORDS[0]}}" _complete "$word" 2>/dev/null))
    if [ "${{#COMPREPLY[@]}}" -eq 0 ]; then
        _omnizarr_files
        return
    fi
    case "${{COMPREPLY[0]}}" in
        */) compopt -o nospace 2>/dev/null ;;
    esac
}}
complete -F _omnizarr omnizarr
"""


def zsh(commands: list[Known]) -> str:
    """A function for zsh's completion system."""
    described = "\n".join(f"        {_zsh(command.name, command.help)}" for command in commands)
    values, options = [], []
    for command in commands:
        lines = "\n".join(
            f"            {_zsh(name, option.help)}"
            for option in command.options
            for name in option.names
        )
        options.append(f"        {command.name}) options=(\n{lines}\n        ) ;;")
        for option in command.options:
            if option.takes:
                names = "|".join(f"{command.name}:{name}" for name in option.names)
                words = " ".join(option.choices)
                values.append(
                    f"        {names}) {f'compadd -- {words}' if words else '_files'}; return ;;"
                )
        if command.choices:
            values.append(
                f"        {command.name}:{command.name})"
                f" compadd -- {' '.join(command.choices)}; return ;;"
            )
    return _ZSH.format(
        described=described, values="\n".join(values), options="\n".join(options)
    )  # fmt: skip


def _zsh(name: str, text: str) -> str:
    """`'name:what it does'`, quoted."""
    told = re.sub(r"\s+", " ", text).replace("'", "’")
    return f"'{name}:{told}'"


_ZSH = """\
#compdef omnizarr
# zsh completion of omnizarr; made by `omnizarr completion zsh`
_omnizarr() {{
    local command='' each before="${{words[CURRENT-1]}}" word="${{words[CURRENT]}}"
    local -a commands options nodes
    commands=(
{described}
    )
    for each in "${{(@)words[2,CURRENT-1]}}"; do
        if [[ "$each" != -* ]]; then command="$each"; break; fi
    done
    if [[ -z "$command" ]]; then
        _describe 'command' commands
        return
    fi
    case "$command:$before" in
{values}
    esac
    case "$command" in
{options}
    esac
    if [[ "$word" == -* ]]; then
        _describe 'option' options
        return
    fi
    nodes=("${{(@f)$("${{words[1]}}" _complete "$word" 2>/dev/null)}}")
    nodes=(${{nodes:#}})
    if (( ${{#nodes}} )); then
        compadd -U -S '' -- "${{nodes[@]}}"
    else
        _files
    fi
}}
if [[ "${{funcstack[1]}}" == _omnizarr ]]; then _omnizarr "$@"; else compdef _omnizarr omnizarr; fi
"""


def fish(commands: list[Known]) -> str:
    """Lines of `complete` for fish."""
    lines = [
        "# fish completion of omnizarr; made by `omnizarr completion fish`",
        "function __omnizarr_nodes",
        "    omnizarr _complete (commandline -ct) 2>/dev/null",
        "end",
        "complete -c omnizarr -n __fish_use_subcommand -f",
    ]
    for command in commands:
        called = f"'__fish_seen_subcommand_from {command.name}'"
        lines.append(
            f"complete -c omnizarr -n __fish_use_subcommand -a {command.name}"
            f" -d {_fish(command.help)}"
        )
        if command.choices:
            lines.append(f"complete -c omnizarr -n {called} -f -a '{' '.join(command.choices)}'")
        else:
            lines.append(f"complete -c omnizarr -n {called} -a '(__omnizarr_nodes)'")
        for option in command.options:
            names = "".join(
                f" -l {name[2:]}" if name.startswith("--") else f" -s {name[1:]}"
                for name in option.names
            )
            value = " -r" if option.takes else ""
            if option.choices:
                value = f" -x -a '{' '.join(option.choices)}'"
            lines.append(f"complete -c omnizarr -n {called}{names}{value} -d {_fish(option.help)}")
    return "\n".join(lines) + "\n"


def _fish(text: str) -> str:
    told = re.sub(r"\s+", " ", text).replace("\\", "\\\\").replace("'", "\\'")
    return f"'{told}'"
