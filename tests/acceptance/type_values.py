"""The values of the cases: awkward ones for every type, the same in every process.

NaNs with payloads and signals, signed zeros, infinities, NaT, the ends of every range, integers
that no double holds, empty and multi-byte text, NULs inside. Everything is made of bits, so that no
conversion touches it on the way, and is compared as bits. Runs in the environment of every peer:
it knows NumPy, and `ml_dtypes` for the small numbers.
"""

from __future__ import annotations

import base64
import math
import struct
from typing import Any

import numpy as np

from tests.acceptance.type_cases import Case, Json, Type

Array = np.ndarray[Any, Any]

TEXT = ["", "a", "äß", "中😀", "x\0y", "\0z", "ends ", "12345", "-0.0", "NaN"]
LONG_TEXT = [*TEXT, "nul\0", "\0", "é" * 300, "line\nline"]
BYTES = [b"", b"a", b"\xff\xfe", b"x\0y", b"\0z", b"\xc3", b"abcdef", b"=AA=", b"\x80\0\x80"]
LONG_BYTES = [*BYTES, b"\0", b"nul\0", bytes(range(256))]
OBJECTS: list[Any] = [
    None, True, 0, -1, 2**53 + 1, -(2**62), 1.5, -0.0, 1e300, "", "ä😀", "x\0y", [], [1, [2, "z"]],
    {"k": None, "l": [1.25]},
]  # fmt: skip
PICKLED: list[Any] = [*OBJECTS, (1, "b"), 2.5 - 1j, frozenset({3}), b"\0\xff", 2**70]
LABELS = ["red", "", "blau", "green"]


# -- dtypes ---------------------------------------------------------------------------------------
def numpy_dtype(one: Type) -> np.dtype[Any]:
    """The NumPy dtype of the values, byte order and padding included."""
    if one.codec is not None and not isinstance(one.dtype, list):
        return np.dtype(object)
    if isinstance(one.dtype, list):
        return np.dtype(_fields(one.dtype), align=one.aligned)
    if one.family == "Small complex numbers":
        part = _small_dtype(one.dtype.removeprefix("complex_"))
        return np.dtype([("real", part), ("imag", part)])
    return _small_dtype(one.dtype) if one.family == "Small numbers" else np.dtype(one.dtype)


def _small_dtype(name: str) -> np.dtype[Any]:
    if name == "float16":
        return np.dtype("<f2")
    import ml_dtypes

    found: np.dtype[Any] = np.dtype(getattr(ml_dtypes, name))
    return found


def _fields(fields: list[Json]) -> list[Any]:
    return [
        (name, _fields(kind) if isinstance(kind, list) else kind, *map(tuple, shape))
        for name, kind, *shape in fields
    ]


# -- values ---------------------------------------------------------------------------------------
def values(case: Case) -> Array:
    """What is written, before the chunk that is missing is left out."""
    return elements(case.type, math.prod(case.shape)).reshape(case.shape)


def elements(one: Type, count: int) -> Array:
    dtype = numpy_dtype(one)
    if one.codec is not None and dtype.names is None:
        return _cycled(_items(one), count)
    return _flat(dtype, count)


def _items(one: Type) -> list[Any]:
    match one.codec["id"]:
        case "vlen-utf8":
            return LONG_TEXT
        case "vlen-bytes":
            return LONG_BYTES
        case "categorize":
            return LABELS
        case "pickle":
            return PICKLED
        case "vlen-array":
            pool = _flat(np.dtype(one.codec["dtype"]), 40)
            return [pool[start : start + length] for start, length in enumerate((0, 1, 5, 0, 2, 9))]
        case _:
            return OBJECTS


def _cycled(items: list[Any], count: int) -> Array:
    result = np.empty(count, dtype=object)
    for place in range(count):
        result[place] = items[place % len(items)]  # one by one: NumPy would take lists apart
    return result


def _flat(dtype: np.dtype[Any], count: int, turn: int = 0) -> Array:
    """`count` elements; `turn` lets the fields of a record differ."""
    if dtype.names is not None:
        result = np.zeros(count, dtype)
        for number, name in enumerate(dtype.names):
            base, shape = dtype[name].subdtype or (dtype[name], ())
            inner = _flat(base, count * math.prod(shape), turn + number)
            result[name] = inner.reshape(count, *shape)
        return result
    if dtype.kind == "O":
        return np.roll(_cycled(OBJECTS, count), turn)
    cycled = np.roll(np.resize(_awkward(dtype), count), turn)
    return cycled if cycled.dtype == dtype else _ordered(cycled, dtype)


def _awkward(dtype: np.dtype[Any]) -> Array:
    """The awkward values of a type, bit for bit."""
    kind, size = dtype.kind, dtype.itemsize
    if _is_small(dtype):
        return _small(dtype)
    if kind == "b":
        return np.array([True, False, False, True, True])
    if kind in "iu":
        return _ordered(np.array(_integers(kind, size), dtype.newbyteorder("=")), dtype)
    if kind == "f":
        return _from_bits(_floats(*_FLOATS[size]), size, dtype)
    if kind == "c":
        bits = _floats(*_FLOATS[size // 2])
        pairs = [one for two in zip(bits, bits[3:] + bits[:3], strict=True) for one in two]
        return _from_bits(pairs, size // 2, dtype)
    if kind in "mM":
        ticks = [0, 1, -1, -(2**63), 2**63 - 1, -(2**63) + 1, 2**53 + 1, 1_700_000_000]
        return _from_bits(ticks, 8, dtype)
    if kind == "U":
        return np.array([text[: size // 4].rstrip("\0") for text in TEXT], dtype)
    if kind == "S":
        return np.array([data[:size].rstrip(b"\0") for data in BYTES], dtype)
    data = bytes((37 * place) % 256 for place in range(size * 11))
    return np.frombuffer(data + bytes(size) + b"\xff" * size, dtype)


def _integers(kind: str, size: int) -> list[int]:
    bits = 8 * size
    low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if kind == "i" else (0, (1 << bits) - 1)
    some = [low, high, 0, 1, low + 1, high - 1, 100, high // 3]
    return [*some, 2**53 + 1, low + 2**53 + 1] if size == 8 else some


_FLOATS = {2: (5, 10), 4: (8, 23), 8: (11, 52)}


def _floats(exponent: int, mantissa: int) -> list[int]:
    """Bit patterns of an IEEE float with so many bits of each."""
    sign = 1 << (exponent + mantissa)
    infinity = ((1 << exponent) - 1) << mantissa
    quiet = infinity | 1 << (mantissa - 1)
    greatest = infinity - 1
    one = ((1 << (exponent - 1)) - 1) << mantissa
    payload = quiet | 1
    signalling = infinity | (1 if mantissa > 1 else 0)
    return [
        0, sign, one, one | 1, sign | one, infinity, sign | infinity, quiet, sign | quiet, payload,
        signalling, 1, sign | 1, 1 << mantissa, greatest, sign | greatest,
    ]  # fmt: skip


def _from_bits(bits: list[int], size: int, dtype: np.dtype[Any]) -> Array:
    data = b"".join((number % (1 << 8 * size)).to_bytes(size, "little") for number in bits)
    return _ordered(np.frombuffer(data, dtype.newbyteorder("<")), dtype)


def _ordered(array: Array, dtype: np.dtype[Any]) -> Array:
    """The same values in the byte order of `dtype`, without a conversion of floats."""
    same = array.dtype.newbyteorder("=") == dtype.newbyteorder("=")
    assert same, (array.dtype, dtype)
    if array.dtype.isnative == dtype.isnative:
        return array.astype(dtype)
    return array.byteswap().view(dtype)


def _is_small(dtype: np.dtype[Any]) -> bool:
    return dtype.type.__module__.startswith("ml_dtypes")


def _small(dtype: np.dtype[Any]) -> Array:
    name = dtype.name
    if name.startswith(("int", "uint")):
        width = int(name.lstrip("uint"))
        low = -(1 << (width - 1)) if name.startswith("int") else 0
        return np.arange(low, low + (1 << width)).astype(dtype)
    if name == "bfloat16":
        return np.array(_floats(8, 7), "u2").view(dtype)
    width = int(name.removeprefix("float")[0])
    patterns = [
        0x00, 0x80, 0x01, 0x7F, 0xFF, 0x7E, 0xFE, 0x38, 0xB8, 0x08, 0x78, 0x7C, 0x07, 0x87, 0xF8,
        0x40, 0x3F,
    ]  # fmt: skip
    bits = [pattern % (1 << width) for pattern in patterns] if width == 8 else range(1 << width)
    return np.array([*bits][-18:] if width == 6 else [*bits], "u1").view(dtype)


# -- fill values ----------------------------------------------------------------------------------
def fill(case: Case) -> Any:
    """The scalar that a user gives as `fill_value=`; None for none."""
    one, name = case.type, case.fill
    dtype = numpy_dtype(one)
    native = dtype.newbyteorder("=") if dtype.names is None else dtype
    if name == "none":
        return None
    if name == "json":
        return {"missing": [1, None]} if one.codec["id"] != "pickle" else "missing"
    if one.codec is not None and dtype.names is None:
        return {
            "text": "ä😀\0z", "bytes": b"\xff\0=", "zero": 0,
            "empty": b"" if one.codec["id"] == "vlen-bytes" else "",
        }[name]  # fmt: skip
    if one.family == "Small complex numbers":
        parts = {"one": (1.0, 1.0), "unequal": (0.5, 2.0)}[name]
        return np.array(tuple(np.array(part).astype(dtype["real"]) for part in parts), dtype)[()]
    if dtype.names is not None:
        return _flat(dtype, 4)[1] if name == "record" else np.zeros((), dtype)[()]
    if native.kind == "b":
        return name == "true"
    if native.kind in "US":
        texts: dict[str, Any] = {"text": "ä😀" if native.kind == "U" else b"ab", "empty": ""}
        return native.type(texts.get(name, b"\xff\0\x01"))
    if native.kind == "V" and not _is_small(native):
        return np.frombuffer(b"\xff\0\x01" if name == "bytes" else bytes(3), native)[0]
    return _number(name, native)


def _number(name: str, dtype: np.dtype[Any]) -> Any:
    kind, size = dtype.kind, dtype.itemsize
    if name in ("greatest", "least") and kind not in "mM":
        found = _awkward(dtype).astype(object)
        return dtype.type(max(found) if name == "greatest" else min(found))
    if kind in "mM":
        ticks = {"NaT": -(2**63), "least": -(2**63) + 1, "one": 1}[name]
        return _from_bits([ticks], 8, dtype)[0]
    if name == "NaN with payload":
        half = size // 2 if kind == "c" else size
        bits = [_floats(*_FLOATS[half])[9], _floats(*_FLOATS[half])[10]]
        return _from_bits(bits if kind == "c" else bits[:1], half, dtype)[0]
    if kind == "c":
        parts = {"1.5-2.5j": (1.5, -2.5), "NaN-0.0j": (math.nan, -0.0), "real": (-1.5, 0.0)}[name]
        return np.array(parts, f"f{size // 2}").view(dtype)[0]
    if name == "2^53+1":
        return dtype.type(2**53 + 1)
    if name == "zero":
        return np.zeros((), dtype)[()]
    number = {"one": 1.0, "NaN": math.nan, "-0.0": -0.0, "-Infinity": -math.inf}[name]
    return np.array(number).astype(dtype)[()]


def expected(case: Case) -> Array:
    """What must be read back."""
    result = values(case)
    if case.missing is not None:
        place = np.empty((), result.dtype)
        place[()] = fill(case)
        result[case.missing] = place
    return result


# -- fill values in JSON --------------------------------------------------------------------------
def v3_fill(value: Any, dtype: np.dtype[Any]) -> Json:
    """The member fill_value of format 3, as its specifications have it."""
    if dtype.names == ("real", "imag"):
        return [v3_fill(value[name], dtype[name]) for name in dtype.names]
    if dtype.names is not None:
        return {name: v3_fill(value[name], dtype[name]) for name in dtype.names}
    if isinstance(value, np.void):
        return [*value.tobytes()] if not _is_small(dtype) else _float(float(value), b"", dtype)
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, str) or value is None:
        return value if value is None else str(value)
    kind = dtype.kind
    if kind == "c":
        half = dtype.itemsize // 2
        part = np.dtype(f"<f{half}")
        data = np.array(value, dtype.newbyteorder("<")).tobytes()
        return [
            _float(float(np.frombuffer(bits, part)[0]), bits, part)
            for bits in (data[:half], data[half:])
        ]
    if kind in "mM":
        ticks = int(value.view("i8"))
        return "NaT" if ticks == -(2**63) else ticks
    if kind == "b":
        return bool(value)
    if kind in "iu" or dtype.name.startswith(("int", "uint")):
        return int(value)
    little = np.array(value, dtype.newbyteorder("<") if not _is_small(dtype) else dtype)
    return _float(float(value), little.tobytes(), dtype)


def _float(number: float, data: bytes, dtype: np.dtype[Any]) -> Json:
    if math.isnan(number):
        little = dtype if _is_small(dtype) else dtype.newbyteorder("<")
        plain = np.array(math.nan).astype(little).tobytes()
        return "NaN" if data == plain else f"0x{data[::-1].hex()}"
    if math.isinf(number):
        return "Infinity" if number > 0 else "-Infinity"
    return number


def v2_fill(value: Any, dtype: np.dtype[Any]) -> Json:
    """The member fill_value of format 2, likewise."""
    if value is None or isinstance(value, dict | list) or (dtype.kind == "O" and value == 0):
        return value
    if dtype.names is not None or (dtype.kind == "V" and not _is_small(dtype)):
        record = np.zeros((), dtype)
        for name in dtype.names or ():
            record[name] = value[name]
        return base64.b64encode((record if dtype.names else value).tobytes()).decode()
    return int(value.view("i8")) if dtype.kind in "mM" else v3_fill(value, dtype)


# -- comparing and exchanging ---------------------------------------------------------------------
def bits(array: Array) -> bytes:
    """The elements as bytes, little-endian and packed, whatever order the array has."""
    dtype = array.dtype
    if dtype.names is not None:
        flat = array.ravel()
        fields = [_rows(flat[name], array.size) for name in dtype.names]
        return b"".join(b"".join(row) for row in zip(*fields, strict=True))
    if _is_small(dtype) and dtype.name.startswith(("int", "uint")):
        return array.astype("i1").tobytes()  # the high bits say nothing
    if dtype.kind in "iufcmMU" and dtype.str[0] == ">":
        array = array.byteswap()
    return np.ascontiguousarray(array).tobytes()


def _rows(array: Array, count: int) -> list[bytes]:
    if array.dtype.hasobject:
        return [repr(plain(item)).encode() for item in array.ravel()]
    data = bits(array)
    size = len(data) // count if count else 0
    return [data[start : start + size] for start in range(0, len(data), size)] if size else []


def describe(dtype: np.dtype[Any]) -> Json:
    """A dtype without byte order and padding."""
    if dtype.names is not None:
        return [[name, describe(dtype[name])] for name in dtype.names]
    if dtype.subdtype is not None:
        return [describe(dtype.base), list(dtype.shape)]
    if dtype.kind in "OT":
        return "objects"
    return dtype.name if _is_small(dtype) else dtype.str.lstrip("<>|=")


def plain(item: Any) -> Json:
    """A Python object in JSON that keeps its type."""
    match item:
        case None | bool() | int() | str():
            return item if not isinstance(item, str) else str(item)
        case float():
            return {"float": struct.pack(">d", item).hex()}
        case bytes() | bytearray():
            return {"bytes": bytes(item).hex()}
        case np.ndarray():
            return {"array": describe(item.dtype), "bits": bits(item).hex()}
        case np.generic():
            return plain(item.item())
        case dict():
            return {"dict": [[plain(key), plain(value)] for key, value in sorted(item.items())]}
        case list():
            return {"list": [plain(one) for one in item]}
        case _:
            return {"python": repr(item)}


def dump(array: Any) -> Json:
    """An array as JSON: what a peer found, to be compared with `dump` of what was expected."""
    array = np.asarray(array)
    found: dict[str, Json] = {"shape": list(array.shape), "dtype": describe(array.dtype)}
    if array.dtype.kind in "OT":
        found["items"] = [plain(item) for item in array.astype(object).ravel()]
    else:
        found["bits"] = bits(array).hex()
    return found


def difference(wanted: Json, found: Json) -> str | None:
    """What differs between two dumps; a peer without NumPy leaves the dtype out."""
    for member in ("shape", "dtype", "items", "bits"):
        if member in found and found[member] != wanted.get(member):
            return f"differs in {member}: {_short(found[member], wanted.get(member))}"
    return None


def _short(found: Json, wanted: Json) -> str:
    if isinstance(found, list) and isinstance(wanted, list) and len(found) == len(wanted):
        pairs = [pair for pair in zip(found, wanted, strict=True) if pair[0] != pair[1]]
        return f"{pairs[0][0]!r}, expected {pairs[0][1]!r} ({len(pairs)} of {len(found)})"
    if isinstance(found, str) and isinstance(wanted, str) and len(found) == len(wanted):
        first = next(i for i in range(len(found)) if found[i] != wanted[i])
        return f"at byte {first // 2}: {found[first:][:16]}, expected {wanted[first:][:16]}"
    return f"{str(found)[:60]}, expected {str(wanted)[:60]}"
