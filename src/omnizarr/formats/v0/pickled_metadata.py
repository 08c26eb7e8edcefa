"""The pickled `__zmeta__` of release 0.3, read without unpickling it.

Release 0.3 stored `pickle.dumps(dict(shape=…, dtype=…, …), protocol=0)`. A pickle is a program;
this is a machine for the few instructions of that protocol that build such a dict, and for nothing
else. Of the callables that a pickle may name it knows three, and calls none of them: `numpy.dtype`,
`_codecs.encode` (how protocol 0 writes bytes) and `numpy.core.multiarray.scalar` (a NumPy scalar as
fill value) are interpreted here as data. Any other name and any other instruction is an error.
Size and nesting are bounded, and what is referenced twice is not copied.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np

from omnizarr.errors import MetadataError
from omnizarr.formats.v2 import data_types
from omnizarr.model.codec import Json
from omnizarr.model.json import show

MAX_BYTES = 1 << 20
"""Real ones have some hundred bytes; a record of many fields has more."""
MAX_FIELDS = 4096
MAX_DEPTH = 16
_WHOLE = re.compile(rb"-?[0-9]{1,20}\Z")
_INDEX = re.compile(rb"[0-9]{1,7}\Z")
_UNIT = re.compile(rb"[a-z]{1,2}\Z|[YMWD]\Z")


class _Callable(Enum):
    DTYPE = "numpy dtype"
    ENCODE = "_codecs encode"
    SCALAR = "numpy.core.multiarray scalar"


@dataclass(eq=False)
class _DType:
    """A NumPy dtype under construction: its type string, then what BUILD says of it."""

    text: str
    state: tuple[Any, ...] = ()


@dataclass(frozen=True, eq=False)
class _Scalar:
    dtype: _DType
    data: bytes


class _Mark:
    pass


_MARK = _Mark()


class Machine:
    """Runs one pickle. Values are None, bool, int, float, str, bytes, tuples and dicts of such,
    and the stand-ins above."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._position = 0
        self._stack: list[Any] = []
        self._memo: dict[int, Any] = {}

    def run(self) -> Any:
        """The value that the pickle describes."""
        while True:
            start = self._position
            code = self._data[start : start + 1]
            self._position += 1
            if code == b".":
                break
            step = _STEPS.get(code)
            if step is None:
                found = f"the instruction {code!r}" if code else "the end of the data"
                raise MetadataError(
                    f"pickle: found {found} at byte {start}, which the metadata of release 0.3 do"
                    " not have; it is not run"
                )
            step(self)
        if len(self._stack) != 1 or self._position != len(self._data):
            raise MetadataError("pickle: it does not end with one value")
        return self._pop()

    # -- parts ----------------------------------------------------------------------------------
    def _line(self) -> bytes:
        end = self._data.find(b"\n", self._position)
        if end < 0:
            raise MetadataError("pickle: it ends inside an instruction")
        line = self._data[self._position : end]
        self._position = end + 1
        return line

    def _pop(self) -> Any:
        value = self._stack.pop() if self._stack else _MARK
        if value is _MARK:
            raise MetadataError("pickle: an instruction lacks its value")
        return value

    def _pop_to_mark(self) -> list[Any]:
        for index in range(len(self._stack) - 1, -1, -1):
            if self._stack[index] is _MARK:
                items = self._stack[index + 1 :]
                del self._stack[index:]
                return items
        raise MetadataError("pickle: an instruction lacks its mark")

    def _index(self) -> int:
        line = self._line()
        if not _INDEX.match(line):
            raise MetadataError(f"pickle: {show(line)} is no index")
        return int(line)

    # -- instructions ---------------------------------------------------------------------------
    def mark(self) -> None:
        self._stack.append(_MARK)

    def none(self) -> None:
        self._stack.append(None)

    def whole(self) -> None:
        line = self._line()
        if line in (b"00", b"01"):
            self._stack.append(line == b"01")
        else:
            self._stack.append(_whole(line))

    def long(self) -> None:
        self._stack.append(_whole(self._line().removesuffix(b"L")))

    def float(self) -> None:
        line = self._line()
        try:
            self._stack.append(float(line[:40]))
        except ValueError as error:
            raise MetadataError(f"pickle: {show(line)} is no number") from error

    def unicode(self) -> None:
        line = self._line()
        try:
            self._stack.append(str(line, "raw-unicode-escape"))
        except UnicodeDecodeError as error:
            raise MetadataError(f"pickle: {show(line)} is no text") from error

    def tuple(self) -> None:
        self._stack.append(tuple(self._pop_to_mark()))

    def dict(self) -> None:
        items = self._pop_to_mark()
        if len(items) % 2:
            raise MetadataError("pickle: a dict with a name and no value")
        result: dict[str, Any] = {}
        for name, value in zip(items[::2], items[1::2], strict=True):
            result[_text(name)] = value
        self._stack.append(result)

    def set_item(self) -> None:
        value, name = self._pop(), self._pop()
        target = self._stack[-1] if self._stack else None
        if type(target) is not dict:
            raise MetadataError(f"pickle: an item for {_kind(target)}, not for a dict")
        target[_text(name)] = value

    def put(self) -> None:
        index = self._index()
        value = self._pop()
        self._stack.append(value)
        self._memo[index] = value

    def get(self) -> None:
        index = self._index()
        if index not in self._memo:
            raise MetadataError(f"pickle: nothing was remembered as {index}")
        self._stack.append(self._memo[index])

    def name_callable(self) -> None:
        module, name = self._line(), self._line()
        try:
            self._stack.append(_Callable(f"{module.decode('ascii')} {name.decode('ascii')}"))
        except ValueError as error:
            full = (module + b"." + name).decode("ascii", "backslashreplace")
            raise MetadataError(
                f"pickle: it names {show(full)}, which does not belong into metadata; it is neither"
                " looked up nor called"
            ) from error

    def reduce(self) -> None:
        arguments, function = self._pop(), self._pop()
        match function, arguments:
            case _Callable.DTYPE, (str() as text, int(), int()):
                self._stack.append(_DType(text))
            case _Callable.ENCODE, (str() as text, "latin1"):
                try:
                    self._stack.append(text.encode("latin1"))
                except UnicodeEncodeError as error:
                    raise MetadataError(f"pickle: {show(text)} are no bytes") from error
            case _Callable.SCALAR, (_DType() as dtype, bytes() as data):
                self._stack.append(_Scalar(dtype, data))
            case _Callable(), _:
                raise MetadataError(
                    f"pickle: {function.value.replace(' ', '.')} of what is not its"
                )
            case _:
                raise MetadataError(f"pickle: {_kind(function)} is called")

    def build(self) -> None:
        state = self._pop()
        target = self._stack[-1] if self._stack else None
        if not isinstance(target, _DType) or target.state or type(state) is not tuple:
            raise MetadataError(f"pickle: a state for {_kind(target)}, not for a new dtype")
        target.state = state


_STEPS = {
    b"(": Machine.mark,
    b"N": Machine.none,
    b"I": Machine.whole,
    b"L": Machine.long,
    b"F": Machine.float,
    b"V": Machine.unicode,
    b"t": Machine.tuple,
    b"d": Machine.dict,
    b"s": Machine.set_item,
    b"p": Machine.put,
    b"g": Machine.get,
    b"c": Machine.name_callable,
    b"R": Machine.reduce,
    b"b": Machine.build,
}


def _whole(line: bytes) -> int:
    if not _WHOLE.match(line):
        raise MetadataError(f"pickle: {show(line)} is no integer")
    return int(line)


def _kind(value: Any) -> str:
    """What a value is; never the value, which may be huge where parts of it are shared."""
    return "nothing" if value is None else f"a {type(value).__name__.strip('_').lower()}"


def _text(value: Any) -> str:
    if type(value) is not str:
        raise MetadataError(f"pickle: {_kind(value)} where a name belongs")
    return value


# -- from the machine's values to plain ones ------------------------------------------------------


def loads(data: bytes) -> tuple[dict[str, Json], Any]:
    """The members as document 001 has them, all but the fill value, and that as it is: None, a
    number, text, bytes or a NumPy scalar."""
    if len(data) > MAX_BYTES:
        raise MetadataError(f"pickle: {len(data)} bytes; no more than {MAX_BYTES} are read")
    value = Machine(data).run()
    if type(value) is not dict:
        raise MetadataError(f"pickle: expected a dict, found {_kind(value)}")
    for name in ("shape", "chunks", "dtype", "cname", "clevel", "shuffle", "fill_value"):
        if name not in value:
            raise MetadataError(f"the member {name!r} is missing")
    dtype = value["dtype"]
    if not isinstance(dtype, _DType):
        raise MetadataError(f"dtype: expected a numpy.dtype, found {_kind(dtype)}")
    cname = value["cname"]
    members: dict[str, Json] = {
        "shape": _integers(value, "shape"),
        "chunks": _integers(value, "chunks"),
        "dtype": _Describer().describe(dtype, 0),
        "cname": cname.decode("latin1") if isinstance(cname, bytes) else _plain(cname, "cname"),
        "clevel": _plain(value["clevel"], "clevel"),
        "shuffle": _plain(value["shuffle"], "shuffle"),
    }
    fill = value["fill_value"]
    if isinstance(fill, _Scalar):
        return members, _numpy_scalar(fill)
    return members, fill if isinstance(fill, bytes) else _plain(fill, "fill_value")


def _plain(value: Any, name: str) -> Json:
    if value is None or type(value) in (bool, int, float, str):
        return value
    raise MetadataError(f"{name}: expected a number or text, found {_kind(value)}")


def _integers(members: Mapping[str, Any], name: str) -> list[int]:
    value = members[name]
    if type(value) is not tuple or not all(type(item) is int for item in value):
        raise MetadataError(f"{name} must be a tuple of integers")
    return list(value)


def _numpy_scalar(value: _Scalar) -> Any:
    dtype = data_types.decode(_Describer().describe(value.dtype, 0)).numpy
    if dtype.hasobject or len(value.data) != dtype.itemsize:
        raise MetadataError(f"fill_value: {len(value.data)} bytes are no scalar of {dtype}")
    try:
        return np.frombuffer(value.data, dtype=dtype)[0]
    except SystemError as error:  # text with a code point that there is not
        raise MetadataError(f"fill_value: the bytes are no scalar of {dtype}") from error


class _Describer:
    """A dtype as document 001 writes it. Counts fields, because a record may be shared."""

    def __init__(self) -> None:
        self._fields = 0

    def describe(self, dtype: _DType, depth: int) -> Json:
        """`"<i4"`, or a list of `[name, type]` and `[name, type, shape]`."""
        match dtype.state:
            case (3 | 4, str() as order, None, names, fields, int() as size, int(), int(), *more):
                pass
            case _:
                raise MetadataError(f"dtype {show(dtype.text)}: its state is none of NumPy's")
        if depth > MAX_DEPTH:
            raise MetadataError(f"dtype: records are nested more than {MAX_DEPTH} deep")
        if names is not None:
            return self._describe_fields(names, fields, size, depth)
        if order not in ("<", ">", "|", "="):
            raise MetadataError(f"dtype {show(dtype.text)}: the byte order {show(order)}")
        if dtype.text in ("M8", "m8"):
            return f"{order}{dtype.text}[{_unit(more)}]"
        return order + dtype.text

    def _describe_fields(self, names: Any, fields: Any, size: int, depth: int) -> Json:
        if type(names) is not tuple or type(fields) is not dict or not names:
            raise MetadataError("dtype: a record without fields")
        result: list[Json] = []
        end = 0
        for name in names:
            self._fields += 1
            if self._fields > MAX_FIELDS:
                raise MetadataError(f"dtype: a record of more than {MAX_FIELDS} fields")
            match fields.get(_text(name)):
                case (_DType() as inner, int() as offset):
                    pass
                case _:
                    raise MetadataError(f"dtype: no type and offset for the field {show(name)}")
            inner, shape = self._base(inner)
            described = self.describe(inner, depth + 1)
            if offset > end:
                result.append(["", f"|V{offset - end}"])
            elif offset < end:
                raise MetadataError(f"dtype: the field {show(name)} overlaps another one")
            field = [name, described, shape] if shape else [name, described]
            result.append(field)
            end = offset + data_types.decode([field]).numpy.itemsize
        if size > end:
            result.append(["", f"|V{size - end}"])
        return result

    def _base(self, dtype: _DType) -> tuple[_DType, list[int]]:
        """The element type and the shape of a sub-array; of anything else, itself."""
        match dtype.state:
            case (_, _, (_DType() as base, shape), *_):
                shape = shape if type(shape) is tuple else (shape,)
                if all(type(length) is int for length in shape):
                    return base, list(shape)
                raise MetadataError("dtype: the shape of a sub-array must be integers")
            case _:
                return dtype, []


def _unit(more: list[Any]) -> str:
    """The unit of a time, from the last part of its state: `(…, (b"ns", 1, 1, 1))`."""
    match more:
        case [(_, (bytes() as unit, int() as count, 1, 1))] if _UNIT.match(unit):
            return f"{count if count != 1 else ''}{unit.decode('ascii')}"
        case _:
            raise MetadataError("dtype: a time without a unit")
