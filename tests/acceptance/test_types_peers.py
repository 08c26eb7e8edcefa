"""Every data type through every format, and to and from every peer that knows it.

The cases are those of `type_cases`, their awkward values those of `type_values`. Each array has one
or two dimensions, chunks at the edge, and one chunk that was never written. What a format cannot
hold is refused by name; what a peer cannot do is listed in `type_support`, in the peer's own words,
and must really fail. `docs/types.md` shows the same tables.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import omnizarr as zarr
from omnizarr.errors import UnsupportedError
from omnizarr.model.dtypes import pairs, small
from omnizarr.stores import MemoryStore
from tests.acceptance import type_exchange, type_ours, type_page, type_support, type_values
from tests.acceptance.type_cases import FORMATS, Case, Format, cases, types
from tests.acceptance.type_exchange import PEERS, Exchange, Peer

pytestmark = pytest.mark.peers

Summary = Callable[[str], None]
OPTIONAL = ("zarr 0.4", "zarr 1.1", "zarrita.js")
"""Peers that need something which a machine may lack; `make peers` says what."""


# -- every format ---------------------------------------------------------------------------------
def refused(case: Case, zarr_format: Format, what: str, says: str) -> str | None:
    """What is wrong with the way in which a case is refused."""
    store = MemoryStore()
    try:
        type_ours.write(store, case, zarr_format)
    except UnsupportedError as error:
        if error.what != what or not re.search(says, str(error)):
            return f"refused as {error.what}: {error}"
        left = [*store.list()]
        return f"refused, but it left {left}" if left else None
    return "was to be refused"


def kept(case: Case, zarr_format: Format) -> str | None:
    """What is wrong with a case that was written and read again."""
    store = MemoryStore()
    type_ours.write(store, case, zarr_format)
    found = type_ours.read(store, case, zarr_format)
    wanted = type_values.expected(case)
    problem = type_values.difference(type_values.dump(wanted), type_values.dump(found))
    if problem:
        return problem
    keeps_order = zarr_format not in (3, "n5") and not wanted.dtype.hasobject
    if keeps_order and found.dtype != wanted.dtype:
        return f"the dtype {found.dtype} is not {wanted.dtype}"
    return spelled(store, case, zarr_format)


def spelled(store: MemoryStore, case: Case, zarr_format: Format) -> str | None:
    """What is wrong with the words that formats 2 and 3 store."""
    if zarr_format not in (2, 3):
        return None
    dtype, value = type_values.numpy_dtype(case.type), type_values.fill(case)
    if zarr_format == 2:
        key, wanted = ".zarray", {"dtype": case.type.v2, "fill_value": value}
        wanted["fill_value"] = type_values.v2_fill(value, dtype)
    else:
        key, wanted = "zarr.json", {"data_type": case.type.v3}
        if value is not None:
            wanted["fill_value"] = type_values.v3_fill(value, dtype)
    document = json.loads(bytes(store.get(key) or b""))
    wrong = {
        member: (document[member], expected)
        for member, expected in wanted.items()
        if json.dumps(document[member]) != json.dumps(expected)  # −0.0 is not 0.0, nor 1 true
    }
    return f"stored, expected: {wrong}" if wrong else None


@pytest.mark.parametrize("zarr_format", FORMATS)
def test_formats_keep_every_type_or_refuse_it_by_name(
    zarr_format: Format, summary: Summary
) -> None:
    wrong, done, nothing = [], 0, 0
    for name, case in cases().items():
        fill = type_support.refused_fill(case, zarr_format)
        try:
            if zarr_format not in case.type.formats:
                nothing += 1
                problem = refused(case, zarr_format, "data_type", ".")
            elif fill is not None:
                nothing += 1
                problem = refused(case, zarr_format, "fill_value", fill)
            else:
                done += 1
                problem = kept(case, zarr_format)
        except Exception as error:  # the outcome is the test's data
            problem = f"{type(error).__name__}: {error}"
        if problem:
            wrong.append(f"{name}: {problem}")
    summary(
        f"types: format {zarr_format}: {done} arrays written and read, {nothing} refused by name"
    )
    assert not wrong, f"{len(wrong)} of {done + nothing}:\n" + "\n".join(wrong)


# -- every peer -----------------------------------------------------------------------------------
def verdict(one: Exchange, versions: dict[str, str]) -> str | None:
    """What is wrong with an exchange: it failed and should not, or the other way round."""
    gap = type_support.gap_of(one.peer, one.action, one.name, one.zarr_format, versions)
    where = f"{one.action} format {one.zarr_format}: {one.name}"
    if gap is None:
        return f"{where}: {one.outcome}" if one.outcome else None
    if one.outcome is None:
        return f"{where}: works now, but is listed as: {gap.why}"
    if not re.search(gap.says, one.outcome, re.DOTALL):
        return f"{where}: fails, but not with {gap.says!r}: {one.outcome}"
    return None


def skip_where_it_cannot_be(peer: Peer) -> None:
    if not peer.there and peer.name in OPTIONAL:
        pytest.skip(f"{peer.name} WAS NOT ASKED: .peers/{peer.environment} could not be made")
    if not peer.there:
        pytest.fail(f"{peer.folder} does not exist: run `make peers`")


@pytest.mark.parametrize("peer", PEERS.values(), ids=lambda peer: peer.name)
def test_peers_read_ours_and_we_read_theirs(peer: Peer, tmp_path: Path, summary: Summary) -> None:
    skip_where_it_cannot_be(peer)
    versions, done = type_exchange.exchange(peer, tmp_path, type_support.holds)
    if peer.name == "zarr-python 3" and versions["zarr"].startswith(("3.0", "3.1")):
        pytest.skip(f"the matrix is that of zarr-python 3.4, which needs Python 3.12: {versions}")
    wrong = [problem for one in done if (problem := verdict(one, versions))]
    summary(f"types: {peer.name} is " + ", ".join(f"{k} {v}" for k, v in versions.items()))
    for action, text in (("read", "reads ours"), ("write", "is read by us")):
        these = [one for one in done if one.action == action]
        well = sum(one.outcome is None for one in these)
        summary(
            f"types: {peer.name} {text}: {len(these)} arrays, {well} ok,"
            f" {len(these) - well} known not to work"
        )
    assert not wrong, f"{len(wrong)} of {len(done)}:\n" + "\n".join(wrong)


def test_no_gap_is_idle() -> None:
    """Every line of the tables is the reason of some case."""
    used: set[Any] = set()
    for peer in PEERS.values():
        for action, formats in (("read", peer.reads), ("write", peer.writes)):
            for zarr_format in formats:
                for name, case in cases().items():
                    if type_support.holds(case, zarr_format):
                        used.add(type_support.gap_of(peer.name, action, name, zarr_format, {}))
    assert [gap for gap in type_support.GAPS if gap not in used] == []
    for gap in type_support.FILL_GAPS:
        hit = [name for name in cases() if re.search(gap.cases, name)]
        assert hit, gap


# -- what no format holds -------------------------------------------------------------------------
@pytest.mark.parametrize("zarr_format", FORMATS)
@pytest.mark.parametrize(
    ("dtype", "says"),
    [
        ("g", "float128|longdouble|extended precision"),
        ("G", "complex256|clongdouble|extended precision"),
        ([(("a title", "a"), "<i4")], "title"),
    ],
)
def test_extended_precision_and_titles_are_refused(
    zarr_format: Format, dtype: Any, says: str
) -> None:
    store = MemoryStore()
    with pytest.raises(UnsupportedError, match=says):
        zarr.create_array(store, shape=(3,), chunks=(2,), dtype=dtype, zarr_format=zarr_format)
    assert [*store.list()] == []


# -- the page -------------------------------------------------------------------------------------
def test_every_known_data_type_is_in_the_matrix() -> None:
    names = {one.v3 if isinstance(one.v3, str) else (one.v3 or {}).get("name") for one in types()}
    fixed = {"null_terminated_bytes", "fixed_length_utf32", "struct", "string", "bytes", "binary"}
    fixed |= {"numpy.datetime64", "numpy.timedelta64", "LargeString", "LargeBinary"}
    assert small.NAMES | pairs.NAMES | fixed <= names


def test_the_page_is_current() -> None:
    page = type_page.PAGE.read_text(encoding="utf-8")
    assert type_page.renewed(page) == page, "run `python -m tests.acceptance.type_page`"
