"""Penstock from its wheel alone: installed into a clean environment, used in an empty folder, with an empty cache."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
import venv
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from penstock.spark.session.jars import CONNECTORS

ROOT = Path(__file__).parent.parent.parent
ARCHIVE_S = 240.0


@dataclass(frozen=True)
class Installed:
    """A clean environment with the wheel in it, and an empty folder to work in."""

    bin: Path
    wheel: Path
    folder: Path
    cache: Path

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        """The `penstock` of the environment, with nothing of this process's environment but what finds Java and Maven."""
        kept = {name: os.environ[name] for name in ("HOME", "JAVA_HOME", "MAVEN_OPTS", "HTTPS_PROXY", "https_proxy") if name in os.environ}
        quick = {"PENSTOCK_MASTER": "local[2]", "PENSTOCK_DRIVER_MEMORY": "1g", "PENSTOCK_SHUFFLE_PARTITIONS": "2"}
        environment = {**kept, **quick, "PENSTOCK_CACHE": str(self.cache), "PATH": f"{self.bin}:{os.environ['PATH']}"}
        return subprocess.run(
            [str(self.bin / "penstock"), *words], cwd=self.folder, env=environment, capture_output=True, text=True, timeout=240, check=False
        )


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from a copy of what git knows: nothing that lies about in the folder gets into it."""
    source, target = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("wheel")
    listed = subprocess.run(["git", "ls-files", "-z", "src", "pyproject.toml", "README.md", "LICENSE"], cwd=ROOT, capture_output=True, check=True)
    for name in filter(None, listed.stdout.decode().split("\0")):
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, source / name)
    subprocess.run([sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(target), str(source)], check=True)
    return next(target.glob("penstock-*.whl"))


@pytest.fixture(scope="module")
def installed(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """The packages that Penstock needs are lent by this process's environment; Penstock itself is the wheel's."""
    tmp_path = tmp_path_factory.mktemp("clean")
    home = tmp_path / "venv"
    venv.create(home, with_pip=False, symlinks=True)
    packages = next((home / "lib").glob("python*/site-packages"))
    lent = [path for path in sys.path if path.endswith("site-packages")]
    (packages / "lent.pth").write_text("\n".join(lent) + "\n")
    subprocess.run(
        [sys.executable, "-m", "pip", "--python", str(home / "bin" / "python"), "install", "--quiet", "--no-deps", "--ignore-installed", str(built)],
        check=True,
    )
    folder = tmp_path / "empty"
    folder.mkdir()
    return Installed(home / "bin", built, folder, tmp_path / "cache")


def test_the_wheel_holds_every_file_of_the_package(built: Path) -> None:
    listed = subprocess.run(["git", "ls-files", "-z", "src"], cwd=ROOT, capture_output=True, check=True).stdout.decode().split("\0")
    wanted = {name.removeprefix("src/") for name in listed if name}
    assert len(wanted) > 100
    with zipfile.ZipFile(built) as pack:
        assert wanted <= set(pack.namelist())


def test_a_new_app_runs_at_once_in_an_empty_folder(installed: Installed) -> None:
    made = installed.run("new", "x")
    assert made.returncode == 0, made.stderr
    ran = installed.run("run", "x", "--drain")
    assert ran.returncode == 0, ran.stderr
    assert "fetching the connector jars with Maven" in ran.stderr
    assert "in the background" in ran.stderr
    assert "per_minute: done" in ran.stderr
    assert {path.name for path in installed.cache.glob("jars/*/*.jar")} == {jar.file for jar in CONNECTORS}
    status = installed.run("status", "x")
    assert (status.returncode, "per_minute: done" in status.stdout) == (0, True)
    looked = installed.run("doctor", "x")
    assert looked.returncode == 0, looked.stdout
    assert str(ROOT) not in made.stderr + ran.stderr + status.stdout + looked.stdout
    _eventually(lambda: list(installed.cache.glob("cds/*.jsa")))


def test_the_demo_runs_from_the_wheel(installed: Installed) -> None:
    shown = installed.run("demo", "--seconds", "20")
    assert shown.returncode == 0, shown.stderr
    assert "rows read by" in shown.stdout
    assert "sales_by_country" in shown.stdout
    assert "no result yet" not in shown.stdout
    assert (installed.folder / "penstock-demo" / "shop.sql").is_file()
    assert ("fetching" in shown.stderr, "background" in shown.stderr) == (False, False)  # both were there from the run before


def test_without_maven_the_jars_come_by_sparks_own_resolver(installed: Installed, tmp_path: Path) -> None:
    programs = tmp_path / "programs"
    programs.mkdir()
    for program in ("java", "sh", "bash", "env", "ps", "dirname", "uname", "readlink"):
        if found := shutil.which(program):
            (programs / program).symlink_to(found)
    kept = {name: value for name, value in os.environ.items() if name in ("HOME", "JAVA_HOME", "HTTPS_PROXY", "https_proxy")}
    fetched = subprocess.run(
        [str(installed.bin / "python"), "-m", "penstock.spark.session.jars"],
        cwd=tmp_path,
        env={**kept, "PATH": str(programs), "PENSTOCK_CACHE": str(tmp_path / "cache")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert fetched.returncode == 0, fetched.stderr
    assert "fetching the connector jars with Spark's resolver" in fetched.stderr
    assert {path.name for path in tmp_path.glob("cache/jars/*/*.jar")} == {jar.file for jar in CONNECTORS}


def _eventually(what: Callable[[], object]) -> None:
    deadline = time.monotonic() + ARCHIVE_S
    while not what():
        assert time.monotonic() < deadline, "it did not come about in time"
        time.sleep(0.5)
