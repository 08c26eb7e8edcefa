"""What the kits need is named where it is missing."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """
import sys
sys.modules[{package!r}] = None
from omnizarr.errors import MissingPackageError
try:
    {statement}
except MissingPackageError as error:
    print(error)
"""


@pytest.mark.slow
@pytest.mark.parametrize("package", ["pytest", "hypothesis"])
@pytest.mark.parametrize(
    "statement",
    ["import omnizarr.testing.stores", "from omnizarr.testing import ReadingSuite, StoreSuite"],
)
def test_suites_name_the_packages_they_need(package: str, statement: str) -> None:
    program = PROGRAM.format(package=package, statement=statement)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert "pip install pytest hypothesis" in done.stdout, done.stderr
