from __future__ import annotations

from pathlib import Path

import pytest

from penstock.errors import ToolError
from penstock.settings import load
from penstock.spark.session import archive
from penstock.spark.session.archive import archive_key, archive_options, archive_path, build_archive


@pytest.fixture
def java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A Java home that only has a name, and a cache that holds nothing."""
    home = tmp_path / "java"
    (home / "bin").mkdir(parents=True)
    (home / "bin" / "java").write_text("")
    (home / "release").write_text('JAVA_VERSION="17"')
    monkeypatch.setenv("JAVA_HOME", str(home))
    monkeypatch.setenv("PENSTOCK_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(archive, "_class_path", lambda: ["a.jar:1:1"])
    return home


@pytest.mark.usefixtures("java")
def test_without_an_archive_the_jvm_starts_as_usual() -> None:
    options = archive_options(load())
    assert not any("SharedArchiveFile" in option for option in options)
    assert not any("TieredStopAtLevel" in option for option in options)


@pytest.mark.usefixtures("java")
def test_an_archive_that_is_there_is_offered_and_never_demanded() -> None:
    made = archive_path()
    assert made is not None
    made.parent.mkdir(parents=True)
    made.write_bytes(b"")
    options = archive_options(load(overrides={"fast_start": "true"}))
    assert f"-XX:SharedArchiveFile={made}" in options
    assert "-Xshare:auto" in options
    assert "-XX:TieredStopAtLevel=1" in options


def test_another_java_has_another_archive(java: Path) -> None:
    before = archive_path()
    (java / "release").write_text('JAVA_VERSION="21"')
    assert archive_path() != before


def test_other_jars_have_another_archive() -> None:
    assert archive_key("17", ["a.jar:1:1"]) != archive_key("17", ["a.jar:2:1"])


def test_without_java_there_is_nothing_to_build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "nowhere"))
    assert archive_path() is None
    with pytest.raises(ToolError, match="Java"):
        build_archive(lambda line: None)
