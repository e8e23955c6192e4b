from __future__ import annotations

import sys
from pathlib import Path

import pytest

from penstock.errors import EngineError
from penstock.spark.session import jvm
from penstock.spark.session.jvm import Command, end_ahead, jvm_command, started

SPARK_SAYS = ("/spark/conf:/spark/jars/*", "--add-opens=java.base/java.io=ALL-UNNAMED", "-Da=b")
CONF = {
    "spark.master": "local[2]",
    "spark.driver.memory": "2g",
    "spark.driver.extraJavaOptions": '-Dx=y "-Dfolder=/a b"',
    "spark.driver.extraClassPath": "/kafka.jar",
}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A lean home that Spark was asked about before."""
    (tmp_path / "java-options").write_text("\n".join(SPARK_SAYS), encoding="utf-8")
    monkeypatch.setattr(jvm, "chosen_home", lambda master: tmp_path if master.startswith("local") else None)
    monkeypatch.setattr(jvm, "java_program", lambda: Path("/usr/bin/java"))
    return tmp_path


def test_the_command_has_our_options_and_those_of_spark(home: Path) -> None:
    command = jvm_command(CONF)
    assert command is not None
    assert command.spark_home == home
    java, cp, class_path, *options, main = command.words
    assert (java, cp, class_path) == ("/usr/bin/java", "-cp", "/kafka.jar:/spark/conf:/spark/jars/*")
    assert options == ["-Xmx2g", "-Dx=y", "-Dfolder=/a b", *SPARK_SAYS[1:]]
    assert main.endswith("PythonGatewayServer")


@pytest.mark.usefixtures("home")
def test_a_cluster_is_left_to_sparks_own_scripts() -> None:
    assert jvm_command({**CONF, "spark.master": "spark://here:7077"}) is None


def test_a_home_without_spark_is_left_to_sparks_own_scripts(home: Path) -> None:
    (home / "java-options").unlink()
    assert jvm_command(CONF) is None


def _sleeper(folder: Path, seconds: int = 60) -> Command:
    return Command(folder, (sys.executable, "-c", f"import time; time.sleep({seconds})"))


def test_the_one_that_was_started_ahead_is_taken_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ahead = jvm._started(_sleeper(tmp_path), tmp_path / "log")
    monkeypatch.setattr(jvm, "_ahead", ahead)
    taken = started(_sleeper(tmp_path), tmp_path / "log")
    another = started(_sleeper(tmp_path), tmp_path / "log")
    assert taken is ahead
    assert another.process.pid != ahead.process.pid
    taken.kill()
    another.kill()


def test_one_with_other_options_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ahead = jvm._started(_sleeper(tmp_path), tmp_path / "log")
    monkeypatch.setattr(jvm, "_ahead", ahead)
    taken = started(_sleeper(tmp_path, 61), tmp_path / "log")
    assert ahead.process.returncode is not None
    assert taken.process.poll() is None
    taken.kill()


def test_one_that_nobody_asked_for_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ahead = jvm._started(_sleeper(tmp_path), tmp_path / "log")
    monkeypatch.setattr(jvm, "_ahead", ahead)
    end_ahead()
    assert ahead.process.returncode is not None
    assert not ahead.connection.parent.exists()
    end_ahead()


def test_one_that_ends_at_once_is_reported(tmp_path: Path) -> None:
    broken = started(Command(tmp_path, (sys.executable, "-c", "raise SystemExit(3)")), tmp_path / "log")
    with pytest.raises(EngineError, match="the JVM ended with code 3"):
        broken.gateway()
    assert not broken.connection.parent.exists()
