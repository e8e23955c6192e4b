from __future__ import annotations

import hashlib
import shutil
import threading
import time
from pathlib import Path
from xml.etree import ElementTree

import pytest

from penstock.errors import ToolError
from penstock.spark.session import jars
from penstock.spark.session.jars import CONNECTORS, POM, Jar, cache_folder, checked, connector_jars, copy_with_maven, fill_once


def program(folder: Path, name: str, text: str) -> None:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


def test_the_pom_and_the_checksums_name_the_same_jars() -> None:
    space = {"m": "http://maven.apache.org/POM/4.0.0"}
    found = []
    for each in ElementTree.parse(POM).getroot().iterfind(".//m:dependencies/m:dependency", space):
        found.append(":".join(each.findtext(f"m:{part}", namespaces=space) or "" for part in ("groupId", "artifactId", "version")))
        assert each.find("m:exclusions/m:exclusion", space) is not None, "a transitive list would ask for what registries lack"
    assert found == [jar.coordinates for jar in CONNECTORS]


def test_the_cache_is_where_the_environment_says_or_at_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PENSTOCK_CACHE", str(tmp_path))
    assert cache_folder() == tmp_path
    monkeypatch.delenv("PENSTOCK_CACHE")
    assert cache_folder() == Path.home() / ".cache" / "penstock"


def test_a_jar_that_is_not_the_one_we_know_is_refused_by_name(tmp_path: Path) -> None:
    jar = Jar("g", "a", "1", hashlib.sha256(b"good").hexdigest())
    with pytest.raises(ToolError, match=r"a-1\.jar was not delivered"):
        checked(tmp_path, (jar,))
    (tmp_path / "a-1.jar").write_bytes(b"bad")
    with pytest.raises(ToolError, match=r"a-1\.jar is not the file it should be"):
        checked(tmp_path, (jar,))
    (tmp_path / "a-1.jar").write_bytes(b"good")
    checked(tmp_path, (jar,))


def test_a_folder_of_the_cache_is_whole_or_absent(tmp_path: Path) -> None:
    target = tmp_path / "jars" / "x"

    def half(into: Path) -> None:
        (into / "first").write_text("1")
        raise ToolError("the network went away")

    with pytest.raises(ToolError):
        fill_once(target, half)
    assert [path.name for path in target.parent.iterdir()] == [".x.lock"]


def test_two_that_want_the_same_folder_fill_it_once(tmp_path: Path) -> None:
    calls: list[Path] = []

    def slow(into: Path) -> None:
        calls.append(into)
        time.sleep(0.1)

    threads = [threading.Thread(target=fill_once, args=(tmp_path / "x", slow)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(calls) == 1
    assert (tmp_path / "x").is_dir()


def test_a_cache_that_cannot_be_written_says_what_to_set(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ToolError, match="PENSTOCK_CACHE"):
        fill_once(tmp_path / "file" / "jars" / "x", lambda into: None)


def test_maven_s_own_complaint_is_passed_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(tmp_path, "mvn", 'echo "[ERROR] Unknown host repo.example"; exit 1')
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    with pytest.raises(ToolError, match="Maven failed: Unknown host"):
        copy_with_maven(POM, tmp_path)


def test_offline_without_maven_the_error_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PENSTOCK_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(jars, "_RESOLVER", "import sys; sys.exit('unresolved dependency: org.apache.kafka#kafka-clients;3.9.2: not found')")
    monkeypatch.setattr(shutil, "which", lambda name: None)
    reports: list[str] = []
    with pytest.raises(ToolError, match="unresolved dependency") as refused:
        connector_jars(reports.append)
    assert refused.value.hint is not None
    assert "maven" in refused.value.hint
    assert len(reports) == 1


def test_an_altered_download_never_reaches_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = " ".join(jar.file for jar in CONNECTORS)
    program(
        tmp_path,
        "mvn",
        f'for a in "$@"; do case "$a" in -DoutputDirectory=*) cd "${{a#*=}}"; for f in {names}; do echo altered > "$f"; done;; esac; done',
    )
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    monkeypatch.setenv("PENSTOCK_CACHE", str(tmp_path / "cache"))
    with pytest.raises(ToolError, match="SHA-256"):
        connector_jars(lambda line: None)
    assert not list((tmp_path / "cache" / "jars").glob("connectors-*"))
