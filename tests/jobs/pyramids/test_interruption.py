"""Pyramids that stop half-way: nothing looks complete that is not, and the same call goes on."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import omnizarr as zarr
from omnizarr.errors import ConflictError, MetadataError, NodeExistsError
from omnizarr.jobs import Progress, journal
from omnizarr.jobs.pyramids import stages
from omnizarr.jobs.pyramids.plan import JOURNAL
from omnizarr.testing import CountingStore, FaultStore
from tests.jobs.pyramids.support import image, values_of, whole

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def many_tiles(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stages, "MANY", 4)
    monkeypatch.setattr(stages, "SMALL", 0)
    monkeypatch.setattr(stages, "READ", 1 << 10)


def complete(store: zarr.Store) -> bool:
    """Whether readers see a pyramid."""
    try:
        attributes = zarr.open_group(store, mode="r").attrs.asdict()
    except zarr.errors.ZarrError:
        return False
    return "multiscales" in attributes or "ome" in attributes


@pytest.mark.parametrize("method", ["mean", "gaussian"])
@pytest.mark.parametrize("zarr_format", [2, 3])
def test_a_fault_at_every_write(method: Any, zarr_format: int) -> None:
    """Wherever it stops, there is no pyramid, and going on gives the same bytes."""
    source = zarr.array(image((60, 70), "f4"), chunks=16, zarr_format=zarr_format)
    options: dict[str, Any] = {
        "levels": 4, "method": method, "axes": "yx", "convention": "ome", "workers": 1,
    }  # fmt: skip
    expected = zarr.MemoryStore()
    zarr.pyramid(source, expected, **options)
    stops = 0
    for at in range(1, 300):
        inside = zarr.MemoryStore()
        out = FaultStore(inside)
        out.fail("set", OSError("disk full"), at=at)
        try:
            zarr.pyramid(source, out, **options)
        except OSError:
            stops += 1
        else:
            break
        if complete(inside):  # only the last documents may be missing: consolidated metadata
            assert all(
                values_of(inside).get(key) == value for key, value in values_of(expected).items()
            )
        assert JOURNAL in inside
        with pytest.raises(NodeExistsError, match="not finished"):
            zarr.pyramid(source, inside, **{**options, "levels": 3})
        done = zarr.pyramid(source, inside, **options)
        assert done.resumed
        assert values_of(inside) == values_of(expected)
    assert stops > 20


def test_what_is_done_is_not_done_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal, "SECONDS", 0.0)
    inner = zarr.MemoryStore()
    zarr.create_array(inner, name="0", data=image((256, 256)), chunks=16)
    out = FaultStore(inner)
    out.fail("set", OSError("gone"), key="1/c/5/5")
    with pytest.raises(OSError, match="gone"):
        zarr.pyramid(out, levels=3, workers=1)
    assert not complete(inner)
    counting = CountingStore(inner)
    heard: list[Progress] = []
    done = zarr.pyramid(counting, levels=3, workers=1, progress=heard.append)
    assert done.resumed
    assert 0 < done.tasks_done < done.tasks
    assert heard[0].resumed > 0
    assert heard[-1].done == heard[-1].total
    np.testing.assert_array_equal(
        zarr.open_group(inner)["2"][...], whole(image((256, 256)), (2, 2), 3, "mean", None)[2]
    )


def test_another_budget_goes_on_too() -> None:
    """Tiles of another size are other tiles: they are computed, with the same result."""
    inner = zarr.MemoryStore()
    zarr.create_array(inner, name="0", data=image((256, 256)), chunks=16)
    out = FaultStore(inner)
    out.fail("set", OSError("gone"), key="2/c/1/1")
    with pytest.raises(OSError, match="gone"):
        zarr.pyramid(out, levels=4, workers=1)
    done = zarr.pyramid(inner, levels=4, max_memory="40 KiB")
    assert done.resumed
    expected = whole(image((256, 256)), (2, 2), 4, "mean", None)
    for level in (1, 2, 3):
        np.testing.assert_array_equal(zarr.open_group(inner)[str(level)][...], expected[level])


def test_one_at_a_time() -> None:
    """A second run would go on with the first one's journal, and delete the sums that it reads."""
    source = zarr.array(image((256, 256)), chunks=16)
    out = zarr.MemoryStore()
    refused = []

    def again(_: Progress) -> None:
        if not refused:
            with pytest.raises(ConflictError, match="makes a pyramid here"):
                zarr.pyramid(source, out, levels=4)
            refused.append(True)

    zarr.pyramid(source, out, levels=4, progress=again)
    expected = whole(image((256, 256)), (2, 2), 4, "mean", None)
    np.testing.assert_array_equal(zarr.open_group(out)["3"][...], expected[3])
    assert refused and JOURNAL not in out


@pytest.mark.parametrize("levels", [3, 4])
def test_who_has_failed_owns_nothing(levels: int) -> None:
    """Another process goes on, though this one lives; so after the refusal of another pyramid."""
    source = zarr.array(image((256, 256)), chunks=16)
    inner = zarr.MemoryStore()
    out = FaultStore(inner)
    out.fail("set", OSError("gone"), key="1/c/5/5")
    with pytest.raises(OSError, match="gone"):
        zarr.pyramid(source, out, levels=3)
    if levels == 4:
        with pytest.raises(NodeExistsError, match="another pyramid was begun"):
            zarr.pyramid(source, inner, levels=levels)
    assert json.loads(bytes(inner[JOURNAL]))["facts"]["owner"] is None


def test_begin_anew() -> None:
    inner = zarr.MemoryStore()
    zarr.create_array(inner, name="0", data=image((64, 64)), chunks=16)
    out = FaultStore(inner)
    out.fail("set", OSError("gone"), key="2/c/0/0")
    with pytest.raises(OSError, match="gone"):
        zarr.pyramid(out, levels=4, workers=1)
    done = zarr.pyramid(inner, levels=2, method="max", resume=False)
    assert not done.resumed
    left = [key for key in inner.list() if key.startswith(("2/", "3/", ".omni"))]
    assert not left
    np.testing.assert_array_equal(
        zarr.open_group(inner)["1"][...], whole(image((64, 64)), (2, 2), 2, "max", None)[1]
    )


@pytest.mark.parametrize("path", ["../x", "", "/1", "0", 7, ["1"]])
def test_a_journal_of_a_stranger(path: Any) -> None:
    """A journal never leads to what is outside the group, nor to the source."""
    inner = zarr.MemoryStore()
    zarr.create_array(inner, name="g/0", data=image((64, 64)), chunks=16)
    zarr.create_array(inner, name="x", data=[1])
    facts = {"writes": [path if path != "0" else "g/0"]}
    document = {
        "omnizarr_journal": 1, "job": "pyramid", "fingerprint": "", "facts": facts, "done": {},
    }  # fmt: skip
    inner["g/" + JOURNAL] = json.dumps(document).encode()
    if path == "0":
        zarr.pyramid(inner, path="g/0", levels=2, resume=False)
    else:
        with pytest.raises(MetadataError, match="journal is damaged"):
            zarr.pyramid(inner, path="g/0", levels=2, resume=False)
    np.testing.assert_array_equal(zarr.open_array(inner, path="g/0")[...], image((64, 64)))
    assert zarr.open_array(inner, path="x")[0] == 1


def test_kill_9(tmp_path: Path) -> None:
    """A killed process leaves no pyramid; the same call in another one goes on."""
    values = image((1500, 1500))
    zarr.save_array(tmp_path / "a.zarr", values, chunks=(32, 32))
    script = textwrap.dedent(
        """
        import sys, time
        import omnizarr as zarr
        from omnizarr.jobs import journal
        from omnizarr.jobs.pyramids import stages
        stages.SMALL, stages.READ, journal.SECONDS = 0, 1 << 10, 0.0
        source, target, stop = sys.argv[1:]
        def heard(progress):
            if progress.done >= float(stop) * progress.total:
                print("there", flush=True)
                time.sleep(600)
        done = zarr.pyramid(source, target, levels=5, progress=heard)
        print(done.resumed, done.tasks_done < done.tasks)
        """
    )
    command = [sys.executable, "-c", script, str(tmp_path / "a.zarr"), str(tmp_path / "b.zarr")]
    for stop in ("0.5", "0.985", "0.995"):  # the largest level takes 0.98
        with subprocess.Popen([*command, stop], stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None and process.stdout.readline() == "there\n"
            process.kill()
        assert process.returncode == -signal.SIGKILL
        assert not complete(zarr.LocalStore(tmp_path / "b.zarr"))
    found = subprocess.run([*command, "2"], check=True, capture_output=True, text=True)
    assert found.stdout.split() == ["True", "True"]
    group = zarr.open_group(tmp_path / "b.zarr")
    for level, wanted in enumerate(whole(values, (2, 2), 5, "mean", None)):
        np.testing.assert_array_equal(group[str(level)][...], wanted)
    assert not list((tmp_path / "b.zarr").glob(".omni*"))


class Repeating(ThreadPoolExecutor):
    """Can run every task once more, as a cluster does whose worker died."""

    def __init__(self) -> None:
        super().__init__(2)
        self.calls: list[tuple[Any, tuple[Any, ...]]] = []

    def submit(self, function: Any, /, *arguments: Any, **options: Any) -> Any:
        self.calls.append((function, arguments))
        return super().submit(function, *arguments, **options)

    def repeat(self) -> int:
        """How many of them failed, the last one first: none finds what an earlier one has left."""
        failed = 0
        for function, arguments in reversed(self.calls):
            try:
                function(*arguments)
            except zarr.errors.ZarrError:
                failed += 1
        return failed


@pytest.mark.parametrize("method", ["mean", "max", "gaussian"])
@pytest.mark.parametrize("values", [image((60, 70)), np.zeros((60, 70), "u2")], ids=["", "zeros"])
def test_a_task_that_runs_once_more_after_the_end_changes_nothing(method: Any, values: Any) -> None:
    source = zarr.array(values, chunks=16, fill_value=9)
    out = zarr.MemoryStore()
    with Repeating() as executor:
        zarr.pyramid(source, out, levels=4, method=method, axes="yx", executor=executor)
        expected = values_of(out)
        failed = executor.repeat()
    found = values_of(out)
    assert {key: found[key] for key in expected} == expected
    assert (failed > 0) == (method == "mean")
