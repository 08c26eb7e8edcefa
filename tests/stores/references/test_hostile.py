"""Reference documents that ask for too much, and stores of one document that read other bytes."""

from __future__ import annotations

import gzip
import json
import pickle
import time
from pathlib import Path
from typing import Any

import pytest

from omnizarr.errors import MetadataError, StoreAccessError, StoreError
from omnizarr.stores import CacheStore, MemoryStore, ReferenceStore, Store, resolve
from omnizarr.stores.references.json import MOST_GENERATED, MOST_PIECES
from omnizarr.stores.references.options import RemoteOptions
from omnizarr.testing.store_cases import some


def document(*generators: dict[str, Any], **templates: str) -> dict[str, Any]:
    return {"version": 1, "templates": templates, "gen": list(generators), "refs": {}}


def generator(key: str, url: str, **dimensions: Any) -> dict[str, Any]:
    return {"key": key, "url": url, "dimensions": dimensions}


# -- bounds -------------------------------------------------------------------------------------


def test_an_empty_dimension_makes_nothing_however_long_the_others_are() -> None:
    store = ReferenceStore(document(generator("{{i}}", "u", i={"stop": 2**33}, j=[])))
    assert list(store.list()) == []


def test_combinations_are_counted_before_they_are_made() -> None:
    many = {f"d{number}": [1, 2] for number in range(20_000)}
    with pytest.raises(MetadataError, match=r"gen\[0\].*more references"):
        ReferenceStore(document(generator("k", "u", **many)))


@pytest.mark.parametrize(
    "hostile",
    [
        generator("{{i" + "+0" * 4000 + "}}", "u", i={"stop": 20_000}),
        generator("{{i}}", "x" * 8000 + "{{i}}", i={"stop": MOST_GENERATED}),
        {**generator("{{i}}", "u", i={"stop": 20_000}), "offset": "{{1" + "+1" * 4000 + "}}"}
        | {"length": 1},
    ],
    ids=["expression", "text", "number"],
)
def test_work_is_counted_before_it_is_done(hostile: dict[str, Any]) -> None:
    started = time.monotonic()
    with pytest.raises(MetadataError, match=r"gen\[0\]: \d+ references .* more work"):
        ReferenceStore(document(hostile))
    assert time.monotonic() - started < 60


def test_work_that_templates_hide_is_counted_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("omnizarr.stores.references.json.MOST_WORK", 1 << 20)
    long = "{{" + "+".join(["'xy'"] * 1000) + "}}"
    with pytest.raises(MetadataError, match="more text, or evaluate more"):
        ReferenceStore(document(generator("{{i}}", "{{t}}", i={"stop": 10_000}), t=long))
    with pytest.raises(MetadataError, match="more text, or evaluate more"):
        ReferenceStore(document(generator("{{i}}", "{{t}}", i={"stop": 10_000}), t="x" * 8000))


def test_references_of_the_same_key_count_each(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("omnizarr.stores.references.json.MOST_GENERATED", 1000)
    with pytest.raises(MetadataError, match=r"gen\[2\].*more references"):
        ReferenceStore(document(*[generator("a", "u", i={"stop": 400})] * 3))


def test_many_templates_cost_nothing_for_each_reference() -> None:
    names = {f"n{number}": "" for number in range(20_000)}
    started = time.monotonic()
    store = ReferenceStore(document(generator("{{i}}", "u", i={"stop": 20_000}), **names))
    assert len(list(store.list())) == 20_000
    assert time.monotonic() - started < 60


def test_dimensions_stand_before_templates_in_their_own_generator_only() -> None:
    store = ReferenceStore(
        document(
            generator("a{{i}}", "{{i}}", i=[1, 2]),
            generator("b{{j}}", "{{i}}", j=[1]),
            i="template",
        ),
        allow_local=True,
    )
    assert [store._references.get(key) for key in ("a1", "a2", "b1")] == [
        ("1", 0, None),
        ("2", 0, None),
        ("template", 0, None),
    ]


def test_members_of_a_packed_file_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "r.json.gz"
    text = json.dumps({"a": "x" * 100_000}).encode()
    pieces = [gzip.compress(text[at : at + 777]) for at in range(0, len(text), 777)]
    path.write_bytes(b"".join(pieces))
    assert some(ReferenceStore(path).get("a")) == b"x" * 100_000
    path.write_bytes(b"".join(pieces)[:-1])
    with pytest.raises(MetadataError, match="truncated"):
        ReferenceStore(path)
    started = time.monotonic()
    path.write_bytes(gzip.compress(b"") * (MOST_PIECES + 1) + gzip.compress(b"{}"))
    with pytest.raises(MetadataError, match="members"):
        ReferenceStore(path)
    assert time.monotonic() - started < 60


# -- identity -----------------------------------------------------------------------------------


def test_stores_that_read_other_bytes_are_not_equal_and_share_no_entry(tmp_path: Path) -> None:
    (tmp_path / "one").write_bytes(b"1")
    (tmp_path / "two").write_bytes(b"2")
    path = tmp_path / "r.json"
    path.write_text(json.dumps({"version": 1, "templates": {"u": "one"}, "refs": {"k": ["{{u}}"]}}))
    first, second = ReferenceStore(path), ReferenceStore(path, templates={"u": "two"})
    assert first == ReferenceStore(path) and hash(first) == hash(ReferenceStore(path))
    assert first == pickle.loads(pickle.dumps(first))
    assert first != second
    caches = [
        CacheStore(store, folder=tmp_path / "cache", validate="never") for store in (first, second)
    ]
    assert [some(cache.get("k")) for cache in caches] == [b"1", b"2"]


@pytest.mark.parametrize(
    "options",
    [
        {"target": "s3://b/x"},
        {"remote_options": {"endpoint": "http://localhost:1"}},
        {"target_options": {"endpoint": "http://localhost:1"}},
        {"remote_protocol": "s3"},
        {"allow": ["s3://"]},
        {"fs": {"s3": MemoryStore()}},
    ],
    ids=lambda options: next(iter(options)),
)
def test_everything_that_chooses_the_bytes_is_in_the_identity(
    tmp_path: Path, options: dict[str, Any]
) -> None:
    path = tmp_path / "r.json"
    path.write_text("{}")
    assert ReferenceStore(path) != ReferenceStore(path, **options)
    assert ReferenceStore(path, **options) == ReferenceStore(path, **options)


def test_secrets_are_neither_in_the_identity_nor_in_the_text_of_a_pickle() -> None:
    store = ReferenceStore(
        {"a": "b"},
        remote_options={"secret_access_key": "HUSHHUSH"},
        target_options={"token": "HUSHHUSH"},
        templates={"u": "https://h/?sig=HUSHHUSH"},
    )
    assert "HUSHHUSH" not in repr(store.identity)
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        text = pickle.dumps(store, protocol)
        assert b"HUSHHUSH" not in text
        assert some(pickle.loads(text).get("a")) == b"b"
    again = pickle.loads(pickle.dumps(store))
    assert again._targets._options.of("s3://b", "s3") == {"secret_access_key": "HUSHHUSH"}


# -- options by protocol ------------------------------------------------------------------------


def test_options_go_to_the_stores_that_know_them(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: dict[str, Any] = {}

    def opening(url: str, *, read_only: bool, storage_options: Any) -> Store:
        opened[url] = storage_options
        return MemoryStore({"f": b"value"})

    monkeypatch.setattr(resolve, "as_store", opening)
    references = {"a": ["s3://b/f"], "b": ["https://h/f"], "c": ["https://data.org/f"]}

    def given(**options: Any) -> list[Any]:
        opened.clear()
        store = ReferenceStore(references, **options)
        assert [some(store.get(key)) for key in "abc"] == [b"value"] * 3
        return [opened[url] for url in ("s3://b", "https://h", "https://data.org")]

    anonymous, headers = {"anon": True}, {"headers": {"x": "y"}}
    assert given(remote_options=anonymous) == [anonymous, {}, {}]
    assert given(remote_options=headers) == [{}, headers, headers]
    assert given(remote_options={"deadline": 5}) == [{"deadline": 5}] * 3
    assert given(remote_options=headers, remote_protocol="https") == [{}, headers, headers]
    by_place = {"s3": anonymous, "https://data.org/": headers}
    assert given(remote_options=by_place) == [anonymous, {}, headers]
    assert given(remote_options={"https": headers}) == [{}, headers, headers]
    with pytest.raises(TypeError, match="found both"):
        ReferenceStore({}, remote_options={"s3": {}, "anon": True})


@pytest.mark.slow
def test_a_chain_that_begins_with_references(tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    path.write_text('{"a": "value"}')
    store = resolve.as_store(f"reference://::file://{path}")
    assert store == ReferenceStore(path) and some(store.get("a")) == b"value"
    for query in ("", "?X-Amz-Signature=HUSHHUSH"):
        with pytest.raises(StoreError) as refused:
            resolve.as_store(f"reference://::http://u:HUSHHUSH@127.0.0.1:9/r.json{query}")
        assert "u:***@127.0.0.1:9" in str(refused.value) and "HUSH" not in str(refused.value)
        assert "LocalStore" not in str(refused.value)


def test_a_reference_that_is_neither_a_url_nor_a_path_is_not_shown() -> None:
    store = ReferenceStore({"a": [" http://u:HUSHHUSH@host/x"]}, allow_local=True)
    with pytest.raises(StoreAccessError) as refused:
        store.get("a")
    assert "HUSH" not in str(refused.value)


UNTRUSTED = {"untrusted": True}
CACHED: dict[str, Any] = {"fs": {"simplecache": {}}}


@pytest.mark.parametrize(
    ("target", "options"),
    [
        ("zip://a::http://127.0.0.1:9/x", {"remote_options": UNTRUSTED}),
        ("zip://a::http://127.0.0.1:9/x", {"remote_options": {"http": UNTRUSTED}}),
        ("simplecache::http://127.0.0.1:9/x", {"remote_options": UNTRUSTED} | CACHED),
        ("simplecache::http://127.0.0.1:9/x", {"remote_options": {"https": UNTRUSTED}} | CACHED),
        ("ftp://127.0.0.1:9/x", {"remote_options": UNTRUSTED}),
        ("ftp://127.0.0.1:9/x", {"remote_options": {"ftp": UNTRUSTED}}),
        ("ftp://127.0.0.1:9/x", {"fs": {"ftp": UNTRUSTED}}),
        ("redis://127.0.0.1:9/0", {"remote_options": UNTRUSTED | {"deadline": 5}}),
        ("http://127.0.0.1:9/x", {"remote_options": UNTRUSTED | {"anon": True}}),
        ("http://127.0.0.1:9/x", {"remote_options": UNTRUSTED, "remote_protocol": "s3"}),
    ],
)
def test_untrusted_is_honoured_or_the_file_is_refused(
    target: str, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def opening(url: str, **given: Any) -> Store:
        raise AssertionError(f"{url} was opened")

    monkeypatch.setattr(resolve, "as_store", opening)
    allow = ["http://", "zip://", "ftp://", "redis://"]
    with pytest.raises(StoreAccessError, match="untrusted"):
        ReferenceStore({"a": [target]}, allow=allow, **options).get("a")


def test_untrusted_for_one_protocol_of_the_web_is_for_both() -> None:
    options = RemoteOptions({"https": UNTRUSTED | {"headers": {}}}, None)
    assert options.of("http://h", "http") == UNTRUSTED
    assert RemoteOptions({"s3": {"anon": True}}, None).of("http://h", "http") == {}
    # The services of these are named by the caller.
    RemoteOptions(UNTRUSTED, None).refuse_ignored("s3://b", "s3", {})
    with pytest.raises(StoreError, match="not public"):
        ReferenceStore({"a": ["http://127.0.0.1:9/x"]}, remote_options={"https": UNTRUSTED}).get(
            "a"
        )


def test_options_for_https_do_not_travel_in_the_clear() -> None:
    options = RemoteOptions({"https": {"headers": {}}, "az": {"account": "x"}}, None)
    assert options.of("http://h", "http") == {}
    assert options.of("abfss://c@h", "abfss") == {"account": "x"}
    places = RemoteOptions({"https://data.org": {"headers": {}}}, None)
    assert places.of("https://data.org.evil", "https") == {}


def test_braces_without_an_end_are_refused_at_once() -> None:
    """Looking for the end of each of them would take hours."""
    for name in ("key", "url"):
        wrong = generator("k", "u", i={"stop": 2}) | {name: "{{" * (1 << 20)}
        with pytest.raises(MetadataError, match="without"):
            ReferenceStore(document(wrong))
