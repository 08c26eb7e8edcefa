"""The examples of documents 000 and 003 run verbatim with `import omnizarr as zarr`.

Also the JSON documents that document 000 shows in its text: they parse and mean what they say.
"""

from __future__ import annotations

import doctest
import io
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

import omnizarr as zarr
from tests.acceptance import spec_examples
from tests.acceptance.spec_examples import Checker, Session

HERE = {name: spec_examples.path(name) is not None for name in spec_examples.DOCUMENTS}
ABSENT = [name for name, there in HERE.items() if not there]
SESSIONS = [one for name, there in HERE.items() if there for one in spec_examples.sessions(name)]


def test_documents_are_here() -> None:
    if ABSENT:
        pytest.skip(f"NO EXAMPLE WAS RUN: documents {ABSENT} are not below ZARR_SHARED/specs")
    assert SESSIONS


@pytest.mark.parametrize("document", [name for name, there in HERE.items() if there])
def test_number_of_examples(document: str, summary: Callable[[str], None]) -> None:
    found = spec_examples.sessions(document)
    examples = sum(len(session.examples) for session in found)
    assert len(found) == spec_examples.EXPECTED_SESSIONS[document]
    assert examples == spec_examples.EXPECTED_EXAMPLES[document]
    summary(f"documents: {document}: {examples} examples run")


@pytest.fixture
def as_zarr(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """`import zarr` gives omnizarr; new data is format 2; the current folder is empty."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "zarr", zarr)
    with zarr.config.set({"default_zarr_format": 2}):
        yield


@pytest.mark.filterwarnings("ignore:unclosed file:ResourceWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("session", SESSIONS, ids=lambda session: session.title)
def test_session(session: Session, as_zarr: None) -> None:
    checker = Checker(damaged=session.title.startswith("003"))
    runner = doctest.DocTestRunner(checker=checker, verbose=False)
    test = doctest.DocTest(
        examples=list(session.examples),
        globs={},
        name=session.title,
        filename=session.title,
        lineno=0,
        docstring=None,
    )
    report = io.StringIO()
    result = runner.run(test, out=report.write, clear_globs=False)
    assert result.failed == 0, report.getvalue()
    assert result.attempted == len(session.examples)


METADATA = {
    "chunks": [1000, 1000],
    "compressor": {"id": "blosc", "cname": "lz4", "clevel": 5, "shuffle": 1},
    "dtype": "<f8",
    "fill_value": "NaN",
    "filters": [{"id": "delta", "dtype": "<f8", "astype": "<f4"}],
    "order": "C",
    "shape": [10000, 10000],
    "zarr_format": 2,
}
"""The array metadata that both documents show (the one of 003 is damaged)."""


@pytest.mark.skipif(not HERE["000"], reason="document 000 is absent (see test_documents_are_here)")
def test_array_metadata_example(tmp_path: Path) -> None:
    document = spec_examples.path("000")
    assert document is not None
    text = document.read_text(encoding="utf-8", errors="replace")
    start = text.index('    {\n        "chunks": [\n            1000')
    shown = text[start : text.index("\n    }\n", start) + 6]
    assert json.loads(shown) == METADATA
    (tmp_path / ".zarray").write_text(shown)
    array = zarr.open(str(tmp_path), mode="r+")
    assert array.shape == (10000, 10000)
    assert array.chunks == (1000, 1000)
    assert array.dtype == np.dtype("<f8")
    assert np.isnan(array.fill_value)
    assert array.cdata_shape == (10, 10)
    block = (np.arange(1_000_000) % 1000).reshape(1000, 1000).astype("f8")
    array[2000:3000, 4000:5000] = block
    assert sorted(path.name for path in tmp_path.iterdir()) == [".zarray", "2.4"]
    np.testing.assert_array_equal(array[2000:3000, 4000:5000], block)
    np.testing.assert_array_equal(array[1999:2002, 4000], [np.nan, 0, 0])


@pytest.mark.parametrize(
    ("stored", "dtype"),
    [
        ([["r", "|u1"], ["g", "|u1"], ["b", "|u1"]], [("r", "u1"), ("g", "u1"), ("b", "u1")]),
        (
            [["x", "<f4"], ["y", "<f4"], ["z", "<f4", [2, 2]]],
            [("x", "<f4"), ("y", "<f4"), ("z", "<f4", (2, 2))],
        ),
        (
            [["foo", "<f4"], ["bar", [["baz", "<f4"], ["qux", "<i4"]]]],
            [("foo", "<f4"), ("bar", [("baz", "<f4"), ("qux", "<i4")])],
        ),
    ],
    ids=["simple", "sub-array", "nested"],
)
def test_structured_examples(stored: list[object], dtype: list[object], tmp_path: Path) -> None:
    """Section "Data type encoding": the three lists, read from and written to metadata."""
    expected = np.dtype(dtype)  # type: ignore[arg-type]
    store = str(tmp_path / "a.zarr")
    array = zarr.create(shape=(4,), chunks=(3,), dtype=expected, store=store, zarr_format=2)
    assert json.loads((tmp_path / "a.zarr" / ".zarray").read_text())["dtype"] == stored
    values = np.zeros(4, expected)
    values.view("u1")[...] = np.arange(values.nbytes) % 50
    array[:] = values
    again = zarr.open(store, mode="r")
    assert again.dtype == expected
    assert again[:].tobytes() == values.tobytes()


@pytest.mark.parametrize(
    ("value", "stored"),
    [(np.nan, "NaN"), (np.inf, "Infinity"), (-np.inf, "-Infinity"), (1.5, 1.5), (None, None)],
)
def test_fill_value_table(value: float | None, stored: object, tmp_path: Path) -> None:
    store = str(tmp_path / "a.zarr")
    zarr.create(shape=4, chunks=2, dtype="<f8", fill_value=value, store=store, zarr_format=2)
    found = json.loads((tmp_path / "a.zarr" / ".zarray").read_text())["fill_value"]
    assert found == stored
    assert type(found) is type(stored)
    read = zarr.open(store, mode="r")[:]
    np.testing.assert_array_equal(read, np.full(4, 0.0 if value is None else value))


@pytest.mark.parametrize(
    ("path", "key"),
    [
        ("foo/bar", "foo/bar/.zarray"),
        ("/foo/bar/", "foo/bar/.zarray"),
        ("foo\\bar", "foo/bar/.zarray"),
        ("foo///bar", "foo/bar/.zarray"),
        ("//foo\\\\bar//", "foo/bar/.zarray"),
    ],
)
def test_logical_paths(path: str, key: str) -> None:
    """Section "Logical storage paths": the rules of normalisation, and groups at all ancestors."""
    store: dict[str, bytes] = {}
    zarr.create(shape=3, chunks=3, dtype="i4", store=store, path=path, zarr_format=2)
    assert set(store) == {".zgroup", "foo/.zgroup", key}
    for name in (".zgroup", "foo/.zgroup"):
        assert json.loads(bytes(store[name])) == {"zarr_format": 2}


@pytest.mark.parametrize("path", [".", "..", "foo/../bar", "./foo", "foo/.", "foo\\..\\bar"])
def test_refused_paths(path: str) -> None:
    store: dict[str, bytes] = {}
    with pytest.raises(ValueError, match=r"\.") as caught:
        zarr.create(shape=3, chunks=3, dtype="i4", store=store, path=path, zarr_format=2)
    assert isinstance(caught.value, zarr.errors.ZarrError)
    assert store == {}
