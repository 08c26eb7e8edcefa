"""What an array needs to take columns and records, and to hand columns to other libraries."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from omnizarr import engine
from omnizarr.errors import LimitError, SelectionError, UnsupportedError, ZarrError
from omnizarr.indexing import Plan
from omnizarr.model.column import Column
from omnizarr.model.dtypes import String

NDArray = npt.NDArray[Any]


def gathered(source: engine.Source, plan: Plan, where: str) -> list[Column]:
    """The text or byte strings that a plan selects, as columns in C order."""
    try:
        parts = engine.Gathered(plan.shape, isinstance(source.model.data_type, String))
        engine.read(source, plan, parts)
        return parts.columns(plan.result)
    except LimitError as error:
        raise error.at(where) from error


def handed_over(library: str, where: str, convert: Callable[[], Any]) -> Any:
    """What another library makes of values that were read; it may have no room for all of them."""
    try:
        return convert()
    except ZarrError as error:
        raise error.at(where) from error
    except (ValueError, TypeError, RuntimeError, OverflowError) as error:
        raise UnsupportedError(
            f"{where}: {library} cannot hold these values ({error}); read them with array[...]",
            what="data_type",
        ) from error


def rearranged(values: Column, plan: Plan) -> Column:
    """A column as a working array: its elements as `Plan.working` puts them."""
    places = np.arange(values.size).reshape(values.shape)
    working = plan.working(places)
    same = working.shape == places.shape and np.array_equal(working, places)
    return values if same else values.chosen(working)


def as_records(values: NDArray, field: str, within: tuple[int, ...]) -> NDArray:
    """Sub-arrays as records of the one field that holds them."""
    shape = values.shape[: values.ndim - len(within)]
    records = np.empty(shape, [(field, values.dtype, within)])
    records[field] = values
    return records


def check_fields(fields: Any, dtype: np.dtype[Any]) -> None:
    if not isinstance(fields, str | list | tuple):
        raise SelectionError(f"fields is a name or a list of names, found {fields!r}")
    names = [fields] if isinstance(fields, str) else list(fields)
    known = dtype.names or ()
    for name in names:
        if name not in known:
            listed = ", ".join(map(repr, known)) or "none"
            raise SelectionError(f"no field {name!r} in data type {dtype}; its fields: {listed}")


def select_fields(values: NDArray, fields: Any, dtype: np.dtype[Any]) -> NDArray:
    check_fields(fields, dtype)
    selected: NDArray = values[fields]
    return selected.copy() if isinstance(fields, str) else selected
