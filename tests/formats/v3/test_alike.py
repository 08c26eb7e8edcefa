"""A document that is like one before it gives the same node, or the same error, as by itself."""

from __future__ import annotations

import json
import math
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import omnizarr
from omnizarr import limits
from omnizarr.errors import MetadataError
from omnizarr.formats import members, parsed_documents
from omnizarr.formats.base import Node
from omnizarr.formats.v3 import alike, document
from omnizarr.model.array import ArrayModel
from omnizarr.model.dtypes import plugins
from omnizarr.model.dtypes.numeric import Float
from omnizarr.stores import MemoryStore


@pytest.fixture(autouse=True)
def empty() -> Iterator[None]:
    forget()
    yield
    forget()


def forget() -> None:
    parsed_documents._known.clear()
    alike._kept.__init__()  # type: ignore[misc]


def array(**changes: Any) -> dict[str, Any]:
    return {
        "zarr_format": 3,
        "node_type": "array",
        "shape": [6, 4],
        "data_type": "int32",
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [3, 2]}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
        "fill_value": 0,
        "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
        "attributes": {},
        **changes,
    }


def grid(*chunks: Any) -> dict[str, Any]:
    return {"name": "regular", "configuration": {"chunk_shape": list(chunks)}}


def by_itself(data: bytes) -> Any:
    """What a document gives where none is kept."""
    return outcome(lambda: members.parsed("zarr.json", data, document._node))


def beside_others(data: bytes) -> Any:
    return outcome(lambda: document.V3().parse("", {"zarr.json": data}))


def outcome(parse: Any) -> Any:
    try:
        node = parse()
    except MetadataError as error:
        return type(error), str(error)
    return facts(node)


def facts(node: Node | None) -> Any:
    """Everything, with types: 1 is not True, and -0.0 not 0.0."""
    if not isinstance(node, ArrayModel):
        return repr(node)
    names = [name for name in vars(node) if name != "derived"]
    return [(name, repr(vars(node)[name])) for name in names]


def check(*texts: str | bytes) -> None:
    """Whatever was seen before, and how often."""
    for text in [*texts, *texts, *texts, *reversed(texts)]:
        data = text if isinstance(text, bytes) else text.encode()
        assert beside_others(data) == by_itself(data)


def served(*texts: str) -> bool:
    """Whether the sample of the last of these texts can be used."""
    for text in (*texts, *texts):
        document.V3().parse("", {"zarr.json": text.encode()})
    sample = alike._kept.samples.get(alike._cut(texts[-1])[0])
    return sample is not None and sample.model is not None


def test_lengths_and_attributes_differ() -> None:
    texts = [
        json.dumps(array(shape=[n, 4], chunk_grid=grid(n, 2), attributes={"n": n}))
        for n in range(1, 9)
    ]
    check(*texts)
    assert len(alike._kept.samples) == 1 and served(texts[0])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(document, "_node", None)  # all of it comes from the sample
        new = json.dumps(array(shape=[77, 5], chunk_grid=grid(7, 5), attributes={"a": [1, {}]}))
        node = document.V3().parse("", {"zarr.json": new.encode()})
    assert isinstance(node, ArrayModel)
    assert node.shape == (77, 5) and node.grid.chunk_shape == (7, 5)
    assert node.attributes == {"a": [1, {}]} and node.document == json.loads(new)


LENGTHS = st.lists(
    st.one_of(
        st.integers(-1, 9),
        st.sampled_from([True, 1.0, 2.5, None, "3", -0.0, 1 << 62, 1 << 63, 10**30, [2], [[2, 3]]]),
    ),
    min_size=0,
    max_size=3,
)
VALUES = st.recursive(
    st.sampled_from([True, 1, 1.0, 0.0, -0.0, math.nan, None, "", "shape", '"shape": [1]', "\0"]),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(
            st.sampled_from(["shape", "chunk_shape", "attributes", "a", '"shape']), inner
        ),
    ),
    max_leaves=4,
)
SHARDS = {
    "name": "sharding_indexed",
    "configuration": {
        "chunk_shape": [1, 1],
        "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
        "index_codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
    },
}


@given(
    st.lists(st.tuples(LENGTHS, LENGTHS, VALUES), min_size=2, max_size=4),
    st.randoms(use_true_random=False),
    st.sampled_from([None, 0, 2]),
    st.booleans(),
    st.dictionaries(st.sampled_from(["shape", "x", "dimension_names", "fill_value"]), VALUES),
)
def test_any_document(given: Any, random: Any, indent: Any, sharded: bool, more: Any) -> None:
    """Members in any order, with values of any kind, many of them wrong."""
    forget()
    texts = []
    order = list(array())
    random.shuffle(order)
    for shape, chunks, attributes in given:
        found = array(shape=shape, chunk_grid=grid(*chunks), attributes=attributes)
        if sharded:
            found["codecs"] = [SHARDS]
        found = {name: found[name] for name in order}
        found |= {name: value for name, value in more.items() if name != "shape"}
        texts.append(json.dumps(found, indent=indent))
    check(*texts)


@given(st.integers(0, 400), st.sampled_from(['"', "\\", "[", "}", ",", ":", " ", "1", "\0", "é"]))
def test_damaged_text(position: int, character: str) -> None:
    """One document among others that are sound is damaged."""
    sound = [json.dumps(array(shape=[n, 4])) for n in (10, 11, 12)]
    for text in sound * 2:
        beside_others(text.encode())
    damaged = sound[0][:position] + character + sound[0][position + 1 :]
    for text in (damaged, sound[0][:position], sound[0] + character, character + sound[0]):
        assert beside_others(text.encode()) == by_itself(text.encode())
    assert facts(document.V3().parse("", {"zarr.json": sound[1].encode()}))[0] == (
        "shape",
        "(11, 4)",
    )


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ('"fill_value": 0', '"fill_value": 1'),
        ('"fill_value": 0', '"fill_value": false'),
        ('"fill_value": 0', '"fill_value": 0.0'),
        ('"fill_value": 0', '"fill_value": -0.0'),
        ('"shape": [6, 4]', '"shape": [6, 4], "shape": [6, 4]'),
        ('"shape": [6, 4]', '"shape": [6.0, 4]'),
        ('"shape": [6, 4]', '"shape": [true, 4]'),
        ('"shape": [6, 4]', '"shape": [06, 4]'),
        ('"shape": [6, 4]', '"shape": [6]'),
        ('"shape": [6, 4]', f'"shape": [{"9" * 5000}, 4]'),
        ('"attributes": {}', '"attributes": []'),
        ('"attributes": {}', '"attributes": {"a": 1, "a": 1}'),
        ('"attributes": {}', '"attributes": {"a": ' + "[" * 200 + "]" * 200 + "}"),
        ('"attributes": {}', '"attributes": {}, "unknown": 1'),
        ("[3, 2]", "[0, 2]"),
        ("[3, 2]", "[3, 2, 1]"),
        ("[3, 2]", "[[3, 3], 2]"),
        ('"regular"', '"rectilinear"'),
        ('"int32"', '"int33"'),
    ],
)
def test_nearly_the_same(one: str, other: str) -> None:
    text = json.dumps(array())
    assert one in text
    check(text, text.replace(one, other))
    assert served(text)


@pytest.mark.parametrize(
    "text",
    [
        # The name of the member stands elsewhere: in a string, below another member.
        json.dumps({"unknown": {"must_understand": False, "shape": [1]}, **array()}),
        json.dumps({"unknown": {"must_understand": False, "attributes": {}}, **array()}),
        json.dumps({'\\"shape': {"must_understand": False}, **array()}),
        json.dumps(
            {"chunk_shape": {"must_understand": False}, **array(), "codecs": [SHARDS]}
        ),
        # Something that could be taken for a mark.
        json.dumps({"\0shape": {"must_understand": False}, **array()}),
    ],
)  # fmt: skip
def test_an_outline_that_cannot_be_used(text: str) -> None:
    check(text, text.replace("[6, 4]", "[8, 5]"))
    assert not served(text)


def test_another_number_of_dimensions() -> None:
    transpose = {"name": "transpose", "configuration": {"order": [1, 0]}}
    for more in ({"dimension_names": ["y", "x"]}, {"codecs": [transpose, *array()["codecs"]]}):
        text = json.dumps(array(**more))
        fewer = text.replace("[6, 4]", "[6]").replace("[3, 2]", "[3]")
        check(text, fewer)
        assert served(text) and isinstance(by_itself(fewer), tuple)


def test_chunks_of_another_grid() -> None:
    """A member that the grid does not know is not its chunk shape."""
    configuration = {"kind": "inline", "chunk_shapes": [[1, 5], 4], "chunk_shape": [3, 2]}
    other = json.dumps(array(chunk_grid={"name": "rectilinear", "configuration": configuration}))
    check(other, other.replace("[3, 2]", "[2, 2]"), other.replace("[6, 4]", "[5, 4]"))
    assert not served(other)


def test_a_data_type_that_is_registered_later_is_heard(monkeypatch: pytest.MonkeyPatch) -> None:
    later = {"name": "test.later", "configuration": {}, "fallback": "float64"}
    texts = [json.dumps(array(data_type=later, shape=[n, 4])) for n in range(4)]
    check(*texts)
    assert served(texts[0])

    class Later(Float):
        name = "test.later"

        @classmethod
        def from_configuration(cls, configuration: Any) -> Later:
            return cls(np.dtype("f4"))

    monkeypatch.setattr(plugins, "_registered", {})
    plugins.register("test.later", Later)
    for text in texts * 2:
        node = document.V3().parse("", {"zarr.json": text.encode()})
        assert isinstance(node, ArrayModel) and type(node.data_type) is Later
    assert served(texts[0])


def test_what_is_seen_once_is_not_kept() -> None:
    text = json.dumps(array())
    beside_others(text.encode())
    assert not alike._kept.samples and len(alike._kept.seen) == 1
    beside_others(text.encode())
    assert len(alike._kept.samples) == 1


@pytest.mark.parametrize("codecs", [array()["codecs"], [SHARDS]])
@pytest.mark.parametrize("indent", [None, 2])
def test_usual_documents_can_be_used(codecs: Any, indent: int | None) -> None:
    assert served(json.dumps(array(codecs=codecs), indent=indent))
    ordered = json.dumps(array(), indent=indent, sort_keys=True)
    assert served(ordered)


def test_inner_chunks_belong_to_the_outline() -> None:
    inner = json.dumps(array(codecs=[SHARDS]))
    check(inner, inner.replace("[1, 1]", "[3, 1]"), inner.replace("[1, 1]", "[0, 1]"))


def test_no_node_shares_what_can_be_changed() -> None:
    store = MemoryStore()
    for name in "abcd":
        found = array(attributes={"list": [1]}, fill_value=7)
        store[f"{name}/zarr.json"] = json.dumps(found | {"shape": [ord(name), 4]}).encode()
    store["zarr.json"] = b'{"zarr_format": 3, "node_type": "group"}'
    root = omnizarr.open_group(store)
    nodes = dict(root.arrays())
    nodes["c"].attrs["list"].append(2)
    nodes["c"].metadata.to_dict()["codecs"].append("changed")
    nodes["c"].attrs["new"] = 1
    nodes["d"].resize(1, 1)
    again = dict(omnizarr.open_group(store).arrays())
    assert [again[name].attrs.asdict() for name in "abd"] == [{"list": [1]}] * 3
    assert again["c"].attrs.asdict() == {"list": [1], "new": 1}
    assert [again[name].shape[0] for name in "abcd"] == [97, 98, 99, 1]
    assert again["a"].metadata.to_dict()["codecs"] == array()["codecs"]
    assert nodes["d"][0, 0] == again["b"][5, 1] == 7


def test_a_fill_value_that_can_be_changed_is_not_shared() -> None:
    store = MemoryStore()
    made = omnizarr.create_array(store, name="a", shape=3, dtype=[("x", "i4")])
    assert made.shape == (3,)
    text = bytes(store["a/zarr.json"]).decode()
    assert not served(text)


def test_documents_that_change_between_two_listings() -> None:
    root = omnizarr.group()
    for name in "abc":
        root.create_array(name, shape=(4, 4), chunks=(2, 2), dtype="i4")
    for length in range(5, 9):
        root["b"].resize(length, 4)
        assert [array.shape[0] for _, array in root.arrays()] == [4, length, 4]
    root.create_array("b", shape=3, dtype="f8", overwrite=True)
    assert [array.ndim for _, array in root.arrays()] == [2, 1, 2]


def test_a_damaged_document_among_a_thousand() -> None:
    store = MemoryStore({"zarr.json": b'{"zarr_format": 3, "node_type": "group"}'})
    for number in range(1000):
        store[f"{number:03}/zarr.json"] = json.dumps(array(shape=[number, 4])).encode()
    root = omnizarr.open_group(store, "r")
    assert [found.shape[0] for _, found in root.arrays()] == list(range(1000))
    store["500/zarr.json"] = json.dumps(array(shape=[-1, 4])).encode()
    with pytest.raises(MetadataError, match=r"key '500/zarr.json'.*found -1 in \[-1, 4\]"):
        list(root.arrays())
    store["500/zarr.json"] = json.dumps(array(shape=[5, 5])).encode()[:-1]
    with pytest.raises(MetadataError, match=r"key '500/zarr.json'.*invalid JSON"):
        list(root.arrays())


def test_other_limits_are_heard() -> None:
    text = json.dumps(array())
    assert served(text)
    for caps in ({"max_dimensions": 1}, {"max_document_bytes": 10}, {"max_json_depth": 2}):
        with limits.override(**caps):
            assert beside_others(text.encode()) == by_itself(text.encode())
    assert served(text)


def test_what_is_kept_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(alike, "MOST_OUTLINES", 3)
    monkeypatch.setattr(alike, "MOST_SEEN", 4)
    for fill in range(20):
        text = json.dumps(array(fill_value=fill))
        check(text)
        assert served(text)
        assert 0 < len(alike._kept.samples) <= 3 and len(alike._kept.seen) <= 4
    forget()
    check(json.dumps(array(dimension_names=["x" * 5000, None])))
    check(json.dumps(array(attributes={"x": "y" * 20000})))
    assert not alike._kept.samples and not alike._kept.seen


def test_few_are_looked_at_where_none_are_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    looked = []
    cut = alike._cut
    monkeypatch.setattr(alike, "_cut", lambda text: looked.append(text) or cut(text))
    for fill in range(alike.MOST_MISSED + 80 * alike.EACH):
        beside_others(json.dumps(array(fill_value=fill)).encode())
    assert len(looked) == alike.MOST_MISSED + 80
    text = json.dumps(array(fill_value=-1))
    for _ in range(3 * alike.EACH):
        beside_others(text.encode())
    looked.clear()
    for fill in range(-1, alike.MOST_MISSED - 1):  # one that is like another: all are looked at
        beside_others(json.dumps(array(fill_value=fill)).encode())
    assert len(looked) == alike.MOST_MISSED - 1


def test_threads() -> None:
    texts = [
        json.dumps(array(shape=[n, 4], fill_value=n % 5, attributes={"n": n})).encode()
        for n in range(200)
    ]
    wrong: list[bytes] = []

    def work(seed: int) -> None:
        for index in np.random.default_rng(seed).permutation(len(texts)):
            node = document.V3().parse("", {"zarr.json": texts[index]})
            expected = ((index, 4), index % 5, {"n": index})
            if (node.shape, node.fill_value, node.attributes) != expected:  # type: ignore[union-attr]
                wrong.append(texts[index])

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
