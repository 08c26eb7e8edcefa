"""xarray's rules for Zarr, on a group of omnizarr.

`ZarrStore` of xarray holds what `to_zarr` means: modes, regions, appending, chunks that are safe.
It asks a group for a dozen names that omnizarr's groups have too. This module replaces what needs
zarr-python: opening, reading variables, creating arrays, consolidating.

It knows xarray's data stores. It must not know formats.
"""

# xarray's functions have no annotations here, and its data store is of zarr-python's types.
# mypy: disable-error-code="no-untyped-call, override"

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping
from typing import Any, Literal, Self

import xarray
from xarray import conventions
from xarray.backends import ZarrStore

# Not public in xarray: what its own backend asks of variables that are stored already (the rules
# must be the same, and they are long), the writer's type, and the mark of an object dtype for str.
from xarray.backends.common import ArrayWriter
from xarray.backends.zarr import (
    DIMENSION_KEY,
    _validate_and_transpose_existing_dims,
    _validate_datatypes_for_zarr_append,
)
from xarray.coding.strings import check_vlen_dtype

import omnizarr
from omnizarr import Array, Group
from omnizarr.errors import NodeTypeError, UnsupportedError
from omnizarr.integrations.xarray.opening import (
    Mode,
    Target,
    consolidates,
    is_ours_to_close,
    open_node,
)
from omnizarr.integrations.xarray.variables import Convention, dimensions_of, variable_of

Variables = Mapping[str, xarray.Variable]
Region = Mapping[str, slice | Literal["auto"]] | Literal["auto"]


class OmnizarrDataStore(ZarrStore):
    """A group of omnizarr as a data store of xarray; `to_zarr` returns one.

    Parameters
    ----------
    zarr_group
        The group.
    members
        Its members, where they are known already.
    cache_members
        Whether the group is listed once; otherwise whenever members are asked for.
    use_zarr_fill_value_as_mask
        Whether values that equal an array's fill value are missing; None: as the format has it.
    **rules
        All other arguments of xarray's `ZarrStore`.

    Examples
    --------
    >>> group = omnizarr.group({})
    >>> _ = group.create_array("a/t", data=np.array([1.5, 2.5]), dimension_names=["x"])
    >>> store = OmnizarrDataStore(group)
    >>> list(store.members), list(store.below())
    (['a'], ['', 'a'])
    >>> child = store.get_child_store("a")
    >>> child.array_keys(), dict(child.arrays())["t"].shape, child.get_dimensions()
    (('t',), (2,), {'x': 2})
    >>> child.open_store_variable("t").dims
    ('x',)
    """

    __slots__ = ("_convention",)

    def __init__(
        self,
        zarr_group: Group,
        *,
        members: dict[str, Array | Group] | None = None,
        cache_members: bool = True,
        use_zarr_fill_value_as_mask: bool | None = None,
        **rules: object,
    ) -> None:
        self._convention = Convention.of(zarr_group, use_zarr_fill_value_as_mask)
        super().__init__(
            zarr_group,
            use_zarr_fill_value_as_mask=self._convention.fill_value_masks,
            cache_members=False,  # listed when first asked for
            **rules,  # type: ignore[arg-type]  # of many types, by name
        )
        self._cache_members = cache_members
        self._members: dict[str, Array | Group] | None = members  # type: ignore[assignment]

    # -- opening ------------------------------------------------------------------------------
    @classmethod
    def open_group(
        cls,
        store: Target,
        mode: Mode = "r",
        group: str | None = None,
        consolidated: bool | None = False,
        storage_options: Mapping[str, object] | None = None,
        append_dim: Hashable | None = None,
        write_region: Region | None = None,
        safe_chunks: bool = True,
        align_chunks: bool = False,
        zarr_format: int | str | None = None,
        use_zarr_fill_value_as_mask: bool | None = None,
        write_empty: bool | None = None,
        cache_members: bool = True,
    ) -> Self:
        """Open a group, with the arguments of xarray's `ZarrStore.open_group`.

        Parameters
        ----------
        store, mode, group, storage_options, append_dim, safe_chunks, align_chunks, zarr_format, \
use_zarr_fill_value_as_mask
            As in `to_zarr` and `xarray.open_dataset`.
        consolidated
            Whether consolidated metadata are read: required, not used, or (None) if there are some.
        write_region
            `region` of `to_zarr`.
        write_empty
            `write_empty_chunks` of `to_zarr`.
        cache_members
            Whether the group is listed once.

        Returns
        -------
        OmnizarrDataStore
            The store.

        Examples
        --------
        >>> OmnizarrDataStore.open_group(omnizarr.group({}).store).array_keys()
        ()
        """
        found = open_node(
            store,
            mode,
            group,
            consolidated=consolidated if consolidates(store) else False,
            storage_options=storage_options,
            zarr_format=zarr_format,
        )
        if isinstance(found, Array):
            raise NodeTypeError(f"{found.store!r}: {found.name!r} is an array, expected a group")
        return cls(
            found,
            members={} if mode in ("w", "w-") and cache_members else None,
            mode=mode,
            append_dim=append_dim,
            write_region=write_region,
            safe_chunks=safe_chunks,
            align_chunks=align_chunks,
            use_zarr_fill_value_as_mask=use_zarr_fill_value_as_mask,
            write_empty=write_empty,
            close_store_on_close=is_ours_to_close(store),
            cache_members=cache_members,
        )

    def below(self) -> dict[str, Self]:
        """A store for this group and for every group below it, by path; one listing for all."""
        groups: dict[str, Group] = {"": self.zarr_group}
        members: dict[str, dict[str, Array | Group]] = {"": {}}
        for path, node in self.zarr_group.members(max_depth=None):
            parent, _, name = path.rpartition("/")
            members[parent][name] = node
            if isinstance(node, Group):
                groups[path], members[path] = node, {}
        return {path: self._like(group, members[path]) for path, group in groups.items()}

    def get_child_store(self, group: str) -> Self:
        """The store of a group below this one, which is created if it is missing.

        Parameters
        ----------
        group
            Path below this group.

        Returns
        -------
        OmnizarrDataStore
            The store of that group.
        """
        return self._like(self.zarr_group.require_group(group))

    def _like(self, group: Group, members: dict[str, Array | Group] | None = None) -> Self:
        return type(self)(
            group,
            members=members,
            mode=self._mode,
            append_dim=self._append_dim,
            write_region=self._write_region,
            safe_chunks=self._safe_chunks,
            align_chunks=self._align_chunks,
            use_zarr_fill_value_as_mask=self._use_zarr_fill_value_as_mask,
            write_empty=self._write_empty,
            close_store_on_close=self._close_store_on_close,
            cache_members=self._cache_members,
        )

    # -- reading ------------------------------------------------------------------------------
    @property
    def members(self) -> dict[str, Array | Group]:
        """Names and nodes in the group."""
        if self._members is not None:
            return self._members
        found = dict(self.zarr_group.members())
        if self._cache_members:
            self._members = found
        return found

    def arrays(self) -> tuple[tuple[str, Array], ...]:
        """Names and arrays in the group."""
        return tuple((name, node) for name, node in self.members.items() if isinstance(node, Array))

    def array_keys(self) -> tuple[str, ...]:
        """Names of the arrays in the group."""
        return tuple(name for name, _ in self.arrays())

    def open_store_variable(self, name: str) -> xarray.Variable:
        """An array as a variable, with lazy values.

        Parameters
        ----------
        name
            Name of the array.

        Returns
        -------
        Variable
            The variable.
        """
        array = self.members[name]
        assert isinstance(array, Array)
        return variable_of(array, dimensions_of(array, name, self._convention), self._convention)

    def get_dimensions(self) -> dict[Hashable, int]:
        """The length of every dimension."""
        lengths: dict[Hashable, int] = {}
        for name, array in self.arrays():
            dims = dimensions_of(array, name, self._convention)
            for dim, length in zip(dims, array.shape, strict=True):
                if lengths.setdefault(dim, length) != length:
                    raise ValueError(
                        f"found conflicting lengths for dimension {dim!r}: {lengths[dim]}, and"
                        f" {length} in array {name!r}"
                    )
        return lengths

    # -- writing ------------------------------------------------------------------------------
    def store(
        self,
        variables: Variables,
        attributes: Mapping[str, object],
        check_encoding_set: Collection[Hashable] = frozenset(),
        writer: ArrayWriter | None = None,
        unlimited_dims: None = None,
    ) -> None:
        """Write variables and attributes, as the mode says.

        Parameters
        ----------
        variables, attributes
            Of the dataset.
        check_encoding_set
            Names of variables whose encoding must not have unknown keys.
        writer
            What collects the values to write.
        unlimited_dims
            Refused: Zarr has none.

        Examples
        --------
        >>> import xarray
        >>> from xarray.backends.common import ArrayWriter
        >>> group, writer = omnizarr.group({}), ArrayWriter()
        >>> store = OmnizarrDataStore.open_group(group, mode="a")
        >>> store.store({"t": xarray.Variable("x", [1.5, 2.5])}, {"title": "sea"}, writer=writer)
        >>> group["t"].dims, group["t"][:]
        (('x',), array([1.5, 2.5]))
        """
        stored = set() if self._mode == "w" else set(self.array_keys()).intersection(variables)
        if self._mode == "r+" and len(stored) < len(variables):
            names = [name for name in variables if name not in stored]
            raise ValueError(
                f"dataset contains non-pre-existing variables {names!r}, which mode 'r+' does not"
                " write; mode 'a' adds new variables"
            )
        self._check_append_dim()
        new = {name: each for name, each in variables.items() if name not in stored}
        encoded, attributes = self.encode(new, attributes)
        if stored:
            encoded |= self._encoded_as_stored({name: variables[name] for name in stored})
        if self._mode != "r+":
            self.set_attributes(attributes)
            self.set_dimensions(encoded, unlimited_dims=unlimited_dims)
        if self._mode == "a-" and self._append_dim is not None:
            kept = {name for name in stored if self._append_dim not in encoded[name].dims}
        else:
            kept = set()
        wanted = {name: encoded[name] for name in variables if name not in kept}
        self.set_variables(wanted, check_encoding_set, writer, unlimited_dims=unlimited_dims)

    def _check_append_dim(self) -> None:
        dim = self._append_dim
        if dim is None or dim in self.array_keys():
            return
        found = self.get_dimensions()
        if dim not in found:
            raise ValueError(
                f"append_dim={dim!r} does not match any existing dataset dimensions {found}"
            )

    def _encoded_as_stored(self, variables: Variables) -> dict[str, xarray.Variable]:
        """Variables with the encoding that their arrays have, so that values mean the same."""
        found, _, _ = conventions.decode_cf_variables(
            {name: self.open_store_variable(name) for name in variables}, {}
        )
        alike = {}
        for name, variable in variables.items():
            _validate_datatypes_for_zarr_append(name, found[name], variable)
            alike[name] = variable.copy(deep=False)
            alike[name].encoding = found[name].encoding
        encoded, _ = self.encode(alike, {})
        return {
            name: _validate_and_transpose_existing_dims(
                name, variable, found[name], self._write_region, self._append_dim
            )
            for name, variable in encoded.items()
        }

    def consolidate(self) -> None:
        """Write the consolidated metadata of the whole store.

        Examples
        --------
        >>> group = omnizarr.group({})
        >>> OmnizarrDataStore(group).consolidate()
        >>> omnizarr.open_consolidated(group.store).name
        '/'
        """
        group = self.zarr_group
        try:
            omnizarr.consolidate_metadata(group.store, zarr_format=group.zarr_format)
        except UnsupportedError:
            return  # a format without such metadata
        except FileNotFoundError:  # members of a store without a root
            omnizarr.consolidate_metadata(
                group.store, path=group.path, zarr_format=group.zarr_format
            )

    def _open_existing_array(self, *, name: str) -> Array:
        array: Array = self.zarr_group.get_array(name)
        if self._write_empty is None:
            return array
        return array.with_config({"write_empty_chunks": self._write_empty})

    def _create_new_array(
        self,
        *,
        name: str,
        shape: tuple[int, ...],
        dtype: Any,
        fill_value: Any,
        encoding: dict[str, Any],
        attrs: dict[str, Any],
    ) -> Array:
        dims = attrs.pop(DIMENSION_KEY, None)
        if dims is not None:  # the format knows where they belong
            encoding["dimension_names"] = dims
        given = encoding.get("write_empty_chunks")
        if self._write_empty is not None:
            if given is not None and given != self._write_empty:
                raise ValueError(
                    f"variable {name!r}: write_empty_chunks is {given} in the encoding and"
                    f" {self._write_empty} as an argument"
                )
            encoding["write_empty_chunks"] = self._write_empty
        encoding.pop("fill_value", None)
        if isinstance(encoding["chunks"], tuple):  # Dask has chunks of length 0 in empty arrays
            pairs = zip(encoding["chunks"], shape, strict=True)
            encoding["chunks"] = tuple(chunk if chunk or length else 1 for chunk, length in pairs)
        facts = {"shape": shape, "attributes": attrs, **encoding}
        facts["dtype"] = str if check_vlen_dtype(dtype) is str else dtype
        create = self.zarr_group.create_array
        try:
            created: Array = create(name, fill_value=fill_value, **facts)
        except UnsupportedError as error:
            if error.what != "fill_value" or fill_value == fill_value:
                raise
            created = create(name, **facts)  # NaN was xarray's choice, not the user's
        return created
