"""Install the servers that the tests talk to, each from a registry, where they are not yet.

Each entry of SERVERS is a function that installs one server and does nothing if it is there
already. What cannot be installed here is said in one line and left out: its tests say so too.
Programs go to `.peers/bin` or a folder of their own below `.peers`; packages of the system are
installed only by root.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PEERS = ROOT / ".peers"


class Unavailable(Exception):
    """Why a server cannot be installed here."""


def say(line: str) -> None:
    print(line + "\n", end="", flush=True)  # one write: other processes print too


def run(command: list[str], environment: dict[str, str] | None = None) -> None:
    """Run a command; if it fails, what it said is the reason."""
    done = subprocess.run(
        command,
        env={**os.environ, **(environment or {})},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    if done.returncode:
        last = done.stdout.strip().splitlines()[-1:] or ["no output"]
        raise Unavailable(f"{' '.join(command)}: {last[0]}")


def tool(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        raise Unavailable(f"{name} is not installed")
    return found


def from_system(program: str, package: str) -> None:
    """A package of Debian's, unless the program, or the extension module, is there."""
    folders = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/usr/local/sbin"])
    modules = Path("/usr/lib").glob(f"python3*/lib-dynload/{program}.*.so")
    if shutil.which(program, path=folders) or any(modules):
        return
    apt = tool("apt-get")
    if os.geteuid() != 0:
        raise Unavailable(f"only root can install the package {package}")
    say(f"server {program}: installing the package {package} …")
    quiet = {"DEBIAN_FRONTEND": "noninteractive"}
    install = [apt, "install", "--yes", "--quiet", "--no-install-recommends", package]
    try:
        run(install, quiet)
    except Unavailable:  # the lists may be older than what the registry has
        run([apt, "update", "--quiet"], quiet)
        run(install, quiet)


def system_servers() -> None:
    """One after the other: the package manager has one lock."""
    problems: list[str] = []
    packages = {
        "nginx": "nginx-light",
        "redis-server": "redis-server",
        "_gdbm": "python3-gdbm",
        "ncdump": "netcdf-bin",  # what `omnizarr dump` is compared with
        "chromium": "chromium",  # a browser, for displays in notebooks and for `omnizarr browse`
    }
    for program, package in packages.items():
        try:
            from_system(program, package)
        except Unavailable as reason:
            problems.append(str(reason))
    if problems:
        raise Unavailable("; ".join(problems))


MONGODB_PROJECT = """
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>servers</groupId>
  <artifactId>mongodb</artifactId>
  <version>1</version>
  <packaging>pom</packaging>
  <dependencies>
    <dependency>
      <groupId>de.bwaldvogel</groupId>
      <artifactId>mongo-java-server</artifactId>
      <version>1.47.0</version>
    </dependency>
  </dependencies>
</project>
"""
MONGODB_LAUNCHER = """
import de.bwaldvogel.mongo.MongoServer;
import de.bwaldvogel.mongo.MongoVersion;
import de.bwaldvogel.mongo.backend.memory.MemoryBackend;
import java.util.List;

public class Launcher implements MongoVersion {
    public List<Integer> getVersionArray() {
        return List.of(5, 0, 0);
    }

    public int getWireVersion() {
        return 9;  // the least that pymongo talks to; the server itself says 8
    }

    public static void main(String[] arguments) {
        var server = new MongoServer(new MemoryBackend().version(new Launcher()));
        server.bind("127.0.0.1", Integer.parseInt(arguments[0]));
    }
}
"""


def mongodb() -> None:
    """mongo-java-server: MongoDB itself is in no registry, this speaks its protocol."""
    folder = PEERS / "mongodb"
    if (folder / "Launcher.class").exists():
        return
    maven, compiler = tool("mvn"), tool("javac")
    tool("java")
    say("server mongodb: fetching mongo-java-server …")
    folder.mkdir(exist_ok=True)
    (folder / "pom.xml").write_text(MONGODB_PROJECT.strip())
    (folder / "Launcher.java").write_text(MONGODB_LAUNCHER.strip())
    jars = folder / "jars"
    goal = ["dependency:copy-dependencies", f"-DoutputDirectory={jars}"]
    run([maven, "--quiet", "--batch-mode", "--file", str(folder / "pom.xml"), *goal])
    run([compiler, "-cp", f"{jars}/*", "-d", str(folder), str(folder / "Launcher.java")])


def azurite() -> None:
    """Azure Blob Storage, from npm."""
    package = ROOT / "requirements" / "azurite.json"
    folder = PEERS / "azurite"
    stamp = folder / ".stamp"
    if stamp.exists() and stamp.read_text() == package.read_text():
        return
    npm = tool("npm")
    say(f"server azurite: installing {package.relative_to(ROOT)} with npm …")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    shutil.copyfile(package, folder / "package.json")
    quiet = ["--no-audit", "--no-fund", "--no-package-lock", "--ignore-scripts"]
    run([npm, "install", f"--prefix={folder}", *quiet])
    shutil.copyfile(package, stamp)


def gcs() -> None:
    """Google Cloud Storage: fake-gcs-server, compiled by Go."""
    if not (PEERS / "bin" / "fake-gcs-server").exists():
        say("server gcs: compiling fake-gcs-server …")
        source = "github.com/fsouza/fake-gcs-server@v1.56.1"
        run([tool("go"), "install", source], {"GOBIN": str(PEERS / "bin")})


SERVERS: dict[str, Callable[[], None]] = {
    "azurite": azurite,
    "gcs": gcs,
    "mongodb": mongodb,
    "system": system_servers,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", default=sorted(SERVERS), help=", ".join(SERVERS))
    names = parser.parse_args().names
    if unknown := sorted(set(names) - set(SERVERS)):
        parser.error(f"unknown server {unknown}; known are {sorted(SERVERS)}")
    PEERS.mkdir(exist_ok=True)

    def make(name: str) -> None:
        try:
            SERVERS[name]()
        except Unavailable as reason:
            say(f"server {name}: not to be had here ({reason}); its tests are skipped and say so")

    with ThreadPoolExecutor() as pool:
        list(pool.map(make, names))


if __name__ == "__main__":
    sys.exit(main())
