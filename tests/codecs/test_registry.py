"""Names, specs, and codecs of others."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest

import omnizarr.codecs as codecs
from omnizarr.codecs import codec_spec, get_codec, kind_of, register_codec, registry
from omnizarr.codecs.base import CodecKind, Context, Step
from omnizarr.errors import MetadataError, UnknownCodecError
from omnizarr.model.codec import CodecSpec
from tests.codecs.support import LITTLE, LOSSLESS, make, sharding, v3

NEEDED: dict[str, dict[str, Any]] = {
    "transpose": {"order": [0]},
    "reshape": {"shape": [1]},
    "bitround": {"keepbits": 1},
    "numcodecs.bitround": {"keepbits": 1},
    "cast_value": {"data_type": "int8"},
    "zfp": {"mode": "fixed_rate", "rate": 8},
    "numcodecs.delta": {"dtype": "<i4"},
    "numcodecs.astype": {"encode_dtype": "<i2", "decode_dtype": "<i4"},
    "numcodecs.fixedscaleoffset": {"offset": 0, "scale": 1, "dtype": "<f4"},
    "numcodecs.quantize": {"digits": 1, "dtype": "<f4"},
    "numcodecs.categorize": {"labels": ["a"], "dtype": "<U1"},
    "numcodecs.vlen-array": {"dtype": "<i4"},
    "sharding_indexed": {"chunk_shape": [1], "codecs": [LITTLE]},
    "n5_default": {"codecs": [v3("transpose", order=[0]), LITTLE]},
    "conditional": {"codecs": ["zstd"]},
}


@pytest.mark.parametrize("name", registry.BUILT_IN)
def test_every_name(name: str) -> None:
    spec = CodecSpec(name, NEEDED.get(name, {}))
    codec = get_codec(spec, Context(allow_pickle=True))
    assert codec is not None
    assert "`" in (sys.modules[type(codec).__module__].__doc__ or "")
    again = get_codec(codec.spec(), Context(allow_pickle=True))
    assert again == codec
    assert kind_of(spec) == {
        "array-array": "array", "array-bytes": "serializer", "bytes-bytes": "bytes"
    }[codec.kind]  # fmt: skip


@pytest.mark.parametrize("name", LOSSLESS)
def test_specs_describe_what_was_made(name: str) -> None:
    array = np.arange(96, dtype="<i4").reshape(8, 12)
    made = make(LOSSLESS[name], (8, 12), "<i4")
    again = make(list(made.specs), (8, 12), "<i4")
    assert np.array_equal(again.decode(made.encode(array)), array)


def test_unknown() -> None:
    with pytest.raises(UnknownCodecError, match=r"'zstdd'.*similar names: zstd"):
        get_codec(CodecSpec("zstdd"))
    with pytest.raises(UnknownCodecError, match="imagecodecs"):
        get_codec(codec_spec({"id": "imagecodecs_none"}))
    assert get_codec(CodecSpec("zstdd", {}, must_understand=False)) is None
    assert kind_of(CodecSpec("zstdd")) == "bytes"


@pytest.mark.parametrize(
    ("spec", "match"),
    [
        (v3("zstd", level="high"), "level"),
        (v3("zstd", level=23), "level"),
        (v3("zstd", level=True), "level"),
        (v3("zstd", checksum=1), "checksum"),
        (v3("zstd", colour=1), "colour"),
        (v3("gzip", level=10), "level"),
        (v3("blosc", cname="lz5"), "cname"),
        (v3("blosc", clevel=10), "clevel"),
        (v3("blosc", shuffle="maybe"), "shuffle"),
        (v3("blosc", shuffle=7), "shuffle"),
        (v3("blosc", typesize=-1), "typesize"),
        (v3("bytes", endian="middle"), "endian"),
        (v3("transpose", order=[1, 1]), "permutation"),
        (v3("transpose", order=[0]), "dimensions"),
        (v3("transpose", order="Z"), "permutation"),
        (v3("transpose"), "order"),
        ({"id": "delta", "dtype": "nonsense"}, "dtype"),
        ({"id": "delta", "dtype": "O"}, "dtype"),
        ({"id": "delta"}, "dtype"),
        ({"id": "lzma", "format": 3}, "filters"),
        ({"id": "lzma", "filters": "x"}, "filters"),
        ({"id": "quantize", "digits": 1, "dtype": "i4"}, "floats"),
        ({"id": "zfpy", "mode": 9}, "mode"),
        ({"id": "categorize", "labels": [1], "dtype": "O"}, "labels"),
        ({"id": "crc32", "location": "middle"}, "location"),
        ({"id": "jenkins_lookup3", "prefix": [1000]}, "prefix"),
        ({"id": "jenkins_lookup3", "prefix": 1 << 40}, "prefix"),
        ({"id": "shuffle", "elementsize": 1 << 63}, "elementsize"),
        ({"id": "shuffle", "elementsize": "9" * 5000}, "elementsize"),
    ],
)
def test_bad_configurations(spec: Any, match: str) -> None:
    with pytest.raises(MetadataError, match=match):
        make([spec], (2, 3), "<f4")


@pytest.mark.parametrize(
    "value", [None, 3, {}, {"name": 3}, {"id": 3}, {"name": "x", "configuration": []},
              {"name": "x", "extra": 1}, {"name": "x", "must_understand": 1}]
)  # fmt: skip
def test_what_is_no_codec(value: Any) -> None:
    with pytest.raises(MetadataError):
        codec_spec(value)


def test_specs_from_what_users_write() -> None:
    import numcodecs

    assert codec_spec("gzip") == CodecSpec("gzip")
    assert codec_spec({"id": "zlib", "level": 2}) == CodecSpec("numcodecs.zlib", {"level": 2})
    assert codec_spec(numcodecs.Zlib(3)) == CodecSpec("numcodecs.zlib", {"level": 3})
    assert codec_spec(codecs.GzipCodec(level=2)) == CodecSpec("gzip", {"level": 2})
    assert codec_spec(codecs.ZstdCodec(level=3, checksum=True)) == CodecSpec(
        "zstd", {"level": 3, "checksum": True}
    )
    assert codec_spec(codecs.BytesCodec(endian="big")) == codec_spec(v3("bytes", endian="big"))
    assert codec_spec(codecs.TransposeCodec(order=(1, 0))).configuration == {"order": [1, 0]}
    blosc = codecs.BloscCodec(cname="zstd", clevel=3, shuffle="shuffle")
    assert codec_spec(blosc).configuration == {
        "cname": "zstd", "clevel": 3, "shuffle": "shuffle", "blocksize": 0
    }  # fmt: skip
    shards = codecs.ShardingCodec(
        chunk_shape=(2, 3), codecs=[codecs.BytesCodec("little"), blosc], index_location="start"
    )
    document = codec_spec(shards).configuration
    assert document["chunk_shape"] == [2, 3]
    assert document["codecs"][0] == LITTLE
    assert document["codecs"][1]["name"] == "blosc"
    assert document["index_codecs"] == [LITTLE, {"name": "crc32c"}]
    made = make([shards], (4, 6), "<i4")
    array = np.arange(24, dtype="<i4").reshape(4, 6)
    assert np.array_equal(made.decode(made.encode(array)), array)
    for name in ("Crc32cCodec", "VLenUTF8Codec", "VLenBytesCodec"):
        assert codec_spec(getattr(codecs, name)()).configuration == {}


def test_codec_objects_of_zarr_python() -> None:
    import zarr

    theirs = zarr.codecs
    assert codec_spec(theirs.ZstdCodec(level=3)).name == "zstd"
    opened = codec_spec(theirs.BloscCodec(cname="lz4"))
    assert "typesize" not in opened.configuration
    assert make([LITTLE, opened], (4,), "<f8").specs[1].configuration["typesize"] == 8
    whole = codec_spec(theirs.ShardingCodec(chunk_shape=(2,)))
    assert whole.configuration["chunk_shape"] == [2]
    make([whole], (4,), "<f8")


@dataclass(frozen=True)
class Inverted:
    """A codec of another package."""

    kind: ClassVar[CodecKind] = "bytes-bytes"

    @classmethod
    def from_spec(cls, spec: CodecSpec, context: Context) -> Inverted:
        return cls()

    def spec(self) -> CodecSpec:
        return CodecSpec("example.inverted")

    def prepare(self, stage: Any) -> Step:
        def invert(data: Any) -> bytes:
            return bytes(255 - octet for octet in bytes(data))

        return Step(stage, invert, invert)


def test_register() -> None:
    register_codec("example.inverted", Inverted)
    try:
        made = make([LITTLE, Inverted()], (2,), "u1")
        assert bytes(made.encode(np.array([0, 255], "u1"))) == b"\xff\0"
        assert made.decode(b"\xff\0").tolist() == [0, 255]
    finally:
        registry._registered.clear()
    with pytest.raises(TypeError):
        register_codec("x", int)  # type: ignore[arg-type]


def test_codecs_registered_with_numcodecs() -> None:
    import numcodecs

    class Negated(numcodecs.abc.Codec):  # type: ignore[misc]
        codec_id = "omnizarr_test_negated"

        def encode(self, buf: Any) -> Any:
            return -np.asarray(buf)

        def decode(self, buf: Any, out: Any = None) -> Any:
            return -np.frombuffer(buf, "<i4")

    numcodecs.register_codec(Negated)
    made = make([Negated(), "zstd"], (2, 2), "<i4")
    array = np.arange(4, dtype="<i4").reshape(2, 2)
    assert np.array_equal(made.decode(made.encode(array.T)), array.T)
    plain = make([{"id": "omnizarr_test_negated"}], (2, 2), "<i4")
    assert np.array_equal(np.frombuffer(plain.encode(array), "<i4"), [0, -1, -2, -3])


def test_nothing_heavy_is_imported_early() -> None:
    code = (
        "import sys, omnizarr.codecs;"
        "heavy = {'numcodecs', 'google_crc32c', 'bz2', 'lzma', 'json', 'pickle', 'msgpack',"
        " 'omnizarr.codecs.blosc', 'omnizarr.codecs.zstd'} & set(sys.modules);"
        "before = {'bz2', 'lzma', 'json', 'pickle'};"
        "print(sorted(heavy - before))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_sharding_spec_round_trip() -> None:
    spec = codec_spec(sharding([2], [LITTLE, v3("zstd", level=1)], index_location="start"))
    codec = get_codec(spec)
    assert codec is not None
    assert codec.spec() == spec


def test_an_unknown_codec_names_the_package_that_has_it() -> None:
    with pytest.raises(UnknownCodecError, match="supporting this codec: wavpack-numcodecs"):
        get_codec(CodecSpec("numcodecs.wavpack"))
    with pytest.raises(UnknownCodecError, match=r"omnizarr\.codecs\.register_codec"):
        get_codec(CodecSpec("example.no_such_codec"))
