"""Displays for notebooks: well-formed, escaped, bounded, and careful with the store."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import omnizarr as zarr
from omnizarr.testing import CountingStore, LatencyStore
from tests.nodes.html.pages_for_tests import HOSTILE, hostile_group, samples

ELEMENTS = {
    "div", "style", "span", "table", "thead", "tbody", "tr", "th", "td", "details", "summary", "p",
    "b", "ul", "li", "figure", "figcaption", "svg", "g", "path", "text",
}  # fmt: skip
ATTRIBUTES = {
    "class", "colspan", "open", "role", "aria-label", "width", "height", "viewbox", "transform",
    "d", "fill", "fill-opacity", "stroke", "stroke-opacity", "stroke-width", "x", "y",
    "text-anchor", "font-size",
}  # fmt: skip
BOUND = 100_000


class Page(HTMLParser):
    """Parses a display; an element or attribute that is none of ours is an error."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.seen: list[str] = []
        self.texts: list[str] = []
        self.styles = ""
        html.encode()  # no half of a pair
        self.feed(html)
        self.close()
        assert self.open == [], f"not closed: {self.open}"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in ELEMENTS, f"element {tag}"
        for name, value in attrs:
            assert name in ATTRIBUTES, f"attribute {name} of {tag}"
            assert "url(" not in (value or "").lower()
        self.seen.append(tag)
        self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open and self.open.pop() == tag, f"</{tag}> closes nothing"

    def handle_data(self, data: str) -> None:
        if self.open[-1:] == ["style"]:
            self.styles += data
        else:
            self.texts.append(data)

    def handle_comment(self, data: str) -> None:
        raise AssertionError("a comment")

    def handle_decl(self, decl: str) -> None:
        raise AssertionError("a declaration")

    @property
    def text(self) -> str:
        return " ".join(self.texts)


def page(node: Any) -> Page:
    html = node._repr_html_()
    assert len(html) < BOUND
    found = Page(html)
    assert found.seen[0] == "div" and found.seen.count("style") == 1
    assert not re.search(r"url\(|@import|expression|</", found.styles)
    return found


SAMPLES = samples()


@pytest.fixture(autouse=True)
def _patience(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("omnizarr.nodes.html.known.PATIENCE", 600)  # for a loaded machine


@pytest.mark.parametrize("name", SAMPLES)
def test_every_display_is_well_formed(name: str) -> None:
    page(SAMPLES[name])


def test_an_array_shows_its_facts() -> None:
    text = page(SAMPLES["shards"]).text
    for fact in (
        "omnizarr.Array", "/temperature", "format 3", "MappingStore", "(720, 361, 720)",
        "(24, 91, 180)", "(240, 182, 360)", "time, lat, lon", "float32", "zstd", "714 MiB",
        "1.50 MiB", "480", "12", "Attributes", "units", "K", "lon 720",
    ):  # fmt: skip
        assert fact in text, fact
    assert "varies" in page(SAMPLES["text"]).text
    assert "Order F" in " ".join(page(SAMPLES["old"]).text.split())
    assert {"view", "read-only"} <= set(page(SAMPLES["view"]).texts)
    assert "svg" not in page(SAMPLES["point"]).seen


def test_a_group_shows_members_and_attributes() -> None:
    found = page(SAMPLES["group"])
    for fact in ("temperature", "(720, 361, 720)", "(24, 91, 180)", "float32", "level", "group",
                 "title", '"sample"'):  # fmt: skip
        assert fact in found.text, fact
    assert "no members" in page(zarr.group()).text
    root = zarr.group()
    for index in range(50):
        root.create_group(f"g{index:02}")
    text = page(root).text
    assert "g19" in text and "g20" not in text and "and 30 more" in text


def test_hostile_text_stays_text() -> None:
    root = hostile_group()
    for node in (root, root.tree(), root.info_complete(), *(array for _, array in root.arrays())):
        found = page(node)
        assert "window.hacked" in found.text
        assert "\u202e" not in found.text and "\x00" not in found.text


@settings(max_examples=40)
@given(
    name=st.text(st.characters(codec="utf-8"), min_size=1, max_size=30),
    texts=st.lists(st.text() | st.sampled_from(HOSTILE), max_size=4),
    value=st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
        max_leaves=8,
    ),
)
def test_any_text_is_escaped(name: str, texts: list[str], value: Any) -> None:
    attributes = {text: [value, text] for text in texts}
    dims = tuple([*texts, "x", "y"][:2])
    root = zarr.create_group({}, attributes=attributes)
    try:
        array = root.create_array(
            name, shape=(3, 4), chunks=2, dtype="i4", attributes=attributes, dimension_names=dims
        )
    except (ValueError, KeyError):  # no name of a node, or two equal names of dimensions
        array = root.create_array("a", shape=(3, 4), dtype="i4", attributes=attributes)
    for node in (array, root, root.tree(), array.info):
        page(node)


def test_a_display_is_bounded() -> None:
    long = "<" * 5000
    attributes = {f"{index} {long}": [long] * 3 for index in range(100)}
    root = zarr.create_group({}, attributes=attributes)
    fields = [(f"field{index}", "i4") for index in range(2000)]
    for index in range(30):
        root.create_group(f"{index:03}" + "n" * 200)
    array = root.create_array(
        "wide", shape=(1,) * 32, dtype=fields, attributes=attributes,
        dimension_names=[f"{index}{long}" for index in range(32)],
    )  # fmt: skip
    edges = (1,) * 5000
    irregular = root.create_array("irregular", shape=5000, chunks=(edges,), dtype="i1")
    deep: Any = []
    for _ in range(100):
        deep = [deep]
    nested = zarr.zeros(2, attributes={"deep": deep})
    assert all("…" in page(node).text for node in (array, root))
    assert "5,000" in page(irregular).text
    assert "[" * 100 in page(nested).text


# -- what is asked of the store -------------------------------------------------------------------
def test_stored_chunks_are_counted_where_that_is_cheap(tmp_path: Path) -> None:
    values = np.zeros((20, 20), "i4")
    values[:10] = np.arange(10)[:, None] + 1
    for store in (tmp_path / "a.zarr", {}, zarr.MemoryStore()):
        array = zarr.create_array(store, data=values, chunks=5)
        known = not isinstance(store, dict)  # the sizes of another mapping's values may cost
        assert ("in 8 of 16 chunks, ratio" in page(array).text) == known
    assert "none of 4 chunks" in page(zarr.zeros(20, chunks=5)).text
    counting = CountingStore(zarr.MemoryStore())
    large = zarr.create_array(counting, shape=257, chunks=1, dtype="i4")
    counting.reset()
    assert "Stored" not in page(large).text
    assert not counting.counts, "a large grid is not listed"


def test_a_folder_with_too_many_files_is_left_alone(tmp_path: Path) -> None:
    array = zarr.create_array(tmp_path, shape=4, chunks=1, dtype="i4", zarr_format=2)
    array[:] = 1
    assert "in 4 of 4" in page(array).text
    for index in range(600):
        (tmp_path / str(1000 + index)).write_bytes(b"")
    assert "Stored" not in page(array).text


def test_a_remote_store_is_asked_for_nothing() -> None:
    inner = zarr.MemoryStore()
    root = zarr.create_group(inner)
    root.create_array("a", data=np.arange(10), chunks=2)
    slow = LatencyStore(inner, seconds=0)
    group = zarr.open_group(slow, mode="r")
    array = group["a"]
    assert slow.capabilities.requests > 1
    slow.reset()
    assert "Stored" not in page(array).text
    assert "group.tree()" in page(group).text
    assert not slow.counts
    zarr.consolidate_metadata(inner)
    group = zarr.open_consolidated(slow, mode="r")
    slow.reset()
    assert "(10,)" in page(group).text
    assert not slow.counts


def test_members_that_are_slow_to_read_are_only_named(monkeypatch: pytest.MonkeyPatch) -> None:
    root = zarr.group()
    for name in ("a", "b"):
        root.create_array(name, shape=7, dtype="i4")
    assert "(7,)" in page(root).text
    monkeypatch.setattr("omnizarr.nodes.html.known.PATIENCE", -1)
    found = page(root)
    assert {"a", "b"} <= set(found.texts) and "(7,)" not in found.text


def test_a_display_does_not_fail_with_its_store(tmp_path: Path) -> None:
    root = zarr.open_group(tmp_path / "a.zarr", mode="w")
    array = root.create_array("a", data=[1, 2, 3])
    (tmp_path / "a.zarr" / "a" / "zarr.json").write_text("{")
    assert "a" in page(root).texts
    (tmp_path / "a.zarr").rename(tmp_path / "b.zarr")
    assert "/a" in page(array).text
    page(root)
    with zarr.ZipStore(tmp_path / "c.zip", mode="w") as store:
        closed = zarr.create_array(store, data=[1, 2, 3])
    assert "(3,)" in page(closed).text
