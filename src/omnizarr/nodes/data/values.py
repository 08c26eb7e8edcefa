"""What a user writes, as an array (or a column of text) that broadcasts the way NumPy assigns.

Data of pyarrow, awkward, pandas and every library with Arrow's interface are taken as they are;
their strings go to the engine as the two buffers that Arrow holds them in.

Missing values: an array of Zarr has none. A None, a null of Arrow, a pandas.NA, a masked element,
and a NaN or NaT where it is no value of the type are refused, with their place, before anything is
written. Replace it by a value of the type before writing.
"""

from __future__ import annotations

from itertools import chain
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from omnizarr.model.casting import cast
from omnizarr.model.column import OBJECT, TEXT, Column
from omnizarr.model.dtypes import Bytes, DataType, Object, String
from omnizarr.model.dtypes.numeric import bounds
from omnizarr.model.json import show
from omnizarr.nodes.arrow import foreign as arrow
from omnizarr.nodes.arrow.missing import is_missing, missing, named, place_of
from omnizarr.nodes.data.lazy import computed, is_known

NDArray = npt.NDArray[Any]
ONE = (str, bytes, bytearray, memoryview)
"""Values that have a length and are one element all the same."""
_MOST_AXES = 64
"""How deep NumPy looks into lists."""


def as_source(
    value: Any, data_type: DataType, dtype: np.dtype[Any], shape: tuple[int, ...] | None
) -> NDArray | Column:
    """`value` ready to be written, broadcast to `shape` if one is given.

    An array keeps its own type and is cast chunk by chunk, as NumPy's assignment does; anything
    else is converted to `dtype` at once, so that a value out of range is an error. Text and byte
    strings that need no broadcasting come as a column. Arrow's arrays are flat: one that has as
    many elements as `shape` has places fills them in C order, as `to_arrow` reads them.
    """
    given = value
    _refuse_hidden(value)
    lazy = computed(given)
    # `numpy.asarray` of a Dask array would show the values under a mask.
    value = arrow.foreign(given) if lazy is None else np.asanyarray(lazy.compute())
    if value is not given and getattr(value, "dtype", OBJECT).names is not None:
        value = _by_name(value, dtype)
    if shape is not None and arrow.is_flat(given):
        value = _filling(value, shape)
    if value is not given and isinstance(data_type, Object):
        value = _plain(value, shape)
    if dtype == data_type.numpy and getattr(value, "dtype", None) != dtype:
        value = data_type.values(value)
    if isinstance(data_type, String | Bytes):
        source = _variable(value, data_type, dtype)
        if isinstance(source, Column):
            if shape is None or source.shape == shape:
                return source
            if source.size == prod(shape) and _fits(source.shape, shape):
                return source.reshape(shape)
        return _broadcast(np.asarray(source), shape)
    if isinstance(value, Column):
        value = _fixed(value, dtype)
    return as_source_array(value, dtype, shape)


def as_source_array(value: Any, dtype: np.dtype[Any], shape: tuple[int, ...] | None) -> NDArray:
    """The same for elements that are neither text nor byte strings."""
    if dtype.hasobject and dtype.names is None:
        source = _objects(value, shape)
    elif isinstance(value, np.ndarray | np.generic) or hasattr(value, "__array__"):
        source = _unmasked(np.asanyarray(value))
        if dtype.kind == "S" and source.dtype.type is np.void and source.dtype.names is None:
            # NumPy knows no cast from raw bits.
            source = np.ascontiguousarray(source).view(f"S{source.dtype.itemsize}")
        _refuse_nowhere(source, dtype)
        if source.dtype.kind in "mM" and dtype.kind in "mM":
            source = cast(source, dtype)  # all at once: a time out of reach leaves nothing written
        if source.dtype.kind in "OT" or (source.dtype.kind in "US" and dtype.kind not in "US"):
            source = _converted(source, dtype)
    else:
        source = _converted(value, dtype)
    return _broadcast(source, shape)


def as_values(data: Any, shape: tuple[int, ...] | None = None) -> Any:
    """Data that a new array, perhaps of a given shape, is made from: something that has a shape and
    a dtype."""
    _refuse_hidden(data)
    values = arrow.foreign(data)
    if isinstance(values, np.str_ | np.bytes_):
        return np.asarray(values)
    if shape is not None and arrow.is_flat(data):
        values = _filling(values, shape)
    lazy = computed(values)
    if lazy is not None and (lazy.dtype == OBJECT or not is_known(lazy)):
        return np.asanyarray(lazy.compute())  # its shape, or what the objects are, is known then
    # The type of a torch.Tensor is none of NumPy's, so it is converted.
    known = isinstance(values, Column) or isinstance(getattr(values, "dtype", None), np.dtype)
    return values if known and hasattr(values, "shape") else np.asanyarray(values)


def names_of(data: Any) -> tuple[str, ...] | None:
    """The names that data give their dimensions, as xarray's `dims`; None if any has none."""
    names = getattr(data, "dims", None)
    if isinstance(names, tuple) and all(isinstance(name, str) for name in names):
        return names
    return None


def element_type(values: Any, *, complete: bool = True) -> Any:
    """The data type, or the dtype, of what `as_values` gives. Objects that are all text, or all
    byte strings, are those; objects that lack a value are refused, if they must be `complete`."""
    if isinstance(values, Column):
        return String() if values.text else Bytes()
    if isinstance(values, np.ndarray) and values.dtype == OBJECT and values.size:
        items = values.reshape(-1).tolist()
        for found, kind in ((String(), str), (Bytes(), bytes)):
            if all(isinstance(item, kind) for item in items):
                return found
        if complete:
            _refuse_missing(values, OBJECT)
    return values.dtype


# -- shapes -------------------------------------------------------------------------------------


def _broadcast(source: NDArray, shape: tuple[int, ...] | None) -> NDArray:
    if shape is None:
        return source
    while source.ndim > len(shape) and source.shape[0] == 1:
        source = source.reshape(source.shape[1:])  # NumPy ignores leading dimensions of length 1
    try:
        return np.broadcast_to(source, shape)
    except ValueError as error:
        raise ValueError(
            f"shape mismatch: a value of shape {source.shape} cannot be broadcast to a selection of"
            f" shape {shape}"
        ) from error


def _filling(value: Any, shape: tuple[int, ...]) -> Any:
    """Flat data in the shape of the selection that they fill."""
    if not isinstance(value, np.ndarray | Column) or value.ndim != 1:
        return value
    fills = value.shape[0] == prod(shape) and not _fits(value.shape, shape)
    return value.reshape(shape) if fills else value


def _fits(given: tuple[int, ...], shape: tuple[int, ...]) -> bool:
    while len(given) > len(shape) and given[0] == 1:
        given = given[1:]
    try:
        return np.broadcast_shapes(given, shape) == shape
    except ValueError:
        return False


# -- text and byte strings ----------------------------------------------------------------------


def _variable(value: Any, data_type: String | Bytes, dtype: np.dtype[Any]) -> NDArray | Column:
    """Text or byte strings, every one of them looked at once."""
    text = isinstance(data_type, String)
    if isinstance(value, Column):
        return _same_kind(value, text)
    if isinstance(value, ONE) or not hasattr(value, "__len__"):
        return _one(value, data_type, dtype)
    source = _unmasked(_array_of(value))
    if source.ndim == 0:
        return _one(source[()], data_type, dtype)
    if not source.size:
        return Column(np.zeros(1, np.int64), np.zeros(0, np.uint8), source.shape, text)
    kind = source.dtype.kind
    if kind == "V" and source.dtype.type is np.void and source.dtype.names is None and not text:
        return _records(source)
    if kind not in "TUSO":
        raise _wrong_kind(text, f"an array of {source.dtype}; convert it")
    if kind in "TU" and not text:
        raise _wrong_kind(text, f"{source.dtype}; encode it")
    if source.dtype == TEXT and source.ndim > 1:
        return source
    try:
        return Column.of(source, text)
    except (TypeError, ValueError) as error:
        raise _first_bad(source, text, error) from error


def _array_of(value: Any) -> NDArray:
    """A value with a length as an array; lists as objects, so that nothing in them changes."""
    if isinstance(value, np.ndarray) or hasattr(value, "__array__"):
        return np.asanyarray(value)
    try:
        return np.asarray(value, dtype=object)
    except ValueError as error:
        raise ValueError(f"nested lists of several lengths are no array: {error}") from error


def _wrong_kind(text: bool, found: str) -> TypeError:
    wanted = ("text", "str") if text else ("byte strings", "bytes")
    return TypeError(f"an array of {wanted[0]} takes {wanted[1]}, found {found}")


def _same_kind(column: Column, text: bool) -> Column:
    if text == column.text:
        return column
    if not text:
        raise _wrong_kind(text, "text; encode it, as in values.cast('binary')")
    column = Column(column.offsets, column.data, column.shape, True)
    try:
        column.check()
    except ValueError as error:
        raise ValueError(f"an array of text takes UTF-8: {error}") from error
    return column


def _records(source: NDArray) -> Column:
    """Raw bits as byte strings of one size."""
    octets = np.ascontiguousarray(source).reshape(-1).view(np.uint8)
    offsets = np.arange(source.size + 1, dtype=np.int64) * source.dtype.itemsize
    return Column(offsets, octets, source.shape, False)


def _one(value: Any, data_type: String | Bytes, dtype: np.dtype[Any]) -> NDArray:
    text = isinstance(data_type, String)
    if not isinstance(value, str if text else (bytes, bytearray, memoryview)):
        raise _bad("the value", value, text)
    single = np.empty((), dtype)
    try:
        single[()] = data_type.scalar(value)
    except UnicodeEncodeError as error:
        raise _bad("the value", value, text) from error
    return single


def _first_bad(source: NDArray, text: bool, cause: Exception) -> Exception:
    """The error for the first element that cannot be stored."""
    wanted: Any = (str, bytes) if source.dtype.kind == "S" else str if text else (bytes, bytearray)
    for index, item in enumerate(source.reshape(-1).tolist()):
        if not isinstance(item, wanted) or not _is_text(item):
            return _bad(place_of(index, source.shape), item, text)
    return ValueError(f"an array of {'text' if text else 'byte strings'}: {cause}")


def _is_text(item: Any) -> bool:
    try:
        if isinstance(item, str):
            item.encode()
    except UnicodeEncodeError:
        return False
    return True


def _bad(place: str, item: Any, text: bool) -> Exception:
    if is_missing(item, "T"):
        return missing(place, named(item))
    if text and isinstance(item, str):
        return ValueError(f"{place} is {item!r}, which has no form in UTF-8")
    return _wrong_kind(text, f"{place} of type {type(item).__name__}: {show(item)}")


# -- other types --------------------------------------------------------------------------------


def _fixed(column: Column, dtype: np.dtype[Any]) -> NDArray:
    """Strings for an array of another type; byte strings of one size as they are."""
    if dtype.kind == "V" and dtype.names is None:
        compact = column.compact()
        if (np.diff(compact.offsets) == dtype.itemsize).all():
            return np.ascontiguousarray(compact.data).view(dtype).reshape(column.shape)
    return column.numpy()


def _by_name(value: NDArray, dtype: np.dtype[Any]) -> NDArray:
    """Records of another library in the fields of `dtype`: NumPy itself would go by their order."""
    names = value.dtype.names or ()
    if dtype.kind == "c" and names == ("real", "imag"):
        whole = np.empty(value.shape, dtype.newbyteorder("="))
        whole.real, whole.imag = value["real"], value["imag"]
        return whole
    if dtype.hasobject and dtype.names is None:
        return value
    if dtype.names is None:
        raise TypeError(
            f"records with the fields {', '.join(names)} for an array of {dtype}; write one column"
            " of them"
        )
    if set(names) != set(dtype.names):
        raise TypeError(
            f"records with the fields {', '.join(names)} for an array with the fields"
            f" {', '.join(dtype.names)}"
        )
    result = np.empty(value.shape, dtype)
    for name in names:
        part = value[name]
        result[name] = part if part.dtype.names is None else _by_name(part, result[name].dtype)
    return result


def _unmasked(source: NDArray) -> NDArray:
    """An array that hides none of its elements."""
    if not isinstance(source, np.ma.MaskedArray):
        return source
    hidden: NDArray = np.ma.getmaskarray(source)
    if hidden.dtype.names is not None:
        flags = np.frombuffer(hidden.tobytes(), np.bool_)
        hidden = np.asarray(flags.reshape(*hidden.shape, -1).any(axis=-1))
    if hidden.any():
        first = place_of(int(np.argmax(hidden)), hidden.shape)
        counted = f"{np.count_nonzero(hidden)} of {hidden.size} elements are masked"
        raise missing(first, "masked", f"values.filled(…); {counted}")
    return np.asarray(source.data)


def _refuse_hidden(value: Any) -> None:
    """Refuse masked elements of arrays in lists: NumPy would take the values under the mask."""
    if isinstance(value, np.ndarray):
        value = value.tolist() if value.dtype == OBJECT and value.ndim else ()
    level: Any = value if isinstance(value, list | tuple) else ()
    for _ in range(_MOST_AXES):
        if any(map(_may_hide, set(map(type, level)))):
            _refuse_inside(value, ())
            return
        level = list(chain.from_iterable(item for item in level if isinstance(item, list | tuple)))
        if not level:
            return


def _refuse_inside(value: Any, outer: tuple[int, ...]) -> None:
    if isinstance(value, list | tuple):
        for index, item in enumerate(value):
            _refuse_inside(item, (*outer, index))
    elif _may_hide(type(value)):
        lazy = computed(value)
        inner = value if lazy is None else np.asanyarray(lazy.compute())
        try:
            _unmasked(inner)
        except ValueError as error:
            place = outer[0] if len(outer) == 1 else outer
            raise ValueError(f"in element {place} of the list: {error}") from error


def _may_hide(kind: type) -> bool:
    return issubclass(kind, np.ma.MaskedArray) or hasattr(kind, "__dask_graph__")


def _converted(value: Any, dtype: np.dtype[Any]) -> NDArray:
    """Objects, strings or Python's own values as `dtype`, all at once."""
    try:
        if dtype.kind in "mM":
            value = _times(value)
        if dtype.isbuiltin == 2:
            _check_range(value, dtype)
        source = _moments(value) if dtype.kind == "M" else value
        apart = isinstance(source, np.ndarray) and source.dtype.kind in "TM"
        result = cast(source, dtype) if apart else np.asarray(source, dtype=dtype)
    except (TypeError, ValueError, OverflowError) as error:
        _refuse_missing(value, dtype)
        kind = next(kind for kind in (TypeError, OverflowError, ValueError) if _is(error, kind))
        raise kind(f"this cannot become {dtype}: {error}") from error
    if _suspicious(result):
        _refuse_missing(value, dtype)
    return result


def _refuse_nowhere(source: NDArray, dtype: np.dtype[Any]) -> None:
    """Refuse a NaT for numbers and a NaN for integers: NumPy would store some number for it."""
    if source.dtype.kind in "mM" and dtype.kind in "biufc":
        absent, word = np.isnat(source), "NaT"
    elif source.dtype.kind in "fc" and dtype.kind in "iu":
        absent, word = np.isnan(source), "NaN"
    else:
        return
    if absent.any():
        raise missing(place_of(int(np.argmax(absent)), source.shape), word)


def _check_range(value: Any, dtype: np.dtype[Any]) -> None:
    """Refuse numbers that an integer of a few bits would cut; NumPy checks its own types."""
    if not dtype.name.startswith(("int", "uint")):
        return
    numbers = np.asarray(value)
    low, high = bounds(dtype)
    if numbers.dtype.kind in "iuf" and numbers.size:
        least, most = numbers.min(), numbers.max()
        if least < low or most > high:
            raise OverflowError(f"{least if least < low else most} is outside {low} … {high}")


def _is(error: Exception, kind: type[Exception]) -> bool:
    return isinstance(error, kind)


def _suspicious(result: NDArray) -> bool:
    """Whether NumPy may have made a value of something that is none."""
    match result.dtype.kind:
        case "f" | "c":
            return bool(np.isnan(result).any())
        case "m" | "M":
            return bool(np.isnat(result).any())
    return result.dtype.kind not in "iu"  # what has no place among integers is an error by itself


def _refuse_missing(value: Any, dtype: np.dtype[Any]) -> None:
    try:
        source = np.asarray(value, dtype=object)
    except ValueError:  # lists of several lengths; what is wrong with them is said elsewhere
        return
    for index, item in enumerate(source.reshape(-1).tolist()):
        if is_missing(item, dtype.kind):
            raise missing(place_of(index, source.shape), named(item))


def _times(value: Any) -> Any:
    """Moments of pandas by their own word: NumPy would take them for Python's, in microseconds."""
    source = np.asarray(value, dtype=object) if not isinstance(value, np.ndarray) else value
    if source.dtype != OBJECT or not any(hasattr(item, "asm8") for item in source.flat):
        return value
    result = np.empty(source.shape, object)
    for index, item in np.ndenumerate(source):
        if type(item).__name__ == "NaTType":
            item = "NaT"
        result[index] = getattr(item, "asm8", item)
    return result


def _moments(value: Any) -> Any:
    """Moments in the unit that they have themselves: NumPy would turn over where another ends."""
    try:
        found = np.asarray(value, dtype=np.dtype("M8"))
    except (TypeError, ValueError, OverflowError):
        return value
    return value if np.datetime_data(found.dtype)[0] == "generic" else found


# -- objects ------------------------------------------------------------------------------------


def _plain(value: Any, shape: tuple[int, ...] | None) -> Any:
    """Data of another library as Python has them: records as dicts, lists as lists."""
    if isinstance(value, Column):
        return value.numpy(OBJECT)
    if isinstance(value, np.void | np.ndarray) and value.dtype.names is not None:
        return _dicts(np.asarray(value))
    if not isinstance(value, np.ndarray):
        return value
    if value.dtype == OBJECT:
        result = np.empty(value.shape, object)
        for index, item in np.ndenumerate(value):
            number = isinstance(item, np.ndarray) and item.dtype.kind in "biuf"
            result[index] = item.tolist() if number else item
        return result
    return value.tolist() if shape is not None and value.ndim > len(shape) else value


def _dicts(records: NDArray) -> NDArray:
    columns = [
        _dicts(part).tolist() if part.dtype.names is not None else part.tolist()
        for part in (
            records[name].reshape(records.size, *records[name].shape[records.ndim :])
            for name in records.dtype.names or ()
        )
    ]
    result = np.empty(records.size, object)
    result[:] = [
        dict(zip(records.dtype.names or (), row, strict=True)) for row in zip(*columns, strict=True)
    ]
    return result.reshape(records.shape)


def _objects(value: Any, shape: tuple[int, ...] | None) -> NDArray:
    """Objects, whatever they are: an element may itself be a list or an array."""
    array = isinstance(value, np.ndarray) and (value.dtype.hasobject or shape != ())
    if array and (shape is None or _fits(value.shape, shape)):
        return value.astype(object, copy=False)  # type: ignore[no-any-return]
    if shape == () or isinstance(value, str | bytes | dict) or not hasattr(value, "__len__"):
        single = np.empty(1, object)
        single[0] = value
        return single.reshape(())
    # A nested list may be an array of lists or a list of elements: take what fits the target.
    full = np.asarray(value, dtype=object)
    if shape is not None and full.ndim <= len(shape) and _fits(full.shape, shape):
        return full
    flat = np.empty(len(value), object)
    for index, item in enumerate(value):
        flat[index] = item
    return flat
