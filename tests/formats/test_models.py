"""Any model that a format can express survives: written, detected among all formats, read again.

One strategy draws requests of every kind. What a format cannot express it must refuse by naming
the part that is too much for it; everything else must come back fact by fact. A second strategy
draws within the means of every format, so that refusals cannot hide a format that refuses all.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any, get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from omnizarr.errors import Part, UnsupportedError
from omnizarr.formats import every_format, find
from omnizarr.formats.base import ArrayRequest, Format
from omnizarr.model.array import ArrayModel, GroupModel
from omnizarr.model.codec import CodecSpec
from omnizarr.model.dtypes import from_numpy
from omnizarr.stores import MemoryStore
from tests.formats.test_roundtrip import attributes, compressors, records, simple

pytestmark = pytest.mark.slow

PARTS = get_args(Part)
EVERYWHERE = ["u1", "i2", "<i4", "u8", "f4", "<f8"]
"""Types that every format has, N5 and the draft included."""

node_names = st.text("abcxyzABC019_-.", min_size=1, max_size=8).filter(
    lambda name: name.strip(".") != "" and not name.startswith(("__", "."))
)
node_paths = st.lists(node_names, max_size=3).map("/".join)
axis_names = st.text(st.characters(codec="utf-8"), min_size=1, max_size=4)


@st.composite
def any_request(draw: st.DrawFn) -> ArrayRequest:
    shape = tuple(draw(st.lists(st.integers(0, 2**40), max_size=4)))
    chunks = tuple(draw(st.integers(1, 2**12)) for _ in shape)
    data_type = from_numpy(
        draw(simple | records | st.sampled_from([str, bytes, *map(np.dtype, EVERYWHERE)]))
    )
    extra: dict[str, Any] = {}
    if not data_type.variable and data_type.numpy.kind not in "UbV" and draw(st.booleans()):
        size = data_type.numpy.itemsize
        bits = draw(st.binary(min_size=size, max_size=size))
        extra["fill_value"] = np.frombuffer(bits, data_type.numpy)[0]
    if draw(st.booleans()):
        extra["fill_value"] = None
    if draw(st.booleans()):
        extra["dimension_names"] = tuple(draw(axis_names | st.none()) for _ in shape)
    if draw(st.booleans()):
        extra["shards"] = tuple(chunk * draw(st.integers(1, 4)) for chunk in chunks)
    if draw(st.booleans()):
        extra["filters"] = [CodecSpec("numcodecs.shuffle", {"elementsize": 4})]
    return ArrayRequest(
        shape=shape,
        data_type=data_type,
        chunks=chunks,
        compressors=draw(compressors),
        order=draw(st.sampled_from(["C", "F"])),
        separator=draw(st.sampled_from([None, ".", "/"])),
        attributes=draw(attributes),
        **extra,
    )


@st.composite
def modest_request(draw: st.DrawFn) -> ArrayRequest:
    """Within the means of every format."""
    shape = tuple(draw(st.lists(st.integers(1, 2**40), min_size=1, max_size=4)))
    extra: dict[str, Any] = {}
    if draw(st.booleans()):
        extra["dimension_names"] = tuple(draw(axis_names) for _ in shape)
    blosc = CodecSpec("numcodecs.blosc", {"cname": "lz4", "clevel": 5, "shuffle": 1})
    return ArrayRequest(
        shape=shape,
        data_type=from_numpy(np.dtype(draw(st.sampled_from(EVERYWHERE)))),
        chunks=tuple(draw(st.integers(1, 2**12)) for _ in shape),
        compressors=draw(st.sampled_from(["auto", [blosc]])),
        attributes=draw(
            st.dictionaries(st.text("abc", min_size=1), st.integers() | st.text("xyz"))
        ),
        **extra,
    )


def stored(chosen: Format, path: str, documents: dict[str, bytes]) -> MemoryStore:
    """A store that holds a node, and what its parents need."""
    store = MemoryStore()
    parts = path.split("/") if path else []
    for depth in range(len(parts)):
        for key, data in chosen.parent_documents("/".join(parts[:depth])).items():
            store.set(key, data)
    for key, data in documents.items():
        store.set(key, data)
    return store


def same_fill(one: Any, two: Any, dtype: np.dtype[Any]) -> bool:
    """Bit for bit; no value is like no value; one NaN is like another."""
    if one is None or two is None:
        return one is two
    if dtype.hasobject or dtype.kind == "T":
        return bool(one == two)
    left, right = np.array(one, dtype), np.array(two, dtype)
    if dtype.names is not None:  # bytes between the fields have no meaning
        return repr(left.tolist()) == repr(right.tolist())
    if left.tobytes() == right.tobytes():
        return True
    return dtype.kind in "fc" and bool(np.isnan(left)) and bool(np.isnan(right))


def check(chosen: Format, path: str, model: ArrayModel) -> None:
    documents = chosen.documents(path, model)
    found = find(stored(chosen, path, documents), path)
    assert found is not None
    again = found[1]
    assert found[0].name == chosen.name
    assert isinstance(again, ArrayModel)
    for fact in ("shape", "data_type", "grid", "codecs", "dimension_names", "order", "attributes"):
        assert getattr(again, fact) == getattr(model, fact), fact
    assert again.keys.encoder(again.ndim)((0,) * again.ndim) == model.keys.encoder(model.ndim)(
        (0,) * model.ndim
    )
    assert chosen.chunk_prefix(path, again) == chosen.chunk_prefix(path, model)
    assert same_fill(again.fill_value, model.fill_value, model.dtype)
    assert chosen.documents(path, again) == documents
    # Changing one fact changes that fact alone.
    changed = replace(again, attributes={**again.attributes, "one more": 1})
    rewritten = {**documents, **chosen.documents(path, changed, attributes_only=True)}
    reread = find(stored(chosen, path, rewritten), path)
    assert reread is not None
    assert reread[1].attributes == changed.attributes
    assert reread[1].codecs == again.codecs  # type: ignore[union-attr]


@pytest.mark.parametrize("chosen", every_format(), ids=lambda chosen: str(chosen.name))
def test_what_a_format_can_express_survives(chosen: Format) -> None:
    count: Counter[str] = Counter()

    @given(st.one_of(any_request(), modest_request()), node_paths)
    @settings(max_examples=200)
    def survives(request: ArrayRequest, path: str) -> None:
        try:
            model = chosen.new_array(request)
            chosen.documents(path, model)
        except UnsupportedError as error:
            assert error.what in PARTS, f"the refusal does not say of what: {error}"
            count[error.what] += 1
            return
        count["expressed"] += 1
        check(chosen, path, model)

    survives()
    assert count["expressed"] > 0, count


@pytest.mark.parametrize("chosen", every_format(), ids=lambda chosen: str(chosen.name))
@given(modest_request(), node_paths)
@settings(max_examples=60)
def test_what_every_format_can_express_survives_in_each(
    chosen: Format, request: ArrayRequest, path: str
) -> None:
    check(chosen, path, chosen.new_array(request))


@pytest.mark.parametrize("chosen", every_format(), ids=lambda chosen: str(chosen.name))
@given(attributes, node_paths)
@settings(max_examples=60)
def test_groups_survive(chosen: Format, given_attributes: dict[str, Any], path: str) -> None:
    try:
        documents = chosen.documents(path, chosen.new_group(given_attributes))
    except UnsupportedError as error:
        assert error.what in ("groups", "attributes")
        return
    found = find(stored(chosen, path, documents), path)
    assert found is not None
    assert found[0].name == chosen.name
    assert isinstance(found[1], GroupModel)
    assert found[1].attributes == given_attributes
    changed = chosen.documents(
        path, replace(found[1], attributes={"only": 1}), attributes_only=True
    )
    again = find(stored(chosen, path, {**documents, **changed}), path)
    assert again is not None
    assert again[1].attributes == {"only": 1}
