"""A page for the tests: `python serve.py STORE` prints its address and serves until it is ended."""

from __future__ import annotations

import sys

import omnizarr
from omnizarr.server.browse import application
from omnizarr.server.running import run

node = omnizarr.open(sys.argv[1], mode="r")
line = f'omnizarr.open({sys.argv[1]!r}, mode="r")'
app = application(node, title=sys.argv[1].rpartition("/")[2], line=line)
run(app, announce=lambda url: print(url, flush=True))
