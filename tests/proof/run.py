"""Run other projects' own tests on omnizarr, beside the library that they were written for.

    python tests/proof/run.py [SUITE …] [--only PATH_OR_ID …] [--show]

A suite of `suites.toml` runs twice in its environment: with zarr-python itself, which says which
tests count, and with omnizarr. The command fails where a test that counts fails on omnizarr and is
not in `expected/SUITE.toml` with its reason, and where that list names a test that passes.
Everything is downloaded into `.cache/proof` and stays there.
"""

from __future__ import annotations

import argparse
import collections
import fnmatch
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
CACHE = ROOT / ".cache" / "proof"
Outcomes = dict[str, tuple[str, str]]


@dataclass(frozen=True)
class Suite:
    """What `suites.toml` says of a suite."""

    name: str
    title: str
    environment: str
    tests: str
    serve: int | bool
    sdist: str | None = None
    wheel: str | None = None
    ignore: tuple[str, ...] = ()
    select: str | None = None
    ini: tuple[tuple[str, str], ...] = ()
    package: str | None = None
    public: tuple[str, ...] = ()
    plugins: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    deselect: tuple[str, ...] = ()
    timeout: int = 120
    omnizarr_environment: str | None = None

    @property
    def python(self) -> Path:
        return python_of(self.environment)

    @property
    def tests_package(self) -> str | None:
        """The package that the tests are, where they are inside `package`."""
        inside = self.package is not None and self.tests.startswith(f"{self.package}/")
        return self.tests.replace("/", ".") if inside else None

    @property
    def folder(self) -> Path:
        return CACHE / self.name


def python_of(environment: str) -> Path:
    return ROOT / ".peers" / environment / "bin" / "python"


def suites() -> dict[str, Suite]:
    tables = tomllib.loads((HERE / "suites.toml").read_text())
    found = {}
    for name, table in tables.items():
        whole = {**tables.get(table.get("like"), {}), **table}
        whole.pop("like", None)
        whole["ini"] = tuple(whole.get("ini", {}).items())
        lists = {key: tuple(value) for key, value in whole.items() if isinstance(value, list)}
        found[name] = Suite(name, **{**whole, **lists})
    return found


def prepare(suite: Suite) -> Path:
    """The folder that the tests are in; makes the environment and downloads what is missing."""
    for environment in filter(None, (suite.environment, suite.omnizarr_environment)):
        if not python_of(environment).exists():
            make = [sys.executable, str(ROOT / "scripts" / "make_peers.py"), environment]
            subprocess.run(make, check=True)
    if suite.sdist is None and suite.wheel is None:
        where = "import sysconfig; print(sysconfig.get_path('purelib'))"
        done = subprocess.run(
            [suite.python, "-c", where], check=True, capture_output=True, text=True
        )
        return Path(done.stdout.strip())
    requirement = suite.sdist or suite.wheel or ""
    folder = CACHE / "packages" / requirement.replace("==", "-")
    if not folder.exists():
        partial = folder.with_name(folder.name + ".partial")
        shutil.rmtree(partial, ignore_errors=True)
        name = requirement.partition("==")[0]
        kind = ["--no-binary", name] if suite.sdist else ["--only-binary", ":all:"]
        command = [suite.python, "-m", "pip", "download", "--quiet", "--no-deps", *kind]
        subprocess.run([*command, "--dest", str(partial), requirement], check=True)
        (archive,) = partial.iterdir()
        shutil.unpack_archive(archive, partial, "gztar" if suite.sdist else "zip", **_safe(archive))
        archive.unlink()
        inner = list(partial.iterdir())
        (inner[0] if suite.sdist and len(inner) == 1 else partial).rename(folder)
        shutil.rmtree(partial, ignore_errors=True)
    return folder


def _safe(archive: Path) -> dict[str, Any]:
    return {"filter": "data"} if tarfile.is_tarfile(archive) else {}


def run(
    suite: Suite,
    packages: Path,
    *,
    reference: bool,
    only: list[str],
    workers: int,
    sample: int | None = None,
) -> Outcomes:
    """Run the tests once; their outcomes by test."""
    folder = suite.folder
    folder.mkdir(parents=True, exist_ok=True)
    which = "reference" if reference else "omnizarr"
    results = folder / f"{which}{'-some' if only or sample else ''}.jsonl"
    names = folder / "names.tsv"
    if reference and not only:
        names.unlink(missing_ok=True)
    settings = {
        "serve": suite.serve or None,
        "reference": reference,
        "package": suite.package,
        "public": suite.public,
        "tests": str(packages / suite.tests),
        "tests_package": suite.tests_package,
        "tools": {name: str(packages / "src" / _file(name)) for name in suite.tools},
        "names": str(names),
        "sample": sample,
        "results": str(results),
    }
    file = folder / f"{which}.json"
    file.write_text(json.dumps(settings))
    results.unlink(missing_ok=True)
    paths = [str(HERE)] if reference else [str(HERE), str(ROOT / "src")]
    environment = {
        **os.environ,
        "PROOF_RUN": str(file),
        "PYTHONPATH": os.pathsep.join(paths),
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONWARNINGS": "default",
        "HYPOTHESIS_PROFILE": "proof",
    }
    own = None if reference else suite.omnizarr_environment
    command = [
        python_of(own) if own else suite.python,
        "-m",
        "pytest",
        "-p",
        "plugin",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:zarr",
    ]
    command += ["-c", os.devnull, f"--rootdir={packages}", "-q", "-q", "--tb=short"]
    command += [f"--timeout={suite.timeout}", "--color=no", "--no-header"]
    command += [f"--basetemp={folder / which}-temporary"]
    for key, value in suite.ini:
        command += ["-o", f"{key}={value}"]
    if suite.select:
        command += ["-k", suite.select]
    if workers > 1:
        command += ["-n", str(workers), "--dist", "worksteal"]
    command += [part for plugin in suite.plugins if not reference for part in ("-p", plugin)]
    command += [f"--ignore={packages / path}" for path in suite.ignore]
    command += [part for test in suite.deselect for part in ("--deselect", test)]
    command += only or [suite.tests]
    log = folder / f"{which}.log"
    library = "zarr-python itself" if reference else "omnizarr"
    print(f"{suite.name}: running on {library} …", flush=True)
    with log.open("w") as output:
        done = subprocess.run(
            command, cwd=packages, env=environment, stdout=output, stderr=subprocess.STDOUT
        )
    if not results.exists():
        sys.exit(f"{log.read_text()[-3000:]}\n{suite.name}: pytest ended with {done.returncode}")
    return read(results)


def _file(module: str) -> str:
    return module.replace(".", "/") + ".py"


def read(results: Path) -> Outcomes:
    lines = map(json.loads, results.read_text().splitlines())
    return {line["test"]: (line["outcome"], line["why"]) for line in lines}


def reference_outcomes(suite: Suite, packages: Path, workers: int) -> Outcomes:
    """Those of zarr-python itself, run again only where the suite or the plugin has changed."""
    deciding = repr(suite).encode() + (HERE / "plugin.py").read_bytes()
    stamp = suite.folder / "reference.stamp"
    digest = hashlib.sha256(deciding).hexdigest()
    kept = suite.folder / "reference.jsonl"
    if not (kept.exists() and stamp.exists() and stamp.read_text() == digest):
        stamp.unlink(missing_ok=True)
        run(suite, packages, reference=True, only=[], workers=workers)
        stamp.write_text(digest)
    return read(kept)


def expected(name: str) -> tuple[dict[str, str], dict[str, str]]:
    """Reasons of the tests that are not expected to pass, by pattern: of those that always fail,
    and of those that may pass here, or are taken over from another list."""
    file = HERE / "expected" / f"{name}.toml"
    table = tomllib.loads(file.read_text()) if file.exists() else {}
    always, sometimes = {}, {}
    for group in table.get("group", ()):
        chosen = sometimes if group.get("sometimes") else always
        chosen.update(dict.fromkeys(group["tests"], group["reason"]))
    if "also" in table:
        first, second = expected(table["also"])
        sometimes |= first | second
    return always, sometimes


def compare(suite: Suite, reference: Outcomes, ours: Outcomes, *, some: bool, show: bool) -> bool:
    """Print the counts; whether every failure was expected."""
    counted = {test for test, (outcome, _) in reference.items() if outcome == "passed"}
    if some:
        counted &= set(ours)
    private = sum(outcome == "private" for outcome, _ in reference.values())
    failing = {
        test: ours.get(test, ("missing", "not collected"))
        for test in sorted(counted)
        if ours.get(test, ("missing", ""))[0] != "passed"
    }
    always, sometimes = expected(suite.name)
    reasons: dict[str, str] = {}
    hits: collections.Counter[str] = collections.Counter()
    for test in failing:
        for pattern, reason in (sometimes | always).items():
            if test == pattern or fnmatch.fnmatchcase(test, pattern.replace("[", "[[]")):
                reasons[test] = reason
                hits[pattern] += 1
                break
    stale = [] if some else [pattern for pattern in always if not hits[pattern]]
    unexpected = {test: why for test, why in failing.items() if test not in reasons}
    passing = len(counted) - len(failing)
    if not counted:
        sys.exit(f"{suite.name}: no test passes on zarr-python itself: see {suite.folder}")
    share = 100 * passing / len(counted)
    print(f"{suite.title}")
    print(f"  tests that count: {len(counted)} (private names are used by {private} more)")
    print(f"  zarr-python itself {len(counted)}, omnizarr {passing} ({share:.1f} %)")
    for reason, number in collections.Counter(reasons.values()).most_common():
        print(f"  {number:5} expected to fail: {reason}")
    if show:
        for test, (outcome, why) in unexpected.items():
            print(f"FAILED {test} [{outcome}] {' '.join(why.split())[:300]}")
    elif unexpected:
        print(f"  {len(unexpected)} fail and are not expected to (--show lists them)")
    for pattern in stale:
        print(f"  no failing test matches {pattern!r}: remove it from the list")
    return not unexpected and not stale


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    known = suites()
    parser.add_argument("suites", nargs="*", help=f"{', '.join(known)}; all unless named")
    parser.add_argument("--only", action="append", default=[], help="a test file or test id")
    parser.add_argument("--sample", type=int, help="so many cases of every test function alone")
    parser.add_argument("--show", action="store_true", help="list what fails unexpectedly")
    parser.add_argument("--again", action="store_true", help="compare the last run once more")
    parser.add_argument("-n", "--workers", type=int, default=os.cpu_count() or 1)
    given = parser.parse_args()
    if unknown := sorted(set(given.suites) - set(known)):
        parser.error(f"unknown suite {unknown}; known are {sorted(known)}")
    good = True
    for name in given.suites or known:
        suite = known[name]
        packages = prepare(suite)
        reference = reference_outcomes(suite, packages, given.workers)
        if given.again:
            ours = read(suite.folder / "omnizarr.jsonl")
        else:
            ours = run(
                suite,
                packages,
                reference=False,
                only=given.only,
                workers=given.workers,
                sample=given.sample,
            )
        good &= compare(
            suite, reference, ours, some=bool(given.only or given.sample), show=given.show
        )
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
