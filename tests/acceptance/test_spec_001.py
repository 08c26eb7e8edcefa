"""The examples of document 001 run verbatim with `import omnizarr as zarr`, and its prose holds."""

from __future__ import annotations

import doctest
import io
import os
import struct
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

import omnizarr as zarr
from tests.acceptance import fixtures

FILES = sorted((fixtures.shared() / "specs").glob("001_*.txt"))
EXPECTED_SESSIONS, EXPECTED_EXAMPLES = 3, 15


def sessions() -> list[list[doctest.Example]]:
    """One per `import zarr`, which is how the document begins each example."""
    result: list[list[doctest.Example]] = []
    for file in FILES:
        text = file.read_text(encoding="utf-8")
        for example in doctest.DocTestParser().get_examples(text, name=file.name):
            if example.source.strip() == "import zarr":
                result.append([])
            result[-1].append(example)
    return result


SESSIONS = sessions()


@pytest.fixture
def as_zarr(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """`import zarr` gives omnizarr; new data is format 0; the current folder is empty."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "zarr", zarr)
    with zarr.config.set({"default_zarr_format": 0}):
        yield


def test_the_document_is_here(summary: Callable[[str], None]) -> None:
    if not FILES:
        pytest.skip("NO EXAMPLE WAS RUN: document 001 is not below ZARR_SHARED/specs")
    assert len(SESSIONS) == EXPECTED_SESSIONS
    assert sum(map(len, SESSIONS)) == EXPECTED_EXAMPLES
    summary(f"documents: 001: {EXPECTED_EXAMPLES} examples run")


@pytest.mark.filterwarnings("ignore:unclosed file:ResourceWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("number", range(len(SESSIONS)))
def test_session(number: int, as_zarr: None) -> None:
    examples = SESSIONS[number]
    test = doctest.DocTest(examples, {}, f"001-{number}", "001", 0, None)
    report = io.StringIO()
    runner = doctest.DocTestRunner(verbose=False)
    result = runner.run(test, out=report.write, clear_globs=False)
    assert result.failed == 0, report.getvalue()
    assert result.attempted == len(examples)


# -- "Array data" -----------------------------------------------------------------------------


def test_chunk_files_are_named_after_their_indices(as_zarr: None) -> None:
    z = zarr.open("a.zarr", mode="w", shape=(100, 100), chunks=(10, 10), dtype="i4")
    values = np.arange(10000, dtype="i4").reshape(100, 100)
    z[:] = values
    assert len(os.listdir("a.zarr/__zdata__")) == 100
    os.remove("a.zarr/__zdata__/4.2.blosc")
    values[40:50, 20:30] = 0
    assert np.array_equal(zarr.open("a.zarr", mode="r")[:], values)


def test_each_chunk_begins_with_the_header(as_zarr: None) -> None:
    z = zarr.open(
        "a.zarr", mode="w", shape=(1000,), chunks=(300,), dtype="<f8", cname="zlib", clevel=1
    )
    z[:] = np.arange(1000)
    for number in range(4):
        data = Path(f"a.zarr/__zdata__/{number}.blosc").read_bytes()
        version, _, flags, typesize, nbytes, _, cbytes = struct.unpack_from("<BBBBIII", data)
        assert (version, typesize, nbytes, cbytes) == (2, 8, 300 * 8, len(data))
        assert flags >> 5 == 3  # zlib
        assert flags & 1  # byte shuffle


def test_a_missing_chunk_is_fill_value(as_zarr: None) -> None:
    z = zarr.open("a.zarr", mode="w", shape=(7,), chunks=(3,), dtype="i4", fill_value=42)
    assert z[:].tolist() == [42] * 7
    z[3] = 1
    assert os.listdir("a.zarr/__zdata__") == ["1.blosc"]
    assert z[:].tolist() == [42, 42, 42, 1, 42, 42, 42]
