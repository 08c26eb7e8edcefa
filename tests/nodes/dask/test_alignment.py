"""Properties of chunk alignment: blocks that are fitted share no stored chunk."""

from __future__ import annotations

from itertools import accumulate

from hypothesis import given
from hypothesis import strategies as st

from omnizarr.nodes.dask.alignment import call, cuts, fits, fitted

lengths = st.lists(st.integers(1, 9), min_size=1, max_size=8).map(tuple)
edge = st.one_of(st.integers(1, 12), st.lists(st.integers(1, 7), min_size=20, max_size=20))


def stored_chunks(edge: object, stop: int) -> list[range]:
    """The indices of every stored chunk up to `stop`."""
    if isinstance(edge, int):
        return [range(start, start + edge) for start in range(0, stop, edge)]
    ends = list(accumulate(edge))  # type: ignore[arg-type]
    return [range(end - n, end) for n, end in zip(edge, ends, strict=True)]  # type: ignore[call-overload]


def writers(blocks: tuple[int, ...], edge: object, start: int) -> int:
    """How many blocks write the stored chunk that most blocks write."""
    ends = [start + end for end in accumulate(blocks)]
    spans = [range(end - n, end) for n, end in zip(blocks, ends, strict=True) if n]
    chunks = stored_chunks(edge, ends[-1])
    return max(
        (sum(1 for s in spans if {*s} & {*chunk}) for chunk in chunks),
        default=0,
    )


def as_edge(edge: object) -> int | tuple[int, ...]:
    return edge if isinstance(edge, int) else tuple(edge)  # type: ignore[arg-type]


@given(lengths, edge, st.integers(0, 10))
def test_fits_is_what_no_two_blocks_share(
    blocks: tuple[int, ...], edge: object, start: int
) -> None:
    if start + sum(blocks) <= 20:
        assert fits(blocks, as_edge(edge), start) == (writers(blocks, edge, start) <= 1)


@given(lengths, edge, st.integers(0, 10))
def test_fitted_blocks_fit_and_are_no_longer_than_needed(
    blocks: tuple[int, ...], edge: object, start: int
) -> None:
    if start + sum(blocks) > 20:
        return
    found = fitted(blocks, as_edge(edge), start)
    assert sum(found) == sum(blocks)
    assert writers(found, edge, start) <= 1
    longest = max(len(chunk) for chunk in stored_chunks(edge, 20))
    assert max(found) <= max([*blocks, longest])
    if writers(blocks, edge, start) <= 1:
        assert found == blocks


def test_empty_blocks_are_merged_or_kept() -> None:
    assert fitted((0, 5, 0, 5), 5, 0) == (0, 5, 0, 5)
    assert fitted((0,), 5, 10) == (0,)


def test_cuts_of_a_region_in_a_huge_array_cost_nothing() -> None:
    assert len(cuts(1, 10**15, 10**15 + 3)) == 2


def test_the_call_is_exact_or_absent() -> None:
    import dask.array as da

    x = da.zeros((30, 10), chunks=((15, 15), (5, 5)))
    after = (fitted(x.chunks[0], 10, 0), fitted(x.chunks[1], 5, 0))
    text = call(x.chunks, after)
    assert text == ".rechunk({0: 10})"
    assert eval(f"x{text}", {"x": x}).chunks == after
    assert call([(1,) * 99], [(3, *[1, 2] * 32)]) is None
