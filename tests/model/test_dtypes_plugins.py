"""Data types of other packages: one class and an entry point, or `register`."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import omnizarr
from omnizarr.errors import MetadataError, UnsupportedError
from omnizarr.model.dtypes import (
    DataType,
    by_element,
    from_json,
    from_numpy,
    numpy_determines,
    plugins,
    register,
)

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Degrees(DataType):
    """Angles in steps of 1/`steps` of a circle, as users of another package want them."""

    steps: int = 256
    name = "test.degrees"
    numpy = np.dtype("u1")

    @property
    def configuration(self) -> Mapping[str, Any]:
        return {"steps": self.steps}

    @classmethod
    def from_configuration(cls, configuration: Mapping[str, Any]) -> Degrees:
        steps = configuration["steps"]
        if not 0 < steps <= 256:
            raise ValueError(f"{steps} steps")
        return cls(steps)

    def scalar(self, value: Any) -> Any:
        return value if isinstance(value, np.uint8) else np.uint8(value / 360 * self.steps)

    def values(self, values: Any) -> Any:
        return by_element(self, values)

    def fill_to_json(self, value: Any) -> Any:
        return float(self.scalar(value)) * 360 / self.steps


@pytest.fixture
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plugins, "_registered", {})
    register("test.degrees", Degrees)


def test_a_registered_type_works_everywhere(registered: None) -> None:
    member = {"name": "test.degrees", "configuration": {"steps": 8}}
    assert from_json(member) == Degrees(8) == from_numpy(member)
    assert Degrees(8).json == member
    assert str(Degrees(8)) == "test.degrees(steps=8)"
    store = omnizarr.MemoryStore()
    array = omnizarr.create_array(store, shape=4, chunks=2, dtype=member, fill_value=90)
    array[:2] = [45, 315.0]
    again = omnizarr.open_array(store)
    assert again.data_type == Degrees(8)
    assert again[:].tolist() == [1, 7, 2, 2]
    document = json.loads(bytes(store.get("zarr.json") or b""))
    assert document["data_type"] == member
    assert document["fill_value"] == 90
    assert "test.degrees(steps=8)" in str(again.info)
    same = omnizarr.create_array(omnizarr.MemoryStore(), data=[45, 90], dtype=Degrees(8))
    assert same[:].tolist() == [1, 2]
    like = omnizarr.zeros_like(again, store=omnizarr.MemoryStore())
    assert like.data_type == Degrees(8)


def test_a_copy_keeps_the_type(registered: None) -> None:
    store, copied = omnizarr.MemoryStore(), omnizarr.MemoryStore()
    omnizarr.create_array(store, data=[45, 90], dtype=Degrees(8))
    omnizarr.convert(store, copied, zarr_format=3)
    assert omnizarr.open_array(copied).data_type == Degrees(8)
    assert not numpy_determines(Degrees(8))
    for zarr_format in (1, 2, "3-draft2019", "n5"):
        with pytest.raises(UnsupportedError, match=r"test\.degrees"):
            omnizarr.convert(store, omnizarr.MemoryStore(), zarr_format=zarr_format)


def test_a_registered_type_can_be_a_field(registered: None) -> None:
    degrees = {"name": "test.degrees", "configuration": {"steps": 8}}
    member = {
        "name": "struct",
        "configuration": {"fields": [{"name": "a", "data_type": degrees}]},
    }
    data_type = from_json(member)
    assert data_type.json == member
    assert data_type.fill_from_json({"a": 90}).item() == (2,)
    assert data_type.fill_to_json(data_type.scalar((90,))) == {"a": 90.0}


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
        max_leaves=4,
    )
)
def test_hostile_metadata_of_a_registered_type(value: Any) -> None:
    plugins._registered["test.hostile"] = Degrees
    try:
        for configuration in (value, {"steps": value}):
            try:
                from_json({"name": "test.hostile", "configuration": configuration})
            except MetadataError as error:
                assert "test.hostile" in str(error)
        try:
            Degrees().fill_from_json(value)
        except MetadataError as error:
            assert "fill value" in str(error)
    finally:
        del plugins._registered["test.hostile"]


def test_names_that_are_taken(registered: None) -> None:
    register("test.degrees", Degrees)  # the same again
    with pytest.raises(ValueError, match="already known"):
        register("test.degrees", type("Other", (Degrees,), {}))
    for name in ("int8", "struct", "bfloat16", "complex_float16", "r16", "string"):
        with pytest.raises(ValueError, match="already known"):
            register(name, Degrees)
    with pytest.raises(ValueError, match="needs a name"):
        register("", Degrees)
    with pytest.raises(TypeError, match="no subclass of"):
        register("test.other", Degrees())  # type: ignore[arg-type]


def test_a_class_that_gives_something_else(registered: None) -> None:
    class Wrong(Degrees):
        @classmethod
        def from_configuration(cls, configuration: Mapping[str, Any]) -> Any:
            return "a type"

    register("test.wrong", Wrong)
    with pytest.raises(UnsupportedError, match=r"Wrong.from_configuration gave 'a type'"):
        from_json("test.wrong")


def test_a_type_has_no_configuration_unless_it_says_so(registered: None) -> None:
    class Plain(Degrees):
        name = "test.plain"
        from_configuration = classmethod(  # type: ignore[assignment]
            DataType.from_configuration.__func__  # type: ignore[attr-defined]
        )

    register("test.plain", Plain)
    assert from_json("test.plain") == Plain()
    with pytest.raises(MetadataError, match=r"test\.plain.*has no configuration"):
        from_json({"name": "test.plain", "configuration": {"steps": 3}})


def test_numpy_dtypes_of_their_own(registered: None) -> None:
    """Only dtypes that no built-in type takes are offered to others."""

    class Long(Degrees):
        name = "test.long"
        numpy = np.dtype("longdouble")

        @classmethod
        def from_numpy(cls, dtype: np.dtype[Any]) -> Any:
            return cls() if dtype in (cls.numpy, np.dtype("i4")) else None

    with pytest.raises(UnsupportedError, match="use float64"):
        from_numpy(np.dtype("longdouble"))
    register("test.long", Long)
    assert from_numpy(np.dtype("longdouble")) == Long()
    assert from_numpy("i4").name == "int32"
    assert not numpy_determines(Long())


# -- real packages ---------------------------------------------------------------------------------
def example() -> str:
    """The class that docs/extending.md shows, and its codec."""
    page = (ROOT / "docs" / "extending.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    (data_type,) = (block for block in blocks if "class UuidType" in block)
    (codec,) = (block for block in blocks if "class XorCodec" in block)
    return f"{data_type}\n{codec}"


@pytest.fixture
def packages(tmp_path: Path) -> Path:
    """Packages as `pip` installs them: sound, not importable, and with a wrong entry point."""
    folder = tmp_path / "site"
    folder.mkdir()
    (folder / "example_package.py").write_text(example(), encoding="utf-8")
    (folder / "broken_package.py").write_text("import a_module_that_does_not_exist\n")
    for name, points in (
        (
            "example-package",
            "[omnizarr.data_types]\nexample.uuid = example_package:UuidType\n"
            "[omnizarr.codecs]\nexample.xor = example_package:XorCodec\n",
        ),
        (
            "broken-package",
            "[omnizarr.data_types]\nexample.broken = broken_package:Type\n"
            "example.wrong = example_package:UUID\nexample.absent = example_package:Absent\n"
            "[omnizarr.codecs]\nexample.broken = broken_package:Codec\n"
            "example.wrong = example_package:UUID\n",
        ),
    ):
        info = folder / f"{name.replace('-', '_')}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(points)
    return folder


def run(packages: Path, *arguments: str) -> str:
    path = os.pathsep.join([str(packages), str(ROOT / "src")])
    done = subprocess.run(
        [sys.executable, *arguments],
        env={**os.environ, "PYTHONPATH": path},
        cwd=packages.parent,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


USE = """
from uuid import UUID
import numpy as np
import omnizarr

array = omnizarr.create_array(
    "ids.zarr", shape=5, chunks=2, dtype="example.uuid",
    fill_value="12345678-1234-5678-1234-567812345678",
    compressors=[{"name": "example.xor", "configuration": {"key": 85}}],
)
array[:2] = [UUID(int=1), UUID(int=2)]
opened = omnizarr.open_array("ids.zarr")
print([str(UUID(bytes=item.tobytes())) for item in opened[:3]])
print(type(opened.data_type).__module__, opened.compressors)
from example_package import UuidType
again = omnizarr.create_array("again.zarr", data=[UUID(int=3)], dtype=UuidType())
print(again.data_type == opened.data_type, again[0].tobytes()[-1])
"""

BROKEN = """
import numpy as np
import omnizarr
from omnizarr.errors import MetadataError
from omnizarr.model.dtypes import from_json, from_numpy

for name in ("example.broken", "example.wrong", "example.absent"):
    for use in (from_json, lambda name: omnizarr.create_array({}, shape=1, dtype=name)):
        try:
            use(name)
        except MetadataError as error:
            print(name, type(error).__name__, error)
for name in ("example.broken", "example.wrong"):
    try:
        omnizarr.create_array({}, shape=1, dtype="u1", compressors=[{"name": name}])
    except MetadataError as error:
        print(name, type(error).__name__, error)
try:
    from_numpy(np.dtype("longdouble"))  # every package is asked
except MetadataError as error:
    print("longdouble", type(error).__name__)
print(from_json("example.uuid"), from_json("int8"))
"""


def test_an_installed_package_adds_a_type_and_a_codec(packages: Path) -> None:
    first, second, third = run(packages, "-c", USE).splitlines()
    assert first == str(
        [
            "00000000-0000-0000-0000-000000000001",
            "00000000-0000-0000-0000-000000000002",
            "12345678-1234-5678-1234-567812345678",
        ]
    )
    assert second == "example_package (XorCodec(key=85, name='example.xor'),)"
    assert third == "True 3"
    shown = run(packages, "-m", "omnizarr", "info", "ids.zarr")
    assert re.search(r"data type +example\.uuid", shown)
    assert re.search(r"fill value +.*12345678-1234-5678-1234-567812345678", shown)
    assert "example.xor (key=85)" in shown


def test_a_broken_package_leaves_the_others_usable(packages: Path) -> None:
    lines = run(packages, "-c", BROKEN).splitlines()
    assert len(lines) == 10
    for line in lines[:2]:
        assert line.startswith("example.broken UnsupportedError the data type 'example.broken'")
        assert "'example.broken = broken_package:Type' of the package broken-package" in line
        assert "a_module_that_does_not_exist" in line
    for line in lines[2:4]:
        assert line.startswith("example.wrong UnsupportedError")
        assert "no subclass of omnizarr.model.dtypes.DataType" in line
    for line in lines[4:6]:
        assert line.startswith("example.absent UnsupportedError")
        assert "Absent" in line
    assert lines[6].startswith("example.broken UnknownCodecError")
    assert "'example.broken = broken_package:Codec' in the group 'omnizarr.codecs'" in lines[6]
    assert lines[7].startswith("example.wrong UnknownCodecError")
    assert lines[8:] == ["longdouble UnsupportedError", "example.uuid int8"]


WITHOUT = """
import omnizarr
try:
    omnizarr.open_array("ids.zarr")
except omnizarr.errors.UnknownDataTypeError as error:
    print(repr(error))
"""


def test_without_the_package(packages: Path) -> None:
    """What it wrote says what is missing."""
    run(packages, "-c", USE)
    nothing = packages.parent / "nothing"
    nothing.mkdir()
    said = run(nothing, "-c", WITHOUT)
    assert re.search(r"UnknownDataTypeError.*example\.uuid.*omnizarr\.data_types", said)
