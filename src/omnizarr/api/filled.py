"""Creating arrays of one value: `zeros`, `ones`, `full`, `empty`, and like another array."""

from __future__ import annotations

from typing import Unpack

from omnizarr.api.arguments import ConstantArguments, LikeArguments
from omnizarr.api.creating import create_from, present
from omnizarr.keywords import suggests
from omnizarr.nodes.array import Array
from omnizarr.nodes.creation.arguments import ShapeLike
from omnizarr.nodes.creation.arrays import like


@suggests
def empty(
    shape: ShapeLike, *, fill_value: object = None, **arguments: Unpack[ConstantArguments]
) -> Array:
    """Create an array without a fill value.

    Where the format needs one, the fill value is zero.

    Parameters
    ----------
    shape
        Length of every dimension.
    fill_value, **arguments
        All keywords of `create`; by default the array is in memory.

    Returns
    -------
    Array
        The new array.

    Examples
    --------
    >>> import omnizarr
    >>> omnizarr.empty((4, 4), zarr_format=2).fill_value is None
    True
    """
    return create_from({**arguments, "shape": shape, "fill_value": fill_value})


@suggests
def zeros(
    shape: ShapeLike, *, fill_value: object = 0, **arguments: Unpack[ConstantArguments]
) -> Array:
    """Create an array of zeros. Zero is its fill value, so no chunk is stored.

    Parameters
    ----------
    shape
        Length of every dimension.
    fill_value, **arguments
        All keywords of `create`; by default the array is in memory.

    Returns
    -------
    Array
        The new array.

    Examples
    --------
    >>> import omnizarr
    >>> omnizarr.zeros(3, dtype="i4")[:]
    array([0, 0, 0], dtype=int32)
    """
    return create_from({**arguments, "shape": shape, "fill_value": fill_value})


@suggests
def ones(
    shape: ShapeLike, *, fill_value: object = 1, **arguments: Unpack[ConstantArguments]
) -> Array:
    """Create an array of ones. One is its fill value, so no chunk is stored.

    Parameters
    ----------
    shape
        Length of every dimension.
    fill_value, **arguments
        All keywords of `create`; by default the array is in memory.

    Returns
    -------
    Array
        The new array.

    Examples
    --------
    >>> import omnizarr
    >>> omnizarr.ones(3)[:]
    array([1., 1., 1.])
    """
    return create_from({**arguments, "shape": shape, "fill_value": fill_value})


@suggests
def full(shape: ShapeLike, fill_value: object, **arguments: Unpack[ConstantArguments]) -> Array:
    """Create an array of one value. It is the fill value, so no chunk is stored.

    Parameters
    ----------
    shape
        Length of every dimension.
    fill_value
        The value.
    **arguments
        All keywords of `create`; by default the array is in memory.

    Returns
    -------
    Array
        The new array.

    Examples
    --------
    >>> import omnizarr
    >>> omnizarr.full((2, 2), 7, dtype="u1")[0]
    array([7, 7], dtype=uint8)
    """
    return create_from({**arguments, "shape": shape, "fill_value": fill_value})


@suggests
def empty_like(
    a: object, *, fill_value: object = None, **arguments: Unpack[LikeArguments]
) -> Array:
    """Create an array without a fill value, like another.

    Parameters
    ----------
    a
        An array of any library. The new one gets its shape, type and chunks, and the codecs of an
        `Array`.
    fill_value, **arguments
        All keywords of `create`, to differ from `a`.

    Returns
    -------
    Array
        The new array.

    Examples
    --------
    >>> import omnizarr
    >>> a = omnizarr.zeros((4, 4), chunks=(2, 2))
    >>> omnizarr.empty_like(a).chunks
    (2, 2)
    """
    return create_from({**like(a, arguments), **arguments, "fill_value": fill_value})


@suggests
def zeros_like(a: object, *, fill_value: object = 0, **arguments: Unpack[LikeArguments]) -> Array:
    """Create an array of zeros, like another.

    Parameters
    ----------
    a
        An array of any library. The new one gets its shape, type and chunks, and the codecs of an
        `Array`.
    fill_value, **arguments
        All keywords of `create`, to differ from `a`.

    Returns
    -------
    Array
        The new array.

    Examples
    --------
    >>> import omnizarr
    >>> omnizarr.zeros_like([1, 2, 3])[:]
    array([0, 0, 0])
    """
    return create_from({**like(a, arguments), **arguments, "fill_value": fill_value})


@suggests
def ones_like(a: object, *, fill_value: object = 1, **arguments: Unpack[LikeArguments]) -> Array:
    """Create an array of ones, like another.

    Parameters
    ----------
    a
        An array of any library. The new one gets its shape, type and chunks, and the codecs of an
        `Array`.
    fill_value, **arguments
        All keywords of `create`, to differ from `a`.

    Returns
    -------
    Array
        The new array.

    Examples
    --------
    >>> import omnizarr
    >>> omnizarr.ones_like([1.5, 2.5])[:]
    array([1., 1.])
    """
    return create_from({**like(a, arguments), **arguments, "fill_value": fill_value})


@suggests
def full_like(a: object, fill_value: object = None, **arguments: Unpack[LikeArguments]) -> Array:
    """Create an array of one value, like another.

    Parameters
    ----------
    a
        An array of any library. The new one gets its shape, type and chunks, and the codecs of an
        `Array`.
    fill_value
        The value; that of `a` if it is not given.
    **arguments
        All keywords of `create`, to differ from `a`.

    Returns
    -------
    Array
        The new array.

    Examples
    --------
    >>> import omnizarr
    >>> omnizarr.full_like([1, 2, 3], 7)[:]
    array([7, 7, 7])
    """
    return create_from(
        {**like(a, arguments, filled=True), **present(fill_value=fill_value), **arguments}
    )
