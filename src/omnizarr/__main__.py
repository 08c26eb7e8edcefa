"""`python -m omnizarr`: the command line."""

from __future__ import annotations

import sys

from omnizarr.cli.entry import command

if __name__ == "__main__":
    sys.exit(command())
