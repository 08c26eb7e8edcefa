"""Pages for the tests: `python serve.py STORE…` prints an address for each, and serves until it is
ended."""

from __future__ import annotations

import sys
from contextlib import ExitStack

import omnizarr
from omnizarr.server.browse import application
from omnizarr.server.running import running

FILES = (".h5", ".tif")

with ExitStack() as stack:
    for path in sys.argv[1:]:
        if path.endswith(FILES):
            node, line = omnizarr.virtualize(path), f"omnizarr.virtualize({path!r})"
        else:
            node, line = omnizarr.open(path, mode="r"), f'omnizarr.open({path!r}, mode="r")'
        app = application(node, title=path.rpartition("/")[2], line=line)
        print(stack.enter_context(running(app)), flush=True)
    sys.stdin.read()
