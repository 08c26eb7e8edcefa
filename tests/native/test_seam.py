"""`native_core.core`: which core is taken, which is left, and what is said about it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from omnizarr.runtime import native_core

SOURCE = Path(__file__).resolve().parents[2] / "src"


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.delenv(native_core.SWITCH, raising=False)
    native_core.core.cache_clear()
    yield
    native_core.core.cache_clear()


def install(monkeypatch: pytest.MonkeyPatch, api: object) -> ModuleType:
    module = ModuleType(native_core.NAME)
    if api is not None:
        module.API = api  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, native_core.NAME, module)
    return module


def test_the_installed_core_is_taken_and_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    module = install(monkeypatch, native_core.API)
    assert native_core.core() is module
    monkeypatch.setenv(native_core.SWITCH, "0")
    assert native_core.core() is module


@pytest.mark.parametrize("value", ["0", " 0 "])
def test_the_switch_turns_it_off(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    install(monkeypatch, native_core.API)
    monkeypatch.setenv(native_core.SWITCH, value)
    assert native_core.core() is None


@pytest.mark.parametrize("value", ["", "1"])
def test_other_values_leave_it_on(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    module = install(monkeypatch, native_core.API)
    monkeypatch.setenv(native_core.SWITCH, value)
    assert native_core.core() is module


@pytest.mark.parametrize("api", [native_core.API + 1, native_core.API - 1, None])
def test_another_version_is_named_and_ignored(
    monkeypatch: pytest.MonkeyPatch, api: int | None
) -> None:
    install(monkeypatch, api)
    with pytest.warns(
        RuntimeWarning, match=f"API version {api}, .* needs version {native_core.API}"
    ):
        assert native_core.core() is None
    assert native_core.core() is None  # said once


def test_without_it_nothing_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, native_core.NAME, None)
    monkeypatch.setattr(native_core, "NAME", "omnizarr_native_that_is_absent")
    assert native_core.core() is None


def test_one_that_cannot_be_loaded_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "omnizarr_native_broken.py").write_text("raise ImportError('no such symbol')")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(native_core, "NAME", "omnizarr_native_broken")
    with pytest.warns(RuntimeWarning, match="cannot be loaded .no such symbol"):
        assert native_core.core() is None


def test_importing_the_seam_loads_the_standard_library_only() -> None:
    program = (
        "import sys, importlib.util as u; s = u.spec_from_file_location('seam', sys.argv[1]);"
        "m = u.module_from_spec(s); s.loader.exec_module(m);"
        "print({'numpy', 'omnizarr_native', 'warnings_extra'} & set(sys.modules))"
    )
    path = str(SOURCE / "omnizarr" / "runtime/native_core.py")
    done = subprocess.run([sys.executable, "-c", program, path], capture_output=True, text=True)
    assert done.stdout.strip() == "set()", done.stderr
