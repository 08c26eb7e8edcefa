"""Build the native core, and install it into environments: `install_native.py [PYTHON …]`.

One wheel serves every Python. It is kept beside cargo's own results, under the hash of the sources,
and each environment is stamped with that hash: running this again costs nothing until they change.
Without a Rust toolchain, or with one that cannot build it, this says so and goes on without.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NATIVE = ROOT / "native"


def sources() -> str:
    """The hash of everything that the wheel is made of."""
    digest = hashlib.sha256()
    found = {*NATIVE.glob("*.*"), *NATIVE.glob("src/**/*.rs")} - {NATIVE / "Cargo.lock"}
    for path in sorted(found):
        digest.update(f"{path.relative_to(NATIVE)}\0".encode() + path.read_bytes() + b"\0")
    return digest.hexdigest()


def wheel(python: Path, state: str) -> Path | None:
    folder = NATIVE / "target" / "wheels" / state[:16]
    if not list(folder.glob("*.whl")):
        print("native core: building it with cargo …", flush=True)
        if not pip(python, "wheel", str(NATIVE), "--no-deps", f"--wheel-dir={folder}"):
            return None
    return next(folder.glob("*.whl"))


def pip(python: Path, *arguments: str) -> bool:
    command = [str(python), "-m", "pip", *arguments, "--quiet", "--disable-pip-version-check"]
    done = subprocess.run(
        command,
        env={"CARGO_NET_RETRY": "5", **os.environ},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    if done.returncode:
        print("\n".join(done.stdout.splitlines()[-30:]))
    return done.returncode == 0


def main() -> None:
    state = sources()
    if not sys.argv[1:] and shutil.which("cargo") is not None:
        wheel(Path(sys.executable), state)
    for python in map(Path, sys.argv[1:]):
        stamp = python.parent.parent / ".native"
        if stamp.exists() and stamp.read_text() == state:
            continue
        if shutil.which("cargo") is None:
            print("native core: no cargo found; going on without it")
            return
        built = wheel(python, state)
        if built and pip(python, "install", "--no-deps", "--force-reinstall", str(built)):
            stamp.write_text(state)
        else:
            print(f"native core: not installed for {python}; going on without it")


if __name__ == "__main__":
    main()
