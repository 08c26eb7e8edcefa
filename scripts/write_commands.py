"""Write docs/reference/commands.md: what `omnizarr COMMAND --help` says, for every command.

`tests/test_docs.py` checks that the page is up to date.
"""

from __future__ import annotations

import os
from pathlib import Path

PAGE = Path(__file__).resolve().parent.parent / "docs" / "reference" / "commands.md"
WIDTH = "100"
HEAD = """\
# Commands

What `omnizarr COMMAND --help` says. Explained, with examples: [the command line](../cli.md).
`scripts/write_commands.py` writes this page.
"""


def page() -> str:
    """The text of the page."""
    from omnizarr.cli.commands import COMMANDS
    from omnizarr.cli.main import make_parser
    from omnizarr.cli.output import standard_error, standard_output

    before = os.environ.get("COLUMNS")
    os.environ["COLUMNS"] = WIDTH  # argparse asks for it
    try:
        parts = [HEAD]
        for name in COMMANDS:
            parser = make_parser(standard_output(), standard_error(), [name])
            [commands] = [each for each in parser._actions if each.dest == "command"]
            text = dict(commands.choices or {})[name].format_help()  # type: ignore[call-overload]
            parts.append(f"## {name}\n\n```text\n{text.rstrip()}\n```\n")
    finally:
        os.environ.pop("COLUMNS")
        if before is not None:
            os.environ["COLUMNS"] = before
    return "\n".join(parts)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
