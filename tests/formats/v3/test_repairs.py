"""Documents of format 3 with the chunk lengths that zarr-python wrote against the specification."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnizarr.errors import MetadataError
from omnizarr.formats import get_format
from omnizarr.formats.v3.repairs import repaired
from omnizarr.model.array import ArrayModel
from omnizarr.model.grids import RectilinearAxis

V3 = get_format(3)
BYTES = {"name": "bytes", "configuration": {"endian": "little"}}


def sharding(inner: list[Any], *codecs: Any) -> dict[str, Any]:
    index = [BYTES, {"name": "crc32c"}]
    configuration = {"chunk_shape": inner, "codecs": [*codecs] or [BYTES], "index_codecs": index}
    return {"name": "sharding_indexed", "configuration": configuration}


def regular(*lengths: Any) -> dict[str, Any]:
    return {"name": "regular", "configuration": {"chunk_shape": list(lengths)}}


def rectilinear(*shapes: Any) -> dict[str, Any]:
    configuration = {"kind": "inline", "chunk_shapes": list(shapes)}
    return {"name": "rectilinear", "configuration": configuration}


def document(shape: list[int], grid: Any, *codecs: Any) -> dict[str, Any]:
    return {
        "zarr_format": 3,
        "node_type": "array",
        "shape": shape,
        "data_type": "int16",
        "chunk_grid": grid,
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
        "fill_value": 0,
        "codecs": [*codecs] or [BYTES],
        "extra": {"must_understand": False},
    }


def load(stored: dict[str, Any]) -> ArrayModel:
    model = V3.parse("", {"zarr.json": json.dumps(stored).encode()})  # type: ignore[attr-defined]
    assert isinstance(model, ArrayModel)
    return model


def stored_again(model: ArrayModel) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(V3.documents("", model)["zarr.json"])
    return found


# -- lengths of equal chunks -------------------------------------------------------------------
@pytest.mark.parametrize(
    ("stored", "chunks", "moves", "warns"),
    [
        (document([0], regular(0)), (1,), True, False),
        (document([0], regular(False)), (1,), True, False),
        (document([3], regular(0)), (1,), True, True),
        (document([4, 3], regular(4, 0)), (4, 1), True, True),
        (document([5], regular(True)), (1,), False, False),
        (document([0], regular(0), sharding([4])), (4,), True, False),
        (document([10], regular(0), sharding([4])), (4,), True, True),
        (document([5], regular(True), sharding([True])), (1,), False, False),
        (document([0, 3], regular(0, 3), sharding([True, 3])), (1, 3), True, False),
    ],
)
def test_a_regular_grid(
    stored: dict[str, Any], chunks: tuple[int, ...], moves: bool, warns: bool
) -> None:
    model = load(stored)
    assert model.grid.chunk_shape == chunks
    assert (model.repair is not None) == moves
    assert (model.repair is not None and " is read as " in model.repair.warning) == warns
    assert model.document == stored
    assert stored_again(model)["chunk_grid"] == regular(*chunks)
    assert load(stored_again(model)).repair is None
    assert stored_again(model)["extra"] == {"must_understand": False}


def test_inner_chunks_of_nested_shards() -> None:
    model = load(document([8], regular(8), sharding([4], sharding([True]))))
    assert json.dumps(stored_again(model)["codecs"]).count("[1]") == 1
    assert "true" not in json.dumps(stored_again(model)["codecs"])


@pytest.mark.parametrize(
    "stored",
    [
        document([4], regular(-1)),
        document([4], regular(10.0)),
        document([4], regular(4.5)),
        document([4], regular(None)),
        document([4, 4], regular(0)),
        document([4], regular(0, 0)),
        document([4], regular(0), sharding([0])),
        document([4], regular(0), sharding([False])),
        document([4], regular(4), sharding([0])),
        document([4], regular(4), sharding([2.0])),
        document([4], regular(0), sharding([2, 2])),
        document([4], regular(0), {"name": "transpose", "configuration": {"order": [0]}},
                 sharding([2])),
        document([4], regular(2**63)),
        document([4], regular(0) | {"must_understand": False}),
    ],
)  # fmt: skip
def test_what_no_software_wrote_is_refused(stored: dict[str, Any]) -> None:
    with pytest.raises(MetadataError):
        load(stored)


# -- lengths of every chunk --------------------------------------------------------------------
@pytest.mark.parametrize(
    ("shapes", "edges"),
    [
        ([[[4.0, 2]]], (4, 4)),
        ([[3.0, 5]], (3, 5)),
        ([[[4.0, 2], 2.0]], (4, 4, 2)),
        ([[True, 4]], (1, 4)),
        ([[[True, 2], 3]], (1, 1, 3)),
    ],
)
def test_a_rectilinear_grid(shapes: list[Any], edges: tuple[int, ...]) -> None:
    model = load(document([sum(edges)], rectilinear(*shapes)))
    (axis,) = model.grid.axes
    assert isinstance(axis, RectilinearAxis)
    assert (axis.edges, [type(edge) for edge in axis.edges]) == (edges, [int] * len(edges))
    assert model.repair is None
    again = stored_again(model)
    assert "." not in json.dumps(again["chunk_grid"])
    assert "true" not in json.dumps(again["chunk_grid"])
    assert load(again).grid == model.grid


@pytest.mark.parametrize(
    "shapes",
    [
        [[[4, 2.0]]],
        [4.0],
        [[0.0, 8]],
        [[0, 8]],
        [[False, 8]],
        [[-4.0, 12]],
        [[4.5, 3.5]],
        [[float("inf")]],
        [[float("nan"), 8]],
        [[[4.0, True]]],
        [[[1.0, 2**40], 3]],
        [["8"]],
    ],
)
def test_other_edges_are_refused(shapes: list[Any]) -> None:
    with pytest.raises(MetadataError):
        load(document([8], rectilinear(*shapes)))


@pytest.mark.parametrize(
    ("shape", "lengths", "shapes"),
    [
        ([6, 20], [2, [5, 10, 5]], [2, [5, 10, 5]]),
        ([6, 20, 4], [2, [5, 10, 5], [1, 3]], [2, [5, 10, 5], [1, 3]]),
        ([6, 12], [2, [5, 10, 5]], [2, [5, 10, 5]]),
        ([0, 20], [2, [5, 10, 5]], [2, [5, 10, 5]]),
        ([6, 20], [True, [5.0, 10.0, 5.0]], [1, [5, 10, 5]]),
        ([6, 20], [0, [20]], [1, [20]]),
    ],
)
def test_lists_in_a_regular_grid_are_a_rectilinear_one(
    shape: list[int], lengths: list[Any], shapes: list[Any]
) -> None:
    stored = document(shape, regular(*lengths))
    model = load(stored)
    assert model.repair is not None
    assert model.repair.warning.endswith("for that group as well.")
    assert "is read as that rectilinear chunk grid" in model.repair.warning.replace("It", "it")
    assert model.document == stored
    again = stored_again(model)
    assert again["chunk_grid"] == rectilinear(*shapes)
    assert load(again).grid == model.grid
    assert load(again).repair is None


def test_both_repairs_are_told_with_one_advice() -> None:
    repair = load(document([6, 20], regular(0, [20]))).repair
    assert repair is not None
    assert "[0, [20]] is read as [1, [20]]" in repair.warning
    assert repair.warning.count("update_attributes") == 1


@pytest.mark.parametrize(
    "lengths",
    [
        [[2, 4], [5, 10, 5]],
        [2, [[5, 2], 10]],
        [2, [5.5, 14.5]],
        [2, ["20"]],
        [2, [0, 20]],
        [2, [5, 10]],
        [-2, [20]],
        [2.0, [20]],
        [2, [20], 1],
        [2, {"a": 1}],
    ],
)
def test_other_lists_in_a_regular_grid_are_refused(lengths: list[Any]) -> None:
    with pytest.raises(MetadataError):
        load(document([6, 20], regular(*lengths)))


# -- anything ----------------------------------------------------------------------------------
VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-2, 5), st.floats(), st.just("regular")),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner),
    max_leaves=8,
)


@given(st.lists(st.integers(0, 4), max_size=3), VALUES, st.sampled_from([regular, rectilinear]))
def test_any_lengths_are_read_or_refused(shape: list[int], value: Any, grid: Any) -> None:
    """Never another error; and what is read is stored in a form that reads the same."""
    stored = document(shape, grid(*value if isinstance(value, list) else [value]))
    try:
        model = load(stored)
    except MetadataError:
        return
    again = stored_again(model)
    assert load(again).grid == model.grid
    assert repaired(again, model.shape).value is again
    assert load(again).repair is None


@given(VALUES, VALUES)
def test_any_document_is_repaired_or_left(grid: Any, codecs: Any) -> None:
    stored = {"chunk_grid": grid, "codecs": codecs}
    found = repaired(stored, (3,))
    assert repaired(found.value, (3,)).value is found.value
