"""The examples of the specification documents, taken out of their text.

This module knows the two files beside the repository: document 000 (reStructuredText, examples
intact) and document 003 (converted from PDF, examples damaged). It must not know the library.

Repairs of document 003, all mechanical:

* Continuation lines lost their indentation (`... fill_value=42` after an open bracket). Python does
  not care inside brackets, and every continuation there is inside brackets: no repair needed.
* The printed `.zarray` lost its opening brace and the lines that hold only a closing bracket.
  JSON output is therefore compared without white space, brackets and commas.
* Examples whose code is missing ("Manually decompress", "Modify the array attributes", the listing
  of the zip file) have no `>>>` line and cannot run; document 000 has the same examples in full.
"""

from __future__ import annotations

import doctest
import re
from dataclasses import dataclass
from pathlib import Path

from tests.acceptance.fixtures import shared

DOCUMENTS = {"000": "000_*.txt", "003": "003_*.txt"}
EXPECTED_SESSIONS = {"000": 2, "003": 2}
EXPECTED_EXAMPLES = {"000": 46, "003": 33}


@dataclass(frozen=True)
class Session:
    """Examples that run one after the other in one namespace and one folder."""

    title: str
    examples: tuple[doctest.Example, ...]


def path(document: str) -> Path | None:
    found = sorted((shared() / "specs").glob(DOCUMENTS[document]))
    return found[0] if found else None


def sessions(document: str) -> list[Session]:
    """One session per `import zarr`, which is how the documents begin their examples."""
    file = path(document)
    assert file is not None, f"document {document} is not in {shared()}/specs"
    text = file.read_text(encoding="utf-8", errors="replace")
    if document == "003":
        text = _unfenced(text)
    parsed = doctest.DocTestParser().get_examples(text, name=file.name)
    result: list[list[doctest.Example]] = []
    for example in parsed:
        if example.source.strip() == "import zarr":
            result.append([])
        result[-1].append(example)
    return [Session(f"{document}-{number}", tuple(part)) for number, part in enumerate(result)]


def _unfenced(text: str) -> str:
    """A closing fence becomes an empty line, which ends the expected output of a doctest."""
    return re.sub(r"^```\s*$", "", text, flags=re.MULTILINE)


class Checker(doctest.OutputChecker):
    """Exact comparison, but for document 003 JSON without white space and brackets."""

    def __init__(self, damaged: bool) -> None:
        self.damaged = damaged

    def check_output(self, want: str, got: str, optionflags: int) -> bool:
        if self.damaged and '": ' in want:
            return _bare(want) == _bare(got) and got.lstrip().startswith("{")
        if want.startswith("array("):
            # NumPy breaks the lines of a long array elsewhere since the document was written.
            optionflags |= doctest.NORMALIZE_WHITESPACE
        return super().check_output(want, got, optionflags)


def _bare(text: str) -> str:
    return re.sub(r"[\s\[\]{},]", "", text)
