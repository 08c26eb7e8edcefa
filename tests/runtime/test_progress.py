"""Counting, and the line on a terminal."""

from __future__ import annotations

import io
import sys
import types

import pytest

from omnizarr.runtime import progress as progress_module
from omnizarr.runtime.progress import Bar, Progress, Reporter, duration, line_of, size


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_facts() -> None:
    progress = Progress(done=30, total=90, nbytes=1 << 20, seconds=4.0, resumed=10)
    assert progress.rate == (1 << 20) / 4
    assert progress.remaining == pytest.approx(60 * 4 / 20)  # the pace of this run alone
    assert progress.fraction == pytest.approx(1 / 3)


def test_what_cannot_be_known_yet() -> None:
    assert Progress(5, 10, 0, 0.0, resumed=5).remaining is None
    assert Progress(0, 10, 0, 0.0).rate == 0.0
    assert Progress(0, 0, 0, 1.0).fraction == 1.0
    assert Progress(0, 0, 0, 1.0).remaining == 0.0


def test_a_callable_hears_of_every_step() -> None:
    heard: list[Progress] = []
    reporter = Reporter(heard.append, total=5, resumed=2)
    reporter.advance(1, 100, "/a")
    reporter.advance(2, 50, "/b")
    reporter.close()
    assert [(p.done, p.nbytes, p.label) for p in heard] == [
        (2, 0, ""),
        (3, 100, "/a"),
        (5, 150, "/b"),
    ]
    assert all(p.total == 5 for p in heard)


@pytest.mark.parametrize("progress", ["yes", 1, object()])
def test_what_is_no_listener_is_refused(progress: object) -> None:
    with pytest.raises(TypeError, match="progress must be None, True or a callable"):
        Reporter(progress, 1)  # type: ignore[arg-type]


def test_a_bar_on_a_terminal_only(monkeypatch: pytest.MonkeyPatch) -> None:
    for stream, drawn in ((Terminal(), True), (io.StringIO(), False)):
        monkeypatch.setattr(sys, "stderr", stream)
        reporter = Reporter(True, total=2)
        reporter.advance(1, 2048, "/a")
        reporter.advance(1, 2048, "/a")
        reporter.close()
        assert bool(stream.getvalue()) is drawn
        if drawn:
            assert " 50%  1 of 2" in stream.getvalue()
            assert stream.getvalue().endswith("\r\x1b[K")


def test_the_bar_fits_the_terminal_and_shows_no_control_character(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    stream = Terminal()
    Bar(stream)(Progress(1, 2, 0, 1.0, "x\x1b[2Jy" + "z" * 100))
    text = stream.getvalue().removeprefix("\r\x1b[K")
    assert len(text) == 59
    assert "\x1b" not in text
    assert "x?[" in text


def test_the_line() -> None:
    line = line_of(Progress(25, 1000, 10 << 20, 2.0, "/temperature"), ("#", "-"))
    assert (
        line
        == "#----------------------- " + "  2%  25 of 1,000  5.0 MiB/s  1:18 left  /temperature"
    )
    assert line_of(Progress(0, 1, 0, 70.0)) == "─" * 24 + "   0%  0 of 1  0 B/s"
    assert line_of(Progress(0, 0, 0, 0.0)) == "━" * 24 + " 100%  0 of 0  0 B/s  0 s left"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.2, "0 s"), (59.4, "59 s"), (65, "1:05"), (7800, "2:10:00")],
)
def test_durations(seconds: float, text: str) -> None:
    assert duration(seconds) == text


@pytest.mark.parametrize(
    ("nbytes", "text"),
    [
        (0, "0 B"),
        (1023, "1023 B"),
        (1024, "1.0 KiB"),
        (5 << 30, "5.0 GiB"),
        (1 << 62, "4194304.0 TiB"),
    ],
)
def test_sizes(nbytes: int, text: str) -> None:
    assert size(nbytes) == text


def test_log_lines_where_nobody_looks(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    now = 100.0
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    monkeypatch.setattr(progress_module.time, "monotonic", lambda: now)
    with caplog.at_level("INFO", "omnizarr"):
        reporter = Reporter(True, total=100)
        for _ in range(100):
            now += 0.3
            reporter.advance(1, 1024, "/a\x1b")
        reporter.close()
    lines = [record.getMessage() for record in caplog.records]
    assert len(lines) == 2 + 1, "a line every ten seconds, and the last"
    assert lines[0] == "34%  34 of 100  3.3 KiB/s  20 s left  /a?"
    assert lines[-1].startswith("100%  100 of 100")


def test_a_line_in_a_notebook(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[str] = []

    class Handle:
        def update(self, data: dict[str, str], raw: bool) -> None:
            shown.append(data["text/plain"])

    def display(data: dict[str, str], raw: bool, display_id: bool) -> Handle:
        assert raw and display_id
        shown.append("new " + data["text/plain"])
        return Handle()

    shell = types.SimpleNamespace(kernel=object())
    ipython = types.ModuleType("IPython")
    ipython.get_ipython = lambda: shell  # type: ignore[attr-defined]
    displays = types.ModuleType("IPython.display")
    displays.display = display  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", displays)
    reporter = Reporter(True, total=3)
    for _ in range(3):
        reporter.advance(1, 0, "/a")
    reporter.close()
    assert [line.startswith("new ") for line in shown] == [True, False]
    assert "100%  3 of 3" in shown[-1]
    shell.kernel = None  # IPython on a terminal draws no output of cells
    Reporter(True, total=3).advance(1, 0, "/a")
    assert len(shown) == 2


def test_a_total_that_is_not_known() -> None:
    assert line_of(Progress(1234, 0, 2048, 1.0, "a/zarr.json")) == (
        "1,234 so far  2.0 KiB/s  a/zarr.json"
    )
