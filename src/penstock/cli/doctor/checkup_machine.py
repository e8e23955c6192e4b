"""What `doctor` looks at on any machine: Python, Java, packages, jars, Maven, ports, folders and memory."""

from __future__ import annotations

import os
import platform
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path

from penstock.cli.doctor.checkup import MISSING, OK, WARN, Check, Finding, room
from penstock.settings import Settings
from penstock.spark.session.archive import archive_path, java_program
from penstock.spark.session.jars import CONNECTORS, cache_folder, checked, connectors_at_hand

_GET_JAVA = "install Java 17, e.g. `apt-get install openjdk-17-jre-headless`, or set JAVA_HOME to one that is there"
_JAVA_LEAST = 17
_PYTHON_LEAST = (3, 11)
_PORTS = ((9092, "port of the broker", "`penstock broker start --port N` takes another"), (8700, "port to serve", "`--listen` takes another"))
_UNITS = {"k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}
_REQUIREMENT = re.compile(r"([\w.-]+)(?:\[[^]]*\])?\s*([^;]*)")


def checks(settings: Settings, state: Path) -> Iterator[Check]:
    """In the order in which one would set a machine up."""
    yield Check("Python", _python)
    yield Check("Java", _java, remedy=_GET_JAVA)
    yield Check("Python packages", _packages)
    yield Check("pyspark", _pyspark)
    yield Check("connector jars", _jars)
    yield Check("Maven", _maven, WARN)
    yield Check("class archive", _archive, WARN)
    for port, name, remedy in _PORTS:
        yield Check(f"{name} {port}", partial(_port, port, remedy), WARN)
    yield Check("cache folder", lambda what: room(what, cache_folder(), "set PENSTOCK_CACHE to a folder that you may write"))
    yield Check("state folder", lambda what: room(what, state, "choose another with --state DIR"))
    yield Check("memory", partial(_memory, settings.text("driver_memory")), WARN)


def _python(what: str) -> Finding:
    if sys.version_info[:2] >= _PYTHON_LEAST:
        return Finding(what, OK, f"{platform.python_version()} at {sys.executable}")
    return Finding(what, MISSING, f"{platform.python_version()} is too old", "install Python 3.11 or newer")


def _java(what: str) -> Finding:
    home, java = os.environ.get("JAVA_HOME"), java_program()
    if java is None:
        return Finding(what, MISSING, f"JAVA_HOME is {home}, but there is no bin/java in it" if home else "not found", _GET_JAVA)
    answer = subprocess.run([str(java), "-version"], capture_output=True, text=True, errors="replace", timeout=5, check=False)
    found = re.search(r'version "(?:1\.)?(\d+)([^"]*)"', answer.stderr + answer.stdout)
    if found is None:
        return Finding(what, MISSING, f"{java} does not say its version", _GET_JAVA)
    where = f"{found[1]}{found[2]} at {java}{' (by JAVA_HOME)' if home else ''}"
    return Finding(what, OK, where) if int(found[1]) >= _JAVA_LEAST else Finding(what, MISSING, f"{where} is too old", _GET_JAVA)


def _required() -> dict[str, str]:
    """The packages that Penstock needs, with the versions that it wants of them; none where it is not installed."""
    try:
        lines = [line for line in requires("penstock") or () if "extra ==" not in line]
    except PackageNotFoundError:
        return {}
    return {found[1]: found[2].strip() for line in lines if (found := _REQUIREMENT.match(line)) is not None}


def _packages(what: str) -> Finding:
    wanted = _required()
    absent = [name for name in wanted if _version(name) is None]
    if absent:
        return Finding(what, MISSING, f"not installed: {', '.join(absent)}", f"{sys.executable} -m pip install {' '.join(absent)}")
    return Finding(what, OK, f"all {len(wanted)} are there" if wanted else "Penstock runs from its source folder")


def _pyspark(what: str) -> Finding:
    found, wanted = _version("pyspark"), _required().get("pyspark", "").removeprefix("==")
    get = f"{sys.executable} -m pip install pyspark{f'=={wanted}' if wanted else ''}"
    if found is None:
        return Finding(what, MISSING, "not installed", get)
    if wanted and found != wanted:
        return Finding(what, WARN, f"{found}, and Penstock is made for {wanted}: queries may mean something else", get)
    return Finding(what, OK, found)


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _jars(what: str) -> Finding:
    found = connectors_at_hand()
    if not found:
        how = "Maven" if shutil.which("mvn") else "Spark's own resolver"
        return Finding(what, WARN, f"not fetched yet; the first run fetches them by {how}, about 12 MB", "this needs the network once")
    folder = found[0].parent
    try:
        checked(folder, CONNECTORS)
    except Exception as error:
        return Finding(what, MISSING, str(getattr(error, "message", error)), f"remove {folder}: the next run fetches them again")
    return Finding(what, OK, f"{len(found)} with the right checksums in {folder}")


def _maven(what: str) -> Finding:
    found = shutil.which("mvn")
    if found is not None:
        return Finding(what, OK, found)
    return Finding(what, WARN, "not found; only `penstock broker` needs it", "install it, e.g. `apt-get install maven`")


def _archive(what: str) -> Finding:
    path = archive_path() if connectors_at_hand() else None
    if path is not None and path.is_file():
        return Finding(what, OK, str(path))
    return Finding(what, WARN, "not made yet; Spark starts slower without it", "the first run makes it in the background")


def _port(port: int, remedy: str, what: str) -> Finding:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return Finding(what, WARN, "in use, perhaps by just what you want there", remedy)
    return Finding(what, OK, "free")


def _memory(asked: str, what: str) -> Finding:
    wanted = _bytes(asked)
    there = min(_limits(), default=None)
    if there is None:
        return Finding(what, WARN, "the amount is not known here", f"Spark is given `driver_memory` = {asked}")
    says = f"{there / 1e9:,.1f} GB available, `driver_memory` is {asked}"
    if wanted is None or there >= wanted:
        return Finding(what, OK, says)
    return Finding(what, WARN, says, "end other programs, or lower it: --set driver_memory=1g")


def _limits() -> Iterator[int]:
    """What the system, and the container that we are in, let us have."""
    meminfo = Path("/proc/meminfo")
    if meminfo.is_file() and (found := re.search(r"MemAvailable:\s+(\d+) kB", meminfo.read_text())) is not None:
        yield int(found[1]) * 1024
    bound = Path("/sys/fs/cgroup/memory.max")
    if bound.is_file() and (text := bound.read_text().strip()).isdecimal():
        yield int(text)


def _bytes(text: str) -> int | None:
    found = re.fullmatch(r"(\d+)([kmgt])?b?", text.strip().lower())
    return None if found is None else int(found[1]) * _UNITS.get(found[2] or "m", 1)
