"""Writes the tables of `docs/types.md` from the data that the tests check.

    python -m tests.acceptance.type_page

The prose around the tables is written by hand; each table is between two comments with its name.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from tests.acceptance import type_support
from tests.acceptance.fixtures import REPOSITORY
from tests.acceptance.type_cases import (
    BIG,
    FIXED,
    FORMATS,
    N5,
    A,
    B,
    C,
    Format,
    Json,
    Type,
    cases,
    types,
)
from tests.acceptance.type_exchange import PEERS, Peer

PAGE = REPOSITORY / "docs" / "types.md"
NO = "–"
DRAFTS = (A, B, C)
WORDS = {(True, True): "both", (True, False): "reads", (False, True): "writes", (False, False): NO}
TABLES: dict[str, tuple[Format, ...]] = {
    "format 3": (3,),
    "format 2": (2,),
    "older formats": (0, 1, C, N5),
}


def code(value: Json) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    return f"`{text}`".replace("|", "\\|")


def rows(lines: list[list[str]]) -> str:
    head, *body = lines
    drawn = ["| " + " | ".join(line) + " |" for line in (head, ["---"] * len(head), *body)]
    return "\n".join(dict.fromkeys(drawn))


# -- names and formats ----------------------------------------------------------------------------
def names(family: str) -> str:
    """Every type of a family: how it is asked for, how it is stored, and which formats hold it.

    Types whose name is the same everywhere share a row.
    """
    lines = [["`dtype=`", "format 3", "format 2", "formats"]]
    alike: dict[tuple[str, ...], list[str]] = {}
    for one in types():
        if one.family != family or one.big:
            continue
        if one.dtype == one.v3 and one.v2 in (None, one.v3) and one.codec is None:
            same = "the same"
            place = (same, same if one.v2 else NO, held(one.formats))
            alike.setdefault(place, []).append(code(one.dtype))
        else:
            lines.append([*_spellings(one), held(one.formats)])
    lines += [[", ".join(given), *place] for place, given in alike.items()]
    return rows(lines)


def held(formats: tuple[Format, ...]) -> str:
    """Formats in words; the three drafts are one where all of them are meant."""
    if formats == FORMATS:
        return "all"
    if formats == FIXED:
        return "all but n5"
    left = [str(name) for name in formats if name not in DRAFTS or not {*DRAFTS} <= {*formats}]
    return ", ".join([*left, *(["drafts"] if {*DRAFTS} <= {*formats} else [])])


def _spellings(one: Type) -> list[str]:
    given, second = code(one.dtype), NO if one.v2 is None else code(one.v2)
    if one.v3 in ("string", "bytes"):
        given = "`str`" if one.v3 == "string" else "`bytes`"
    if any(other.name == one.name + BIG for other in types()) and isinstance(one.dtype, str):
        given = second = f"{code(one.dtype)}, {code(one.dtype.replace('<', '>'))}"
    if one.aligned:
        given += ", `align=True`"
    if one.codec is not None and one.v2 is not None:
        second += f" through {code(one.codec['id'])}"
        given = second if one.v3 is None else given
    third = NO if one.v3 is None else code(one.v3)
    return [given, third if len(third) < 100 else '`{"name": "struct", …}`', second]


# -- peers ----------------------------------------------------------------------------------------
class Notes:
    """Reasons by number, in the order in which they are met."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}

    def __call__(self, peer: str, why: str) -> str:
        number = self.numbers.setdefault(f"{peer} {why}", len(self.numbers) + 1)
        return f"[{number}]"

    def __str__(self) -> str:
        return "\n".join(f"{number}. {text}." for text, number in self.numbers.items())


def cell(peer: Peer, one: Type, zarr_format: Format, notes: Notes) -> str:
    """What a peer does with a type: both, reads, writes or neither, with the numbers of reasons."""
    if zarr_format not in one.formats:
        return ""
    works: list[bool] = []
    reasons: list[str] = []
    for action, formats in (("read", peer.reads), ("write", peer.writes)):
        gaps = [
            type_support.gap_of(peer.name, action, name, zarr_format, {})
            for name, case in cases().items()
            if case.type == one and type_support.holds(case, zarr_format)
        ]
        knows = zarr_format in formats and not any(gap and not gap.partial for gap in gaps)
        works.append(knows)
        if zarr_format in formats:
            reasons += [notes(peer.name, gap.why) for gap in gaps if gap is not None]
    return " ".join([WORDS[works[0], works[1]], *dict.fromkeys(reasons)])


def peers(formats: tuple[Format, ...]) -> str:
    """What every peer of some formats does with every type; types that fare alike share a row."""
    columns = [
        (peer, zarr_format)
        for zarr_format in formats
        for peer in PEERS.values()
        if zarr_format in peer.reads
    ]
    several = len(formats) > 1
    titles = [f"{peer.name}, format {f}" if several else peer.name for peer, f in columns]
    notes = Notes()
    lines = [["data type", *titles]]
    for group, cells in _alike(columns, notes):
        lines.append([", ".join(code(name) for name in group), *cells])
    return f"{rows(lines)}\n\n{notes}"


def _alike(
    columns: list[tuple[Peer, Format]], notes: Notes
) -> Iterator[tuple[list[str], list[str]]]:
    """Types of one family with the same cells, in the order of the first of them."""
    groups: dict[tuple[str, ...], list[str]] = {}
    for one in types():
        cells = [cell(peer, one, zarr_format, notes) for peer, zarr_format in columns]
        if any(cells):
            groups.setdefault((one.family, *cells), []).append(one.name)
    for (_, *cells), group in groups.items():
        yield (
            [name for name in group if name.removesuffix(BIG) not in group or BIG not in name],
            cells,
        )


# -- the page -------------------------------------------------------------------------------------
def versions() -> str:
    """The peers and their pinned versions."""
    lines = [["peer", "version", "formats"]]
    for peer in PEERS.values():
        pins = (REPOSITORY / "requirements" / f"{peer.environment}.txt").with_suffix(
            ".json" if peer.environment == "zarrita" else ".txt"
        )
        pattern = rf'^\s*"?{peer.package}"?\s*(?:==|:)\s*"?([0-9.]+)'
        found = re.search(pattern, pins.read_text(encoding="utf-8"), re.MULTILINE)
        assert found is not None, f"{pins} does not pin {peer.package}"
        package = f"{peer.package} {found[1]}"
        read = ", ".join(f"{f}" if f in peer.writes else f"{f} (reading)" for f in peer.reads)
        lines.append([peer.name, package, read])
    return rows(lines)


def tables() -> dict[str, str]:
    found = {family: names(family) for family in dict.fromkeys(one.family for one in types())}
    found["peers"] = versions()
    return found | {name: peers(formats) for name, formats in TABLES.items()}


def renewed(page: str) -> str:
    """The page with its tables as they are now."""
    for name, table in tables().items():
        begin, end = f"<!-- table: {name} -->\n", "\n<!-- end -->"
        pattern = re.escape(begin) + r".*?" + re.escape(end)
        assert len(re.findall(pattern, page, re.DOTALL)) == 1, f"the page has no table {name!r}"
        new = (begin + table + end).replace("\\", r"\\")
        page = re.sub(pattern, new, page, flags=re.DOTALL)
    return page


if __name__ == "__main__":
    PAGE.write_text(renewed(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
