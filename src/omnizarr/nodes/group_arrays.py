"""Creating arrays in a group.

`GroupArrays` is the base of `Group`; every method gives its keywords to `make_array`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Unpack

import numpy.typing as npt

from omnizarr.errors import MetadataError, NodeExistsError, NodeTypeError, UnsupportedError
from omnizarr.keywords import suggests
from omnizarr.model import paths
from omnizarr.nodes.array import Array
from omnizarr.nodes.creation.arguments import DataTypeLike, FilledOptions, ShapeLike
from omnizarr.nodes.creation.arrays import like, make_array, require_alike
from omnizarr.nodes.creation.member_arguments import (
    DatasetOptions,
    FullLikeOptions,
    FullOptions,
    LikeOptions,
    MemberOptions,
    RequireOptions,
)
from omnizarr.nodes.group_members import GroupMembers


class GroupArrays(GroupMembers):
    """The base of `Group`; not of use by itself."""

    def _check_writable(self) -> None:
        super()._check_writable()
        if self._stored.consolidated is not None:
            raise UnsupportedError(
                f"{self._place} was opened through consolidated metadata, which creating or"
                " deleting a member would make wrong; open it with use_consolidated=False and"
                " consolidate again"
            )
        if self._stored.document:  # a group without a document exists as long as its members do
            self._look()

    @suggests
    def create_array(
        self,
        name: str,
        *,
        shape: ShapeLike | None = None,
        dtype: DataTypeLike = None,
        data: object = None,
        overwrite: bool = False,
        write_data: bool = True,
        storage_options: Mapping[str, object] | None = None,
        **arguments: Unpack[FilledOptions],
    ) -> Array:
        """Create an array in this group, with its values if `data` is given. Also `create`.

        Parameters
        ----------
        name
            Path below this group.
        shape
            Length of every dimension; one int makes a 1-d array.
        dtype
            A NumPy dtype, or the name of a Zarr data type.
        data
            Values to write; they give shape and type where those are left out.
        overwrite
            Whether a node that is there is replaced, with everything below it.
        write_data
            False takes shape and type from `data` and writes no values.
        storage_options
            Refused: the store is open already.
        **arguments
            All other keywords of `omnizarr.create_array`.

        Returns
        -------
        Array
            The new array.

        Raises
        ------
        NodeExistsError
            If a node is there and `overwrite` is false.

        Examples
        --------
        >>> root = omnizarr.group()
        >>> root.create_array("a", shape=(4, 6), chunks=(2, 3), dtype="i4").nchunks
        4
        """
        if storage_options:
            raise TypeError(
                "create_array() of a group takes no storage_options: its store is open already;"
                " give them where the group is opened"
            )
        given = {"shape": shape, "dtype": dtype, "data": data, **arguments}
        return self._create(name, {**given, "overwrite": overwrite, "write_data": write_data})

    create = create_array

    def _create(self, name: str, arguments: Mapping[str, Any]) -> Array:
        self._check_writable()
        path = self._relative(name)
        if not path:
            raise MetadataError(f"{self._place}: an array in a group needs a name")
        rest = {**arguments}
        return make_array(
            self.store, paths.join(self.path, path), rest,
            overwrite=rest.pop("overwrite", False), write_data=rest.pop("write_data", True),
            chosen=self._place.format, options=self._options,
        )  # fmt: skip

    @suggests
    def create_dataset(self, name: str, **arguments: Unpack[DatasetOptions]) -> Array:
        """Create an array: h5py's and zarr-python 2's name for `create_array`.

        Parameters
        ----------
        name
            Path below this group.
        **arguments
            Keywords of `create_array`.

        Returns
        -------
        Array
            The new array.
        """
        return self._create(name, arguments)

    @suggests
    def array(
        self, name: str, data: object, *, write_data: bool = True, **arguments: Unpack[LikeOptions]
    ) -> Array:
        """Create an array from values.

        Parameters
        ----------
        name
            Path below this group.
        data
            The values.
        write_data, **arguments
            Keywords of `create_array`.

        Returns
        -------
        Array
            The new array.

        Examples
        --------
        >>> omnizarr.group().array("a", [1, 2, 3])[:]
        array([1, 2, 3])
        """
        return self._create(name, {"data": data, "write_data": write_data, **arguments})

    @suggests
    def require_array(
        self, name: str, shape: ShapeLike | None = None, dtype: DataTypeLike = None,
        exact: bool = False, **arguments: Unpack[RequireOptions],
    ) -> Array:  # fmt: skip
        """Return the array of a name; create it if there is none. Also `require_dataset`.

        Parameters
        ----------
        name
            Path below this group.
        shape
            Shape that the array must have.
        dtype
            Type that the array must have, or that its type can be cast to safely.
        exact
            Whether the type must be the same.
        **arguments
            Keywords of `create_array`, for an array that is created.

        Returns
        -------
        Array
            The array.

        Raises
        ------
        TypeError
            If an array is there that does not agree.
        NodeTypeError
            If a group is there.

        Examples
        --------
        >>> root = omnizarr.group()
        >>> root.require_array("a", shape=3) == root.require_array("a", shape=3)
        True
        """
        found = self._find(name)
        if found is None:
            try:
                return self._create(name, {"shape": shape, "dtype": dtype, **arguments})
            except NodeExistsError:
                found = self._find(name)  # a concurrent process created it
                if found is None:
                    raise
        if not isinstance(found, Array):
            raise NodeTypeError(f"{self._place}: {name!r} is a group, not an array")
        require_alike(found, shape, dtype, exact)
        return found

    require_dataset = require_array

    @suggests
    def empty(self, name: str, *, shape: ShapeLike, **arguments: Unpack[MemberOptions]) -> Array:
        """Create an array whose missing chunks have no defined value.

        Parameters
        ----------
        name
            Path below this group.
        shape
            Length of every dimension.
        **arguments
            Keywords of `create_array`.

        Returns
        -------
        Array
            The new array.

        Examples
        --------
        >>> omnizarr.group().empty("a", shape=3, dtype="i4").shape
        (3,)
        """
        return self._create(name, {"shape": shape, "fill_value": None, **arguments})

    @suggests
    def zeros(self, name: str, *, shape: ShapeLike, **arguments: Unpack[MemberOptions]) -> Array:
        """Create an array of zeros.

        Parameters
        ----------
        name
            Path below this group.
        shape
            Length of every dimension.
        **arguments
            Keywords of `create_array`.

        Returns
        -------
        Array
            The new array.

        Examples
        --------
        >>> omnizarr.group().zeros("a", shape=3, dtype="i4")[:]
        array([0, 0, 0], dtype=int32)
        """
        return self._create(name, {"shape": shape, "fill_value": 0, **arguments})

    @suggests
    def ones(self, name: str, *, shape: ShapeLike, **arguments: Unpack[MemberOptions]) -> Array:
        """Create an array of ones.

        Parameters
        ----------
        name
            Path below this group.
        shape
            Length of every dimension.
        **arguments
            Keywords of `create_array`.

        Returns
        -------
        Array
            The new array.

        Examples
        --------
        >>> omnizarr.group().ones("a", shape=3, dtype="i4")[:]
        array([1, 1, 1], dtype=int32)
        """
        return self._create(name, {"shape": shape, "fill_value": 1, **arguments})

    @suggests
    def full(
        self, name: str, *, shape: ShapeLike, fill_value: object, **arguments: Unpack[FullOptions]
    ) -> Array:
        """Create an array of one value.

        Parameters
        ----------
        name
            Path below this group.
        shape
            Length of every dimension.
        fill_value
            The value.
        **arguments
            Keywords of `create_array`.

        Returns
        -------
        Array
            The new array.

        Examples
        --------
        >>> omnizarr.group().full("a", shape=2, fill_value=7)[:]
        array([7., 7.])
        """
        return self._create(name, {"shape": shape, "fill_value": fill_value, **arguments})

    @suggests
    def empty_like(self, name: str, data: object, **arguments: Unpack[LikeOptions]) -> Array:
        """Create an array without a fill value, otherwise like another one.

        Parameters
        ----------
        name
            Path below this group.
        data
            An array that gives shape, type, chunks, shards, codecs and dimension names.
        **arguments
            Keywords of `create_array`; they replace what `data` gives.

        Returns
        -------
        Array
            The new array.
        """
        return self._create(name, {"fill_value": None, **like(data), **arguments})

    @suggests
    def zeros_like(self, name: str, data: object, **arguments: Unpack[LikeOptions]) -> Array:
        """Create an array of zeros, otherwise like another one.

        Parameters
        ----------
        name
            Path below this group.
        data
            An array that gives shape, type, chunks, shards, codecs and dimension names.
        **arguments
            Keywords of `create_array`; they replace what `data` gives.

        Returns
        -------
        Array
            The new array.
        """
        return self._create(name, {"fill_value": 0, **like(data), **arguments})

    @suggests
    def ones_like(self, name: str, data: object, **arguments: Unpack[LikeOptions]) -> Array:
        """Create an array of ones, otherwise like another one.

        Parameters
        ----------
        name
            Path below this group.
        data
            An array that gives shape, type, chunks, shards, codecs and dimension names.
        **arguments
            Keywords of `create_array`; they replace what `data` gives.

        Returns
        -------
        Array
            The new array.
        """
        return self._create(name, {"fill_value": 1, **like(data), **arguments})

    @suggests
    def full_like(
        self, name: str, data: object, fill_value: object = None,
        **arguments: Unpack[FullLikeOptions],
    ) -> Array:  # fmt: skip
        """Create an array of one value, otherwise like another one.

        Parameters
        ----------
        name
            Path below this group.
        data
            An array that gives shape, type, chunks, shards, codecs and dimension names.
        fill_value
            The value; that of `data` if it is left out.
        **arguments
            Keywords of `create_array`; they replace what `data` gives.

        Returns
        -------
        Array
            The new array.
        """
        if fill_value is None:
            fill_value = getattr(data, "fill_value", None)
        return self._create(name, {**like(data), "fill_value": fill_value, **arguments})

    def __setitem__(self, name: str, value: npt.ArrayLike | Array | GroupArrays) -> None:
        """Store values as an array of this name, replacing what is there."""
        if isinstance(value, GroupArrays):
            raise TypeError("a group cannot be assigned; use omnizarr.copy(source, destination)")
        self._create(name, {"data": value, "overwrite": True})
