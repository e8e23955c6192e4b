"""`doctor` names each thing that is there or not, with its remedy; it is bounded in time and ends with a code for scripts."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from penstock.__main__ import program
from penstock.cli import doctor
from penstock.cli.doctor import checkup_machine
from penstock.cli.doctor.checkup import MISSING, OK, WARN, Check, Finding, answers, room

Run = Callable[..., tuple[int, dict[str, dict[str, str]]]]


@pytest.fixture
def run() -> Run:
    """Runs `penstock doctor --json`; its exit code, and what it found by name."""

    def run_one(*arguments: object) -> tuple[int, dict[str, dict[str, str]]]:
        result = CliRunner().invoke(program(), ["doctor", "--json", *map(str, arguments)])
        return result.exit_code, {found["what"]: found for found in map(json.loads, result.stdout.splitlines())}

    return run_one


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def test_the_machine_is_looked_at_and_nothing_is_made(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PENSTOCK_CACHE", str(tmp_path / "cache"))
    _, found = run()
    assert found["Python"]["status"] == OK
    assert found["pyspark"]["status"] == OK
    assert found["connector jars"]["status"] == WARN
    assert "first run fetches them" in found["connector jars"]["detail"]
    assert {"Java", "Maven", "memory", "cache folder", "state folder", "port of the broker 9092", "port to serve 8700"} <= set(found)
    assert list(tmp_path.iterdir()) == []


def test_java_that_is_not_there_is_missing_with_its_remedy(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    code, found = run()
    assert code == 1
    assert found["Java"]["status"] == MISSING
    assert "JAVA_HOME" in found["Java"]["detail"]
    assert "openjdk-17" in found["Java"]["remedy"]


def test_java_that_is_too_old_is_missing(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "bin").mkdir()
    java = tmp_path / "bin" / "java"
    java.write_text("#!/bin/sh\necho 'openjdk version \"1.8.0_392\"' >&2\n")
    java.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert run()[1]["Java"] == {
        "what": "Java",
        "status": MISSING,
        "detail": f"8.0_392 at {java} (by JAVA_HOME) is too old",
        "remedy": checkup_machine._GET_JAVA,
    }


def test_a_damaged_jar_is_named(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PENSTOCK_CACHE", str(tmp_path))
    from penstock.spark.session import jars

    folder = jars._connectors_folder()
    folder.mkdir(parents=True)
    for jar in jars.CONNECTORS:
        (folder / jar.file).write_bytes(b"not a jar")
    code, found = run()
    assert code == 1
    assert "is not the file it should be" in found["connector jars"]["detail"]
    assert f"remove {folder}" in found["connector jars"]["remedy"]


def test_an_app_sees_which_of_its_places_are_not_there(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    port = free_port()
    (tmp_path / "cards.csv").write_text("card,country\n")
    (tmp_path / "app.sql").write_text(
        f"""
        CREATE STREAM payments (card STRING) WITH (connector = 'kafka', servers = '127.0.0.1:{port}', topic = 't', format = 'json');
        CREATE STREAM clicks (card STRING) WITH (connector = 'files', path = 'clicks', format = 'json');
        CREATE TABLE cards (card STRING, country STRING) WITH (connector = 'files', path = 'cards.csv', format = 'csv');
        CREATE MATERIALIZED VIEW v AS SELECT card FROM payments;
        CREATE SINK pg FROM v WITH (connector = 'postgres', port = '{port}', database = 'd', password = secret('pg'), table = 't');
        CREATE SINK out FROM v WITH (connector = 'sqlite', path = 'deep/out.db', table = 't');
        """
    )
    code, found = run(tmp_path)
    assert code == 1
    statuses = {name: finding["status"] for name, finding in found.items()}
    assert (statuses["app"], statuses["table cards"], statuses["sink out"], statuses["stream clicks"]) == (OK, OK, OK, WARN)
    assert found["secret pg"]["status"] == MISSING
    assert "PENSTOCK_SECRET_PG" in found["secret pg"]["remedy"]
    assert found[f"brokers 127.0.0.1:{port}"]["status"] == MISSING
    assert "penstock broker start" in found[f"brokers 127.0.0.1:{port}"]["remedy"]
    monkeypatch.setenv("PENSTOCK_SECRET_PG", "xyzzy")
    with socket.create_server(("127.0.0.1", port)):
        _, found = run(tmp_path)
    assert found["secret pg"]["status"] == found[f"brokers 127.0.0.1:{port}"]["status"] == OK
    assert "xyzzy" not in json.dumps(found)
    assert not (tmp_path / "deep").exists()
    assert not (tmp_path / ".penstock").exists()


def test_an_app_that_cannot_be_read_is_one_line(run: Run, tmp_path: Path) -> None:
    (tmp_path / "app.sql").write_text("CREATE NONSENSE;")
    code, found = run(tmp_path)
    assert code == 1
    assert found["app"]["status"] == MISSING
    assert "penstock check" in found["app"]["remedy"]


def test_what_does_not_answer_holds_nobody_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "_WITHIN_S", 0.2)

    def hang(what: str) -> Finding:
        time.sleep(5)
        return Finding(what, OK, "late")

    def fail(what: str) -> Finding:
        raise ZeroDivisionError("odd")

    began = time.monotonic()
    found = list(doctor._findings([Check("slow", hang), Check("odd", fail), Check("good", lambda what: Finding(what, OK, "there"))]))
    assert time.monotonic() - began < 2
    assert [(one.what, one.status) for one in found] == [("slow", MISSING), ("odd", WARN), ("good", OK)]


def test_a_port_in_use_is_a_warning_and_a_folder_needs_its_rights(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert checkup_machine._port(port, "take another", "p").status == WARN
        assert answers("127.0.0.1", port) is None
    assert answers("127.0.0.1", free_port()) is not None
    (tmp_path / "file").write_text("")
    assert room("x", tmp_path / "file" / "state", "").status == MISSING
    assert room("x", tmp_path / "new" / "state", "").status in (OK, WARN)


def test_a_line_for_people_has_the_remedy_only_where_one_is_needed() -> None:
    assert doctor.line(Finding("Java", MISSING, "not found", "install it")) == "missing  Java: not found; install it"
    assert doctor.line(Finding("Java", OK, "17", "install it")) == "ok       Java: 17"
