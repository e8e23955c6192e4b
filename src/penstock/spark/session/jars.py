"""The jars that Spark needs beside its own, fetched once into the cache folder and checked.

Maven copies them where it is installed; otherwise Spark's own resolver does, in a child process. Folders in the cache
appear whole or not at all: they are filled under another name, checked, then renamed, under a lock that holds off a
second process.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from penstock.errors import ToolError

Report = Callable[[str], None]
POM = Path(__file__).with_name("pom.xml")
_TOOL_SECONDS_MAX = 600


@dataclass(frozen=True)
class Jar:
    """One jar by its Maven coordinates, and the SHA-256 it must have."""

    group: str
    artifact: str
    version: str
    sha256: str

    @property
    def file(self) -> str:
        return f"{self.artifact}-{self.version}.jar"

    @property
    def coordinates(self) -> str:
        return f"{self.group}:{self.artifact}:{self.version}"


# The order is the order on the class path, which a class-data archive is bound to.
CONNECTORS: tuple[Jar, ...] = (
    Jar("com.globalmentor", "hadoop-bare-naked-local-fs", "0.1.0", "e0cc30fb0531eb0b59468dc0abf5b257533d2365b5e9f45e795edd707aa78c62"),
    Jar("org.apache.spark", "spark-sql-kafka-0-10_2.13", "4.2.0", "64539c45e5d39f7ddb747312c239f38f5208d08c1a0ddf7d70beb2fbd9373705"),
    Jar("org.apache.spark", "spark-token-provider-kafka-0-10_2.13", "4.0.0", "f2be3b76f9e6cbe63379d4e4e0dc14f59dbf056ae2ad16ff15ac108004c86767"),
    Jar("org.apache.kafka", "kafka-clients", "3.9.2", "014b4ef36884478a932641818b080c36a8f8e2e92dc771e800c9d2694f4f83d8"),
    Jar("org.apache.commons", "commons-pool2", "2.12.1", "5273c8bc8c0dca2211175c0d27efbd7228efae99689aac001a8e1ef8e872e9ef"),
)

_RESOLVER = """
import sys
from pyspark.sql import SparkSession
ivy, *coordinates = sys.argv[1:]
session = (SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").config("spark.jars.ivy", ivy)
           .config("spark.driver.host", "127.0.0.1").config("spark.driver.bindAddress", "127.0.0.1").getOrCreate())
for each in coordinates:
    session.sql(f"ADD JAR 'ivy://{each}?transitive=false'")
session.stop()
"""


def report_on_stderr(line: str) -> None:
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


def cache_folder() -> Path:
    """Where jars and archives are kept between runs: `PENSTOCK_CACHE`, or `~/.cache/penstock`."""
    chosen = os.environ.get("PENSTOCK_CACHE")
    return Path(chosen).expanduser() if chosen else Path.home() / ".cache" / "penstock"


def connector_jars(report: Report = report_on_stderr) -> list[Path]:
    """The five connector jars, in class path order, fetched on first use. ToolError when they cannot be had."""
    found = connectors_at_hand()
    if found:
        return found
    folder = _connectors_folder()
    if folder.is_dir():
        shutil.rmtree(folder)
    fill_once(folder, lambda into: _fetch_connectors(into, report))
    return [folder / jar.file for jar in CONNECTORS]


def connectors_at_hand() -> list[Path]:
    """The connector jars where they were fetched before; none of them otherwise."""
    found = [_connectors_folder() / jar.file for jar in CONNECTORS]
    return found if all(jar.is_file() for jar in found) else []


def _connectors_folder() -> Path:
    return cache_folder() / "jars" / f"connectors-{_fingerprint(CONNECTORS)}"


def fill_once(folder: Path, fill: Callable[[Path], None]) -> None:
    """Make `folder` by calling `fill` on an empty one that is then renamed; nothing to do where it exists already."""
    if folder.is_dir():
        return
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ToolError(
            f"cannot make the cache folder {folder.parent}: {error.strerror}", hint="set PENSTOCK_CACHE to a folder you may write"
        ) from error
    with locked(lock_of(folder)):
        if folder.is_dir():
            return
        filling = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
        try:
            fill(filling)
            filling.chmod(0o755)
            filling.rename(folder)
        finally:
            shutil.rmtree(filling, ignore_errors=True)


def copy_with_maven(pom: Path, into: Path) -> None:
    """Copy the dependencies of `pom` into a folder. ToolError with Maven's own words when it fails."""
    maven = shutil.which("mvn")
    if maven is None:
        raise ToolError("Maven (`mvn`) is not installed", hint="install it, e.g. `apt-get install maven`")
    command = [maven, "-q", "-B", "-f", str(pom), "dependency:copy-dependencies", f"-DoutputDirectory={into}"]
    run_tool(command, "Maven", hint="check the network and Maven's settings.xml")


def checked(folder: Path, jars: tuple[Jar, ...]) -> None:
    """Every jar is in `folder` with the right SHA-256, or ToolError names the one that is not."""
    for jar in jars:
        path = folder / jar.file
        if not path.is_file():
            raise ToolError(f"{jar.file} was not delivered for {jar.coordinates}", hint="check the repository that Maven or Spark reads from")
        found = hashlib.sha256(path.read_bytes()).hexdigest()
        if found != jar.sha256:
            raise ToolError(
                f"{jar.file} is not the file it should be: SHA-256 {found}, wanted {jar.sha256}",
                hint="the download was damaged or altered; delete the local Maven copy of it and try again",
            )


def _fetch_connectors(into: Path, report: Report) -> None:
    if shutil.which("mvn"):
        report("fetching the connector jars with Maven (once, about 12 MB) ...")
        copy_with_maven(POM, into)
    else:
        report("fetching the connector jars with Spark's resolver (once, about 12 MB) ...")
        _copy_with_spark(into)
    checked(into, CONNECTORS)


def _copy_with_spark(into: Path) -> None:
    """Through `ADD JAR ivy://...?transitive=false`, the one public way of Spark to leave a jar's own dependencies out."""
    with tempfile.TemporaryDirectory() as ivy:
        command = [sys.executable, "-c", _RESOLVER, ivy, *(jar.coordinates for jar in CONNECTORS)]
        run_tool(command, "Spark's resolver", hint="check the network, or install Maven: `apt-get install maven`")
        for jar in CONNECTORS:
            found = Path(ivy, "jars", f"{jar.group}_{jar.file}")
            if found.is_file():
                shutil.move(found, into / jar.file)


def run_tool(command: list[str], who: str, hint: str, environment: dict[str, str] | None = None) -> None:
    """Run a program to its end; ToolError with what it complained of."""
    try:
        nothing, limit = subprocess.DEVNULL, _TOOL_SECONDS_MAX
        done = subprocess.run(command, env=environment, stdin=nothing, capture_output=True, text=True, errors="replace", timeout=limit, check=False)
    except subprocess.TimeoutExpired:
        raise ToolError(f"{who} was not done within {_TOOL_SECONDS_MAX} s", hint=hint) from None
    if done.returncode != 0:
        raise ToolError(f"{who} failed: {_first_complaint(done.stdout + done.stderr)}", hint=hint)


def _first_complaint(output: str) -> str:
    """The line of a tool's output that says what went wrong, or its last one."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    for mark in ("[ERROR]", "unresolved dependency", "java: not found", "JAVA_HOME is not set", "Exception:"):
        for line in lines:
            if mark in line:
                return line.removeprefix("[ERROR]").strip()
    return lines[-1] if lines else "it printed nothing"


def lock_of(folder: Path) -> Path:
    """The lock of a folder that is being filled."""
    return folder.with_name(f".{folder.name}.lock")


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold off other processes that want the same; the system lets go of it when this one ends, however it ends."""
    with path.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def is_locked(path: Path) -> bool:
    """Whether another process holds that lock now."""
    with path.open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def _fingerprint(jars: tuple[Jar, ...]) -> str:
    return hashlib.sha256(" ".join(jar.coordinates + jar.sha256 for jar in jars).encode()).hexdigest()[:12]


if __name__ == "__main__":
    try:
        connector_jars()
    except ToolError as missing:
        report_on_stderr(str(missing))
        sys.exit(missing.exit_code)
